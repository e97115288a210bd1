//! Files: how a failure is told, and how a file is replaced so that nobody ever sees half of one.

use std::io;
use std::path::Path;

/// What could not be done with a path, and the fix where there is one.
pub(super) fn failure(verb: &str, path: &Path, error: &io::Error) -> String {
    let fix = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room there (XLA takes 1.3 GB, torch 1.1 GB), or set RML_BACKENDS to a folder on another disk; what exists already is kept"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; set RML_BACKENDS to a folder that you may write"
        }
        _ => "",
    };
    format!("cannot {verb} {}: {error}{fix}", path.display())
}

/// Gives the file that content, unless it has it: the time of an unchanged file stays, so that nothing is recompiled
/// for it. A file that changes is replaced in one step. Says whether it changed.
pub(super) fn put(path: &Path, content: &[u8]) -> Result<bool, String> {
    if std::fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| failure("make", folder, &e))?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    std::fs::write(new, content).map_err(|e| failure("write", new, &e))?;
    std::fs::rename(new, path).map_err(|e| failure("replace", path, &e))?;
    Ok(true)
}

/// Removes a folder with all it holds, or nothing where there is none.
pub(super) fn remove_folder(path: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failure("remove", path, &e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        assert_eq!(put(&path, b"x"), Ok(true));
        assert_eq!(put(&path, b"x"), Ok(false));
        assert_eq!(put(&path, b"y"), Ok(true));
        assert_eq!(std::fs::read(&path).unwrap(), b"y");
        assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_and_a_locked_folder_name_their_fix() {
        let path = Path::new("p");
        assert!(failure("write", path, &io::ErrorKind::StorageFull.into()).contains("another disk"));
        assert!(failure("write", path, &io::ErrorKind::PermissionDenied.into()).contains("RML_BACKENDS"));
    }
}
