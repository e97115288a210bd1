//! The canonical layout of a source text.

use std::sync::Arc;

use rml_base::{Diagnostics, Error, Sources};

/// The text in canonical layout, with its comments; `name` is shown in diagnostics.
///
/// # Errors
/// A text that does not parse; the formatter does not guess its structure.
pub fn format(name: &str, text: &str) -> Result<String, Error> {
    rml_syntax::format(text).map_err(|findings| {
        let mut sources = Sources::new();
        sources.add(name, text);
        Error::new(Diagnostics(findings), Arc::new(sources))
    })
}
