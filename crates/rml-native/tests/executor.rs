//! Compiled programs keep the contract of executors.

use rml_executor::suite::check;
use rml_native::Native;

#[test]
fn it_runs_all_plans_as_the_reference_does() {
    let native = Native::open(&rml_backend::Options::default()).expect("a C compiler");
    let report = check(&native);
    assert_eq!((report.ran, &report.refused), (18, &Vec::new()), "{:#?}", report.findings);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}
