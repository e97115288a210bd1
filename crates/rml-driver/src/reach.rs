//! Which nodes a node depends on, and which of them changed since the text was last looked at.

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostics, FileId, Sources, Span};
use rml_elab::{Index, Meaning, NodePlace};

/// The versions of the nodes of a program's own texts: a node keeps its version as long as its text and what its names
/// mean stay.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The names of all texts.
    files: Vec<String>,
    /// By text, name, and which of the nodes of that name it is.
    known: IndexMap<(FileId, String, usize), Seen>,
    last: u64,
}

/// A node as it was.
#[derive(Debug)]
struct Seen {
    text: String,
    calls: Vec<Called>,
    version: u64,
}

/// What a name in a node means that is not the node's own: a node with its order of differentiation, or a function of
/// the language.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Called {
    Node(FileId, String, u8),
    Function(&'static str),
}

/// What the nodes of a version of a text depend on.
pub(crate) struct Reach {
    /// By their places in the index; those of the library are not looked at, as they never change.
    nodes: Vec<Option<Own>>,
    /// Nodes that may be adjoints of others, which are found by their names alone.
    adjoints: Vec<usize>,
}

struct Own {
    version: u64,
    span: Span,
    calls: Vec<usize>,
    /// Whether nothing in it is in error.
    right: bool,
}

/// What something found about a node depends on.
#[derive(Debug)]
pub(crate) struct Grounds {
    /// The versions of the node and everything that it reaches.
    pub(crate) versions: Vec<u64>,
    /// Where these nodes stand.
    pub(crate) places: Vec<Span>,
}

impl Versions {
    /// Takes over a version of the program's texts, about which the front end found that.
    pub(crate) fn update(&mut self, sources: &Sources, index: &Index, findings: &Diagnostics) -> Reach {
        let files: Vec<String> = sources.ids().map(|id| sources.name(id).to_owned()).collect();
        if files != self.files {
            self.known.clear();
            self.files = files;
        }
        let places = Places::new(&index.nodes);
        let mut called = called(index, &places);
        let mut right = vec![true; index.nodes.len()];
        let errors = findings.iter().filter(|d| d.is_error());
        for node in errors.flat_map(|d| &d.labels).filter_map(|label| places.at(label.span)) {
            right[node] = false;
        }
        let mut before = std::mem::take(&mut self.known);
        let own = index.nodes.iter().enumerate().map(|(i, node)| {
            if node.library {
                return None;
            }
            let (calls, means) = std::mem::take(&mut called[i]);
            let version = self.version(&mut before, sources, node, means);
            Some(Own { version, span: node.span, calls, right: right[i] })
        });
        let nodes = own.collect();
        let is_adjoint = |n: &&NodePlace| !n.library && n.name.starts_with("diff_");
        let adjoints =
            index.nodes.iter().enumerate().filter(|(_, n)| is_adjoint(n)).map(|(i, _)| i).collect();
        Reach { nodes, adjoints }
    }

    fn version(
        &mut self,
        before: &mut IndexMap<(FileId, String, usize), Seen>,
        sources: &Sources,
        node: &NodePlace,
        calls: Vec<Called>,
    ) -> u64 {
        let text = sources.snippet(node.span);
        let key = |nth| (node.span.file, node.name.clone(), nth);
        let nth = (0..).find(|nth| !self.known.contains_key(&key(*nth))).unwrap_or_default();
        let seen = match before.swap_remove(&key(nth)) {
            Some(seen) if seen.text == text && seen.calls == calls => seen,
            _ => {
                self.last += 1;
                Seen { text: text.to_owned(), calls, version: self.last }
            }
        };
        let version = seen.version;
        self.known.insert(key(nth), seen);
        version
    }
}

/// Which nodes each node calls, by their places in the index, and what all its names of nodes and functions mean.
fn called(index: &Index, places: &Places) -> Vec<(Vec<usize>, Vec<Called>)> {
    let by_name: IndexMap<Span, usize> =
        index.nodes.iter().enumerate().map(|(i, node)| (node.name_span, i)).collect();
    let mut all = vec![(Vec::new(), Vec::new()); index.nodes.len()];
    for name in &index.names {
        let Some((calls, means)) = places.at(name.word).and_then(|node| all.get_mut(node)) else { continue };
        match name.meaning {
            Meaning::Node(definition, order) => {
                let Some(&target) = by_name.get(&definition) else { continue };
                calls.push(target);
                means.push(Called::Node(definition.file, index.nodes[target].name.clone(), order));
            }
            Meaning::Function(function) => means.push(Called::Function(function)),
            Meaning::Variable(_) | Meaning::Module(_) => {}
        }
    }
    all
}

impl Reach {
    /// What anything found about a node depends on; `None` if something there is in error: then it has to be looked at
    /// again.
    pub(crate) fn of(&self, node: usize) -> Option<Grounds> {
        let mut grounds = Grounds { versions: Vec::new(), places: Vec::new() };
        let mut reached: IndexSet<usize> = IndexSet::new();
        let mut todo: Vec<usize> = self.adjoints.iter().copied().chain([node]).collect();
        while let Some(i) = todo.pop() {
            let Some(own) = self.nodes.get(i).and_then(Option::as_ref) else { continue };
            if !reached.insert(i) {
                continue;
            }
            if !own.right {
                return None;
            }
            grounds.versions.push(own.version);
            grounds.places.push(own.span);
            todo.extend(&own.calls);
        }
        Some(grounds)
    }
}

/// The nodes of all texts, by where they stand.
pub(crate) struct Places {
    sorted: Vec<(Span, usize)>,
}

impl Places {
    pub(crate) fn new(nodes: &[NodePlace]) -> Self {
        let mut sorted: Vec<_> = nodes.iter().enumerate().map(|(i, node)| (node.span, i)).collect();
        sorted.sort_by_key(|(span, _)| (span.file, span.start));
        Self { sorted }
    }

    /// The node in which a place begins.
    pub(crate) fn at(&self, place: Span) -> Option<usize> {
        let behind = self.sorted.partition_point(|(s, _)| (s.file, s.start) <= (place.file, place.start));
        let (span, node) = self.sorted.get(behind.checked_sub(1)?)?;
        (span.file == place.file && place.start <= span.end).then_some(*node)
    }
}
