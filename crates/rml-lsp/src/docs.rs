//! Interfaces and comments of nodes.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rml::doc::{self, ModuleDoc, NodeDoc};
use rml::{FileId, NodePlace, Span, Survey};

/// The modules of the library, the prelude first.
pub(crate) fn library() -> &'static [ModuleDoc] {
    static ALL: OnceLock<Vec<ModuleDoc>> = OnceLock::new();
    ALL.get_or_init(rml::doc::library)
}

/// The documentation of the nodes in the texts of a survey. Only requested nodes are parsed.
pub(crate) struct Docs<'s> {
    survey: &'s Survey,
    /// The ends of the nodes of each text.
    ends: BTreeMap<FileId, Vec<usize>>,
    read: BTreeMap<Span, Option<NodeDoc>>,
}

impl<'s> Docs<'s> {
    pub(crate) fn new(survey: &'s Survey) -> Self {
        Self { survey, ends: BTreeMap::new(), read: BTreeMap::new() }
    }

    /// The interface of a node, and the comment before it.
    pub(crate) fn of(&mut self, node: &NodePlace) -> (String, String) {
        match self.node(node) {
            Some(of) => (of.header.clone(), of.comment.clone()),
            None => (self.survey.sources.snippet(node.header).to_owned(), String::new()),
        }
    }

    /// The documentation of a node in its text.
    pub(crate) fn node(&mut self, node: &NodePlace) -> Option<&NodeDoc> {
        let (survey, file) = (self.survey, node.span.file);
        let name = survey.sources.name(file);
        let module = name.trim_end_matches(".rml").replace('/', ".");
        if let Some(module) = library().iter().find(|m| node.library && m.name == module) {
            return module.nodes.iter().find(|of| of.name == node.name);
        }
        let ends = self.ends.entry(file).or_insert_with(|| {
            let own = survey.index.nodes.iter().filter(|node| node.span.file == file);
            let mut ends: Vec<usize> = own.map(|node| node.span.range().end).collect();
            ends.sort_unstable();
            ends
        });
        let before = ends.partition_point(|end| *end <= node.span.range().start);
        let after = before.checked_sub(1).map_or(0, |last| ends[last]);
        let read = || doc::of_node(survey.sources.text(file), after, node);
        self.read.entry(node.span).or_insert_with(read).as_ref()
    }
}
