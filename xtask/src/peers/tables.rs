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
fn cell(values: &[f64], scale: f64) -> String {
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

/// The lines that matter, where all of their jobs have been measured.
pub(super) fn front(figures: &Figures) -> Option<String> {
    let rows = [
        (
            "lstm:32,28,28,128",
            "training an LSTM of 128 units, 32 sequences of 28 vectors of 28: a step",
            1.0,
            "ms",
        ),
        ("scalars:60,614", "gradient through 60 scalar states, 614 cycles", 1.0, "ms"),
        ("stream:16,64", "a step of a stream: an LSTM of 64 units and a dense layer, one vector", 1e3, "µs"),
        ("digits", "handwritten digits: from process start to 0.95 test accuracy", 1e-3, "s"),
    ];
    let sides = [("rml", "rml"), ("jax", "JAX"), ("torch", "PyTorch"), ("c", "C, by hand")];
    let mut out = heading("one thread", &sides.map(|(_, name)| name)).trim_start().to_owned();
    for (job, title, scale, unit) in rows {
        figures.median(job, 1, "rml")?;
        let cells = sides.map(|(side, _)| {
            let median = figures.median(job, 1, side);
            median.map_or("–".to_owned(), |m| format!("{} {unit}", digits(m * scale)))
        });
        out += &format!("| {title} | {} |\n", cells.join(" | "));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Turn;

    fn figures(entries: &[(&str, usize, &str, f64)]) -> Figures {
        let mut figures = Figures::default();
        for (job, threads, side, ms) in entries {
            let turn = Turn { median: *ms, least: *ms, p99: 2.0 * ms, steps: 1, memory: Some(5e6) };
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
}
