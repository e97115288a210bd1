//! Results about the nodes of a text that are reused for its next version.

use indexmap::IndexMap;
use rml_base::{Diagnostic, Diagnostics, Span};

use crate::reach::Grounds;

/// Findings about each node, with a value that belongs to them.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    /// The results of the last version.
    last: IndexMap<String, Entry<T>>,
    /// The results of this version.
    new: IndexMap<String, Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    grounds: Grounds,
    given: String,
    findings: Diagnostics,
    value: T,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { last: IndexMap::new(), new: IndexMap::new() }
    }
}

impl<T: Clone> Kept<T> {
    /// The result of `find` for a node. The result for the last version is reused if it depends on the same facts, with
    /// findings moved to the current places of the nodes. Without grounds, nothing is reused or kept.
    pub(crate) fn find(
        &mut self,
        node: &str,
        given: String,
        grounds: Option<Grounds>,
        find: impl FnOnce() -> (Diagnostics, T),
    ) -> (Diagnostics, T) {
        let Some(grounds) = grounds else { return find() };
        let same = |e: &Entry<T>| e.given == given && e.grounds.versions == grounds.versions;
        if let Some(entry) = self.last.swap_remove(node).filter(same)
            && let Some(findings) = moved(&entry.findings, &entry.grounds.places, &grounds.places)
        {
            let value = entry.value.clone();
            self.new.insert(node.to_owned(), entry);
            return (findings, value);
        }
        let (findings, value) = find();
        let kept = Entry { grounds, given, findings: findings.clone(), value: value.clone() };
        self.new.insert(node.to_owned(), kept);
        (findings, value)
    }

    /// Ends a version: results that were not requested in it are dropped.
    pub(crate) fn end(&mut self) {
        self.last = std::mem::take(&mut self.new);
    }
}

/// The findings after nodes moved from some places to others; `None` if a finding is about another place in the same
/// texts.
fn moved(findings: &Diagnostics, from: &[Span], to: &[Span]) -> Option<Diagnostics> {
    let span = |at: Span| {
        let holds = |node: &&Span| node.file == at.file && node.start <= at.start && at.end <= node.end;
        match from.iter().position(|node| holds(&node)) {
            Some(i) => Some(Span {
                file: at.file,
                start: at.start - from[i].start + to[i].start,
                end: at.end - from[i].start + to[i].start,
            }),
            None => from.iter().all(|node| node.file != at.file).then_some(at),
        }
    };
    let one = |found: &Diagnostic| {
        let mut found = found.clone();
        for label in &mut found.labels {
            label.span = span(label.span)?;
        }
        for fix in &mut found.fixes {
            fix.span = span(fix.span)?;
        }
        Some(found)
    };
    findings.iter().map(one).collect::<Option<Vec<_>>>().map(Diagnostics)
}
