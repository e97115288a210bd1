//! Node instances: the instance of `f` becomes one of `diff_f`, which gives the outputs and the gradients of the inputs.

use std::sync::Arc;

use rml_ir::normal::{Callee, Rhs, Var};

use crate::bp::Bp;
use crate::build::Builder;
use crate::plan::CallPlan;
use crate::rules::param;

/// Replaces a call by one of the adjoint.
pub(crate) fn replace(b: &mut Builder, call: &CallPlan) {
    let adjoint = &call.adjoint;
    b.span = b.node.equations[call.eq].span;
    let bps: Vec<Var> = call.bps.iter().map(|&bp| b.condition(bp)).collect();
    let ds: Vec<Var> = call.outputs.iter().map(|&(o, here)| gradient(b, o, here)).collect();
    if let (Some(optimiser), Some(&bp), Some(&d)) = (adjoint.parameter, bps.first(), ds.first()) {
        return param::train_own(b, call.eq, optimiser, bp, d);
    }
    let instance = adjoint_instance(b, call);
    let eq = &mut b.node.equations[call.eq];
    eq.lhs.extend(&call.results);
    if let Rhs::Call { callee, args, instance: name, .. } = &mut eq.rhs {
        *callee = Callee::Node(adjoint.node);
        args.extend(bps);
        args.extend(ds);
        *name = instance;
    }
}

/// The gradient of an output, present where `here` is true.
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

/// `diff_` before the instance's name; another number where the node has such an instance already.
fn adjoint_instance(b: &Builder, call: &CallPlan) -> Arc<str> {
    let taken = |name: &str| {
        b.node.equations.iter().any(|eq| matches!(&eq.rhs, Rhs::Call { instance, .. } if **instance == *name))
    };
    let Rhs::Call { instance, .. } = &b.node.equations[call.eq].rhs else { return Arc::from("") };
    let wanted = format!("diff_{instance}");
    let stem = wanted.rsplit_once('_').map_or(wanted.as_str(), |(stem, _)| stem);
    let names = std::iter::once(wanted.clone()).chain((0_u64..).map(|k| format!("{stem}_{k}")));
    names.into_iter().find(|name| !taken(name)).map_or_else(|| Arc::from(wanted.as_str()), Arc::from)
}
