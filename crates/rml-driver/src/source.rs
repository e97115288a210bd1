//! Where a program's text comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rml_base::Error;
use rml_files::contents;

use crate::front::Front;

/// Where a program's text comes from.
///
/// Compiling, analysing or checking a source reads its files once, on first use. A source and its clones then keep these texts, even if
/// the files change. To see a change, make a new source.
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
#[derive(Clone)]
pub struct Source {
    pub(crate) from: Origin,
    /// The texts with their names bound, made on first use.
    front: Arc<OnceLock<Result<Arc<Front>, Error>>>,
}

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

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.from == other.from
    }
}

impl Eq for Source {}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.from.fmt(f)
    }
}

impl Origin {
    fn source(self) -> Source {
        Source { from: self, front: Arc::default() }
    }
}

impl Source {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Origin::File(path.into()).source()
    }

    /// A text in memory, shown as `name` in diagnostics.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Origin::Text { name: name.into(), text: text.into() }.source()
    }

    /// A file as an editor has it.
    pub fn edited(path: impl Into<PathBuf>, texts: Arc<BTreeMap<PathBuf, String>>) -> Self {
        Origin::Edited { path: path.into(), texts }.source()
    }

    /// A text that is read to its end, from standard input for example.
    ///
    /// # Errors
    /// What cannot be read, is no text, or is larger than a program may be.
    pub fn from_reader(name: impl Into<String>, from: impl std::io::Read) -> Result<Self, Error> {
        let name = name.into();
        let text = contents::text_from(from).map_err(|why| why.diagnostic(&name))?;
        Ok(Self::text(name, text))
    }

    /// The name shown in diagnostics.
    pub fn name(&self) -> String {
        match &self.from {
            Origin::File(path) | Origin::Edited { path, .. } => path.display().to_string(),
            Origin::Text { name, .. } => name.clone(),
        }
    }

    /// The text as it is now, without what it imports.
    ///
    /// # Errors
    /// A file that cannot be read, is no text, or is larger than a program may be.
    pub fn read(&self) -> Result<String, Error> {
        let file = |path| Ok(contents::text(path).map_err(|why| why.diagnostic(&self.name()))?);
        match &self.from {
            Origin::File(path) => file(path),
            Origin::Text { text, .. } => Ok(text.clone()),
            Origin::Edited { path, texts } => {
                texts.get(path).map_or_else(|| file(path), |text| Ok(text.clone()))
            }
        }
    }

    /// The files that it is read from: its own, and those that are imported, as far as they are there. A text has none.
    pub fn files(&self) -> Vec<PathBuf> {
        let (Origin::File(path) | Origin::Edited { path, .. }) = &self.from else { return Vec::new() };
        let mut files = vec![path.clone()];
        if let Ok(front) = self.front() {
            let names = front.sources.ids().filter(|id| *id != front.main).map(|id| front.sources.name(id));
            files.extend(names.map(PathBuf::from).filter(|p| p.is_file()));
        }
        files
    }

    /// The texts with their names bound, read once.
    ///
    /// # Errors
    /// The main text cannot be read.
    pub(crate) fn front(&self) -> Result<&Arc<Front>, Error> {
        self.front.get_or_init(|| Front::new(self).map(Arc::new)).as_ref().map_err(Error::clone)
    }
}
