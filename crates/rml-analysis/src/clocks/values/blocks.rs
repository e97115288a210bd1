//! Partitions of the delays.

use indexmap::IndexSet;
use rml_base::IndexVec;
use rml_ir::flat::{Eq, Flat, Init, Rhs};

use super::structure::Structure;
use super::{Label, Presence};

/// A partition of the delays.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) of: IndexVec<Eq, usize>,
    pub(super) count: usize,
}

impl Blocks {
    /// Delays of the same kind with the same initial value share a block. A trained parameter has its own block.
    pub(super) fn new(flat: &Flat, structure: &Structure) -> Blocks {
        Blocks::by(flat, |eq| {
            let equation = &flat.equations[eq];
            let (kind, init) = match &equation.rhs {
                Rhs::Fby { init, .. } => (0, Some(init)),
                Rhs::FbyBack { init, .. } => (1, Some(init)),
                _ => (2, None),
            };
            let constant = match init {
                Some(Init::Const(k)) => Some(structure.constants[*k]),
                _ => None,
            };
            (kind, constant, flat.vars[equation.lhs].ty.clone(), structure.parameters[eq].then_some(eq))
        })
    }

    /// Each delay has its own block.
    pub(super) fn alone(flat: &Flat) -> Blocks {
        Blocks::by(flat, |eq| eq)
    }

    pub(super) fn by<K: std::hash::Hash + std::cmp::Eq>(flat: &Flat, key: impl Fn(Eq) -> K) -> Blocks {
        let mut keys = IndexSet::new();
        let of = flat.equations.iter_enumerated().map(|(eq, equation)| {
            if is_delay(&equation.rhs) { keys.insert_full(key(eq)).0 } else { usize::MAX }
        });
        let of = of.collect();
        Blocks { of, count: keys.len() }
    }
}

pub(super) fn is_delay(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. })
}

/// The properties that delays in one block must share.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub(super) struct Signature {
    /// The labels of the initial value, if it is a stream, and of the delayed value.
    pub(super) operands: (Option<Label>, Label),
    /// The window around the delay, by its number; equal windows have the same number.
    pub(super) window: Option<usize>,
    pub(super) clock: Presence,
}
