//! What outlives windows.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::Value;
use rml_plan::{Atom, Kind, Plan, Reg, Region, Rule};

use crate::names::{Names, field};

/// A register in C.
#[derive(Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    /// Whether its value never changes, so that it is a constant.
    pub(crate) fixed: bool,
    /// Whether it is written at single ticks of a window, and so has a copy that counts if the window succeeds.
    pub(crate) looped: bool,
    /// Whether it may be without a value, and what reads it knows what to take then.
    pub(crate) flagged: bool,
    pub(crate) local: bool,
}

/// What stands behind the names of registers where more of them is kept than a value.
const BESIDE: &[&str] = &["_set", "_done", "_done_set"];

/// All registers of a plan, called otherwise than what else stands in the work.
pub(crate) fn registers(plan: &Plan, arrays: &[&str]) -> IndexVec<Reg, Register> {
    let mut names = Names::without(arrays);
    let looped: BTreeSet<Reg> =
        plan.regions.iter().flat_map(Region::writes).map(|write| write.register).collect();
    let committed: BTreeSet<Reg> = plan.commits.iter().map(|write| write.register).collect();
    let starts = constant_starts(plan);
    let mut all = IndexVec::new();
    for (id, register) in plan.registers.iter_enumerated() {
        let name = match &register.kind {
            Kind::State { key, .. } => names.fresh(field(key), BESIDE),
            Kind::Local | Kind::Hidden => names.fresh(format!("kept_{}", id.0), BESIDE),
        };
        let local = register.kind == Kind::Local;
        let is_written = looped.contains(&id) || committed.contains(&id);
        let _: Reg = all.push(Register {
            name,
            fixed: !is_written && starts[id].is_some() && !local,
            looped: looped.contains(&id),
            flagged: starts[id].is_none(),
            local,
        });
    }
    all
}

/// For each register, what all that read it start with, if that is one constant.
fn constant_starts(plan: &Plan) -> IndexVec<Reg, Option<Value>> {
    let mut starts: IndexVec<Reg, Option<Option<Value>>> = IndexVec::filled(None, plan.registers.len());
    for case in plan.tapes.iter().flat_map(|tape| &tape.cases) {
        let Rule::Read { register, init } = &case.rule else { continue };
        let value = match init {
            Some(Atom::Const(k)) => Some(plan.consts[*k].clone()),
            _ => None,
        };
        let known = &mut starts[*register];
        *known = match known.take() {
            None => Some(value),
            Some(Some(old)) if value.as_ref().is_some_and(|v| v.same(&old)) => Some(Some(old)),
            Some(_) => Some(None),
        };
    }
    let mut all = IndexVec::new();
    for start in starts.into_vec() {
        let _: Reg = all.push(start.flatten());
    }
    all
}

/// What a register starts with, if all that read it say the same.
pub(crate) fn start(plan: &Plan, register: Reg) -> Option<Value> {
    constant_starts(plan)[register].clone()
}

/// What registers start with.
#[derive(Debug)]
pub(crate) struct Starts(pub(crate) IndexVec<Reg, Option<Value>>);

impl Starts {
    pub(crate) fn new(plan: &Plan, state: &dyn Fn(&str) -> Option<Value>) -> Self {
        let mut starts = constant_starts(plan);
        for (id, register) in plan.registers.iter_enumerated() {
            if let Kind::State { key, .. } = &register.kind
                && let Some(value) = state(key)
            {
                starts[id] = Some(value.to_precision(plan.precision));
            }
        }
        Self(starts)
    }
}
