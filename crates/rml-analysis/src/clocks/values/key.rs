//! The meaning of labels and atoms.

use rml_ir::flat::Var;

use super::{Label, Presence};
use crate::clocks::bdd::Node;

/// The meaning of a label.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub(super) enum Key {
    /// A constant, by its number.
    Const(usize),
    Bool(Node),
    Input(Var),
    /// A delay, by its block in the partition.
    Delay(usize),
    /// A value that is equal to no other one: a parameter, or a value that depends on itself within a cycle.
    Alone(Var),
    /// An operator, by its number, on one or two operands.
    Apply(usize, Label, Option<Label>),
    /// An operator on other operands, by the number of their list.
    ApplyTo(usize, usize),
    If(Label, Label, Label),
    /// The cycles in which a clock is sampled by a condition, if this function exceeds the limit of the diagrams.
    Sampled(Presence, Node, bool),
}

impl Key {
    /// Whether the key only says how a value is computed, and nothing about the value itself.
    pub(super) fn is_opaque(self) -> bool {
        matches!(self, Key::Delay(_) | Key::Apply(..) | Key::ApplyTo(..) | Key::If(..))
    }
}
