//! Reverse-mode differentiation, from the normal form to the differentiated form, in which every adjoint is a node.
//!
//! For a node `f` it makes the node `diff_f`, which has the equations of `f` and the transpose of each of them.
//! Gradients are *gated*: each variable `v` with a gradient `dv` has a boolean stream `bp_v` on its clock, and `dv` is
//! present where `bp_v` is true, so cycles without backpropagation cost nothing (ADJ-1). Transposition reverses time:
//! `fby` becomes `fby back`; `fby back` and `post` become `fby`.
//!
//! This crate does not depend on the surface syntax, and the later stages do not depend on gradients.
//!
//! `driver` chooses nodes, callees first. `analyse` determines which variables have a gradient and under which
//! condition (`bp`). `synthesise` makes the adjoint: `rules` transposes the equations, and `finish` orders and
//! renumbers them. `resolve` translates calls of adjoints by name.

mod activity;
mod analyse;
mod bp;
mod build;
mod driver;
mod feedback;
mod finish;
mod gating;
mod gradient;
mod node;
mod node_clocks;
mod parts;
mod resolve;
mod rules;
mod signature;
mod synthesise;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rml_base::Diagnostics;
use rml_ir::normal::{Differentiated, Module, NodeId};
use rml_ir::surface::Origins;

use crate::driver::Driver;

pub use gradient::{Gradient, gradient};

/// A module with the adjoint of one of its nodes, made to be shown.
#[derive(Clone, Debug)]
pub struct ShownAdjoint {
    /// The module; its root is the adjoint.
    pub module: Differentiated,
    /// The adjoint: a synthesised one, or the program's own if it defines one.
    pub adjoint: NodeId,
    /// The synthesised nodes, callees before callers.
    pub synthesised: Vec<NodeId>,
    /// All nodes that the adjoint needs, synthesised or the program's own, callees before callers; the adjoint is last.
    pub needed: Vec<NodeId>,
    /// For each synthesised node: the equations that its equations transpose.
    pub origins: BTreeMap<NodeId, Origins>,
}

/// Adds the adjoint node `diff_f` for every node `f` that the program differentiates, and replaces the calls by name
/// with calls of it.
///
/// Requires: `normal::verify`. Ensures: the equations of the program are unchanged, apart from its calls of adjoints.
///
/// # Errors
/// An adjoint that the program defines does not have the interface that its node requires; a trained parameter has no
/// `diff_param`; outputs of an instance are on clocks that its caller cannot distinguish.
pub fn differentiate(module: Module) -> Result<Differentiated, Diagnostics> {
    let _span = tracing::debug_span!("differentiate").entered();
    let first = NodeId(u32::try_from(module.nodes.len()).unwrap_or(u32::MAX));
    let mut driver = Driver::new(module, false);
    let mut problems = Diagnostics::new();
    for id in driver.module.nodes.ids() {
        if let Err(found) = driver.resolve(id) {
            problems.extend(found.into_iter().filter(|d| !problems.0.contains(d)).collect::<Vec<_>>());
        }
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let mut module = driver.module;
    driver::drop_unused(&mut module, first, &[]);
    Ok(Differentiated::made("differentiate", module))
}

/// The module with the adjoint of `node`, for showing it. It is the one that [`differentiate`] makes, but with names
/// for parameters inside expressions and for results of calls inside expressions (so states have other names).
///
/// # Errors
/// The same as for [`differentiate`].
pub fn differentiate_node(module: Module, node: NodeId) -> Result<ShownAdjoint, Diagnostics> {
    let _span = tracing::debug_span!("differentiate").entered();
    let first = NodeId(u32::try_from(module.nodes.len()).unwrap_or(u32::MAX));
    let mut driver = Driver::new(module, true);
    for id in driver.module.nodes.ids() {
        driver.resolve(id)?;
    }
    let adjoint = driver.shown(node)?;
    let each = driver.each();
    let Driver { mut module, synthesised, origins, .. } = driver;
    let new_ids = driver::drop_unused(&mut module, first, &[adjoint]);
    let adjoint = new_ids.get(&adjoint).copied().unwrap_or(adjoint);
    module.root = adjoint;
    let needed = driver::reachable(&module, adjoint);
    let made: Vec<NodeId> = synthesised.iter().filter_map(|id| new_ids.get(id).copied()).collect();
    let synthesised = needed.iter().copied().filter(|id| made.contains(id)).collect();
    let each = each.iter().filter_map(|id| new_ids.get(id).copied()).collect();
    apart(&mut module, &needed, &each);
    let origins = origins.into_iter().filter_map(|(id, of)| Some((*new_ids.get(&id)?, of))).collect();
    let module = Differentiated::made("differentiate_node", module);
    Ok(ShownAdjoint { module, adjoint, synthesised, needed, origins })
}

/// If a node has both kinds of adjoints, renames those with a condition for each output (`each`), so that the printed
/// module can be read.
fn apart(module: &mut Module, nodes: &[NodeId], each: &BTreeSet<NodeId>) {
    let name = |module: &Module, id: NodeId| module.nodes[id].name.clone();
    let mut taken: BTreeSet<Arc<str>> = module.nodes.iter().map(|node| node.name.clone()).collect();
    let others: BTreeSet<Arc<str>> =
        nodes.iter().filter(|id| !each.contains(id)).map(|&id| name(module, id)).collect();
    let mut fresh: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    for &id in nodes.iter().filter(|id| each.contains(id)) {
        let old = name(module, id);
        if !others.contains(&old) {
            continue;
        }
        let new = fresh.entry(old.clone()).or_insert_with(|| {
            let numbered = (1_u64..).map(|k| Arc::from(format!("{old}{k}")));
            numbered.into_iter().find(|name: &Arc<str>| taken.insert(Arc::clone(name))).unwrap_or(old)
        });
        module.nodes[id].name = Arc::clone(new);
    }
}
