//! From source text to a program that can run: the column of passes, each stage of which can be looked at.
//!
//! text → syntax tree → typed → normal → differentiated → inlined (flat) → initialised → folded → cone of the outputs.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostics, Sources};
use rml_ir::flat::Flat;
use rml_ir::typed::StaticValue;
use rml_ir::{Precision, Type};

use crate::error::Error;

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
}

/// What to make of a source.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// The node to run; `None` = the only one that no other node calls.
    pub node: Option<String>,
    /// Values of the run node's static parameters and named dimensions.
    pub set: IndexMap<String, StaticValue>,
    /// The value of the run node's dimension `batch`.
    pub batch: Option<usize>,
    /// How `num` is computed.
    pub precision: Precision,
    /// The seed of all random initialisers.
    pub seed: u64,
    /// Keeps every named variable, so that all can be traced: no folding, no restriction to what the outputs need.
    pub all_vars: bool,
}

/// A stage that [`dump`] can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The syntax tree.
    Parse,
    /// The typed stage.
    Elab,
    /// The normal form.
    Normalize,
    /// The normal form with adjoint nodes synthesised.
    Diff,
    /// The flat form.
    Inline,
    /// The flat form initialised, folded and restricted to the cone of the outputs: what runs.
    Fold,
}

/// An input of the run node.
#[derive(Clone, PartialEq, Debug)]
pub struct InputInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
    /// Its declared clock: the name of the condition, and which value of it.
    pub clock: Option<(Arc<str>, bool)>,
    /// Whether its declared shape begins with the dimension `batch`.
    pub batched: bool,
}

/// An output of the run node.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
}

/// A compiled program. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) flat: Arc<Flat>,
    pub(crate) sources: Arc<Sources>,
    pub(crate) inputs: Arc<[InputInfo]>,
    pub(crate) outputs: Arc<[OutputInfo]>,
    pub(crate) warnings: Diagnostics,
}

impl Program {
    /// The run node's name.
    pub fn node(&self) -> &str {
        &self.flat.name
    }

    /// Inputs, in order.
    pub fn inputs(&self) -> &[InputInfo] {
        &self.inputs
    }

    /// Outputs, in order.
    pub fn outputs(&self) -> &[OutputInfo] {
        &self.outputs
    }

    /// How `num` is computed.
    pub fn precision(&self) -> Precision {
        self.flat.precision
    }

    /// What runs.
    pub fn flat(&self) -> &Arc<Flat> {
        &self.flat
    }

    /// The source texts, for drawing diagnostics.
    pub fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    /// Findings that did not stop the compilation.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

/// Compiles a program.
///
/// # Errors
/// Whatever the front end finds wrong, all of it; a file that cannot be read.
pub fn compile(source: &Source, options: &Options) -> Result<Program, Error> {
    let _ = (source, options);
    unimplemented!()
}

/// Checks every node of a source that can be checked; returns the texts and all findings, warnings included.
pub fn check(source: &Source, options: &Options) -> (Arc<Sources>, Diagnostics) {
    let _ = (source, options);
    unimplemented!()
}

/// The text of a stage.
///
/// # Errors
/// As [`compile`].
pub fn dump(source: &Source, options: &Options, stage: Stage) -> Result<String, Error> {
    let _ = (source, options, stage);
    unimplemented!()
}

/// The adjoint of node `node` (and of the nodes it calls) in surface syntax, callees first.
///
/// # Errors
/// As [`compile`]; a node that cannot be differentiated.
pub fn differentiate(source: &Source, options: &Options, node: &str) -> Result<String, Error> {
    let _ = (source, options, node);
    unimplemented!()
}
