//! `rml train --report FILE.html`: the page of a training.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use rml::{Error, Options, Source, TrainPage, TrainRecord, TrainReport};
use rml_render::training::{self, Begun};

use super::profile::Measuring;
use super::served::Beside;
use crate::args::Train;
use crate::output::{Output, Stop};

/// A page to write, and the facts known about it before the training.
pub(super) struct Paged {
    file: PathBuf,
    page: TrainPage,
    /// The live page, if it is shown while the training runs.
    live: Option<Live>,
}

/// A page that is shown while the training runs.
struct Live {
    sent: Beside,
    /// When the page was last made.
    made: Cell<Option<Instant>>,
}

/// The shortest time between two versions of the page.
const PAUSE: Duration = Duration::from_millis(500);

impl Paged {
    /// Checks that the requested page can be written, records the components of the training, and starts measuring.
    pub(super) fn begin<'p>(
        args: &'p Train,
        source: &Source,
        data: impl IntoIterator<Item = &'p PathBuf>,
        measuring: Measuring,
        output: &mut Output,
    ) -> Result<(Option<Self>, Measuring), Stop> {
        let Some(file) = args.page() else { return Ok((None, measuring)) };
        let read: Vec<&PathBuf> = data.into_iter().chain(&args.resume).collect();
        super::check_output(file, source, read.iter().map(|path| Some(*path)))?;
        let computing = &args.computing;
        let engine = computing.engine.to_possible_value();
        let engine = engine.as_ref().map_or("", |value| value.get_name());
        let begun = Begun {
            source,
            options: options(args)?,
            computing: (engine, &computing.backend, &computing.device),
            files: read.into_iter().cloned().collect(),
            command: command(std::env::args_os()),
            of_best: args.best.is_some(),
        };
        let page = begun.page();
        let mut paged = Self { file: file.clone(), page, live: None };
        if args.view {
            let (sent, url) = Beside::begin(paged.running(&TrainRecord::default()))?;
            output.note(&format!("{url}\n"));
            paged.live = Some(Live { sent, made: Cell::default() });
        }
        Ok((Some(paged), measuring.for_page()))
    }

    /// Updates the live page after an epoch or report, unless it was updated just before.
    pub(super) fn show(&self, record: &TrainRecord) {
        let Some(live) = &self.live else { return };
        if live.made.get().is_none_or(|made| made.elapsed() > PAUSE) {
            live.sent.show(self.running(record));
            live.made.set(Some(Instant::now()));
        }
    }

    /// The page of a training that is still running.
    fn running(&self, record: &TrainRecord) -> String {
        let outcome = format!("It is running, after {}.", record.done());
        record.page(&TrainPage { outcome, live: true, ..self.page.clone() })
    }

    /// Writes the page of a training that had begun, with its outcome. A failure to write the page does not hide why
    /// the training failed.
    pub(super) fn write(
        &self,
        record: &TrainRecord,
        outcome: Result<&TrainReport, &Error>,
        measuring: &Measuring,
        output: &mut Output,
    ) -> Result<(), Stop> {
        if !record.has_begun() {
            return Ok(());
        }
        let page = training::ended(&self.page, record, outcome, measuring.report());
        match (super::write(&self.file, record.page(&page).as_bytes()), outcome) {
            (Err(Stop::Errors(error)), Err(_)) => {
                output.report(error.diagnostics(), error.sources());
                Ok(())
            }
            (written, _) => written,
        }
    }
}

/// The node and its settings.
fn options(args: &Train) -> Result<Options, Stop> {
    Ok(Options {
        node: args.node.clone(),
        set: super::settings(&args.program.set, args.program.batch)?,
        batch: args.program.batch,
        precision: super::precision(args.program.f64),
        ..Options::default()
    })
}

/// The arguments of this process, quoted for a shell.
pub(super) fn command(mut arguments: impl Iterator<Item = OsString>) -> String {
    arguments.next();
    std::iter::once("rml".to_owned())
        .chain(arguments.map(|a| quoted(&a.to_string_lossy())))
        .collect::<Vec<_>>()
        .join(" ")
}

/// An argument, quoted for a shell.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        let arguments = ["/usr/bin/rml", "train", "a b.rml", "--until", "loss < 1", "it's", "", "k=[2,3]"];
        let line = command(arguments.into_iter().map(OsString::from));
        assert_eq!(line, "rml train 'a b.rml' --until 'loss < 1' 'it'\\''s' '' 'k=[2,3]'");
    }
}
