//! Finishes a synthesised node: substitutes variables, removes unused equations, orders the others, and renumbers the
//! tables.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{IndexVec, Span};
use rml_ir::normal::{ConstId, Constant, Eq, Equation, Formal, Init, Node, Rhs, Var, VarData};

use rml_ir::surface::Origins;

use crate::activity::Use;
use crate::build::Builder;
use crate::node::{for_each_operand, operands};

/// The variable that finally replaces `v`.
pub(crate) fn resolve(alias: &BTreeMap<Var, Var>, mut v: Var) -> Var {
    while let Some(&next) = alias.get(&v) {
        v = next;
    }
    v
}

/// Finishes the node under construction. `keys` orders the gradients of forward variables, and `uses` are their
/// contributions. Also returns which equations are transposed by each equation of the result.
pub(crate) fn finish(
    b: Builder,
    source: &Node,
    keys: &BTreeMap<Var, (usize, bool, usize)>,
    uses: &BTreeMap<Var, Vec<Use>>,
) -> (Node, Origins) {
    let Builder { mut node, mut adjoint, alias, gradients, .. } = b;
    for eq in node.equations.iter_mut().chain(&mut adjoint) {
        eq.lhs.iter_mut().for_each(|v| *v = resolve(&alias, *v));
        for_each_operand(&mut eq.rhs, |v| *v = resolve(&alias, *v));
    }
    node.outputs.iter_mut().for_each(|v| *v = resolve(&alias, *v));
    for claim in &mut node.claims {
        (claim.var, claim.cond) = (resolve(&alias, claim.var), resolve(&alias, claim.cond));
    }
    let gradient_keys: BTreeMap<Var, (usize, bool, usize)> =
        gradients.iter().filter_map(|(v, d)| keys.get(v).map(|&key| (resolve(&alias, *d), key))).collect();
    let adjoint = live(&node, adjoint);
    let adjoint = ordered(&node, adjoint, &gradient_keys);
    // Conditions come first; all further equations are gradients.
    let (mut adjoint, gradients_of): (Vec<Equation>, Vec<Equation>) =
        adjoint.into_iter().partition(|eq| eq.lhs.iter().all(|&v| !node.vars[v].ty.is_num()));
    adjoint.extend(gradients_of);
    let contributions = |v: &Var| uses.get(v).map(|uses| uses.iter().map(|found| found.eq));
    let mut sources: BTreeMap<Var, Vec<Eq>> = BTreeMap::new();
    for (v, d) in &gradients {
        sources.entry(resolve(&alias, *d)).or_default().extend(contributions(v).into_iter().flatten());
    }
    node.equations = node.equations.into_vec().into_iter().chain(adjoint).collect();
    let mut of = |eq: &Equation| eq.lhs.first().and_then(|v| sources.remove(v));
    let ids = node.equations.ids().skip(source.equations.len());
    let lines: Vec<Option<Vec<Eq>>> =
        node.equations.iter().skip(source.equations.len()).map(&mut of).collect();
    let transposed = ids.zip(lines).filter_map(|(id, of)| Some((id, of?))).collect();
    (compact(node, source.span), Origins { transposed, calls: BTreeMap::new() })
}

/// The adjoint equations that the outputs and the forward equations depend on.
fn live(node: &Node, adjoint: Vec<Equation>) -> Vec<Equation> {
    let definition: BTreeMap<Var, usize> =
        adjoint.iter().enumerate().flat_map(|(i, eq)| eq.lhs.iter().map(move |&v| (v, i))).collect();
    let mut needed = BTreeSet::new();
    let mut todo: Vec<Var> = node.outputs.clone();
    todo.extend(node.equations.iter().flat_map(|eq| operands(&eq.rhs)));
    while let Some(v) = todo.pop() {
        if let Some(&i) = definition.get(&v)
            && needed.insert(i)
        {
            todo.extend(operands(&adjoint[i].rhs));
        }
    }
    adjoint.into_iter().enumerate().filter(|(i, _)| needed.contains(i)).map(|(_, eq)| eq).collect()
}

/// The gradients in the order of their keys, each after the temporaries and conditions that it reads.
fn ordered(node: &Node, adjoint: Vec<Equation>, keys: &BTreeMap<Var, (usize, bool, usize)>) -> Vec<Equation> {
    let definition: BTreeMap<Var, usize> =
        adjoint.iter().enumerate().flat_map(|(i, eq)| eq.lhs.iter().map(move |&v| (v, i))).collect();
    let key = |i: usize| adjoint[i].lhs.iter().find_map(|v| keys.get(v)).copied();
    let named = |i: usize| adjoint[i].lhs.iter().any(|&v| node.vars[v].name.is_some());
    let mut heads: Vec<usize> = (0..adjoint.len()).filter(|&i| named(i)).collect();
    heads.sort_by_key(|&i| (key(i).is_none(), key(i), i));
    heads.extend((0..adjoint.len()).filter(|&i| !named(i)));
    let mut order: Vec<usize> = Vec::new();
    let mut state = vec![0_u8; adjoint.len()];
    for head in heads {
        let mut stack = vec![head];
        while let Some(&i) = stack.last() {
            match state[i] {
                0 => {
                    state[i] = 1;
                    // Named gradients have their own place in the order; only unnamed ones are placed before their
                    // reader.
                    let next = operands(&adjoint[i].rhs).into_iter().rev();
                    let next = next.filter_map(|v| definition.get(&v).copied());
                    stack.extend(next.filter(|&j| state[j] == 0 && (key(j).is_none() || !named(j))));
                }
                1 => {
                    state[i] = 2;
                    order.push(i);
                    stack.pop();
                }
                _ => {
                    stack.pop();
                }
            }
        }
    }
    let mut slots: Vec<Option<Equation>> = adjoint.into_iter().map(Some).collect();
    order.into_iter().filter_map(|i| slots.get_mut(i).and_then(Option::take)).collect()
}

/// Removes variables and constants that are not used.
fn compact(mut node: Node, span: Span) -> Node {
    let mut vars: BTreeSet<Var> = node.outputs.iter().copied().collect();
    for input in node.inputs() {
        vars.insert(input.var);
        vars.extend(input.clock.map(|(c, _)| c));
    }
    let mut consts: BTreeSet<ConstId> = BTreeSet::new();
    for eq in node.equations.iter_mut() {
        vars.extend(eq.lhs.iter().copied());
        for_each_operand(&mut eq.rhs, |v| {
            vars.insert(*v);
        });
        consts.extend(const_of(&mut eq.rhs).map(|k| *k));
    }
    let mut table: IndexVec<Var, VarData> = IndexVec::new();
    let new_var: BTreeMap<Var, Var> =
        vars.into_iter().map(|v| (v, table.push(node.vars[v].clone()))).collect();
    let mut values: IndexVec<ConstId, Constant> = IndexVec::new();
    let new_const: BTreeMap<ConstId, ConstId> =
        consts.into_iter().map(|k| (k, values.push(node.consts[k].clone()))).collect();
    let var = |v: &mut Var| *v = new_var[v];
    for eq in node.equations.iter_mut() {
        eq.lhs.iter_mut().for_each(var);
        for_each_operand(&mut eq.rhs, var);
        if let Some(k) = const_of(&mut eq.rhs) {
            *k = new_const[k];
        }
    }
    node.outputs.iter_mut().for_each(var);
    node.claims.retain(|c| new_var.contains_key(&c.var) && new_var.contains_key(&c.cond));
    for claim in &mut node.claims {
        var(&mut claim.var);
        var(&mut claim.cond);
    }
    for formal in &mut node.formals {
        if let Formal::Stream(input) = formal {
            var(&mut input.var);
            if let Some((cond, _)) = &mut input.clock {
                var(cond);
            }
        }
    }
    Node { vars: table, consts: values, span, ..node }
}

fn const_of(rhs: &mut Rhs) -> Option<&mut ConstId> {
    match rhs {
        Rhs::Const(k) => Some(k),
        Rhs::Fby { init: Init::Const(k), .. } | Rhs::FbyBack { init: Init::Const(k), .. } => Some(k),
        _ => None,
    }
}
