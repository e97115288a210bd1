//! The Kahn semantics of the paper's appendix: streams are sequences that only ever grow at their end, and there is no
//! absence.
//!
//! It is here for comparison. A delay backward in time, which the synchronous semantics resolves as soon as it is cut,
//! waits for itself here: element 0 of `o = merge bp x ((post o) when not bp)` needs element 1 of `o`, which comes
//! after element 0.
//!
//! The transformers are those of the appendix, except for `fby`: here `i fby s` begins with `i_0` even if nothing is
//! known about `s` (as it is printed, not even a counter would count). `if` reads its condition and the chosen branch.
//! `fby back` is the same as `post`, because a sequence that may still grow has no last element. Windows have no
//! counterpart, because `end` and the sequences that it would cut are not aligned.

mod deadlock;
mod network;

use rml_base::IndexVec;
use rml_ir::Value;
use rml_ir::flat::{Drawn, Eq, Var};
use rml_ir::op::EvalError;

use network::Network;

/// A sequence, as far as it was computed.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Its elements.
    pub values: Vec<Value>,
    /// Why there are no more.
    pub stop: Stop,
}

/// Why a sequence has no further element.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug, Default)]
pub enum Stop {
    /// The inputs have no more elements.
    #[default]
    Inputs,
    /// It continues, but it already has as many elements as were asked for.
    Limit,
    /// It waits for itself, so that no further input helps.
    Deadlock,
}

/// One step of a wait: the next element of a variable needs an element of another one that is not there.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub struct Wait {
    /// The variable that waits.
    pub var: Var,
    /// The number of its next element.
    pub element: usize,
    /// What it waits for.
    pub on: Var,
    /// Which element of that.
    pub on_element: usize,
}

/// The least fixed point, up to a number of elements of each stream.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The sequences.
    pub streams: IndexVec<Var, Stream>,
    /// The circular waits, each from its first variable back to it.
    pub deadlocks: Vec<Vec<Wait>>,
}

/// An operator that had no result.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct Failure {
    /// Which equation.
    pub equation: Eq,
    /// Which element of its result.
    pub element: usize,
    /// Why.
    pub error: EvalError,
}

/// Computes the least fixed point of `flat` on one sequence for each of its inputs, up to `limit` elements of each
/// stream. A stream of that length is taken to continue, so the limit has to be greater than the length of the inputs.
///
/// Requires: no delay is inside a window.
///
/// # Errors
/// The first operator that has no result.
pub fn run(flat: &Drawn, inputs: &[Vec<Value>], limit: usize) -> Result<Streams, Failure> {
    let mut network = Network::new(flat, inputs, limit);
    network.run()?;
    let waits = network.waits();
    let (stuck, deadlocks) = deadlock::find(&waits);
    let stop = network.stops(&waits, &stuck);
    let streams = network.into_values().into_vec().into_iter().zip(stop);
    let streams = streams.map(|(values, stop)| Stream { values, stop }).collect();
    Ok(Streams { streams, deadlocks })
}
