//! Checking without running: the findings of every stage, for all nodes of a text.

use std::cell::Cell;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Code, Diagnostics, Span};
use rml_elab::{FormalKind, FormalSignature, NodeSignature};
use rml_ir::typed::StaticValue;
use rml_ir::{pass, typed};

use crate::analysis::Analysis;
use crate::batch;
use crate::front::Front;
use crate::options::{Options, root};
use crate::unit::Form;

/// The default node to run.
pub(crate) const MAIN: &str = "main";

/// Nodes after the front end. Each is differentiated on first use, and kept in this form until it is analysed, which is
/// the last use.
pub(crate) struct Forms<'f> {
    front: &'f Front,
    /// The values of static parameters and dimensions with which they were elaborated.
    given: IndexMap<String, StaticValue>,
    /// Whether the size of a batch among them is arbitrary.
    is_batch_open: bool,
    modules: IndexMap<String, (typed::Module, Cell<Option<Form>>)>,
}

impl<'f> Forms<'f> {
    /// Takes modules that were elaborated with these options, by the names of their roots.
    pub(crate) fn new(
        front: &'f Front,
        options: &Options,
        modules: impl IntoIterator<Item = typed::Module>,
    ) -> Self {
        let entry =
            |module: typed::Module| (module.nodes[module.root].name.to_string(), (module, Cell::default()));
        let (given, is_batch_open) = (options.given(), batch::is_open(options));
        Self { front, given, is_batch_open, modules: modules.into_iter().map(entry).collect() }
    }

    /// Whether a static parameter or dimension of this name has a value.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Whether the size of a batch is arbitrary.
    pub(crate) fn is_batch_open(&self) -> bool {
        self.is_batch_open
    }

    /// A node by name, differentiated, and the cell that keeps it.
    fn take(&self, node: &str) -> Option<(Form, &Cell<Option<Form>>)> {
        let (module, kept) = self.modules.get(node)?;
        Some((kept.take().unwrap_or_else(|| Form::new(self.front, module, self.front.role(node))), kept))
    }

    /// Whether it contains a node, elaborated with the values that these options give to its parameters and dimensions.
    pub(crate) fn has(&self, node: &NodeSignature, options: &Options) -> bool {
        let mut names = node.formals.iter().map(|formal| &formal.name).chain(&node.dimensions);
        let given = options.given();
        self.modules.contains_key(&node.name) && names.all(|name| self.given.get(name) == given.get(name))
    }

    /// The analysis of a node; its inputs in `open` may be constants. `None` if the node is missing or has an error.
    pub(crate) fn analysis(&self, node: &str, open: &dyn Fn(&str) -> bool) -> Option<Analysis> {
        let flat = pass::inline_open(&self.take(node)?.0.module.ok()?, open).ok()?;
        Some(Analysis::new(flat, self.front))
    }

    /// The findings about all nodes, each once. `find` checks one node, some of whose inputs may be constants.
    pub(crate) fn findings(&self, find: &mut Find<'_>) -> Diagnostics {
        let mut found = Findings::default();
        let inputs = OpenInputs::new(self.front);
        for (name, (module, _)) in &self.modules {
            found.add(find(module, &|input| inputs.contains(name, input)));
        }
        found.list
    }

    /// The findings about one node.
    pub(crate) fn findings_of(&self, node: &str, open: &dyn Fn(&str) -> bool) -> Diagnostics {
        let Some((form, kept)) = self.take(node) else {
            return Diagnostics::default();
        };
        let found = form.findings(open);
        kept.set(Some(form));
        found
    }
}

/// Checks a module, some of whose root's inputs may be constants.
type Find<'b> = dyn FnMut(&typed::Module, &dyn Fn(&str) -> bool) -> Diagnostics + 'b;

/// Performs all checks except the static analyses. If [`Options::node`] is set, checks this node and its callees, and
/// the other nodes only if that finds errors; otherwise checks every node. Nodes without errors in the front end go
/// through all passes. Returns these nodes, and all findings including warnings.
pub(crate) fn check_forms<'f>(front: &'f Front, options: &Options) -> (Forms<'f>, Diagnostics) {
    let mut found = Findings::default();
    let mut forms = Forms::new(front, options, []);
    if options.node.is_some() {
        match front.elaborate_any(options, root(options)) {
            Ok((module, warnings)) => {
                found.add(warnings);
                forms = Forms::new(front, options, [module]);
                found.add(forms.findings(&mut |module, _| {
                    forms.findings_of(&module.nodes[module.root].name, &|_| false)
                }));
            }
            Err(findings) => found.add(findings),
        }
    }
    if options.node.is_none() || found.list.has_errors() {
        let (modules, findings) = front.check_all(options);
        found.add(findings);
        forms = Forms::new(front, options, modules);
        found.add(
            forms.findings(&mut |module, open| forms.findings_of(&module.nodes[module.root].name, open)),
        );
    }
    found.list.sort();
    (forms, found.list)
}

/// The inputs of nodes that may be constants: of a node that is meant to be called, all inputs; of the only node that
/// can run, the inputs without a type, which can be set. The inputs of `main` are data by default.
pub(crate) struct OpenInputs {
    /// The inputs without a type of the only node that no other node calls.
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

    /// Whether an input of this node may be a constant.
    pub(crate) fn contains(&self, node: &str, input: &str) -> bool {
        match &self.only {
            _ if node == MAIN => false,
            Some((name, inputs)) if name == node => inputs.iter().any(|i| i == input),
            _ => true,
        }
    }
}

/// Findings, each once: an error in a node is found again for each of its callers.
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
