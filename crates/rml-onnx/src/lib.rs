//! Windows of plans as ONNX models.
//!
//! [`export`] writes a [`WindowModel`] as the bytes of a `WindowModelProto`: calls of functions follow one another, and
//! a loop is a `Loop` over slices of its tensors. Operators are those of opset 18. Inputs and outputs have the names of
//! the ports; states are inputs with a default value, and outputs.
//!
//! Every operator has an entry in `operators`; the match is exhaustive, so a new operator does not compile without an
//! entry.

use rml_backend::routine::WindowModel;
use rml_base::Span;

mod integer;
mod message;
mod model;
mod net;
mod operators;

pub use message::Message;

/// The opset of models.
pub const OPSET: i64 = 18;
/// The version of the format that belongs to the opset.
const IR: i64 = 8;

/// Why there is no model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// ONNX has no such operator (a matrix factorisation, a system of equations), or ONNX Runtime has it only in single
    /// precision (an error function).
    Operator {
        /// The name of the operator.
        name: &'static str,
        /// The place of the operator.
        span: Span,
        /// Whether ONNX has it in single precision.
        single: bool,
    },
    /// The model would have this many bytes, but a message has at most 2 GiB.
    Large(u64),
}

/// The bytes of an ONNX model; `note` describes it.
///
/// # Errors
/// An operator that ONNX Runtime does not have, or a model larger than a message can be.
pub fn export(model: &WindowModel, note: &str) -> Result<Vec<u8>, Refused> {
    model::write(model, note)
}
