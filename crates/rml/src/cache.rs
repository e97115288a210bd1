//! The folder for files that can be recreated.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder for files that can be recreated: `$XDG_CACHE_HOME/rml`, or else `~/.cache/rml`; `None` if neither is
/// known.
pub fn cache_folder() -> Option<PathBuf> {
    folder(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// The folder, from the values of environment variables.
pub(crate) fn folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    cache.map(|cache| cache.join("rml"))
}
