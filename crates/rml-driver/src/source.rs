//! Where a program's text comes from.

use std::path::PathBuf;

use rml_base::Error;
use rml_files::contents;

/// Where a program's text comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file; imports of files are relative to it.
    File(PathBuf),
    /// A text in memory; it can import the library only.
    Text {
        /// The name shown in diagnostics.
        name: String,
        /// The text.
        text: String,
    },
}

impl Source {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into())
    }

    /// A text in memory, shown as `name` in diagnostics.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text { name: name.into(), text: text.into() }
    }

    /// A text that is read to its end, from standard input for example.
    ///
    /// # Errors
    /// What cannot be read, is no text, or is larger than a program may be.
    pub fn from_reader(name: impl Into<String>, from: impl std::io::Read) -> Result<Self, Error> {
        let name = name.into();
        let text = contents::text_from(from).map_err(|why| why.diagnostic(&name))?;
        Ok(Self::Text { name, text })
    }

    /// The name shown in diagnostics.
    pub fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Text { name, .. } => name.clone(),
        }
    }

    /// The text, without what it imports.
    ///
    /// # Errors
    /// A file that cannot be read, is no text, or is larger than a program may be.
    pub fn read(&self) -> Result<String, Error> {
        match self {
            Source::File(path) => Ok(contents::text(path).map_err(|why| why.diagnostic(&self.name()))?),
            Source::Text { text, .. } => Ok(text.clone()),
        }
    }
}
