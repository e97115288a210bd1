//! The nodes of a program as C runs them, and how long each slot is needed.
//!
//! C runs nodes tick by tick. A node over all ticks is a loop over these, too: it is cut where a stage reads a later
//! tick of what the node fills. So what is read at the same tick alone has room for one tick.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_nest::{
    Access, Def, Ends, Home, Node, Order, Positions, Program, Slot, Stage, Test, Tick, Work, Write, accesses,
};

/// How many elements the stages of a function fill in a program of one tick, unless one stage fills more.
const LARGE: usize = 32;

/// The nodes that C runs: none is over all ticks at once.
pub(crate) fn nodes(program: &Program, cycles: usize) -> Vec<Node> {
    let searches = matches!(program.ends, Ends::Found { .. });
    let mut all = program.nodes.iter().cloned();
    let first = if searches { all.next() } else { None };
    let rest: Vec<Node> = late(program, all.collect()).into_iter().flat_map(parted).collect();
    let rest =
        if cycles > 1 { rest } else { rest.into_iter().flat_map(|node| small(program, node)).collect() };
    first.into_iter().chain(rest).collect()
}

fn forward(stages: Vec<Stage>) -> Node {
    Node { order: Order::Forward, by: Vec::new(), stages, writes: Vec::new() }
}

/// The same nodes, where a stage over all ticks runs right before what reads its values, if these take more memory than
/// what it reads.
fn late(program: &Program, nodes: Vec<Node>) -> Vec<Node> {
    let mut units: Vec<Node> = Vec::new();
    for node in nodes {
        match node.order {
            Order::Over => units.extend(node.stages.into_iter().map(over)),
            Order::Forward | Order::Backward => units.push(node),
        }
    }
    for i in (0..units.len()).rev() {
        if units[i].order != Order::Over || units[i].stages.iter().any(|stage| stage.may_fail) {
            continue;
        }
        let filled: Vec<Slot> = units[i].stages.iter().flat_map(Stage::fills).collect();
        let reads =
            |node: &Node, slots: &[Slot]| of_node(node).iter().any(|access| slots.contains(&access.slot));
        let Some(reader) = (i + 1..units.len()).find(|k| reads(&units[*k], &filled)) else { continue };
        let size = |slot: &Slot| program.slots[*slot].ty.shape.len();
        let is_held = |slot: &Slot| {
            !matches!(program.slots[*slot].home, Home::Tick { .. })
                || units[reader..].iter().any(|node| reads(node, &[*slot]))
        };
        let read: BTreeSet<Slot> = of_node(&units[i]).iter().map(|access| access.slot).collect();
        let longer: usize = read.iter().filter(|slot| !is_held(slot)).map(size).sum();
        if filled.iter().map(size).sum::<usize>() > longer {
            let unit = units.remove(i);
            units.insert(reader - 1, unit);
        }
    }
    let mut nodes: Vec<Node> = Vec::new();
    for unit in units {
        match nodes.last_mut() {
            Some(last) if unit.order == Order::Over && last.order == Order::Over => {
                last.stages.extend(unit.stages)
            }
            _ => nodes.push(unit),
        }
    }
    nodes
}

/// Everything that a node reads.
fn of_node(node: &Node) -> Vec<Access> {
    let stages = node.stages.iter().flat_map(Stage::reads).map(|(_, access)| access);
    stages.chain(node.writes.iter().flat_map(of_write)).chain(node.by.iter().cloned()).collect()
}

fn over(stage: Stage) -> Node {
    Node { order: Order::Over, ..forward(vec![stage]) }
}

/// A node over all ticks as loops over ticks, none of which reads a later tick of what it fills.
fn parted(node: Node) -> Vec<Node> {
    if node.order != Order::Over {
        return vec![node];
    }
    let mut nodes: Vec<Node> = Vec::new();
    for stage in node.stages {
        let reads_later = |own: &Node| {
            let is_later = |access: &Access| matches!(access.tick, Tick::After | Tick::Last);
            let fills = |slot: Slot| own.stages.iter().any(|s| s.fills().any(|filled| filled == slot));
            stage.reads().iter().any(|(_, access)| is_later(access) && fills(access.slot))
        };
        match nodes.last_mut().filter(|own| !reads_later(own)) {
            Some(own) => own.stages.push(stage),
            None => nodes.push(forward(vec![stage])),
        }
    }
    nodes
}

/// A node of a program of one tick as several: what one of them needs alone, the next one has the memory of.
fn small(program: &Program, node: Node) -> Vec<Node> {
    let (mut nodes, mut last, mut filled) = (Vec::new(), forward(Vec::new()), 0);
    for stage in node.stages {
        let own = stage.fills().map(|slot| program.slots[slot].ty.shape.len()).sum::<usize>();
        if filled > 0 && filled + own > LARGE {
            nodes.push(std::mem::replace(&mut last, forward(Vec::new())));
            filled = 0;
        }
        filled += own;
        last.stages.push(stage);
    }
    last.writes = node.writes;
    nodes.push(last);
    nodes
}

/// From which node to which one a slot is needed.
pub(crate) type Span = (usize, usize);

/// What is known about the slots of a program.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Whether a slot has room for one tick.
    pub(crate) one: IndexVec<Slot, bool>,
    /// Whether a slot has the same value at all ticks, and may be filled before them.
    pub(crate) steady: IndexVec<Slot, bool>,
    /// Where a slot is needed; none of what nothing reads, or what is elsewhere.
    pub(crate) spans: IndexVec<Slot, Option<Span>>,
    /// The registers that nodes write.
    pub(crate) in_turn: BTreeSet<Slot>,
}

/// A read of a slot.
struct Read {
    node: usize,
    stage: usize,
    tick: Tick,
}

/// What reads and what fills each slot.
struct Uses {
    reads: IndexVec<Slot, Vec<Read>>,
    /// The node and the stage.
    fills: IndexVec<Slot, Vec<(usize, usize)>>,
    /// Slots that calls fill, which need a place even if nothing reads it.
    called: BTreeSet<Slot>,
}

impl Uses {
    fn of(program: &Program) -> Uses {
        let n = program.slots.len();
        let mut reads: IndexVec<Slot, Vec<Read>> = (0..n).map(|_| Vec::new()).collect();
        let mut fills = IndexVec::filled(Vec::new(), n);
        let mut called = BTreeSet::new();
        let mut read = |access: Access, node, stage| {
            reads[access.slot].push(Read { node, stage, tick: access.tick });
        };
        for (k, node) in program.nodes.iter().enumerate() {
            for (s, stage) in node.stages.iter().enumerate() {
                stage.reads().into_iter().for_each(|(_, access)| read(access, k, s));
                stage.fills().for_each(|slot| fills[slot].push((k, s)));
                if let Work::Call(call) = &stage.work {
                    called.insert(call.out);
                }
            }
            for access in node.writes.iter().flat_map(of_write) {
                read(access, k, node.stages.len());
            }
        }
        if let Ends::Found { conds, .. } = &program.ends {
            conds.iter().for_each(|end| read(end.cond.clone(), 0, usize::MAX));
        }
        for access in last_reads(program) {
            read(access, program.nodes.len(), 0);
        }
        Uses { reads, fills, called }
    }
}

impl Layout {
    /// Of a program that runs for at most `cycles` ticks in a call.
    pub(crate) fn new(program: &Program, cycles: usize) -> Layout {
        let uses = Uses::of(program);
        let writes = program.nodes.iter().flat_map(|node| &node.writes);
        let in_turn: BTreeSet<Slot> = writes.map(|write| write.register).collect();
        let steady = steady(program, &uses, &in_turn, cycles);
        let is_filled = |slot: &Slot| matches!(program.slots[*slot].home, Home::Tick { .. });
        let one =
            |slot: Slot| is_filled(&slot) && (cycles == 1 || steady[slot] || has_one(program, slot, &uses));
        let span = |slot: Slot| {
            let is_needed = !uses.reads[slot].is_empty() || uses.called.contains(&slot);
            let filled = uses.fills[slot].iter().map(|(node, _)| *node);
            let used: Vec<usize> = filled.chain(uses.reads[slot].iter().map(|read| read.node)).collect();
            let span = used.iter().min().copied().zip(used.iter().max().copied());
            span.filter(|_| is_needed && is_filled(&slot))
        };
        Layout {
            one: program.slots.ids().map(one).collect(),
            spans: program.slots.ids().map(span).collect(),
            steady,
            in_turn,
        }
    }
}

/// Everything that a write reads.
pub(crate) fn of_write(write: &Write) -> Vec<Access> {
    let guards = write.when.iter().map(|guard| guard.cond.clone());
    let values = accesses(&write.value).into_iter().map(|(_, access)| access);
    guards.chain(write.unless.iter().cloned()).chain(values).collect()
}

/// What is read when all nodes have run.
fn last_reads(program: &Program) -> Vec<Access> {
    let cases = program.outputs.iter().flat_map(|output| &output.cases);
    let outputs = cases.flat_map(|(_, when, source)| {
        let guards = when.iter().map(|guard| guard.cond.clone());
        guards.chain(accesses(source).into_iter().map(|(_, access)| access)).collect::<Vec<_>>()
    });
    program.commits.iter().flat_map(of_write).chain(outputs).collect()
}

fn steady(program: &Program, uses: &Uses, in_turn: &BTreeSet<Slot>, cycles: usize) -> IndexVec<Slot, bool> {
    let mut steady = IndexVec::filled(false, program.slots.len());
    if cycles == 1 {
        return steady;
    }
    let first = usize::from(matches!(program.ends, Ends::Found { .. }));
    for (k, node) in program.nodes.iter().enumerate().skip(first) {
        for stage in &node.stages {
            let stays = |access: &Access| match (&program.slots[access.slot].home, access.tick) {
                (Home::Const(_), _) => true,
                (Home::Register { .. }, _) => !in_turn.contains(&access.slot),
                (Home::Input, tick) => is_edge(program, tick),
                (Home::Tick { .. }, Tick::Now) => steady[access.slot],
                (Home::Tick { .. }, tick) => {
                    is_edge(program, tick) && uses.fills[access.slot].iter().all(|(node, _)| *node < k)
                }
            };
            let is_same = stage.sources().iter().all(|source| {
                let test = |test: &Test| match test {
                    Test::Is(guard) => stays(&guard.cond),
                    Test::IsSet(register) => !in_turn.contains(register),
                };
                source.iter().all(|v| v.at == Positions::ALL && v.any.iter().all(test) && stays(&v.access))
            });
            let is_alone = stage.fills().all(|slot| uses.fills[slot].len() == 1);
            if is_same && is_alone && stage.at == Positions::ALL && stage.when.is_empty() && !stage.may_fail {
                stage.fills().for_each(|slot| steady[slot] = true);
            }
        }
    }
    steady
}

/// Whether a tick is the first or the last one of a window, and is known before the ticks run.
fn is_edge(program: &Program, tick: Tick) -> bool {
    match tick {
        Tick::First => true,
        Tick::Last => program.ahead == 0,
        Tick::Now | Tick::Before | Tick::After => false,
    }
}

/// Whether what a slot holds at a tick is read before the next tick fills it.
fn has_one(program: &Program, slot: Slot, uses: &Uses) -> bool {
    let Some((own, _)) = uses.fills[slot].first().copied() else { return true };
    let positions = uses.fills[slot].iter().map(|(node, stage)| program.nodes[*node].stages[*stage].at);
    if positions.fold(Positions::NONE, Positions::or).is_edge() {
        return true;
    }
    if uses.fills[slot].iter().any(|(node, _)| *node != own) {
        return false;
    }
    let reads = &uses.reads[slot];
    if reads.iter().all(|read| read.node == own && read.tick == Tick::Now) {
        return true;
    }
    let node = &program.nodes[own];
    let (before, edge) = match node.order {
        Order::Over | Order::Forward => (Tick::Before, Tick::Last),
        Order::Backward => (Tick::After, Tick::First),
    };
    // What is read in its loop at the tick that the loop has passed, before it is filled again; and outside of it after
    // the last one.
    let is_read_first = |s: usize| {
        uses.fills[slot].iter().all(|(_, f)| {
            let is_apart =
                node.stages.get(s).is_some_and(|stage| stage.at.and(node.stages[*f].at).is_empty());
            s < *f || is_apart || s == *f && is_added(&node.stages[*f].work, slot)
        })
    };
    let is_passed = |read: &Read| match read.node == own {
        true => read.tick == Tick::Now || read.tick == before && is_read_first(read.stage),
        false => read.tick == edge && read.node > own,
    };
    program.ahead == 0 && reads.iter().all(is_passed)
}

/// Whether a stage reads each element of a slot once, before it stores the same one.
fn is_added(work: &Work, slot: Slot) -> bool {
    let nest = match work {
        Work::Call(call) => {
            let reads = |operand: &rml_nest::Operand| operand.source.iter().any(|v| v.access.slot == slot);
            return call.start.is_some() && !call.operands.iter().any(reads);
        }
        Work::Nest(nest) => nest,
    };
    let stores: Vec<_> = nest.stores.iter().filter(|(access, _)| access.slot == slot).collect();
    let loads: Vec<_> = nest
        .body
        .iter_enumerated()
        .filter(|(_, def)| def.source().is_some_and(|source| source.iter().any(|v| v.access.slot == slot)))
        .collect();
    let ([(store, stored)], [(val, Def::Load(source))]) = (&stores[..], &loads[..]) else { return false };
    let is_same = |a: &Access| a.slot != slot || (a.offset, &a.strides) == (store.offset, &store.strides);
    let uses = nest.body.iter().map(|def| def.operands().iter().filter(|of| *of == val).count());
    // Its own value must be the one that is stored, or an operand of it.
    let (uses, kept) = (uses.sum::<usize>(), nest.stores.iter().filter(|(_, stored)| stored == val).count());
    let feeds = matches!(&nest.body[*stored], Def::Apply(_, args) if args.contains(val));
    (feeds && (uses, kept) == (1, 0) || stored == val && (uses, kept) == (0, 1))
        && source.iter().all(|v| is_same(&v.access))
}
