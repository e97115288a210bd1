//! The proof that conditions cut a recurrence.
//!
//! The conditions divide time into segments; each segment ends in a cycle in which they hold. Every member of the
//! recurrence is considered in four kinds of cycles: the first tick in its segment or a later one, and the last cycle
//! of its segment or an earlier one. For each kind it is known whether an edge stays in the segment or leads to an
//! earlier or later one. The recurrence is well founded if no circle leads to a later segment, and if every circle
//! within a segment runs in one direction. Then values can be computed segment by segment, and within a segment by one
//! sweep after another.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{Components, EntityId, Graph, components};
use rml_ir::flat::Window;

use super::frame::{Ends, Frame, POSITIONS, Position, is_first, is_last};
use super::graph::{Dependences, Distance, Edge, Only};
use super::part::{Part, is_negative};
use crate::clocks::ClockId;
use crate::conditions::Guard;

/// The direction in which a recurrence runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From the first cycle to the last.
    Forward,
    /// From the last cycle to the first.
    Backward,
    /// Forward as a whole, with look-aheads.
    Mixed,
    /// The recurrence runs in both directions, or the direction is unknown.
    Unknown,
}

/// A part of a recurrence that runs in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// The positions of the sweep's members in the graph.
    pub(crate) members: Vec<usize>,
    pub(crate) direction: Direction,
}

/// The proof that conditions cut a recurrence.
#[derive(Clone, Debug)]
pub(crate) struct Proof {
    pub(crate) ends: Ends,
    pub(crate) sweeps: Vec<Sweep>,
    /// The proofs for parts that run in both directions within a segment and are cut again there.
    pub(crate) nested: Vec<Proof>,
    /// For each member: the number of cycles after which its wait begins, and the number of ends of segments in the
    /// wait.
    pub(crate) waits: Vec<(u64, u64)>,
    /// For each member, whether it may be present in the last cycle of a segment.
    pub(crate) at_last: Vec<bool>,
    /// The windows around delays of the recurrence that never reach across the end of a segment.
    pub(crate) within: BTreeSet<Window>,
    /// The clocks of delays whose next tick may be several segments later.
    pub(crate) jumping: BTreeSet<ClockId>,
}

/// An edge between members at positions: its target, and the number of segments ahead (-1, 0 or 1).
#[derive(Clone, Copy)]
struct Leads {
    to: usize,
    segments: i8,
    distance: Distance,
    edge: usize,
}

struct Segments<'d, 'a> {
    deps: &'d Dependences<'a>,
    part: &'d Part,
    frame: Frame<'d, 'a>,
    once: BTreeMap<ClockId, bool>,
}

/// A search for conditions that cut a part within segments.
pub(super) type Nested<'n> = &'n dyn Fn(&Part) -> Option<Proof>;

/// Proves that `ends` cut a part. A piece that runs in both directions within a segment must be cut again there;
/// `nested` proves that.
pub(super) fn prove(deps: &Dependences<'_>, part: &Part, ends: &Ends, nested: Nested<'_>) -> Option<Proof> {
    let frame = deps.frames.get(&deps.conditions, ends, reference_clock(deps, part)?)?;
    let clocks: BTreeSet<ClockId> =
        part.edges.iter().filter_map(|(_, _, e)| Some(deps.delay(e)?.0)).collect();
    let once = clocks.into_iter().map(|ck| (ck, frame.ticks_once(ck))).collect();
    let segments = Segments { deps, part, frame, once };
    let graph = segments.product();
    let all = of_graph(&graph, |_| true);
    for v in 0..graph.len() {
        if graph.of(v).iter().any(|e| e.segments > 0 && all.of[v] == all.of[e.to]) {
            return None;
        }
    }
    let within = of_graph(&graph, |e| e.segments >= 0);
    let (mut sweeps, mut inner) = (Vec::new(), Vec::new());
    for members in &within.members {
        sweep(deps, part, &graph, &within, members, nested, &mut sweeps, &mut inner)?;
    }
    let at_last = (0..part.nodes.len()).map(|v| segments.is_valid(v, 2) || segments.is_valid(v, 3)).collect();
    let waits = waits(&segments, &graph, &all);
    let windows: BTreeSet<Window> = part.nodes.iter().filter_map(|v| deps.window(*v)).collect();
    let within = windows.into_iter().filter(|w| segments.frame.cuts(Some(*w))).collect();
    let jumping = segments.jumping();
    Some(Proof { ends: ends.clone(), sweeps: merged(sweeps), nested: inner, waits, at_last, within, jumping })
}

fn of_graph(graph: &Graph<Leads>, counts: impl Fn(&Leads) -> bool) -> Components {
    components(graph.len(), |v, i| graph.of(v).get(i).map(|e| counts(e).then_some(e.to)))
}

/// Checks one strongly connected component of the edges that stay in a segment or lead to a later one.
#[allow(clippy::too_many_arguments, reason = "two results that a struct would only wrap")]
fn sweep(
    deps: &Dependences<'_>,
    part: &Part,
    graph: &Graph<Leads>,
    within: &Components,
    members: &[usize],
    nested: Nested<'_>,
    sweeps: &mut Vec<Sweep>,
    inner: &mut Vec<Proof>,
) -> Option<()> {
    let id = within.of[members[0]];
    let inside = |e: &&Leads| e.segments == 0 && within.of[e.to] == id;
    let edges: Vec<(usize, Leads)> =
        members.iter().flat_map(|&v| graph.of(v).iter().filter(inside).map(move |e| (v, *e))).collect();
    if edges.is_empty() {
        return Some(());
    }
    let position: BTreeMap<usize, usize> = members.iter().enumerate().map(|(i, v)| (*v, i)).collect();
    let now = Graph::new(
        members.len(),
        edges
            .iter()
            .filter(|(_, e)| e.distance == Distance::Now)
            .map(|(v, e)| (position[v], position[&e.to]))
            .collect(),
    );
    let instants = components(now.len(), |v, i| now.of(v).get(i).copied().map(Some));
    let is_loop = |v: usize| now.of(v).contains(&v);
    if instants.members.iter().any(|m| m.len() > 1 || is_loop(m[0])) {
        return None;
    }
    let runs = |d: Distance| edges.iter().any(|(_, e)| e.distance == d);
    let places: BTreeSet<usize> = members.iter().map(|v| part.nodes[v / 4]).collect();
    let direction = match (runs(Distance::Past), runs(Distance::Next)) {
        (_, false) => Direction::Forward,
        (false, true) => Direction::Backward,
        (true, true) => {
            let used: BTreeSet<usize> = edges.iter().map(|(_, e)| e.edge).collect();
            let piece = part.restricted(&places, &used);
            if !is_negative(deps, &piece) {
                inner.push(nested(&piece)?);
                return Some(());
            }
            Direction::Mixed
        }
    };
    sweeps.push(Sweep { members: places.into_iter().collect(), direction });
    Some(())
}

/// Merges sweeps in the same direction that share members, so that each member is in one sweep.
fn merged(mut sweeps: Vec<Sweep>) -> Vec<Sweep> {
    sweeps.sort_by_key(|s| std::cmp::Reverse(s.members.len()));
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut merged: Vec<Sweep> = Vec::new();
    for sweep in sweeps {
        let at = sweep
            .members
            .iter()
            .filter_map(|v| taken.get(v).copied())
            .find(|i| merged[*i].direction == sweep.direction);
        let fresh: Vec<usize> = sweep.members.iter().copied().filter(|v| !taken.contains_key(v)).collect();
        let i = at.unwrap_or(merged.len());
        taken.extend(fresh.iter().map(|v| (*v, i)));
        match at {
            Some(i) => merged[i].members.extend(fresh),
            None => merged.push(Sweep { members: fresh, direction: sweep.direction }),
        }
    }
    merged.retain(|s| !s.members.is_empty());
    for sweep in &mut merged {
        sweep.members.sort_unstable();
    }
    merged
}

/// The wait for each member (see [`Proof::waits`]).
fn waits(segments: &Segments<'_, '_>, graph: &Graph<Leads>, all: &Components) -> Vec<(u64, u64)> {
    let mut crossings = vec![0_u64; all.members.len()];
    for (id, members) in all.members.iter().enumerate() {
        let ahead = members.iter().flat_map(|&v| graph.of(v)).filter(|e| all.of[e.to] != id);
        crossings[id] = ahead
            .map(|e| match e.segments {
                1 => crossings[all.of[e.to]] + 1,
                0 => crossings[all.of[e.to]],
                _ => crossings[all.of[e.to]].saturating_sub(1),
            })
            .max()
            .unwrap_or(0);
    }
    let wait = |v: usize| {
        let of = |p: Position| if segments.is_valid(v, p) { crossings[all.of[4 * v + p]] } else { 0 };
        let (before, last) = (of(0).max(of(1)), of(2).max(of(3)));
        (u64::from(last > 0), (1 + before).max(last))
    };
    let own: Vec<(u64, u64)> = (0..segments.part.nodes.len()).map(wait).collect();
    // The absence of a member is known together with the conditions of its clock.
    let nodes = &segments.part.nodes;
    let with_clock = |(v, own_wait): (usize, &(u64, u64))| {
        let chain = segments.deps.conditions.chain(segments.deps.clock(nodes[v]));
        let conds = chain.iter().filter_map(|l| nodes.binary_search(&l.cond.index()).ok());
        conds.fold(*own_wait, |(lead, rounds), c| (lead.max(own[c].0), rounds.max(own[c].1)))
    };
    own.iter().enumerate().map(with_clock).collect()
}

impl Segments<'_, '_> {
    /// Whether a member can be present at a position.
    fn is_valid(&self, v: usize, p: Position) -> bool {
        self.frame.may_tick(self.deps.clock(self.part.nodes[v]), p)
    }

    fn product(&self) -> Graph<Leads> {
        let n = self.part.nodes.len();
        let valid: Vec<bool> = (0..4 * n).map(|i| self.is_valid(i / 4, i % 4)).collect();
        let mut list = Vec::new();
        for (id, (from, to, edge)) in self.part.edges.iter().enumerate() {
            for p in POSITIONS.filter(|p| valid[4 * from + p]) {
                if !self.is_taken(*from, p, edge) {
                    continue;
                }
                let mut lead = |q: Position, segments: i8| {
                    if valid[4 * to + q] {
                        let leads = Leads { to: 4 * to + q, segments, distance: edge.distance, edge: id };
                        list.push((4 * from + p, leads));
                    }
                };
                match edge.distance {
                    Distance::Now => lead(p, 0),
                    Distance::Past => self.past(edge, *to, p, &mut lead),
                    Distance::Next => self.next(edge, p, &mut lead),
                }
            }
        }
        Graph::new(4 * n, list)
    }

    fn is_taken(&self, v: usize, p: Position, edge: &Edge) -> bool {
        let frame = &self.frame;
        let delay = self.deps.delay(edge).filter(|(clock, _)| *clock == frame.data.clock);
        let bounds = |w: Window| frame.bounds(w);
        match edge.only {
            Only::Always | Only::Present(None) => true,
            Only::If(guard) | Only::Present(Some(guard)) => {
                let clock = self.deps.clock(self.part.nodes[v]);
                frame.may_hold(clock, p, guard) || self.is_left(clock, p, edge, guard)
            }
            Only::Start => is_first(p) || !delay.is_some_and(|(_, w)| w.is_none_or(bounds)),
            Only::End => {
                is_last(p) || !frame.data.ticks || !delay.is_some_and(|(_, w)| w.is_some_and(bounds))
            }
        }
    }

    /// Whether an edge to the end of a window must be kept although the guard of another end excludes it. Of two ends
    /// around a delay, neither is needed where the other holds; where both hold, one of them is still needed.
    fn is_left(&self, clock: ClockId, p: Position, edge: &Edge, unless: Guard) -> bool {
        let conditions = &self.deps.conditions;
        let window = self.deps.delay(edge).and_then(|(_, w)| w);
        let mut ends = conditions.windows(window).into_iter().map(|w| conditions.flat.windows[w].end);
        ends.find(|end| end.index() == edge.to).is_some_and(|end| {
            let own = conditions.guard(end, true);
            own < unless.negated() && !self.frame.may_hold(clock, p, own.negated())
        })
    }

    fn past(&self, edge: &Edge, at: usize, p: Position, lead: &mut impl FnMut(Position, i8)) {
        let Some((clock, window)) = self.deps.delay(edge) else { return };
        if edge.between {
            return self.before(at, p, lead);
        }
        let ticks = self.deps.conditions.is_within(clock, self.frame.data.clock);
        let cut = self.frame.cuts(window);
        if !(self.once[&clock] || is_first(p) && ticks) {
            POSITIONS.filter(|q| !is_last(*q)).for_each(|q| lead(q, 0));
        }
        let stays = clock == self.frame.data.clock && !is_first(p);
        if !cut && !stays {
            let last = clock == self.frame.data.clock && self.frame.data.ticks;
            POSITIONS.filter(|q| is_last(*q) || !last).for_each(|q| lead(q, -1));
        }
    }

    /// Adds edges to a condition that is needed in all cycles since the previous tick. Cycles of the previous segment
    /// are included, because an end there restarts the delay.
    fn before(&self, at: usize, p: Position, lead: &mut impl FnMut(Position, i8)) {
        let counted =
            self.deps.conditions.is_within(self.deps.clock(self.part.nodes[at]), self.frame.data.clock);
        if !(is_first(p) && counted) {
            POSITIONS.filter(|q| !is_last(*q)).for_each(|q| lead(q, 0));
        }
        POSITIONS.for_each(|q| lead(q, -1));
    }

    /// Whether ends may come between two ticks of a clock, so that a delay on this clock jumps over them. That is
    /// impossible if all ends come in ticks of the clock itself.
    fn jumps(&self, clock: ClockId) -> bool {
        let conditions = &self.deps.conditions;
        !self.frame.data.ends.iter().all(|l| conditions.is_within(conditions.clocks.of[l.cond], clock))
    }

    fn jumping(&self) -> BTreeSet<ClockId> {
        let ahead = self.part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next);
        let delays = ahead.filter_map(|(_, _, e)| self.deps.delay(e));
        delays.filter(|(ck, w)| !self.frame.cuts(*w) && self.jumps(*ck)).map(|(ck, _)| ck).collect()
    }

    fn next(&self, edge: &Edge, p: Position, lead: &mut impl FnMut(Position, i8)) {
        let Some((clock, window)) = self.deps.delay(edge) else { return };
        let conditions = &self.deps.conditions;
        let ticks = conditions.is_within(clock, self.frame.data.clock);
        if !is_last(p) && (edge.between || !self.once[&clock]) {
            POSITIONS.filter(|q| !(is_first(*q) && ticks)).for_each(|q| lead(q, 0));
        }
        if !self.frame.cuts(window) && (is_last(p) || self.jumps(clock)) {
            POSITIONS.filter(|q| is_first(*q) || clock != self.frame.data.clock).for_each(|q| lead(q, 1));
        }
    }
}

/// The clock on which most of the edges to later cycles are counted.
fn reference_clock(deps: &Dependences<'_>, part: &Part) -> Option<ClockId> {
    let mut counts: BTreeMap<ClockId, usize> = BTreeMap::new();
    for (_, _, edge) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next) {
        *counts.entry(deps.delay(edge)?.0).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(ck, n)| (*n, std::cmp::Reverse(*ck))).map(|(ck, _)| ck)
}
