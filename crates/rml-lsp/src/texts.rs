//! The texts that the editor has open, and the mapping between its URIs and paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::{TextDocumentContentChangeEvent, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rml::Source;

use crate::lines::{Encoding, Lines};

/// The texts that are open.
#[derive(Default)]
pub(crate) struct Texts {
    /// By path.
    all: Arc<BTreeMap<PathBuf, String>>,
    versions: BTreeMap<PathBuf, i32>,
}

impl Texts {
    pub(crate) fn open(&mut self, path: PathBuf, version: i32, text: String) {
        Arc::make_mut(&mut self.all).insert(path.clone(), text);
        self.versions.insert(path, version);
    }

    pub(crate) fn close(&mut self, path: &Path) {
        Arc::make_mut(&mut self.all).remove(path);
        self.versions.remove(path);
    }

    /// Applies changes in their order.
    pub(crate) fn change(
        &mut self,
        path: &Path,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) {
        let Some(text) = Arc::make_mut(&mut self.all).get_mut(path) else { return };
        for change in changes {
            match change.range {
                Some(range) => {
                    let bytes = Lines::new(text, encoding).bytes(range);
                    text.replace_range(bytes, &change.text);
                }
                None => *text = change.text,
            }
        }
        self.versions.insert(path.to_owned(), version);
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.all.keys()
    }

    pub(crate) fn version(&self, path: &Path) -> Option<i32> {
        self.versions.get(path).copied()
    }

    /// An open text as the source of a program, together with all other open texts.
    pub(crate) fn source(&self, path: &Path) -> Source {
        Source::edited(path, Arc::clone(&self.all))
    }
}

/// The characters that are not encoded in the path of a URI.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'+')
    .remove(b'=');

/// The path of a URI. For a text that was never saved, it is not the path of a file.
pub(crate) fn path(uri: &Uri) -> PathBuf {
    let Some(file) = uri.as_str().strip_prefix("file://") else { return PathBuf::from(uri.as_str()) };
    // Between `//` and the path is the name of the machine, or nothing.
    let path = file.find('/').map_or(file, |at| &file[at..]);
    let path = percent_decode_str(path).decode_utf8_lossy();
    let drive = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    PathBuf::from(drive.unwrap_or(&path))
}

/// The URI of a path.
pub(crate) fn uri(path: &Path) -> Option<Uri> {
    let text = path.to_str()?;
    if !path.is_absolute() {
        return text.parse().ok();
    }
    let text = text.replace('\\', "/");
    let path = utf8_percent_encode(text.trim_start_matches('/'), PLAIN);
    format!("file:///{path}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_its_path_are_the_same() {
        for name in ["/a/b.rml", "/a b/ü%20#?.rml", "untitled:Untitled-1"] {
            let there = uri(Path::new(name)).expect("an address");
            assert_eq!(path(&there), Path::new(name), "{there:?}");
        }
        let drive: Uri = "file:///c%3A/a.rml".parse().expect("an address");
        assert_eq!(path(&drive), Path::new("c:/a.rml"));
    }
}
