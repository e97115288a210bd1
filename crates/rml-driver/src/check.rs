//! Checking without running: the findings of every stage, for all nodes of a text.

use indexmap::IndexSet;
use rml_base::{Code, Diagnostics, Span};
use rml_elab::{FormalKind, FormalSignature, NodeSignature};
use rml_ir::{pass, typed};

use crate::front::Front;
use crate::options::{Options, root};

/// The node that runs if none is named.
const MAIN: &str = "main";
/// The node that a training runs if none is named.
const TRAIN: &str = "train";

/// Checks everything but what the static analyses check. If [`Options::node`] is set, checks that node and its callees,
/// and the other nodes only if that finds errors. Otherwise checks every node. What passes the front end goes through
/// all passes. Returns all findings, warnings included.
pub(crate) fn check_forms(front: &Front, options: &Options) -> Diagnostics {
    let mut found = Findings::default();
    if options.node.is_some() {
        match front.elaborate(options, root(options)) {
            Ok((module, warnings)) => {
                found.add(warnings);
                found.add(back(front, &module, &|_| false));
            }
            Err(findings) => found.add(findings),
        }
    }
    if options.node.is_none() || found.list.has_errors() {
        let (modules, findings) = front.check_all(options);
        found.add(findings);
        found.add(check_modules(front, &modules, &mut |module, open| back(front, module, open)));
    }
    found.list.sort();
    found.list
}

/// What says what the stages after the front end find in a module, some inputs of whose root may be constants.
type Back<'b> = dyn FnMut(&typed::Module, &dyn Fn(&str) -> bool) -> Diagnostics + 'b;

/// What the stages after the front end find in the modules of [`Front::check_all`], each finding once.
pub(crate) fn check_modules(front: &Front, modules: &[typed::Module], back: &mut Back<'_>) -> Diagnostics {
    let mut found = Findings::default();
    let inputs = OpenInputs::new(front);
    for module in modules {
        let name = &module.nodes[module.root].name;
        found.add(back(module, &|input| inputs.contains(name, input)));
    }
    found.list
}

/// Which inputs of nodes may be constants: all where the node exists to be called, and those without a type, which
/// can be set, where it is the one that runs; but `main` takes them from data if nothing else is said.
pub(crate) struct OpenInputs {
    /// The inputs without a type of the only node that no other calls.
    only: Option<(String, Vec<String>)>,
}

impl OpenInputs {
    pub(crate) fn new(front: &Front) -> Self {
        let nodes = front.signatures();
        let called: IndexSet<&String> = nodes.iter().flat_map(|n| &n.calls).collect();
        let mut uncalled = nodes.iter().filter(|n| !called.contains(&n.name) && !n.overrides);
        let only = uncalled.next().filter(|_| uncalled.next().is_none());
        let is_open = |f: &&FormalSignature| matches!(f.kind, FormalKind::Stream { dtype: None, .. });
        let inputs = |n: &NodeSignature| n.formals.iter().filter(is_open).map(|f| f.name.clone()).collect();
        Self { only: only.map(|n| (n.name.clone(), inputs(n))) }
    }

    /// Whether an input of that node may be a constant.
    pub(crate) fn contains(&self, node: &str, input: &str) -> bool {
        match &self.only {
            _ if node == MAIN => false,
            Some((name, inputs)) if name == node => inputs.iter().any(|i| i == input),
            _ => true,
        }
    }
}

/// What the stages after the front end find in a module, of whose root the inputs in `open` may be constants where it
/// is called; what has to be said about its learning, if they find nothing.
pub(crate) fn back(front: &Front, module: &typed::Module, open: &dyn Fn(&str) -> bool) -> Diagnostics {
    let module = pass::normalize(module);
    let trained = *module.nodes[module.root].name == *TRAIN;
    let learning = front.learning(&module, trained);
    let module = rml_autodiff::differentiate(module);
    module.and_then(|module| pass::inline_open(&module, open)).err().unwrap_or(learning)
}

/// Findings, each once: what is wrong with a node is found again for each of its callers.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) list: Diagnostics,
    seen: IndexSet<(Code, Option<Span>, String)>,
}

impl Findings {
    pub(crate) fn add(&mut self, more: Diagnostics) {
        for d in more {
            let text = if d.labels.is_empty() { d.message.clone() } else { String::new() };
            if self.seen.insert((d.code, d.span(), text)) {
                self.list.push(d);
            }
        }
    }
}
