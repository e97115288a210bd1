//! Node instances: the instance of `f` becomes one of `diff_f`, which returns the outputs and the gradients of the
//! inputs (ADJ-12).

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_ir::normal::{Callee, Rhs, Var};

use crate::activity::ActiveCall;
use crate::bp::Bp;
use crate::build::Builder;
use crate::rules::param;

/// Replaces a call by a call of the adjoint. `taken` contains the names of all [`instances`] of the node.
pub(crate) fn replace(b: &mut Builder, call: &ActiveCall, taken: &mut BTreeSet<Arc<str>>) {
    let adjoint = &call.adjoint;
    b.span = b.node.equations[call.eq].span;
    let bps: Vec<Var> = call.bps.iter().map(|&bp| b.condition(bp)).collect();
    let ds: Vec<Var> = call.outputs.iter().map(|&(o, here)| gradient(b, o, here)).collect();
    let Rhs::Call { instance: own, .. } = &b.node.equations[call.eq].rhs else { return };
    let own = Arc::clone(own);
    if let (Some(optimiser), Some(&bp), Some(&d)) = (adjoint.parameter, bps.first(), ds.first()) {
        taken.remove(&own);
        return param::train_own(b, call.eq, optimiser, bp, d);
    }
    let instance = adjoint_instance(&own, taken);
    taken.remove(&own);
    taken.insert(Arc::clone(&instance));
    let eq = &mut b.node.equations[call.eq];
    eq.lhs.extend(&call.results);
    if let Rhs::Call { callee, args, instance: name, .. } = &mut eq.rhs {
        *callee = Callee::Node(adjoint.node);
        args.extend(bps);
        args.extend(ds);
        *name = instance;
    }
}

/// The gradient of the output `o`, padded with zeros so that it is present where `here` is true.
fn gradient(b: &mut Builder, o: Var, here: Bp) -> Var {
    let cond = b.condition(here);
    let (Some(&d), Some(&slot)) = (b.gradients.get(&o), b.slots.get(&o)) else {
        let ty = b.ty(o);
        return b.zeros_when(&ty, Some(o), cond);
    };
    if b.same_condition(slot, here) {
        return d;
    }
    let sampled = b.sampled_condition(slot, here);
    b.pad(sampled, d)
}

/// The names of the instances of a node.
pub(crate) fn instances(b: &Builder) -> BTreeSet<Arc<str>> {
    let name =
        |rhs: &Rhs| if let Rhs::Call { instance, .. } = rhs { Some(Arc::clone(instance)) } else { None };
    b.node.equations.iter().filter_map(|eq| name(&eq.rhs)).collect()
}

/// The name of the adjoint's instance: `diff_` and the name of the instance; with another number if that name is taken.
fn adjoint_instance(instance: &str, taken: &BTreeSet<Arc<str>>) -> Arc<str> {
    let wanted = format!("diff_{instance}");
    let stem = wanted.rsplit_once('_').map_or(wanted.as_str(), |(stem, _)| stem);
    let names = std::iter::once(wanted.clone()).chain((0_u64..).map(|k| format!("{stem}_{k}")));
    names
        .into_iter()
        .find(|name| !taken.contains(name.as_str()))
        .map_or_else(|| Arc::from(wanted.as_str()), Arc::from)
}
