//! The memory that executors ask for. The limit applies to the process, so this file contains no other test.

use std::sync::Arc;

use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::suite::{ContractRule, limits};
use rml_executor::{About, Executor, Footprint, PrepareOptions, Prepared, Reference, Refused, Running};
use rml_plan::Plan;

/// The reference with a footprint that is this number of bytes larger than the memory it asks for.
#[derive(Debug)]
struct Says(i64);

#[derive(Debug)]
struct Ready(i64, Arc<dyn Prepared>);

impl Executor for Says {
    fn about(&self) -> About {
        Reference.about()
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        Ok(Arc::new(Ready(self.0, Reference.prepare(plan, wish)?)))
    }
}

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        let footprint = self.1.footprint();
        Footprint { fixed: footprint.fixed.saturating_add_signed(self.0), ..footprint }
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        self.1.start(profile)
    }
}

#[test]
fn the_footprint_is_what_is_asked_for() {
    assert_eq!(limits(&Reference), []);
    assert_eq!(limits(&Says(0)), []);
    for off in [-1, 1] {
        let findings = limits(&Says(off));
        assert!(!findings.is_empty(), "{off}");
        assert!(findings.iter().all(|found| found.rule == ContractRule::X4), "{findings:#?}");
    }
}
