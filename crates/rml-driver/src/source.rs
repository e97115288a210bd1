//! Where a program's text comes from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rml_base::Error;
use rml_files::contents;

/// Where a program's text comes from.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// use rml::Source;
///
/// let text = Source::text("sum.rml", "node sum(x: num []) -> (y)  y = x + (0.0 fby y);");
/// assert_eq!(text.name(), "sum.rml");
/// assert!(text.read()?.starts_with("node sum"));
/// let file = Source::file("examples/digits.rml");
/// assert_eq!(file.name(), "examples/digits.rml");
/// # Ok(()) }
/// ```
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
    /// A file as an editor has it, whose imports of files are relative to it.
    Edited {
        /// The file.
        path: PathBuf,
        /// The texts that are open, by path. Each stands for what is on disk; what is not among them is read from
        /// there.
        texts: Arc<BTreeMap<PathBuf, String>>,
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

    /// A file as an editor has it.
    pub fn edited(path: impl Into<PathBuf>, texts: Arc<BTreeMap<PathBuf, String>>) -> Self {
        Self::Edited { path: path.into(), texts }
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
            Source::File(path) | Source::Edited { path, .. } => path.display().to_string(),
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
            Source::Edited { path, texts } => match texts.get(path) {
                Some(text) => Ok(text.clone()),
                None => Source::File(path.clone()).read(),
            },
        }
    }
}
