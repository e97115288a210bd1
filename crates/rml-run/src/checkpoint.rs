//! Checkpoints: safetensors files with the states of a program under their instance paths. One JSON text in the file's
//! metadata has the facts that a training run needs to continue.

mod dump;
mod mismatch;
mod position;
pub(crate) mod prepared;
mod roots;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, memory};
use rml_data::Preparation;
use rml_driver::{Options, Program, Source};
use rml_files::contents;
use rml_ir::{DType, Data, Precision, Shape, Type, Value};
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use mismatch::Mismatch;
pub use position::{Best, TrainingPosition};
pub(crate) use position::{Done, Origin, Reached, Setup};
use roots::Root;
pub use roots::params_file;

/// The version of the metadata.
const FORMAT: u32 = 1;

/// The entry of the file's metadata that `rml` writes.
const ENTRY: &str = "rml";

#[derive(Serialize, Deserialize)]
struct Metadata {
    format: u32,
    position: Option<TrainingPosition>,
    /// How data is prepared, if there is no position that records it.
    #[serde(default, skip_serializing_if = "Preparation::is_empty")]
    preparation: Preparation,
}

/// The states of a program, and the position of its training.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::{Checkpoint, Session};
///
/// let mut session = Session::new(&program);
/// session.step([("x", 2.0_f32.into())])?;
/// let checkpoint = Checkpoint::of_states(session.states()?);
/// assert_eq!(checkpoint.states.len(), 1);
/// assert!(checkpoint.position.is_none());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The origin of the states, for messages.
    origin: String,
    /// The states by key, sorted.
    pub states: IndexMap<Arc<str>, Value>,
    /// The position of the training; `None` for states that were not saved by a training.
    pub position: Option<TrainingPosition>,
    /// The separate states of all shards except the first one, by shard and key.
    shards: BTreeMap<usize, IndexMap<Arc<str>, Value>>,
    /// How data is prepared, if there is no position that records it.
    preparation: Preparation,
    /// The prefix that was requested with the name of the file.
    root: Option<Root>,
    /// The names in the file of the states that have other names here.
    moved: IndexMap<Arc<str>, Arc<str>>,
}

/// The prefix of the names of states of shards except the first one. No instance path has a number between points, so
/// these names are unambiguous.
const SHARDS: &str = "shards.";

/// The name of a state of a shard in a file.
pub(crate) fn shard_key(shard: usize, key: &str) -> String {
    format!("{SHARDS}{shard}.{key}")
}

/// The shard and the key in the name of a state in a file, if it is the state of a shard.
fn shard_of(name: &str) -> Option<(usize, &str)> {
    let (shard, key) = name.strip_prefix(SHARDS)?.split_once('.')?;
    Some((shard.parse().ok()?, key))
}

/// The source of the parameters of a program, and of other states that it starts with.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x * x;";
/// # let source = rml::Source::text("f.rml", text);
/// # let options = rml::Options::default();
/// # let inputs = rml::Columns::parse(b"x\n1\n3\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::{Checkpoint, GradOptions, Parameters, Value};
///
/// let k = rml::tensor(&[], vec![3.0_f32])?;
/// let held = Checkpoint::of_states([("k".into(), k)].into_iter().collect());
/// let grad = GradOptions { params: Some(Parameters::from(held)), ..GradOptions::default() };
/// let found = rml::grad(&source, &options, &inputs, &grad)?;
/// assert_eq!(found.loss.as_num(), Some(30.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub enum Parameters {
    /// A checkpoint file.
    File(PathBuf),
    /// States in memory.
    Held(Arc<Checkpoint>),
}

impl Parameters {
    /// The checkpoint.
    ///
    /// # Errors
    /// As [`Checkpoint::read`].
    pub fn checkpoint(&self) -> Result<Checkpoint, Error> {
        match self {
            Self::File(path) => Checkpoint::read(path),
            Self::Held(checkpoint) => Ok(Checkpoint::clone(checkpoint)),
        }
    }
}

impl From<PathBuf> for Parameters {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<Checkpoint> for Parameters {
    fn from(checkpoint: Checkpoint) -> Self {
        Self::Held(Arc::new(checkpoint))
    }
}

/// States of a program by path.
pub(crate) type States = Vec<(Arc<str>, Value)>;

/// Which states of a program a checkpoint must contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// All states that have a value, and no others.
    Exact,
    /// The parameters. Other states are loaded if the checkpoint has them, and must then fit.
    Inference,
    /// The parameters. Other states are loaded if the checkpoint has them and they fit.
    Available,
}

impl Checkpoint {
    /// States by path, without a training run.
    pub fn of_states(states: IndexMap<Arc<str>, Value>) -> Self {
        let (origin, shards, moved) = (String::new(), BTreeMap::new(), IndexMap::new());
        let preparation = Preparation::default();
        Self { origin, states, position: None, shards, preparation, root: None, moved }
    }

    /// The same states, learned from data that was prepared in this way.
    #[must_use]
    pub fn prepared(self, preparation: Preparation) -> Self {
        Self { preparation, ..self }
    }

    /// States during a training run.
    pub(crate) fn at(states: IndexMap<Arc<str>, Value>, position: TrainingPosition) -> Self {
        Self { position: Some(position), ..Self::of_states(states) }
    }

    /// How the data of its training was prepared.
    pub fn preparation(&self) -> Preparation {
        self.position.as_ref().map_or(&self.preparation, |position| &position.preparation).clone()
    }

    /// The given options, completed by those of the training: static parameters and double precision.
    #[must_use]
    pub fn settings(&self, mut options: Options) -> Options {
        let Some(position) = &self.position else { return options };
        for (name, value) in position.set.iter().flatten() {
            options.defaults.entry(name.clone()).or_insert_with(|| value.clone());
        }
        if position.setup.double {
            options.precision = Precision::F64;
        }
        options
    }

    /// Compiles a program to run with these states, by its [`settings`](Self::settings). Static parameters with other
    /// values than in the training cause warnings.
    ///
    /// # Errors
    /// As [`compile`](rml_driver::compile).
    pub fn compile(&self, source: &Source, options: &Options) -> Result<Program, Error> {
        let options = self.settings(options.clone());
        let program = rml_driver::compile(source, &options)?;
        Ok(program.with_warnings(changed(self.position.as_ref(), &options.set)))
    }

    /// The separate states of a shard except the first one, if the checkpoint has them.
    pub(crate) fn shard(&self, shard: usize) -> Option<&IndexMap<Arc<str>, Value>> {
        self.shards.get(&shard)
    }

    /// The separate states of all shards.
    pub(crate) fn into_shards(self) -> BTreeMap<usize, IndexMap<Arc<str>, Value>> {
        self.shards
    }

    /// The name of the file that was read.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The name of the file, in a sentence.
    fn shown_origin(&self) -> &str {
        if self.origin.is_empty() { "the checkpoint" } else { &self.origin }
    }

    /// Reads a file. A path may end with a prefix of its states, `FILE:classify_0`: a program that has these states
    /// without the prefix then finds them, and so does a program that has them with the prefix, if the file has them
    /// without. `FILE:net_0=model_0` replaces one prefix of the file by another.
    ///
    /// # Errors
    /// A file that cannot be read or is not a checkpoint. In a file without the metadata of `rml`, all tensors are
    /// states.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Error> {
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # let file = folder.path().join("train.safetensors");
    /// use rml::{Checkpoint, Session};
    ///
    /// let text = "node f(x) -> (o)  k = param(2.0);  o = k * x;  node main(x: num []) -> (o)  o = f(x);";
    /// let source = rml::Source::text("f.rml", text);
    /// let k = rml::tensor(&[], vec![3.0_f32])?;
    /// Checkpoint::of_states([("f_0.k".into(), k)].into_iter().collect()).write(&file)?;
    ///
    /// let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x;";
    /// let program = rml::compile(&rml::Source::text("f.rml", text), &rml::Options::default())?;
    /// let mut session = Session::new(&program);
    /// assert!(session.load(&file).is_err());
    /// session.load(format!("{}:f_0", file.display()))?;
    /// # Ok(()) }
    /// ```
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (path, root) = roots::split(path);
        let file = contents::data(&path)?;
        let read = Self::parse(&file.bytes, &path.display().to_string())?;
        Ok(Self { root, ..read })
    }

    /// Reads the bytes of a file.
    pub(crate) fn parse(bytes: &[u8], origin: &str) -> Result<Self, Diagnostic> {
        let bad = |why: String| {
            let what = format!("{origin} is not a checkpoint, or is damaged");
            let d = Diagnostic::error(codes::MALFORMED_CHECKPOINT, what);
            rml_weights::foreign(d.clone(), bytes).unwrap_or_else(|| {
                d.note(why).help("a checkpoint is a file that `rml train` wrote (`--save`), or another file of the format safetensors")
            })
        };
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| bad(e.to_string()))?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| bad(e.to_string()))?;
        let ours = metadata.metadata().as_ref().and_then(|m| m.get(ENTRY));
        let (position, preparation) = match ours {
            None => (None, Preparation::default()),
            Some(text) => {
                let ours: Metadata =
                    serde_json::from_str(text).map_err(|e| bad(format!("its metadata is malformed: {e}")))?;
                if ours.format != FORMAT {
                    return Err(bad(format!("its format is version {}, expected {FORMAT}", ours.format)));
                }
                if ours.position.as_ref().is_some_and(|p| !p.is_possible()) {
                    return Err(bad("its position in the training is impossible".into()));
                }
                (ours.position, ours.preparation)
            }
        };
        let mut states: Vec<(Arc<str>, Value)> = Vec::new();
        let mut shards: BTreeMap<usize, IndexMap<Arc<str>, Value>> = BTreeMap::new();
        for (name, view) in file.iter() {
            let what = format!("tensor `{name}` of {origin}");
            memory::ask(view.data().len() as u64).map_err(|short| short.diagnostic(what))?;
            let value = value(&view).ok_or_else(|| {
                bad(format!(
                    "tensor `{name}` has elements of type {:?} and shape {:?}",
                    view.dtype(),
                    view.shape()
                ))
            })?;
            match shard_of(name) {
                Some((shard, key)) => _ = shards.entry(shard).or_default().insert(key.into(), value),
                None => states.push((name.into(), value)),
            }
        }
        // The file gives them in no order.
        states.sort_by(|a, b| a.0.cmp(&b.0));
        shards.values_mut().for_each(IndexMap::sort_keys);
        let (origin, states) = (origin.to_owned(), states.into_iter().collect());
        let (root, moved) = (None, IndexMap::new());
        Ok(Self { origin, states, position, shards, preparation, root, moved })
    }

    /// The bytes of a file. They depend on the states and the position only.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, SafeTensorError> {
        let preparation =
            if self.position.is_some() { Preparation::default() } else { self.preparation.clone() };
        let ours = Metadata { format: FORMAT, position: self.position.clone(), preparation };
        let text = serde_json::to_string(&ours).map_err(SafeTensorError::JsonError)?;
        let tensors: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = self
            .states
            .iter()
            .map(|(key, value)| {
                let (dtype, bytes) = elements(&value.to_data());
                (&**key, dtype, value.shape().dims().to_vec(), bytes)
            })
            .collect();
        let views: Result<Vec<_>, SafeTensorError> = tensors
            .iter()
            .map(|(key, dtype, shape, bytes)| Ok((*key, TensorView::new(*dtype, shape.clone(), bytes)?)))
            .collect();
        let metadata = std::iter::once((ENTRY.to_owned(), text)).collect();
        safetensors::serialize(views?, Some(metadata))
    }

    /// Writes a file, in one step.
    ///
    /// # Errors
    /// A file that cannot be written; an existing file is then unchanged.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let bytes = self.bytes().map_err(|e| {
            Diagnostic::error(codes::UNWRITABLE_FILE, "the states cannot be written").note(e.to_string())
        })?;
        rml_files::write_output(path, &bytes)
    }

    /// The states of this checkpoint that a program uses.
    ///
    /// # Errors
    /// One diagnostic with all names that are missing, unexpected or of another type.
    pub(crate) fn select(&self, program: &Program, policy: Policy) -> Result<States, Diagnostic> {
        let checkpoint = self.of_program(program)?;
        let (selected, mismatch) = checkpoint.compared(program, policy);
        if mismatch.is_empty() {
            return Ok(selected);
        }
        let help = self.other_roots(program, policy);
        Err(mismatch.diagnostic(&checkpoint, program, policy, help))
    }

    /// The parameters of a program, without other states.
    ///
    /// # Errors
    /// One diagnostic with all parameters that are missing or of another type.
    pub(crate) fn parameters(&self, program: &Program) -> Result<Self, Diagnostic> {
        let selected = self.select(program, Policy::Available)?.into_iter();
        Ok(Self::of_states(selected.filter(|(key, _)| program.flat().states[key].parameter).collect()))
    }

    /// The states that a program uses, and how the other ones differ.
    fn compared<'a>(&'a self, program: &'a Program, policy: Policy) -> (States, Mismatch<'a>) {
        let flat = program.flat();
        let (mut selected, mut mismatch) = (Vec::new(), Mismatch::default());
        for (key, state) in &flat.states {
            let ty = &flat.vars[flat.equations[state.equation].lhs].ty;
            match self.states.get(key) {
                Some(value) if fits(value, ty, program) => selected.push((Arc::clone(key), value.clone())),
                Some(_) if policy == Policy::Available && !state.parameter => {}
                Some(value) => mismatch.other.push((key, ty, value, state.parameter)),
                None if state.parameter => mismatch.missing.push((key, ty)),
                None => {}
            }
        }
        if policy == Policy::Exact {
            mismatch.unexpected.extend(self.states.iter().filter(|(key, _)| !flat.states.contains_key(*key)));
        }
        (selected, mismatch)
    }

    /// The states of a program, other than parameters, that the checkpoint has.
    pub(crate) fn continued(&self, program: &Program) -> Vec<String> {
        let states = program.flat().states.iter().filter(|(_, state)| !state.parameter);
        states.map(|(key, _)| key.to_string()).filter(|key| self.states.contains_key(&**key)).collect()
    }

    /// The states of a program, other than parameters, that the checkpoint lacks: either they had no value yet when it
    /// was written, or it belongs to another program.
    pub(crate) fn lacks(&self, program: &Program) -> Vec<String> {
        let lacking = |(key, _): &(&Arc<str>, _)| !self.states.contains_key(*key);
        program.flat().states.iter().filter(lacking).map(|(key, _)| format!("`{key}`")).collect()
    }
}

/// A warning about static parameters whose current values differ from those in the training of a checkpoint.
pub(crate) fn changed(position: Option<&TrainingPosition>, now: &Settings) -> Option<Diagnostic> {
    let before = position?.set.as_ref()?;
    let mut changed =
        now.iter().filter(|(name, now)| before.get(*name).is_some_and(|b| b != *now)).peekable();
    changed.peek()?;
    let what = "a static parameter has another value than in the training of the checkpoint";
    let d = changed.fold(Diagnostic::warning(codes::SETTING_CHANGED, what), |d, (name, now)| {
        d.note(format!("`{name}` was {}, is {now}", before[name]))
    });
    Some(d.help("without the setting, the value of the training is used"))
}

/// Whether a value can become a state of this type without loss.
fn fits(value: &Value, ty: &Type, program: &Program) -> bool {
    let single = matches!(value.to_data(), Data::F32(_));
    value.ty() == *ty && (ty.dtype != DType::Num || single || program.precision() == rml_ir::Precision::F64)
}

fn precision(program: &Program, ty: &Type) -> String {
    if ty.is_num() { format!(" ({})", program.precision()) } else { String::new() }
}

fn shown(value: &Value) -> String {
    match value.to_data() {
        Data::F32(_) => format!("{} (f32)", value.ty()),
        Data::F64(_) => format!("{} (f64)", value.ty()),
        _ => value.ty().to_string(),
    }
}

fn elements(data: &Data) -> (Dtype, Vec<u8>) {
    match data {
        Data::Bool(v) => (Dtype::BOOL, v.iter().map(|b| u8::from(*b)).collect()),
        Data::Int(v) => (Dtype::I64, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Data::F32(v) => (Dtype::F32, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Data::F64(v) => (Dtype::F64, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
    }
}

/// The value of a tensor; its size was compared with its shape when the file was read.
fn value(view: &TensorView<'_>) -> Option<Value> {
    let bytes = view.data();
    let data = match view.dtype() {
        Dtype::BOOL => Data::Bool(bytes.iter().map(|b| *b != 0).collect()),
        Dtype::I64 => Data::Int(bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect()),
        Dtype::F32 => Data::F32(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        Dtype::F64 => Data::F64(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
        _ => return None,
    };
    let shape = Shape::new(view.shape());
    (shape.checked_len() == Some(data.len())).then(|| Value::new(shape, data))
}
