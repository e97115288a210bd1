//! The progress of a training: a bar on a terminal, plain lines elsewhere, JSON lines for programs.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rml::{
    Diagnostic, EpochSummary, Metrics, Observer, Progress, Ran, Session, Sources, TrainInfo, TrainRecord,
    UpdateCounts, visible_name,
};

use crate::output::Output;

/// Displays the progress that an [`Observer`] sees.
pub(crate) struct Display<'a> {
    output: &'a mut Output,
    /// Whether standard error is a terminal, so that a bar can be drawn.
    terminal: bool,
    /// The bar; it exists from the first batch on.
    bar: Option<ProgressBar>,
    /// The number of epochs; `None` if the training has reports instead.
    epochs: Option<u64>,
    /// The epochs or reports so far.
    seen: Vec<EpochSummary>,
    /// Whether standard output carries answers, so that JSON lines about the progress go to standard error.
    has_answers: bool,
    /// The record for a page, and the callback that shows it.
    record: Option<(TrainRecord, Shows<'a>)>,
}

/// A callback that receives the record after an epoch or report.
pub(crate) type Shows<'a> = Box<dyn Fn(&TrainRecord) + 'a>;

/// How many epochs the bar shows as a bar chart.
const SHOWN: usize = 16;

impl<'a> Display<'a> {
    pub(crate) fn new(output: &'a mut Output) -> Self {
        let terminal = std::io::stderr().is_terminal() && !output.json() && !output.is_quiet();
        Self { output, terminal, bar: None, epochs: None, seen: Vec::new(), has_answers: false, record: None }
    }

    /// For a command that answers lines on standard output. It draws no bar, which would disturb a user who types the
    /// lines.
    pub(crate) fn beside_answers(output: &'a mut Output) -> Self {
        Self { terminal: false, has_answers: true, ..Self::new(output) }
    }

    /// Keeps a record for the page of the training, if there is one, and shows the page after each epoch or report.
    pub(crate) fn keeping(self, page: Option<Shows<'a>>) -> Self {
        Self { record: page.map(|shows| (TrainRecord::default(), shows)), ..self }
    }

    /// Removes the bar, and returns the epochs and the record.
    pub(crate) fn close(self) -> (Vec<EpochSummary>, Option<TrainRecord>) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        (self.seen, self.record.map(|(record, _)| record))
    }

    /// A metric over the last epochs, as a bar chart.
    fn heights(&self, metric: &str) -> String {
        let last = &self.seen[self.seen.len().saturating_sub(SHOWN)..];
        let value = |epoch: &EpochSummary| epoch.train.get(metric).copied().unwrap_or(f64::NAN);
        rml::sparkline(&last.iter().map(value).collect::<Vec<_>>())
    }

    fn line(&mut self, text: &str) {
        let text = format!("{text}\n");
        match self.bar.clone() {
            Some(bar) => bar.suspend(|| self.output.note(&text)),
            None => self.output.note(&text),
        }
    }
}

/// A bar over the windows of an epoch.
fn new_bar(windows: usize, colour: bool) -> ProgressBar {
    let template = if colour { BAR } else { PLAIN_BAR };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(windows as u64).with_style(style.progress_chars("━╸─"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

const BAR: &str = "{prefix:.bold} {wide_bar:.green} {pos}/{len}  {msg}  {eta}";
const PLAIN_BAR: &str = "{prefix} {wide_bar} {pos}/{len}  {msg}  {eta}";

/// The number of parameters and how often they are updated.
fn updates(info: &TrainInfo) -> String {
    let once = if info.epochs.is_some() { "once a batch" } else { "once a window" };
    let cycle = if info.single_cycles { once } else { "in each cycle" };
    let UpdateCounts { cycle: often, window, condition, never } = info.updates;
    let kinds = match cycle == once {
        true => vec![(often + window, once)],
        false => vec![(often, cycle), (window, once)],
    };
    let kinds = [kinds, vec![(condition, "where a condition is true"), (never, "never")]].concat();
    match kinds.iter().filter(|(count, _)| *count > 0).copied().collect::<Vec<_>>()[..] {
        [] => String::new(),
        [(_, "never")] => ", none of them updated".to_owned(),
        [(_, when)] => format!(", updated {when}"),
        ref several => {
            let parts: Vec<String> = several.iter().map(|(count, when)| format!("{count} {when}")).collect();
            format!(", updated: {}", parts.join(", "))
        }
    }
}

impl Observer for Display<'_> {
    fn begun(&mut self, session: &Session) {
        if let Some((record, _)) = &mut self.record {
            record.begun(session);
        }
    }

    fn learned(&mut self, session: &Session) {
        if let Some((record, _)) = &mut self.record {
            record.learned(session);
        }
    }

    fn note(&mut self, text: &str) {
        if !self.output.json() {
            self.line(text);
        }
    }

    fn start(&mut self, info: &TrainInfo) {
        if let Some((record, _)) = &mut self.record {
            record.start(info);
        }
        self.epochs = info.epochs;
        if self.output.json() {
            return;
        }
        let mut text = match info.epochs {
            Some(_) if info.validation_windows > 0 => format!(
                "{} windows to train on, {} to validate, {} to test",
                info.train_windows, info.validation_windows, info.test_windows
            ),
            Some(_) => format!("{} windows to train on, {} to test", info.train_windows, info.test_windows),
            None if self.has_answers => format!("{} cycles a report", info.train_windows),
            None => format!("{} windows a report, {} to evaluate it", info.train_windows, info.test_windows),
        };
        let plural = if info.parameters == 1 { "" } else { "s" };
        if info.epochs.is_some() {
            let _ = write!(text, ", batch {}", info.batch);
            if let shards @ 2.. = info.position.setup.shards {
                let _ = write!(text, " in {shards} shards");
            }
        }
        let _ = write!(text, ", {} parameter{plural}{}", info.parameters, updates(info));
        if info.epochs_done > 0 {
            let what = if info.epochs.is_some() { "epoch" } else { "report" };
            let _ = write!(text, ", continuing after {what} {}", info.epochs_done);
        }
        self.line(&text);
        for (input, classes) in &info.position.preparation.classes {
            self.line(&format!("{} has {} classes: {}", visible_name(input), classes.len(), named(classes)));
        }
    }

    fn batch(&mut self, progress: &Progress<'_>) {
        if !self.terminal {
            return;
        }
        let first = progress.metrics.keys().next();
        let heights = first.map(|metric| self.heights(metric) + "  ").unwrap_or_default();
        let colour = self.output.colour();
        let bar = self.bar.get_or_insert_with(|| new_bar(progress.of, colour));
        bar.set_prefix(match self.epochs {
            Some(epochs) => format!("epoch {}/{epochs}", progress.epoch),
            None => format!("report {}", progress.epoch),
        });
        let message = heights.trim_start().to_owned() + metrics("", progress.metrics, "  ").trim_end();
        bar.set_message(rml::visible_words(&message).into_owned());
        bar.set_position(progress.windows as u64);
    }

    fn epoch(&mut self, summary: &EpochSummary) {
        self.seen.push(summary.clone());
        if let Some((record, shows)) = &mut self.record {
            record.epoch(summary);
            shows(record);
        }
        if self.output.json() {
            if self.has_answers {
                self.output.note_json(&summary.json_line());
            } else {
                // If nobody reads the output any more, a training that is to be saved continues.
                let _ = self.output.print_json(&summary.json_line());
            }
            return;
        }
        let mut text = match (summary.ran, self.epochs) {
            (Some(Ran { cycles, .. }), _) if self.has_answers => {
                format!("report {}  {cycles} cycles  ", summary.epoch)
            }
            (Some(Ran { windows, cycles }), _) => {
                format!("report {}  {windows} windows  {cycles} cycles  ", summary.epoch)
            }
            (None, epochs) => {
                let epochs = epochs.unwrap_or_default().to_string();
                format!("epoch {:>width$}/{epochs}  ", summary.epoch, width = epochs.len())
            }
        };
        text.push_str(&metrics("", &summary.train, "  "));
        text.push_str(&metrics("validation ", &summary.validation, "  "));
        text.push_str(&metrics("test ", &summary.test, "  "));
        if let Some(norms) = summary.norms() {
            let _ = write!(text, "parameters {:.4}  update {:.4}  ", norms.parameters, norms.update);
            if let Some(gradient) = norms.gradient {
                let _ = write!(text, "gradient {gradient:.4}  ");
            }
        }
        let _ = write!(text, "{:.1} s", summary.seconds);
        let preparing = (summary.compiled.time + summary.compiled.load_time).as_secs_f64();
        if preparing >= 0.05 {
            let _ = write!(text, " ({preparing:.1} s of it compiling)");
        }
        if summary.best.as_ref().is_some_and(|best| best.epoch == summary.epoch) {
            text.push_str("  best");
        }
        self.line(&text);
    }

    fn warning(&mut self, diagnostic: &Diagnostic, sources: &Sources) {
        let report = |output: &mut Output| output.report(&diagnostic.clone().into(), sources);
        match self.bar.clone() {
            Some(bar) => bar.suspend(|| report(self.output)),
            None => report(self.output),
        }
    }
}

/// `loss 0.1234  accuracy 0.9832  `; `lead` comes before each entry and `end` after it.
pub(crate) fn metrics(lead: &str, metrics: &Metrics, end: &str) -> String {
    metrics.iter().map(|(name, value)| format!("{lead}{name} {value:.4}{end}")).collect()
}

/// The states that continue from those at the end of training, if any.
pub(crate) fn continued(states: &[String]) -> String {
    const SHOWN: usize = 3;
    let Some(first) = states.get(..states.len().min(SHOWN)).filter(|first| !first.is_empty()) else {
        return String::new();
    };
    let names: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
    let more = match states.len() - first.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let names = names.join(", ");
    format!("begins with the states at the end of training: {names}{more} (`--fresh` resets them)\n")
}

/// The names of classes, shortened if there are many.
fn named(classes: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> =
        classes.iter().take(SHOWN).map(|class| visible_name(class).to_string()).collect();
    shown.join(", ") + if classes.len() > SHOWN { ", .." } else { "" }
}
