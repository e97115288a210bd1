//! Calls one after the other.

use std::collections::BTreeMap;

use crate::program::{Equation, Node, Rhs, Var};

/// How many calls make a chain.
const LEAST: usize = 3;

/// A call that may be a link: its callee, its arguments, its slots and its result.
struct Link<'n> {
    equation: usize,
    node: usize,
    args: &'n [Var],
    slots: &'n [usize],
    result: Var,
}

/// Calls of one node, each with the result of the one before at the same argument and all else as it was, become a
/// chain.
pub(super) fn chain(node: &mut Node) {
    let links: Vec<Link<'_>> = node.equations.iter().enumerate().filter_map(|(k, e)| link(k, e)).collect();
    let mut readers: BTreeMap<Var, Vec<usize>> = BTreeMap::new();
    for (k, link) in links.iter().enumerate() {
        link.args.iter().for_each(|arg| readers.entry(*arg).or_default().push(k));
    }
    let mut taken = vec![false; links.len()];
    let mut chains = Vec::new();
    for first in 0..links.len() {
        let along = (0..links[first].args.len()).map(|at| (at, follow(&links, &readers, &taken, first, at)));
        let longest = along.max_by_key(|(at, chain)| (chain.len(), usize::MAX - at));
        if let Some((at, chain)) = longest.filter(|(_, chain)| chain.len() >= LEAST) {
            chain.iter().for_each(|&k| taken[k] = true);
            let of = &links[first];
            let slots = chain.iter().map(|&k| links[k].slots.to_vec()).collect();
            let rhs = Rhs::Chain { node: of.node, args: of.args.to_vec(), at, slots };
            let lhs = chain.iter().map(|&k| links[k].result).collect();
            let calls: Vec<usize> = chain.iter().map(|&k| links[k].equation).collect();
            chains.push((calls, Equation { lhs, rhs }));
        }
    }
    for (calls, chain) in chains {
        replace(node, &calls, chain);
    }
    node.equations.retain(|e| !e.lhs.is_empty());
}

fn link(equation: usize, of: &Equation) -> Option<Link<'_>> {
    let (Rhs::Call { node, args, along: None, slots }, [result]) = (&of.rhs, of.lhs.as_slice()) else {
        return None;
    };
    Some(Link { equation, node: *node, args, slots, result: *result })
}

/// The calls that follow one along an argument, with it.
fn follow(
    links: &[Link<'_>],
    readers: &BTreeMap<Var, Vec<usize>>,
    taken: &[bool],
    first: usize,
    at: usize,
) -> Vec<usize> {
    let mut chain = vec![first];
    if taken[first] {
        return Vec::new();
    }
    while let Some(&last) = chain.last() {
        let before = &links[last];
        let continues = |k: &&usize| {
            let link = &links[**k];
            let same =
                |(i, (a, b)): (usize, (&Var, &Var))| if i == at { *a == before.result } else { a == b };
            !taken[**k] && link.node == before.node && link.args.iter().zip(before.args).enumerate().all(same)
        };
        match readers.get(&before.result).and_then(|readers| readers.iter().find(continues)) {
            Some(next) => chain.push(*next),
            None => break,
        }
    }
    chain
}

/// Puts a chain where its first call was. An output of the node keeps a variable of its own.
fn replace(node: &mut Node, calls: &[usize], mut chain: Equation) {
    let mut copies = Vec::new();
    for member in &mut chain.lhs {
        // A member has the name of its family.
        if !node.outputs.contains(member) {
            node.vars[member.0].name = None;
        }
        if node.outputs.contains(member) {
            let var = node.var(node.ty(*member).clone(), None);
            copies.push((*member, var));
            *member = var;
        }
    }
    for &call in calls {
        node.equations[call].lhs.clear();
    }
    node.equations[calls[0]] = chain;
    for (output, member) in copies {
        let rhs = Rhs::Apply(rml_ir::op::Op::Copy, vec![member]);
        node.equations.push(Equation { lhs: vec![output], rhs });
    }
}
