//! Warnings about programs that do not learn as intended. They are found in the normal form, where calls of adjoints
//! still have their names.
//!
//! A parameter is updated where the adjoint of a node with parameters is called. A loss is an output called `loss`, of
//! the library or of the program. The gradient that enters for it is followed, with its sign, to the parameters and
//! through the program's optimiser.

mod active;
mod ahead;
mod bounded;
mod calls;
mod dead;
mod depends;
mod evaluates;
mod flow;
mod foreign;
mod forgets;
mod labels;
mod linear;
mod logits;
mod metric;
mod own;
mod rates;
mod seeds;
mod silent;
mod uncut;
mod untrained;
mod view;

use std::cell::RefCell;

use rml_base::{Diagnostics, IndexVec, Span};
use rml_ir::normal::{Callee, Module, NodeId, Rhs};

pub use bounded::{Bounded, bounded};
use depends::Through;
use flow::Optimiser;
pub use rates::learning_rates;
use view::View;

/// The purpose of the root of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RootRole {
    /// The root is trained.
    Trains,
    /// The root evaluates a training of another node.
    Evaluates,
    /// Unknown.
    Runs,
}

/// The facts about a program that the warnings need.
struct Program<'m> {
    module: &'m Module,
    /// Whether a place is in the library.
    library: &'m dyn Fn(Span) -> bool,
    /// Whether each node has parameters, in itself or in nodes that it calls.
    parameters: IndexVec<NodeId, bool>,
    /// Whether each node updates parameters by a gradient, in itself or in nodes that it calls.
    updates: IndexVec<NodeId, bool>,
    /// Cached dependences of outputs on inputs of nodes.
    through: RefCell<Through>,
}

impl<'m> Program<'m> {
    fn new(module: &'m Module, library: &'m dyn Fn(Span) -> bool) -> Self {
        let parameters = parameters(module);
        let program =
            Self { module, library, parameters, updates: IndexVec::new(), through: RefCell::default() };
        let updates = silent::updates(&program);
        Self { updates, ..program }
    }
}

/// The warnings about the learning of a program:
///
/// - gradients of losses with the wrong sign, rates that are far too high, and losses in the place of their gradients;
/// - gradients of inputs that also update parameters, parameters that no gradient reaches, and gradients that enter
///   where none can pass;
/// - layers that follow each other without a nonlinear function, probabilities in place of logits, labels that are
///   computed from the values with which they are compared, and forecasts of known values;
/// - dropout that is active although nothing is trained;
/// - gradients that enter for a value of which they are not the gradient;
/// - windows whose gradient waits for the next window.
///
/// A training also gets a warning if it updates no parameter or reports no number, and an evaluation if it updates
/// parameters. `library` returns whether a place is in the library. All findings are warnings.
///
/// Requires: N1 to N6.
pub fn learning(module: &Module, role: RootRole, library: &dyn Fn(Span) -> bool) -> Diagnostics {
    let program = Program::new(module, library);
    let optimiser = Optimiser::of(&program);
    let mut found = Diagnostics::new();
    for id in module.nodes.ids().filter(|id| !library(module.nodes[*id].span)) {
        let view = View::new(&program, id);
        found.extend(seeds::findings(&program, &view, optimiser.as_ref()));
        found.extend(logits::findings(&program, &view));
        found.extend(labels::findings(&program, &view));
        found.extend(ahead::findings(&program, &view));
        found.extend(linear::findings(&program, &view));
        found.extend(own::findings(&program, &view, optimiser.as_ref()));
        found.extend(untrained::findings(&program, &view));
        found.extend(dead::findings(&program, &view));
        found.extend(foreign::findings(&program, &view));
        if role == RootRole::Trains {
            found.extend(uncut::findings(&program, &view, id));
        }
        if role != RootRole::Trains && !program.updates[module.root] {
            found.extend(active::findings(&program, &view));
        }
    }
    found.extend(forgets::finding(&program));
    match role {
        RootRole::Trains => {
            found.extend(silent::finding(&program));
            found.extend(metric::finding(&program));
        }
        RootRole::Evaluates => found.extend(evaluates::finding(&program)),
        RootRole::Runs => {}
    }
    // Instances of a node for other shapes have the same findings.
    let mut seen: Vec<rml_base::Diagnostic> = Vec::new();
    found.0.retain(|d| {
        let is_new = !seen.contains(d);
        if is_new {
            seen.push(d.clone());
        }
        is_new
    });
    found
}

/// Whether each node has parameters, in itself or in nodes that it calls.
fn parameters(module: &Module) -> IndexVec<NodeId, bool> {
    let own = |rhs: &Rhs| matches!(rhs, Rhs::Param { .. });
    closure(module, own, |known, callee| match callee {
        Callee::Node(node) | Callee::Diff { node, .. } => known[node],
    })
}

/// For each node: whether it has an equation that `own` accepts, or a call that `called` accepts given the results so
/// far.
fn closure(
    module: &Module,
    own: impl Fn(&Rhs) -> bool,
    called: impl Fn(&IndexVec<NodeId, bool>, Callee) -> bool,
) -> IndexVec<NodeId, bool> {
    let mut known: IndexVec<NodeId, bool> = module.nodes.ids().map(|_| false).collect();
    loop {
        let mut grown = false;
        for (id, node) in module.nodes.iter_enumerated() {
            let has = |rhs: &Rhs| match rhs {
                Rhs::Call { callee, .. } => called(&known, *callee),
                other => own(other),
            };
            if !known[id] && node.equations.iter().any(|e| has(&e.rhs)) {
                known[id] = true;
                grown = true;
            }
        }
        if !grown {
            return known;
        }
    }
}
