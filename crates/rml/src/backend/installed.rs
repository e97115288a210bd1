//! The libraries of backends: where they are installed, each opened once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::plugin::host::Library;
use rml_base::Diagnostic;
use rml_base::codes::backend as codes;

use crate::cache;

/// The library of that backend.
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

/// A variable of the environment; an empty one counts as absent.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where that backend keeps what it compiles.
pub(super) fn programs(name: &str) -> Option<PathBuf> {
    programs_from(name, &variable)
}

fn programs_from(name: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    match variable("RML_PROGRAMS") {
        Some(off) if off == "off" => None,
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(folder(variable)?.join(name).join("programs")),
    }
}

/// Where backends are installed, from those environment variables.
fn folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("RML_BACKENDS").map(PathBuf::from).or_else(|| cache::folder(variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_variable_names_the_folder() {
        let all = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("RML_BACKENDS", "/r")];
        let of = |set: &[(&str, &str)]| {
            folder(&|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
        };
        assert_eq!(of(&all), Some(PathBuf::from("/r")));
        assert_eq!(of(&all[..2]), Some(PathBuf::from("/x/rml")));
        assert_eq!(of(&all[..1]), Some(PathBuf::from("/h/.cache/rml")));
        assert_eq!(of(&[]), None);
        let programs = |set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            programs_from("xla", &variable)
        };
        assert_eq!(programs(&all), Some(PathBuf::from("/r/xla/programs")));
        assert_eq!(programs(&[all[2], ("RML_PROGRAMS", "/p")]), Some(PathBuf::from("/p")));
        assert_eq!(programs(&[all[2], ("RML_PROGRAMS", "off")]), None);
        assert_eq!(programs(&[]), None);
    }
}
