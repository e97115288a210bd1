//! The Kahn semantics of the paper's appendix: streams are sequences that only grow at their end, and there is no
//! absence.
//!
//! It exists for comparison. A delay backward in time, which the synchronous semantics resolves as soon as it is cut,
//! waits for itself in this semantics: element 0 of `o = merge bp x ((post o) when not bp)` needs element 1 of `o`,
//! which comes after element 0.
//!
//! The transformers are those of the appendix, except for `fby`: here `i fby s` begins with `i_0` even if nothing is
//! known about `s` (in the printed form, not even a counter would count). `if` reads its condition and the chosen
//! branch. `fby back` is the same as `post`, because a sequence that may still grow has no last element. Windows have
//! no counterpart, because `end` and the sequences that it would cut are not aligned.

mod deadlock;
mod network;

use rml_base::IndexVec;
use rml_ir::Value;
use rml_ir::flat::{Drawn, Eq, Var};
use rml_ir::op::EvalError;

use network::Network;

/// A sequence, as far as it has been computed.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    /// The elements of the sequence.
    pub values: Vec<Value>,
    /// The reason why there are no more elements.
    pub stop: Stop,
}

/// The reason why a sequence has no further element.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug, Default)]
pub enum Stop {
    /// The inputs have no more elements.
    #[default]
    Inputs,
    /// The sequence continues, but it already has the requested number of elements.
    Limit,
    /// The sequence waits for itself, so more input does not help.
    Deadlock,
}

/// One step of a wait: the next element of a variable needs an element of another variable that does not exist yet.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub struct WaitStep {
    /// The variable that waits.
    pub var: Var,
    /// The index of the variable's next element.
    pub element: usize,
    /// The variable for which this variable waits.
    pub on: Var,
    /// The index of the element for which this variable waits.
    pub on_element: usize,
}

/// The least fixed point, up to a given number of elements per stream.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The sequences.
    pub streams: IndexVec<Var, Sequence>,
    /// The circular waits, each from its first variable back to that variable.
    pub deadlocks: Vec<Vec<WaitStep>>,
}

/// An operator without a result.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct KahnFailure {
    /// The equation.
    pub equation: Eq,
    /// The index of the missing element of the result.
    pub element: usize,
    /// The reason.
    pub error: EvalError,
}

/// Computes the least fixed point of `flat` on one sequence for each of its inputs, up to `limit` elements per stream.
/// A stream of that length is assumed to continue, so the limit must be greater than the length of the inputs.
///
/// Requires: no delay is inside a window.
///
/// # Errors
/// The first operator without a result.
pub fn run(flat: &Drawn, inputs: &[Vec<Value>], limit: usize) -> Result<Streams, KahnFailure> {
    let mut network = Network::new(flat, inputs, limit);
    network.run()?;
    let waits = network.waits();
    let (stuck, deadlocks) = deadlock::find(&waits);
    let stop = network.stops(&waits, &stuck);
    let streams = network.into_values().into_vec().into_iter().zip(stop);
    let streams = streams.map(|(values, stop)| Sequence { values, stop }).collect();
    Ok(Streams { streams, deadlocks })
}
