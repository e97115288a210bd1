//! The origin of a program's text.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rml_base::Error;
use rml_files::contents;

/// The origin of a program's texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A file; its imports are relative to it.
    File(PathBuf),
    /// A text in memory, which can import only the library.
    Text {
        /// The name shown in diagnostics.
        name: String,
        /// The text.
        text: String,
    },
    /// A file that is open in an editor; its imports are relative to it.
    Edited {
        /// The file.
        path: PathBuf,
        /// The open texts, by path. Each replaces the file on disk; other files are read from disk.
        texts: Arc<BTreeMap<PathBuf, String>>,
    },
}

impl Origin {
    /// The name shown in diagnostics.
    pub(crate) fn name(&self) -> String {
        match self {
            Origin::File(path) | Origin::Edited { path, .. } => path.display().to_string(),
            Origin::Text { name, .. } => name.clone(),
        }
    }

    /// The current text, without its imports.
    ///
    /// # Errors
    /// A file that cannot be read, is not text, or is larger than a program may be.
    pub(crate) fn read(&self) -> Result<String, Error> {
        let file = |path| Ok(contents::text(path).map_err(|why| why.diagnostic(&self.name()))?);
        match self {
            Origin::File(path) => file(path),
            Origin::Text { text, .. } => Ok(text.clone()),
            Origin::Edited { path, texts } => {
                texts.get(path).map_or_else(|| file(path), |text| Ok(text.clone()))
            }
        }
    }
}
