//! Recurrences: the strongly connected parts of the needs within a segment, and the order in which they run.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{Components, EntityId, Graph, IndexVec, components};
use rml_ir::flat::{Eq, Rhs, Var};

use super::needs::{Need, Needs, Step};
use super::scope::{Presence, Scope};
use super::values::Values;
use super::{MemberOrder, Rec, RecData, Segments, SegmentsData};
use crate::clocks::ClockId;
use crate::sums::{Sums, sums};
use rml_ir::{Position, Positions};

pub(super) fn recurrences(
    scope: &Scope<'_, '_>,
    values: &Values,
    presence: &Presence,
    id: Segments,
) -> Vec<RecData> {
    let needs = Needs { scope, values, presence };
    let mut list = Vec::new();
    for v in scope.conditions.flat.vars.ids() {
        for p in presence.place[v].iter() {
            list.extend(needs.of(v, p).into_iter().map(|n| (Needs::index(v, p), n)));
        }
    }
    let graph = Graph::new(4 * scope.conditions.flat.vars.len(), list);
    let target = |n: &Need| Needs::index(n.var, n.at);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|n| Some(target(n))));
    let mut found = Vec::new();
    for members in &all.members {
        let is_loop = |v: usize| graph.of(v).iter().any(|n| target(n) == v);
        if members.len() > 1 || is_loop(members[0]) {
            let order = order(scope, &graph, &all, members);
            found.push(RecData { segments: id, members: by_equation(scope, members), order });
        }
    }
    found.sort_by_key(|r| r.members.first().map(|m| m.0));
    found
}

fn by_equation(scope: &Scope<'_, '_>, members: &[usize]) -> Vec<(Eq, Positions)> {
    let mut of: BTreeMap<Eq, Positions> = BTreeMap::new();
    for node in members {
        if let Some(eq) = scope.conditions.defs[Var::from_index(node / 4)] {
            let positions = of.entry(eq).or_default();
            *positions = positions.with(Position::ALL[node % 4]);
        }
    }
    of.into_iter().collect()
}

/// Finds the recurrences of the surrounding segments that run by these segments.
pub(super) fn run_by(
    scope: &Scope<'_, '_>,
    values: &Values,
    presence: &Presence,
    (id, segments): (Segments, &IndexVec<Segments, SegmentsData>),
    recurrences: &mut IndexVec<Rec, RecData>,
) {
    let around: Vec<Segments> = std::iter::successors(segments[id].parent, |s| segments[*s].parent).collect();
    for rec in
        recurrences.iter_mut().filter(|r| r.order == MemberOrder::Unknown && around.contains(&r.segments))
    {
        if needs_nothing_later(scope, values, presence, rec) {
            rec.order = MemberOrder::BySegments(id);
        }
    }
}

/// Whether no member of a recurrence needs a member in a later segment: each member ticks within segments, and its
/// delays lead to the same segment or an earlier one.
fn needs_nothing_later(scope: &Scope<'_, '_>, values: &Values, presence: &Presence, rec: &RecData) -> bool {
    let equations = &scope.conditions.flat.equations;
    let members: BTreeSet<Var> = rec.members.iter().map(|(eq, _)| equations[*eq].lhs).collect();
    rec.members.iter().all(|(eq, _)| {
        let (v, rhs) = (equations[*eq].lhs, &equations[*eq].rhs);
        let (Rhs::Fby { next, .. } | Rhs::FbyBack { next, .. } | Rhs::Post { next, .. }) = rhs else {
            return scope.is_inside(v);
        };
        let may_lead_anywhere = |p: Position| scope.sources(values, v, rhs, p).anything;
        scope.is_inside(v) && !(members.contains(next) && presence.place[v].iter().any(may_lead_anywhere))
    })
}

fn order(scope: &Scope<'_, '_>, graph: &Graph<Need>, all: &Components, members: &[usize]) -> MemberOrder {
    let id = all.of[members[0]];
    let inside = |n: &&Need| all.of[Needs::index(n.var, n.at)] == id;
    let edges: Vec<(usize, Need)> =
        members.iter().flat_map(|v| graph.of(*v).iter().filter(inside).map(|n| (*v, *n))).collect();
    if has_circle_now(&edges) {
        return MemberOrder::Unknown;
    }
    let runs = |steps: [Step; 2]| edges.iter().any(|(_, n)| steps.contains(&n.step));
    match (runs([Step::Back, Step::ToFirst]), runs([Step::Ahead, Step::ToLast])) {
        (_, false) => MemberOrder::Forward,
        (false, true) => MemberOrder::Backward,
        (true, true) if leads_back(scope, &edges) => MemberOrder::Mixed,
        (true, true) => MemberOrder::Unknown,
    }
}

fn has_circle_now(edges: &[(usize, Need)]) -> bool {
    let now: Vec<(usize, Need)> = edges.iter().filter(|(_, n)| n.step == Step::Now).copied().collect();
    let (len, list) = numbered(&now);
    let loops = list.iter().any(|(a, b)| a == b);
    let graph = Graph::new(len, list);
    loops || components(len, |v, i| graph.of(v).get(i).copied().map(Some)).members.len() < len
}

/// Whether every circle leads back more ticks than ahead. The numbers of ticks can be compared if all steps ahead
/// are counted on one clock, and this clock ticks wherever the clocks of the steps back tick.
fn leads_back(scope: &Scope<'_, '_>, edges: &[(usize, Need)]) -> bool {
    let clock = |node: usize| -> ClockId { scope.clock(Var::from_index(node / 4)) };
    let mut ahead = edges.iter().filter(|(_, n)| n.step == Step::Ahead).map(|(v, _)| clock(*v));
    let Some(first) = ahead.next() else { return false };
    let comparable = ahead.all(|ck| ck == first)
        && edges.iter().all(|(_, n)| n.step != Step::ToLast)
        && edges
            .iter()
            .filter(|(_, n)| n.step == Step::Back)
            .all(|(v, _)| scope.conditions.is_within(clock(*v), first));
    let ticks = |step: Step| match step {
        Step::Back | Step::ToFirst => -1,
        Step::Now => 0,
        Step::Ahead | Step::ToLast => 1,
    };
    let (len, places) = numbered(edges);
    let steps: Vec<_> =
        edges.iter().zip(places).map(|((_, n), (from, to))| (from, to, ticks(n.step))).collect();
    comparable && sums(len, &steps) == Sums::Negative
}

/// The number of nodes that the edges connect, and the ends of each edge as indices below that number.
fn numbered(edges: &[(usize, Need)]) -> (usize, Vec<(usize, usize)>) {
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    let mut place = |node: usize| {
        let next = places.len();
        *places.entry(node).or_insert(next)
    };
    let ends = edges.iter().map(|(v, n)| (place(*v), place(Needs::index(n.var, n.at)))).collect();
    (places.len(), ends)
}
