//! Classifies a strongly connected part of the dependence graph: it can run, conditions cut it, or it never ends.

use std::collections::BTreeSet;

use super::beside;
use super::cut;
use super::graph::{Dependences, Distance, Edge, Only};
use super::help;
use super::part::{Chain, Part, any_circle, is_negative, path, sums};
use super::segment::{Direction, Proof};
use crate::clocks::{ClockData, ClockId};
use crate::conditions::Guard;
use crate::sums::Sums;
use rml_base::{Graph, components};

/// The maximum number of conditions to try in the search for one under which a circle within one cycle exists.
const CANDIDATES: usize = 64;

/// The class of a part.
#[derive(Clone, Debug)]
pub(crate) enum Finding {
    /// The part can run without a cut, in the given direction.
    Runs(Direction),
    /// Conditions cut the part.
    Cut(Proof),
    /// Windows side by side cut pieces of the part, and the rest runs forward between them.
    Beside(Vec<(Part, Proof)>),
    /// Only the end of a closed trace cuts the part.
    Closed(Chain),
    /// A value needs itself within one cycle.
    Instantaneous(Chain),
    /// A value needs itself within one cycle, but only through conditions that may exclude each other.
    Exclusive(Chain),
    /// The part runs backward without end.
    Uncut(Chain),
    /// Nothing is known: the reason, and the help.
    Unknown(&'static str, &'static str),
}

/// Classifies a strongly connected part.
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
        return Finding::Unknown("the clocks of a recurrence that looks ahead are not known", help::CLOCK);
    }
    if let Some(proof) = cut::search(deps, part) {
        return Finding::Cut(proof);
    }
    if let Some(parts) = beside::separate(deps, part) {
        return Finding::Beside(parts);
    }
    // If all look-aheads have a last value and there are no delays back, the end of a closed trace determines all
    // values.
    let backs = part.edges.iter().all(|(_, _, e)| e.distance != Distance::Past && !deps.is_post(e));
    match any_circle(part, |e| e.distance == Distance::Next) {
        Some(chain) if backs => Finding::Closed(chain),
        _ => Finding::Unknown("no condition cuts a recurrence that looks ahead", help::CUT),
    }
}

/// A circle within one cycle, as a finding.
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

/// A circle of edges within one cycle that requires at most one condition, so that it certainly exists in cycles in
/// which that condition holds.
fn consistent_circle(deps: &Dependences<'_>, part: &Part, found: &Chain) -> Option<Chain> {
    let mut guards: BTreeSet<Guard> = BTreeSet::new();
    for (_, _, e) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Now) {
        if let Only::If(l) = e.only
            && guards.len() < CANDIDATES
        {
            guards.insert(l);
        }
    }
    let first = found.iter().filter_map(|i| match part.edges[*i].2.only {
        Only::If(l) => Some(l),
        _ => None,
    });
    let first: Vec<Guard> = first.collect();
    first.iter().chain(&guards).find_map(|l| {
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
            chain.iter().any(|c| deps.conditions.guard(c.cond, c.value) == l.negated())
        });
        (!clashes).then_some(chain)
    })
}

/// Whether an edge is taken wherever its start is needed.
pub(super) fn always(e: &Edge) -> bool {
    e.only == Only::Always && e.eq.is_some()
}

/// Circles that no condition can cut, because they run backward without end or in both directions at once.
fn unconditional(deps: &Dependences<'_>, part: &Part) -> Option<Finding> {
    let windowed = |e: &Edge| deps.delay(e).is_some_and(|(_, w)| w.is_some());
    if let Some(finding) = two_ways(deps, part, always) {
        return Some(finding);
    }
    // Without windows, the remaining edges run in one direction.
    let endless = |e: &Edge| always(e) && !(e.distance == Distance::Next && windowed(e));
    let graph = part.graph(endless);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    let is_inside = |i: usize| {
        let (from, to, e) = &part.edges[i];
        all.of[*from] == all.of[*to] && endless(e)
    };
    let mut closed = None;
    for ahead in (0..part.edges.len()).filter(|i| is_inside(*i)) {
        let (start, _, edge) = &part.edges[ahead];
        if edge.distance != Distance::Next {
            continue;
        }
        let id = all.of[*start];
        let members: BTreeSet<usize> = all.members[id].iter().map(|v| part.nodes[*v]).collect();
        let edges = (0..part.edges.len()).filter(|i| is_inside(*i) && all.of[part.edges[*i].0] == id);
        if is_negative(deps, &part.restricted(&members, &edges.collect())) {
            continue;
        }
        let Some(chain) = part.circle(&graph, ahead) else { continue };
        if deps.is_post(edge) {
            return Some(Finding::Uncut(chain));
        }
        closed = closed.or(Some(chain));
    }
    let is_plain = part.edges.iter().all(|(_, _, e)| e.distance != Distance::Past);
    closed.filter(|_| is_plain).map(Finding::Closed)
}

/// Two circles without conditions on one clock of which one goes ahead and one goes back, or a circle that goes back as
/// far as ahead.
///
/// They exist only in cycles in which no window around their delays ends. Such cycles are assumed to exist if there is
/// a single end, or if all ends are inputs. Several computed ends might alternate, so that one of them holds in every
/// cycle.
pub(super) fn two_ways(
    deps: &Dependences<'_>,
    part: &Part,
    counts: impl Fn(&Edge) -> bool,
) -> Option<Finding> {
    let conditions = &deps.conditions;
    let ends = |e: &Edge| -> BTreeSet<Guard> {
        let chain = conditions.windows(deps.delay(e).and_then(|(_, w)| w)).into_iter();
        chain.map(|w| conditions.guard(conditions.flat.windows[w].end, true)).collect()
    };
    let within: Vec<BTreeSet<Guard>> = part.edges.iter().map(|(_, _, e)| ends(e)).collect();
    let sets: BTreeSet<&BTreeSet<Guard>> = within.iter().collect();
    let may_all_fail =
        |set: &&&BTreeSet<Guard>| set.len() < 2 || set.iter().all(|l| conditions.rhs(l.cond).is_none());
    sets.iter()
        .filter(may_all_fail)
        .find_map(|set| opposed(deps, part, |i| counts(&part.edges[i].2) && within[i].is_subset(set)))
}

/// The circles that [`two_ways`] searches for, among the edges whose indices `counts` accepts.
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
        let both_ways = [1, -1].iter().all(|factor| sums(&piece, *factor) == Sums::NotAll);
        let next = edges.iter().find(|i| part.edges[**i].2.distance == Distance::Next);
        if clocks.len() == 1
            && both_ways
            && let Some(chain) = next.and_then(|next| balanced(part, &graph, *next))
        {
            return Some(Finding::Instantaneous(chain));
        }
    }
    None
}

/// A circle through an edge ahead that shows both directions: from that edge to an edge back, and around.
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
