//! Digests of files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// How much is read at once.
const PIECE: usize = 1 << 16;

/// The SHA-256 digest of a file in hexadecimal, as `sha256sum` prints it, and the length of the file in bytes.
///
/// # Errors
/// A file that cannot be read.
pub fn digest(path: &Path) -> io::Result<(String, u64)> {
    let (mut file, mut hash, mut piece, mut length) = (File::open(path)?, Sha256::new(), vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => {
                hash.update(&piece[..n]);
                length += n as u64;
            }
        }
    }
    Ok((hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), length))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_digest_is_that_of_other_tools() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").expect("a file");
        // From FIPS 180-2.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::digest(&path).expect("a digest"), (expected.to_owned(), 3));
        assert!(super::digest(&folder.path().join("none")).is_err());
    }
}
