//! Backends that run plans by routines keep the contract of executors; so do two executors as one.

use std::sync::Arc;

use rml_backend_cpu::Cpu;
use rml_executor::suite::check;
use rml_executor::{Executor, Ragged};
use rml_lower::Lowered;

fn lowered() -> Arc<dyn Executor> {
    Arc::new(Lowered::new(Arc::new(Cpu)))
}

#[test]
fn calls_of_functions_give_what_the_reference_does() {
    for executor in [lowered(), Arc::new(Ragged::new(lowered(), Arc::new(Cpu)))] {
        let report = check(&*executor);
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        assert_eq!(report.refused, ["waits, f32", "waits, f64"], "blocks that wait have no routine");
        assert_eq!(report.ran, 20);
    }
}
