//! The installed libraries of backends; each is opened once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::plugin::host::Library;
use rml_base::Diagnostic;
use rml_base::codes::backend as codes;

use super::folders::{folder, variable};

/// The library of a backend.
pub(super) fn library(name: &str) -> Result<Arc<Library>, Diagnostic> {
    static OPEN: Mutex<BTreeMap<PathBuf, Arc<Library>>> = Mutex::new(BTreeMap::new());
    let Some(folder) = folder(&variable) else {
        let what = "no folder of backends is known: HOME is not set";
        let d = Diagnostic::error(codes::BACKEND_NOT_INSTALLED, what);
        return Err(d.help("let RML_BACKENDS name the folder where they are installed"));
    };
    let path = folder.join(name).join("lib").join(format!("librml_backend_{name}.so"));
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = open.get(&path) {
        return Ok(Arc::clone(library));
    }
    let library = Library::open(&path).map_err(|failure| {
        Diagnostic::error(failure.code, format!("cannot open the backend `{name}`: {}", failure.message))
            .note(
                "backends are installed in $RML_BACKENDS, else in $XDG_CACHE_HOME/rml, else in ~/.cache/rml",
            )
            .help(format!("`cargo xtask setup {name}` installs what is missing or does not fit"))
    })?;
    open.insert(path, Arc::clone(&library));
    Ok(library)
}
