//! What is known about a program before it runs.

mod certain;
mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_analysis::{Bounds, CALLED, Causality, ClockReport, Facts, Kind, Verdict};
use rml_base::{Diagnostic, Diagnostics, Sources};
use rml_elab::NodeSignature;
use rml_ir::flat::{Flat, Var};
use rml_ir::pass;
use rml_ir::typed::StaticValue;

use crate::compile::{
    BATCH, Options, Program, Source, check_forms, inlined, inlined_alone, signatures, with_placeholders,
};
use crate::error::Error;

/// The facts about one node that is run.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The program with all calls inlined, every variable kept.
    pub flat: Arc<Flat>,
    /// The source texts, for drawing diagnostics.
    pub sources: Arc<Sources>,
    /// The clocks of its variables, and whether they fit.
    pub clocks: ClockReport,
    /// Static parameters and named dimensions that got a value at will.
    pub assumed: Vec<(String, StaticValue)>,
    /// What is known of the program as it runs; nothing if its clocks do not fit.
    pub run: Option<RunFacts>,
}

/// What is known of a program as it runs: folded, and restricted to what the outputs and trained parameters need.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// What runs.
    pub flat: Arc<Flat>,
    /// The clocks of its variables.
    pub clocks: ClockReport,
    /// When its values are known.
    pub causality: Causality,
    /// How long outputs have to be waited for, and memory.
    pub bounds: Bounds,
}

impl RunFacts {
    fn new(flat: Flat, seed: u64) -> Self {
        let flat = pass::cone(pass::fold(pass::initialise(flat, seed)));
        let clocks = rml_analysis::clocks(&flat);
        let causality = rml_analysis::causality(&flat, &clocks.clocks);
        let bounds = rml_analysis::bounds(&flat, &clocks.clocks, &causality);
        Self { flat: Arc::new(flat), clocks, causality, bounds }
    }

    /// The clock of a variable as it is declared, ` when end`; nothing for the base clock.
    pub fn clock(&self, v: Var) -> String {
        types::declared(&self.flat, &self.clocks, v)
    }

    /// The tables for a scheduler.
    pub fn facts(&self) -> Facts {
        rml_analysis::facts(&self.flat, &self.clocks.clocks, &self.causality)
    }
}

impl Analysis {
    fn new(flat: Flat, sources: Sources, seed: u64) -> Self {
        let clocks = certain::clocks(&flat);
        let rejected = matches!(clocks.verdict, Verdict::Rejected(_));
        let run = (!rejected).then(|| RunFacts::new(flat.clone(), seed));
        Self { flat: Arc::new(flat), sources: Arc::new(sources), clocks, run, assumed: Vec::new() }
    }

    /// The name of the node.
    pub fn node(&self) -> &str {
        &self.flat.name
    }

    /// How long its outputs have to be waited for.
    pub fn kind(&self) -> Kind {
        self.run.as_ref().map_or(Kind::Rejected, |r| r.bounds.program.kind)
    }

    /// What the analyses find wrong, and what they cannot prove.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let clocks = match &self.clocks.verdict {
            Verdict::Synchronous => [].iter(),
            Verdict::Rejected(found) | Verdict::Dynamic(found) => found.iter(),
        };
        clocks.chain(self.run.iter().flat_map(|r| r.causality.findings.iter()))
    }
}

/// Analyses the node that runs, [`Options::node`], with all that it calls.
///
/// # Errors
/// Whatever stops the compilation. What the analyses themselves reject is part of the result.
pub fn analyse(source: &Source, options: &Options) -> Result<Analysis, Error> {
    let (flat, sources) = inlined(source, options)?;
    Ok(Analysis::new(flat, sources, options.seed))
}

/// As [`analyse`]; the dimension `batch` gets a value at will where it has none.
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

/// Analyses every node that no other node calls, with all that it calls, whatever is wrong elsewhere. Where such a node cannot be
/// compiled, what it calls is analysed by itself. A setting counts for the nodes that take it; a static parameter or named dimension
/// without a value gets one at will.
pub fn analyse_all(source: &Source, options: &Options) -> Vec<Analysis> {
    let Ok(nodes) = signatures(source, options) else { return Vec::new() };
    let defaults =
        options.defaults.iter().chain(&options.set).map(|(name, value)| (name.clone(), value.clone()));
    let batch =
        options.batch.and_then(|n| i64::try_from(n).ok()).map(|n| (BATCH.to_owned(), StaticValue::Int(n)));
    let defaults = defaults.chain(batch).collect();
    let options = Options { set: IndexMap::new(), defaults, batch: None, ..options.clone() };
    let mut covered = BTreeSet::new();
    let mut found = Vec::new();
    for node in callers_first(&nodes) {
        if covered.contains(node.name.as_str()) {
            continue;
        }
        let placed = Options { node: Some(node.name.clone()), ..with_placeholders(node, &options) };
        if let Some((flat, sources)) = inlined_alone(source, &placed) {
            let assumed = placed.defaults.iter().filter(|(name, _)| !options.defaults.contains_key(*name));
            let assumed = assumed.map(|(name, value)| (name.clone(), value.clone())).collect();
            found.push(Analysis { assumed, ..Analysis::new(flat, sources, options.seed) });
            cover(&nodes, node, &mut covered);
        }
    }
    found
}

/// The nodes in an order in which each stands behind those that call it, else as in the text.
fn callers_first(nodes: &[NodeSignature]) -> Vec<&NodeSignature> {
    let mut rest: Vec<&NodeSignature> = nodes.iter().collect();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let is_called = |n: &NodeSignature| rest.iter().any(|caller| caller.calls.contains(&n.name));
        let at = rest.iter().position(|n| !is_called(n)).unwrap_or(0);
        order.push(rest.remove(at));
    }
    order
}

/// Adds a node and all that it calls.
fn cover<'a>(nodes: &'a [NodeSignature], node: &'a NodeSignature, covered: &mut BTreeSet<&'a str>) {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if covered.insert(&node.name) {
            todo.extend(nodes.iter().filter(|n| node.calls.contains(&n.name)));
        }
    }
}

/// What is to be said of a source.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// The source texts, for drawing diagnostics.
    pub sources: Arc<Sources>,
    /// All findings, warnings included, each once.
    pub findings: Diagnostics,
    /// The node asked for, or every node that no other node calls, as far as they are right in form.
    pub analyses: Vec<Analysis>,
}

/// Checks a source. With [`Options::node`] that node and what it calls; else every node. What is right in all
/// else is analysed, whatever is wrong elsewhere. Returns the texts and all findings, warnings included, each once.
pub fn check(source: &Source, options: &Options) -> (Arc<Sources>, Diagnostics) {
    let report = check_report(source, options);
    (report.sources, report.findings)
}

/// As [`check`], with the analyses.
pub fn check_report(source: &Source, options: &Options) -> CheckReport {
    let mut options = options.clone();
    // Nothing that is found depends on how many windows are stacked.
    options.defaults.entry(BATCH.to_owned()).or_insert(StaticValue::Int(1));
    let options = &options;
    let (sources, mut findings) = check_forms(source, options);
    let analyses = match options.node {
        Some(_) if !findings.has_errors() => analyse(source, options).into_iter().collect(),
        _ => analyse_all(source, options),
    };
    for found in analyses.iter().flat_map(Analysis::findings) {
        match findings.0.iter_mut().find(|known| is_same(known, found)) {
            Some(known) => add_calls(known, found),
            None => findings.push(found.clone()),
        }
    }
    findings.sort();
    CheckReport { sources, findings, analyses }
}

/// Refuses a program that some inputs make ill-synchronised, or of which some value is never known.
pub(crate) fn refuse_rejected(program: &Program) -> Result<(), Error> {
    let refused = |found| Err(Error::new(found, Arc::clone(program.sources())));
    let clocks = certain::clocks(program.flat());
    if let Verdict::Rejected(found) = clocks.verdict {
        return refused(found);
    }
    let causality = rml_analysis::causality(program.flat(), &clocks.clocks);
    let errors: Vec<Diagnostic> = causality.findings.iter().filter(|d| d.is_error()).cloned().collect();
    if errors.is_empty() { Ok(()) } else { refused(Diagnostics(errors)) }
}

/// Whether two findings say the same about the same place.
fn is_same(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.code == b.code && a.span() == b.span()
}

/// Adds to a finding the calls from which the same one arises again.
fn add_calls(known: &mut Diagnostic, again: &Diagnostic) {
    const SHOWN: usize = 8;
    for label in again.labels.iter().filter(|l| l.message == CALLED) {
        if known.labels.len() < SHOWN && known.labels.iter().all(|l| l.span != label.span) {
            known.labels.push(label.clone());
        }
    }
}
