//! Writing files so that nothing is lost: the old content stays until the new one is safe on the disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, refusal};

/// Replaces the content of a file in one step.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    try_replace(path, bytes).map_err(|e| unwritable(path, &e))
}

/// Whether the file could be replaced now, without doing it.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Diagnostic> {
    target(path).and_then(|path| temporary(&path)).map(|_| ()).map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &Path, e: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::UNWRITABLE_FILE, format!("{} cannot be written", path.display()))
        .note(refusal(e))
}

fn try_replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = target(path)?;
    let mut file = temporary(&path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|e| e.error)?;
    // The new name is safe once the folder is; where folders cannot be opened, nothing more can be done.
    if let Ok(folder) = std::fs::File::open(folder(&path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// The file itself, behind links; only regular files are replaced.
fn target(path: &Path) -> io::Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => std::fs::canonicalize(path),
        Ok(data) if data.is_dir() => Err(io::Error::other("it is a folder")),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(e) if e.kind() == io::ErrorKind::NotFound && path.file_name().is_some() => Ok(path.to_path_buf()),
        Err(e) => Err(e),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside `path` that disappears unless it is put in its place.
fn temporary(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rml-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let old = std::fs::metadata(path).map(|m| m.permissions());
        builder.permissions(old.unwrap_or_else(|_| std::fs::Permissions::from_mode(0o666)));
    }
    builder.tempfile_in(folder(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_keeps() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert!(replace(dir.path(), b"x").is_err());
        assert!(replace(&dir.path().join("no/such"), b"x").is_err());
        assert!(check_replaceable(&path).is_ok() && check_replaceable(&dir.path().join("no/such")).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
        assert!(replace(Path::new("/dev/null"), b"x").is_err());
    }
}
