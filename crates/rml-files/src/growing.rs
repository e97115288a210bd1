//! Files that grow record by record, and the folders that contain them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rml_base::{Error, refusal};

use crate::output::unwritable;

/// A file to which records are appended. If a record cannot be written completely, its written part is removed.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: File,
    /// The length of the file.
    length: u64,
}

impl Growing {
    /// Opens an existing file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let open = || {
            let file = OpenOptions::new().append(true).open(path)?;
            let length = file.metadata()?.len();
            Ok(Self { path: path.to_owned(), file, length })
        };
        open().map_err(|e: io::Error| unwritable(path, refusal(&e)).into())
    }

    /// Appends a record.
    ///
    /// # Errors
    /// The record cannot be written, for example on a full disk.
    pub fn write(&mut self, record: &[u8]) -> Result<(), Error> {
        if let Err(e) = self.file.write_all(record) {
            // If this fails as well, a part of the record stays in the file; readers detect the incomplete record.
            let _ = self.file.set_len(self.length);
            return Err(unwritable(&self.path, refusal(&e)).into());
        }
        self.length += record.len() as u64;
        Ok(())
    }
}

/// Creates a folder and its parent folders, unless it exists.
///
/// # Errors
/// The folder cannot be created.
pub fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|e| unwritable(path, refusal(&e)).into())
}

/// A lock on a folder that excludes other processes.
#[derive(Debug)]
pub struct HeldFolder {
    /// The file is locked while this value exists.
    _lock: File,
}

/// Locks an existing folder by a file in it, and waits while another process has the lock. On a file system without
/// locks, several processes can have the lock at once.
///
/// # Errors
/// The file cannot be created.
pub fn hold(folder: &Path, name: &str) -> Result<HeldFolder, Error> {
    let file = lock_file(folder, name)?;
    // An error means that the file system has no locks.
    let _ = file.lock();
    Ok(HeldFolder { _lock: file })
}

/// Locks a folder as [`hold`] does, but without waiting; returns `None` if another process has the lock.
///
/// # Errors
/// The file cannot be created.
pub fn try_hold(folder: &Path, name: &str) -> Result<Option<HeldFolder>, Error> {
    let file = lock_file(folder, name)?;
    Ok(match file.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        Ok(()) | Err(TryLockError::Error(_)) => Some(HeldFolder { _lock: file }),
    })
}

fn lock_file(folder: &Path, name: &str) -> Result<File, Error> {
    let path = folder.join(name);
    let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    Ok(open.map_err(|e| unwritable(&path, refusal(&e)))?)
}

/// The modification time and the length of a file; another file in its place has another mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStamp(SystemTime, u64);

/// The mark of a file; `None` if the file does not exist.
pub fn mark(path: &Path) -> Option<FileStamp> {
    let about = std::fs::metadata(path).ok()?;
    Some(FileStamp(about.modified().ok()?, about.len()))
}

/// Removes a file, if it exists.
///
/// # Errors
/// The file cannot be removed.
pub fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(unwritable(path, refusal(&e)).into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_after_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        create_folder(&folder.path().join("a/b")).unwrap();
        let path = folder.path().join("a/b/log");
        assert!(Growing::open(&path).is_err(), "it is not there");
        std::fs::write(&path, "one\n").unwrap();
        let mut growing = Growing::open(&path).unwrap();
        growing.write(b"two\n").unwrap();
        growing.write(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
        assert!(create_folder(&path).is_err(), "it is a file");
    }

    #[test]
    fn a_folder_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let held = hold(folder.path(), ".lock").unwrap();
        assert!(try_hold(folder.path(), ".lock").unwrap().is_none());
        drop(held);
        let held = try_hold(folder.path(), ".lock").unwrap();
        assert!(held.is_some());
        drop(held);
        hold(folder.path(), ".lock").unwrap();
        assert!(hold(&folder.path().join("none"), ".lock").is_err());
        remove(&folder.path().join(".lock")).unwrap();
        remove(&folder.path().join(".lock")).unwrap();
        assert!(remove(folder.path()).is_err(), "it is a folder");
    }

    /// A device that is always full gives an error.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told() {
        let mut full = Growing::open(Path::new("/dev/full")).unwrap();
        let error = full.write(b"record").unwrap_err().to_string();
        assert!(
            error.contains("unwritable-file") || error.contains("/dev/full cannot be written"),
            "{error}"
        );
    }
}
