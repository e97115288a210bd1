//! Where files are kept that can be made again.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder for files that can be made again: `$XDG_CACHE_HOME/rml`, else `~/.cache/rml`; none if neither is known.
pub fn cache_folder() -> Option<PathBuf> {
    folder(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// The folder by those environment variables.
pub(crate) fn folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    cache.map(|cache| cache.join("rml"))
}
