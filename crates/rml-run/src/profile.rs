//! Output of a profile: a table by source line, JSON, and a trace for Perfetto.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rml_base::profile::{Event, Measured, Name, Phase, Profile, Site};
use rml_base::{FileId, Sources};
use rml_pictures::TimedLine;
use serde_json::{Value, json};

/// The measurements of a [`Profile`] so far.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// use rml::{Columns, Engine, Options, Profile, ProfileReport, RunOptions, Source};
/// let profile = Profile::new(false);
/// let source = Source::text("net.rml", "node main() -> (n)\n  n = 0 fby n + 1;");
/// let program = rml::compile(&source, &Options::default())?;
/// let engine = Engine::auto().measured_by(&profile);
/// let options = RunOptions { cycles: Some(1000), engine, ..RunOptions::default() };
/// rml::run(&program, &Columns::default(), &options)?;
/// assert!(ProfileReport::new(&profile).to_table().contains("net.rml:2"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ProfileReport {
    measured: Measured,
    /// The computations of each source line, the longest time first.
    lines: Vec<Line>,
}

/// The computations of one source line.
#[derive(Clone, Debug)]
struct Line {
    file: String,
    line: usize,
    column: usize,
    text: String,
    ns: f64,
    calls: f64,
    /// The operators, with the time of each, the longest time first.
    operators: Vec<(&'static str, f64)>,
}

/// The starts of the lines of each text, so that finding a place is fast in long texts.
#[derive(Default)]
struct Places(BTreeMap<(usize, FileId), Vec<usize>>);

impl Places {
    /// The line and column of a site, from 1, and the text of the line.
    fn find<'s>(&mut self, sources: &'s Arc<Sources>, site: &Site) -> (usize, usize, &'s str) {
        let (file, text) = (site.span.file, sources.text(site.span.file));
        let starts = self.0.entry((Arc::as_ptr(sources).addr(), file)).or_insert_with(|| {
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
        });
        let at = (site.span.start as usize).min(text.len());
        let line = starts.partition_point(|start| *start <= at);
        let start = starts[line - 1];
        let column = text.get(start..at).map_or(0, |before| before.chars().count()) + 1;
        (line, column, text[start..].lines().next().unwrap_or_default().trim())
    }
}

impl ProfileReport {
    /// The most lines in the table; further lines share one row.
    const SHOWN: usize = 40;

    /// The measurements of the profile so far.
    pub fn new(profile: &Profile) -> Self {
        let mut measured = profile.measured();
        fit(&mut measured);
        let lines = lines(&measured);
        Self { measured, lines }
    }

    /// The time that engines spend besides computing: they copy inputs, outputs and states.
    fn around(&self) -> f64 {
        let programs: f64 = self.measured.programs.iter().map(|cost| cost.ns).sum();
        self.measured.runs.ns - programs - self.measured.sites.iter().map(|(_, _, cost)| cost.ns).sum::<f64>()
    }

    /// The remaining time, which belongs to no measurement.
    fn rest(&self) -> f64 {
        let phases: f64 = self.measured.phases.iter().map(|cost| cost.ns).sum();
        (self.measured.total as f64 - phases - self.measured.runs.ns).max(0.0)
    }

    /// The rows that are not source lines: a name, nanoseconds, and a count.
    fn others(&self) -> Vec<(&'static str, f64, Option<f64>)> {
        let engine = ("(engine: inputs, outputs, states)", self.around(), Some(self.measured.runs.calls));
        let phases = Phase::ALL.into_iter().zip(&self.measured.phases);
        let phases = phases.map(|(phase, cost)| match phase {
            Phase::Compile => ("(compilation)", cost.ns, Some(cost.calls)),
            Phase::Data => ("(data)", cost.ns, Some(cost.calls)),
            Phase::Checkpoint => ("(checkpoints)", cost.ns, Some(cost.calls)),
            Phase::Exchange => ("(exchange with other processes)", cost.ns, Some(cost.calls)),
        });
        let programs = ["(programs compiled by the backend)", "(programs loaded by the backend)"];
        let programs = programs.into_iter().zip(&self.measured.programs);
        let programs = programs.map(|(name, cost)| (name, cost.ns, Some(cost.calls)));
        let rest = ("(everything else)", self.rest(), None);
        let mut all: Vec<_> = std::iter::once(engine).chain(programs).chain(phases).chain([rest]).collect();
        all.retain(|(_, ns, calls)| *ns > 0.0 || calls.is_some_and(|n| n > 0.0));
        all
    }

    /// A table for people: the parts with their times, the longest time first, and a line with the total.
    pub fn to_table(&self) -> String {
        let total = (self.measured.total as f64).max(1.0);
        let row = |ns: f64, calls: Option<f64>, place: String, operators: String, text: &str| {
            let share = format!("{:.1} %", 100.0 * ns / total);
            let calls = calls.map_or(String::new(), |n| format!("{n:.0}"));
            vec![share, format!("{:.3}", ns / 1e6), calls, place, operators, text.to_owned()]
        };
        let shown = &self.lines[..self.lines.len().min(Self::SHOWN)];
        let hidden = &self.lines[shown.len()..];
        let mut rows: Vec<(f64, Vec<String>)> = shown
            .iter()
            .map(|line| {
                let place = format!("{}:{}:{}", line.file, line.line, line.column);
                (line.ns, row(line.ns, Some(line.calls), place, operators(line), &line.text))
            })
            .collect();
        if !hidden.is_empty() {
            let ns = hidden.iter().map(|line| line.ns).sum();
            let calls = hidden.iter().map(|line| line.calls).sum();
            let name = format!("({} more lines)", hidden.len());
            rows.push((ns, row(ns, Some(calls), name, String::new(), "")));
        }
        let others = self.others();
        rows.extend(
            others
                .iter()
                .map(|(name, ns, calls)| (*ns, row(*ns, *calls, (*name).to_owned(), String::new(), ""))),
        );
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let heading = ["share", "ms", "calls", "place", "operators", "source"].map(str::to_owned).to_vec();
        let last = row(self.measured.total as f64, None, "(total)".to_owned(), String::new(), "");
        let rows = rows.into_iter().map(|(_, row)| row);
        let all: Vec<Vec<String>> = std::iter::once(heading).chain(rows).chain([last]).collect();
        rml_base::table(&all, &[3, 4, 5])
    }

    /// `{"total_ms": .., "lines": [{"file", "line", "column", "text", "ms", "calls", "operators": {..}}], "other":
    /// [{"name", "ms", "calls"}]}`.
    pub fn to_json(&self) -> Value {
        let ms = |ns: f64| ns / 1e6;
        let lines = self.lines.iter().map(|line| {
            let operators: serde_json::Map<String, Value> =
                line.operators.iter().map(|(name, ns)| ((*name).to_owned(), json!(ms(*ns)))).collect();
            json!({"file": line.file, "line": line.line, "column": line.column, "text": line.text,
                "ms": ms(line.ns), "calls": line.calls.round(), "operators": operators})
        });
        let others = self.others().into_iter().map(
            |(name, ns, calls)| json!({"name": name.trim_matches(['(', ')']), "ms": ms(ns), "calls": calls}),
        );
        json!({"total_ms": ms(self.measured.total as f64), "lines": lines.collect::<Vec<_>>(),
            "other": others.collect::<Vec<_>>()})
    }

    /// For a page: the rows that are not source lines, and the slowest lines, with the sum of the other lines.
    pub(crate) fn rows(&self) -> (Vec<(String, f64)>, Vec<TimedLine>) {
        let others = self
            .others()
            .into_iter()
            .map(|(name, ns, _)| (name.trim_matches(['(', ')']).to_owned(), ns / 1e6));
        let lines = self.lines.iter().take(Self::SHOWN).map(|line| TimedLine {
            place: format!("{}:{}", line.file, line.line),
            text: line.text.clone(),
            operators: operators(line),
            ms: line.ns / 1e6,
        });
        (others.collect(), lines.collect())
    }

    /// Each source line: its file, its number from 1, and nanoseconds.
    pub(crate) fn by_line(&self) -> Vec<(String, usize, f64)> {
        self.lines.iter().map(|line| (line.file.clone(), line.line, line.ns)).collect()
    }

    /// The time of all source lines together, in milliseconds.
    pub(crate) fn computing(&self) -> f64 {
        self.lines.iter().map(|line| line.ns).sum::<f64>() / 1e6
    }

    /// How many events are missing in the trace, since it reached its limit.
    pub fn left_out(&self) -> u64 {
        self.measured.left_out
    }

    /// Writes all events with their times, in the trace event format that Perfetto and Chrome read.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_trace(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut places = Places::default();
        let sites = self.measured.sites.iter().map(|(sources, site, _)| {
            let (line, column, text) = places.find(sources, site);
            let place = format!("{}:{line}:{column}", sources.name(site.span.file));
            let name = json!(format!("{} {place}", site.what)).to_string();
            let args = json!({"source": text}).to_string();
            (name, args)
        });
        let sites: Vec<(String, String)> = sites.collect();
        let mut events: Vec<&Event> = self.measured.events.iter().collect();
        events.sort_by_key(|e| (e.start, std::cmp::Reverse(e.end)));
        let left_out = self.measured.left_out;
        writeln!(out, "{{\"displayTimeUnit\": \"ms\", \"otherData\": {{\"events_left_out\": {left_out}}},")?;
        out.write_str("\"traceEvents\": [\n")?;
        out.write_str(r#"{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "rml"}}"#)?;
        for Event { name, start, end } in events {
            let (kind, name, args) = match name {
                Name::Site(site) => ("line", sites[*site].0.clone(), Some(&sites[*site].1)),
                Name::Phase(phase) => ("phase", format!("\"{}\"", phase.name()), None),
                Name::Run => ("engine", "\"run\"".to_owned(), None),
                Name::Other(name) => ("plan", format!("\"{name}\""), None),
            };
            let (ts, dur) = (micros(*start), micros(end - start));
            write!(
                out,
                ",\n{{\"ph\": \"X\", \"name\": {name}, \"cat\": \"{kind}\", \"ts\": {ts}, \"dur\": {dur}, \"pid\": 1, \"tid\": 1"
            )?;
            if let Some(args) = args {
                write!(out, ", \"args\": {args}")?;
            }
            out.write_str("}")?;
        }
        out.write_str("\n]}\n")
    }

    /// As [`write_trace`](Self::write_trace), as a string.
    pub fn to_trace(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_trace(&mut text);
        text
    }
}

/// Nanoseconds as a decimal number of microseconds, without rounding.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// Scales sampled times, which are estimates, so that their sum is at most the time of the calls in which they were
/// sampled.
fn fit(measured: &mut Measured) {
    let sum: f64 = measured.sites.iter().map(|(_, _, cost)| cost.ns).sum();
    let computing = measured.runs.ns - measured.programs.iter().map(|cost| cost.ns).sum::<f64>();
    if sum > computing {
        let factor = computing.max(0.0) / sum;
        measured.sites.iter_mut().for_each(|(_, _, cost)| cost.ns *= factor);
    }
}

fn lines(measured: &Measured) -> Vec<Line> {
    let mut places = Places::default();
    let mut found: BTreeMap<(String, usize), Line> = BTreeMap::new();
    for (sources, site, cost) in measured.sites.iter().filter(|(_, _, cost)| cost.calls > 0.0) {
        let (at, column, text) = places.find(sources, site);
        let file = sources.name(site.span.file).to_owned();
        let line = found.entry((file.clone(), at)).or_insert_with(|| {
            let (text, operators) = (text.to_owned(), Vec::new());
            Line { file, line: at, column, text, ns: 0.0, calls: 0.0, operators }
        });
        line.column = line.column.min(column);
        line.ns += cost.ns;
        line.calls += cost.calls;
        match line.operators.iter_mut().find(|(name, _)| *name == site.what) {
            Some((_, ns)) => *ns += cost.ns,
            None => line.operators.push((site.what, cost.ns)),
        }
    }
    let mut lines: Vec<Line> = found.into_values().collect();
    lines.iter_mut().for_each(|line| line.operators.sort_by(|a, b| b.1.total_cmp(&a.1)));
    lines.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    lines
}

/// The slowest operators of a line, for people.
fn operators(line: &Line) -> String {
    const SHOWN: usize = 4;
    let names: Vec<&str> = line.operators.iter().take(SHOWN).map(|(name, _)| *name).collect();
    let more = if line.operators.len() > SHOWN { ", .." } else { "" };
    format!("{}{more}", names.join(", "))
}
