//! Parameters that cannot be updated in time (CAUSE-7).
//!
//! A parameter that is trained outside windows has a new value in each cycle. If the program looks ahead, the update
//! may wait for a value of the next cycle, which is computed with the parameter and therefore waits for the update.
//! This is an error if it happens in every run, and a warning if it depends on data.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::codes::analysis::UPDATE_CAUSALITY;
use rml_base::{Diagnostic, Graph, Span, components};
use rml_ir::flat::{Eq, Rhs, Var};

use super::graph::{Dependences, Distance, Edge};
use super::loops::name;
use super::part::{Chain, Part, path};
use super::recurrence::{Finding, always, classify, two_ways};
use crate::clocks::ClockId;

/// The maximum number of names of a path that a message shows.
const SHOWN: usize = 12;
/// The maximum number of updates for which the shortest circle is computed.
const TRIED: usize = 64;

/// The finding about a part with circles that run both forward and backward in time, if they all run through updates of
/// parameters.
pub(super) fn too_late(deps: &Dependences<'_>, part: &Part) -> Option<LateUpdate> {
    let parameters = parameters(deps);
    two_ways(deps, part, always)?;
    if two_ways(deps, part, |e| always(e) && parameter(&parameters, e).is_none()).is_some() {
        return None;
    }
    Some(Late::of(part, &parameters, always)?.update(deps, part, true))
}

/// The finding about an undecided part that would be decided if its parameters were not updated in each cycle.
pub(super) fn perhaps_too_late(deps: &Dependences<'_>, part: &Part) -> Option<LateUpdate> {
    let (flat, conditions) = (deps.conditions.flat, &deps.conditions);
    let ahead: BTreeSet<ClockId> = part
        .edges
        .iter()
        .filter(|(_, _, e)| e.distance == Distance::Next)
        .filter_map(|(_, _, e)| Some(deps.delay(e)?.0))
        .collect();
    // A parameter that is constant during a window has a clock of its own: the first cycles of windows.
    let mut parameters = parameters(deps);
    parameters.retain(|eq, _| {
        let own = conditions.chain(conditions.clocks.of[flat.equations[*eq].lhs]);
        ahead.iter().any(|clock| conditions.chain(*clock).ends_with(&own))
    });
    let found = Late::of(part, &parameters, |e| e.eq.is_some())?;
    let graph = part.graph(|e| parameter(&parameters, e).is_none());
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    for members in &all.members {
        let inside = |v: &usize| graph.of(*v).iter().filter(|(to, _)| all.of[*to] == all.of[members[0]]);
        let edges: BTreeSet<usize> = members.iter().flat_map(inside).map(|(_, i)| *i).collect();
        if edges.is_empty() {
            continue;
        }
        let piece = part.restricted(&members.iter().copied().collect(), &edges);
        if !matches!(classify(deps, &piece), Finding::Runs(_) | Finding::Cut(_) | Finding::Beside(_)) {
            return None;
        }
    }
    Some(found.update(deps, part, false))
}

/// The keys of parameters, by the equations that delay them.
type Parameters<'a> = BTreeMap<Eq, &'a str>;

fn parameters<'a>(deps: &Dependences<'a>) -> Parameters<'a> {
    let states = deps.conditions.flat.states.iter().filter(|(_, s)| s.parameter);
    states.map(|(key, s)| (s.equation, &**key)).collect()
}

/// The parameter whose update an edge represents.
fn parameter<'a>(parameters: &Parameters<'a>, e: &Edge) -> Option<&'a str> {
    let eq = e.eq.filter(|_| e.distance == Distance::Past)?;
    parameters.get(&eq).copied()
}

/// A circle through the update of a parameter.
struct Late<'a> {
    key: &'a str,
    /// Other parameters whose updates are on the circle.
    others: Vec<&'a str>,
    chain: Chain,
}

impl<'a> Late<'a> {
    /// A shortest such circle, through edges for which `counts` returns true.
    fn of(part: &Part, parameters: &Parameters<'a>, counts: impl Fn(&Edge) -> bool) -> Option<Self> {
        let graph = part.graph(counts);
        let updates = part.edges.iter().enumerate();
        let updates = updates.filter(|(_, (_, _, e))| parameter(parameters, e).is_some());
        let chain = updates.take(TRIED).filter_map(|(i, _)| way(part, &graph, i)).min_by_key(Vec::len)?;
        let mut found = chain.iter().filter_map(|i| parameter(parameters, &part.edges[*i].2));
        let key = found.next()?;
        let mut others: Vec<&str> = found.filter(|other| *other != key).collect();
        others.sort_unstable();
        others.dedup();
        Some(Self { key, others, chain })
    }

    fn update(&self, deps: &Dependences<'_>, part: &Part, certain: bool) -> LateUpdate {
        let flat = deps.conditions.flat;
        let steps = || self.chain.iter().filter_map(|i| Some((&part.edges[*i].2, part.edges[*i].2.eq?)));
        let ahead = steps().find(|(e, _)| e.distance == Distance::Next).map(|(_, eq)| &flat.equations[eq]);
        let is_named = |v: &Var| flat.vars[*v].name.is_some();
        let mut names: Vec<String> =
            steps().map(|(_, eq)| flat.equations[eq].lhs).filter(is_named).map(|v| name(flat, v)).collect();
        names.dedup();
        if names.len() > SHOWN {
            names.splice(SHOWN / 2..names.len() - SHOWN / 2, ["..".to_owned()]);
        }
        LateUpdate {
            key: self.key.to_owned(),
            others: self.others.iter().map(|key| format!("`{key}`")).collect(),
            reader: steps().next_back().map(|(_, eq)| flat.equations[eq].span),
            ahead: ahead.map(|equation| (equation.span, matches!(equation.rhs, Rhs::Post { .. }))),
            names,
            certain,
        }
    }
}

/// The update of a parameter that waits for an effect of the parameter in the next cycle, and therefore for itself.
#[derive(Clone, Debug)]
pub struct LateUpdate {
    key: String,
    /// Other parameters whose updates are on the circle.
    others: Vec<String>,
    reader: Option<Span>,
    /// The place of the look-ahead, and whether it is a `post`.
    ahead: Option<(Span, bool)>,
    /// The variables on the circle.
    names: Vec<String>,
    /// Whether the update waits for itself in every run.
    certain: bool,
}

impl LateUpdate {
    /// The checkpoint key of the parameter.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The place where the parameter is read, or else that of the look-ahead.
    pub fn place(&self) -> Option<Span> {
        self.reader.or(self.ahead.map(|(span, _)| span))
    }

    /// The error or warning about the update. `windows` shows how to run the node of the parameter window by window; it
    /// is empty if that is unknown.
    pub fn diagnostic(&self, windows: &[String]) -> Diagnostic {
        let does = if self.certain { "waits" } else { "may wait" };
        let what = "for what the parameter does in the next cycle, and so for itself";
        let message = format!("the update of the parameter `{}` {does} {what}", self.key);
        let mut found = match self.certain {
            true => Diagnostic::error(UPDATE_CAUSALITY, message),
            false => Diagnostic::warning(UPDATE_CAUSALITY, message),
        };
        if let Some(span) = self.reader {
            found = found.label(span, "the parameter is used here, with a new value in each cycle");
        }
        if let Some((span, is_post)) = self.ahead {
            let text = match is_post {
                true => "this looks ahead to the next cycle",
                false => "the gradient comes through this from the next cycle",
            };
            found = found.label(span, text);
        }
        if windows.is_empty() {
            found = found.note(format!("each of these needs the next one: {}", self.names.join(", ")));
        }
        if !self.others.is_empty() {
            found = found.note(format!("the way runs through updates of {}, too", self.others.join(", ")));
        }
        if !self.certain {
            found = found.note("so only the run can tell whether its values are known");
        }
        found.help.extend_from_slice(windows);
        if windows.is_empty() {
            found = found.help("call the node that has the parameter, or one around it, with `every end`: the parameter is then read and updated once a window");
        }
        found.help("or delay the update: let the gradient that enters be that of an earlier cycle")
    }
}

/// The path from an update to a value ahead in time that it needs, and from there back to the parameter.
fn way(part: &Part, graph: &Graph<(usize, usize)>, update: usize) -> Option<Chain> {
    let (from, to, _) = part.edges[update];
    let ahead = |v: usize| graph.of(v).iter().find(|(_, i)| part.edges[*i].2.distance == Distance::Next);
    let mut chain = vec![update];
    let there = path(graph, &[to], |v| ahead(v).is_some(), |_, _| true)?;
    let at = there.last().map_or(to, |i| part.edges[*i].1);
    chain.extend(there);
    let (next, step) = ahead(at)?;
    chain.push(*step);
    chain.extend(path(graph, &[*next], |v| v == from, |_, _| true)?);
    Some(chain)
}
