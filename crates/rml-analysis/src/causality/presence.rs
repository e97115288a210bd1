//! How the presence of a variable becomes known: equations force classes of variables to be present together, and a condition decides
//! for each class.

use rml_base::{EntityId, IndexVec, entity_id};
use rml_ir::flat::{Rhs, Var};

use crate::clocks::ClockData;
use crate::conditions::Conditions;

entity_id!(
    /// A class of variables that are present together.
    Class,
    "class"
);

/// What decides when a class is present.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decider {
    /// The condition.
    pub(super) cond: Var,
    /// The class of the condition.
    pub(super) from: Class,
}

/// The classes of a program.
pub(super) struct Classes {
    pub(super) of: IndexVec<Var, Class>,
    /// What decides each class; `None` for a class with an input, and for one that is present because the environment asks for it.
    pub(super) decided_by: IndexVec<Class, Option<Decider>>,
}

impl Classes {
    pub(super) fn new(conditions: &Conditions<'_>) -> Classes {
        let flat = conditions.flat;
        let mut parent: Vec<usize> = (0..flat.vars.len()).collect();
        for equation in flat.equations.iter() {
            match &equation.rhs {
                Rhs::When { value, cond } => join(&mut parent, *value, *cond),
                Rhs::Merge { cond, .. } => join(&mut parent, equation.lhs, *cond),
                rhs => rhs.for_each_operand(|v| join(&mut parent, equation.lhs, v)),
            }
        }
        let mut numbers: IndexVec<Var, Option<Class>> = IndexVec::filled(None, flat.vars.len());
        let mut decided_by: IndexVec<Class, Option<Decider>> = IndexVec::new();
        let mut of = IndexVec::new();
        for v in flat.vars.ids() {
            let root = Var::from_index(find(&mut parent, v.index()));
            of.push(*numbers[root].get_or_insert_with(|| decided_by.push(None)));
        }
        let mut classes = Classes { of, decided_by };
        classes.decide(conditions);
        classes
    }

    /// If several conditions decide a class, the one that its clock names is taken, else the first.
    fn decide(&mut self, conditions: &Conditions<'_>) {
        for equation in conditions.flat.equations.iter() {
            match &equation.rhs {
                Rhs::When { cond, .. } => self.decider(conditions, equation.lhs, *cond),
                Rhs::Merge { cond, on_true, on_false } => {
                    self.decider(conditions, *on_true, *cond);
                    self.decider(conditions, *on_false, *cond);
                }
                _ => {}
            }
        }
        for input in &conditions.flat.inputs {
            let class = self.of[input.var];
            self.decided_by[class] = None;
        }
    }

    fn decider(&mut self, conditions: &Conditions<'_>, member: Var, cond: Var) {
        let (class, from) = (self.of[member], self.of[cond]);
        let clocks = conditions.clocks;
        let named = match clocks.clocks[clocks.of[member]] {
            ClockData::On { cond: c, .. } => {
                conditions.guard(c, true).cond == conditions.guard(cond, true).cond
            }
            ClockData::Base | ClockData::Unknown => false,
        };
        let slot = &mut self.decided_by[class];
        if class != from && (slot.is_none() || named) {
            *slot = Some(Decider { cond, from });
        }
    }
}

fn find(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

fn join(parent: &mut [usize], a: Var, b: Var) {
    let (a, b) = (find(parent, a.index()), find(parent, b.index()));
    parent[a.max(b)] = a.min(b);
}
