//! Where texts come from: the program's own, and the files it imports.

use std::io::Read;
use std::path::{Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, FileId, Sources, refusal};

use super::Source;
use crate::error::Error;

/// Reads the main text.
pub(super) fn main_text(source: &Source, sources: &mut Sources) -> Result<FileId, Error> {
    match source {
        Source::Text { name, text } => Ok(sources.add(name.clone(), text.clone())),
        Source::File(path) => {
            let text = read(path).map_err(|why| {
                Diagnostic::error(codes::UNREADABLE_FILE, format!("{} cannot be read", path.display()))
                    .note(why)
            })?;
            Ok(sources.add(path.display().to_string(), text))
        }
    }
}

/// Programs are smaller; without a bound, a device without an end would fill the memory.
const MAX_TEXT: u64 = 64 << 20;

fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| refusal(&e))?;
    file.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(|e| refusal(&e))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err("it is larger than 64 MiB, so it is no program".to_owned());
    }
    String::from_utf8(bytes).map_err(|e| {
        format!("it is not UTF-8 text (the first wrong byte is number {})", e.utf8_error().valid_up_to())
    })
}

/// Finds imported files beside the importing ones.
pub(super) struct Files;

impl rml_elab::Loader for Files {
    fn load(&mut self, importing: &str, path: &str) -> Result<(String, String), String> {
        let beside = Path::new(importing).parent().unwrap_or(Path::new(""));
        let full = normal(&beside.join(path));
        let text = read(&full)?;
        Ok((full.display().to_string(), text))
    }
}

/// The path without `.` and, where a name stands before it, without `..`; so one file has one name.
fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            _ => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_text_without_an_end_is_refused() {
        assert!(read(Path::new("/dev/zero")).unwrap_err().contains("larger than"));
    }

    #[test]
    fn a_file_has_one_name() {
        for (path, name) in
            [("a/./b.rml", "a/b.rml"), ("a/../b.rml", "b.rml"), ("../b.rml", "../b.rml"), ("/x/../b", "/b")]
        {
            assert_eq!(normal(Path::new(path)), Path::new(name), "{path}");
        }
    }
}
