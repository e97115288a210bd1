//! How long compilation takes, by the size of the program: from text to what `rml check` says, with clocks, facts, plan and proof.
//!
//! `cargo bench -p rml --bench compile` prints a line for each family of programs: its equations at the largest size, the seconds at a quarter
//! of that, at half of it and at all of it, and the exponent by which the last two grow: 1 is linear, 2 quadratic. `-- FAMILY:N` takes one
//! family at another size, `-- first` none. The last lines are the time from source to the first window that an LSTM of two layers is trained by.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "the table is the result")]

mod families;
mod first;

use std::time::Instant;

use rml::{Options, PlanShape, Source, check_report};

fn main() {
    // The test runner calls benches with `--test`: then small programs are enough.
    let short = std::env::args().any(|a| a == "--test");
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    println!(
        "{:<12} {:>10} {:>9} {:>9} {:>9} {:>9}",
        "family", "equations", "s at 1/4", "1/2", "all", "exponent"
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
    let measured = [n / 4, n / 2, n].map(|n| seconds(&(family.text)(n)));
    let [(_, quarter), (_, half), (equations, all)] = measured;
    let exponent = (all / half).log2();
    println!("{:<12} {equations:>10} {quarter:>9.3} {half:>9.3} {all:>9.3} {exponent:>9.2}", family.name);
}

/// The equations of a program before what nothing needs is dropped, and the least of three times.
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
