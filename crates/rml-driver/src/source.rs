//! The source of a program's text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rml_base::{Diagnostic, Diagnostics, Error};
use rml_files::contents;

use crate::front::Front;
use crate::interface::{DeclaredColumn, DeclaredColumns, Interface};
use crate::origin::Origin;

/// The source of a program's text.
///
/// A source reads its files once, when it is first compiled, analysed or checked. The source and its clones then keep
/// these texts, even if the files change. To see a change, make a new source.
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

impl Source {
    fn of(from: Origin) -> Self {
        Self { from, front: Arc::default() }
    }

    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::of(Origin::File(path.into()))
    }

    /// A text in memory, shown as `name` in diagnostics.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::of(Origin::Text { name: name.into(), text: text.into() })
    }

    /// A file that is open in an editor.
    pub fn edited(path: impl Into<PathBuf>, texts: Arc<BTreeMap<PathBuf, String>>) -> Self {
        Self::of(Origin::Edited { path: path.into(), texts })
    }

    /// A text that is read to its end, for example from standard input.
    ///
    /// # Errors
    /// Input that cannot be read, is not text, or is larger than a program may be.
    pub fn from_reader(name: impl Into<String>, from: impl std::io::Read) -> Result<Self, Error> {
        let name = name.into();
        let text = contents::text_from(from).map_err(|why| why.diagnostic(&name))?;
        Ok(Self::text(name, text))
    }

    /// The name shown in diagnostics.
    pub fn name(&self) -> String {
        self.from.name()
    }

    /// The current text, without its imports.
    ///
    /// # Errors
    /// A file that cannot be read, is not text, or is larger than a program may be.
    pub fn read(&self) -> Result<String, Error> {
        self.from.read()
    }

    /// The files of its texts: its own file, and the imported ones that exist. A text in memory has none.
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
        self.front.get_or_init(|| Front::new(&self.from).map(Arc::new)).as_ref().map_err(Error::clone)
    }
}

/// The interface of a node in the text of a source; `None` if the text has no such node.
///
/// # Errors
/// The text cannot be read.
pub fn interface(source: &Source, node: &str) -> Result<Option<Interface>, Error> {
    Ok(source.front()?.interfaces().get(node).cloned())
}

/// The integer inputs of all nodes in the text of a source.
///
/// # Errors
/// The text cannot be read.
pub fn integer_inputs(source: &Source) -> Result<BTreeSet<String>, Error> {
    Ok(source.front()?.interfaces().integers())
}

/// The inputs of all nodes in the text of a source whose first dimension, apart from `batch`, is a literal number: this
/// number, and the number of dimensions.
///
/// # Errors
/// The text cannot be read.
pub fn list_inputs(source: &Source) -> Result<BTreeMap<String, (usize, usize)>, Error> {
    Ok(source.front()?.interfaces().lists())
}

/// The columns of data that the text of a source names for inputs.
///
/// # Errors
/// The text cannot be read; `check` refuses columns.
pub fn declared_columns(
    source: &Source,
    check: impl Fn(&DeclaredColumn) -> Result<(), Diagnostic>,
) -> Result<Vec<DeclaredColumns>, Error> {
    let front = source.front()?;
    let lists = front.interfaces().columns();
    let refused = lists.iter().flat_map(|of| &of.columns).map(check).filter_map(Result::err);
    let refused = Diagnostics(refused.collect());
    if refused.0.is_empty() {
        Ok(lists.to_vec())
    } else {
        Err(Error::new(refused, Arc::clone(&front.sources)))
    }
}

/// The inputs of all nodes in the text of a source that are cases of an enumeration, with the names of the cases.
///
/// # Errors
/// The text cannot be read.
pub fn enumerated_inputs(source: &Source) -> Result<BTreeMap<String, Vec<String>>, Error> {
    Ok(source.front()?.interfaces().cases())
}

/// The names that columns of data need to feed a node of a source, or another node that runs beside it: the names of
/// the inputs of all nodes in its text. `None` if the text does not have the node, which may have other inputs.
///
/// # Errors
/// The text cannot be read.
pub fn input_names(source: &Source, node: Option<&str>) -> Result<Option<BTreeSet<String>>, Error> {
    Ok(source.front()?.interfaces().inputs(node))
}
