//! Checking a source: what the front end and the analyses find, together.

use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::map::Entry;
use rml_analysis::CALLED;
use rml_base::{Diagnostic, Diagnostics, Sources};
use rml_ir::typed::StaticValue;

use crate::analysis::{Analysis, analyse_each, analyse_one};
use crate::check::check_forms;
use crate::front::Front;
use crate::interface::BATCH;
use crate::options::Options;
use crate::source::Source;

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
    let front = match Front::new(source) {
        Ok(front) => front,
        Err(error) => {
            let (sources, findings) = error.into_parts();
            return CheckReport { sources, findings, analyses: Vec::new() };
        }
    };
    let mut findings = check_forms(&front, options);
    let analyses = match options.node {
        Some(_) if !findings.has_errors() => analyse_one(&front, options).into_iter().collect(),
        _ => analyse_each(&front, options),
    };
    merge(&mut findings, analyses.iter().flat_map(Analysis::findings));
    findings.sort();
    CheckReport { sources: front.sources, findings, analyses }
}

/// Adds findings, each once: one that says the same about the same place as another only adds its calls.
fn merge<'a>(findings: &mut Diagnostics, more: impl Iterator<Item = &'a Diagnostic>) {
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

/// Adds to a finding the calls from which the same one arises again.
fn add_calls(known: &mut Diagnostic, again: &Diagnostic) {
    const SHOWN: usize = 8;
    for label in again.labels.iter().filter(|l| l.message == CALLED) {
        if known.labels.len() < SHOWN && known.labels.iter().all(|l| l.span != label.span) {
            known.labels.push(label.clone());
        }
    }
}
