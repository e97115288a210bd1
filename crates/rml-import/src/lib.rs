//! ONNX models as programs of the language.
//!
//! [`import`] makes of a model a readable program, the tensors of its weights under their names in the model, and the
//! mapping between the two (`rml params import` and `export` read it). The stages:
//!
//! | stage | type | what holds |
//! |---|---|---|
//! | bytes | | |
//! | messages | `proto` | it is a model; its parts are counted (`scan`) before any is allocated |
//! | model | `model::Model` | attributes and tensors are read; each tensor has the elements that its shape says |
//! | program | `program::Program` | operators of the language; shapes are known, blocks are nodes |
//! | text | | formatted as `rml fmt` does |
//!
//! The operators of the language know their own types and values (`rml_ir::op`), so a function for an operator of the
//! format (`ops`) only says what it is made of: the builder finds shapes and folds constants. Axes are transposed
//! lazily (`build::View`), so convolutions and what stands between them have their channels last without
//! transpositions.
//!
//! A model comes from anywhere: nothing here panics, and memory and time are bounded by the size of the file and by
//! limits on what is folded and how many equations there are.

use std::collections::BTreeMap;

use bytes::Bytes;
use indexmap::IndexMap;
use rml_base::{Diagnostic, Error};
use rml_weights::{Mapping, TensorFile};

mod blocks;
mod build;
mod elem;
mod mapping;
mod model;
mod names;
mod ops;
mod print;
mod program;
pub mod proto;
mod refuse;
mod scan;
mod states;
mod tensor;

use refuse::{Refusal, Res};

/// What flags say about an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the node that runs.
    pub node: String,
    /// Sizes of dimensions by name, or by the input and its axis: `input.0`.
    pub dims: BTreeMap<String, usize>,
    /// Inputs that have a value once and for all.
    pub fixed: IndexMap<String, Fixed>,
    /// Which inputs are states.
    pub states: StateOption,
    /// Compute numbers in double precision.
    pub f64: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node: "main".into(),
            dims: BTreeMap::new(),
            fixed: IndexMap::new(),
            states: StateOption::Found,
            f64: false,
        }
    }
}

/// The elements of an input that has a value once and for all; a single one fills it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fixed(pub Vec<f64>);

/// Which inputs are states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StateOption {
    /// Those whose name says which output is their next value.
    Found,
    /// These pairs of an input and an output.
    Given(Vec<(String, String)>),
    /// None.
    None,
}

/// What an import makes.
#[derive(Clone, Debug)]
pub struct ModelProgram {
    /// The program.
    pub program: String,
    /// The mapping from its parameters to the names of the model.
    pub mapping: Mapping,
    /// Its text.
    pub mapping_text: String,
    /// The tensors that the mapping reads.
    pub tensors: TensorFile,
    /// Inputs of the program, each with its name in the model.
    pub inputs: Vec<(String, String)>,
    /// Outputs, likewise.
    pub outputs: Vec<(String, String)>,
    /// States: inputs of the model with the outputs that they keep.
    pub states: Vec<(String, String)>,
}

/// Gives bytes of another file: its name, where they begin, and how many, all if that is not said.
pub type External<'e> = dyn Fn(&str, u64, Option<u64>) -> Result<Bytes, Diagnostic> + 'e;

/// Makes a program of a model. `origin` is its name in messages; `external` gives the bytes of other files that it
/// names.
///
/// # Errors
/// A file that is no model (`malformed-model`), or something in it that cannot be imported (`import-refused`): which
/// operator, and where.
pub fn import(
    bytes: Vec<u8>,
    origin: &str,
    external: &External<'_>,
    options: &Options,
) -> Result<ModelProgram, Error> {
    made(Bytes::from(bytes), origin, external, options).map_err(|refusal| refusal.diagnostic(origin).into())
}

fn made(bytes: Bytes, origin: &str, external: &External<'_>, options: &Options) -> Res<ModelProgram> {
    let outside = |name: &str, offset: u64, length: Option<u64>| {
        external(name, offset, length).map_err(|d| Refusal::malformed(d.message.clone()))
    };
    let model = model::Model::decode(bytes, &outside)?;
    let built = build::build(&model, options)?;
    let (text, names) = print::print(&built.program, &head(&model, origin));
    let text = rml_syntax::format(&text).map_err(|findings| {
        let why = findings.first().map_or_else(String::new, ToString::to_string);
        Refusal::new("the program that was made of it does not parse").note(why)
    })?;
    let mapping_text = mapping::text(&built, &names, origin);
    let root = names.last();
    let word = |list: &[(String, program::Var)]| {
        let name = |var: &program::Var| root.map_or_else(String::new, |names| names[var.0].clone());
        list.iter().map(|(name_, var)| (name(var), name_.clone())).collect()
    };
    Ok(ModelProgram {
        mapping: Mapping::text("map.toml", mapping_text.clone()),
        tensors: mapping::tensors(&built, &names, origin),
        inputs: word(&built.inputs),
        outputs: word(&built.outputs),
        states: built.states.iter().map(|s| (s.input.clone(), s.output.clone())).collect(),
        program: text,
        mapping_text,
    })
}

/// The comment at the top of a program.
fn head(model: &model::Model, origin: &str) -> String {
    let version = model.opsets.get("").map_or_else(String::new, |v| format!(", opset {v}"));
    let by = if model.producer.is_empty() { String::new() } else { format!(", by {}", model.producer) };
    let text = format!("Imported from {origin}{version}{by}.");
    // A comment of the language ends at `*)`, and may not begin another one.
    let text: String =
        text.replace("(*", "( *").replace("*)", "* )").chars().filter(|c| !c.is_control()).collect();
    format!("(* {text} *)\n\n")
}

/// The operators of the standard's own domain that can be imported, sorted by name.
pub fn operators() -> Vec<&'static str> {
    ops::names()
}
