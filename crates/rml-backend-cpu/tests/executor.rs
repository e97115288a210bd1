//! The embedded backend keeps the contract of executors.

use rml_backend_cpu::Cpu;
use rml_executor::suite::check;

#[test]
fn it_runs_all_plans_as_the_reference_does() {
    let report = check(&Cpu);
    assert_eq!((report.ran, &report.refused), (22, &Vec::new()), "{:#?}", report.findings);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}
