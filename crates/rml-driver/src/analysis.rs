//! What is known about a program before it runs.

mod callers;
mod certain;
mod declared;
mod types;
mod unchecked;
mod undeclared;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Deref;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_analysis::{Analyses, ClockReport, Facts, Kind, Verdict};
use rml_base::{Diagnostic, Sources};
use rml_elab::NodeSignature;
use rml_ir::Value;
use rml_ir::flat::{ConstKind, Drawn, Flat, Var};
use rml_ir::pass::{self, Keep};
use rml_ir::typed::StaticValue;

use crate::check::Forms;
use crate::front::Front;
use crate::interface::BATCH;
use crate::lower::needs_checkpoint;
use crate::options::{Options, root, with_placeholders};
use crate::source::Source;
use crate::unit::Unit;
use rml_base::Error;

pub use unchecked::Unchecked;

/// The facts about one node that is run.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let text = "node ahead(x: num []) -> (o)  o = post x - x;";
/// let source = rml::Source::text("ahead.rml", text);
/// let analysis = rml::analyse(&source, &rml::Options::default())?;
/// assert_eq!(analysis.node(), "ahead");
/// assert_eq!(analysis.findings().count(), 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The program with all calls inlined, every variable kept.
    pub flat: Arc<Flat>,
    /// The source texts, for drawing diagnostics.
    pub sources: Arc<Sources>,
    /// The clocks of its variables, and whether they fit.
    pub clocks: ClockReport,
    /// Static parameters and named dimensions that were given an arbitrary value.
    pub assumed: Vec<(String, StaticValue)>,
    /// What is known about the program as it runs; nothing if its clocks do not fit.
    pub run: Option<RunFacts>,
    /// Why it cannot run for want of memory.
    pub shortage: Option<Diagnostic>,
    /// Inputs that are declared for every cycle, and used in some only: warnings.
    pub undeclared: Vec<Diagnostic>,
}

/// What is known about a program as it runs: folded, and restricted to what the outputs and trained parameters need.
/// Nothing is drawn: of random constants only the types are known.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = x + 1.0;");
/// let analysis = rml::analyse(&source, &rml::Options::default())?;
/// assert!(analysis.run.is_some_and(|run| run.undrawn().is_some()));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// What runs.
    pub flat: Arc<Flat>,
    /// What is known about it.
    pub analyses: Analyses,
    /// Whether it has parameters, learns none of them, and does not give each of them as a number that nothing in its texts trains.
    pub needs_checkpoint: bool,
}

impl Deref for RunFacts {
    type Target = Analyses;

    fn deref(&self) -> &Analyses {
        &self.analyses
    }
}

impl RunFacts {
    fn new(inlined: &Flat, front: &Front) -> Result<Self, Diagnostic> {
        let mut flat = pass::lower(inlined.clone(), Keep::Needed);
        flat.shrink_to_fit();
        pass::ask_for_draws(&flat)?;
        let analyses = Analyses::of(&flat);
        let needs_checkpoint = needs_checkpoint(front, inlined, &flat);
        Ok(Self { flat: Arc::new(flat), analyses, needs_checkpoint })
    }

    /// The clock of a variable as it is declared, ` when end`; nothing for the base clock.
    pub fn clock(&self, v: Var) -> String {
        declared::clock(&self.flat, &self.clocks, v)
    }

    /// The program with zeros for what is drawn, on which no plan depends.
    pub fn undrawn(&self) -> Option<Drawn> {
        let mut flat = Flat::clone(&self.flat);
        for constant in flat.consts.iter_mut() {
            if constant.value().is_none() {
                constant.kind = ConstKind::Value(Value::zeros(&constant.ty, flat.precision));
            }
        }
        // Every constant has a value now.
        Drawn::new(flat).ok()
    }

    /// The tables for a scheduler.
    pub fn facts(&self) -> Facts {
        self.analyses.facts(&self.flat)
    }
}

impl Analysis {
    pub(crate) fn new(mut flat: Flat, front: &Front) -> Self {
        flat.shrink_to_fit();
        let sources = &front.sources;
        let clocks = certain::clocks(&flat);
        let rejected = matches!(clocks.verdict, Verdict::Rejected(_));
        let (mut run, shortage) = match (!rejected).then(|| RunFacts::new(&flat, front)).transpose() {
            Ok(run) => (run, None),
            Err(shortage) => (None, Some(shortage)),
        };
        for finding in run.iter_mut().flat_map(|run: &mut RunFacts| &mut run.analyses.causality.findings.0) {
            callers::show(front, &flat, finding);
        }
        let undeclared = if rejected { Vec::new() } else { undeclared::findings(&flat, &clocks, sources) };
        let (flat, sources) = (Arc::new(flat), Arc::clone(sources));
        Self { flat, sources, clocks, run, shortage, undeclared, assumed: Vec::new() }
    }

    /// The name of the node.
    pub fn node(&self) -> &str {
        &self.flat.name
    }

    /// The clock of a variable as it is declared, ` when end`; nothing for the base clock.
    pub fn clock(&self, v: Var) -> String {
        declared::clock(&self.flat, &self.clocks, v)
    }

    /// How long its outputs have to be waited for.
    pub fn kind(&self) -> Kind {
        let runs = |r: &&RunFacts| !matches!(r.clocks.verdict, Verdict::Rejected(_));
        self.run.as_ref().filter(runs).map_or(Kind::Rejected, |r| r.bounds.program.kind)
    }

    /// What the analyses find wrong, and what they cannot prove.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let clocks = match &self.clocks.verdict {
            Verdict::Synchronous => [].iter(),
            Verdict::Rejected(found) | Verdict::Dynamic(found) => found.iter(),
        };
        let run = self.run.iter().flat_map(|r| match &r.clocks.verdict {
            Verdict::Rejected(found) => found.iter(),
            Verdict::Synchronous | Verdict::Dynamic(_) => r.causality.findings.iter(),
        });
        clocks.chain(&self.undeclared).chain(&self.shortage).chain(run)
    }
}

/// Analyses the node that runs, [`Options::node`], with everything that it calls.
///
/// # Errors
/// Whatever stops the compilation. What the analyses themselves reject is part of the result.
pub fn analyse(source: &Source, options: &Options) -> Result<Analysis, Error> {
    Unit::new(source, options)?.analysis()
}

/// As [`analyse`]; the dimension `batch` gets an arbitrary value where it has none.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_any_batch(source: &Source, options: &Options) -> Result<Analysis, Error> {
    analyse(source, options).or_else(|error| {
        let batch = (BATCH.to_owned(), StaticValue::Int(5));
        let mut placed = options.clone();
        placed.defaults.insert(batch.0.clone(), batch.1.clone());
        let analysis = analyse(source, &placed).map_err(|_| error)?;
        Ok(Analysis { assumed: vec![batch], ..analysis })
    })
}

/// Analyses every node that no other node calls, with everything that it calls, whatever is wrong elsewhere. Where such
/// a node cannot be compiled, what it calls is analysed by itself. A setting counts for the nodes that take it; a
/// static parameter or named dimension without a value is given an arbitrary one.
pub fn analyse_all(source: &Source, options: &Options) -> Vec<Analysis> {
    let Ok(front) = source.front() else { return Vec::new() };
    let (modules, findings) = front.check_all(options);
    let (all, _) = analyse_each(front, options, !findings.has_errors(), &Forms::new(front, options, modules));
    all.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// As [`analyse_all`]; `clean` says that no error is known, `forms` has what [`Front::check_all`] makes. Says of the other nodes why they
/// are not analysed.
pub(crate) fn analyse_each(
    front: &Front,
    options: &Options,
    clean: bool,
    forms: &Forms<'_>,
) -> (Vec<Arc<Analysis>>, Vec<Unchecked>) {
    analyse_each_by(front, options, clean, &mut |node, placed| {
        analyse_alone(front, node, placed, forms).map(Arc::new)
    })
}

/// The analysis of a node with all that it calls, whatever is wrong elsewhere, and where its inputs may be constants, as they may where it
/// is called; `None` if anything there is in error. What `forms` has of the same values is not made again.
pub(crate) fn analyse_alone(
    front: &Front,
    node: &NodeSignature,
    placed: &Placed,
    forms: &Forms<'_>,
) -> Option<Analysis> {
    placed.all().find_map(|Placed { options, assumed }| {
        let analysis = if forms.has(node, &options) {
            forms.analysis(&node.name, &|_| true)?
        } else {
            let module = front.elaborate_alone(&options, root(&options)).ok()?;
            Forms::new(front, &options, [module]).analysis(&node.name, &|_| true)?
        };
        Some(Analysis { assumed, ..analysis })
    })
}

/// What [`analyse_each`] gives, where `analyse` analyses a node.
///
/// Without errors, a node that is not analysed lacks a value or a type; what it calls has its inputs from there, and is
/// not analysed as a program of its own. What serves differentiation is part of the nodes that train.
pub(crate) fn analyse_each_by(
    front: &Front,
    options: &Options,
    clean: bool,
    analyse: &mut dyn FnMut(&NodeSignature, &Placed) -> Option<Arc<Analysis>>,
) -> (Vec<Arc<Analysis>>, Vec<Unchecked>) {
    let nodes = front.signatures();
    let by_name: IndexMap<&str, usize> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), i)).collect();
    let calls: Vec<Vec<usize>> = nodes
        .iter()
        .map(|n| n.calls.iter().filter_map(|c| by_name.get(c.as_str()).copied()).collect())
        .collect();
    let options = Options { set: IndexMap::new(), defaults: options.given(), batch: None, ..options.clone() };
    let mut covered = vec![false; nodes.len()];
    let mut found = Vec::new();
    let mut unchecked = Vec::new();
    for i in callers_first(&calls) {
        let node = &nodes[i];
        if covered[i] {
            continue;
        }
        let placed = Placed::new(node, &options);
        let analysis = if node.overrides || node.is_extern { None } else { analyse(node, &placed) };
        let is_left_out = analysis.is_none() && clean;
        if is_left_out && !node.overrides {
            unchecked.push(Unchecked::new(front, node, &placed));
        }
        if analysis.is_some() || is_left_out || node.overrides {
            cover(&calls, i, &mut covered);
        }
        found.extend(analysis);
    }
    (found, unchecked)
}

/// How a node is analysed of which not all is said.
#[derive(Clone)]
pub(crate) struct Placed {
    /// With a value for each static parameter and named dimension.
    pub(crate) options: Options,
    /// The arbitrary values.
    pub(crate) assumed: Vec<(String, StaticValue)>,
}

impl Placed {
    fn new(node: &NodeSignature, given: &Options) -> Self {
        let options = Options { node: Some(node.name.clone()), ..with_placeholders(node, given) };
        let assumed = options.defaults.iter().filter(|(name, _)| !given.defaults.contains_key(*name));
        let assumed = assumed.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { options, assumed }
    }

    /// As it is; then with other numbers, or a value of another kind, for one of the parameters.
    fn all(&self) -> impl Iterator<Item = Self> {
        let int = StaticValue::Int;
        let list = |sizes: &[i64]| StaticValue::Array(sizes.iter().map(|size| int(*size)).collect());
        let values = [int(1), int(2), int(0), list(&[5, 7]), list(&[5]), StaticValue::Bool(true)];
        let others =
            (0..self.assumed.len()).flat_map(move |i| values.clone().map(|value| self.with(i, value)));
        std::iter::once(self.clone()).chain(others)
    }

    fn with(&self, i: usize, value: StaticValue) -> Self {
        let mut placed = self.clone();
        let (name, assumed) = &mut placed.assumed[i];
        *assumed = value.clone();
        placed.options.defaults.insert(name.clone(), value);
        placed
    }
}

/// The nodes, each with those that it calls, in an order in which each stands after those that call it, else as in the
/// text.
fn callers_first(calls: &[Vec<usize>]) -> Vec<usize> {
    let mut callers = vec![0_usize; calls.len()];
    calls.iter().flatten().for_each(|callee| callers[*callee] += 1);
    let uncalled = (0..calls.len()).filter(|i| callers[*i] == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = uncalled.map(Reverse).collect();
    let mut order = Vec::with_capacity(calls.len());
    // The elaboration cuts calls of a node by itself, so that every node is uncalled in the end.
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &callee in &calls[i] {
            callers[callee] -= 1;
            if callers[callee] == 0 {
                ready.push(Reverse(callee));
            }
        }
    }
    order
}

/// Marks a node and everything that it calls.
fn cover(calls: &[Vec<usize>], node: usize, covered: &mut [bool]) {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut covered[node], true) {
            todo.extend(&calls[node]);
        }
    }
}
