//! `rml lsp`.

use rml::Diagnostic;
use rml::codes::run::EDITOR_LOST;

use crate::output::Stop;

/// Serves an editor until it ends the session.
pub(crate) fn lsp() -> Result<(), Stop> {
    let library = rml::cache_folder().map(|cache| cache.join(concat!("library-", env!("CARGO_PKG_VERSION"))));
    Ok(rml_lsp::serve_stdio(library).map_err(|ended| {
        Diagnostic::error(EDITOR_LOST, "the session with the editor ended unexpectedly")
            .note(ended.to_string())
            .help("`rml lsp` is started by an editor; the documentation of editors says how")
    })?)
}
