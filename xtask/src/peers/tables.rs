//! The tables of the page.

use super::figures::{Figures, median, spread};
use super::jobs::{self, Case, Group, Kind};
use crate::chart::{Axis, Chart, svg};

/// The text of a group: machine, rounds, and its tables.
pub(super) fn group(group: &Group, machine: &str, rounds: usize, figures: &Figures) -> String {
    let head = match group.kind {
        Kind::Process => format!("{machine}; {} seeds.\n", jobs::SEEDS),
        _ => format!("{machine}; rounds: {rounds}.\n"),
    };
    let body = match group.kind {
        Kind::Step => steps(group, figures),
        Kind::Latency => latency(&group.cases[0], figures),
        Kind::Carts => carts(&group.cases[0], figures),
        Kind::Cycle => cycles(group, figures),
        Kind::Process => processes(&group.cases[0], figures),
    };
    head + &body
}

/// The sides of those cases that have figures, each once.
fn columns(cases: &[&Case], figures: &Figures) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for case in cases {
        for side in case.sides {
            if !found.contains(side) && figures.get(case.job, case.threads, side).is_some() {
                found.push(side);
            }
        }
    }
    found
}

/// The heading of a table.
fn heading(first: &str, columns: &[&str]) -> String {
    format!("\n| {first} | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()))
}

/// The median with the least and the greatest.
pub(super) fn cell(values: &[f64], scale: f64) -> String {
    let (low, middle, high) = spread(values);
    let [low, middle, high] = [low, middle, high].map(|v| digits(v * scale));
    format!("{middle} ({low}–{high})")
}

/// Three digits, or all before the point.
fn digits(value: f64) -> String {
    let digits = [0.9995, 9.995, 99.95].iter().filter(|limit| value < **limit).count();
    format!("{value:.digits$}")
}

/// How many times faster than the best of the others the first is.
fn advantage(case: &Case, figures: &Figures) -> Option<f64> {
    let own = figures.median(case.job, case.threads, case.sides[0])?;
    let others = case.sides.iter().filter(|side| !side.starts_with("rml"));
    let best = others.filter_map(|side| figures.median(case.job, case.threads, side)).reduce(f64::min)?;
    Some(best / own)
}

/// The best speed of a product of large matrices on some threads, in operations a millisecond.
fn peak(threads: usize, figures: &Figures) -> Option<f64> {
    let samples = jobs::PRODUCT_SIDES.iter().filter_map(|s| figures.get(jobs::PRODUCT, threads, s));
    let times = samples.map(|sample| spread(&sample.medians).0);
    Some(jobs::operations(jobs::PRODUCT)? / times.reduce(f64::min)?)
}

/// A table for each number of threads, with the share of the peak; after that, memory.
fn steps(group: &Group, figures: &Figures) -> String {
    let mut out = String::new();
    for threads in [1, 2] {
        let cases: Vec<&Case> = group.cases.iter().filter(|c| c.threads == threads).collect();
        let sides = columns(&cases, figures);
        let Some(peak) = peak(threads, figures).filter(|_| !sides.is_empty()) else { continue };
        let name = if threads == 1 { "one thread" } else { "two threads" };
        out += &format!(
            "\nMilliseconds a step, {name}; the peak, a product of matrices of 1024 x 1024, is {:.0} GFLOP/s:\n",
            peak / 1e6
        );
        let named: Vec<&str> = sides.iter().copied().chain(["best peer / rml", "rml, % of peak"]).collect();
        out += &heading("", &named);
        for case in cases {
            out += &format!("| {} |", case.title);
            for side in &sides {
                let sample = figures.get(case.job, threads, side);
                out += &sample.map_or(" – |".to_owned(), |s| format!(" {} |", cell(&s.medians, 1.0)));
            }
            let share = || {
                let own = figures.median(case.job, threads, case.sides[0])?;
                Some(100.0 * jobs::operations(case.job)? / own / peak)
            };
            let advantage = advantage(case, figures).map_or("–".to_owned(), |a| format!("**{a:.2}**"));
            out += &format!(" {advantage} | {} |\n", share().map_or("–".to_owned(), |s| format!("{s:.0}")));
        }
    }
    out + &memory(group, figures)
}

/// The most memory of each process, where the group has the job of which it is stated.
fn memory(group: &Group, figures: &Figures) -> String {
    let Some(case) = group.cases.iter().find(|c| c.job == jobs::MEMORY && c.threads == 1) else {
        return String::new();
    };
    let found: Vec<(&str, (f64, f64))> =
        case.sides.iter().filter_map(|side| Some((*side, figures.get(case.job, 1, side)?.memory?))).collect();
    if found.is_empty() {
        return String::new();
    }
    let sides: Vec<&str> = found.iter().map(|(side, _)| *side).collect();
    let row = |name: &str, of: &dyn Fn((f64, f64)) -> f64| {
        let cells: Vec<String> = found.iter().map(|(_, m)| format!("{:.0}", of(*m) / 1e6)).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    format!("\nPeak memory of the processes, in MB, {}:\n", case.title)
        + &heading("", &sides)
        + &row("in all", &|(peak, _)| peak)
        + &row("without what the libraries take before the job", &|(peak, before)| peak - before)
}

fn latency(case: &Case, figures: &Figures) -> String {
    let mut out = heading("microseconds a step", &["median", "99th percentile", "median / that of rml"]);
    let own = figures.median(case.job, case.threads, case.sides[0]).unwrap_or(f64::NAN);
    for side in case.sides {
        if let Some(sample) = figures.get(case.job, case.threads, side) {
            let ratio = median(&sample.medians) / own;
            out += &format!(
                "| {} | {} | {} | {ratio:.2} |\n",
                if *side == "c" { "C, by hand" } else { side },
                cell(&sample.medians, 1e3),
                cell(&sample.p99, 1e3)
            );
        }
    }
    out
}

fn carts(case: &Case, figures: &Figures) -> String {
    let sides = columns(&[case], figures);
    let mut out = heading("", &sides) + "| million steps of carts a second |";
    for sample in sides.iter().filter_map(|s| figures.get(case.job, case.threads, s)) {
        let rates: Vec<f64> = sample.medians.iter().map(|ms| jobs::CART_STEPS / ms / 1e3).collect();
        out += &format!(" {} |", cell(&rates, 1.0));
    }
    out + "\n"
}

fn cycles(group: &Group, figures: &Figures) -> String {
    let cases: Vec<&Case> = group.cases.iter().collect();
    let sides = columns(&cases, figures);
    let mut out = heading("nanoseconds a cycle, cycles of a window", &sides);
    for (case, times) in cases.iter().zip(by_length(group, &sides, figures)) {
        let cells: Vec<String> = times.iter().map(|t| t.map_or("–".to_owned(), digits)).collect();
        out += &format!("| {} | {} |\n", case.title, cells.join(" | "));
    }
    out + "\n![What a cycle takes](windows.svg)\n"
}

/// The same as a picture, for the group that has lengths.
pub(super) fn picture(group: &Group, figures: &Figures) -> Option<String> {
    if group.kind != Kind::Cycle {
        return None;
    }
    let cases: Vec<&Case> = group.cases.iter().collect();
    let sides = columns(&cases, figures);
    let times = by_length(group, &sides, figures);
    let lengths = cases.iter().map(|case| jobs::sizes(case.job).get(1).copied().unwrap_or(f64::NAN));
    let points: Vec<(f64, &Vec<Option<f64>>)> = lengths.zip(&times).collect();
    let line = |(i, side): (usize, &&'static str)| {
        (*side, points.iter().filter_map(|(x, times)| Some((*x, times[i]?))).collect())
    };
    svg(&Chart {
        title: "A cycle of a window, by the cycles of the window",
        x: Axis::Logarithmic,
        unit: "ns",
        lines: sides.iter().enumerate().map(line).collect(),
    })
}

/// Nanoseconds of a cycle by length and side.
fn by_length(group: &Group, sides: &[&str], figures: &Figures) -> Vec<Vec<Option<f64>>> {
    let of = |case: &Case, side: &str| {
        let cycles = jobs::sizes(case.job).get(1).copied()?;
        Some(1e6 * figures.median(case.job, case.threads, side)? / cycles)
    };
    group.cases.iter().map(|case| sides.iter().map(|side| of(case, side)).collect()).collect()
}

fn processes(case: &Case, figures: &Figures) -> String {
    let mut out = heading("", &["seconds", "epochs"]);
    for side in columns(&[case], figures) {
        if let Some(sample) = figures.get(case.job, case.threads, side) {
            let epochs = cell(&sample.epochs, 1.0).replace(".00", "").replace(".0", "");
            out += &format!("| {side} | {} | {epochs} |\n", cell(&sample.medians, 1e-3));
        }
    }
    out
}

/// A row that compares the tools at one job.
struct Row {
    job: &'static str,
    threads: usize,
    title: &'static str,
    unit: &'static str,
    /// From the milliseconds of a step to what is shown.
    shown: fn(f64) -> f64,
}

const fn row(job: &'static str, title: &'static str, unit: &'static str, shown: fn(f64) -> f64) -> Row {
    Row { job, threads: 1, title, unit, shown }
}

/// The rows of the README.
const FRONT: [Row; 4] = [
    row(
        "lstm:32,28,28,128",
        "training an LSTM of 128 units, 32 sequences of 28 vectors of 28: a step",
        "ms",
        |ms| ms,
    ),
    row("scalars:60,614", "gradient through 60 scalar states, 614 cycles", "ms", |ms| ms),
    row(
        "stream:16,64",
        "a step of a stream: an LSTM of 64 units and a dense layer, one vector",
        "µs",
        |ms| ms * 1e3,
    ),
    row("digits", "handwritten digits: from process start to 0.95 test accuracy", "s", |ms| ms / 1e3),
];

/// The rows of the page on performance.
const SUMMARY: [Row; 13] = [
    row(
        "lstm:32,28,28,128",
        "training step: LSTM of 128 units, 32 sequences of 28 vectors of 28",
        "ms",
        |ms| ms,
    ),
    Row {
        job: "lstm:32,28,28,128",
        threads: 2,
        title: "the same with two threads",
        unit: "ms",
        shown: |ms| ms,
    },
    row(
        "lstm:32,128,64,256",
        "training step: LSTM of 256 units, 32 sequences of 128 vectors of 64",
        "ms",
        |ms| ms,
    ),
    row("lstm:1,64,16,64", "training step: LSTM of 64 units, 1 sequence of 64 vectors of 16", "ms", |ms| ms),
    row(
        "gru:32,28,28,128",
        "training step: GRU of 128 units, 32 sequences of 28 vectors of 28",
        "ms",
        |ms| ms,
    ),
    row(
        "bi_lstm:32,28,28,128",
        "training step: bidirectional LSTM of 2 x 128 units, 32 sequences of 28 vectors of 28",
        "ms",
        |ms| ms,
    ),
    row(
        "peephole:32,28,28,128",
        "training step: custom LSTM cell (peepholes, layer normalisation), 128 units, the same sequences",
        "ms",
        |ms| ms,
    ),
    row("scalars:60,614", "gradient through 60 scalar equations over 614 cycles", "ms", |ms| ms),
    row("scalars:1,1", "the smallest training step: one state, two parameters, one cycle", "µs", |ms| {
        ms * 1e3
    }),
    // Milliseconds for a million cycles are nanoseconds for one.
    row("lstm:1,1000000,4,8", "training an LSTM of 8 units on 1,000,000 cycles: each cycle", "ns", |ms| ms),
    row("stream:16,64", "streaming: LSTM of 64 units and a dense layer, one vector at a time", "µs", |ms| {
        ms * 1e3
    }),
    row("cartpole:16", "reinforcement learning, 16 carts: million steps of carts a second", "", |ms| {
        jobs::CART_STEPS / ms / 1e3
    }),
    row("digits", "handwritten digits: from process start to 0.95 test accuracy", "s", |ms| ms / 1e3),
];

/// The tools that rows compare. PyTorch counts with the faster of its fused cell and a loop over cells.
const TOOLS: [(&str, &[&str]); 4] =
    [("rml", &["rml"]), ("JAX", &["jax"]), ("PyTorch", &["torch", "torch cells"]), ("C, by hand", &["c"])];

/// The table of the README, if all of its jobs have been measured.
pub(super) fn front(figures: &Figures) -> Option<String> {
    beside("one thread", &FRONT, None, figures)
}

/// The table of the page on performance, if all of its jobs have been measured.
pub(super) fn summary(figures: &Figures) -> Option<String> {
    beside("one thread, unless stated", &SUMMARY, Some("speed of rml / that of the fastest other"), figures)
}

/// A row for each job; if `ratio` names it, a last column with the speed relative to the fastest other tool.
fn beside(first: &str, rows: &[Row], ratio: Option<&str>, figures: &Figures) -> Option<String> {
    let names: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).chain(ratio).collect();
    let mut out = heading(first, &names).trim_start().to_owned();
    for row in rows {
        let times = TOOLS.map(|(_, sides)| {
            let medians = sides.iter().filter_map(|side| figures.median(row.job, row.threads, side));
            medians.reduce(f64::min)
        });
        let own = times[0]?;
        let cell = |ms: f64| format!("{} {}", digits((row.shown)(ms)), row.unit).trim_end().to_owned();
        let mut cells: Vec<String> = times.iter().map(|t| t.map_or("–".to_owned(), cell)).collect();
        if ratio.is_some() {
            let best = times[1..].iter().flatten().copied().reduce(f64::min);
            cells.push(best.map_or("–".to_owned(), |best| relative(best / own)));
        }
        out += &format!("| {} | {} |\n", row.title, cells.join(" | "));
    }
    Some(out)
}

/// A relative speed, which says so if it is lower.
fn relative(ratio: f64) -> String {
    let shown = if ratio < 9.995 { format!("{ratio:.2}") } else { format!("{ratio:.0}") };
    if ratio < 1.0 { format!("**{shown}: slower**") } else { format!("**{shown}**") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Turn;

    fn figures(entries: &[(&str, usize, &str, f64)]) -> Figures {
        let mut figures = Figures::default();
        for (job, threads, side, ms) in entries {
            let turn =
                Turn { median: *ms, least: *ms, p99: 2.0 * ms, steps: 1, processor: None, memory: Some(5e6) };
            figures.add(job, *threads, side, turn, Some(1e6));
        }
        figures
    }

    fn of(name: &str) -> Group {
        jobs::groups().into_iter().find(|g| g.name == name).unwrap()
    }

    #[test]
    fn a_row_compares_with_the_best_peer_and_with_the_peak() {
        let job = "lstm:32,28,28,128";
        let all = [
            (jobs::PRODUCT, 1, "jax", 25.0),
            (job, 1, "rml", 2.0),
            (job, 1, "rml xla", 1.5),
            (job, 1, "jax", 5.0),
            (job, 1, "torch", 4.0),
        ];
        let text = group(&of("lstm"), "a machine", 3, &figures(&all));
        assert!(text.starts_with("a machine; rounds: 3.\n") && text.contains("86 GFLOP/s"), "{text}");
        assert!(text.contains("| rml | rml xla | jax | torch | best peer / rml |"), "{text}");
        let row = text.lines().find(|l| l.contains("units, 32 sequences of 28")).unwrap();
        let own = jobs::operations(job).unwrap() / 2.0 / (2.0 * 1024_f64.powi(3) / 25.0) * 100.0;
        assert!(row.contains("| 2.00 (2.00–2.00) | 1.50 (1.50–1.50) | 5.00"), "{row}");
        assert!(row.ends_with(&format!("| **2.00** | {own:.0} |")), "{row}");
        assert!(!text.contains("two threads") && !text.contains("Peak memory"), "{text}");
    }

    #[test]
    fn memory_is_stated_with_and_without_the_library() {
        let all = [(jobs::PRODUCT, 1, "jax", 25.0), (jobs::MEMORY, 1, "rml", 2.0)];
        let text = group(&of("lstm"), "", 1, &figures(&all));
        assert!(text.contains("| in all | 5 |") && text.contains("before the job | 4 |"), "{text}");
    }

    #[test]
    fn units_are_those_of_the_group() {
        let stream = figures(&[("stream:16,64", 1, "rml", 0.002), ("stream:16,64", 1, "c", 0.001)]);
        let text = group(&of("stream"), "", 1, &stream);
        assert!(text.contains("| C, by hand | 1.00 (1.00–1.00) | 2.00 (2.00–2.00) | 0.50 |"), "{text}");
        let carts = group(&of("cartpole"), "", 1, &figures(&[("cartpole:16", 1, "rml", 51.2)]));
        assert!(carts.contains("| 1.00 (1.00–1.00) |"), "{carts}");
        let lengths = group(&of("length"), "", 1, &figures(&[("lstm:1,1000,4,8", 1, "jax", 0.5)]));
        assert!(lengths.contains("| 1,000 | 500 |") && lengths.contains("(windows.svg)"), "{lengths}");
        let lengths = figures(&[("lstm:1,1000,4,8", 1, "rml", 0.5), ("lstm:1,100,4,8", 1, "rml", 0.1)]);
        let picture = picture(&of("length"), &lengths).unwrap();
        assert!(picture.matches("<circle").count() == 2 && picture.contains(">rml<"), "{picture}");
        let mut digits = figures(&[("digits", 1, "rml", 250.0)]);
        digits.entry("digits", 1, "rml").epochs.push(9.0);
        assert!(group(&of("digits"), "", 1, &digits).contains("| rml | 0.250 (0.250–0.250) | 9 (9–9) |"));
    }

    #[test]
    fn the_front_needs_all_of_its_jobs() {
        let jobs = ["lstm:32,28,28,128", "scalars:60,614", "stream:16,64", "digits"];
        let mut all: Vec<_> = jobs.map(|job| (job, 1, "rml", 1.0)).to_vec();
        let lines = front(&figures(&all)).unwrap();
        assert!(lines.contains("| 1000 µs | – | – | – |"), "{lines}");
        all.pop();
        assert_eq!(front(&figures(&all)), None);
    }

    #[test]
    fn the_summary_compares_with_the_fastest_other_tool() {
        let mut all: Vec<_> = SUMMARY.iter().map(|row| (row.job, row.threads, "rml", 1.0)).collect();
        all.extend([
            ("peephole:32,28,28,128", 1, "jax", 6.0),
            ("peephole:32,28,28,128", 1, "torch cells", 4.0),
            ("stream:16,64", 1, "c", 0.5),
            ("stream:16,64", 1, "jax", 20.0),
            ("digits", 1, "torch", 46.33),
            ("cartpole:16", 1, "jax", 2.0),
        ]);
        let text = summary(&figures(&all)).unwrap();
        assert!(text.contains("| 1.00 ms | 6.00 ms | 4.00 ms | – | **4.00** |"), "{text}");
        assert!(text.contains("| 1000 µs | 20000 µs | – | 500 µs | **0.50: slower** |"), "{text}");
        assert!(text.contains("| – | 0.046 s | – | **46** |"), "{text}");
        assert!(text.contains("| 51.2 | 25.6 | – | – | **2.00** |"), "{text}");
        all.remove(0);
        assert_eq!(summary(&figures(&all)), None);
    }
}
