//! Compiled programs keep the contract of executors.

use std::time::Duration;

use rml_backend::Options;
use rml_executor::Executor;
use rml_executor::suite::check;
use rml_native::{Auto, Native};

fn keeps_the_contract(executor: &dyn Executor) {
    let report = check(executor);
    assert_eq!((report.ran, &report.refused), (18, &Vec::new()), "{:#?}", report.findings);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn it_runs_all_plans_as_the_reference_does() {
    keeps_the_contract(&Native::open(&Options::default()).expect("a C compiler"));
}

/// Whichever of both runs a window: here the plan is compiled from the first one on.
#[test]
fn compiled_code_may_take_over_at_any_window() {
    keeps_the_contract(&Auto::open(&Options::default()).unwrap().with_patience(Duration::ZERO));
}
