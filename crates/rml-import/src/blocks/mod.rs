//! Repeated blocks: what a program computes several times in the same way, up to its parameters, becomes a node that is
//! called several times.
//!
//! A *block* is a run of equations. Equal runs are proposed by comparing what each equation is, whatever it reads
//! (`runs`). Those that are also connected alike (`shape`) become one node (`extract`): the layers of a Transformer,
//! the blocks of a ResNet, the branches of a network. The runs that save most are taken first, then what repeats in
//! the nodes that they became. Calls one after the other become a chain (`chain`), which is printed as a family.
//!
//! Where several cuts save the same, that one is taken whose equations have the longest scope in common in the names of
//! the model, so that blocks begin and end where the modules of the model do.

use crate::names::Taken;
use crate::program::{Program, Rhs};

mod alike;
mod chain;
mod extract;
mod runs;
mod shape;
mod steps;
mod words;

pub(crate) use alike::Alike;

/// How many equations are looked at in all: the more there are, the shorter are the runs that are compared.
const WORK: usize = 1 << 24;

/// Finds repeated blocks and makes nodes of them. The node that runs is the last one, before and after.
///
/// Ensures: the program computes the same, by the same operators on the same operands.
pub(crate) fn outline(program: &mut Program, alike: &mut Alike, names: &mut Taken) {
    let Some(root) = program.nodes.len().checked_sub(1) else { return };
    let mut work = WORK;
    let mut id = 0;
    while id < program.nodes.len() {
        while let Some(block) = runs::best(&program.nodes[id], alike, &mut work) {
            extract::extract(program, id, &block, alike);
        }
        chain::chain(&mut program.nodes[id]);
        id += 1;
    }
    order(program, root, names);
}

/// Puts nodes before those that call them, the node that runs last, and drops those that nothing calls. The nodes after
/// the one that runs, which are new, get names that no other node has.
fn order(program: &mut Program, root: usize, names: &mut Taken) {
    let mut place = vec![None; program.nodes.len()];
    let mut order = Vec::new();
    let mut todo = vec![(root, false)];
    while let Some((id, is_done)) = todo.pop() {
        if place[id].is_some() {
            continue;
        }
        if is_done {
            place[id] = Some(order.len());
            order.push(id);
            continue;
        }
        todo.push((id, true));
        let calls: Vec<usize> =
            program.nodes[id].equations.iter().filter_map(|e| Some(e.rhs.calls()?.0)).collect();
        todo.extend(calls.into_iter().rev().map(|callee| (callee, false)));
    }
    let mut nodes: Vec<_> = std::mem::take(&mut program.nodes).into_iter().map(Some).collect();
    for id in order {
        let Some(mut node) = nodes[id].take() else { continue };
        if id > root {
            node.name = names.fresh(&node.name);
        }
        for equation in &mut node.equations {
            if let Rhs::Call { node, .. } | Rhs::Chain { node, .. } = &mut equation.rhs
                && let Some(place) = place[*node]
            {
                *node = place;
            }
        }
        program.nodes.push(node);
    }
}
