//! The states that restart at the start of each epoch (ENV-8).

use std::sync::Arc;

use indexmap::IndexSet;
use rml_data::Windows;
use rml_driver::Program;
use rml_engine::{Snapshot, States};
use rml_ir::flat::{Flat, State, Var};

use super::reach::{Reach, is_of_optimiser};

/// The states that carry values computed from the data from one window to the next, by key. They do not include
/// parameters, states of optimisers, and ticks of random streams, nor what is computed from these alone, such as the
/// moving average of a parameter, or from no column, such as a counter.
pub(super) fn carried(program: &Program, windows: &Windows) -> IndexSet<Arc<str>> {
    let flat = program.flat();
    let learned = learned(flat);
    let is_read = |v: Var| flat.vars[v].name.as_deref().is_none_or(|name| !windows.is_mark(name));
    let columns = flat.inputs.iter().map(|input| input.var).filter(|v| is_read(*v));
    let computed = Reach::with_conditions(flat).until(columns, |v| learned.contains(&v));
    let is_carried = |state: &State| {
        let v = flat.equations[state.equation].lhs;
        computed.contains(&v) && !learned.contains(&v)
    };
    flat.states.iter().filter(|(_, state)| is_carried(state)).map(|(key, _)| Arc::clone(key)).collect()
}

/// The variables of states that belong to the training, and not to the sequence that it reads.
fn learned(flat: &Flat) -> IndexSet<Var> {
    let ticks = flat.ticks();
    let is_learned = |(key, state): &(&Arc<str>, &State)| {
        state.parameter || is_of_optimiser(flat, key) || ticks.contains(*key)
    };
    let states = flat.states.iter().filter(is_learned);
    states.map(|(_, state)| flat.equations[state.equation].lhs).collect()
}

/// A note about states that restart.
pub(super) fn note(carried: &IndexSet<Arc<str>>) -> Option<String> {
    let (first, others) = (carried.first()?, carried.len() - 1);
    Some(match others {
        0 => format!("the state `{first}` restarts in each epoch (`--keep-states` lets it continue)"),
        n => format!(
            "the state `{first}` and {n} more restart in each epoch (`--keep-states` lets them continue)"
        ),
    })
}

/// The values at the start of a training that some states have again at the start of each epoch.
#[derive(Default)]
pub(super) struct Restart {
    keys: IndexSet<Arc<str>>,
    initial: States,
}

impl Restart {
    /// The states of these keys, with the values that they have now.
    pub(super) fn new(keys: IndexSet<Arc<str>>, now: &Snapshot) -> Self {
        let mut initial = now.states.clone();
        initial.retain(|key| keys.contains(key));
        Self { keys, initial }
    }

    /// Whether no state restarts.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The same snapshot after the restart. A state without an initial value has none again.
    pub(super) fn of(&self, now: &Snapshot) -> Snapshot {
        let kept = now.states.iter().filter(|(key, _)| !self.keys.contains(*key));
        let states = kept.chain(self.initial.iter());
        let states = states.map(|(key, held)| (Arc::clone(key), held.clone())).collect();
        Snapshot { states, delays: now.delays.clone() }
    }
}
