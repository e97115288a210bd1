//! Divides work among threads that compute at the same time.
//!
//! - Stages over all ticks: each thread runs all of them at some of the ticks. If a window has few ticks, each thread
//!   runs some stages for some of the rows, and then the next ones.
//! - A loop whose stages all compute row by row: each thread runs it for some of the rows, from the first tick to the
//!   last one, without waiting.
//!
//! None of this changes the sequence of operations for an element, so the bits do not depend on the number of threads.
//! Threads never wait for each other within a function. So no thread may access elements that another one writes:
//! [`is_apart`] checks this with the rows that stages read and write.

use std::collections::BTreeMap;

use rml_base::EntityId;
use rml_ir::op::{Binary, Op, Unary};
use rml_nest::{Access, Def, Dim, Nest, NestNode, NestProgram, NestStage, Order, Positions, Slot, Work};

use crate::layout::{Layout, Room};
use crate::run::Ready;

/// Thresholds above which sharing work pays off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The nanoseconds of work above which it pays off to hand a part to other threads.
    job: f64,
    /// The nanoseconds of work in a window above which it pays off to wake other threads.
    window: f64,
    /// Whether one thread runs all parts, one after the other, in a different order in every other window.
    in_turn: bool,
}

impl Limits {
    /// As measured for the embedded executor, whose threads are the same.
    pub(crate) const USUAL: Limits = Limits { job: 6_000.0, window: 100_000.0, in_turn: false };

    /// Limits for tests: all work that can be shared is shared. With `in_turn`, the parts run one after the other,
    /// which reveals dependences between them.
    pub(crate) fn none(in_turn: bool) -> Limits {
        Limits { job: 0.0, window: 0.0, in_turn }
    }
}

/// Rows of a slot: row `i` is the elements from `i * step` on, up to the next row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    /// How many rows there are.
    pub(crate) n: usize,
    /// The distance between two rows, in elements.
    pub(crate) step: usize,
}

/// An access by a stage whose rows are divided: the slot, and the rows; without rows, any elements of the slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) slot: Slot,
    pub(crate) rows: Option<Rows>,
    pub(crate) writes: bool,
}

/// A stage whose rows are divided.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Divided {
    /// The dimension of a nest whose points are the rows.
    pub(crate) dim: Option<Dim>,
    /// The largest number of threads among which it can be divided.
    pub(crate) most: usize,
    /// The estimated nanoseconds per tick.
    pub(crate) cost: f64,
    pub(crate) touches: Vec<Touch>,
}

/// Consecutive stages of a node; all threads finish them before the next phase begins.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Phase {
    pub(crate) stages: std::ops::Range<usize>,
    /// The largest number of threads among which it can be divided.
    pub(crate) most: usize,
    /// The estimated nanoseconds per tick.
    pub(crate) cost: f64,
}

/// How a node can be shared.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Sharing {
    /// Each thread can run some of the ticks; the estimated nanoseconds per tick.
    ticks: Option<f64>,
    /// Each thread can run some of the rows, at all ticks.
    rows: Option<Phase>,
    /// Each thread can run some of the rows of a phase, then of the next phase: for a node over all ticks in a window
    /// of few ticks, for a loop in a window of one tick. Empty if no phase can be shared.
    pub(crate) phases: Vec<Phase>,
}

impl Sharing {
    /// Whether only a single thread can run it.
    pub(crate) fn is_alone(&self) -> bool {
        self.ticks.is_none() && self.rows.is_none() && self.phases.is_empty()
    }
}

/// How the nodes of a program are shared among threads.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) threads: usize,
    pub(crate) nodes: Vec<Sharing>,
    /// For each node: its stages whose rows are divided.
    pub(crate) divided: Vec<Vec<Option<Divided>>>,
    orders: Vec<Order>,
    /// The ticks of a block, for each node.
    blocks: Vec<usize>,
    limits: Limits,
}

/// How threads divide the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// A single thread does everything.
    Alone,
    /// Each thread runs some of the ticks.
    Ticks,
    /// This many threads each run some of the rows.
    Rows(usize),
    /// The threads run one phase after the other.
    Phases,
}

impl Shared {
    /// Decides how `threads` threads share a program. `calls` are its calls, by node and stage.
    pub(crate) fn new(
        program: &NestProgram,
        layout: &Layout,
        calls: &BTreeMap<(usize, usize), Ready>,
        (threads, limits): (usize, Limits),
    ) -> Shared {
        let is_shared = threads > 1 && program.ahead == 0;
        let divided = |(k, node): (usize, &NestNode)| -> Vec<Option<Divided>> {
            let stages = node.stages.iter().enumerate();
            let own = |(s, stage): (usize, &NestStage)| {
                let found = match &stage.work {
                    Work::Nest(nest) => nest_rows(nest),
                    Work::Call(_) => calls[&(k, s)].divided(),
                };
                let moves = |slot| matches!(layout.rooms[slot], Room::Slides(_));
                found.filter(|_| !stage.fills().any(moves)).map(|divided| placed(divided, stage, layout))
            };
            stages.map(|stage| if is_shared { own(stage) } else { None }).collect()
        };
        let mut divided: Vec<_> = program.nodes.iter().enumerate().map(divided).collect();
        let sharing = |(k, node): (usize, &NestNode)| match node.order {
            _ if !is_shared => Sharing::default(),
            Order::Over => {
                let calls = |s: usize| calls.get(&(k, s)).map_or(0.0, Ready::cost);
                let cost = |(s, stage): (usize, &NestStage)| match &stage.work {
                    Work::Nest(nest) => nest_cost(nest),
                    Work::Call(_) => calls(s),
                };
                let cost = node.stages.iter().enumerate().map(cost).sum();
                let ticks = is_apart_by_ticks(layout, node).then_some(cost);
                Sharing { ticks, rows: None, phases: phases(node, &divided[k]) }
            }
            Order::Forward | Order::Backward => {
                let rows = rows(node, &divided[k]);
                Sharing { ticks: None, rows, phases: phases(node, &divided[k]) }
            }
        };
        let nodes: Vec<Sharing> = program.nodes.iter().enumerate().map(sharing).collect();
        for (own, node) in divided.iter_mut().zip(&nodes) {
            if node.rows.is_none() && node.phases.is_empty() {
                own.iter_mut().for_each(|stage| *stage = None);
            }
        }
        let orders = program.nodes.iter().map(|node| node.order).collect();
        Shared { threads, nodes, divided, orders, blocks: layout.blocks.clone(), limits }
    }

    /// The phases of all nodes, in the order of their numbers.
    pub(crate) fn phases(&self) -> impl Iterator<Item = (usize, &Phase)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.flat_map(|(k, node)| node.phases.iter().map(move |phase| (k, phase)))
    }

    /// How the work of a node is divided in a window of `ticks` ticks.
    pub(crate) fn share(&self, k: usize, ticks: usize) -> Share {
        let Sharing { ticks: by_ticks, rows, phases } = &self.nodes[k];
        let is_over = self.orders[k] == Order::Over;
        let is_long = ticks >= 2 * self.threads || ticks > self.blocks[k] * self.threads;
        match (by_ticks, rows) {
            (Some(cost), _) if is_long && self.pays(*cost, ticks) => return Share::Ticks,
            (_, Some(phase)) if self.parts(phase, ticks) > 1 => return Share::Rows(self.parts(phase, ticks)),
            _ => {}
        }
        let are_run = if is_over { !is_long } else { ticks == 1 };
        match are_run && phases.iter().any(|phase| self.parts(phase, ticks) > 1) {
            true => Share::Phases,
            false => Share::Alone,
        }
    }

    /// Among how many threads a phase is divided.
    pub(crate) fn parts(&self, phase: &Phase, ticks: usize) -> usize {
        if self.pays(phase.cost, ticks) { self.threads.min(phase.most).max(1) } else { 1 }
    }

    fn pays(&self, cost: f64, ticks: usize) -> bool {
        cost * ticks as f64 >= self.limits.job
    }

    /// Whether one thread runs all parts.
    pub(crate) fn in_turn(&self) -> bool {
        self.limits.in_turn
    }

    /// Whether windows with this many ticks have enough work for several threads.
    pub(crate) fn is_worth(&self, ticks: usize) -> bool {
        let cost = |(k, node): (usize, &Sharing)| -> f64 {
            let cost = match self.share(k, ticks) {
                Share::Alone => 0.0,
                Share::Ticks => node.ticks.unwrap_or_default(),
                Share::Rows(_) => node.rows.as_ref().map_or(0.0, |phase| phase.cost),
                Share::Phases => {
                    let shared = node.phases.iter().filter(|phase| self.parts(phase, ticks) > 1);
                    shared.map(|phase| phase.cost).sum()
                }
            };
            cost * ticks as f64
        };
        let all: f64 = self.nodes.iter().enumerate().map(cost).sum();
        all > 0.0 && all >= self.limits.window
    }
}

/// The indices of part `i`, if `n` items are divided into `parts` parts.
pub(crate) fn part(n: usize, parts: usize, i: usize) -> std::ops::Range<usize> {
    n * i / parts..n * (i + 1) / parts
}

/// Completes a stage whose rows are divided: adds the accesses of its conditions, and replaces slots by those whose
/// memory they use.
fn placed(mut divided: Divided, stage: &NestStage, layout: &Layout) -> Divided {
    let conds = stage.when.iter().map(|guard| Touch { slot: guard.cond.slot, rows: None, writes: false });
    divided.touches.extend(conds);
    for touch in &mut divided.touches {
        // Rows of a register that slides are others at each tick.
        touch.rows = touch.rows.filter(|_| !matches!(layout.rooms[touch.slot], Room::Slides(_)));
        touch.slot = layout.place(touch.slot);
    }
    divided
}

/// Whether different ticks of a node over all ticks may run at the same time: a slot with a single value may be touched
/// only at the tick that fills it.
fn is_apart_by_ticks(layout: &Layout, node: &NestNode) -> bool {
    let is_single = |at: Positions| at.is_within(Positions::STARTS) || at.is_within(Positions::ENDS);
    let is_one = |slot: &Slot| layout.rooms[*slot] == Room::One;
    let filled =
        |stage: &NestStage| stage.fills().filter(is_one).map(|slot| layout.place(slot)).collect::<Vec<_>>();
    let places: Vec<Slot> = node.stages.iter().flat_map(filled).collect();
    places.iter().all(|place| {
        let touches = |stage: &&NestStage| {
            let mut slots = stage.fills().chain(stage.reads().into_iter().map(|(_, access)| access.slot));
            slots.any(|slot| layout.place(slot) == *place)
        };
        let at = node.stages.iter().filter(touches).fold(Positions::NONE, |at, stage| at.or(stage.at));
        is_single(at)
    })
}

/// The phases of a node; the last one also writes registers. Empty if no phase can be shared.
fn phases(node: &NestNode, divided: &[Option<Divided>]) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut touches: Vec<Touch> = Vec::new();
    for (s, own) in divided.iter().enumerate() {
        let last = phases.last_mut().filter(|last| (last.most > 1) == own.is_some());
        let joined: Vec<Touch> =
            touches.iter().chain(own.iter().flat_map(|own| &own.touches)).copied().collect();
        match (last, own) {
            (Some(last), None) => last.stages.end = s + 1,
            (Some(last), Some(own)) if is_apart(&joined) => {
                last.stages.end = s + 1;
                last.most = last.most.min(own.most);
                last.cost += own.cost;
                touches = joined;
            }
            _ => {
                touches = own.iter().flat_map(|own| own.touches.clone()).collect();
                let (most, cost) = own.as_ref().map_or((1, 0.0), |own| (own.most, own.cost));
                phases.push(Phase { stages: s..s + 1, most, cost });
            }
        }
    }
    if phases.iter().all(|phase| phase.most < 2) {
        return Vec::new();
    }
    if !node.writes.is_empty() {
        phases.push(Phase { stages: node.stages.len()..node.stages.len(), most: 1, cost: 0.0 });
    }
    phases
}

/// A loop as one phase, if all of its stages compute row by row.
fn rows(node: &NestNode, divided: &[Option<Divided>]) -> Option<Phase> {
    if !node.writes.is_empty() {
        return None;
    }
    let all: Vec<&Divided> = divided.iter().map(Option::as_ref).collect::<Option<_>>()?;
    let touches: Vec<Touch> = all.iter().flat_map(|own| own.touches.clone()).collect();
    let most = all.iter().map(|own| own.most).min()?;
    let cost = all.iter().map(|own| own.cost).sum();
    is_apart(&touches).then_some(Phase { stages: 0..divided.len(), most, cost })
}

/// Whether threads that make these accesses for different rows are independent: if a slot is written, all accesses to
/// it must have the same rows.
fn is_apart(touches: &[Touch]) -> bool {
    touches.iter().filter(|touch| touch.writes).all(|written| {
        let mut others = touches.iter().filter(|touch| touch.slot == written.slot);
        match written.rows {
            Some(_) => others.all(|touch| touch.rows == written.rows),
            // Without rows, the written elements may be anywhere: nothing else may touch the slot.
            None => others.count() == 1,
        }
    })
}

/// The rows of an access along a dimension, if each row ends before the next one begins.
fn rows_of(dims: &[usize], access: &Access, dim: usize) -> Option<Rows> {
    let step = usize::try_from(*access.strides.get(dim)?).ok().filter(|step| *step > 0)?;
    let mut reach = access.offset;
    for (i, (n, stride)) in dims.iter().zip(&access.strides).enumerate() {
        if i != dim {
            reach += usize::try_from(*stride).ok()? * n.checked_sub(1)?;
        }
    }
    (reach < step).then_some(Rows { n: dims[dim], step })
}

/// Divides a nest along a dimension that is not folded and along which all stores move. Of several such dimensions,
/// uses the one whose points are farthest apart.
fn nest_rows(nest: &Nest) -> Option<Divided> {
    let dims: Vec<usize> = nest.dims.iter().copied().collect();
    let is_folded = |dim: Dim| nest.body.iter().any(|def| def.folded() == Some(dim));
    let is_stored = |dim: Dim| nest.stores.iter().all(|(access, _)| access.strides[dim.index()] != 0);
    let free: Vec<Dim> =
        nest.dims.ids().filter(|dim| nest.dims[*dim] > 1 && !is_folded(*dim) && is_stored(*dim)).collect();
    let step =
        |dim: &Dim| nest.stores.iter().map(|(access, _)| access.strides[dim.index()].unsigned_abs()).min();
    let dim = *free.iter().rev().max_by_key(|dim| step(dim))?;
    // Chains need another dimension along which they are side by side.
    let has_chains = nest.body.iter().any(|def| matches!(def, Def::Chain { .. }));
    let others = nest.dims.ids().filter(|own| *own != dim && nest.dims[*own] > 1 && !is_folded(*own)).count();
    if has_chains && others == 0 {
        return None;
    }
    let rows = |access: &Access| rows_of(&dims, access, dim.index());
    let mut touches = Vec::new();
    for def in nest.body.iter() {
        for (_, access) in def.source().into_iter().flat_map(rml_nest::accesses) {
            let rows = if matches!(def, Def::Take { .. }) { None } else { rows(&access) };
            touches.push(Touch { slot: access.slot, rows, writes: false });
        }
    }
    let stores = nest.stores.iter();
    touches.extend(stores.map(|(access, _)| Touch { slot: access.slot, rows: rows(access), writes: true }));
    Some(Divided { dim: Some(dim), most: dims[dim.index()], cost: nest_cost(nest), touches })
}

/// The estimated nanoseconds of a nest per tick.
fn nest_cost(nest: &Nest) -> f64 {
    let spans = nest.spans();
    let points = |dims: &[Dim]| dims.iter().map(|dim| nest.dims[*dim]).product::<usize>() as f64;
    let cost = |(val, def): (rml_nest::Val, &Def)| match def {
        Def::Load(_) => points(&spans[val]) * 0.05,
        Def::Take { .. } => points(&spans[val]),
        Def::Apply(op, _) => points(&spans[val]) * if is_costly(op) { 0.5 } else { 0.05 },
        Def::Fold(_, _, of) => points(&spans[*of]) * 0.1,
        Def::Chain { dim, .. } => points(&spans[val]) * nest.dims[*dim] as f64 * 0.05,
    };
    nest.body.iter_enumerated().map(cost).sum()
}

/// Whether an operator of scalars takes many instructions.
fn is_costly(op: &Op) -> bool {
    use Unary::{Cos, Erf, Exp, Expm1, Gelu, Log, Log1p, Sigmoid, Sin, Softplus, Sqrt, Tanh};
    match op {
        Op::Unary(Exp | Expm1 | Log | Log1p | Sqrt | Sin | Cos) => true,
        Op::Unary(Erf | Tanh | Sigmoid | Gelu | Softplus) => true,
        op => matches!(
            op,
            Op::Binary(Binary::Div | Binary::Pow | Binary::Mod | Binary::Atan2 | Binary::LogAddExp)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_nest::Tick;

    fn access(offset: usize, strides: &[isize]) -> Access {
        Access { slot: Slot::from_index(0), tick: Tick::Now, offset, strides: strides.to_vec() }
    }

    fn touch(slot: usize, rows: Option<(usize, usize)>, writes: bool) -> Touch {
        let rows = rows.map(|(n, step)| Rows { n, step });
        Touch { slot: Slot::from_index(slot), rows, writes }
    }

    #[test]
    fn rows_follow_each_other_in_memory() {
        let rows = |n, step| Some(Rows { n, step });
        assert_eq!(rows_of(&[4, 8], &access(0, &[8, 1]), 0), rows(4, 8));
        // A part of each row.
        assert_eq!(rows_of(&[4, 2], &access(6, &[8, 1]), 0), rows(4, 8));
        // Rows that begin with the second element extend into the next row.
        assert_eq!(rows_of(&[4, 3], &access(1, &[3, 1]), 0), None);
        // Column by column, broadcast and backward.
        assert_eq!(rows_of(&[4, 8], &access(0, &[1, 4]), 0), None);
        assert_eq!(rows_of(&[4, 8], &access(0, &[0, 1]), 0), None);
        assert_eq!(rows_of(&[4, 8], &access(24, &[-8, 1]), 0), None);
    }

    #[test]
    fn threads_touch_nothing_that_another_one_writes() {
        let rows = Some((4, 8));
        assert!(is_apart(&[touch(0, rows, true), touch(0, rows, false), touch(1, None, false)]));
        // Different rows, and all of them.
        assert!(!is_apart(&[touch(0, rows, true), touch(0, Some((8, 4)), false)]));
        assert!(!is_apart(&[touch(0, rows, true), touch(0, None, false)]));
        // Nothing else may access a slot that is written between rows.
        assert!(is_apart(&[touch(0, None, true), touch(1, rows, true)]));
        assert!(!is_apart(&[touch(0, None, true), touch(0, None, true)]));
    }

    #[test]
    fn parts_are_all() {
        for (n, parts) in [(10, 3), (2, 3), (0, 2), (7, 1)] {
            let all: Vec<usize> = (0..parts).flat_map(|i| part(n, parts, i)).collect();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
    }
}
