//! Results about the nodes of a text, kept for its next version.

use indexmap::IndexMap;
use rml_base::{Diagnostic, Diagnostics, Span};

use crate::reach::Grounds;

/// By node, findings and a value that go with them.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    /// Of the last version.
    last: IndexMap<String, Entry<T>>,
    /// Of this one.
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
    /// What `find` finds about a node; what was found about its last version if it depends on the same, with findings
    /// at the places where the nodes stand now. Without grounds nothing is kept.
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

    /// Ends a version: what was not asked for is forgotten.
    pub(crate) fn end(&mut self) {
        self.last = std::mem::take(&mut self.new);
    }
}

/// The findings where nodes moved from some places to others; `None` if one is about another place of the same texts.
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
