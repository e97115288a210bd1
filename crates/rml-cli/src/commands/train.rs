//! `rml train`.

use std::fmt::Write as _;
use std::sync::Arc;

use rml::{
    Checkpoint, Classes, Diagnostic, Engine, EpisodeOptions, Evaluate, Length, Phase, Ranks, Recipe, Source,
    TrainOptions, TrainReport, Until, Validate, codes,
};

use rml::backend::Compiled;

use super::Reading;
use super::profile::Measuring;
use super::train_page::Paged;
use crate::args::Train;
use crate::output::{Output, Stop};
use crate::progress::{Display, Shows, metrics};
use crate::signals::Signals;
use crate::values::Validation;

/// The number of windows of an evaluation that a page shows.
const SAMPLES: usize = 12;

/// Trains with a progress display, and prints the result.
///
/// With `ranks`, other processes take part, and the first one writes the files.
pub(super) fn train(args: &Train, ranks: Option<&Ranks>, output: &mut Output) -> Result<(), Stop> {
    check_results(args)?;
    let source = Source::file(&args.program.file);
    let data = rml::data_files(&args.data)?;
    let validation = match &args.validate {
        Some(Validation::File(file)) => {
            rml::data_files(&args.data.iter().chain([file]).collect::<Vec<_>>())?.split_off(data.len())
        }
        Some(Validation::Split(_)) | None => Vec::new(),
    };
    let writes = ranks.is_none_or(Ranks::is_first);
    for file in [&args.save, &args.best, &args.plot].into_iter().flatten().filter(|_| writes) {
        super::check_output(file, &source, data.iter().chain(&validation).map(Some))?;
    }
    check_metric(args)?;
    let signals = listen()?;
    let inputs = data.iter().chain(&validation).chain(&args.resume).map(Some);
    let measuring = Measuring::begin(&args.profiling, &source, inputs)?;
    let (page, measuring) = Paged::begin(args, &source, data.iter().chain(&validation), measuring, output)?;
    let engine = measuring.engine(super::engine(&args.computing)?);
    let options = TrainOptions { ranks: ranks.cloned(), ..options(args, &signals, engine)? };
    let outcome = train_measured(args, &source, (&signals, options), (&measuring, page.as_ref()), output);
    measuring.end(outcome, output)
}

/// The callback that shows a page while the training runs.
pub(super) fn shows(page: &Paged) -> Shows<'_> {
    Box::new(|record| page.show(record))
}

/// Checks that no result of a training would overwrite another one.
pub(super) fn check_results(args: &Train) -> Result<(), Stop> {
    let profile = args.profiling.profile.as_ref().and_then(Option::as_ref);
    let files = [
        ("--save", args.save.as_ref()),
        ("--best", args.best.as_ref()),
        ("--profile", profile),
        ("--plot", args.plot.as_ref()),
        ("--episodes", args.episodes.as_ref().filter(|_| args.runs.is_none())),
        ("--report", args.page()),
    ];
    let folders = [
        ("--log", args.log.as_ref(), &rml::LOG_FILES[..]),
        ("--runs", args.runs.as_ref(), &rml::SWEEP_FILES),
    ];
    super::check_distinct(files, folders)
}

/// Refuses `--metric` if no flag uses it to compare epochs.
pub(super) fn check_metric(args: &Train) -> Result<(), Stop> {
    if args.metric.is_some() && args.best.is_none() && args.patience.is_none() {
        let d = Diagnostic::error(
            codes::run::BAD_OPTION,
            "`--metric` says which epoch is the best, but no other option needs that",
        );
        return Err(d
            .help("add `--best FILE` to keep the best parameters, or `--patience N` to end when no epoch is better")
            .into());
    }
    Ok(())
}

fn train_measured(
    args: &Train,
    source: &Source,
    (signals, options): (&Signals, TrainOptions),
    (measuring, page): (&Measuring, Option<&Paged>),
    output: &mut Output,
) -> Result<(), Stop> {
    let validate = measuring.time(Phase::Data, || validate(args, source, output))?;
    let options = TrainOptions { validate, ..options };
    if args.data.is_empty() {
        super::refuse_unused("they are about files of `--data`", &args.given())?;
    }
    let recipe = recipe(args)?;
    let how = Reading { on_disk: args.on_disk, format: args.table.format(), recipe: &recipe };
    let of = (source, args.node.as_deref());
    let data = measuring.time(Phase::Data, || super::dataset(&args.data, &how, of, output))?;
    let mut display = Display::new(output).keeping(page.map(shows));
    let outcome = rml::train(source, &*data, &options, &mut display);
    let (seen, record) = display.close();
    if let (Some(page), Some(record)) = (page, &record) {
        page.write(record, outcome.as_ref(), measuring, output)?;
    }
    // The curves of a training that failed may show the cause.
    if let Some(plot) = args.plot.as_ref().filter(|_| !seen.is_empty()) {
        super::write(plot, rml::learning_curves(&seen).as_bytes())?;
    }
    let report = outcome?;
    output.note(&compiled(&report.compiled));
    output.note(&best(args, &report));
    if report.interrupted {
        output.note(&interruption(args, &report));
        return Err(Stop::Interrupted(signals.exit_code()));
    }
    if !output.json() {
        output.print(&result(&report))?;
        output.note(&all_done(args, &report));
    }
    match &options.length {
        Some(Length { until: Some(until), .. }) if report.is_met == Some(false) => {
            Err(missed(until, &report).into())
        }
        _ => Ok(()),
    }
}

/// The diagnostic for a training that ended before its `--until` condition held.
pub(super) fn missed(until: &Until, report: &TrainReport) -> Diagnostic {
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

/// The length of a training without data.
fn length(args: &Train) -> Result<Option<Length>, Stop> {
    let until = args.until.as_ref().map(|text| Until::parse(text)).transpose()?;
    let length = Length {
        windows: args.windows.map(|n| n as u64),
        cycles: args.cycles.map(|n| n as u64),
        until,
        report: args.every().map(|n| n as u64),
        look_ahead: args.look_ahead,
    };
    Ok(args.data.is_empty().then_some(length))
}

/// How to read the data: as the flags say; without flags, as the resumed run read it.
pub(super) fn recipe(args: &Train) -> Result<Recipe, Stop> {
    let asked = args.recipe()?;
    Ok(match &args.resume {
        Some(file) => asked.or_read_as(Checkpoint::read(file)?.preparation().recipe()),
        None => asked,
    })
}

/// The validation data, by which epochs are compared.
pub(super) fn validate(args: &Train, source: &Source, output: &mut Output) -> Result<Option<Validate>, Stop> {
    Ok(match &args.validate {
        None => None,
        Some(Validation::Split(split)) => Some(Validate::Split(*split)),
        Some(Validation::File(file)) => {
            let recipe = recipe(args)?;
            let how = Reading { on_disk: args.on_disk, format: args.table.format(), recipe: &recipe };
            let of = (source, args.node.as_deref());
            let data = super::dataset(std::slice::from_ref(file), &how, of, output)?;
            Some(Validate::Data(data.into()))
        }
    })
}

/// The options that the flags describe, except for validation data.
pub(super) fn options(args: &Train, signals: &Signals, engine: Engine) -> Result<TrainOptions, Stop> {
    // The page of several runs shows their logs alone.
    let is_shown = args.page().is_some() && args.runs.is_none();
    Ok(TrainOptions {
        node: args.node.clone(),
        evaluate: args.evaluate.clone().map_or(Evaluate::Usual, Evaluate::Node),
        set: super::settings(&args.program.set, args.program.batch)?,
        batch: args.program.batch,
        shards: args.shards,
        epochs: args.epochs,
        length: length(args)?,
        seed: args.seed,
        test: args.test,
        validate: None,
        shuffle: if args.no_shuffle { Some(false) } else { args.shuffle.then_some(true) },
        keep_states: args.keep_states,
        precision: super::precision(args.program.f64),
        allow_nan: args.allow_nan,
        recipe: args.recipe()?,
        save: args.save.clone(),
        save_every: args.save_every,
        best: args.best.clone(),
        patience: args.patience.map(|n| n as u64),
        criterion: args.metric.clone(),
        log: args.log.clone(),
        stats: args.stats,
        classes: args.confusion.clone().unwrap_or(if is_shown { Classes::Usual } else { Classes::Nothing }),
        samples: if is_shown { SAMPLES } else { 0 },
        resume: args.resume.clone(),
        init: args.init.clone().map(Into::into),
        episodes: args
            .episodes
            .clone()
            .map(|file| EpisodeOptions { of: args.episodes_of.clone(), file: Some(file) }),
        engine,
        interrupt: Some(Arc::clone(&signals.any)),
        ranks: None,
    })
}

/// Installs handlers for the signals that ask a training to stop after the current batch or window.
pub(super) fn listen() -> Result<Signals, Stop> {
    Signals::listen().map_err(|e| super::deaf(&e).into())
}

pub(super) fn interruption(args: &Train, report: &TrainReport) -> String {
    match &args.save {
        Some(file) if report.saved => {
            let file = file.display();
            format!("interrupted; saved to {file}, `--resume {file}` continues from there\n")
        }
        _ => "interrupted; nothing was saved (`--save FILE` keeps what was learned)\n".to_owned(),
    }
}

/// The message about what the backend compiled, how long that took, and why the next run will compile again.
fn compiled(compiled: &Compiled) -> String {
    if compiled.is_nothing() {
        return String::new();
    }
    let Compiled { programs, time, loaded, load_time, unkept } = compiled;
    let plural = if *programs == 1 { "" } else { "s" };
    let mut text = format!("compiled {programs} program{plural} in {:.2} s", time.as_secs_f64());
    if *loaded > 0 {
        let _ = write!(text, ", loaded {loaded} in {:.2} s", load_time.as_secs_f64());
    }
    if let Some(why) = unkept {
        let why = why.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        let _ = write!(text, "; they are not kept: {why}");
    }
    text + "\n"
}

/// The message about the best epoch or report, and whether it ended the training.
pub(super) fn best(args: &Train, report: &TrainReport) -> String {
    let Some(best) = &report.best else { return String::new() };
    let what = if !args.data.is_empty() { "epoch" } else { "report" };
    let metric = best.metric.replacen("train.", "", 1).replacen('.', " ", 1);
    let mut text = format!("best {metric} {:.4} in {what} {}", best.value(), best.epoch);
    if let Some(file) = &args.best {
        let _ = write!(text, ", saved to {}", file.display());
    }
    if let Some(patience) = args.patience.filter(|_| report.out_of_patience) {
        let _ = write!(
            text,
            "; ended after {patience} {what}{} without a better one",
            if patience == 1 { "" } else { "s" }
        );
    }
    if report.kept_best && !report.interrupted {
        let _ = write!(text, "; the results are those of {what} {}", best.epoch);
    } else if let Some(last) = report.epochs.last().filter(|last| last.epoch != best.epoch) {
        let _ = write!(text, "; the results are those of {what} {}, the last one", last.epoch);
    }
    text + "\n"
}

/// The advice on how to train longer, if the resumed run had already reached its end.
fn all_done(args: &Train, report: &TrainReport) -> String {
    let is_done = args.resume.is_some() && report.epochs.is_empty() && !args.data.is_empty();
    match args.epochs.checked_mul(2) {
        Some(more) if is_done && args.epochs > 0 => format!(
            "`--epochs` counts all epochs, those before included: `--epochs {more}` trains {} more\n",
            args.epochs
        ),
        _ => String::new(),
    }
}

/// The metrics of the epoch or report whose parameters are the result, one per line; those of the test windows if there
/// are any.
fn result(report: &TrainReport) -> String {
    match (report.result(), &report.best) {
        (Some(summary), _) if summary.test.is_empty() => metrics("train ", &summary.train, "\n"),
        (Some(summary), _) => metrics("test ", &summary.test, "\n"),
        // The best epoch was in an earlier run, of which only the metric is known.
        (None, Some(best)) if !report.epochs.is_empty() => {
            format!("{} {:.4}\n", best.metric.replacen('.', " ", 1), best.value())
        }
        (None, _) => "nothing was left to train\n".to_owned(),
    }
}
