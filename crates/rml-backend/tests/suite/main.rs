//! Runs the suite on all selected backends, by default on `cpu`.
//!
//! `RML_TEST_BACKENDS=cpu,xla,torch` selects them. Libraries are those that `cargo xtask setup` installed, in
//! `$RML_BACKENDS` or the user's cache folder. `RML_TEST_DEVICE=cuda:0` selects a device; the checks of a backend
//! without this device are listed as skipped, and none of them runs. A backend that could run on CUDA but does not is
//! listed as one skipped line, `torch::cuda`. A selected backend that does not open is a failure. Names are
//! `backend::topic::what`; any part of a name selects checks, as for every test.
//!
//! In addition to the checks of `rml_backend::suite`, some checks need more than an open backend: derived gradients,
//! libraries, memory.
#![allow(clippy::print_stderr, reason = "a test tells why it cannot start")]

mod gradients;
mod library;
mod memory;

use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};

use libtest_mimic::{Arguments, Failed, Trial};
use rml_backend::Backend;
use rml_backend::suite::{Closed, Report, WantedBackends, checks};
use rml_backend_cpu::Cpu;

type Body = Box<dyn Fn(&Arc<dyn Backend>) -> Report + Send + Sync>;

/// A check on an open backend.
struct Case {
    name: String,
    /// Whether no other check may run at the same time.
    alone: bool,
    body: Body,
}

impl Case {
    fn new(
        name: impl Into<String>,
        body: impl Fn(&Arc<dyn Backend>) -> Report + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), alone: false, body: Box::new(body) }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let wanted = WantedBackends::read(|name| std::env::var_os(name));
    let mut trials = vec![];
    for name in &wanted.backends {
        let opened = wanted.open(name, |options| Ok(Arc::new(Cpu::open(options)?)));
        match opened {
            Ok(backend) => {
                trials.extend(cases(&wanted, name).into_iter().map(|c| trial(name, c, Arc::clone(&backend))));
            }
            Err(Closed::NoDevice(why)) => {
                eprintln!("{name}: skipped: {why}");
                trials.extend(cases(&wanted, name).iter().map(|c| skipped(name, &c.name, "no such device")));
            }
            Err(Closed::Failed(why)) => {
                trials.push(Trial::test(format!("{name}::open"), move || Err(Failed::from(why))));
            }
        }
    }
    trials.extend(wanted.without_cuda().map(|name| skipped(name, "cuda", "no CUDA device")));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// All checks of a backend.
fn cases(wanted: &WantedBackends, backend: &str) -> Vec<Case> {
    let shared = checks().into_iter().map(|check| Case::new(check.name.clone(), move |b| check.run(&**b)));
    let mut cases: Vec<Case> = shared.collect();
    cases.extend(gradients::cases());
    cases.push(memory::case());
    if backend != "cpu" {
        cases.extend(library::cases(wanted, backend));
    }
    cases
}

fn trial(backend: &str, case: Case, open: Arc<dyn Backend>) -> Trial {
    static TURN: RwLock<()> = RwLock::new(());
    Trial::test(format!("{backend}::{}", case.name), move || {
        let report = if case.alone {
            let _alone = TURN.write().unwrap_or_else(PoisonError::into_inner);
            (case.body)(&open)
        } else {
            let _among_others = TURN.read().unwrap_or_else(PoisonError::into_inner);
            (case.body)(&open)
        };
        if report.passed() { Ok(()) } else { Err(Failed::from(report.to_string())) }
    })
}

/// A check that is listed but cannot run; it is shown as skipped, not as passed.
fn skipped(backend: &str, case: &str, why: &'static str) -> Trial {
    let trial = Trial::test(format!("{backend}::{case}"), move || Err(Failed::from(why)));
    trial.with_kind(format!("skipped: {why}")).with_ignored_flag(true)
}
