//! The stages between elaboration and execution, and the operators they share.
//!
//! [`typed`] (nodes, nested expressions) → [`normal`] (one primitive an equation; differentiation is normal →
//! normal) → [`flat`] (everything inlined, windows explicit). Each stage has its own type, printer and
//! verifier with numbered invariants; [`pass`] holds the functions between them. Nothing here knows the
//! surface syntax, and nothing here runs a program.

pub mod check;
pub mod flat;
mod interface;
pub mod normal;
pub mod op;
pub mod pass;
mod ports;
mod position;
pub mod random;
pub mod surface;
mod synchrony;
pub mod text;
pub mod typed;
mod types;
mod value;

pub use interface::Interface;
pub use ports::{InputInfo, OutputInfo};
pub use position::{Position, Positions};
pub use synchrony::{Sample, Synchrony};
pub use typed::Names;
pub use types::{DType, Precision, Shape, Type};
pub use value::{Data, Tensor, Value};
