//! `cargo xtask peers`: the same jobs by this project, JAX and PyTorch, taking turns on the same processors.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::bench::{machine, replaced};
use crate::workspace::{cargo, root, step};
use crate::{setup, weights};

/// Where the table stands.
const PAGE: &str = "docs/performance.md";
const MARKS: [&str; 2] = ["<!-- peers -->\n", "<!-- end of peers -->\n"];
const SCRIPT: &str = "benches/peers/peers.py";

/// What is measured, and how a row calls it.
const JOBS: [(&str, &str); 5] = [
    ("train:32,28,28,128", "LSTM of 128 units, 32 sequences of 28 vectors of 28"),
    ("train:1,64,16,64", "LSTM of 64 units, 1 sequence of 64 vectors of 16"),
    ("train:32,128,64,256", "LSTM of 256 units, 32 sequences of 128 vectors of 64"),
    ("train:64,8,8,64", "LSTM of 64 units, 64 sequences of 8 vectors of 8"),
    ("scalars:60,614", "gradient through 60 scalar states, 614 cycles"),
];

/// The sides, in the order of the columns: this project on each of its backends, then the others.
const SIDES: [&str; 5] = ["rml", "rml xla", "rml torch", "jax", "torch"];
const ROUNDS: usize = 3;

/// The benchmark of this project.
const BENCH: [&str; 6] = ["--package", "rml", "--features", "xla,torch", "--bench", "peers"];

/// The medians of the rounds by side and job.
type Figures = BTreeMap<(String, String), Vec<f64>>;

/// Runs all jobs on all sides, on one thread, and writes the table.
pub(crate) fn peers() -> Result<(), String> {
    let python = weights::python()?;
    step("peers: build", cargo(&["bench"]).args(BENCH).arg("--no-run"))?;
    let machine = machine();
    let mut figures = Figures::new();
    for round in 0..ROUNDS {
        println!("\n== peers: round {} of {ROUNDS}", round + 1);
        for (job, _) in JOBS {
            for side in SIDES {
                let Some(median) = measure(&python, side, job)? else { continue };
                println!("{job} {side}: {median:.3} ms");
                figures.entry((side.to_owned(), job.to_owned())).or_default().push(median);
            }
        }
    }
    let table = table(&machine, &figures);
    println!("\n{table}");
    let path = root().join(PAGE);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {PAGE}: {e}"))?;
    std::fs::write(path, replaced(&text, PAGE, MARKS, &table)?)
        .map_err(|e| format!("cannot write {PAGE}: {e}"))
}

/// The median time of a step in milliseconds; none if that side does not do the job.
fn measure(python: &Path, side: &str, job: &str) -> Result<Option<f64>, String> {
    let mut command = match side {
        own if own.starts_with("rml") => {
            let mut command = cargo(&["bench", "--quiet"]);
            command.args(BENCH).arg("--");
            if let Some((_, backend)) = own.split_once(' ') {
                command.env("RML_ENGINE", backend).env(setup::VARIABLE, setup::cache_folder()?);
            }
            command
        }
        library => {
            let mut command = Command::new(python);
            command.arg(root().join(SCRIPT)).args([library, "--threads", "1"]);
            command
        }
    };
    let output = command.arg(job).output().map_err(|e| format!("cannot run {side}: {e}"))?;
    let fail = |why: &str| format!("{side}, {job}: {why}\n{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(fail("it fails"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().find(|l| l.starts_with('{')) else { return Ok(None) };
    let line: serde_json::Value = serde_json::from_str(line).map_err(|e| fail(&e.to_string()))?;
    line["median_ms"].as_f64().map(Some).ok_or_else(|| fail("no median"))
}

/// A row for each job: the medians of the rounds with their spread, and how many times faster than the best peer this project is.
fn table(machine: &str, figures: &Figures) -> String {
    let mut out = format!(
        "{machine}, one thread:\n\n| milliseconds a step | {} | best peer / rml |\n",
        SIDES.join(" | ")
    );
    out.push_str(&format!("|---|{}\n", "---:|".repeat(SIDES.len() + 1)));
    for (job, title) in JOBS {
        out.push_str(&format!("| {title} |"));
        let mut best = None::<f64>;
        let mut own = None;
        for side in SIDES {
            let Some(times) = figures.get(&(side.to_owned(), job.to_owned())) else {
                out.push_str(" – |");
                continue;
            };
            let (low, median, high) = spread(times);
            out.push_str(&format!(" {median:.3} ({low:.3}–{high:.3}) |"));
            match side {
                "rml" => own = Some(median),
                backend if backend.starts_with("rml") => {}
                _ => best = Some(best.map_or(median, |b| b.min(median))),
            }
        }
        match best.zip(own) {
            Some((best, own)) => out.push_str(&format!(" {:.2} |\n", best / own)),
            None => out.push_str(" – |\n"),
        }
    }
    out
}

/// The least, the median and the greatest.
fn spread(times: &[f64]) -> (f64, f64, f64) {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_compares_with_the_best_peer() {
        let of = |side: &str, job: &str, times: &[f64]| ((side.to_owned(), job.to_owned()), times.to_vec());
        let job = JOBS[0].0;
        let figures = [
            of("rml", job, &[3.0, 1.0, 2.0]),
            of("rml xla", job, &[1.5]),
            of("jax", job, &[5.0]),
            of("torch", job, &[4.0]),
        ];
        let table = table("", &figures.into_iter().collect());
        let row = table.lines().find(|l| l.contains(JOBS[0].1)).unwrap();
        assert!(
            row.ends_with(
                "| 2.000 (1.000–3.000) | 1.500 (1.500–1.500) | – | 5.000 (5.000–5.000) | 4.000 (4.000–4.000) | 2.00 |"
            ),
            "{row}"
        );
        assert!(table.lines().last().unwrap().ends_with("| – | – | – | – | – | – |"));
    }

    #[test]
    fn the_page_has_the_marks() {
        let text = std::fs::read_to_string(root().join(PAGE)).unwrap();
        assert!(replaced(&text, PAGE, MARKS, "").is_ok());
    }
}
