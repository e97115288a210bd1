//! The vocabulary that all stages share: typed ids and the vectors they index, source texts and spans, diagnostics as
//! plain data, the error type that carries them, memory accounting, profiling, disjoint sets, and graphs with their
//! strongly connected components. Nothing in this crate depends on the language, and nothing draws or prints.

pub mod codes;
mod diagnostic;
mod error;
mod hash;
mod ids;
pub mod memory;
pub mod profile;
pub mod scc;
mod sets;
mod source;
mod suggest;
mod table;
mod visible;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Fix, Label, Severity, refusal};
pub use error::Error;
pub use hash::Fnv;
pub use ids::{EntityId, IndexVec};
pub use scc::{Components, Graph, components};
pub use sets::Sets;
pub use source::{FileId, MAX_TEXT, Sources, Span};
pub use suggest::suggest;
pub use table::{spaced, table};
pub use visible::{LONGEST_WORD, visible, visible_json, visible_name, visible_words};
