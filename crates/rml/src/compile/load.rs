//! Where texts come from: the program's own, and the files it imports.

use std::io::Read;
use std::path::{Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::codes::syntax::FILE_TOO_LARGE;
use rml_base::{Diagnostic, FileId, Sources, refusal};
use rml_elab::NotLoaded;
use rml_syntax::MAX_TEXT;

use super::Source;
use crate::error::Error;

/// Reads the main text.
pub(super) fn main_text(source: &Source, sources: &mut Sources) -> Result<FileId, Error> {
    match source {
        Source::Text { name, text } if text.len() > MAX_TEXT => Err(too_large(name).into()),
        Source::Text { name, text } => Ok(sources.add(name.clone(), text.clone())),
        Source::File(path) => {
            let name = path.display().to_string();
            let text = read(path).map_err(|why| match why {
                NotLoaded::TooLarge => too_large(&name),
                NotLoaded::Unreadable(why) => {
                    Diagnostic::error(codes::UNREADABLE_FILE, format!("{name} cannot be read")).note(why)
                }
            })?;
            Ok(sources.add(name, text))
        }
    }
}

fn too_large(name: &str) -> Diagnostic {
    Diagnostic::error(FILE_TOO_LARGE, format!("{name} is too large"))
        .note(format!("it has more than {MAX_TEXT} bytes, so it is no program"))
}

/// The text of a file. No more is read than a program may have: a device without an end would fill the memory.
fn read(path: &Path) -> Result<String, NotLoaded> {
    let unreadable = |e: std::io::Error| NotLoaded::Unreadable(refusal(&e));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_TEXT {
        return Err(NotLoaded::TooLarge);
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        NotLoaded::Unreadable(format!("it is not UTF-8 text (the first wrong byte is number {at})"))
    })
}

/// Finds imported files beside the importing ones.
pub(super) struct Files;

impl rml_elab::Loader for Files {
    fn load(&mut self, importing: &str, path: &str) -> Result<(String, String), NotLoaded> {
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
        assert_eq!(read(Path::new("/dev/zero")), Err(NotLoaded::TooLarge));
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
