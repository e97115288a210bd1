//! The meaning of labels and atoms.

use rml_ir::flat::Var;

use super::{Label, Presence};
use crate::clocks::bdd::Node;

/// What a label stands for.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub(super) enum Key {
    /// A constant, by its number.
    Const(usize),
    Bool(Node),
    Input(Var),
    /// A delay, by its block of the partition.
    Delay(usize),
    /// Something equal to nothing else: a parameter, or what depends on itself within a cycle.
    Alone(Var),
    /// An operator, by its number, on one or two operands.
    Apply(usize, Label, Option<Label>),
    /// An operator on other operands, by the number of their list.
    ApplyTo(usize, usize),
    If(Label, Label, Label),
    /// The cycles in which a clock is sampled by a condition, if they exceed the limit of the diagrams.
    Sampled(Presence, Node, bool),
}

impl Key {
    /// Whether it says how a value comes about, and nothing about the value.
    pub(super) fn is_opaque(self) -> bool {
        matches!(self, Key::Delay(_) | Key::Apply(..) | Key::ApplyTo(..) | Key::If(..))
    }
}
