//! Temporary files that are written beside others and then replace them. Their names say which file they are for, and
//! writers lock them; so leftovers of dead writers can be told from files in use, without looking at the time.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use rml_base::Fnv;
use tempfile::NamedTempFile;

/// Between the name of the file and the random part.
const INFIX: &str = ".rml-";
const SUFFIX: &str = ".tmp";
/// How many letters and digits are drawn for each name.
const RANDOM: usize = 6;
/// Longer names than that stand for themselves by a hash; names may have 255 bytes on most systems.
const MAX_NAME: usize = 200;
/// How often a name is drawn again because another process takes the file for a leftover, before its writer could lock
/// it.
const ATTEMPTS: usize = 16;

/// A locked file beside `path`, `.<name>.rml-<random>.tmp`, that disappears unless it is put in its place.
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
            // A file system without locks: nobody else can lock the file either, so that nobody removes it.
            Ok(()) | Err(TryLockError::Error(_)) if file.path().exists() => return Ok(file),
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
    }
    Err(io::Error::other("files that are made beside it are removed by another process"))
}

/// Removes the files beside `path` that writers of it left which are gone. What cannot be removed stays.
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

/// The file, locked by this process; `None` where another one holds it, or where that cannot be known. The lock goes
/// with the result.
fn lock(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// The folder that a file is in.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What the names of temporary files for `path` begin with.
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
