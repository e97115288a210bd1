//! Cache files. Their content can be recomputed, so they may be removed at any time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rml_base::{Error, Fnv};

use crate::contents;
use crate::output::{check_output, unwritable, write_output};

/// The first bytes of each file; the number is that of the format.
const MARK: &[u8; 8] = b"rmlkept1";

/// The length of the head: the mark, the hash of all following bytes, and the length of the key.
const HEAD: usize = MARK.len() + HASH + 8;

/// The number of digits of a hash.
const HASH: usize = 16;

/// The suffix of file names.
const SUFFIX: &str = ".kept";

/// A folder of cache files with a maximum number of files. Several processes may use it at once.
///
/// A file contains its complete key, which is compared on reading, and a hash, by which a damaged file is detected and
/// ignored.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let kept = rml_files::FileCache::new(folder.path(), 100);
/// kept.put(b"the question", b"the answer")?;
/// assert_eq!(kept.get(b"the question").as_deref(), Some(&b"the answer"[..]));
/// assert_eq!(kept.get(b"another question"), None);
/// # Ok::<(), rml_base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileCache {
    folder: PathBuf,
    most: usize,
}

impl FileCache {
    /// The maximum number of bytes of a file.
    pub const LARGEST: u64 = 256 << 20;

    /// The cache files of a folder, which may not exist yet; at most `most` files are kept.
    pub fn new(folder: &Path, most: usize) -> Self {
        Self { folder: folder.to_owned(), most }
    }

    /// The content stored under a key; `None` if there is no complete file for the key. Reading counts as use.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let content = content(contents::read(&path, Self::LARGEST).ok()?, key)?;
        // If the time cannot be set, the time of the writing remains.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(content)
    }

    /// Stores content under a key, in place of any previous content. If there are too many files, the files that were
    /// unused for the longest time are removed.
    ///
    /// # Errors
    /// The content cannot be written: the folder cannot be created or is read-only, the disk is full, or the file is
    /// larger than [`LARGEST`](Self::LARGEST).
    pub fn put(&self, key: &[u8], content: &[u8]) -> Result<(), Error> {
        let path = self.path(key);
        let length = (key.len() as u64).to_le_bytes();
        let bytes = [MARK, hash(&[&length, key, content]).as_bytes(), &length, key, content].concat();
        if bytes.len() as u64 > Self::LARGEST {
            let why = format!("it has {} bytes, more than {}", bytes.len(), Self::LARGEST);
            return Err(unwritable(&path, why).into());
        }
        crate::create_folder(&self.folder)?;
        check_output(&path, &[])?;
        write_output(&path, &bytes)?;
        self.forget();
        Ok(())
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        self.folder.join(hash(&[key]) + SUFFIX)
    }

    /// Removes the files that were unused for the longest time. Another process may have removed them already.
    fn forget(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let used = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok().filter(|name| is_own(name))?;
            Some((entry.metadata().ok()?.modified().ok()?, name))
        };
        let mut files: Vec<(SystemTime, String)> = entries.filter_map(used).collect();
        files.sort_unstable();
        for (_, name) in &files[..files.len().saturating_sub(self.most)] {
            let _ = std::fs::remove_file(self.folder.join(name));
        }
    }
}

/// Whether a name is that of a cache file, or of the temporary file of a writer of one.
fn is_own(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    let (hash, rest) = name.split_at_checked(HASH).unwrap_or_default();
    hash.bytes().all(|b| b.is_ascii_hexdigit()) && rest.starts_with(SUFFIX)
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Fnv::default();
    parts.iter().for_each(|part| hash.bytes(part.iter().copied()));
    hash.hex()
}

/// The content of a complete file with the given key.
fn content(mut file: Vec<u8>, key: &[u8]) -> Option<Vec<u8>> {
    let (head, rest) = file.split_at_checked(HEAD)?;
    let (mark, head) = head.split_at(MARK.len());
    let (found, length) = head.split_at(HASH);
    let is_whole = mark == MARK && found == hash(&[length, rest]).as_bytes();
    let is_asked_for = length == (key.len() as u64).to_le_bytes() && rest.starts_with(key);
    (is_whole && is_asked_for).then(|| file.split_off(HEAD + key.len()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn names(kept: &FileCache) -> Vec<String> {
        let entries = std::fs::read_dir(&kept.folder).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A cache in a folder that does not exist yet.
    fn kept(most: usize) -> (tempfile::TempDir, FileCache) {
        let folder = tempfile::tempdir().unwrap();
        let kept = FileCache::new(&folder.path().join("a/b"), most);
        (folder, kept)
    }

    #[test]
    fn what_is_kept_is_found() {
        let (_folder, kept) = kept(10);
        assert_eq!(kept.get(b"k"), None);
        for content in [&b"one"[..], b"", b"two"] {
            kept.put(b"k", content).unwrap();
            assert_eq!(kept.get(b"k").as_deref(), Some(content));
        }
        assert_eq!((kept.get(b""), kept.get(b"kt")), (None, None));
        assert_eq!(names(&kept).len(), 1, "no temporary file is left");
    }

    #[test]
    fn a_file_that_is_not_whole_counts_as_none_and_is_replaced() {
        let (_folder, kept) = kept(10);
        let path = kept.path(b"key");
        kept.put(b"key", b"content").unwrap();
        let whole = std::fs::read(&path).unwrap();
        let cut = (0..whole.len()).map(|n| whole[..n].to_vec());
        let longer = [[&whole[..], b"x"].concat(), b"x".repeat(1000)];
        let damaged = (0..whole.len()).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        });
        for bytes in cut.chain(longer).chain(damaged) {
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(kept.get(b"key"), None, "{bytes:?}");
        }
        kept.put(b"key", b"content").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    /// Two keys with the same hash share a file name; the file contains its key.
    #[test]
    fn a_file_of_another_key_counts_as_none() {
        let (_folder, kept) = kept(10);
        kept.put(b"one", b"content").unwrap();
        std::fs::rename(kept.path(b"one"), kept.path(b"two")).unwrap();
        assert_eq!(kept.get(b"two"), None);
        kept.put(b"on", b"econtent").unwrap();
        std::fs::rename(kept.path(b"on"), kept.path(b"one")).unwrap();
        assert_eq!(kept.get(b"one"), None, "the key and the content are kept apart");
    }

    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let (_folder, kept) = kept(3);
        let begin = SystemTime::now() - Duration::from_secs(1000);
        std::fs::create_dir_all(&kept.folder).unwrap();
        for name in ["notes.txt", "0123456789abcdef.txt", ".0123.kept"] {
            std::fs::write(kept.folder.join(name), "of the user").unwrap();
        }
        for (i, key) in (0..).zip([b"a", b"b", b"c"]) {
            kept.put(key, key).unwrap();
            let file = File::options().append(true).open(kept.path(key)).unwrap();
            file.set_modified(begin + Duration::from_secs(i)).unwrap();
        }
        assert!(kept.get(b"a").is_some(), "it is used");
        kept.put(b"d", b"d").unwrap();
        let found = [b"a", b"b", b"c", b"d"].map(|key| kept.get(key).is_some());
        assert_eq!(found, [true, false, true, true]);
        assert_eq!(names(&kept).len(), 6, "other files stay");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let kept = FileCache::new(&folder.path().join("file"), 3);
        let error = kept.put(b"k", b"v").unwrap_err();
        assert_eq!(error.code(), Some(rml_base::codes::run::UNWRITABLE_FILE));
        assert_eq!(kept.get(b"k"), None);
    }

    /// Writers and readers run at once: every content that is found is complete.
    #[test]
    fn many_may_use_it_at_once() {
        let (_folder, kept) = kept(2);
        let content = |i: u8| vec![i; 20_000];
        std::thread::scope(|scope| {
            for first in 0..4_u8 {
                let (kept, content) = (&kept, &content);
                scope.spawn(move || {
                    for i in 0..40 {
                        let key = (first + i) % 4;
                        // Another writer may remove the temporary file as a leftover; the content is then not stored.
                        let _ = kept.put(&[key], &content(key));
                        for key in 0..4 {
                            assert!(kept.get(&[key]).is_none_or(|found| found == content(key)));
                        }
                    }
                });
            }
        });
        kept.put(&[9], &content(9)).unwrap();
        assert_eq!(kept.get(&[9]), Some(content(9)));
        assert_eq!(names(&kept).len(), 2);
    }
}
