//! Standardised inputs that are compared with the results of a network.

use indexmap::IndexSet;
use rml_data::Preparation;
use rml_driver::Program;
use rml_ir::flat::{Flat, Rhs, Var};
use rml_ir::op::Class;

/// Notes about standardised inputs that do not enter a network, since the program compares its results with them:
/// sentences without a full stop. An input that the program lacks belongs to the training.
pub(crate) fn targets(program: &Program, preparation: &Preparation) -> Vec<String> {
    let flat = program.flat();
    let parameters = flat.states.values().filter(|state| state.parameter);
    let parameters = moved(flat, parameters.map(|state| flat.equations[state.equation].lhs));
    let is_target = |name: &&str| {
        let input = flat.inputs.iter().find(|input| flat.vars[input.var].name.as_deref() == Some(*name));
        input.is_none_or(|input| !meets(flat, input.var, &parameters))
    };
    let all = preparation.changed_inputs().into_iter().filter(|_| !parameters.is_empty());
    let note = |name: &str| {
        let scale = match preparation.scale(name) {
            Some((&[mean], &[deviation])) => format!(" (mean {mean:.4}, deviation {deviation:.4})"),
            _ => String::new(),
        };
        format!("`{name}` is standardised{scale}: what is compared with it is on that scale")
    };
    all.filter(is_target).map(note).collect()
}

/// Whether an operator combines a value that depends on `value` with one of the parameters.
fn meets(flat: &Flat, value: Var, parameters: &IndexSet<Var>) -> bool {
    let mut reached = IndexSet::from([value]);
    loop {
        let before = reached.len();
        for e in &flat.equations {
            let (mut depends, mut takes) = (false, false);
            e.rhs.for_each_operand(|v| {
                depends |= reached.contains(&v);
                takes |= parameters.contains(&v);
            });
            if depends && takes {
                return true;
            }
            if depends {
                reached.insert(e.lhs);
            }
        }
        if reached.len() == before {
            return false;
        }
    }
}

/// The variables that contain the elements of `vars`, in another cycle or order.
pub(super) fn moved(flat: &Flat, vars: impl IntoIterator<Item = Var>) -> IndexSet<Var> {
    let mut found: IndexSet<Var> = vars.into_iter().collect();
    loop {
        let before = found.len();
        for e in &flat.equations {
            let from: &[Var] = match &e.rhs {
                Rhs::When { value, .. } => &[*value],
                Rhs::Fby { next, .. } | Rhs::FbyBack { next, .. } | Rhs::Post { next, .. } => &[*next],
                Rhs::Merge { on_true, on_false, .. } => &[*on_true, *on_false],
                Rhs::If { then, other, .. } => &[*then, *other],
                Rhs::Apply { op, args } if matches!(op.class(), Class::Identity | Class::Layout) => args,
                Rhs::Const(_) | Rhs::Apply { .. } | Rhs::Param { .. } => &[],
            };
            if from.iter().any(|v| found.contains(v)) {
                found.insert(e.lhs);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
