//! A temporary file for data that does not fit in memory. It has no name, and disappears with the process.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, refusal};

/// Bytes that are written once and read at any place.
#[derive(Debug)]
pub struct Scratch {
    file: Mutex<File>,
}

impl Scratch {
    /// An empty file in the folder that the system has for temporary files.
    ///
    /// # Errors
    /// The folder takes no file.
    pub fn new() -> Result<Self, Diagnostic> {
        let file = tempfile::tempfile().map_err(|e| refused(&e))?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Writes bytes after all others. Says where they begin.
    ///
    /// # Errors
    /// They cannot be written, on a full disk for example.
    pub fn append(&self, bytes: &[u8]) -> Result<u64, Diagnostic> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let at = file.seek(SeekFrom::End(0)).map_err(|e| refused(&e))?;
        file.write_all(bytes).map_err(|e| refused(&e))?;
        Ok(at)
    }

    /// Reads as many bytes as `bytes` has, from a place on.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(|e| {
            let what = "the temporary file of the data cannot be read";
            Diagnostic::error(codes::UNREADABLE_FILE, what).note(refusal(&e))
        })
    }
}

fn refused(e: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::UNWRITABLE_FILE, "the temporary file of the data cannot be written")
        .note(refusal(e))
        .help("name another folder for temporary files: on Linux and macOS the environment variable TMPDIR does")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_anywhere() {
        let scratch = Scratch::new().unwrap();
        assert_eq!((scratch.append(b"abc").unwrap(), scratch.append(b"defg").unwrap()), (0, 3));
        let mut bytes = [0; 4];
        scratch.read(2, &mut bytes).unwrap();
        assert_eq!(&bytes, b"cdef");
        assert_eq!(scratch.read(4, &mut bytes).unwrap_err().code, codes::UNREADABLE_FILE);
    }
}
