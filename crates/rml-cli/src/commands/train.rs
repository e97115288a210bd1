//! `rml train`.

use std::sync::Arc;

use rml::{Columns, Diagnostic, Evaluate, Length, Phase, Source, TrainOptions, TrainReport, Until, codes};

use super::profile::Measuring;
use crate::args::Train;
use crate::output::{Output, Stop};
use crate::progress::{Display, metrics};
use crate::signals::Signals;

/// Trains, showing progress, and prints what came out.
pub(crate) fn train(args: &Train, output: &mut Output) -> Result<(), Stop> {
    let source = Source::file(&args.program.file);
    if let Some(save) = &args.save {
        super::check_output(save, &source, [args.data.as_ref()])?;
    }
    let signals = listen()?;
    let inputs = [args.data.as_ref(), args.resume.as_ref()];
    let measuring = Measuring::begin(&args.profiling, &source, inputs, args.save.as_ref())?;
    let outcome = train_measured(args, &source, &signals, &measuring, output);
    measuring.end(outcome, output)
}

fn train_measured(
    args: &Train,
    source: &Source,
    signals: &Signals,
    measuring: &Measuring,
    output: &mut Output,
) -> Result<(), Stop> {
    let options = options(args, signals)?;
    let options = TrainOptions { engine: measuring.engine(options.engine.clone()), ..options };
    let read = || args.data.as_ref().map(Columns::read).transpose();
    let data = measuring.time(Phase::Data, read)?.unwrap_or_default();
    let mut display = Display::new(output);
    let outcome = rml::train(source, &data, &options, &mut display);
    display.close();
    let report = outcome?;
    if report.interrupted {
        output.note(&interruption(args, &report));
        return Err(Stop::Interrupted(signals.exit_code()));
    }
    if !output.json() {
        output.print(&result(&report))?;
    }
    match &options.length {
        Some(Length { until: Some(until), .. }) if report.is_met == Some(false) => {
            Err(missed(until, &report).into())
        }
        _ => Ok(()),
    }
}

/// Training ended, and what it was to go on for is not so.
fn missed(until: &Until, report: &TrainReport) -> Diagnostic {
    let d = Diagnostic::error(codes::run::GOAL_MISSED, format!("training ended before `{until}`"));
    let d = match report.epochs.last().and_then(|last| last.ran.map(|ran| (last, ran))) {
        Some((last, ran)) => {
            let values = metrics("", &last.train, "  ") + &metrics("test.", &last.test, "  ");
            d.note(format!("after {} windows and {} cycles: {}", ran.windows, ran.cycles, values.trim_end()))
        }
        None => d.note("no report was left to train"),
    };
    d.help("train longer (`--windows N`, `--cycles N`), or from another seed")
}

/// How long to train without data.
fn length(args: &Train) -> Result<Option<Length>, Stop> {
    let until = args.until.as_ref().map(|text| Until::parse(text)).transpose()?;
    let length = Length {
        windows: args.windows.map(|n| n as u64),
        cycles: args.cycles.map(|n| n as u64),
        until,
        report: args.report.map(|n| n as u64),
        look_ahead: args.look_ahead,
    };
    Ok(args.data.is_none().then_some(length))
}

fn options(args: &Train, signals: &Signals) -> Result<TrainOptions, Stop> {
    Ok(TrainOptions {
        node: args.node.clone(),
        evaluate: args.evaluate.clone().map_or(Evaluate::Usual, Evaluate::Node),
        set: super::settings(&args.program.set, args.program.batch)?,
        batch: args.program.batch,
        epochs: args.epochs,
        length: length(args)?,
        seed: args.seed,
        test: args.test,
        shuffle: !args.no_shuffle,
        precision: super::precision(args.program.f64),
        allow_nan: args.allow_nan,
        save: args.save.clone(),
        save_every: args.save_every,
        resume: args.resume.clone(),
        engine: super::engine(&args.computing)?,
        interrupt: Some(Arc::clone(&signals.any)),
    })
}

/// Listens to the signals that ask training to stop after the batch or window.
fn listen() -> Result<Signals, Stop> {
    Signals::listen().map_err(|e| super::deaf(&e).into())
}

fn interruption(args: &Train, report: &TrainReport) -> String {
    match &args.save {
        Some(file) if report.saved => {
            let file = file.display();
            format!("interrupted; saved to {file}, `--resume {file}` goes on from there\n")
        }
        _ => "interrupted; nothing was saved (`--save FILE` keeps what was learned)\n".to_owned(),
    }
}

/// The metrics of the last epoch or report, those of the test windows where there are any, one a line.
fn result(report: &TrainReport) -> String {
    let Some(last) = report.epochs.last() else { return "nothing was left to train\n".to_owned() };
    if last.test.is_empty() {
        metrics("train ", &last.train, "\n")
    } else {
        metrics("test ", &last.test, "\n")
    }
}
