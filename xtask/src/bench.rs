//! Runs the benchmark of the backends and writes its table to [`MEASUREMENTS`].

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::Value;
use xshell::cmd;

use crate::cache;
use crate::tables::{self, Figures, MEASUREMENTS, machine, measured};
use crate::workspace::{cargo, emptied, root, shell, step};

/// The folder of the benchmark's figures, in the root folder.
const FOLDER: &str = "target/criterion-backends";

/// Runs the benchmark on all installed backends, and writes the table.
pub(crate) fn bench() -> Result<()> {
    let (measured, machine) = (measured()?, machine());
    let mut present = Vec::new();
    for name in &measured.backends.sides {
        if name == "cpu" || cache::has_backend(name)? {
            present.push(name.as_str());
        } else {
            println!("{name} is left out: it is not set up (`cargo xtask setup {name}`)");
        }
    }
    let (folder, shell, cargo) = (root().join(FOLDER), shell()?, cargo());
    emptied(&folder)?;
    let run = cmd!(shell, "{cargo} bench --package rml-backend --bench backends");
    let run = run.env("RML_TEST_BACKENDS", present.join(",")).env(cache::VARIABLE, cache::folder()?);
    step("benchmark of backends", run.env("CRITERION_HOME", &folder))?;
    let mut figures = Figures::default();
    for row in &measured.backends.row {
        let (group, size) = row.job.split_once('/').unwrap_or((&row.job, ""));
        for backend in &present {
            let path = folder.join(group).join(backend).join(size).join("new/estimates.json");
            let estimates: Value = serde_json::from_slice(&fs::read(&path)?)?;
            let nanoseconds = estimates["median"]["point_estimate"].as_f64().context("there is no median")?;
            figures.add(&row.job, 1, backend, [("median_ms".to_owned(), 1e-6 * nanoseconds)]);
        }
    }
    let table = format!("{machine}:\n\n{}", measured.backends.markdown(&figures, &measured.product));
    println!("\n{table}");
    tables::write_page(MEASUREMENTS, "backends", &table)
}
