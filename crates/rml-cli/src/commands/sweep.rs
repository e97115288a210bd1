//! `rml train --runs`: several seeds and settings.

use std::fmt::Write as _;
use std::path::Path;
use std::thread::available_parallelism;

use rml::launch::Launch;
use rml::{
    Diagnostic, Error, Prune, RunOutcome, RunState, RunsPage, Source, Sources, SweepObserver, SweepOptions,
    SweepReport, SweepStage, SweepValues, TrainOptions, codes,
};

use super::runs;
use super::train::{check_results, listen, options, validate};
use super::train_page::command;
use crate::args::Train;
use crate::output::{Output, Stop};

/// Trains once for each seed and each combination of settings, and prints the table.
pub(super) fn sweep(args: &Train, folder: &Path, output: &mut Output) -> Result<(), Stop> {
    check_results(args)?;
    let source = Source::file(&args.program.file);
    let signals = listen()?;
    let (seeds, settings) = (args.seeds.clone().map_or(Vec::new(), |seeds| seeds.0), args.sweep.clone());
    // A small number may have been meant as a count of seeds.
    if let [seed @ 2..=20] = seeds[..] {
        output.note(&format!("one seed, {seed}: `--seeds 0..{seed}` are {seed} seeds\n"));
    }
    let launch = Launch::here();
    let here = launch.map_or(1, |launch| launch.here);
    let cores = (available_parallelism().map_or(1, usize::from) / here).max(1);
    let runs = combinations(args).saturating_mul(seeds.len().max(1));
    let share = runs.div_ceil(launch.map_or(1, |launch| launch.processes));
    let jobs = args.jobs.unwrap_or(cores).min(share);
    let threads = args.computing.threads.unwrap_or(cores / jobs).max(1);
    let engine = super::engine_with(&args.computing, Some(threads))?;
    let train =
        TrainOptions { validate: validate(args, &source, output)?, ..options(args, &signals, engine)? };
    for file in args.plot.iter().chain(args.page()) {
        super::check_output(file, &source, rml::data_files(&args.data)?.iter().map(Some))?;
    }
    if args.data.is_empty() {
        super::refuse_unused("they are about files of `--data`", &args.given())?;
    }
    let recipe = args.recipe()?;
    let how = super::Reading { on_disk: args.on_disk, format: args.table.format(), recipe: &recipe };
    let data = super::dataset(&args.data, &how, (&source, args.node.as_deref()), output)?;
    let prune = args.prune.map(|rule| Prune { rule, first: args.prune_from as u64 });
    let samples = args.samples;
    let options = SweepOptions { train, folder: folder.to_owned(), seeds, settings, samples, prune, jobs };
    let page = RunsPage {
        title: Some(format!("Runs of {}", args.program.file.display())),
        lines: vec![command(std::env::args_os())],
        live: false,
    };
    // One of several processes is enough for the table and the page.
    let speaks = launch.is_none_or(|launch| launch.rank == 0);
    if args.view && speaks {
        runs::view_beside(folder, page.clone(), output)?;
    }
    let mut progress = Lines { output, runs: 0, unit: if args.data.is_empty() { "report" } else { "epoch" } };
    let report = rml::sweep(&source, &*data, &options, &mut progress)?;
    if let Some(file) = args.page().filter(|_| speaks) {
        runs::write(file, folder, &page)?;
    }
    if let Some(plot) = &args.plot {
        super::write(plot, rml::sweep_curves(folder, &report)?.as_bytes())?;
    }
    let failed = if speaks { report_failures(&report, output) } else { report.has_failed() };
    if speaks {
        print(&report, output)?;
    }
    if report.interrupted {
        let folder = folder.display();
        output.note(&format!("interrupted; the same command continues with the runs in {folder}\n"));
        return Err(Stop::Interrupted(signals.exit_code()));
    }
    if let Some(missed) = missed(&report, args) {
        return Err(missed.into());
    }
    if failed { Err(Stop::Reported) } else { Ok(()) }
}

/// How many combinations of values there are; none of a range, which needs a number of samples.
fn combinations(args: &Train) -> usize {
    let count = |values: &SweepValues| match values {
        SweepValues::List(values) => values.len(),
        SweepValues::Range(_) => 1,
    };
    let all = args.sweep.iter().map(|(_, values)| count(values)).fold(1, usize::saturating_mul);
    args.samples.map_or(all, |samples| samples.count)
}

/// Prints a line for each run that ends.
struct Lines<'o> {
    output: &'o mut Output,
    runs: usize,
    /// What the steps of a run are called.
    unit: &'static str,
}

impl SweepObserver for Lines<'_> {
    fn start(&mut self, runs: usize, ended: usize) {
        self.runs = runs;
        if !self.output.json() {
            let before = if ended > 0 { format!(", {ended} of them done before") } else { String::new() };
            let plural = if runs == 1 { "" } else { "s" };
            self.output.note(&format!("{runs} run{plural}{before}\n"));
        }
    }

    fn waiting(&mut self, runs: usize) {
        if !self.output.json() {
            let (plural, are) = if runs == 1 { ("", "is") } else { ("s", "are") };
            self.output
                .note(&format!("{runs} run{plural} {are} trained by other processes; waiting for the end\n"));
        }
    }

    fn compared(&mut self, stage: SweepStage) {
        if !self.output.json() {
            let SweepStage { length, kept, of } = stage;
            let (unit, s) = (self.unit, if length == 1 { "" } else { "s" });
            self.output.note(&format!("after {length} {unit}{s}, {kept} of {of} combinations continue\n"));
        }
    }

    fn ended(&mut self, run: &RunOutcome, ended: usize) {
        if self.output.json() {
            // If nobody reads the output any more, runs that are saved continue.
            let _ = self.output.print_json(&run.json_line());
            return;
        }
        let runs = self.runs.to_string();
        let mut text = format!("{ended:>width$}/{runs}  {}  ", run.name, width = runs.len());
        match &run.state {
            RunState::Failed(_) => {
                let _ = write!(text, "failed: {}", run.state.error().map_or("", |d| &d.message));
            }
            RunState::Finished | RunState::Missed | RunState::Pruned | RunState::Interrupted => {
                let is_test = |(name, _): &&(String, f64)| name.contains('.');
                let tested = run.metrics.iter().any(|metric| is_test(&metric));
                for (name, value) in run.metrics.iter().filter(|metric| !tested || is_test(metric)) {
                    let _ = write!(text, "{} {value:.4}  ", name.replacen('.', " ", 1));
                }
                let _ = write!(text, "{:.1} s", run.seconds);
                if matches!(run.state, RunState::Pruned) {
                    text.push_str("  ended early");
                }
            }
        }
        self.output.note(&(text + "\n"));
    }

    fn warning(&mut self, diagnostic: &Diagnostic, sources: &Sources) {
        self.output.report(&diagnostic.clone().into(), sources);
    }
}

/// Reports why runs failed, once for all runs with the same failure. Returns whether any failed.
fn report_failures(report: &SweepReport, output: &mut Output) -> bool {
    let mut failures: Vec<(&Error, Vec<&str>)> = Vec::new();
    for run in &report.runs {
        let RunState::Failed(error) = &run.state else { continue };
        let what = |error: &Error| error.diagnostics().iter().map(|d| d.message.clone()).collect::<Vec<_>>();
        match failures.iter_mut().find(|(other, _)| what(other) == what(error)) {
            Some((_, names)) => names.push(&run.name),
            None => failures.push((error, vec![&run.name])),
        }
    }
    for (error, names) in &failures {
        let what = if names.len() == 1 { "run" } else { "runs" };
        let error = (*error).clone().note(format!("in the {what} {}", names.join(" and ")));
        output.report(error.diagnostics(), error.sources());
    }
    !failures.is_empty()
}

/// The diagnostic for runs that ended before their `--until` condition held.
fn missed(report: &SweepReport, args: &Train) -> Option<Diagnostic> {
    let missed = report.runs.iter().filter(|run| matches!(run.state, RunState::Missed));
    let names: Vec<&str> = missed.map(|run| &*run.name).collect();
    let until = args.until.as_ref().filter(|_| !names.is_empty())?;
    let what = format!("training ended before `{until}` in {} of {} runs", names.len(), report.runs.len());
    let d = Diagnostic::error(codes::run::GOAL_MISSED, what).note(names.join(" and "));
    Some(d.help("train longer (`--windows N`, `--cycles N`): the same command continues with these runs"))
}

fn print(report: &SweepReport, output: &mut Output) -> Result<(), Stop> {
    if output.json() {
        return report.table.iter().try_for_each(|row| output.print_json(&row.json_line()));
    }
    output.print(&report.text())
}
