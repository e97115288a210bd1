//! The parameters of a program, for people and other programs.

use std::sync::Arc;

use rml_base::{Diagnostics, Sources, Span};
use rml_ir::{Type, Value};

/// A parameter of a program.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Its instance path, by which checkpoints name it.
    pub path: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Where the program, or the library, declares it.
    pub span: Span,
    /// Its value, if a checkpoint was given.
    pub value: Option<Value>,
}

/// The parameters of a program.
#[derive(Clone, Debug)]
pub struct ParamList {
    /// The node that has them.
    pub node: String,
    /// The parameters, in the order of the program.
    pub params: Vec<ParamInfo>,
    /// Findings that did not stop the compilation.
    pub warnings: Diagnostics,
    /// The texts that spans point into.
    pub sources: Arc<Sources>,
}
