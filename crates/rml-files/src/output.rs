//! Writes files without loss of data: the old content stays until the new content is safe on the disk, unwritable files
//! are found before the work begins, and no command overwrites its inputs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, refusal};

mod temporary;

use tempfile::NamedTempFile;
use temporary::folder;

/// The maximum number of links that are followed to a file that may not exist.
const MAX_LINKS: usize = 40;

/// Checks, without writing, that a command that reads `inputs` could write the file now. Removes the temporary files of
/// earlier writers that have ended.
///
/// # Errors
/// - `output-is-input`: the file is one of the inputs, by this name or another (a link, a hard link).
/// - `unwritable-file`: the path is a folder, a device or read-only, or its folder does not exist or is not writable.
pub fn check_output(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    if let Some(input) = inputs.iter().find(|input| is_same(path, input)) {
        let what = format!("{} is to be written, and it is read as well", path.display());
        let d = Diagnostic::error(codes::OUTPUT_IS_INPUT, what);
        let d = if path == input { d } else { d.note(format!("it is the same file as {}", input.display())) };
        return Err(d.help("write to another file").into());
    }
    let check = || {
        let path = target(path)?;
        temporary::remove_leftovers(&path);
        temporary::create(&path).map(|_| ()).map_err(|e| no_folder(&path, &e))
    };
    check().map_err(|why| unwritable(path, why).into())
}

/// Replaces the content of a file in one step: a reader sees the old content or the new one.
///
/// # Errors
/// The file cannot be written, as [`check_output`] reports; its old content is kept.
pub fn write_output(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_outputs(&[(path, bytes)])
}

/// Replaces the contents of several files that belong together: no file changes before all new contents are safe on the
/// disk. Removes the temporary files of earlier writers that have ended.
///
/// # Errors
/// A file cannot be written; the first one is named, and all files keep their old contents.
pub fn write_outputs(files: &[(&Path, &[u8])]) -> Result<(), Error> {
    let wrong = |path: &Path, why: String| Error::from(unwritable(path, why));
    let beside = |&(path, bytes): &(&Path, &[u8])| beside(path, bytes).map_err(|why| wrong(path, why));
    let ready: Vec<_> = files.iter().map(beside).collect::<Result<_, _>>()?;
    for ((path, _), (file, target)) in files.iter().zip(ready) {
        put(file, &target).map_err(|why| wrong(path, why))?;
    }
    Ok(())
}

pub(crate) fn unwritable(path: &Path, why: String) -> Diagnostic {
    Diagnostic::error(codes::UNWRITABLE_FILE, format!("{} cannot be written", path.display())).note(why)
}

/// A temporary file with the given content next to the target file, and the path of the target file after following
/// links.
fn beside(path: &Path, bytes: &[u8]) -> Result<(NamedTempFile, PathBuf), String> {
    let path = target(path)?;
    temporary::remove_leftovers(&path);
    let mut file = temporary::create(&path).map_err(|e| no_folder(&path, &e))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(|e| refusal(&e))?;
    Ok((file, path))
}

/// Renames a temporary file to its target.
fn put(file: NamedTempFile, path: &Path) -> Result<(), String> {
    // The lock is kept until the file is renamed.
    let _file = file.persist(path).map_err(|e| refusal(&e.error))?;
    // The new name is safe on the disk after the folder is synchronised. If the folder cannot be opened, this is
    // skipped.
    if let Ok(folder) = std::fs::File::open(folder(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// The file itself, after following links. Only regular, writable files are replaced, although a writable folder would
/// be sufficient for the replacement.
fn target(path: &Path) -> Result<PathBuf, String> {
    let names_folder =
        path.as_os_str().as_encoded_bytes().last().is_some_and(|c| std::path::is_separator(char::from(*c)));
    if names_folder || path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/.") {
        return Err("it is the name of a folder, not of a file".to_owned());
    }
    let path = behind_links(path)?;
    match std::fs::metadata(&path) {
        Ok(data) if data.is_dir() => Err("it is a folder".to_owned()),
        Ok(data) if !data.is_file() => Err("it is not a regular file".to_owned()),
        Ok(data) if data.permissions().readonly() => Err("it is read-only".to_owned()),
        Ok(_) => {
            // Opening the file also checks access control lists, which the permissions above do not include.
            std::fs::OpenOptions::new().append(true).open(&path).map_err(|e| refusal(&e))?;
            std::fs::canonicalize(&path).map_err(|e| refusal(&e))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(path),
        Err(e) => Err(no_folder(&path, &e)),
    }
}

/// The path after following links; the file may not exist.
pub(crate) fn behind_links(path: &Path) -> Result<PathBuf, String> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err("it is a link that leads nowhere".to_owned())
}

/// The reason why a file next to `path` could not be created.
fn no_folder(path: &Path, e: &io::Error) -> String {
    let folder = folder(path);
    match e.kind() {
        io::ErrorKind::NotFound => format!("there is no folder {}", folder.display()),
        io::ErrorKind::NotADirectory => format!("{} is no folder", folder.display()),
        _ => format!("in {}: {}", folder.display(), refusal(e)),
    }
}

/// Whether two paths refer to the same existing file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
        id(a).is_some() && id(a) == id(b)
    }
    #[cfg(not(unix))]
    {
        let id = |path: &Path| std::fs::canonicalize(path).ok();
        id(a).is_some() && id(a) == id(b)
    }
}

#[cfg(test)]
mod tests;
