//! The vocabulary every stage shares: typed ids and the vectors they index, source text and spans, diagnostics as plain
//! data, and the count of the memory that values take. Nothing here knows the language, and nothing here draws or prints.

pub mod codes;
mod diagnostic;
mod ids;
pub mod memory;
mod source;
mod suggest;
mod visible;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Label, Severity, refusal};
pub use ids::{EntityId, IndexVec};
pub use source::{FileId, Sources, Span};
pub use suggest::suggest;
pub use visible::{LONGEST_WORD, visible, visible_json, visible_name, visible_words};
