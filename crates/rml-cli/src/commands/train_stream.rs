//! `rml train --stream`: JSON lines in, JSON lines out, and the node learns meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rml::{
    ArrowAnswers, Diagnostic, Error, Length, Preparation, Source, StreamEnd, TrainOptions, TrainReport,
    TrainStream,
};

use super::profile::Measuring;
use super::stream::{Answers, Record, Records, at_line, ended, refusal, within};
use super::train::{best, check_metric, check_results, interruption, listen, missed, options, shows};
use super::train_page::Paged;
use crate::args::Train;
use crate::output::{Output, Stop, unreadable};
use crate::progress::Display;
use crate::signals::Signals;

/// How often a stream that waits for a line checks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// The most lines that are read ahead.
const AHEAD: usize = 16;

/// An item from standard input: the columns of Arrow at its beginning, or the number of a record and the record, or why
/// it was refused.
enum Item {
    Columns(Vec<String>),
    Record(u64, Result<Record, Diagnostic>),
}

type Input = Result<Item, Diagnostic>;

/// Answers lines of standard input and learns from them, until the input ends, a signal comes, or the training has
/// reached its length.
pub(super) fn train(args: &Train, output: &mut Output) -> Result<(), Stop> {
    check_results(args)?;
    super::refuse_unused("they are about files of `--data`", &args.given())?;
    let source = Source::file(&args.program.file);
    for file in [&args.save, &args.best, &args.plot].into_iter().flatten() {
        super::check_output(file, &source, [])?;
    }
    check_metric(args)?;
    let signals = listen()?;
    let inputs = args.resume.iter().map(Some);
    let measuring = Measuring::begin(&args.profiling, &source, inputs)?;
    let (page, measuring) = Paged::begin(args, &source, [], measuring, output)?;
    let engine = measuring.engine(super::engine(&args.computing)?);
    let options = options(args, &signals, engine)?;
    let outcome = train_measured(args, &source, &options, &signals, (&measuring, page.as_ref()), output);
    measuring.end(outcome, output)
}

fn train_measured(
    args: &Train,
    source: &Source,
    options: &TrainOptions,
    signals: &Signals,
    (measuring, page): (&Measuring, Option<&Paged>),
    output: &mut Output,
) -> Result<(), Stop> {
    let mut shown = output.clone();
    let mut display = Display::beside_answers(&mut shown).keeping(page.map(shows));
    let outcome = answer(args, source, options, signals, &mut display, output);
    let (seen, record) = display.close();
    if let (Some(page), Some(record)) = (page, &record) {
        let broken_off = TrainReport { interrupted: true, ..TrainReport::default() };
        let ended = match &outcome {
            Ok(Answered { error: Some(Stop::Errors(error)), .. }) | Err(Stop::Errors(error)) => Err(error),
            Ok(answered) => Ok(&answered.end.report),
            Err(_) => Ok(&broken_off),
        };
        page.write(record, ended, measuring, output)?;
    }
    if let Some(plot) = args.plot.as_ref().filter(|_| !seen.is_empty()) {
        super::write(plot, rml::learning_curves(&seen).as_bytes())?;
    }
    let Answered { end, interrupted, refused, error } = outcome?;
    let report = &end.report;
    output.note(&best(args, report));
    if end.unsaved > 0 && args.save.is_some() {
        let (cycles, are) = if end.unsaved == 1 { ("cycle", "is") } else { ("cycles", "are") };
        let n = end.unsaved;
        output
            .note(&format!("the last {n} {cycles} {are} not in the checkpoint: their window did not end\n"));
    }
    if let Some(error) = error {
        return Err(error);
    }
    if interrupted {
        output.note(&interruption(args, report));
        return Err(Stop::Interrupted(signals.exit_code()));
    }
    match &options.length {
        Some(Length { until: Some(until), .. }) if report.is_met == Some(false) => {
            Err(missed(until, report).into())
        }
        _ => ended(refused, output),
    }
}

/// How a stream ended.
struct Answered {
    end: StreamEnd,
    interrupted: bool,
    /// How many lines were refused.
    refused: u64,
    /// The error that ended it before the end of the input.
    error: Option<Stop>,
}

fn answer(
    args: &Train,
    source: &Source,
    options: &TrainOptions,
    signals: &Signals,
    display: &mut Display<'_>,
    output: &mut Output,
) -> Result<Answered, Stop> {
    let stream = TrainStream::new(source, options, display)?;
    let mut stream = if args.strict { stream.strict() } else { stream };
    let input = read(stream.preparation())?;
    let (mut interrupted, mut refused, mut error, mut is_arrow) = (false, 0, None, false);
    let mut is_over = stream.keep(display)?;
    while !is_over {
        if signals.any.load(Ordering::SeqCst) {
            interrupted = true;
            break;
        }
        let (number, record) = match input.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
            Ok(Err(unreadable)) => {
                error = Some(unreadable.into());
                break;
            }
            Ok(Ok(Item::Columns(columns))) => {
                output.bytes(&stream.begin(columns.iter().map(String::as_str))?)?;
                is_arrow = true;
                continue;
            }
            Ok(Ok(Item::Record(number, record))) => (number, record),
        };
        let answers = record.map_err(Error::from).and_then(|record| match &record {
            Record::Line(line) => Ok(Answers::Lines(stream.line(line)?)),
            Record::Row(row) => Ok(Answers::Bytes(stream.row(row)?)),
        });
        if let Some(warning) = stream.ignored() {
            output.report(&at_line(warning, number).into(), stream.sources());
        }
        let printed = match answers {
            Ok(answers) => answers.print(output),
            Err(why) if args.strict || stream.is_stuck() => Err(within(why, number).into()),
            Err(why) => {
                refused += 1;
                let bytes = |why: &str| stream.refusal(number, why);
                refusal(&why, number, is_arrow.then_some(&bytes)).print(output)
            }
        };
        is_over = stream.keep(display)?;
        if let Err(stop) = printed {
            // The learned parameters are saved even if nobody reads the answers any more.
            error = Some(stop);
            break;
        }
    }
    if is_arrow && error.is_none() {
        output.bytes(&ArrowAnswers::end())?;
    }
    let end = stream.end(interrupted, display)?;
    Ok(Answered { end, interrupted, refused, error })
}

/// Reads standard input on another thread, so that a signal is noticed while nothing comes.
fn read(preparation: Arc<Preparation>) -> Result<Receiver<Input>, Diagnostic> {
    let (sends, receives) = mpsc::sync_channel(AHEAD);
    let work = move || {
        let mut records = match Records::new(io::stdin().lock(), preparation) {
            Ok(records) => records,
            Err(unreadable) => return drop(sends.send(Err(unreadable))),
        };
        if let Some(columns) = records.columns()
            && sends.send(Ok(Item::Columns(columns))).is_err()
        {
            return;
        }
        loop {
            let item = match records.next() {
                Ok(None) => return,
                Ok(Some(record)) => Ok(Item::Record(records.number(), record)),
                Err(unreadable) => Err(unreadable),
            };
            let is_last = item.is_err();
            if sends.send(item).is_err() || is_last {
                return;
            }
        }
    };
    let started = thread::Builder::new().name("input".to_owned()).spawn(work);
    started.map_err(|e| unreadable("standard input", &e))?;
    Ok(receives)
}
