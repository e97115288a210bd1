//! Parameters that cannot be updated in time (CAUSE-7).
//!
//! A parameter that is trained outside windows has a new value in each cycle. If the program looks ahead, the update may wait for a value
//! of the next cycle, which is computed with the parameter and therefore waits for the update.

use std::collections::BTreeMap;

use rml_base::Diagnostic;
use rml_base::codes::analysis::UPDATE_CAUSALITY;
use rml_ir::flat::{Eq, Rhs, Var};

use super::graph::{Dependences, Distance, Edge};
use super::part::{Chain, Part, path};
use super::recurrence::{always, two_ways};
use super::report::name;

/// The most names on a path that are shown.
const SHOWN: usize = 12;

/// The diagnostic for a part with circles forward and backward in time at once, if they all run through updates of parameters.
pub(super) fn too_late(deps: &Dependences<'_>, part: &Part) -> Option<Diagnostic> {
    let flat = deps.conditions.flat;
    let parameters: BTreeMap<Eq, &str> =
        flat.states.iter().filter(|(_, s)| s.parameter).map(|(key, s)| (s.equation, &**key)).collect();
    let parameter = |e: &Edge| {
        let eq = e.eq.filter(|_| e.distance == Distance::Past)?;
        parameters.get(&eq).copied()
    };
    two_ways(deps, part, always)?;
    if two_ways(deps, part, |e| always(e) && parameter(e).is_none()).is_some() {
        return None;
    }
    let updates = part.edges.iter().enumerate().filter(|(_, (_, _, e))| parameter(e).is_some());
    let ways = updates.filter_map(|(i, _)| way(part, i));
    let chain = ways.min_by_key(Vec::len)?;
    let mut found = chain.iter().filter_map(|i| parameter(&part.edges[*i].2));
    let key = found.next()?;
    let mut others: Vec<&str> = found.filter(|other| *other != key).collect();
    others.sort_unstable();
    others.dedup();
    Some(diagnostic(deps, part, &chain, key, &others))
}

/// The path from an update to what it needs ahead in time, and from there back to the parameter.
fn way(part: &Part, update: usize) -> Option<Chain> {
    let graph = part.graph(always);
    let (from, to, _) = part.edges[update];
    let ahead = |v: usize| graph.of(v).iter().find(|(_, i)| part.edges[*i].2.distance == Distance::Next);
    let mut chain = vec![update];
    let there = path(&graph, &[to], |v| ahead(v).is_some(), |_, _| true)?;
    let at = there.last().map_or(to, |i| part.edges[*i].1);
    chain.extend(there);
    let (next, step) = ahead(at)?;
    chain.push(*step);
    chain.extend(path(&graph, &[*next], |v| v == from, |_, _| true)?);
    Some(chain)
}

fn diagnostic(deps: &Dependences<'_>, part: &Part, chain: &Chain, key: &str, others: &[&str]) -> Diagnostic {
    let flat = deps.conditions.flat;
    let mut found = Diagnostic::error(
        UPDATE_CAUSALITY,
        format!(
            "the update of the parameter `{key}` waits for what the parameter does in the next cycle, and so for itself"
        ),
    );
    let steps = || chain.iter().filter_map(|i| Some((&part.edges[*i].2, part.edges[*i].2.eq?)));
    if let Some((_, reader)) = steps().next_back() {
        let span = flat.equations[reader].span;
        found = found.label(span, "the parameter is used here, with a new value in each cycle");
    }
    if let Some((_, ahead)) = steps().find(|(e, _)| e.distance == Distance::Next) {
        let equation = &flat.equations[ahead];
        let text = match equation.rhs {
            Rhs::Post { .. } => "this looks ahead to the next cycle",
            _ => "the gradient comes through this from the next cycle",
        };
        found = found.label(equation.span, text);
    }
    let is_named = |v: &Var| flat.vars[*v].name.is_some();
    let mut names: Vec<String> =
        steps().map(|(_, eq)| flat.equations[eq].lhs).filter(is_named).map(|v| name(flat, v)).collect();
    names.dedup();
    if names.len() > SHOWN {
        names.splice(SHOWN / 2..names.len() - SHOWN / 2, ["..".to_owned()]);
    }
    found = found.note(format!("each of these needs the next one: {}", names.join(", ")));
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|key| format!("`{key}`")).collect();
        found = found.note(format!("the way runs through updates of {}, too", others.join(", ")));
    }
    found
        .help("call the differentiated node with `every end`: a parameter is then read and updated once a window")
        .help("or delay the update: let the gradient that enters be that of an earlier cycle")
}
