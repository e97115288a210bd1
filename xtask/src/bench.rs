//! What backends cost: runs their benchmark and writes its table to [`MEASUREMENTS`].

use std::path::Path;

use crate::setup;

use crate::page::{self, MEASUREMENTS, machine};
use crate::workspace::{cargo, root, step};

/// The backends, in the order of the columns.
const BACKENDS: [&str; 3] = ["cpu", "xla", "torch"];
/// The marks of the table.
const MARK: &str = "backends";
/// Where the benchmark leaves its figures, in the root folder.
const FIGURES: &str = "target/criterion-backends";

/// What is measured, and how a row calls it: group and size of the benchmark.
const ROWS: [(&str, &str, &str); 14] = [
    ("add", "1", "add, 1 element"),
    ("add", "64", "add, 64 elements"),
    ("add", "4096", "add, 4096 elements"),
    ("add", "1048576", "add, 1048576 elements"),
    ("matmul", "64", "matmul, 64 x 64"),
    ("matmul", "256", "matmul, 256 x 256"),
    ("matmul", "1024", "matmul, 1024 x 1024"),
    ("lstm", "16-64", "LSTM step, 16 inputs, 64 units, batch 32"),
    ("lstm", "28-128", "LSTM step, 28 inputs, 128 units, batch 32"),
    ("prepare", "1", "prepare, 1 operator"),
    ("prepare", "10", "prepare, 10 operators"),
    ("prepare", "100", "prepare, 100 operators"),
    ("prepare", "1000", "prepare, 1000 operators"),
    ("start-up", "", "start-up"),
];

/// Runs the benchmark on all backends that are set up, and writes the table.
pub(crate) fn bench() -> Result<(), String> {
    let folder = setup::cache_folder()?;
    let library = |name: &str| folder.join(name).join("lib").join(format!("librml_backend_{name}.so"));
    let (present, missing): (Vec<&str>, Vec<&str>) =
        BACKENDS.into_iter().partition(|name| *name == "cpu" || library(name).exists());
    for name in missing {
        println!("{name} is left out: it is not set up (`cargo xtask setup {name}`)");
    }
    let figures = root().join(FIGURES);
    if figures.exists() {
        std::fs::remove_dir_all(&figures).map_err(|e| format!("cannot empty {}: {e}", figures.display()))?;
    }
    let machine = machine();
    let mut run = cargo(&["bench", "--package", "rml-backend", "--bench", "backends"]);
    run.env("RML_TEST_BACKENDS", present.join(",")).env(setup::VARIABLE, folder);
    step("benchmark of backends", run.env("CRITERION_HOME", &figures))?;
    let table = table(&machine, &present, &|group, name, size| median(&figures, group, name, size))?;
    println!("\n{table}");
    page::write(MEASUREMENTS, MARK, &table)
}

/// The median of one benchmark, in nanoseconds.
fn median(figures: &Path, group: &str, backend: &str, size: &str) -> Result<f64, String> {
    let path = figures.join(group).join(backend).join(size).join("new").join("estimates.json");
    let text =
        std::fs::read_to_string(&path).map_err(|e| format!("no figures in {}: {e}", path.display()))?;
    let figures: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let median = figures["median"]["point_estimate"].as_f64();
    median.ok_or_else(|| format!("{} has no median", path.display()))
}

/// The table, with the machine that it is of.
fn table(
    machine: &str,
    backends: &[&str],
    median: &dyn Fn(&str, &str, &str) -> Result<f64, String>,
) -> Result<String, String> {
    let mut out = format!("{machine}:\n\n| median time of | {} |\n", backends.join(" | "));
    out.push_str(&format!("|---|{}\n", "---:|".repeat(backends.len())));
    for (group, size, title) in ROWS {
        out.push_str(&format!("| {title} |"));
        for name in backends {
            out.push_str(&format!(" {} |", time(median(group, name, size)?)));
        }
        out.push('\n');
    }
    Ok(out)
}

/// Three digits and a unit.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 999.5 => (n, "ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = [0.5, 9.994, 99.6, 999.4, 1234.0, 56_780.0, 999_600.0, 2.5e9].map(time);
        let wanted = ["0.50 ns", "9.99 ns", "99.6 ns", "999 ns", "1.23 µs", "56.8 µs", "1.00 ms", "2.50 s"];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn the_table_has_a_row_for_each_case() {
        let table =
            table("", &["cpu", "xla"], &|_, name, _| Ok(if name == "cpu" { 1.0 } else { 2e3 })).unwrap();
        assert_eq!(table.matches("| 1.00 ns | 2.00 µs |").count(), ROWS.len());
    }

    #[test]
    fn the_page_has_the_marks() {
        let text = std::fs::read_to_string(root().join(MEASUREMENTS)).unwrap();
        assert!(page::replaced(&text, MEASUREMENTS, MARK, "").is_ok());
    }
}
