//! Checking without running: the findings of every stage, for all nodes of a text.

use indexmap::IndexSet;
use rml_base::{Code, Diagnostics, Span};
use rml_elab::{FormalKind, NodeSignature};
use rml_ir::{pass, typed};

use super::{Front, Options, root};

/// The node that runs if none is named.
const MAIN: &str = "main";

/// Checks everything but what the static analyses check. With [`Options::node`] that node and what it calls, and all others too if anything is wrong there; else every node.
/// What passes the front end goes through all passes. Returns all findings, warnings included.
pub(crate) fn check_forms(front: &Front, options: &Options) -> Diagnostics {
    let mut found = Findings::default();
    if options.node.is_some() {
        match front.elaborate(options, root(options)) {
            Ok((module, warnings)) => {
                found.add(warnings);
                found.add(back(&module, &|_| false));
            }
            Err(findings) => found.add(findings),
        }
    }
    if options.node.is_none() || found.list.has_errors() {
        let (modules, findings) = front.check_all(options);
        found.add(findings);
        let nodes = front.signatures();
        for module in &modules {
            let name = &module.nodes[module.root].name;
            let runs = modules.len() == 1 || **name == *MAIN;
            let node = nodes.iter().find(|n| *n.name == **name);
            found.add(back(module, &|input| node.is_none_or(|n| !runs || may_be_set(n, input))));
        }
    }
    found.list.sort();
    found.list
}

/// Whether an input of the node that runs may be a constant: one without a type can be set, but in `main`, which takes its inputs
/// from data if nothing else is said.
fn may_be_set(node: &NodeSignature, input: &str) -> bool {
    let is_open = |kind: &FormalKind| matches!(kind, FormalKind::Stream { dtype: None, .. });
    node.name != MAIN && node.formals.iter().any(|f| f.name == input && is_open(&f.kind))
}

/// What the stages behind the front end find in a module, of whose root the inputs in `open` may be constants where it is called.
fn back(module: &typed::Module, open: &dyn Fn(&str) -> bool) -> Diagnostics {
    let module = rml_autodiff::differentiate(pass::normalize(module));
    module.and_then(|module| pass::inline_open(&module, open)).err().unwrap_or_default()
}

/// Findings, each once: what is wrong with a node is found again for each of its callers.
#[derive(Default)]
struct Findings {
    list: Diagnostics,
    seen: IndexSet<(Code, Option<Span>, String)>,
}

impl Findings {
    fn add(&mut self, more: Diagnostics) {
        for d in more {
            let text = if d.labels.is_empty() { d.message.clone() } else { String::new() };
            if self.seen.insert((d.code, d.span(), text)) {
                self.list.push(d);
            }
        }
    }
}
