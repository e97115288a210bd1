//! The suite of backends, run by all that are asked for: `cpu` if nothing is said.
//!
//! `RML_TEST_BACKENDS=cpu,xla,torch` names them; libraries are those that `cargo xtask setup` installed, in `$RML_BACKENDS` or the user's cache
//! folder. `RML_TEST_DEVICE=cuda:0` chooses a device; where a backend does not have it, its checks are listed as skipped and none of them
//! runs. A backend that is asked for and does not open fails. Names are `backend::topic::what`; any part of one selects checks, as with
//! every test.
#![allow(clippy::print_stderr, reason = "a test tells why it cannot start")]

mod open;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use rml_backend::Backend;
use rml_backend::suite::{Check, checks};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![];
    for name in open::asked() {
        match open::open(&name) {
            Ok(backend) => trials.extend(checks().into_iter().map(|c| trial(&name, c, Arc::clone(&backend)))),
            Err(open::Closed::NoDevice(why)) => {
                eprintln!("{name}: skipped: {why}");
                trials.extend(checks().iter().map(|c| skipped(&name, c)));
            }
            Err(open::Closed::Failed(why)) => {
                trials.push(Trial::test(format!("{name}::open"), move || Err(Failed::from(why))));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(backend: &str, check: Check, open: Arc<dyn Backend>) -> Trial {
    Trial::test(format!("{backend}::{}", check.name), move || {
        let report = check.run(&*open);
        if report.passed() { Ok(()) } else { Err(Failed::from(report.to_string())) }
    })
}

fn skipped(backend: &str, check: &Check) -> Trial {
    let name = format!("{backend}::{}", check.name);
    Trial::test(name, || Ok(())).with_kind("skipped: no such device").with_ignored_flag(true)
}
