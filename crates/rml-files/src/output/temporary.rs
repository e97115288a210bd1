//! Temporary files that are written next to other files and then replace them. Their names contain the name of the
//! other file, and writers lock them. So leftovers of ended writers can be distinguished from files in use, without
//! their times.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use rml_base::Fnv;
use tempfile::NamedTempFile;

/// The text between the name of the file and the random part.
const INFIX: &str = ".rml-";
const SUFFIX: &str = ".tmp";
/// The number of random letters and digits in each name.
const RANDOM: usize = 6;
/// The maximum length of a name; a longer name is replaced by its hash. Most systems allow names of 255 bytes.
const MAX_NAME: usize = 200;
/// The maximum number of attempts to create a file. An attempt fails if another process removes the file as a leftover
/// before its writer has locked it.
const ATTEMPTS: usize = 16;

/// Creates a locked file `.<name>.rml-<random>.tmp` next to `path`; it is removed unless it is renamed to its target.
pub(super) fn create(path: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX).rand_bytes(RANDOM);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let old = std::fs::metadata(path).map(|m| m.permissions());
        builder.permissions(old.unwrap_or_else(|_| std::fs::Permissions::from_mode(0o666)));
    }
    for _ in 0..ATTEMPTS {
        let file = builder.tempfile_in(folder(path))?;
        match file.as_file().try_lock() {
            Err(TryLockError::WouldBlock) => {}
            // On a file system without locks, no other process can lock the file, so none removes it.
            Ok(()) | Err(TryLockError::Error(_)) if file.path().exists() => return Ok(file),
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
    }
    Err(io::Error::other("files that are made beside it are removed by another process"))
}

/// Removes the temporary files next to `path` whose writers have ended. Files that cannot be removed stay.
pub(super) fn remove_leftovers(path: &Path) {
    let prefix = prefix(path);
    let Ok(entries) = std::fs::read_dir(folder(path)) else { return };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_temporary(&entry.file_name(), &prefix) && lock(&entry.path()).is_some() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Opens and locks a file; `None` if another process has the lock, or if the lock cannot be checked. The lock ends when
/// the result is dropped.
fn lock(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// The folder that contains a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The prefix of the names of temporary files for `path`.
fn prefix(path: &Path) -> OsString {
    let name = path.file_name().unwrap_or_default();
    let mut prefix = OsString::from(".");
    if name.len() > MAX_NAME {
        let mut hash = Fnv::default();
        hash.bytes(name.as_encoded_bytes().iter().copied());
        prefix.push(hash.hex());
    } else {
        prefix.push(name);
    }
    prefix.push(INFIX);
    prefix
}

fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let random = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let random = random.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    random.is_some_and(|r| r.len() == RANDOM && r.iter().all(u8::is_ascii_alphanumeric))
}
