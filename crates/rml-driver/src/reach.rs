//! The nodes on which each node depends, and which of them have changed since the last version of the text.

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostics, FileId, Sources, Span};
use rml_elab::{Index, Meaning, NodePlace};

/// The versions of the nodes of a program's own texts. A node keeps its version as long as neither its text nor the
/// meaning of its names changes.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The names of all texts.
    files: Vec<String>,
    /// By text, name, and number among the nodes of this name.
    known: IndexMap<(FileId, String, usize), Seen>,
    last: u64,
}

/// The last state of a node.
#[derive(Debug)]
struct Seen {
    text: String,
    calls: Vec<Called>,
    version: u64,
}

/// The meaning of a name in a node that the node does not define itself: a node with its order of differentiation, or a
/// function of the language.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Called {
    Node(FileId, String, u8),
    Function(&'static str),
}

/// The dependencies of the nodes in a version of a text.
pub(crate) struct Reach {
    /// The nodes, by their indices in the index of names; library nodes are left out, since they never change.
    nodes: Vec<Option<Own>>,
    /// Nodes that may be adjoints of others, which are found only by their names.
    adjoints: Vec<usize>,
}

struct Own {
    version: u64,
    span: Span,
    calls: Vec<usize>,
    /// Whether it has no errors.
    right: bool,
}

/// The facts on which a finding about a node depends.
#[derive(Debug)]
pub(crate) struct Grounds {
    /// The versions of the node and of everything that it reaches.
    pub(crate) versions: Vec<u64>,
    /// The current places of these nodes.
    pub(crate) places: Vec<Span>,
}

impl Versions {
    /// Updates to a new version of the program's texts, with the findings of the front end.
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

/// The nodes that each node calls, by their indices, and the meanings of all its names of nodes and functions.
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
    /// The facts on which findings about a node depend. `None` if one of the nodes has an error; then it has to be
    /// checked again.
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

/// The nodes of all texts, by their places.
pub(crate) struct Places {
    sorted: Vec<(Span, usize)>,
}

impl Places {
    pub(crate) fn new(nodes: &[NodePlace]) -> Self {
        let mut sorted: Vec<_> = nodes.iter().enumerate().map(|(i, node)| (node.span, i)).collect();
        sorted.sort_by_key(|(span, _)| (span.file, span.start));
        Self { sorted }
    }

    /// The node that contains the start of a place.
    pub(crate) fn at(&self, place: Span) -> Option<usize> {
        let behind = self.sorted.partition_point(|(s, _)| (s.file, s.start) <= (place.file, place.start));
        let (span, node) = self.sorted.get(behind.checked_sub(1)?)?;
        (span.file == place.file && place.start <= span.end).then_some(*node)
    }
}
