//! Parameters: which ones a program has, and how they come from and go to other libraries by a mapping file.
//!
//! A mapping is read once (`mapping`), applied to the parameters of a program (`expand`), given shapes (`shapes`), and turned into a
//! table that says for each element of a parameter which element of which tensor it is (`cells`). Import reads that table one way, export
//! the other.

use std::path::Path;
use std::sync::Arc;

use expand::{Plan, Wanted};
use indexmap::IndexMap;
use rml_base::{Diagnostics, Error, Sources, Span};
use rml_ir::{Type, Value};

use crate::checkpoint::{Checkpoint, Policy};
use crate::compile::{BATCH, Options, Program, Source, compile};
use crate::ir::typed::StaticValue;
use crate::settings;

pub use summary::Summary;
pub use tensors::{FileTensor, Stored, TensorFile, is_tensor_file};

mod cells;
mod element;
mod expand;
mod export;
mod expr;
mod import;
mod layouts;
mod mapping;
mod node;
mod pattern;
mod rearrange;
mod shapes;
mod show;
mod summary;
mod tensors;
#[cfg(test)]
mod tests;

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

/// The parameters of node [`Options::node`], with their values where a checkpoint is given. Static parameters that the checkpoint was
/// trained with count unless the options say otherwise; where a dimension `batch` has no value it is 1, since no parameter depends on it.
///
/// # Errors
/// A program that does not compile, a checkpoint of another one.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("net.rml", "
/// import std.layers;
/// node net(x: num [3]) -> (y)
///   y = dense(2, x);
/// ");
/// let list = rml::params(&source, &rml::Options::default(), None)?;
/// let paths: Vec<String> = list.params.iter().map(|p| format!("{}: {}", p.path, p.ty)).collect();
/// assert_eq!(paths, ["dense_0.kernel: num [3, 2]", "dense_0.bias: num [2]"]);
/// # Ok(()) }
/// ```
pub fn params(
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
) -> Result<ParamList, Error> {
    let program = program(source, options, checkpoint)?;
    let values = checkpoint.map(|c| values(&program, c)).transpose()?;
    let param = |w: &Wanted| ParamInfo {
        path: Arc::clone(&w.key),
        ty: w.ty.clone(),
        span: w.span,
        value: values.as_ref().and_then(|v| v.get(&w.key).cloned()),
    };
    Ok(ParamList {
        node: program.node().to_owned(),
        params: wanted(&program).values().map(param).collect(),
        warnings: program.warnings().clone(),
        sources: Arc::clone(program.sources()),
    })
}

/// The text of a mapping file.
#[derive(Clone, Debug)]
pub struct Mapping {
    name: String,
    text: String,
}

impl Mapping {
    /// A text, shown as `name` in diagnostics.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or is not text.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = Source::file(path).read()?;
        Ok(Self { name: path.display().to_string(), text })
    }
}

/// A layout that mapping files can use without defining it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutInfo {
    /// Its name.
    pub name: String,
    /// Which layer of which library it is for, in one line.
    pub about: String,
    /// Its definition, as it could stand in a mapping file.
    pub text: String,
}

/// All layouts that need no definition.
pub fn layouts() -> Vec<LayoutInfo> {
    layouts::infos()
}

/// What an import gave.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The parameters, as a checkpoint without a training run.
    pub checkpoint: Checkpoint,
    /// How many numbers had to be rounded, because the file has them in double precision.
    pub rounded: usize,
    /// Findings that did not stop the compilation.
    pub warnings: Diagnostics,
    /// The texts that they point into.
    pub sources: Arc<Sources>,
}

/// Makes the parameters of node [`Options::node`] from the tensors of another library.
///
/// # Errors
/// A program that does not compile; a mapping that is malformed, leaves a parameter or a tensor out, or whose shapes do not fit.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("net.rml", "
/// import std.layers;
/// node net(x: num [3]) -> (y)
///   y = dense(2, x);
/// ");
/// let mapping = rml::Mapping::text("map.toml", r#"
/// [[use]]
/// layout = "torch.linear"
/// at = "dense_0"
/// from = "fc"
/// "#);
/// let mut weights = rml::TensorFile::default();
/// for (name, shape) in [("fc.weight", &[2, 3][..]), ("fc.bias", &[2])] {
///     let shape = rml::Shape::new(shape);
///     let data = rml::Data::F32((0_u8..).map(f32::from).take(shape.len()).collect());
///     weights.tensors.insert(name.to_owned(), rml::FileTensor { stored: rml::Stored::F32, shape, data });
/// }
/// let options = rml::Options::default();
/// let imported = rml::import_params(&source, &options, &weights, &mapping)?;
/// let kernel = &imported.checkpoint.states["dense_0.kernel"];
/// assert!(kernel.same(&rml::Value::new(kernel.shape(), rml::Data::F32(vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]))));
/// let back = rml::export_params(&source, &options, &imported.checkpoint, &mapping, &rml::ExportOptions::default())?;
/// assert!(back.tensors.iter().all(|(name, tensor)| tensor.same(&weights.tensors[name])));
/// # Ok(()) }
/// ```
pub fn import_params(
    source: &Source,
    options: &Options,
    weights: &TensorFile,
    mapping: &Mapping,
) -> Result<Imported, Error> {
    let program = program(source, options, None)?;
    let wanted = wanted(&program);
    let mut sources = Sources::clone(program.sources());
    let imported = plan(mapping, &wanted, &mut sources)
        .and_then(|plan| import::import(&plan, weights, program.precision()));
    let sources = Arc::new(sources);
    let (states, rounded) = imported.map_err(|findings| Error::new(findings, Arc::clone(&sources)))?;
    let mut states: Vec<(Arc<str>, Value)> = states.into_iter().collect();
    states.sort_by(|a, b| a.0.cmp(&b.0));
    let checkpoint = Checkpoint::of_states(states.into_iter().collect());
    Ok(Imported { checkpoint, rounded, warnings: program.warnings().clone(), sources })
}

/// How to export.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Tensors of the other library for the same net: shapes, types of elements and all that is no parameter are taken from there.
    pub like: Option<TensorFile>,
    /// The type of numbers; `None` = as in `like`, else as they are.
    pub stored: Option<Stored>,
}

/// Writes the parameters of a checkpoint as the tensors of another library: the way back of [`import_params`]. What an import adds up
/// goes to the first of the tensors, and zeros to the others.
///
/// # Errors
/// As for an import; a checkpoint that lacks parameters; parameters that the other layout has no place for.
pub fn export_params(
    source: &Source,
    options: &Options,
    checkpoint: &Checkpoint,
    mapping: &Mapping,
    export: &ExportOptions,
) -> Result<TensorFile, Error> {
    let program = program(source, options, Some(checkpoint))?;
    let values = values(&program, checkpoint)?;
    let wanted = wanted(&program);
    let mut sources = Sources::clone(program.sources());
    let exported = plan(mapping, &wanted, &mut sources)
        .and_then(|plan| export::export(&plan, &values, export.like.as_ref(), export.stored));
    exported.map_err(|findings| Error::new(findings, Arc::new(sources)))
}

/// The program, with the static parameters that a checkpoint records.
fn program(source: &Source, options: &Options, checkpoint: Option<&Checkpoint>) -> Result<Program, Error> {
    let mut options = options.clone();
    let recorded = checkpoint.and_then(|c| c.position.as_ref()?.set.clone()).unwrap_or_default();
    for (name, value) in recorded {
        options.defaults.entry(name).or_insert(value);
    }
    options.defaults.entry(BATCH.to_owned()).or_insert(StaticValue::Int(1));
    if checkpoint.and_then(|c| c.position.as_ref()).is_some_and(|p| p.double) {
        options.precision = rml_ir::Precision::F64;
    }
    let mut program = compile(source, &options)?;
    program.warnings.extend(settings::changed(checkpoint.and_then(|c| c.position.as_ref()), &options.set));
    Ok(program)
}

/// The parameters of a program by path.
fn wanted(program: &Program) -> IndexMap<Arc<str>, Wanted> {
    let flat = program.flat();
    let parameters = flat.states.iter().filter(|(_, state)| state.parameter);
    let one = |(key, state): (&Arc<str>, &rml_ir::flat::State)| {
        let var = &flat.vars[flat.equations[state.equation].lhs];
        (Arc::clone(key), Wanted { key: Arc::clone(key), ty: var.ty.clone(), span: var.span })
    };
    parameters.map(one).collect()
}

/// The parameters' values in a checkpoint.
fn values(program: &Program, checkpoint: &Checkpoint) -> Result<IndexMap<Arc<str>, Value>, Error> {
    let selected = checkpoint.select(program, Policy::Available);
    let selected = selected.map_err(|d| Error::new(d, Arc::clone(program.sources())))?;
    let precise = |(key, value): (Arc<str>, Value)| (key, value.to_precision(program.precision()));
    Ok(selected.into_iter().map(precise).collect())
}

/// The mapping, applied to the parameters; its text and those of the layouts are added to `sources`.
fn plan<'w>(
    mapping: &Mapping,
    wanted: &'w IndexMap<Arc<str>, Wanted>,
    sources: &mut Sources,
) -> Result<Plan<'w>, Diagnostics> {
    let file = sources.add(mapping.name.clone(), mapping.text.clone());
    let builtin = layouts::builtin(sources)?;
    expand::expand(&mapping::parse(&mapping.text, file)?, &builtin, wanted)
}
