//! Replaces the calls of adjoints by name ([`Callee::Diff`]) with calls of the nodes made for them.

use rml_base::{Diagnostic, IndexVec};
use rml_ir::normal::{Callee, ConstKind, Constant, Eq, Equation, Module, Node, NodeId, Rhs, Var};
use rml_ir::op::Op;
use rml_ir::{Precision, Type, Value};

use crate::activity::Adjoints;
use crate::node::{for_each_operand, push_var};
use crate::signature::{Adjoint, Gradient, num_inputs, num_outputs};

/// The source of a result of the canonical interface.
#[derive(Clone, Debug)]
enum Source {
    /// The output at that position.
    Output(usize),
    /// The argument at that position.
    Argument(usize),
    /// Zeros where the argument at that position is true.
    Zeros(Type, usize),
}

/// The translation of a call with the canonical interface into a call with the real interface.
struct Mapping {
    node: NodeId,
    /// For each real input: the position of the canonical one.
    inputs: Vec<usize>,
    /// For each canonical output: its source.
    outputs: Vec<Source>,
    /// The types of the real outputs.
    types: Vec<Type>,
    /// Conditions, by their canonical inputs; each with a real output that is present together with it.
    gates: Vec<(usize, usize)>,
}

/// Replaces the calls of adjoints by name in a node.
///
/// Requires: the adjoints of every order that the node calls are in `adjoints`.
///
/// Ensures: if `tie`, a condition `bp` that is not sampled or merged is tied to the outputs that it gates, so that a
/// literal is present together with them and not in every cycle.
///
/// # Errors
/// The zeros for a gradient that does not exist exceed the memory limit.
pub(crate) fn resolve(
    module: &mut Module,
    id: NodeId,
    adjoints: &Adjoints,
    tie: bool,
) -> Result<(), Diagnostic> {
    let mut node = module.nodes[id].clone();
    let sampled = if tie { sampled(&node) } else { vec![true; node.vars.len()] };
    let mut equations: IndexVec<Eq, Equation> = IndexVec::new();
    for eq in std::mem::take(&mut node.equations).into_vec() {
        let mapping = match &eq.rhs {
            Rhs::Call { callee: Callee::Diff { node, order }, .. } => {
                mapping(module, *node, *order, adjoints)
            }
            _ => None,
        };
        match mapping {
            Some(mapping) => replace(&mut node, &mut equations, eq, &mapping, (module.precision, &sampled))?,
            None => {
                equations.push(eq);
            }
        }
    }
    node.equations = equations;
    module.nodes[id] = node;
    Ok(())
}

fn mapping(module: &Module, primal: NodeId, order: u8, adjoints: &Adjoints) -> Option<Mapping> {
    // The canonical interface, without conditions, of the function that is differentiated next, and the real positions.
    let node = &module.nodes[primal];
    let mut inputs: Vec<usize> = (0..node.inputs().count()).collect();
    let mut outputs: Vec<Source> = (0..node.outputs.len()).map(Source::Output).collect();
    let mut canonical_inputs: Vec<Type> = node.inputs().map(|i| node.vars[i.var].ty.clone()).collect();
    let mut canonical_outputs: Vec<Type> = node.outputs.iter().map(|&o| node.vars[o].ty.clone()).collect();
    let mut current = primal;
    let mut gates = Vec::new();
    for level in 1..=order {
        let adjoint = adjoints.get(&current)?;
        let bp = canonical_inputs.len();
        gates.extend(gated(module, current, adjoint).map(|output| (bp, output)));
        let num: Vec<usize> =
            (0..canonical_outputs.len()).filter(|&k| canonical_outputs[k].is_num()).collect();
        // The real inputs after those of the primal: bp, then one for each real num output, from its canonical
        // position.
        let real_num = num_outputs(&module.nodes[current]);
        inputs.push(bp);
        for &o in &real_num {
            let real = module.nodes[current].outputs.iter().position(|&v| v == o)?;
            let at = num.iter().position(|&k| matches!(outputs[k], Source::Output(r) if r == real))?;
            inputs.push(bp + 1 + at);
        }
        let gradients = &adjoint.gradients;
        let mut next = outputs.clone();
        let mut types = canonical_outputs.clone();
        let real_inputs = num_inputs(&module.nodes[current]);
        for (k, ty) in canonical_inputs.iter().enumerate().filter(|(_, ty)| ty.is_num()) {
            let real = inputs.iter().position(|&c| c == k);
            let found = real.and_then(|real| gradients.iter().find(|g| g.input == real));
            debug_assert!(found.is_none() || real_inputs.iter().any(|&(i, _)| Some(i) == real));
            let (condition, d) = results(found, adjoint.primal_outputs, bp, ty);
            if level == order {
                next.push(condition);
                types.push(Type::condition());
            }
            next.push(d);
            types.push(ty.clone());
        }
        canonical_inputs.push(Type::condition());
        canonical_inputs.extend(num.iter().map(|&k| canonical_outputs[k].clone()));
        (outputs, canonical_outputs, current) = (next, types, adjoint.node);
    }
    let real = &module.nodes[current];
    let types = real.outputs.iter().map(|&o| real.vars[o].ty.clone()).collect();
    Some(Mapping { node: current, inputs, outputs, types, gates })
}

/// The position of an output of `primal` that is present together with the condition of its adjoint.
fn gated(module: &Module, primal: NodeId, adjoint: &Adjoint) -> Option<usize> {
    let node = &module.nodes[primal];
    let at = adjoint
        .gates
        .iter()
        .position(|gate| gate.condition == 0 && gate.path.is_empty() && !adjoint.is_own)?;
    let output = *num_outputs(node).get(at)?;
    node.outputs.iter().position(|&o| o == output)
}

/// For each variable: whether a `when`, a `merge` or a declared clock determines when it is present, directly or
/// through the variables from which it is computed.
fn sampled(node: &Node) -> Vec<bool> {
    let mut sampled = vec![false; node.vars.len()];
    let mut readers: Vec<Vec<Var>> = vec![Vec::new(); node.vars.len()];
    let mut todo: Vec<Var> = node.inputs().filter(|i| i.clock.is_some()).map(|i| i.var).collect();
    for eq in node.equations.iter() {
        match &eq.rhs {
            Rhs::When { .. } | Rhs::Merge { .. } => todo.extend(&eq.lhs),
            Rhs::Call { .. } => {}
            rhs => for_each_operand(&mut rhs.clone(), |v| readers[v.0 as usize].extend(&eq.lhs)),
        }
    }
    while let Some(v) = todo.pop() {
        if !std::mem::replace(&mut sampled[v.0 as usize], true) {
            todo.extend(&readers[v.0 as usize]);
        }
    }
    sampled
}

fn results(gradient: Option<&Gradient>, start: usize, bp: usize, ty: &Type) -> (Source, Source) {
    let Some((gradient, d)) = gradient.and_then(|g| g.d.map(|d| (g, d))) else {
        return (Source::Argument(bp), Source::Zeros(ty.clone(), bp));
    };
    let condition = gradient.bp.map_or(Source::Argument(bp), |k| Source::Output(start + k));
    (condition, Source::Output(start + d))
}

fn replace(
    node: &mut Node,
    equations: &mut IndexVec<Eq, Equation>,
    eq: Equation,
    mapping: &Mapping,
    (precision, sampled): (Precision, &[bool]),
) -> Result<(), Diagnostic> {
    let Rhs::Call { args, every, instance, statics, .. } = eq.rhs else { return Ok(()) };
    let span = eq.span;
    let mut lhs: Vec<Option<Var>> = vec![None; mapping.types.len()];
    let mut extra = Vec::new();
    for (&v, source) in eq.lhs.iter().zip(&mapping.outputs) {
        match source {
            Source::Output(k) => match lhs.get_mut(*k) {
                Some(slot @ None) => *slot = Some(v),
                Some(Some(same)) => extra.push(Equation { lhs: vec![v], rhs: copy(*same), span }),
                None => {}
            },
            Source::Argument(k) => {
                extra.extend(args.get(*k).map(|&arg| Equation { lhs: vec![v], rhs: copy(arg), span }));
            }
            Source::Zeros(ty, k) => {
                let kind = ConstKind::Value(Value::filled_for(span, ty, 0.0, precision)?);
                let constant = node.consts.push(Constant { kind, ty: ty.clone(), text: None });
                let zero = push_var(node, None, ty.clone(), span);
                extra.push(Equation { lhs: vec![zero], rhs: Rhs::Const(constant), span });
                let rhs = args.get(*k).map(|&cond| Rhs::When { value: zero, cond });
                extra.extend(rhs.map(|rhs| Equation { lhs: vec![v], rhs, span }));
            }
        }
    }
    let lhs = lhs.into_iter().zip(&mapping.types);
    let lhs: Vec<Var> =
        lhs.map(|(v, ty)| v.unwrap_or_else(|| push_var(node, None, ty.clone(), span))).collect();
    for &(bp, output) in &mapping.gates {
        if let (Some(&bp), Some(&o)) = (args.get(bp), lhs.get(output))
            && sampled.get(bp.0 as usize) == Some(&false)
        {
            // This variable is never read: it only makes the condition and the output present in the same cycles.
            let tie = push_var(node, None, node.vars[o].ty.clone(), span);
            extra.push(Equation { lhs: vec![tie], rhs: Rhs::If { cond: bp, then: o, other: o }, span });
        }
    }
    let args = mapping.inputs.iter().filter_map(|&k| args.get(k).copied()).collect();
    let callee = Callee::Node(mapping.node);
    equations.push(Equation { lhs, rhs: Rhs::Call { callee, args, every, instance, statics }, span });
    for eq in extra {
        equations.push(eq);
    }
    Ok(())
}

fn copy(v: Var) -> Rhs {
    Rhs::Apply { op: Op::Copy, args: vec![v], statics: Vec::new() }
}
