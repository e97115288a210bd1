//! Runs all vendored vectors on the simulator with each selected backend, by default `cpu`, and random programs by
//! plan.
//!
//! The backends are selected as in the suite of `rml-backend`: `RML_TEST_BACKENDS=cpu,xla,torch`,
//! `RML_TEST_DEVICE=cuda:0`. Names are `backend::conformance::folder::vector` and `backend::plans::seed`. Statuses and
//! values are compared with those of the vector, and errors by their cycle.
#![allow(clippy::print_stderr, reason = "a test tells why it cannot start")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use rml_backend::Backend;
use rml_backend::suite::{Closed, WantedBackends};
use rml_backend_cpu::Cpu;
use rml_testkit::flat::random::program;
use rml_testkit::plans::compare_on;
use rml_testkit::verdicts::respecting;
use rml_testkit::{Lcg, conformance};

/// The folders of vectors.
const FOLDERS: [&str; 3] = ["vectors", "random", "more"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let wanted = WantedBackends::read(|name| std::env::var_os(name));
    let mut trials = vec![];
    for name in &wanted.backends {
        match wanted.open(name, |options| Ok(Arc::new(Cpu::open(options)?))) {
            Ok(backend) => {
                trials.extend(vectors(name).map(|(name, file)| trial(name, file, &backend)));
                trials.extend((0..SEEDS).step_by(10).map(|seed| plans(name, seed, &backend)));
            }
            Err(Closed::NoDevice(why)) => {
                eprintln!("{name}: skipped: {why}");
                trials.extend(vectors(name).map(|(name, _)| skipped(name)));
            }
            Err(Closed::Failed(why)) => {
                trials.push(Trial::test(format!("{name}::open"), move || Err(Failed::from(why))));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The number of random programs that are run by plan.
const SEEDS: u64 = 300;

/// Ten random programs by plan, on the backend and in the simulator.
fn plans(name: &str, seed: u64, backend: &Arc<dyn Backend>) -> Trial {
    let backend = Arc::clone(backend);
    Trial::test(format!("{name}::plans::{seed}"), move || {
        for seed in seed..seed + 10 {
            let mut r = Lcg(seed);
            let (flat, _) = program(&r.take(220), 24, false);
            let inputs = respecting(&flat, &rml_analysis::clocks(&flat).clocks, &mut r, 10);
            compare_on(&backend, &flat, &inputs, &mut r).map_err(|why| format!("seed {seed}: {why}"))?;
        }
        Ok(())
    })
}

/// All vectors: the name of the test and the file.
fn vectors(backend: &str) -> impl Iterator<Item = (String, PathBuf)> {
    FOLDERS.into_iter().flat_map(move |folder| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
        let files = conformance::files(&path).expect("the vectors exist");
        assert!(!files.is_empty(), "no vectors in {}", path.display());
        let name = move |file: &PathBuf| {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            format!("{backend}::conformance::{folder}::{stem}")
        };
        files.into_iter().map(move |file| (name(&file), file))
    })
}

fn trial(name: String, file: PathBuf, backend: &Arc<dyn Backend>) -> Trial {
    let backend = Arc::clone(backend);
    Trial::test(name, move || {
        let failures = conformance::check_file(&file, Some(&backend)).failures;
        if failures.is_empty() {
            return Ok(());
        }
        Err(Failed::from(failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
    })
}

fn skipped(name: String) -> Trial {
    let why = "no such device";
    Trial::test(name, move || Err(Failed::from(why)))
        .with_kind(format!("skipped: {why}"))
        .with_ignored_flag(true)
}
