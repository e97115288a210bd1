//! Assigns nodes to sweeps.
//!
//! A sweep goes over the segments of a window, one after the other: the first sweep from the first segment to the last
//! one, the second one back, the third one forward again. Each node runs in the first sweep that visits segments in a
//! suitable order and by which all its inputs are available. It runs again in later sweeps that need its values.

use std::collections::BTreeSet;

use super::super::code::{At, Code, Slot};
use super::nodes::{Kind, Node, Nodes};

/// Whether a sweep goes from the last segment to the first one.
pub(super) fn is_backward(sweep: usize) -> bool {
    sweep.is_multiple_of(2)
}

/// Where the values of a place are while a window runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// There is none.
    None,
    /// One value, which is available from its node on.
    Fixed,
    /// One value, within its node.
    Scratch,
    /// A value for each tick of the window.
    Long,
    /// A value for each tick of the segment.
    Segment,
}

/// A side of a segment: the ticks before it, or those after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Side {
    Before,
    Behind,
}

/// The work of a sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// The nodes that run once per window, before the first segment.
    pub(super) before: Vec<usize>,
    /// For each node, whether it runs in this sweep; `Once` nodes run in its first segment.
    pub(super) runs: Vec<bool>,
    /// The values of neighbouring segments that are read.
    pub(super) halos: BTreeSet<(Slot, Side)>,
}

/// All sweeps of a window, from number 1 on; entry 0 is unused. Values that are available before the first segment are
/// computed in `before` of sweep 1; the last entry may have only a `before`.
pub(super) struct Sweeps {
    pub(super) orders: Vec<Order>,
    pub(super) classes: Vec<Class>,
    /// For each place, the sweep in which it is filled first.
    pub(super) level: Vec<usize>,
    /// Which nodes fill it.
    pub(super) writers: Vec<Vec<usize>>,
    /// The rows kept for each segment, for sweeps in the other direction.
    pub(super) saved: BTreeSet<(Slot, Side)>,
    /// Whether values that a later sweep reads are available for the whole window.
    pub(super) is_stored: bool,
}

impl Sweeps {
    /// The sweeps of code. What a later sweep reads is available for the whole window if it `is_stored`; else it is
    /// computed again.
    pub(super) fn of(code: &Code, all: &Nodes, is_stored: bool) -> Self {
        let mut writers = vec![Vec::new(); code.slots.len()];
        for (i, node) in all.nodes.iter().enumerate() {
            node.fills.iter().for_each(|slot| writers[slot.0].push(i));
        }
        let classes = classes(code, all, &writers);
        let mut levels = Levels {
            code,
            all,
            classes: &classes,
            writers: &writers,
            level: vec![0; code.slots.len()],
            time: vec![0; code.slots.len()],
        };
        let when: Vec<usize> = all.nodes.iter().enumerate().map(|(i, node)| levels.settle(i, node)).collect();
        let level = levels.level;
        let classes = if is_stored { stored(code, all, &level, &when, classes) } else { classes };
        let last = all.nodes.iter().zip(&when).map(|(node, when)| match node.kind {
            Kind::Once => (when / 2).max(1),
            _ => *when,
        });
        let count = last.max().unwrap_or(0) + 1;
        let mut sweeps = Self {
            orders: vec![Order { runs: vec![false; all.nodes.len()], ..Order::default() }; count],
            classes,
            level,
            writers,
            saved: BTreeSet::new(),
            is_stored,
        };
        sweeps.fill(code, all, &when);
        sweeps
    }

    /// Decides what each sweep does, starting with the last one: a node that runs again in a sweep may need rows that
    /// an earlier sweep has to leave.
    fn fill(&mut self, code: &Code, all: &Nodes, when: &[usize]) {
        let is_once = |i: usize| all.nodes[i].kind == Kind::Once;
        let nodes = 0..all.nodes.len();
        let mut pinned = vec![false; code.slots.len()];
        for (r, _) in code.refs.iter().zip(&all.ats).filter(|(_, at)| !matches!(at, At::Here(_))) {
            pinned[r.slot.0] = true;
        }
        let roots = nodes.clone().filter(|i| self.is_root(&all.nodes[*i], &pinned));
        let mut roots: Vec<(usize, usize)> = roots.map(|i| (i, when[i])).collect();
        loop {
            for sweep in (1..self.orders.len()).rev() {
                let mine = roots.iter().filter(|(_, in_sweep)| *in_sweep == sweep).map(|(i, _)| *i).collect();
                roots.extend(self.run(code, all, sweep, mine));
            }
            // A node that no sweep needs still runs once: it may fail.
            let runs = |i: &usize| self.orders.iter().any(|order| order.runs[*i]);
            let idle: Vec<usize> = nodes.clone().filter(|i| !is_once(*i) && !runs(i)).collect();
            if idle.is_empty() {
                break;
            }
            roots.extend(idle.into_iter().map(|i| (i, when[i])));
        }
        for i in nodes.filter(|i| is_once(*i)) {
            match when[i] % 2 {
                0 => self.orders[(when[i] / 2).max(1)].before.push(i),
                _ => self.orders[when[i] / 2].runs[i] = true,
            }
        }
    }

    /// Whether a node fills a value that outlives its segment.
    fn is_root(&self, node: &Node, pinned: &[bool]) -> bool {
        let stays = |slot: &Slot| match self.classes[slot.0] {
            Class::Long | Class::Fixed => true,
            class => class == Class::Segment && pinned[slot.0],
        };
        node.kind != Kind::Once && node.fills.iter().any(stays)
    }

    /// Schedules nodes in a sweep, together with everything that they need there. Returns the nodes that have to run in
    /// earlier sweeps for that, with the numbers of these sweeps.
    fn run(&mut self, code: &Code, all: &Nodes, sweep: usize, mut todo: Vec<usize>) -> Vec<(usize, usize)> {
        let mut earlier = Vec::new();
        while let Some(i) = todo.pop() {
            if std::mem::replace(&mut self.orders[sweep].runs[i], true) {
                continue;
            }
            for arg in &all.nodes[i].reads {
                let slot = code.refs[*arg].slot;
                let At::Here(n) = all.ats[*arg] else { continue };
                if self.classes[slot.0] != Class::Segment {
                    continue;
                }
                todo.extend(&self.writers[slot.0]);
                let (side, along) = match n {
                    0 => continue,
                    ..0 => (Side::Before, !is_backward(sweep)),
                    _ => (Side::Behind, is_backward(sweep)),
                };
                self.orders[sweep].halos.insert((slot, side));
                if !along && self.saved.insert((slot, side)) {
                    earlier.extend(self.writers[slot.0].iter().map(|i| (*i, self.level[slot.0])));
                }
            }
        }
        earlier
    }
}

/// When values are available.
struct Levels<'a> {
    code: &'a Code,
    all: &'a Nodes,
    classes: &'a [Class],
    writers: &'a [Vec<usize>],
    /// The sweep in which a place is filled first, for each tick.
    level: Vec<usize>,
    /// When a value that exists once is available: 2 n before sweep n, 2 n + 1 in its first segment.
    time: Vec<usize>,
}

impl Levels<'_> {
    /// Decides when a node runs: returns its sweep or, for a `Once` node, its time.
    fn settle(&mut self, i: usize, node: &Node) -> usize {
        let own = |arg: &&usize| !self.writers[self.code.refs[**arg].slot.0].contains(&i);
        let reads: Vec<usize> = node.reads.iter().filter(own).copied().collect();
        if node.kind == Kind::Once {
            let time = reads.iter().map(|arg| self.since(*arg)).max().unwrap_or(0);
            node.fills.iter().for_each(|slot| self.time[slot.0] = self.time[slot.0].max(time));
            return time;
        }
        let suits = |sweep: usize| match node.kind {
            Kind::Loop { backward } | Kind::Sum { backward } => backward == is_backward(sweep),
            Kind::Over | Kind::Once => true,
        };
        let ready = |sweep: &usize| suits(*sweep) && reads.iter().all(|arg| self.is_there(*arg, *sweep));
        let sweep = (1..).find(ready).unwrap_or(1);
        for slot in &node.fills {
            self.level[slot.0] = self.level[slot.0].max(sweep);
            // Values of a loop or sum that exist once are final when the sweep is over.
            self.time[slot.0] = 2 * (sweep + 1);
        }
        sweep
    }

    /// The time from which an operand is available whose value is the same at all ticks.
    fn since(&self, arg: usize) -> usize {
        let slot = self.code.refs[arg].slot;
        match self.classes[slot.0] {
            Class::Fixed | Class::Scratch | Class::None => self.time[slot.0],
            Class::Long | Class::Segment if self.level[slot.0] == 0 => 0,
            Class::Long | Class::Segment => {
                let sweep = self.level[slot.0];
                let is_early = match self.all.ats[arg] {
                    At::First(_) => !is_backward(sweep),
                    At::Last(_) => is_backward(sweep),
                    At::Here(_) => false,
                };
                2 * sweep + if is_early { 1 } else { 2 }
            }
        }
    }

    /// Whether an operand is available in a sweep.
    fn is_there(&self, arg: usize, sweep: usize) -> bool {
        let slot = self.code.refs[arg].slot;
        let per_tick = matches!(self.classes[slot.0], Class::Long | Class::Segment);
        match self.all.ats[arg] {
            At::Here(n) if per_tick => {
                let level = self.level[slot.0];
                let along = match n {
                    0 => true,
                    ..0 => !is_backward(sweep),
                    _ => is_backward(sweep),
                };
                level < sweep || level == sweep && along
            }
            _ => self.since(arg) <= 2 * sweep + 1,
        }
    }
}

/// Changes values that a later sweep reads from `Segment` to `Long`, so that they are stored for the whole window.
fn stored(code: &Code, all: &Nodes, level: &[usize], when: &[usize], mut classes: Vec<Class>) -> Vec<Class> {
    for (node, sweep) in all.nodes.iter().zip(when).filter(|(node, _)| node.kind != Kind::Once) {
        for slot in node.reads.iter().map(|arg| code.refs[*arg].slot.0) {
            if classes[slot] == Class::Segment && level[slot] < *sweep {
                classes[slot] = Class::Long;
            }
        }
    }
    classes
}

/// Sorts places by where their values are.
fn classes(code: &Code, all: &Nodes, writers: &[Vec<usize>]) -> Vec<Class> {
    let mut readers: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); code.slots.len()];
    let mut apart = vec![false; code.slots.len()];
    for (i, node) in all.nodes.iter().enumerate() {
        for arg in &node.reads {
            let slot = code.refs[*arg].slot.0;
            readers[slot].insert(i);
            apart[slot] |= code.refs[*arg].at != At::Here(0);
        }
    }
    all.ends.iter().for_each(|arg| apart[code.refs[*arg].slot.0] = true);
    let is_input = |slot: usize| code.inputs.iter().any(|given| given.slot.0 == slot);
    let is_late = |slot: usize| all.late.iter().any(|arg| code.refs[*arg].slot.0 == slot);
    let class = |(i, slot): (usize, &super::super::code::SlotData)| {
        let touched = !readers[i].is_empty() || !writers[i].is_empty() || apart[i] || is_input(i);
        match (slot.per_tick, is_input(i) || is_late(i)) {
            _ if slot.kept => Class::Fixed,
            _ if slot.width == 0 || !touched => Class::None,
            (true, true) => Class::Long,
            (true, false) => Class::Segment,
            (false, _) => {
                let is_own = !apart[i]
                    && writers[i].len() == 1
                    && readers[i].iter().all(|node| *node == writers[i][0]);
                if is_own { Class::Scratch } else { Class::Fixed }
            }
        }
    };
    code.slots.iter().enumerate().map(class).collect()
}
