//! `rml train --report FILE.html`: the page of a training.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use rml::{Error, Options, Source, TrainPage, TrainRecord, TrainReport};
use rml_render::verdict;
use sha2::{Digest as _, Sha256};

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
        let mut facts =
            vec![("version".to_owned(), format!("rml {}", env!("CARGO_PKG_VERSION"))), computing(args)];
        for path in source.files().iter().chain(read) {
            facts.push((path.display().to_string(), digest(path).unwrap_or_else(|e| rml::refusal(&e))));
        }
        let page = TrainPage {
            title: format!("Training of {}", args.program.file.display()),
            verdict: verdict(args, source),
            command: command(std::env::args_os()),
            facts,
            of_best: args.best.is_some(),
            ..TrainPage::default()
        };
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
        let render = |e: &Error| rml_render::human(e.diagnostics(), e.sources(), false);
        let page = TrainPage {
            outcome: ended(record, outcome),
            findings: outcome.err().map(render).unwrap_or_default(),
            profile: measuring.report(),
            ..self.page.clone()
        };
        match (super::write(&self.file, record.page(&page).as_bytes()), outcome) {
            (Err(Stop::Errors(error)), Err(_)) => {
                output.report(error.diagnostics(), error.sources());
                Ok(())
            }
            (written, _) => written,
        }
    }
}

/// How the training ended, in a sentence.
fn ended(record: &TrainRecord, outcome: Result<&TrainReport, &Error>) -> String {
    let done = record.done();
    match outcome {
        Err(_) => format!("It failed after {done}."),
        Ok(report) if report.interrupted => format!("It was interrupted after {done}."),
        Ok(report) if report.out_of_patience => {
            format!("It ended after {done}, since none was better for long.")
        }
        Ok(TrainReport { is_met: Some(false), .. }) => {
            format!("It ended after {done}, before its `--until` condition held.")
        }
        Ok(_) => format!("It ended after {done}."),
    }
}

/// The facts about the program before it runs; none for a program with errors, since the training reports these.
fn verdict(args: &Train, source: &Source) -> Vec<String> {
    let Ok(set) = super::settings(&args.program.set, args.program.batch) else { return Vec::new() };
    let options = Options {
        node: Some(args.node.clone().unwrap_or_else(|| "train".to_owned())),
        set,
        batch: args.program.batch,
        precision: super::precision(args.program.f64),
        ..Options::default()
    };
    let Ok(analysis) = rml::analyse_any_batch(source, &options) else { return Vec::new() };
    std::iter::once(verdict::line(&analysis)).chain(verdict::engine_line(&analysis)).collect()
}

/// The engine and backend, as a name and a value.
fn computing(args: &Train) -> (String, String) {
    let computing = &args.computing;
    let engine = computing.engine.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
    ("engine".to_owned(), format!("{engine}, backend {} on {}", computing.backend, computing.device))
}

/// The SHA-256 digest of a file, as `sha256sum` prints it, and its length.
fn digest(path: &Path) -> io::Result<String> {
    const PIECE: usize = 1 << 16;
    let (mut file, mut hash, mut piece, mut length) = (File::open(path)?, Sha256::new(), vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => {
                hash.update(&piece[..n]);
                length += n;
            }
        }
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("SHA-256 {hex}, {length} bytes"))
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
