//! How large a program will be, counted before anything is copied: nodes that call others twice, which call others
//! twice again, grow so fast that copying up to a limit would take long and fill the memory.

use rml_base::codes::autodiff::INLINED_TOO_LARGE;
use rml_base::{Diagnostic, IndexVec};

use crate::normal::{Callee, Equation, Module, NodeId, Rhs};

/// How many equations a program may have after inlining, calls counted too.
const LIMIT: u64 = 1_000_000;

/// Refuses a module whose root is too large. Where parameters are held (`hold`), optimisers do not count.
///
/// Requires: no node calls itself (N6).
pub(super) fn check(module: &Module, hold: bool) -> Result<(), Diagnostic> {
    let sizes = sizes(module, hold);
    let size = sizes[module.root];
    if size <= LIMIT {
        return Ok(());
    }
    let root = &module.nodes[module.root];
    let mut diagnostic =
        Diagnostic::error(INLINED_TOO_LARGE, "the program is too large when all calls are inlined")
            .label(root.span, "the node that is run")
            .note(format!("a program may have {LIMIT} equations when inlined; this one has {}", told(size)));
    let copied = |e: &Equation| instance(&e.rhs, hold).map_or(0, |n| sizes[n]);
    if let Some(largest) = root.equations.iter().max_by_key(|e| copied(e)).filter(|e| copied(e) > 0) {
        diagnostic =
            diagnostic.label(largest.span, format!("this becomes {} of them", told(copied(largest))));
    }
    Err(diagnostic.help("call fewer instances, or combine them into one with a larger shape"))
}

/// A number of equations as people are told it.
fn told(size: u64) -> String {
    if size == u64::MAX { "more than can be counted".to_owned() } else { size.to_string() }
}

/// The node that is copied where this stands.
fn instance(rhs: &Rhs, hold: bool) -> Option<NodeId> {
    match rhs {
        Rhs::Call { callee: Callee::Node(node), .. } => Some(*node),
        Rhs::ParamUpdate { optimiser, .. } if !hold => Some(*optimiser),
        _ => None,
    }
}

/// How many equations an instance of each node below the root becomes, with one for the instance; at most `u64::MAX`.
/// Nodes wait on a stack for those that they call, so that no program is too deep.
fn sizes(module: &Module, hold: bool) -> IndexVec<NodeId, u64> {
    let mut known: IndexVec<NodeId, Option<u64>> = IndexVec::filled(None, module.nodes.len());
    let mut waiting = vec![module.root];
    while let Some(&node) = waiting.last() {
        let equations = &module.nodes[node].equations;
        let called = || equations.iter().filter_map(|e| instance(&e.rhs, hold));
        let before = waiting.len();
        waiting.extend(called().filter(|n| known[*n].is_none()));
        if waiting.len() == before {
            let own = equations.len() as u64 + 1;
            known[node] = Some(called().filter_map(|n| known[n]).fold(own, u64::saturating_add));
            waiting.pop();
        }
    }
    known.iter().map(|size| size.unwrap_or(0)).collect()
}
