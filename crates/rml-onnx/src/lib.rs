//! Windows of plans as ONNX models.
//!
//! [`export`] writes a [`Model`] as the bytes of a `ModelProto`: calls of functions stand one after the other, and a
//! loop is a `Loop` over slices of its tensors. Operators are those of opset 18. Inputs and outputs bear the names of
//! the ports; states are inputs that have a value where none is given, and outputs.
//!
//! Every operator has a place in `operators`; the match is exhaustive, so that a new one does not compile before it
//! has.

use rml_backend::routine::Model;
use rml_base::Span;

mod integer;
mod message;
mod model;
mod net;
mod operators;

pub use message::Message;

/// The opset that models name.
pub const OPSET: i64 = 18;
/// The version of the format that goes with the opset.
const IR: i64 = 8;

/// Why there is no model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// ONNX has no such operator (a factor of a matrix, a system of equations), or ONNX Runtime has it in single
    /// precision only (an error function).
    Operator {
        /// Its name.
        name: &'static str,
        /// Where it stands.
        span: Span,
        /// Whether ONNX has it in single precision.
        single: bool,
    },
    /// The model would have that many bytes; a message has 2 GiB at most.
    Large(u64),
}

/// The bytes of an ONNX model; `note` says what it is.
///
/// # Errors
/// An operator that ONNX Runtime does not have, or more bytes than a message has.
pub fn export(model: &Model, note: &str) -> Result<Vec<u8>, Refused> {
    model::write(model, note)
}
