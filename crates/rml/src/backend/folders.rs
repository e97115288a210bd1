//! The folders of backends and of the programs that they compile.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cache;

/// The value of an environment variable; an empty one counts as absent.
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The folder in which a backend stores the programs that it compiles.
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

/// The folder in which backends are installed, from the values of environment variables.
pub(super) fn folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
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
