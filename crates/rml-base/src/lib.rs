//! The vocabulary every stage shares: typed ids and the vectors they index, source text and spans, and
//! diagnostics as plain data. Nothing here knows the language, and nothing here draws or prints.

pub mod codes;
mod diagnostic;
mod ids;
mod source;
mod suggest;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Label, Severity, refusal};
pub use ids::{EntityId, IndexVec};
pub use source::{FileId, Sources, Span};
pub use suggest::suggest;
