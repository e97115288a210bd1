//! Measures the compile time by the size of the program: from the text to the report of `rml check`, with clocks,
//! facts, plan and proof.
//!
//! `cargo bench -p rml --bench compile` measures each family of programs at its largest size, a half of it, a quarter,
//! and so on down to [`SMALLEST`]. So one size is close to every limit that a stage has. The program prints a line for
//! each family: the equations at the largest size; the seconds at a quarter of this size, at half of it and at all of
//! it; the exponent of the growth between the last two (1 is linear, 2 quadratic); and the size at which an equation
//! takes the most time: the microseconds, the ratio to the largest size, and the number of equations. The ratio is far
//! above 1 if the time grows faster than linearly up to some limit. `-- FAMILY:N` measures one family at another size,
//! `-- first` no family. The last lines are the time from the source to the end of the first training window of an LSTM
//! of two layers.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "the table is the result")]

mod families;
mod first;

use std::time::Instant;

use rml::{Options, PlanShape, Source, check_report};

/// The smallest number of equations that is measured; in smaller programs, the fixed costs dominate.
const SMALLEST: usize = 400;

fn main() {
    // The test runner passes `--test` to benches; small programs are then sufficient.
    let short = std::env::args().any(|a| a == "--test");
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    println!(
        "{:<12} {:>10} {:>9} {:>9} {:>9} {:>9} {:>11} {:>6} {:>10}",
        "family", "equations", "s at 1/4", "1/2", "all", "exponent", "us at worst", "times", "equations"
    );
    for family in families::ALL {
        let size = asked.iter().find_map(|a| a.strip_prefix(family.name)?.strip_prefix(':')?.parse().ok());
        if asked.is_empty() || size.is_some() {
            line(family, size.unwrap_or(if short { family.size / 100 } else { family.size }));
        }
    }
    if asked.is_empty() || asked.iter().any(|a| a == "first") {
        first::first(if short { &[3] } else { &[8, 100, 10_000] });
    }
}

fn line(family: &families::Family, n: usize) {
    let mut measured = vec![seconds(&(family.text)(n))];
    let mut size = n / 2;
    while measured.len() < 3 || measured.last().is_some_and(|(equations, _)| *equations > 2 * SMALLEST) {
        measured.push(seconds(&(family.text)(size)));
        size /= 2;
    }
    let [(equations, all), (_, half), (_, quarter), ..] = measured[..] else { return };
    let exponent = (all / half).log2();
    let each = |(equations, seconds): &(usize, f64)| 1e6 * seconds / *equations as f64;
    let worst = measured.iter().max_by(|a, b| each(a).total_cmp(&each(b)));
    let (at, micros) = worst.map_or((0, 0.0), |m| (m.0, each(m)));
    let times = micros / each(&measured[0]);
    println!(
        "{:<12} {equations:>10} {quarter:>9.3} {half:>9.3} {all:>9.3} {exponent:>9.2} {micros:>11.1} {times:>6.2} {at:>10}",
        family.name
    );
}

/// The number of equations of a program before unused ones are removed, and the shortest of three times in seconds.
fn seconds(text: &str) -> (usize, f64) {
    let source = Source::text("bench.rml", text);
    let mut least = f64::INFINITY;
    let mut equations = 0;
    for _ in 0..3 {
        let start = Instant::now();
        let report = check_report(&source, &Options::default());
        for run in report.analyses.iter().filter_map(|a| a.run.as_ref()) {
            if let Err(why) = PlanShape::new(run) {
                eprintln!("no plan: {why:?}");
            }
        }
        least = least.min(start.elapsed().as_secs_f64());
        equations = report.analyses.iter().map(|a| a.flat.equations.len()).sum();
        if report.analyses.is_empty() {
            eprintln!("{:?}", report.findings);
        }
    }
    (equations, least)
}
