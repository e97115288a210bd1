//! A temporary file for data that does not fit in memory. The file has no name, and disappears with the process.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, refusal};

/// A file to which bytes are appended and from which they are read at any position.
#[derive(Debug)]
pub struct Scratch {
    file: Mutex<File>,
}

impl Scratch {
    /// An empty file in the system's folder for temporary files.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new() -> Result<Self, Diagnostic> {
        let file = tempfile::tempfile().map_err(|e| refused(&e))?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Appends bytes, and returns the position of the first one.
    ///
    /// # Errors
    /// The bytes cannot be written, for example on a full disk.
    pub fn append(&self, bytes: &[u8]) -> Result<u64, Diagnostic> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let at = file.seek(SeekFrom::End(0)).map_err(|e| refused(&e))?;
        file.write_all(bytes).map_err(|e| refused(&e))?;
        Ok(at)
    }

    /// Fills `bytes` with the bytes of the file from position `at` on.
    ///
    /// # Errors
    /// The bytes cannot be read.
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
