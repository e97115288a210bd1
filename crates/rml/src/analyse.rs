//! What is known about a program before it runs.

mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_analysis::{CALLED, ClockReport, Verdict};
use rml_base::{Diagnostic, Diagnostics, Sources};
use rml_elab::NodeSignature;
use rml_ir::flat::Flat;
use rml_ir::typed::StaticValue;

use crate::compile::{
    Options, Program, Source, check_forms, inlined, inlined_alone, signatures, with_placeholders,
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
}

impl Analysis {
    fn new(flat: Flat, sources: Sources) -> Self {
        let clocks = rml_analysis::clocks(&flat);
        Self { flat: Arc::new(flat), sources: Arc::new(sources), clocks, assumed: Vec::new() }
    }

    /// What the analyses find wrong, and what they cannot prove.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        match &self.clocks.verdict {
            Verdict::Synchronous => [].iter(),
            Verdict::Rejected(found) | Verdict::Dynamic(found) => found.iter(),
        }
    }
}

/// Analyses the node that runs, [`Options::node`], with all that it calls.
///
/// # Errors
/// Whatever stops the compilation. What the analyses themselves reject is part of the result.
pub fn analyse(source: &Source, options: &Options) -> Result<Analysis, Error> {
    let (flat, sources) = inlined(source, options)?;
    Ok(Analysis::new(flat, sources))
}

/// Analyses every node that no other node calls, with all that it calls, whatever is wrong elsewhere. Where such a node cannot be
/// compiled, what it calls is analysed by itself. A setting counts for the nodes that take it; a static parameter or named dimension
/// without a value gets one at will.
pub fn analyse_all(source: &Source, options: &Options) -> Vec<Analysis> {
    let Ok(nodes) = signatures(source, options) else { return Vec::new() };
    let defaults =
        options.defaults.iter().chain(&options.set).map(|(name, value)| (name.clone(), value.clone()));
    let options = Options { set: IndexMap::new(), defaults: defaults.collect(), ..options.clone() };
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
            found.push(Analysis { assumed, ..Analysis::new(flat, sources) });
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

/// Checks a source. With [`Options::node`] that node and what it calls; else every node. What is right in all
/// else is analysed, whatever is wrong elsewhere. Returns the texts and all findings, warnings included, each once.
pub fn check(source: &Source, options: &Options) -> (Arc<Sources>, Diagnostics) {
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
    (sources, findings)
}

/// Refuses a program that some inputs make ill-synchronised.
pub(crate) fn reject_ill_clocked(program: &Program) -> Result<(), Error> {
    match rml_analysis::clocks(program.flat()).verdict {
        Verdict::Rejected(found) => Err(Error::new(found, Arc::clone(program.sources()))),
        Verdict::Synchronous | Verdict::Dynamic(_) => Ok(()),
    }
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
