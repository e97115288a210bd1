//! The values that outlive windows.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::Value;
use rml_plan::{Lifetime, Plan, Reg};

use crate::names::{Names, field};

/// A register in C.
#[derive(Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    /// Whether its value never changes, so that it is a constant.
    pub(crate) fixed: bool,
    /// Whether it is written at single ticks. Then it has a copy, which replaces it only if the window succeeds.
    pub(crate) looped: bool,
    /// Whether it may be unset; its readers have a start value for that case.
    pub(crate) flagged: bool,
    pub(crate) local: bool,
    /// Its start value, if it is a single constant.
    pub(crate) start: Option<Value>,
}

/// Suffixes that turn the name of a register into the names of its additional fields.
const BESIDE: &[&str] = &["_set", "_done", "_done_set", "_at"];

/// All registers of a plan, with names that other fields of the work do not have.
pub(crate) fn registers(plan: &Plan, arrays: &[&str]) -> IndexVec<Reg, Register> {
    let mut names = Names::without(arrays);
    let loops = plan.loops_of_registers();
    let committed: BTreeSet<Reg> = plan.commits.iter().map(|write| write.register).collect();
    let starts = plan.starts();
    let mut all = IndexVec::new();
    for (id, register) in plan.registers.iter_enumerated() {
        let name = match &register.kind {
            Lifetime::State { key, .. } => names.fresh(field(key), BESIDE),
            Lifetime::Local | Lifetime::Hidden => names.fresh(format!("kept_{}", id.0), BESIDE),
        };
        let local = register.kind == Lifetime::Local;
        let (looped, start) = (loops[id].is_some(), starts[id].value(plan).cloned());
        let is_written = looped || committed.contains(&id);
        let _: Reg = all.push(Register {
            name,
            fixed: !is_written && start.is_some() && !local,
            looped,
            flagged: start.is_none(),
            local,
            start,
        });
    }
    all
}

/// The start values of registers.
#[derive(Debug)]
pub(crate) struct Starts(pub(crate) IndexVec<Reg, Option<Value>>);

impl Starts {
    pub(crate) fn new(
        plan: &Plan,
        registers: &IndexVec<Reg, Register>,
        state: &dyn Fn(&str) -> Option<Value>,
    ) -> Self {
        let mut starts: IndexVec<Reg, Option<Value>> = registers.iter().map(|r| r.start.clone()).collect();
        for (id, register) in plan.registers.iter_enumerated() {
            if let Lifetime::State { key, .. } = &register.kind
                && let Some(value) = state(key)
            {
                starts[id] = Some(value.to_precision(plan.precision));
            }
        }
        Self(starts)
    }
}
