//! What is known about a program before it runs.

mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_analysis::{ClockReport, Verdict};
use rml_base::{Diagnostic, Diagnostics, Sources};
use rml_elab::NodeSignature;
use rml_ir::flat::Flat;
use rml_ir::typed::StaticValue;

use crate::compile::{Options, Program, Source, check_forms, inlined, signatures, with_placeholders};
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
    let clocks = rml_analysis::clocks(&flat);
    Ok(Analysis { flat: Arc::new(flat), sources: Arc::new(sources), clocks, assumed: Vec::new() })
}

/// Analyses every node that no other node calls, with all that it calls. Where such a node cannot be compiled, what it calls is
/// analysed by itself. A static parameter or named dimension without a value gets one at will.
pub fn analyse_all(source: &Source, options: &Options) -> Vec<Analysis> {
    let Ok(nodes) = signatures(source, options) else { return Vec::new() };
    let mut covered = BTreeSet::new();
    let mut found = Vec::new();
    for node in callers_first(&nodes) {
        if covered.contains(node.name.as_str()) {
            continue;
        }
        let placed = Options { node: Some(node.name.clone()), ..with_placeholders(node, options) };
        if let Ok(mut analysis) = analyse(source, &placed) {
            let is_new = |(name, _): &(&String, _)| !options.defaults.contains_key(*name);
            let given = |name: &String| options.set.contains_key(name);
            let assumed = placed.defaults.iter().filter(is_new).filter(|(name, _)| !given(name));
            analysis.assumed = assumed.map(|(name, value)| (name.clone(), value.clone())).collect();
            found.push(analysis);
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

/// Checks a source. With [`Options::node`] that node and what it calls; else every node. What is right in all else is analysed.
/// Returns the texts and all findings, warnings included, each once.
pub fn check(source: &Source, options: &Options) -> (Arc<Sources>, Diagnostics) {
    let (sources, mut findings) = check_forms(source, options);
    if findings.has_errors() {
        return (sources, findings);
    }
    let analyses = match options.node {
        Some(_) => analyse(source, options).into_iter().collect(),
        None => analyse_all(source, options),
    };
    for found in analyses.iter().flat_map(Analysis::findings) {
        if !findings.iter().any(|known| is_same(known, found)) {
            findings.push(found.clone());
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
