//! What the caller decides: the node to run, values of its statics, where imported texts come from.

use indexmap::IndexMap;
use rml_ir::Precision;
use rml_ir::typed::StaticValue;

/// Finds the texts of `import "path";`.
pub trait Loader {
    /// The name (shown in diagnostics; equal names are the same file) and the text of the file that the text named
    /// `importing` imports as `path`.
    ///
    /// # Errors
    /// Why there is none.
    fn load(&mut self, importing: &str, path: &str) -> Result<(String, String), NotLoaded>;
}

/// Why there is no text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotLoaded {
    /// It has more than [`rml_base::MAX_TEXT`] bytes.
    TooLarge,
    /// It is not there or cannot be read: the reason, in a few words.
    Unreadable(String),
}

impl From<&str> for NotLoaded {
    fn from(why: &str) -> Self {
        Self::Unreadable(why.to_owned())
    }
}

/// A loader for programs in memory: there are no files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Loader for NoFiles {
    fn load(&mut self, _importing: &str, _path: &str) -> Result<(String, String), NotLoaded> {
        Err("a program in memory can import library modules only".into())
    }
}

/// Which node becomes the root of the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Root {
    /// `main` if there is one, otherwise the only node of the main text that no other node calls.
    #[default]
    Default,
    /// That node.
    Run(String),
    /// That node, which is to be differentiated: the module records the overrides and optimisers that its adjoint
    /// needs.
    Diff(String),
    /// Node `root`, whose instances of `node` are to be differentiated.
    DiffWithin {
        /// The node to run.
        root: String,
        /// The node to differentiate.
        node: String,
    },
}

/// What to elaborate, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The root.
    pub root: Root,
    /// Values of static parameters and named dimensions of the root. A name that the root does not have is an error.
    pub set: IndexMap<String, StaticValue>,
    /// The same, but for names that may be missing; `set` wins.
    pub defaults: IndexMap<String, StaticValue>,
    /// How `num` is computed.
    pub precision: Precision,
    /// The embedded library: module names (`std.layers`) and texts.
    pub library: &'static [(&'static str, &'static str)],
    /// The text whose nodes are in scope everywhere without an import.
    pub prelude: &'static str,
}
