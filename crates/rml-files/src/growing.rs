//! Files that grow record by record.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rml_base::{Error, refusal};

use crate::output::unwritable;

/// A file to whose end records are written. One that cannot be written whole leaves nothing behind.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: File,
    /// How long it is.
    length: u64,
}

impl Growing {
    /// Opens a file that there is.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let open = || {
            let file = OpenOptions::new().append(true).open(path)?;
            let length = file.metadata()?.len();
            Ok(Self { path: path.to_owned(), file, length })
        };
        open().map_err(|e: io::Error| unwritable(path, refusal(&e)).into())
    }

    /// Writes a record to its end.
    ///
    /// # Errors
    /// A record that cannot be written, on a full disk for example.
    pub fn write(&mut self, record: &[u8]) -> Result<(), Error> {
        if let Err(e) = self.file.write_all(record) {
            // If this fails as well, a part of the record stays; readers see that it is not whole.
            let _ = self.file.set_len(self.length);
            return Err(unwritable(&self.path, refusal(&e)).into());
        }
        self.length += record.len() as u64;
        Ok(())
    }
}

/// Makes a folder, and those that it is in, unless it is there.
///
/// # Errors
/// A folder that cannot be made.
pub fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|e| unwritable(path, refusal(&e)).into())
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

    /// A device that is always full.
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
