//! The choices of the caller: the node to run, the values of its statics, and where to find imported texts.

use indexmap::IndexMap;
use rml_ir::Precision;
use rml_ir::typed::StaticValue;

/// Finds the texts of `import "path";`.
pub trait Loader {
    /// The name and the text of the file that the text `importing` imports as `path`. The name is shown in diagnostics;
    /// equal names mean the same file.
    ///
    /// # Errors
    /// The reason why there is no text.
    fn load(&mut self, importing: &str, path: &str) -> Result<(String, String), NotLoaded>;
}

/// The reason why there is no text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotLoaded {
    /// The text has more than [`rml_base::MAX_TEXT`] bytes.
    TooLarge,
    /// The file does not exist or cannot be read: the reason, in a few words.
    Unreadable(String),
}

impl From<&str> for NotLoaded {
    fn from(why: &str) -> Self {
        Self::Unreadable(why.to_owned())
    }
}

/// A loader for programs in memory, which have no files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Loader for NoFiles {
    fn load(&mut self, _importing: &str, _path: &str) -> Result<(String, String), NotLoaded> {
        Err("a program in memory can import library modules only".into())
    }
}

/// The node that becomes the root of the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Root {
    /// `main` if it exists, otherwise the only node of the main text that no other node calls.
    #[default]
    Default,
    /// The node with this name.
    Run(String),
    /// The node with this name, which is to be differentiated: the module records the overrides and optimisers that its
    /// adjoint needs.
    Diff(String),
    /// The node `root`, in which the instances of `node` are to be differentiated.
    DiffWithin {
        /// The node to run.
        root: String,
        /// The node to differentiate.
        node: String,
    },
}

/// The options of elaboration.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The root.
    pub root: Root,
    /// Values of static parameters and named dimensions of the root. A name that the root does not have is an error.
    pub set: IndexMap<String, StaticValue>,
    /// Values for names that the root may lack; `set` has priority.
    pub defaults: IndexMap<String, StaticValue>,
    /// The precision of `num`.
    pub precision: Precision,
    /// The embedded library: module names (`std.layers`) and texts.
    pub library: &'static [(&'static str, &'static str)],
    /// The text whose nodes are in scope everywhere without an import.
    pub prelude: &'static str,
}
