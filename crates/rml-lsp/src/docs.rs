//! Interfaces and comments of nodes, each text read once.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rml::doc::{ModuleDoc, NodeDoc};
use rml::{FileId, NodePlace, Survey};

/// The modules of the library, the prelude first.
pub(crate) fn library() -> &'static [ModuleDoc] {
    static ALL: OnceLock<Vec<ModuleDoc>> = OnceLock::new();
    ALL.get_or_init(rml::doc::library)
}

/// What the texts of a survey say about their nodes.
pub(crate) struct Docs<'s> {
    survey: &'s Survey,
    read: BTreeMap<FileId, BTreeMap<String, NodeDoc>>,
}

impl<'s> Docs<'s> {
    pub(crate) fn new(survey: &'s Survey) -> Self {
        Self { survey, read: BTreeMap::new() }
    }

    /// The interface of a node, and the comment before it.
    pub(crate) fn of(&mut self, node: &NodePlace) -> (String, String) {
        match self.node(node) {
            Some(of) => (of.header.clone(), of.comment.clone()),
            None => (self.survey.sources.snippet(node.header).to_owned(), String::new()),
        }
    }

    /// What a text says about a node.
    pub(crate) fn node(&mut self, node: &NodePlace) -> Option<&NodeDoc> {
        let (sources, file) = (&self.survey.sources, node.span.file);
        let name = sources.name(file);
        let module = name.trim_end_matches(".rml").replace('/', ".");
        if let Some(module) = library().iter().find(|m| node.library && m.name == module) {
            return module.nodes.iter().find(|of| of.name == node.name);
        }
        let read = self.read.entry(file).or_insert_with(|| {
            let module = rml::doc::module(name, sources.text(file));
            module.nodes.into_iter().rev().map(|node| (node.name.clone(), node)).collect()
        });
        read.get(&node.name)
    }
}
