//! The states of a run, as handles.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_backend::{Failure, Held};
use rml_ir::flat::Var;
use rml_ir::{Type, Value};

/// The states of a program that outlive its windows: one value for each checkpoint key.
///
/// Values are shared, not copied, and stay on the device of the run that returned them. Another run of the same engine
/// can receive them without a transfer. While they are kept, no backend overwrites their buffers.
#[derive(Clone, Debug, Default)]
pub struct States(IndexMap<Arc<str>, Held>);

impl States {
    /// The value of a state.
    pub fn get(&self, key: &str) -> Option<&Held> {
        self.0.get(key)
    }

    /// The type of a state's value.
    pub fn ty(&self, key: &str) -> Option<Type> {
        self.0.get(key).map(Held::ty)
    }

    /// All states, in the order of the program.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Held)> {
        self.0.iter()
    }

    /// Keeps only the states that `keep` accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|key, _| keep(key));
    }

    /// The states as values on the host, for checkpoints and for other engines.
    ///
    /// # Errors
    /// A value cannot be copied from its device.
    pub fn to_host(&self) -> Result<IndexMap<Arc<str>, Value>, Failure> {
        self.0.iter().map(|(key, held)| Ok((Arc::clone(key), held.to_host()?))).collect()
    }
}

impl<H: Into<Held>> FromIterator<(Arc<str>, H)> for States {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, H)>>(states: I) -> Self {
        Self(states.into_iter().map(|(key, held)| (key, held.into())).collect())
    }
}

/// The complete memory of a run between two cycles: its states, and the values that the delays in open windows keep for
/// their next active cycle. Another engine can continue from a snapshot in the middle of windows; a checkpoint does not
/// allow this.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The states.
    pub states: States,
    /// The values of delays in open windows. A delay that is not in this map restarts.
    pub delays: BTreeMap<Var, Held>,
}

impl Snapshot {
    /// The snapshot on the host, for another engine, which may run on another device.
    ///
    /// # Errors
    /// A value cannot be copied from its device.
    pub fn to_host(&self) -> Result<Self, Failure> {
        let states = self.states.to_host()?.into_iter().collect();
        let delays = self.delays.iter().map(|(v, held)| Ok((*v, Held::Host(held.to_host()?))));
        Ok(Self { states, delays: delays.collect::<Result<_, Failure>>()? })
    }
}

impl From<States> for Snapshot {
    fn from(states: States) -> Self {
        Self { states, delays: BTreeMap::new() }
    }
}
