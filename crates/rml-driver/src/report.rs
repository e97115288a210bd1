//! Checks a source: combines the findings of the front end and the analyses.

use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::map::Entry;
use rml_analysis::CALLED;
use rml_base::{Diagnostic, Diagnostics, Error, Sources};

use crate::analyse::{Unchecked, analyse_each};
use crate::analysis::Analysis;
use crate::batch::any_batch;
use crate::check::check_forms;
use crate::front::Front;
use crate::options::Options;
use crate::source::Source;

/// The result of checking a source.
///
/// ```
/// # use rml_driver as rml;
/// let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = post x;");
/// let report = rml::check_report(&source, &rml::Options::default());
/// assert!(!report.findings.has_errors());
/// assert_eq!(report.analyses.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// The source texts, for printing diagnostics.
    pub sources: Arc<Sources>,
    /// All findings, warnings included, each once.
    pub findings: Diagnostics,
    /// The requested node, or every node that no other node calls, unless it has errors in the front end.
    pub analyses: Vec<Arc<Analysis>>,
    /// Nodes without known errors that could not be analysed; empty if anything has an error.
    pub unchecked: Vec<Unchecked>,
}

/// Checks a source. If [`Options::node`] is set, checks this node and its callees; otherwise every node. Nodes without
/// errors are analysed regardless of errors in other nodes. Returns the texts and all findings, including warnings,
/// each once.
pub fn check(source: &Source, options: &Options) -> (Arc<Sources>, Diagnostics) {
    let report = check_report(source, options);
    (report.sources, report.findings)
}

/// As [`check`], with the analyses.
pub fn check_report(source: &Source, options: &Options) -> CheckReport {
    match source.front() {
        Ok(front) => report(front, options),
        Err(error) => unread(error),
    }
}

/// A source that cannot be read.
pub(crate) fn unread(error: Error) -> CheckReport {
    let (sources, findings) = error.into_parts();
    CheckReport { sources, findings, analyses: Vec::new(), unchecked: Vec::new() }
}

fn report(front: &Front, options: &Options) -> CheckReport {
    let options = &any_batch(options);
    let (forms, mut findings) = check_forms(front, options);
    let (analyses, unchecked) = match &options.node {
        Some(node) if !findings.has_errors() => {
            (forms.analysis(node, &|_| false).map(Arc::new).into_iter().collect(), Vec::new())
        }
        _ => analyse_each(front, options, !findings.has_errors(), &forms),
    };
    merge(&mut findings, analyses.iter().flat_map(|analysis| analysis.findings()));
    findings.sort();
    CheckReport { sources: Arc::clone(&front.sources), findings, analyses, unchecked }
}

/// Adds findings, each once: a finding that repeats another one at the same place only adds its calls.
pub(crate) fn merge<'a>(findings: &mut Diagnostics, more: impl Iterator<Item = &'a Diagnostic>) {
    let key = |d: &Diagnostic| (d.code, d.span());
    let mut known = IndexMap::new();
    for (i, d) in findings.iter().enumerate() {
        known.entry(key(d)).or_insert(i);
    }
    for found in more {
        match known.entry(key(found)) {
            Entry::Occupied(at) => add_calls(&mut findings.0[*at.get()], found),
            Entry::Vacant(place) => {
                place.insert(findings.0.len());
                findings.push(found.clone());
            }
        }
    }
}

/// Adds to a finding the calls of another occurrence of it.
fn add_calls(known: &mut Diagnostic, again: &Diagnostic) {
    const SHOWN: usize = 8;
    for label in again.labels.iter().filter(|l| l.message == CALLED) {
        if known.labels.len() < SHOWN && known.labels.iter().all(|l| l.span != label.span) {
            known.labels.push(label.clone());
        }
    }
}
