//! From source text to a program that can run: the column of passes, each stage of which can be looked at.
//!
//! text → syntax tree → typed → normal → differentiated → inlined (flat) → settled → folded → cone of the outputs → drawn.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::autodiff::INITIAL_VALUE;
use rml_base::{Diagnostic, Diagnostics, Error, FileId, Sources};
use rml_elab::{NodeSignature, Root};
use rml_files::contents;
use rml_ir::flat::{self, Flat};
use rml_ir::pass::{self, Keep, Step};
use rml_ir::typed::{self, StaticValue};
use rml_ir::{InputInfo, OutputInfo, Precision, normal};

use crate::library::PRELUDE;
pub(crate) use check::check_forms;
pub(crate) use front::Front;
pub(crate) use gradient::{Differentiable, differentiable};
pub(crate) use interface::{BATCH, Interfaces};
pub(crate) use reduce::keep_inputs;

mod check;
mod front;
mod gradient;
mod interface;
mod load;
mod probe;
mod reduce;

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

    /// The files that it is read from: its own, and those that are imported, as far as they are there. A text has none.
    pub fn files(&self) -> Vec<PathBuf> {
        let Self::File(path) = self else { return Vec::new() };
        let mut files = vec![path.clone()];
        if let Ok(front) = Front::new(self) {
            let names = front.sources.ids().filter(|id| *id != front.main).map(|id| front.sources.name(id));
            files.extend(names.map(PathBuf::from).filter(|p| p.is_file()));
        }
        files
    }

    /// A text that is read to its end, from standard input for example.
    ///
    /// # Errors
    /// What cannot be read, is no text, or is larger than a program may be.
    pub fn from_reader(name: impl Into<String>, from: impl std::io::Read) -> Result<Self, Error> {
        let name = name.into();
        let text = contents::text_from(from).map_err(|why| why.diagnostic(&name))?;
        Ok(Self::Text { name, text })
    }

    /// The name shown in diagnostics.
    pub fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Text { name, .. } => name.clone(),
        }
    }

    /// The text, without what it imports.
    ///
    /// # Errors
    /// A file that cannot be read, is no text, or is larger than a program may be.
    pub fn read(&self) -> Result<String, Error> {
        match self {
            Source::File(path) => Ok(contents::text(path).map_err(|why| why.diagnostic(&self.name()))?),
            Source::Text { text, .. } => Ok(text.clone()),
        }
    }
}

/// What to make of a source.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// The node to run; `None` = the only one that no other node calls.
    pub node: Option<String>,
    /// Values of the run node's static parameters and named dimensions.
    pub set: IndexMap<String, StaticValue>,
    /// The same, for names that the node may lack; `set` wins.
    pub defaults: IndexMap<String, StaticValue>,
    /// The value of the run node's dimension `batch`.
    pub batch: Option<usize>,
    /// How `num` is computed.
    pub precision: Precision,
    /// The seed of all random initialisers.
    pub seed: u64,
    /// Keeps every named variable, so that all can be traced: no folding, no restriction to what the outputs need.
    pub all_vars: bool,
    /// Inner variables, by instance path (`lstm_0.h`), that become outputs behind those of the node.
    pub probes: Vec<String>,
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
    /// The flat form with the branches taken that constant conditions choose.
    Settle,
    /// The same with constants folded.
    Fold,
    /// The same restricted to what the outputs and trained parameters need: what the static analyses judge.
    Cone,
    /// The same with random constants drawn: what runs.
    Draw,
    /// The same, with the clocks and facts that a scheduler can use.
    Analyse,
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
    fn new(flat: Flat, front: &Front, warnings: Diagnostics) -> Self {
        let interfaces = Interfaces::of(&front.sources, front.main);
        let interface = interfaces.get(&flat.name);
        let name = |v: flat::Var| flat.vars[v].name.clone().unwrap_or_else(|| v.to_string().into());
        let inputs = flat.inputs.iter().map(|input| {
            let name_of = name(input.var);
            InputInfo {
                batched: interface.is_some_and(|i| i.is_batched(&name_of)),
                name: name_of,
                ty: flat.vars[input.var].ty.clone(),
                clock: input.clock.map(|(c, flag)| (name(c), flag)),
            }
        });
        let outputs =
            flat.outputs.iter().map(|v| OutputInfo { name: name(*v), ty: flat.vars[*v].ty.clone() });
        Self {
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            sources: Arc::clone(&front.sources),
            warnings,
            flat: Arc::new(flat),
        }
    }

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

/// From the normal form to the flat form with all calls inlined.
fn back(module: normal::Module, options: &Options) -> Result<Flat, Diagnostics> {
    let mut flat = pass::inline(&rml_autodiff::differentiate(module)?)?;
    probe::probe(&mut flat, &options.probes)?;
    Ok(flat)
}

/// From the inlined form to what runs.
fn runnable(inlined: Flat, options: &Options) -> Result<Flat, Diagnostic> {
    pass::draw(pass::lower(inlined, keep(options)), options.seed)
}

/// Which variables the options ask for.
fn keep(options: &Options) -> Keep {
    if options.all_vars { Keep::All } else { Keep::Needed }
}

/// Compiles a program as far as its static analyses need it: inlined, with every variable and every constant as written.
///
/// # Errors
/// As [`compile`].
pub(crate) fn inlined(front: &Front, options: &Options) -> Result<Flat, Error> {
    let flat = front
        .elaborate(options, root(options))
        .and_then(|(module, _)| pass::inline(&rml_autodiff::differentiate(pass::normalize(&module))?));
    front.fail(flat)
}

/// As [`inlined`], whatever is wrong with nodes that the one that runs does not need, and where its inputs may be constants, as they
/// may where it is called; `None` if there is an error in what it needs.
pub(crate) fn inlined_alone(front: &Front, options: &Options) -> Option<Flat> {
    let module = front.elaborate_alone(options, root(options))?;
    let module = rml_autodiff::differentiate(pass::normalize(&module)).ok()?;
    pass::inline_open(&module, &|_| true).ok()
}

/// The node that the options choose to run.
fn root(options: &Options) -> Root {
    options.node.clone().map_or(Root::Default, Root::Run)
}

/// What the text of a source says about its nodes.
pub(crate) fn interfaces(source: &Source) -> Result<Interfaces, Error> {
    let mut sources = Sources::new();
    let main = load::main_text(source, &mut sources)?;
    Ok(Interfaces::of(&sources, main))
}

/// Compiles a program.
///
/// # Errors
/// Whatever the front end finds wrong, all of it; a file that cannot be read.
pub fn compile(source: &Source, options: &Options) -> Result<Program, Error> {
    let _span = tracing::info_span!("compile").entered();
    let front = Front::new(source)?;
    let compiled = front.elaborate(options, root(options)).and_then(|(module, warnings)| {
        let flat = runnable(back(pass::normalize(&module), options)?, options)?;
        Ok((flat, warnings))
    });
    let (flat, warnings) = front.fail(compiled)?;
    Ok(Program::new(flat, &front, warnings))
}

/// The text of a stage.
///
/// # Errors
/// As [`compile`].
pub fn dump(source: &Source, options: &Options, stage: Stage) -> Result<String, Error> {
    let front = Front::new(source)?;
    if stage == Stage::Parse {
        let bump = bumpalo::Bump::new();
        let mut names = lasso::Rodeo::new();
        let parsed = rml_syntax::parse(&bump, &mut names, front.main, front.sources.text(front.main));
        if !parsed.diagnostics.is_empty() {
            return front.fail(Err(Diagnostics(parsed.diagnostics)));
        }
        return Ok(rml_syntax::dump(&parsed.file, &names));
    }
    let elaborated = front.elaborate(options, root(options));
    front.fail(elaborated.and_then(|(module, _)| dump_module(&module, options, stage)))
}

fn dump_module(module: &typed::Module, options: &Options, stage: Stage) -> Result<String, Diagnostics> {
    if stage == Stage::Elab {
        return Ok(typed::print(module));
    }
    let module = pass::normalize(module);
    Ok(match stage {
        Stage::Parse | Stage::Elab | Stage::Normalize => normal::print(&module),
        Stage::Diff => normal::print(&rml_autodiff::differentiate(module)?),
        Stage::Inline => flat_text(&back(module, options)?)?,
        Stage::Settle => after(module, options, Step::Settle)?,
        Stage::Fold => after(module, options, Step::Fold)?,
        Stage::Cone => after(module, options, Step::Cone)?,
        Stage::Draw => flat_text(&runnable(back(module, options)?, options)?)?,
        Stage::Analyse => {
            let flat = runnable(back(module, options)?, options)?;
            ask_for_text(&flat)?;
            let clocks = rml_analysis::clocks(&flat);
            if let rml_analysis::Verdict::Rejected(found) = clocks.verdict {
                return Err(found);
            }
            let causality = rml_analysis::causality(&flat, &clocks.clocks);
            let facts = rml_analysis::facts(&flat, &clocks.clocks, &causality);
            rml_analysis::print_facts(&flat, &clocks.clocks, &facts)
        }
    })
}

/// The text after the last step of lowering that is taken, up to `last`.
fn after(module: normal::Module, options: &Options, last: Step) -> Result<String, Diagnostics> {
    let inlined = back(module, options)?;
    let mut shown = None;
    pass::lower_with(inlined.clone(), keep(options), &mut |step, flat| {
        if step <= last {
            shown = Some(flat.clone());
        }
    });
    Ok(flat_text(shown.as_ref().unwrap_or(&inlined))?)
}

/// The text of a flat program.
fn flat_text(flat: &Flat) -> Result<String, Diagnostic> {
    ask_for_text(flat)?;
    Ok(flat::print(flat))
}

/// Asks for the memory of the printed form, in which each element of a constant stands by itself.
fn ask_for_text(flat: &Flat) -> Result<(), Diagnostic> {
    /// Digits, sign, exponent, comma; a text is copied where it grows.
    const ELEMENT: u64 = 3 * 24;
    let values = flat.consts.iter().filter_map(|c| c.value());
    let elements = values.fold(0_u64, |n, v| n.saturating_add(v.shape().len() as u64));
    rml_base::memory::ask(elements.saturating_mul(ELEMENT))
        .map_err(|short| short.diagnostic(format!("the text of {elements} elements of constants")))
}

/// The adjoint of node `node`, and all nodes that it needs, in surface syntax, callees first: a program again. Nodes of the
/// prelude (the default `diff_param`) are in scope anyway and left out.
///
/// A node whose shapes its own interface leaves open is taken as another node of the program calls it. The text keeps static
/// parameters by name.
///
/// # Errors
/// As [`compile`]; a node that cannot be differentiated.
pub fn differentiate(source: &Source, options: &Options, node: &str) -> Result<String, Error> {
    let front = Front::new(source)?;
    let alone = adjoint_text(&front, options, Root::Diff(node.to_owned()));
    if alone.is_ok() || !options.set.is_empty() {
        return alone;
    }
    let nodes = front.signatures();
    let Some(signature) = nodes.iter().find(|n| n.name == node) else { return alone };
    let within = nodes.iter().filter(|n| n.name != node).find_map(|caller| {
        let root = Root::DiffWithin { root: caller.name.clone(), node: node.to_owned() };
        adjoint_text(&front, options, root).ok()
    });
    let placed = || {
        let options = with_placeholders(signature, options);
        adjoint_text(&front, &options, Root::Diff(node.to_owned())).ok()
    };
    within.or_else(placed).map_or(alone, Ok)
}

/// Reads the text of a source into `sources`.
pub(crate) fn text_of(source: &Source, sources: &mut Sources) -> Result<FileId, Error> {
    load::main_text(source, sources)
}

/// The interfaces of the nodes of a source, as far as they resolve.
pub(crate) fn signatures(source: &Source) -> Result<Vec<NodeSignature>, Error> {
    Ok(Front::new(source)?.signatures())
}

/// The text of the adjoint of the root, or of the first instance of the node that is differentiated within it.
fn adjoint_text(front: &Front, options: &Options, root: Root) -> Result<String, Error> {
    let text = front.elaborate(options, root.clone()).and_then(|(module, _)| {
        let module = pass::normalize(&module);
        let primal = match &root {
            Root::DiffWithin { node, .. } => {
                module.nodes.iter_enumerated().find(|(_, n)| *n.name == **node).map(|(id, _)| id)
            }
            _ => Some(module.root),
        };
        check_initial_values(front, &module)?;
        let made = rml_autodiff::differentiate_node(module, primal.ok_or_else(Diagnostics::new)?)?;
        let own = |id: &normal::NodeId| front.sources.text(made.module.nodes[*id].span.file) != PRELUDE;
        let nodes: Vec<normal::NodeId> = made.needed.iter().copied().filter(own).collect();
        let text = rml_ir::surface::print_nodes(&made.module, &nodes, Some(made.adjoint), &made.origins);
        // The layout of `rml fmt`: long equations are broken.
        Ok(rml_syntax::format(&text).unwrap_or(text))
    });
    front.fail(text)
}

/// Refuses a program with a parameter that begins with a stream: an adjoint would pass over it.
fn check_initial_values(front: &Front, module: &normal::Module) -> Result<(), Diagnostics> {
    let (inputs, root) = (check::OpenInputs::new(front), &module.nodes[module.root].name);
    let Ok(differentiated) = rml_autodiff::differentiate(module.clone()) else { return Ok(()) };
    match pass::inline_open(&differentiated, &|input| inputs.contains(root, input)) {
        Err(found) if found.iter().all(|d| d.code == INITIAL_VALUE) => Err(found),
        _ => Ok(()),
    }
}

/// Numbers that differ from each other for the static parameters and named dimensions of a node that have no value.
pub(crate) fn with_placeholders(signature: &NodeSignature, options: &Options) -> Options {
    const PRIMES: [i64; 12] = [5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43];
    let mut options = options.clone();
    let statics =
        signature.formals.iter().filter(|f| f.kind == rml_elab::FormalKind::Static).map(|f| &f.name);
    for (name, prime) in statics.chain(&signature.dimensions).zip(PRIMES.into_iter().cycle()) {
        options.defaults.entry(name.clone()).or_insert(StaticValue::Int(prime));
    }
    options
}
