//! The data flow of a program, and the states that belong to optimisers.

use indexmap::IndexSet;
use rml_base::IndexVec;
use rml_ir::flat::{Flat, Rhs, Var};

/// Whether a state belongs to the optimiser of a parameter: its key begins with that of the parameter.
pub(super) fn is_of_optimiser(flat: &Flat, key: &str) -> bool {
    let mut ends = key.match_indices('.').map(|(at, _)| &key[..at]);
    ends.any(|parameter| flat.states.get(parameter).is_some_and(|state| state.parameter))
}

/// The data flow between values.
pub(super) struct Reach {
    readers: IndexVec<Var, Vec<Var>>,
}

impl Reach {
    /// The flow of values; conditions do not count.
    pub(super) fn new(flat: &Flat) -> Self {
        Self::of(flat, false)
    }

    /// The flow of values and of the conditions that choose among them.
    pub(super) fn with_conditions(flat: &Flat) -> Self {
        Self::of(flat, true)
    }

    fn of(flat: &Flat, conditions: bool) -> Self {
        let mut readers: IndexVec<Var, Vec<Var>> = flat.vars.ids().map(|_| Vec::new()).collect();
        for equation in &flat.equations {
            let mut of = |v: Var| readers[v].push(equation.lhs);
            match &equation.rhs {
                rhs if conditions => rhs.for_each_operand(of),
                Rhs::When { value, .. } => of(*value),
                Rhs::Merge { on_true, on_false, .. } => [*on_true, *on_false].into_iter().for_each(of),
                Rhs::If { then, other, .. } => [*then, *other].into_iter().for_each(of),
                rhs => rhs.for_each_operand(of),
            }
        }
        Self { readers }
    }

    /// The values computed from these, including these.
    pub(super) fn from(&self, vars: impl IntoIterator<Item = Var>) -> IndexSet<Var> {
        self.until(vars, |_| false)
    }

    /// The same, without what is computed from these only by way of a value that `is_end` accepts.
    pub(super) fn until(
        &self,
        vars: impl IntoIterator<Item = Var>,
        is_end: impl Fn(Var) -> bool,
    ) -> IndexSet<Var> {
        let mut found: IndexSet<Var> = vars.into_iter().collect();
        let mut at = 0;
        while let Some(v) = found.get_index(at).copied() {
            if !is_end(v) {
                found.extend(self.readers[v].iter().copied());
            }
            at += 1;
        }
        found
    }
}
