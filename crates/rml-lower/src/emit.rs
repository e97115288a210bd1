//! From the graph of a window to a routine: what nobody needs is left out, unless it may fail, and all between two
//! loops is one call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rml_backend::routine::{Body, Loop, Slot};
use rml_backend::{Function, Routine, Val};
use rml_base::{EntityId, IndexVec};

use crate::graph::{Graph, Kind, Node};

/// The routine that computes those values, and `failing` ones, of which only whether they have a result counts; and
/// which of the inputs it takes, in order.
pub(crate) fn routine(
    name: &Arc<str>,
    g: &Graph,
    inputs: &[Node],
    wanted: &[Node],
    failing: &[Node],
) -> (Routine, Vec<usize>) {
    let live = live(g, wanted.iter().chain(failing));
    let mut routine = Routine::new(Arc::clone(name), g.precision);
    let taken: Vec<usize> = (0..inputs.len()).filter(|i| live[inputs[*i]]).collect();
    let mut emit = Emit { g, live, slots: IndexVec::filled(None, g.defs.len()), needed: needed(g, wanted) };
    for i in &taken {
        emit.slots[inputs[*i]] = Some(routine.input(g.ty(inputs[*i]).clone()));
    }
    for behind in 0..=g.loops.len() {
        emit.call(&mut routine, name, behind);
        if behind < g.loops.len() {
            emit.turn(&mut routine, name, behind);
        }
    }
    routine.results = wanted.iter().filter_map(|node| emit.slots[*node]).collect();
    (routine, taken)
}

/// The values that somebody needs.
fn live<'n>(g: &Graph, wanted: impl Iterator<Item = &'n Node>) -> IndexVec<Node, bool> {
    let mut live = IndexVec::filled(false, g.defs.len());
    let mut open: Vec<Node> = wanted.copied().collect();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut live[node], true) {
            continue;
        }
        open.extend(operands(g, node));
        if let Kind::Carried(at) | Kind::Final(at) = g.defs[node].kind {
            let carried = &g.loops[g.defs[node].body.unwrap_or_default()].carried[at];
            open.extend([carried.inside, carried.start, carried.next]);
        }
    }
    live
}

fn operands(g: &Graph, node: Node) -> Vec<Node> {
    match &g.defs[node].kind {
        Kind::Apply { args, .. } => args.clone(),
        Kind::Row { of, .. } => vec![*of],
        Kind::Kept(inner) => vec![*inner],
        Kind::Input | Kind::Const(_) | Kind::Carried(_) | Kind::Final(_) => Vec::new(),
    }
}

/// Where somebody reads a value for the last time: calls have even places, loops odd ones, and results the place after
/// all of them.
fn needed(g: &Graph, wanted: &[Node]) -> IndexVec<Node, usize> {
    let mut needed = IndexVec::filled(0, g.defs.len());
    wanted.iter().for_each(|node| needed[*node] = 2 * g.loops.len() + 2);
    let mut read = |node: Node, at: usize| needed[node] = needed[node].max(at);
    for (node, def) in g.defs.iter_enumerated() {
        let at = def.body.map_or(2 * def.behind, |l| 2 * l + 1);
        operands(g, node).into_iter().for_each(|arg| read(arg, at));
    }
    for (i, l) in g.loops.iter().enumerate() {
        l.carried.iter().for_each(|c| {
            read(c.start, 2 * i + 1);
            read(c.next, 2 * i + 1);
        });
    }
    needed
}

struct Emit<'a> {
    g: &'a Graph,
    live: IndexVec<Node, bool>,
    slots: IndexVec<Node, Option<Slot>>,
    needed: IndexVec<Node, usize>,
}

impl Emit<'_> {
    /// Computes what stands between two loops.
    fn call(&mut self, routine: &mut Routine, name: &Arc<str>, behind: usize) {
        let g = self.g;
        let own = |(node, def): (Node, &crate::graph::Def)| {
            let here = def.body.is_none() && def.behind == behind && self.live[node];
            (here && matches!(def.kind, Kind::Apply { .. } | Kind::Const(_))).then_some(node)
        };
        let nodes: Vec<Node> = g.defs.iter_enumerated().filter_map(own).collect();
        let mut results: Vec<Node> =
            nodes.iter().copied().filter(|node| self.needed[*node] > 2 * behind).collect();
        if results.is_empty() {
            // Nobody reads them, but they may fail.
            results.extend(nodes.iter().rev().copied().find(|node| g.may_fail(*node)));
        }
        if results.is_empty() {
            return;
        }
        let computed: Vec<Node> =
            nodes.into_iter().filter(|n| matches!(g.defs[*n].kind, Kind::Apply { .. })).collect();
        let (function, args) = self.function(name, &[], &computed, &results);
        let args = args.into_iter().filter_map(|node| self.slots[node]).collect();
        for (node, slot) in results.into_iter().zip(routine.call(function, args)) {
            self.slots[node] = Some(slot);
        }
    }

    /// A function that computes nodes in this order; its first inputs, and the values from elsewhere that follow them.
    fn function(
        &self,
        name: &Arc<str>,
        first: &[Node],
        computed: &[Node],
        results: &[Node],
    ) -> (Function, Vec<Node>) {
        let g = self.g;
        let mut function = Function::new(Arc::clone(name), g.precision);
        let mut values: BTreeMap<Node, Val> = BTreeMap::new();
        for node in first {
            values.insert(*node, function.input(g.ty(*node).clone(), g.defs[*node].span));
        }
        let read = computed.iter().flat_map(|node| operands(g, *node)).chain(results.iter().copied());
        let (mut args, mut consts) = (Vec::new(), Vec::new());
        let mut seen: BTreeSet<Node> = first.iter().chain(computed).copied().collect();
        for node in read {
            if !seen.insert(node) {
                continue;
            }
            match &g.defs[node].kind {
                Kind::Const(_) => consts.push(node),
                _ => args.push(node),
            }
        }
        for node in &args {
            values.insert(*node, function.input(g.ty(*node).clone(), g.defs[*node].span));
        }
        for node in consts {
            if let Kind::Const(value) = &g.defs[node].kind {
                values.insert(node, function.constant(value, g.defs[node].span));
            }
        }
        for node in computed {
            if let Kind::Apply { op, args } = &g.defs[*node].kind {
                let operands: Vec<Val> = args.iter().filter_map(|a| values.get(a).copied()).collect();
                if let Ok(value) = function.apply(op.clone(), operands, g.defs[*node].span) {
                    values.insert(*node, value);
                }
            }
        }
        function.results = results.iter().filter_map(|node| values.get(node).copied()).collect();
        (function, args)
    }

    /// Runs a loop.
    fn turn(&mut self, routine: &mut Routine, name: &Arc<str>, at: usize) {
        let g = self.g;
        let l = &g.loops[at];
        let live = |node: &Node| self.live[*node];
        let carried: Vec<usize> = (0..l.carried.len()).filter(|i| live(&l.carried[*i].inside)).collect();
        let of = |f: fn(&Kind) -> bool| {
            let all = g.defs.iter_enumerated().filter(|(node, def)| def.body == Some(at) && self.live[*node]);
            all.filter(|(_, def)| f(&def.kind)).map(|(node, _)| node).collect::<Vec<Node>>()
        };
        let rows = of(|kind| matches!(kind, Kind::Row { .. }));
        let kept = of(|kind| matches!(kind, Kind::Kept(_)));
        let computed = of(|kind| matches!(kind, Kind::Apply { .. }));
        let last = computed.iter().rev().copied().find(|node| g.may_fail(*node));
        let checked = last.filter(|_| carried.is_empty() && kept.is_empty());
        if carried.is_empty() && kept.is_empty() && checked.is_none() {
            return;
        }
        let inside = |i: &usize| l.carried[*i].inside;
        let first: Vec<Node> = carried.iter().map(inside).chain(rows.iter().copied()).collect();
        let next = carried.iter().map(|i| l.carried[*i].next);
        let inner = |node: &Node| if let Kind::Kept(inner) = g.defs[*node].kind { inner } else { *node };
        let results: Vec<Node> = next.chain(kept.iter().map(inner)).chain(checked).collect();
        let (body, whole) = self.function(name, &first, &computed, &results);
        let slot = |node: Node| self.slots[node];
        let row = |node: &Node| match g.defs[*node].kind {
            Kind::Row { of, offset } => Some((slot(of)?, offset)),
            _ => None,
        };
        let made = routine.repeat(Loop {
            body: Body::Function(body),
            count: l.count,
            backward: l.backward,
            carried: carried.iter().filter_map(|i| slot(l.carried[*i].start)).collect(),
            rows: rows.iter().filter_map(row).collect(),
            whole: whole.into_iter().filter_map(slot).collect(),
            out: Slot::from_index(0),
        });
        let finals = |i: usize| {
            let is = move |kind: &Kind| matches!(kind, Kind::Final(k) if *k == i);
            g.defs.iter_enumerated().filter(move |(_, d)| d.body == Some(at) && is(&d.kind)).map(|(n, _)| n)
        };
        for (i, slot) in carried.iter().zip(&made) {
            finals(*i).for_each(|node| self.slots[node] = Some(*slot));
        }
        for (node, slot) in kept.iter().zip(&made[carried.len()..]) {
            self.slots[*node] = Some(*slot);
        }
    }
}
