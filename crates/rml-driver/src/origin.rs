//! What a program's text is read from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rml_base::Error;
use rml_files::contents;

/// Where texts are read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A file; imports of files are relative to it.
    File(PathBuf),
    /// A text in memory; it can import the library only.
    Text {
        /// The name shown in diagnostics.
        name: String,
        /// The text.
        text: String,
    },
    /// A file as an editor has it, whose imports of files are relative to it.
    Edited {
        /// The file.
        path: PathBuf,
        /// The texts that are open, by path. Each stands for what is on disk; what is not among them is read from
        /// there.
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

    /// The text as it is now, without what it imports.
    ///
    /// # Errors
    /// A file that cannot be read, is no text, or is larger than a program may be.
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
