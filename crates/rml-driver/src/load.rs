//! Loads texts: the program itself, and the files that it imports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rml_base::{Error, FileId, MAX_TEXT, Sources};
use rml_elab::NotLoaded;
use rml_files::contents::{self, Unread};

use crate::origin::Origin;

/// Reads the main text.
pub(crate) fn main_text(origin: &Origin, sources: &mut Sources) -> Result<FileId, Error> {
    match origin {
        Origin::Text { name, text } if text.len() > MAX_TEXT => Err(contents::too_large(name).into()),
        Origin::Text { name, text } => Ok(sources.add(name.clone(), text.clone())),
        Origin::File(_) | Origin::Edited { .. } => {
            let text = origin.read()?;
            match text.len() > MAX_TEXT {
                true => Err(contents::too_large(&origin.name()).into()),
                false => Ok(sources.add(origin.name(), text)),
            }
        }
    }
}

/// Finds imported files relative to the importing ones; for files that are open in an editor, the editor's text.
#[derive(Default)]
pub(crate) struct Files<'t> {
    pub(crate) open: Option<&'t BTreeMap<PathBuf, String>>,
}

impl rml_elab::Loader for Files<'_> {
    fn load(&mut self, importing: &str, path: &str) -> Result<(String, String), NotLoaded> {
        let beside = Path::new(importing).parent().unwrap_or(Path::new(""));
        let full = normal(&beside.join(path));
        if let Some(text) = self.open.and_then(|open| open.get(&full)) {
            return match text.len() > MAX_TEXT {
                true => Err(NotLoaded::TooLarge),
                false => Ok((full.display().to_string(), text.clone())),
            };
        }
        let text = contents::text(&full).map_err(|why| match why {
            Unread::Refused(why) => NotLoaded::Unreadable(why),
            Unread::TooLarge(_) => NotLoaded::TooLarge,
        })?;
        Ok((full.display().to_string(), text))
    }
}

/// The path without `.`, and without `..` after a name, so that each file has one name.
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

    #[test]
    fn a_file_has_one_name() {
        for (path, name) in
            [("a/./b.rml", "a/b.rml"), ("a/../b.rml", "b.rml"), ("../b.rml", "../b.rml"), ("/x/../b", "/b")]
        {
            assert_eq!(normal(Path::new(path)), Path::new(name), "{path}");
        }
    }
}
