//! The parameters of a program, for people and other programs.

use std::sync::Arc;

use rml_base::{Diagnostics, Sources, Span};
use rml_ir::{Type, Value};

/// A parameter of a program.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// let list = rml::params(&source, &options, None)?;
/// let kernel = &list.params[0];
/// assert_eq!((&*kernel.path, kernel.ty.to_string()), ("dense_0.kernel", "num [2, 1]".to_owned()));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Its instance path, which names it in checkpoints.
    pub path: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// The place in the program, or the library, that declares it.
    pub span: Span,
    /// Its name in the checkpoint, if one was given.
    pub from: Option<Arc<str>>,
    /// Its value, if a checkpoint was given.
    pub value: Option<Value>,
}

/// The parameters of a program.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// let list = rml::params(&source, &options, None)?;
/// assert_eq!((&*list.node, list.params.len()), ("net", 2));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ParamList {
    /// The node with these parameters.
    pub node: String,
    /// The parameters, in the order of the program.
    pub params: Vec<ParamInfo>,
    /// Findings that did not stop the compilation.
    pub warnings: Diagnostics,
    /// The texts that spans point into.
    pub sources: Arc<Sources>,
}
