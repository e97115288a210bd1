//! Reads only regular files, up to a maximum size. A path, or the target of a link, may also be an endless device, a
//! pipe without a writer, or a folder.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::codes::syntax::FILE_TOO_LARGE;
use rml_base::memory::{Reservation, Shortage};
use rml_base::{Diagnostic, MAX_TEXT, refusal, suggest};

use crate::memory;

/// The reason why a file was not read.
#[derive(PartialEq, Eq, Debug)]
pub enum Unread {
    /// The system refuses to open or read the file, or the path is not a regular file.
    Refused(String),
    /// The file is too large: it has this number of bytes or more.
    TooLarge(u64),
}

/// The maximum number of bytes of a file whose size is reported as 0. Files in `/proc` report this for any content.
const UNSIZED: u64 = 1 << 20;

/// The bytes of a regular file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let (file, found) = open(path)?;
    if found.len() > most {
        return Err(Unread::TooLarge(found.len()));
    }
    let most = if found.len() == 0 { most.min(UNSIZED) } else { most };
    up_to(file, found.len(), most)
}

/// Opens a regular file; returns it with its metadata.
fn open(path: &Path) -> Result<(File, Metadata), Unread> {
    let refused = |e: io::Error| Unread::Refused(refusal(&e));
    // Opening a pipe waits for its writer, so the kind is checked before opening, and again for the opened file.
    regular(&std::fs::metadata(path).map_err(refused)?)?;
    let file = File::open(path).map_err(refused)?;
    let found = file.metadata().map_err(refused)?;
    regular(&found)?;
    Ok((file, found))
}

/// The bytes of a source of at most `most` bytes; `expected` is the expected number.
fn up_to(from: impl Read, expected: u64, most: u64) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    let capacity = usize::try_from(expected).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(capacity).map_err(|_| Unread::TooLarge(expected))?;
    let read = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Unread::Refused(refusal(&e)))?;
    match bytes.len() as u64 {
        n if n > most => Err(Unread::TooLarge(n)),
        _ => Ok(bytes),
    }
}

fn regular(found: &Metadata) -> Result<(), Unread> {
    let what = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "it is a folder",
        _ => "it is not a regular file, but a device, a pipe or similar",
    };
    Err(Unread::Refused(what.to_owned()))
}

/// The content of a data file. Its bytes are reserved while this value exists.
#[derive(Debug)]
pub struct Contents {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    #[allow(dead_code, reason = "held, not read")]
    reserved: Reservation,
}

impl Contents {
    /// The content from bytes that were read in another way.
    pub(crate) fn new(bytes: Vec<u8>, reserved: Reservation) -> Self {
        Self { bytes, reserved }
    }
}

/// Reads a data file, up to the size of the remaining memory.
///
/// # Errors
/// The file cannot be read (`unreadable-file`), or does not fit into the memory (`memory-limit`).
pub fn data(path: &Path) -> Result<Contents, Diagnostic> {
    memory::prepare();
    let (limit, used) = (memory::limit(), memory::used());
    match read(path, limit.saturating_sub(used)) {
        Ok(bytes) => {
            let reserved = Reservation::of(bytes.len() as u64);
            Ok(Contents { bytes, reserved })
        }
        Err(Unread::Refused(why)) => Err(near(unreadable(&path.display().to_string(), why), path)),
        Err(Unread::TooLarge(asked)) => Err(Shortage { asked, used, limit }.diagnostic(path.display())),
    }
}

/// Whether there is a file or folder of that name.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Opens a data file to be read in pieces; returns it with its length.
///
/// # Errors
/// The file cannot be read.
pub fn pieces(path: &Path) -> Result<(File, u64), Diagnostic> {
    let (file, found) = open(path).map_err(|why| match why {
        Unread::Refused(why) => near(unreadable(&path.display().to_string(), why), path),
        Unread::TooLarge(_) => too_large(&path.display().to_string()),
    })?;
    Ok((file, found.len()))
}

/// The files with the given extension in folders and their subfolders, in the order of their paths; at most about
/// `most`. Hidden folders are skipped, and so are `target` and `node_modules`, which contain generated files.
pub fn files_below(folders: &[PathBuf], extension: &str, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut folders = folders.to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > 20 * most || found.len() >= most {
                break;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let made = name.to_string_lossy().starts_with('.') || name == "target" || name == "node_modules";
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !made => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == extension) => {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The regular files in a folder, without hidden ones, in the order of their names; `None` if the path is not a folder.
///
/// # Errors
/// The folder cannot be read.
pub fn files_in(folder: &Path) -> Result<Option<Vec<PathBuf>>, Diagnostic> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_name().as_encoded_bytes().starts_with(b".") && entry.path().is_file() {
                files.push(entry.path());
            }
        }
        files.sort_unstable();
        Ok(files)
    };
    list().map(Some).map_err(|e| unreadable(&folder.display().to_string(), refusal(&e)))
}

/// The regular files that match a pattern such as `part-*.csv`, in the order of their names; `None` if the path is not
/// a pattern or is the name of a file.
///
/// # Errors
/// The pattern is malformed, or no file matches it.
pub fn matching(path: &Path) -> Result<Option<Vec<PathBuf>>, Diagnostic> {
    let Some(pattern) = path.to_str().filter(|text| text.contains(['*', '?', '['])) else { return Ok(None) };
    if path.exists() {
        return Ok(None);
    }
    let wrong = |why: String| Err(unreadable(pattern, why));
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let found = match glob::glob_with(pattern, options) {
        Ok(found) => found,
        Err(why) => return wrong(format!("it is no pattern of names: {}", why.msg)),
    };
    let mut files: Vec<PathBuf> = found.flatten().filter(|path| path.is_file()).collect();
    files.sort_unstable();
    if files.is_empty() {
        return wrong("it is a pattern that no file matches".to_owned());
    }
    Ok(Some(files))
}

/// Reads a text file of at most the maximum size of a program.
///
/// # Errors
/// The file cannot be read, is not UTF-8, or is larger than [`MAX_TEXT`].
pub fn text(path: &Path) -> Result<String, Unread> {
    utf8(read(path, MAX_TEXT as u64)?)
}

/// Reads a text from a reader, to its end.
///
/// # Errors
/// The same as for [`text`].
pub fn text_from(from: impl Read) -> Result<String, Unread> {
    utf8(up_to(from, 0, MAX_TEXT as u64)?)
}

fn utf8(bytes: Vec<u8>) -> Result<String, Unread> {
    if let Some(what) = known(&bytes) {
        return Err(Unread::Refused(format!("it is {what}, and not a text")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Unread::Refused(format!("it is not UTF-8 text (the first wrong byte is number {at})"))
    })
}

/// A description of a file that is not a text, derived from its first bytes.
fn known(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [b'P', b'K', 3, 4, ..] => Some("an archive of arrays (`.npz`) or another ZIP archive"),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some("an array of NumPy (`.npy`)"),
        [0x89, b'H', b'D', b'F', ..] => Some("a file of HDF5, such as weights of Keras"),
        // The length of the header, then the header: a JSON object.
        [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some("a file of parameters (safetensors: `--params FILE`)"),
        _ => None,
    }
}

impl Unread {
    /// The error for a text with the given name.
    pub fn diagnostic(self, name: &str) -> Diagnostic {
        match self {
            Unread::Refused(why) => near(unreadable(name, why), Path::new(name)),
            Unread::TooLarge(_) => too_large(name),
        }
    }
}

/// The error for a text that is larger than a program may be.
pub fn too_large(name: &str) -> Diagnostic {
    Diagnostic::error(FILE_TOO_LARGE, format!("{name} is too large"))
        .note(format!("it has more than {MAX_TEXT} bytes, so it is not a program"))
}

fn unreadable(name: &str, why: String) -> Diagnostic {
    Diagnostic::error(codes::UNREADABLE_FILE, format!("{name} cannot be read")).note(why)
}

/// The maximum number of names in a folder that are compared with the name of a missing file.
const LISTED: usize = 10_000;

/// Adds to the error for a missing file the file that may be meant.
fn near(d: Diagnostic, path: &Path) -> Diagnostic {
    if path.exists() {
        return d;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else {
        return d.note(format!("there is no folder {}", folder.display()));
    };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return d };
    let mut names: Vec<String> =
        entries.take(LISTED).flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let same = || names.iter().map(String::as_str).find(|other| stem(other) == stem(name));
    match suggest(name, names.iter().map(String::as_str)).or_else(same) {
        Some(other) => d.help(format!("there is {}", path.with_file_name(other).display())),
        None => d,
    }
}

/// The path of the file that another file, at `beside`, names: one in its folder or below. `None` if the name leads
/// elsewhere, by itself or over links. Where the other file is itself a link, the folder that it leads to counts, too.
pub fn beside(beside: &Path, name: &str) -> Option<PathBuf> {
    let downward = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(name).components().all(downward) {
        return None;
    }
    let path = beside.parent().unwrap_or(Path::new("")).join(name);
    // What does not exist leads nowhere.
    let Ok(real) = path.canonicalize() else { return Some(path) };
    let folder = match beside.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let target = beside.canonicalize().ok().and_then(|p| p.parent().map(Path::to_path_buf));
    let folders = folder.canonicalize().into_iter().chain(target);
    folders.into_iter().any(|folder| real.starts_with(folder)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_at_most_what_it_may_have() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5), Ok(b"12345".to_vec()));
        assert_eq!(read(&path, 4), Err(Unread::TooLarge(5)));
        assert_eq!(up_to(io::repeat(0), 0, 1000), Err(Unread::TooLarge(1001)));
        assert!(matches!(up_to(io::empty(), u64::MAX, u64::MAX), Err(Unread::TooLarge(_))));
        let sparse = File::create(dir.path().join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        assert_eq!(text(&dir.path().join("sparse")), Err(Unread::TooLarge(1 << 40)));
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&link, &pipe, dir.path(), Path::new("/dev/zero"), &dir.path().join("none")] {
            assert!(matches!(text(path), Err(Unread::Refused(_))), "{}", path.display());
            assert_eq!(data(path).map(|c| c.bytes).unwrap_err().code, codes::UNREADABLE_FILE);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_that_do_not_know_their_size_are_read_to_a_limit() {
        let status = Path::new("/proc/self/status");
        assert!(text(status).unwrap().contains("Name:"));
        assert_eq!(read(status, 10), Err(Unread::TooLarge(11)));
    }
}
