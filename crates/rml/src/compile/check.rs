//! Checking without running: the findings of every stage, for all nodes of a text.

use indexmap::IndexSet;
use rml_base::{Code, Diagnostics, Span};
use rml_ir::{pass, typed};

use super::{Front, Options, root};

/// Checks everything but what the static analyses check. With [`Options::node`] that node and what it calls, and all others too if anything is wrong there; else every node.
/// What passes the front end goes through all passes. Returns all findings, warnings included.
pub(crate) fn check_forms(front: &Front, options: &Options) -> Diagnostics {
    let mut found = Findings::default();
    if options.node.is_some() {
        match front.elaborate(options, root(options)) {
            Ok((module, warnings)) => {
                found.add(warnings);
                found.add(back(&module));
            }
            Err(findings) => found.add(findings),
        }
    }
    if options.node.is_none() || found.list.has_errors() {
        let (modules, findings) = front.check_all(options);
        found.add(findings);
        modules.iter().for_each(|module| found.add(back(module)));
    }
    found.list.sort();
    found.list
}

/// What the stages behind the front end find in a module.
fn back(module: &typed::Module) -> Diagnostics {
    let flat = rml_autodiff::differentiate(pass::normalize(module)).and_then(|module| pass::inline(&module));
    flat.err().unwrap_or_default()
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
