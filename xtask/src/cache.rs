//! The cache folder: its location, the locks of its parts, and checks of the platform and the installed parts.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use xshell::cmd;

use crate::workspace::{shell, variable};

/// The environment variable that names the cache folder.
pub(crate) const VARIABLE: &str = "RML_BACKENDS";

const NEEDED: &str =
    "needed is Python 3.11 to 3.13 with venv, as `python3` (Debian: `apt install python3-venv`)";

/// The folder that contains the folders of all backends and environments.
pub(crate) fn folder() -> Result<PathBuf> {
    named(&variable)
}

/// `$RML_BACKENDS`, or else `$XDG_CACHE_HOME/rml`, or else `~/.cache/rml`, or on Windows `%LOCALAPPDATA%/rml`; as an
/// absolute path.
fn named(variable: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf> {
    let folder = variable(VARIABLE)
        .or_else(|| Some(variable("XDG_CACHE_HOME")? + "/rml"))
        .or_else(|| Some(variable("HOME")? + "/.cache/rml"))
        .or_else(|| Some(variable("LOCALAPPDATA")? + "/rml"))
        .with_context(|| format!("no cache folder: set {VARIABLE} to a folder with 2 GB of room"))?;
    Ok(std::path::absolute(folder)?)
}

/// Waits until no other call works on a part, and locks it until the result is dropped.
pub(crate) fn lock(root: &Path, name: &str) -> Result<std::fs::File> {
    fs::create_dir_all(root)?;
    let path = root.join(format!("{name}.lock"));
    let (file, _) = fs::OpenOptions::new().create(true).append(true).open(&path)?.into_parts();
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        println!("waiting for another setup of {name} ({})", path.display());
    }
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// The folder with an environment's libraries, if this library is among them.
pub(crate) fn libraries(environment: &str, library: &str) -> Option<PathBuf> {
    let versions = fs::read_dir(folder().ok()?.join(environment).join("venv/lib")).ok()?;
    let mut folders = versions.flatten().map(|version| version.path().join("site-packages"));
    folders.find(|folder| folder.join(library).exists())
}

/// Refuses machines without a Python that the libraries support and that can create environments.
pub(crate) fn check_python() -> Result<()> {
    let script = "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))";
    let shell = shell()?;
    let found = cmd!(shell, "python3 -c {script}").quiet().ignore_stderr().run();
    ensure!(found.is_ok(), NEEDED);
    Ok(())
}

/// The backends that have to be installed.
pub(crate) const BACKENDS: [&str; 2] = ["xla", "torch"];

/// The oldest glibc that the libraries support.
const GLIBC: &str = "2.28";

/// Whether a backend is installed.
pub(crate) fn has_backend(name: &str) -> Result<bool> {
    Ok(folder()?.join(name).join("lib").join(format!("librml_backend_{name}.so")).exists())
}

/// Refuses platforms that the pinned files do not support.
pub(crate) fn check_platform() -> Result<()> {
    let (shell, found) = (shell()?, format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    let needed = "the backends xla and torch are set up on Linux x86_64 with glibc 2.28 or later only";
    let is_right = cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"));
    ensure!(is_right, "{needed}, and this is {found}; `--backend cpu` needs no setup");
    // Without `getconf` the version is unknown; the loader then reports what is missing.
    let version = cmd!(shell, "getconf GNU_LIBC_VERSION").quiet().ignore_stderr().read().unwrap_or_default();
    ensure!(!is_older(&version, GLIBC), "{needed}, and this is {version}; `--backend cpu` needs no setup");
    Ok(())
}

/// Whether `glibc 2.17` is older than a version.
fn is_older(found: &str, needed: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> { text.split('.').map_while(|n| n.parse().ok()).collect() };
    found.strip_prefix("glibc ").is_some_and(|version| numbers(version) < numbers(needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_compared() {
        for (version, older) in [("2.36", false), ("2.28.9000", false), ("2.9", true), ("", true)] {
            assert_eq!(is_older(&format!("glibc {version}"), GLIBC), older, "{version}");
        }
        assert!(!is_older("musl 1.2", GLIBC));
    }

    fn named(variables: &[(&str, &str)]) -> Result<PathBuf> {
        super::named(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_nearest_variable_names_the_folder() {
        let all = [("LOCALAPPDATA", "/l"), ("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), (VARIABLE, "/r")];
        for (n, folder) in [(4, "/r"), (3, "/x/rml"), (2, "/h/.cache/rml"), (1, "/l/rml")] {
            assert_eq!(named(&all[..n]).unwrap(), std::path::absolute(folder).unwrap());
        }
        assert!(named(&[]).unwrap_err().to_string().contains(VARIABLE));
        assert!(named(&[(VARIABLE, "here")]).unwrap().is_absolute());
    }

    #[test]
    fn a_second_lock_waits_for_the_first() {
        let root = tempfile::tempdir().unwrap();
        let held = [lock(root.path(), "xla").unwrap(), lock(root.path(), "torch").unwrap()];
        let second = std::fs::File::options().append(true).open(root.path().join("xla.lock")).unwrap();
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        lock(root.path(), "xla").unwrap();
    }
}
