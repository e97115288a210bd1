//! The cache folder: where it is, and that only one call at a time works in the folder of a backend.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::disk;

/// The variable that names the cache folder.
pub(crate) const VARIABLE: &str = "RML_BACKENDS";

/// The variables of this process; empty ones count as absent.
pub(super) fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// `$RML_BACKENDS`, else `$XDG_CACHE_HOME/rml`, else `~/.cache/rml`; as an absolute path.
pub(super) fn root(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let folder = variable(VARIABLE)
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("XDG_CACHE_HOME")?).join("rml")))
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache").join("rml")))
        .ok_or_else(|| format!("no cache folder: set {VARIABLE} to a folder with 2 GB of room"))?;
    std::path::absolute(&folder).map_err(|e| format!("{VARIABLE}: {}: {e}", folder.display()))
}

/// Waits until no other call works on that backend, and keeps the others out until the result is dropped.
pub(crate) fn lock(root: &Path, name: &str) -> Result<File, String> {
    std::fs::create_dir_all(root).map_err(|e| disk::failure("make", root, &e))?;
    let path = root.join(format!("{name}.lock"));
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(|e| disk::failure("open", &path, &e))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => println!("waiting for another setup of {name} ({})", path.display()),
        Err(TryLockError::Error(e)) => return Err(disk::failure("lock", &path, &e)),
    }
    file.lock().map_err(|e| disk::failure("lock", &path, &e))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_of(variables: &[(&str, &str)]) -> Result<PathBuf, String> {
        root(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    fn the_nearest_variable_names_the_folder() {
        let all = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), (VARIABLE, "/r")];
        assert_eq!(root_of(&all), Ok(PathBuf::from("/r")));
        assert_eq!(root_of(&all[..2]), Ok(PathBuf::from("/x/rml")));
        assert_eq!(root_of(&all[..1]), Ok(PathBuf::from("/h/.cache/rml")));
        assert!(root_of(&[]).unwrap_err().contains(VARIABLE));
        assert!(root_of(&[(VARIABLE, "here")]).unwrap().is_absolute());
    }

    #[test]
    fn a_second_lock_waits_for_the_first() {
        let root = tempfile::tempdir().unwrap();
        let first = lock(root.path(), "xla").unwrap();
        let other = lock(root.path(), "torch").unwrap();
        let second = File::options().append(true).open(root.path().join("xla.lock")).unwrap();
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop((first, other));
        lock(root.path(), "xla").unwrap();
    }
}
