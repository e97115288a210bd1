//! Synthesises the adjoint of one node; the adjoints of its callees already exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rml_base::Diagnostics;
use rml_ir::Type;
use rml_ir::normal::{Callee, Formal, Input, Module, Node, NodeId, Rhs, Var};
use rml_ir::op::Op;
use rml_ir::surface::Origins;

use crate::activity::{self, Activity, Inner, Seed, Use};
use crate::analyse::{active, analyse};
use crate::bp::{Bp, BpKind, Guard};
use crate::build::Builder;
use crate::finish;
use crate::gating::{self, Gating};
use crate::node_clocks::{NodeClocks, Step};
use crate::parts;
use crate::rules::{self, Contribution};
use crate::signature::{Gate, Gradient, num_inputs, num_outputs};

/// An adjoint node, and the data for its [`Adjoint`](crate::signature::Adjoint).
pub(crate) struct Synthesised {
    pub(crate) node: Node,
    /// The equations that each equation of the adjoint transposes.
    pub(crate) origins: Origins,
    pub(crate) gradients: Vec<Gradient>,
    pub(crate) trains: bool,
    /// See [`Adjoint`](crate::signature::Adjoint).
    pub(crate) gates: Vec<Gate<Step>>,
    /// See [`Adjoint`](crate::signature::Adjoint).
    pub(crate) is_unclear: bool,
}

/// Makes the adjoint of `source`.
///
/// Requires: no call of the node is a [`Callee::Diff`], and every callee that can pass a gradient is in `adjoints`.
/// With `readable`, results and parameters without a name in the source get one. This is for printing only, because
/// states are named after variables.
pub(crate) fn synthesise(
    module: &Module,
    source: &Node,
    adjoints: Inner<'_>,
    clocks: &NodeClocks,
    gating: Gating,
    readable: bool,
) -> Result<Synthesised, Diagnostics> {
    let mut b = Builder::new(source, module.precision);
    let active = active(source, adjoints.one);
    let (num, inputs) = (num_outputs(source), num_inputs(source));
    let gates = gating::gates(gating, &num, &active, clocks);
    let bps = conditions(&mut b, &num, &gates);
    let formals = formals(&mut b, &num, &gates, &bps);
    let activity = analyse(&mut b, module, adjoints, clocks, &active, &formals)?;
    if readable {
        name_results(&mut b, &activity);
        name_parameters(&mut b);
    }
    let uses = uses_by_target(&activity);
    transpose(&mut b, &activity, &uses, &inputs);
    if source.held == 0 {
        train(&mut b, module, source)?;
    }
    interface(&mut b, source, clocks, &bps, &formals, &activity);
    let gradients = results(&mut b, bps[0], &inputs);
    let trains = trains(&b, &activity);
    if let Some(refused) = b.refused.take() {
        return Err(refused.into());
    }
    b.node.name = Arc::from(format!("{}{}", if source.held > 0 { "grad_" } else { "diff_" }, source.name));
    b.node.held = source.held.saturating_sub(1);
    if readable {
        name_contributions(&mut b, &activity);
    }
    let (node, mut origins) = finish::finish(b, source, &order_keys(source, &activity, &inputs), &uses);
    for call in activity.calls.iter().filter(|call| call.adjoint.parameter.is_none()) {
        if let Rhs::Call { callee: Callee::Node(id), args, .. } = &source.equations[call.eq].rhs {
            let name = module.nodes[*id].name.clone();
            let outputs = source.equations[call.eq].lhs.len();
            origins.calls.insert(call.eq, (name, outputs, args.len()));
        }
    }
    let gates = gating::for_callers(source, clocks, &num, &gates, &active);
    let is_unclear = gating == Gating::One && gating::is_unclear(clocks, &num, &active);
    Ok(Synthesised { node, origins, gradients, trains, gates, is_unclear })
}

/// The formals `d<output>` of the num outputs, with their conditions.
fn formals(b: &mut Builder, outputs: &[Var], gates: &[Gate<Guard>], bps: &[Var]) -> Vec<activity::Formal> {
    let formal = |(&output, gate): (&Var, &Gate<Guard>)| {
        let ty = b.ty(output);
        let wanted = format!("d{}", b.name(output).as_deref().unwrap_or("o"));
        let d = b.named(&wanted, ty);
        activity::Formal { output, d, bp: bps[gate.condition], path: gate.path.clone() }
    };
    outputs.iter().zip(gates).map(formal).collect()
}

/// Makes the equations of all gradients, and replaces calls by calls of adjoints.
fn transpose(b: &mut Builder, activity: &Activity, uses: &BTreeMap<Var, Vec<Use>>, inputs: &[(usize, Var)]) {
    let order: Vec<Var> = inputs.iter().map(|&(_, x)| x).chain(b.slots.keys().copied()).collect();
    b.name_conditions(order);
    let seeds = seeds_by_output(activity);
    name_gradients(b, &seeds, uses);
    let mut instances = rules::call::instances(b);
    for call in &activity.calls {
        rules::call::replace(b, call, &mut instances);
    }
    for v in b.gradients.keys().copied().collect::<Vec<_>>() {
        let seeds = seeds.get(&v).map_or(&[][..], Vec::as_slice);
        define_gradient(b, activity, (seeds, uses.get(&v).map_or(&[], Vec::as_slice)), v);
    }
}

/// Replaces the parameters that have a gradient by trained ones.
fn train(b: &mut Builder, module: &Module, source: &Node) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    for id in source.equations.ids() {
        if matches!(source.equations[id].rhs, Rhs::Param { .. } | Rhs::ParamUpdate { .. }) {
            problems.extend(rules::param::train(b, module, id).err());
        }
    }
    if problems.has_errors() { Err(problems) } else { Ok(()) }
}

/// Whether the adjoint, or an adjoint that it calls, updates a parameter.
fn trains(b: &Builder, activity: &Activity) -> bool {
    let training: BTreeSet<NodeId> =
        activity.calls.iter().filter(|c| c.adjoint.trains).map(|c| c.adjoint.node).collect();
    b.forward_equations().iter().any(|eq| match &eq.rhs {
        Rhs::ParamUpdate { .. } => true,
        Rhs::Call { callee, .. } => match callee {
            Callee::Node(id) => training.contains(id),
            Callee::Diff { .. } => false,
        },
        _ => false,
    })
}

/// The uses of each variable.
fn uses_by_target(activity: &Activity) -> BTreeMap<Var, Vec<Use>> {
    let mut uses: BTreeMap<Var, Vec<Use>> = BTreeMap::new();
    for found in &activity.uses {
        uses.entry(found.target).or_default().push(*found);
    }
    uses
}

/// Names the results of calls that become calls of adjoints, because an expression cannot contain a tuple.
fn name_results(b: &mut Builder, activity: &Activity) {
    for call in activity.calls.iter().filter(|call| !call.results.is_empty()) {
        for v in b.node.equations[call.eq].lhs.clone() {
            if b.name(v).is_none() {
                b.node.vars[v].name = Some(b.fresh("t"));
            }
        }
    }
}

/// Names the results of adjoints for named variables where they are only a part of the gradient: `dx1`, `bpx1`.
fn name_contributions(b: &mut Builder, activity: &Activity) {
    for found in &activity.uses {
        let (Some(result), Some(name)) = (found.result, b.name(found.target)) else { continue };
        let condition = match b.conditions.kind(found.bp) {
            BpKind::Var(condition) => Some(*condition),
            _ => None,
        };
        for (prefix, v) in condition.map(|v| ("bp", v)).into_iter().chain([("d", result)]) {
            let v = finish::resolve(&b.alias, v);
            if b.name(v).is_none() {
                b.node.vars[v].name = Some(b.fresh(&format!("{prefix}{name}")));
            }
        }
    }
}

/// Names a parameter inside an expression after the variable of the expression's equation: `hp` for `h`.
fn name_parameters(b: &mut Builder) {
    let mut owner = None;
    for id in b.forward_equations().ids().rev() {
        let eq = &b.node.equations[id];
        let Some(&v) = eq.lhs.first() else { continue };
        let is_parameter = matches!(eq.rhs, Rhs::Param { .. });
        match (b.name(v), &owner) {
            (Some(name), _) => owner = Some(name),
            (None, Some(owner)) if is_parameter => b.node.vars[v].name = Some(b.fresh(&format!("{owner}p"))),
            _ => {}
        }
    }
}

/// The gradients from outside, by output.
fn seeds_by_output(activity: &Activity) -> BTreeMap<Var, Vec<Seed>> {
    let mut seeds: BTreeMap<Var, Vec<Seed>> = BTreeMap::new();
    for seed in &activity.seeds {
        seeds.entry(seed.output).or_default().push(*seed);
    }
    seeds
}

/// Chooses a variable for the gradient of each active variable; it is the formal, if nothing else contributes.
fn name_gradients(b: &mut Builder, seeds: &BTreeMap<Var, Vec<Seed>>, uses: &BTreeMap<Var, Vec<Use>>) {
    let mut active: Vec<Var> = b.slots.keys().copied().collect();
    // Variables with several contributions come last, because formals have priority for names.
    active.sort_by_key(|v| uses.contains_key(v) && seeds.contains_key(v));
    for v in active {
        let d = match seeds.get(&v).map(Vec::as_slice) {
            Some([seed]) if !uses.contains_key(&v) => seed.d,
            _ => {
                let ty = b.ty(v);
                b.span = b.node.vars[v].span;
                match b.name(v) {
                    Some(name) => b.named(&format!("d{name}"), ty),
                    None => b.unnamed(ty),
                }
            }
        };
        if !is_inner(b, v) {
            b.results.insert(d);
        }
        b.gradients.insert(v, d);
    }
}

/// Sums the contributions of the seeds and uses of `v`.
fn define_gradient(b: &mut Builder, activity: &Activity, (seeds, uses): (&[Seed], &[Use]), v: Var) {
    let (Some(&d), Some(&slot)) = (b.gradients.get(&v), b.slots.get(&v)) else { return };
    // A formal is the gradient of only its own output.
    if seeds.iter().any(|s| s.d == d) {
        return;
    }
    let mut parts = Vec::new();
    for seed in seeds {
        parts.push((seed.bp, Contribution::Gated(seed.d)));
    }
    for found in uses {
        if let Some(part) = rules::contribution(b, activity, found) {
            parts.push((found.bp, part));
        }
    }
    let bp = b.condition(slot);
    // Contributions under the same condition are summed before they are completed with zeros.
    let mut groups: Vec<(Option<Bp>, Vec<Var>)> = Vec::new();
    let mut place: BTreeMap<Bp, usize> = BTreeMap::new();
    for (here, part) in parts {
        let (here, part) = match part {
            Contribution::Padded(d) => (None, b.when(d, bp)),
            Contribution::Gated(d) if b.same_condition(here, slot) => (None, d),
            Contribution::Gated(d) => (Some(here), d),
        };
        let class = here.map(|here| b.conditions.find(here));
        match class.and_then(|class| place.get(&class)).and_then(|&k: &usize| groups.get_mut(k)) {
            Some((_, group)) => group.push(part),
            None => {
                place.extend(class.map(|class| (class, groups.len())));
                groups.push((here, vec![part]));
            }
        }
    }
    let sums = groups.into_iter().filter_map(|(here, group)| Some((here, parts::sum(b, group)?))).collect();
    let completed = completed(b, slot, sums);
    let Some(sum) = parts::sum(b, completed) else {
        let ty = b.ty(v);
        let zero = b.zeros_when(&ty, Some(v), bp);
        let d = finish::resolve(&b.alias, d);
        b.alias.insert(zero, d);
        return;
    };
    // The gradient itself may already be the replacement for another variable.
    let (d, resolved) = (finish::resolve(&b.alias, d), finish::resolve(&b.alias, sum));
    if b.name(resolved).is_none() && !b.is_sample(resolved) && resolved != d {
        b.alias.insert(resolved, d);
    } else if resolved != d && !b.results.contains(&d) {
        b.alias.insert(d, resolved);
    } else {
        b.define(d, Rhs::Apply { op: Op::Copy, args: vec![sum], statics: Vec::new() });
    }
}

/// Whether the gradient of `v` is neither a result of the adjoint nor the gradient of a parameter. Such a gradient does
/// not need its own name.
fn is_inner(b: &Builder, v: Var) -> bool {
    b.rhs(v).is_some_and(|rhs| !matches!(rhs, Rhs::Param { .. } | Rhs::ParamUpdate { .. }))
}

/// Makes sums with different conditions present wherever `slot` is true: two sums whose conditions exclude each other
/// are merged, and the other sums are padded with zeros.
fn completed(b: &mut Builder, slot: Bp, groups: Vec<(Option<Bp>, Var)>) -> Vec<Var> {
    let mut parts: Vec<(Option<Var>, Var)> = Vec::new();
    let mut open: BTreeMap<Var, usize> = BTreeMap::new();
    for (here, d) in groups {
        let Some(here) = here else {
            parts.push((None, d));
            continue;
        };
        let cond = b.sampled_condition(here, slot);
        match b.opposite(cond).and_then(|other| Some((other, open.remove(&other)?))) {
            Some((other, k)) => {
                let (_, part) = parts[k];
                let merged =
                    if b.is_negation(cond, other) { b.merge(other, part, d) } else { b.merge(cond, d, part) };
                parts[k] = (None, merged);
            }
            None => {
                open.insert(cond, parts.len());
                parts.push((Some(cond), d));
            }
        }
    }
    parts.into_iter().map(|(cond, d)| cond.map_or(d, |cond| b.pad(cond, d))).collect()
}

/// The formals that gate gradients: `bp`, or one for each clock of the outputs, named after the first output on it.
fn conditions(b: &mut Builder, outputs: &[Var], gates: &[Gate<Guard>]) -> Vec<Var> {
    let count = gates.iter().map(|gate| gate.condition + 1).max().unwrap_or(1);
    let mut firsts: Vec<Option<Var>> = vec![None; count];
    for (gate, output) in gates.iter().zip(outputs) {
        firsts[gate.condition].get_or_insert(*output);
    }
    let condition = |number: usize| {
        let first = firsts[number].and_then(|output| b.name(output));
        let name = first.filter(|_| count > 1).map_or_else(|| "bp".to_owned(), |name| format!("bp{name}"));
        b.named(&name, Type::condition())
    };
    (0..count).map(condition).collect()
}

/// The formals of the adjoint: those of the node, its conditions, and the gradients of its num outputs.
fn interface(
    b: &mut Builder,
    source: &Node,
    clocks: &NodeClocks,
    bps: &[Var],
    formals: &[activity::Formal],
    activity: &Activity,
) {
    b.node.formals = source.formals.clone();
    for &bp in bps {
        let outputs: Vec<Var> = formals.iter().filter(|f| f.bp == bp).map(|f| f.output).collect();
        let active = b.slots.keys().copied().collect();
        let sampled = gating::top(&outputs, &active, clocks).and_then(|top| clocks.sampled_by(top));
        let sampled = sampled.filter(|l| source.inputs().any(|i| i.var == l.var));
        let clock = sampled.map(|l| (l.var, l.positive));
        b.node.formals.push(Formal::Stream(Input { var: bp, clock }));
    }
    for formal in formals {
        let is_own = |&here: &Bp| *b.conditions.kind(here) == BpKind::Var(formal.bp);
        let clock = activity.formals.get(&formal.d).filter(|here| is_own(here)).map(|_| (formal.bp, true));
        b.node.formals.push(Formal::Stream(Input { var: formal.d, clock }));
    }
}

/// Appends the outputs `bp<x>` and `d<x>`.
fn results(b: &mut Builder, bp: Var, inputs: &[(usize, Var)]) -> Vec<Gradient> {
    let start = b.node.outputs.len();
    let mut taken: BTreeSet<Var> = b.node.inputs().map(|i| i.var).collect();
    taken.extend(b.node.outputs.iter().copied());
    let mut gradients = Vec::new();
    for &(input, x) in inputs {
        let ty = b.ty(x);
        b.span = b.node.vars[x].span;
        let name = b.name(x);
        let name = name.as_deref().unwrap_or("x");
        let mut condition = None;
        let zero = !b.gradients.contains_key(&x);
        let d = match b.gradients.get(&x) {
            Some(&d) => {
                let here = b.condition_of(x).unwrap_or(bp);
                if here != bp {
                    condition = Some(output(b, here, &format!("bp{name}"), &mut taken));
                }
                output(b, d, &format!("d{name}"), &mut taken)
            }
            None => {
                let d = b.zeros_when(&ty, Some(x), bp);
                let named = b.fresh(&format!("d{name}"));
                b.node.vars[d].name = Some(named);
                taken.insert(d);
                b.node.outputs.push(d);
                b.node.outputs.len() - 1
            }
        };
        gradients.push(Gradient { input, bp: condition.map(|k| k - start), d: Some(d - start), zero });
    }
    gradients
}

/// Makes `v` an output: the variable itself, unless it is already an input or output; then a copy named `wanted`.
/// Returns its position.
fn output(b: &mut Builder, v: Var, wanted: &str, taken: &mut BTreeSet<Var>) -> usize {
    let v = finish::resolve(&b.alias, v);
    let result = if taken.contains(&v) {
        let ty = b.ty(v);
        let copy = b.named(wanted, ty);
        b.define(copy, Rhs::Apply { op: Op::Copy, args: vec![v], statics: Vec::new() });
        copy
    } else {
        if b.name(v).is_none() {
            b.node.vars[v].name = Some(b.fresh(wanted));
        }
        v
    };
    taken.insert(result);
    b.node.outputs.push(result);
    b.node.outputs.len() - 1
}

/// Keys that order gradients by the source equations that use their variables; within each equation, inputs come first.
fn order_keys(
    source: &Node,
    activity: &Activity,
    inputs: &[(usize, Var)],
) -> BTreeMap<Var, (usize, bool, usize)> {
    // A source equation corresponds to a run of unnamed temporaries and the named variables that use them.
    let mut groups = Vec::new();
    let mut group = 0;
    for eq in source.equations.iter() {
        groups.push(group);
        if eq.lhs.iter().any(|&v| source.vars[v].name.is_some()) {
            group += 1;
        }
    }
    let mut keys = BTreeMap::new();
    for (rank, found) in activity.uses.iter().enumerate() {
        let group = groups.get(found.eq.0 as usize).copied().unwrap_or(group);
        let inner = !inputs.iter().any(|&(_, x)| x == found.target);
        keys.entry(found.target).or_insert((group, inner, rank));
    }
    keys
}
