//! Parameters of programs: lists them, and imports and exports them by a mapping file. `rml-weights` defines the
//! meaning of a mapping; this module applies it to compiled programs and checkpoints.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostics, Error, Sources};
use rml_driver::{BATCH, Options, Program, Source, compile, declared_parameters};
use rml_ir::typed::StaticValue;
use rml_ir::{Type, Value};
use rml_weights::{ExportOptions, Mapping, ParamInfo, ParamList, TensorFile, WantedParameter};

use crate::checkpoint::{Checkpoint, Policy};

/// The parameters of node [`Options::node`], with their values if a checkpoint is given. The static parameters of the
/// checkpoint's training apply unless the options set others; a dimension `batch` without a value is 1, since no
/// parameter depends on it.
///
/// # Errors
/// A program that does not compile, a checkpoint of another program.
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
    let checkpoint = checkpoint.map(|c| c.fitted(&program)).transpose()?;
    let values = checkpoint.as_ref().map(|c| values(&program, c)).transpose()?;
    let param = |w: &WantedParameter| ParamInfo {
        path: Arc::clone(&w.key),
        from: checkpoint.as_ref().map(|c| c.name_in_file(&w.key).into()),
        ty: w.ty.clone(),
        span: w.span,
        value: values.as_ref().and_then(|v| v.get(&w.key).cloned()),
    };
    Ok(ParamList {
        node: program.node().to_owned(),
        params: wanted(&program, source, options).values().filter(|w| w.needed).map(param).collect(),
        warnings: program.warnings().clone(),
        sources: Arc::clone(program.sources()),
    })
}

/// The result of an import.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// # let weights = rml::TensorFile::read(&path)?;
/// # let mapping = rml::Mapping::text("map.toml", "[[use]]\nlayout = \"torch.linear\"\nat = \"dense_0\"\nfrom = \"fc\"\n");
/// let imported = rml::import_params(&source, &options, &weights, &mapping)?;
/// assert!(imported.checkpoint.states.contains_key("dense_0.kernel"));
/// assert!(imported.warnings.is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Imported {
    /// The parameters, as a checkpoint without a training run.
    pub checkpoint: Checkpoint,
    /// How many numbers were rounded, because the file has them in double precision.
    pub rounded: usize,
    /// Findings that did not stop the compilation.
    pub warnings: Diagnostics,
    /// The texts that the findings point into.
    pub sources: Arc<Sources>,
}

/// Makes the parameters of node [`Options::node`] from the tensors of another library.
///
/// # Errors
/// A program that does not compile; a mapping that is malformed, omits a parameter or a tensor, or has shapes that do
/// not fit.
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
    let wanted = wanted(&program, source, options);
    let mut sources = Sources::clone(program.sources());
    let imported = rml_weights::import(mapping, &wanted, weights, program.precision(), &mut sources);
    let sources = Arc::new(sources);
    let (states, rounded) = imported.map_err(|findings| Error::new(findings, Arc::clone(&sources)))?;
    let mut states: Vec<(Arc<str>, Value)> = states.into_iter().collect();
    states.sort_by(|a, b| a.0.cmp(&b.0));
    let checkpoint = Checkpoint::of_states(states.into_iter().collect());
    Ok(Imported { checkpoint, rounded, warnings: program.warnings().clone(), sources })
}

/// Writes the parameters of a checkpoint as the tensors of another library: the inverse of [`import_params`]. If an
/// import adds tensors, the sum is written to the first tensor, and zeros to the others.
///
/// # Errors
/// As for an import; a checkpoint that lacks parameters; parameters that the other layout cannot express.
pub fn export_params(
    source: &Source,
    options: &Options,
    checkpoint: &Checkpoint,
    mapping: &Mapping,
    export: &ExportOptions,
) -> Result<TensorFile, Error> {
    let program = program(source, options, Some(checkpoint))?;
    let checkpoint = checkpoint.fitted(&program)?;
    let mut values = values(&program, &checkpoint)?;
    let wanted = wanted(&program, source, options);
    for (key, _) in wanted.iter().filter(|(_, wanted)| !wanted.needed) {
        if let Some(value) = checkpoint.states.get(key) {
            values.insert(Arc::clone(key), value.to_precision(program.precision()));
        }
    }
    let mut sources = Sources::clone(program.sources());
    let exported = rml_weights::export(mapping, &wanted, &values, export, &mut sources);
    exported.map_err(|findings| Error::new(findings, Arc::new(sources)))
}

/// The program, compiled with the static parameters of a checkpoint.
pub(crate) fn program(
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
) -> Result<Program, Error> {
    let Some(checkpoint) = checkpoint else { return compile(source, &any_batch(options)) };
    checkpoint.compile(source, &any_batch(&checkpoint.settings(options.clone())))
}

/// The options, with 1 for the dimension `batch` if it has no value.
fn any_batch(options: &Options) -> Options {
    let mut options = options.clone();
    options.defaults.entry(BATCH.to_owned()).or_insert(StaticValue::Int(1));
    options
}

/// The parameters of a program by path.
fn wanted(program: &Program, source: &Source, options: &Options) -> IndexMap<Arc<str>, WantedParameter> {
    let flat = program.flat();
    let declared = declared_parameters(source, &any_batch(options));
    let parameters = flat.states.iter().filter(|(_, state)| state.parameter);
    let wanted = |key: &Arc<str>, ty: &Type, span, needed| {
        (Arc::clone(key), WantedParameter { key: Arc::clone(key), ty: ty.clone(), span, needed })
    };
    let needed = parameters.map(|(key, state)| {
        let var = &flat.vars[flat.equations[state.equation].lhs];
        let span = declared.get(key).map_or(var.span, |(_, span)| *span);
        wanted(key, &var.ty, span, true)
    });
    let mut all: IndexMap<Arc<str>, WantedParameter> = needed.collect();
    for (key, (ty, span)) in &declared {
        if !all.contains_key(key) {
            all.extend([wanted(key, ty, *span, false)]);
        }
    }
    all
}

/// The parameters' values in a checkpoint.
fn values(program: &Program, checkpoint: &Checkpoint) -> Result<IndexMap<Arc<str>, Value>, Error> {
    let selected = checkpoint.select(program, Policy::Available);
    let selected = selected.map_err(|d| Error::new(d, Arc::clone(program.sources())))?;
    let precise = |(key, value): (Arc<str>, Value)| (key, value.to_precision(program.precision()));
    Ok(selected.into_iter().map(precise).collect())
}
