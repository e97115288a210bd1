//! The texts that the editor has open, and how its addresses and our paths are the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::{TextDocumentContentChangeEvent, Uri};
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

    /// A text as the editor has it, with all others that it has.
    pub(crate) fn source(&self, path: &Path) -> Source {
        Source::edited(path, Arc::clone(&self.all))
    }
}

/// The path of an address. A text that was never saved has one that is no file's.
pub(crate) fn path(uri: &Uri) -> PathBuf {
    let file = url::Url::parse(uri.as_str()).ok().and_then(|url| url.to_file_path().ok());
    file.unwrap_or_else(|| PathBuf::from(uri.as_str()))
}

/// The address of a path.
pub(crate) fn uri(path: &Path) -> Option<Uri> {
    let file = url::Url::from_file_path(path).ok().map(String::from);
    file.unwrap_or_else(|| path.display().to_string()).parse().ok()
}
