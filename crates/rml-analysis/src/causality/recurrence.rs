//! What a strongly connected part of the dependence graph is: fine, cut by conditions, or without an end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rml_base::EntityId;
use rml_ir::flat::Var;

use super::beside;
use super::frame::Ends;
use super::graph::{Dependences, Distance, Edge, Only};
use super::segment::{Direction, Proof, prove};
use crate::clocks::{ClockData, ClockId};
use crate::conditions::Literal;
use crate::scc::{Components, Graph, components};

/// A part of the graph: positions, and the edges between them by their places in that list.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) nodes: Vec<usize>,
    pub(crate) edges: Vec<(usize, usize, Edge)>,
}

/// A way through edges of a part, each a number of [`Part::edges`].
pub(crate) type Chain = Vec<usize>;

/// What a part is.
#[derive(Clone, Debug)]
pub(crate) enum Finding {
    /// No value needs what comes later without end.
    Runs(Direction),
    /// Conditions cut it.
    Cut(Proof),
    /// Windows side by side cut parts of it, and the rest runs forward between them.
    Beside(Vec<(Part, Proof)>),
    /// Only the end of the trace cuts it.
    Closed(Chain),
    /// A value needs itself.
    Instantaneous(Chain),
    /// As that, but through conditions of which it is not known that they hold together.
    Exclusive(Chain),
    /// It runs backward for ever.
    Uncut(Chain),
    /// Nothing is known.
    Unknown(&'static str),
}

/// How many conditions are tried for one part, and how large the product of conditions and edges may get.
const CANDIDATES: usize = 64;
const WORK: usize = 40_000_000;
/// Segments are looked for within segments that deep.
const DEPTH: u32 = 3;

impl Part {
    pub(crate) fn new(deps: &Dependences<'_>, of: &Components, members: &[usize]) -> Part {
        let position: BTreeMap<usize, usize> = members.iter().enumerate().map(|(i, v)| (*v, i)).collect();
        let id = members.first().map(|v| of.of[*v]);
        let inside = |e: &&Edge| Some(of.of[e.to]) == id;
        let edges = members.iter().enumerate().flat_map(|(i, v)| {
            let position = &position;
            deps.graph.of(*v).iter().filter(inside).map(move |e| (i, position[&e.to], *e))
        });
        Part { edges: edges.collect(), nodes: members.to_vec() }
    }

    /// Those members, with those edges.
    pub(crate) fn restricted(&self, members: &BTreeSet<usize>, edges: &BTreeSet<usize>) -> Part {
        let nodes: Vec<usize> = members.iter().copied().collect();
        let position: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(i, v)| (*v, i)).collect();
        let place = |i: usize| position.get(&self.nodes[i]).copied();
        let edges = edges.iter().filter_map(|e| {
            let (from, to, edge) = self.edges[*e];
            Some((place(from)?, place(to)?, edge))
        });
        Part { edges: edges.collect(), nodes }
    }

    fn runs(&self, distance: Distance) -> bool {
        self.edges.iter().any(|(_, _, e)| e.distance == distance)
    }

    /// The subgraph of the edges that count; an edge is its target and its number.
    pub(super) fn graph(&self, counts: impl Fn(&Edge) -> bool) -> Graph<(usize, usize)> {
        let edges = self.edges.iter().enumerate().filter(|(_, (_, _, e))| counts(e));
        Graph::new(self.nodes.len(), edges.map(|(i, (from, to, _))| (*from, (*to, i))).collect())
    }

    /// A shortest circle through an edge, within a subgraph.
    fn circle(&self, graph: &Graph<(usize, usize)>, through: usize) -> Option<Chain> {
        let (from, to, _) = self.edges[through];
        if from == to {
            return Some(vec![through]);
        }
        let mut chain = vec![through];
        chain.extend(path(graph, &[to], |v| v == from, |_, _| true)?);
        Some(chain)
    }
}

/// A shortest path from one of `starts` to where `is_goal`; the numbers of its edges.
pub(super) fn path(
    graph: &Graph<(usize, usize)>,
    starts: &[usize],
    is_goal: impl Fn(usize) -> bool,
    may: impl Fn(usize, usize) -> bool,
) -> Option<Chain> {
    let mut came: BTreeMap<usize, Option<(usize, usize)>> = starts.iter().map(|v| (*v, None)).collect();
    let mut queue: VecDeque<usize> = starts.iter().copied().collect();
    while let Some(v) = queue.pop_front() {
        if is_goal(v) {
            let mut chain = Vec::new();
            let mut at = v;
            while let Some(Some((from, edge))) = came.get(&at) {
                chain.push(*edge);
                at = *from;
            }
            chain.reverse();
            return Some(chain);
        }
        for (to, edge) in graph.of(v) {
            if may(v, *edge) && !came.contains_key(to) {
                came.insert(*to, Some((v, *edge)));
                queue.push_back(*to);
            }
        }
    }
    None
}

/// Says what a strongly connected part is.
pub(crate) fn classify(deps: &Dependences<'_>, part: &Part) -> Finding {
    if let Some(finding) = instantaneous(deps, part) {
        return finding;
    }
    if !part.runs(Distance::Next) {
        return Finding::Runs(Direction::Forward);
    }
    if let Some(finding) = unconditional(deps, part) {
        return finding;
    }
    if is_negative(deps, part) {
        return Finding::Runs(Direction::Mixed);
    }
    if part.nodes.iter().any(|v| matches!(deps.conditions.clocks.clocks[deps.clock(*v)], ClockData::Unknown))
    {
        return Finding::Unknown("the clocks of a recurrence that looks ahead are not known");
    }
    if let Some(proof) = cut(deps, part, DEPTH) {
        return Finding::Cut(proof);
    }
    if let Some(parts) = beside::separate(deps, part, DEPTH) {
        return Finding::Beside(parts);
    }
    // With a last value everywhere and no way back, the end of a closed trace determines all.
    let backs = part.edges.iter().all(|(_, _, e)| e.distance != Distance::Past && !deps.is_post(e));
    match any_circle(part, |e| e.distance == Distance::Next) {
        Some(chain) if backs => Finding::Closed(chain),
        _ => Finding::Unknown("no condition is found that cuts a recurrence that looks ahead"),
    }
}

/// A circle within one cycle.
fn instantaneous(deps: &Dependences<'_>, part: &Part) -> Option<Finding> {
    let now = |e: &Edge| e.distance == Distance::Now;
    let certain = |e: &Edge| now(e) && e.only == Only::Always && e.eq.is_some();
    if let Some(chain) = any_circle(part, certain) {
        return Some(Finding::Instantaneous(chain));
    }
    let chain = any_circle(part, now)?;
    Some(match consistent_circle(deps, part, &chain) {
        Some(chain) => Finding::Instantaneous(chain),
        None => Finding::Exclusive(chain),
    })
}

/// A circle of edges within one cycle that needs no more than one condition to have one value.
fn consistent_circle(deps: &Dependences<'_>, part: &Part, found: &Chain) -> Option<Chain> {
    let mut literals: BTreeSet<Literal> = BTreeSet::new();
    for (_, _, e) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Now) {
        if let Only::If(l) = e.only
            && literals.len() < CANDIDATES
        {
            literals.insert(l);
        }
    }
    let first = found.iter().filter_map(|i| match part.edges[*i].2.only {
        Only::If(l) => Some(l),
        _ => None,
    });
    let first: Vec<Literal> = first.collect();
    first.iter().chain(&literals).find_map(|l| {
        let holds = |e: &Edge| {
            e.distance == Distance::Now
                && e.eq.is_some()
                && (e.only == Only::Always || e.only == Only::If(*l))
        };
        let chain = any_circle(part, holds)?;
        // A member on another clock may be absent when the condition has that value.
        let clashes = chain.iter().any(|i| {
            let clock = deps.clock(part.nodes[part.edges[*i].0]);
            let chain = deps.conditions.chain(clock);
            chain.iter().any(|c| deps.conditions.literal(c.cond, c.value) == l.negated())
        });
        (!clashes).then_some(chain)
    })
}

/// Some circle of edges that count.
fn any_circle(part: &Part, counts: impl Fn(&Edge) -> bool) -> Option<Chain> {
    let graph = part.graph(counts);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    let id =
        all.members.iter().position(|m| m.len() > 1 || graph.of(m[0]).iter().any(|(to, _)| *to == m[0]))?;
    let from = all.members[id][0];
    let (_, through) = graph.of(from).iter().find(|(to, _)| all.of[*to] == id)?;
    part.circle(&graph, *through)
}

/// Whether an edge is taken wherever its start is needed.
pub(super) fn always(e: &Edge) -> bool {
    e.only == Only::Always && e.eq.is_some()
}

/// Circles that no condition cuts: backward for ever, or in both directions at once.
fn unconditional(deps: &Dependences<'_>, part: &Part) -> Option<Finding> {
    let windowed = |e: &Edge| deps.delay(e).is_some_and(|(_, w)| w.is_some());
    if let Some(finding) = two_ways(deps, part, always) {
        return Some(finding);
    }
    // What is left without windows runs one way.
    let endless = |e: &Edge| always(e) && !(e.distance == Distance::Next && windowed(e));
    let graph = part.graph(endless);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    let inside =
        |i: &usize, from: &usize, to: &usize| all.of[*from] == all.of[*to] && endless(&part.edges[*i].2);
    let mut closed = None;
    for (i, (from, to, e)) in part.edges.iter().enumerate() {
        if e.distance != Distance::Next || !inside(&i, from, to) {
            continue;
        }
        let members: BTreeSet<usize> = all.members[all.of[*from]].iter().map(|v| part.nodes[*v]).collect();
        let edges: BTreeSet<usize> = part
            .edges
            .iter()
            .enumerate()
            .filter(|(i, (from, to, _))| inside(i, from, to))
            .map(|(i, _)| i)
            .collect();
        let piece = part.restricted(&members, &edges);
        if is_negative(deps, &piece) {
            continue;
        }
        let chain = part.circle(&graph, i)?;
        if deps.is_post(e) {
            return Some(Finding::Uncut(chain));
        }
        closed = closed.or(Some(chain));
    }
    let is_plain = part.edges.iter().all(|(_, _, e)| e.distance != Distance::Past);
    closed.filter(|_| is_plain).map(Finding::Closed)
}

/// Circles without conditions, on one clock, of which one goes ahead and one back, or one as far back as ahead. No window around their
/// delays ends there: it is taken that there are such cycles for one condition, and for several if they are inputs, but conditions that
/// are computed might take turns.
pub(super) fn two_ways(
    deps: &Dependences<'_>,
    part: &Part,
    counts: impl Fn(&Edge) -> bool,
) -> Option<Finding> {
    let conditions = &deps.conditions;
    let ends = |e: &Edge| -> BTreeSet<Literal> {
        let chain = conditions.windows(deps.delay(e).and_then(|(_, w)| w)).into_iter();
        chain.map(|w| conditions.literal(conditions.flat.windows[w].end, true)).collect()
    };
    let within: Vec<BTreeSet<Literal>> = part.edges.iter().map(|(_, _, e)| ends(e)).collect();
    let sets: BTreeSet<&BTreeSet<Literal>> = within.iter().collect();
    let may_all_fail =
        |set: &&&BTreeSet<Literal>| set.len() < 2 || set.iter().all(|l| conditions.rhs(l.cond).is_none());
    sets.iter()
        .filter(may_all_fail)
        .find_map(|set| opposed(deps, part, |i| counts(&part.edges[i].2) && within[i].is_subset(set)))
}

/// What [`two_ways`] finds among edges, by their numbers.
fn opposed(deps: &Dependences<'_>, part: &Part, counts: impl Fn(usize) -> bool) -> Option<Finding> {
    let counted = part.edges.iter().enumerate().filter(|(i, _)| counts(*i));
    let graph = Graph::new(part.nodes.len(), counted.map(|(i, (from, to, _))| (*from, (*to, i))).collect());
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    for members in &all.members {
        let id = all.of[members[0]];
        let edges: BTreeSet<usize> = members
            .iter()
            .flat_map(|v| graph.of(*v))
            .filter(|(to, _)| all.of[*to] == id)
            .map(|(_, i)| *i)
            .collect();
        let piece = part.restricted(&members.iter().map(|v| part.nodes[*v]).collect(), &edges);
        if !piece.runs(Distance::Past) || !piece.runs(Distance::Next) {
            continue;
        }
        let clocks: BTreeSet<ClockId> = piece.nodes.iter().map(|v| deps.clock(*v)).collect();
        let one_way = sign(&piece, 1) != Some(true) || sign(&piece, -1) != Some(true);
        if clocks.len() == 1 && !one_way {
            let next = edges.iter().find(|i| part.edges[**i].2.distance == Distance::Next)?;
            return balanced(part, &graph, *next).map(Finding::Instantaneous);
        }
    }
    None
}

/// A circle through an edge ahead that shows both ways: from there to an edge back, and around.
fn balanced(part: &Part, graph: &Graph<(usize, usize)>, next: usize) -> Option<Chain> {
    let is_past = |v: usize| graph.of(v).iter().any(|(_, i)| part.edges[*i].2.distance == Distance::Past);
    let mut chain = vec![next];
    let there = path(graph, &[part.edges[next].1], is_past, |_, _| true)?;
    let at = there.last().map_or(part.edges[next].1, |i| part.edges[*i].1);
    chain.extend(there);
    let (_, past) = graph.of(at).iter().find(|(_, i)| part.edges[*i].2.distance == Distance::Past)?;
    chain.push(*past);
    chain.extend(path(graph, &[part.edges[*past].1], |v| v == part.edges[next].0, |_, _| true)?);
    Some(chain)
}

/// Whether a part may have a circle whose distances, each times `factor`, sum to zero or more; `None` if that was too much to find
/// out.
fn sign(part: &Part, factor: i64) -> Option<bool> {
    let n = part.nodes.len();
    let scale = i64::try_from(n).ok()?.checked_add(1)?;
    let weight = |e: &Edge| {
        let d = match e.distance {
            Distance::Now => 0,
            Distance::Past => -1,
            Distance::Next => 1,
        };
        // A circle sums to zero or more iff it is positive with a small bonus an edge.
        d * factor * scale + 1
    };
    let mut longest = vec![0_i64; n];
    let mut came = vec![usize::MAX; n];
    let rounds = (WORK / part.edges.len().max(1)).min(n + 1).max(2);
    for round in 0..rounds {
        let mut changed = false;
        for (from, to, e) in &part.edges {
            // How far ahead of the start of a way something is needed: against the edges.
            let through = longest[*to] + weight(e);
            if through > longest[*from] {
                longest[*from] = through;
                came[*from] = *to;
                changed = true;
            }
        }
        if !changed {
            return Some(false);
        }
        if (round % 8 == 7 || round + 1 == rounds) && has_circle(&came) {
            return Some(true);
        }
    }
    (rounds > n).then_some(true)
}

/// Whether following `came` runs in a circle.
fn has_circle(came: &[usize]) -> bool {
    let mut seen = vec![usize::MAX; came.len()];
    for start in 0..came.len() {
        let mut at = start;
        while at != usize::MAX && seen[at] == usize::MAX {
            seen[at] = start;
            at = came[at];
        }
        if at != usize::MAX && seen[at] == start {
            return true;
        }
    }
    false
}

/// Whether every circle leads to earlier cycles. Distances can be compared if all looks ahead count on one clock, of which the looks back
/// see ticks, too.
pub(crate) fn is_negative(deps: &Dependences<'_>, part: &Part) -> bool {
    let mut clock: Option<ClockId> = None;
    for (_, _, e) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next) {
        let Some((ck, _)) = deps.delay(e) else { return false };
        if *clock.get_or_insert(ck) != ck || matches!(deps.conditions.clocks.clocks[ck], ClockData::Unknown) {
            return false;
        }
    }
    let Some(clock) = clock else { return true };
    let back = part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Past);
    let mut delays = back.filter_map(|(_, _, e)| deps.delay(e));
    delays.all(|(ck, _)| deps.conditions.is_within(ck, clock)) && sign(part, 1) == Some(false)
}

/// Looks for conditions that cut a part.
pub(crate) fn cut(deps: &Dependences<'_>, part: &Part, depth: u32) -> Option<Proof> {
    let mut budget = WORK;
    let mut attempt = |ends: &Ends| {
        budget = budget.checked_sub(4 * part.edges.len())?;
        prove(deps, part, ends, depth)
    };
    for ends in windows(deps, part) {
        if let Some(proof) = attempt(&ends) {
            return Some(proof);
        }
    }
    for literal in candidates(deps, part) {
        if let Some(proof) = attempt(&Ends::All(vec![literal])) {
            return Some(proof);
        }
    }
    joint(deps, part).and_then(|ends| attempt(&ends))
}

/// The windows around looks ahead, innermost first, one for each set of ends.
fn windows(deps: &Dependences<'_>, part: &Part) -> Vec<Ends> {
    let conditions = &deps.conditions;
    let mut found: Vec<(usize, Vec<Literal>, Ends)> = Vec::new();
    for (_, _, e) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next) {
        for w in conditions.windows(deps.delay(e).and_then(|(_, w)| w)) {
            let chain = conditions.windows(Some(w));
            let literals: Vec<Literal> =
                chain.iter().map(|w| conditions.literal(conditions.flat.windows[*w].end, true)).collect();
            if found.len() < CANDIDATES && found.iter().all(|(_, l, _)| *l != literals) {
                found.push((usize::MAX - chain.len(), literals, Ends::Window(w)));
            }
        }
    }
    found.sort_by_key(|(depth, _, _)| *depth);
    found.into_iter().map(|(_, _, ends)| ends).collect()
}

/// Conditions whose other value some edge or member of a circle ahead needs; named ones first.
fn candidates(deps: &Dependences<'_>, part: &Part) -> Vec<Literal> {
    let ahead = |e: &Edge| e.distance != Distance::Past;
    let graph = part.graph(ahead);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    let next = part
        .edges
        .iter()
        .position(|(from, to, e)| e.distance == Distance::Next && all.of[*from] == all.of[*to]);
    let circle = next.and_then(|i| part.circle(&graph, i));
    let edges: Vec<usize> = circle.unwrap_or_else(|| (0..part.edges.len()).collect());
    let mut found: Vec<Literal> = Vec::new();
    for i in edges {
        for literal in needed(deps, part, i) {
            if !found.contains(&literal.negated()) && found.len() < CANDIDATES {
                found.push(literal.negated());
            }
        }
    }
    let conditions = &deps.conditions;
    found.retain(|l| conditions.constant(l.cond).is_none());
    found.sort_by_key(|l| (is_member(part, l.cond), conditions.flat.vars[l.cond].name.is_none(), !l.value));
    found
}

fn is_member(part: &Part, var: Var) -> bool {
    part.nodes.binary_search(&var.index()).is_ok()
}

/// The conditions under which an edge is taken: its own, and those of the clock of its start. A condition that is a sample stands for
/// itself and for what it samples.
fn needed(deps: &Dependences<'_>, part: &Part, edge: usize) -> Vec<Literal> {
    let (from, _, e) = &part.edges[edge];
    let conditions = &deps.conditions;
    let mut found = Vec::new();
    found.extend(e.only.condition());
    let chain = conditions.chain(deps.clock(part.nodes[*from]));
    found.extend(chain.into_iter().map(|l| conditions.literal(l.cond, l.value)));
    found
}

/// Conditions that cut together what none cuts alone: those that ways through one instant need, each negated, until none is left.
fn joint(deps: &Dependences<'_>, part: &Part) -> Option<Ends> {
    let mut chosen: Vec<Literal> = Vec::new();
    let now = part.graph(|e| e.distance == Distance::Now);
    let next = || part.edges.iter().enumerate().filter(|(_, (_, _, e))| e.distance == Distance::Next);
    let entries: Vec<usize> =
        next().map(|(_, (_, to, _))| *to).collect::<BTreeSet<_>>().into_iter().collect();
    for _ in 0..4 {
        let open = |i: usize| needed(deps, part, i).iter().all(|l| !chosen.contains(&l.negated()));
        let leaves: BTreeMap<usize, usize> =
            next().filter(|(i, _)| open(*i)).map(|(i, (from, _, _))| (*from, i)).collect();
        let Some(mut way) = path(&now, &entries, |v| leaves.contains_key(&v), |_, i| open(i)) else {
            return (chosen.len() > 1).then_some(Ends::All(chosen));
        };
        let at = way.last().map(|i| part.edges[*i].1);
        let last = at.or_else(|| entries.iter().copied().find(|v| leaves.contains_key(v)))?;
        way.push(leaves[&last]);
        let mut needs: Vec<Literal> = way.iter().flat_map(|i| needed(deps, part, *i)).collect();
        needs.retain(|l| deps.conditions.constant(l.cond).is_none() && !chosen.contains(l));
        needs.sort_by_key(|l| is_member(part, l.cond));
        chosen.push(needs.first()?.negated());
    }
    None
}

/// Some circle of a part that is strongly connected, through a look ahead if there is one.
pub(crate) fn some_circle(part: &Part) -> Chain {
    let graph = part.graph(|_| true);
    let next = part.edges.iter().position(|(_, _, e)| e.distance == Distance::Next);
    next.and_then(|i| part.circle(&graph, i)).unwrap_or_default()
}
