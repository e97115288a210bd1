//! Compiled programs satisfy the contract of executors.

use std::sync::Arc;
use std::time::Duration;

use rml_backend::Options;
use rml_backend_cpu::Cpu;
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::suite::check;
use rml_executor::{
    About, Choice, Executor, Footprint, Handover, PrepareOptions, Prepared, Refused, Running, TooLong,
    take_over,
};
use rml_native::{Auto, Native};
use rml_plan::Plan;

fn keeps_the_contract(executor: &dyn Executor) {
    let report = check(executor);
    assert_eq!((report.ran, &report.refused), (22, &Vec::new()), "{:#?}", report.findings);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn it_runs_all_plans_as_the_reference_does() {
    keeps_the_contract(&Native::open(&Options::default()).expect("a C compiler"));
}

/// Either executor may run a window: here the plan is compiled from the first window on.
#[test]
fn compiled_code_may_take_over_at_any_window() {
    keeps_the_contract(&Auto::open(&Options::default()).unwrap().with_patience(Duration::ZERO));
}

/// Two runs of the embedded executor, each of which takes over from the other whenever memory is requested, also during
/// the search for the end of a window.
#[derive(Debug)]
struct Turns(Cpu);

impl Executor for Turns {
    fn about(&self) -> About {
        Executor::about(&self.0)
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        let one = Executor::prepare(&self.0, plan, wish)?;
        Ok(Arc::new(Both { one, registers: plan.registers.len() }))
    }
}

#[derive(Debug)]
struct Both {
    one: Arc<dyn Prepared>,
    registers: usize,
}

impl Prepared for Both {
    fn footprint(&self) -> Footprint {
        self.one.footprint()
    }

    fn start(&self, _profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        let turn = Turn { other: Some(self.one.start(None)?), registers: self.registers };
        Ok(Box::new(Handover::new(self.one.start(None)?, turn)))
    }
}

#[derive(Debug)]
struct Turn {
    other: Option<Box<dyn Running>>,
    registers: usize,
}

impl Choice for Turn {
    fn ask(&mut self, now: &mut Box<dyn Running>, ticks: usize) -> Result<(), TooLong> {
        self.other = self.other.take().and_then(|other| take_over(now, other, self.registers));
        now.ask(ticks)
    }
}

#[test]
fn what_ran_before_may_take_over_again() {
    keeps_the_contract(&Turns(Cpu::open(&Options::default()).unwrap()));
}
