//! Groups positions at which a tape has the same rule.

use rml_analysis::{Position, Positions};
use rml_plan::Tick;

use super::{At, Case, Output, Rule};
use crate::resolve::Source;

pub(super) fn merged(output: Output) -> Output {
    let mut merged = Output::new();
    for (at, when, source) in output {
        match merged.iter_mut().find(|(_, w, s)| *w == when && *s == source) {
            Some(known) => known.0 = known.0.or(at),
            None => merged.push((at, when, source)),
        }
    }
    merged
}

/// Merges positions with the same rule. If other positions read an operand at the first (last) tick, then at that tick
/// itself the operand also counts as read at the first (last) tick.
pub(super) fn grouped(found: Vec<At>) -> Vec<Case> {
    let patterns: Vec<Rule> = found.iter().map(|(_, (_, rule))| rule.clone()).collect();
    let mut cases: Vec<Case> = Vec::new();
    for (p, (when, rule)) in found {
        let rule = patterns.iter().find_map(|pattern| matching(&rule, pattern, p)).unwrap_or(rule);
        match cases.iter_mut().find(|c| c.when == when && c.rule == rule) {
            Some(case) => case.at = case.at.with(p),
            None => cases.push(Case { at: Positions::NONE.with(p), when, rule }),
        }
    }
    cases
}

/// A rule, rewritten to read the first or last tick as `pattern` does, if the two are equal at this position.
fn matching(rule: &Rule, pattern: &Rule, p: Position) -> Option<Rule> {
    let (ours, theirs) = (rule.operands(), pattern.operands());
    if ours.len() != theirs.len() {
        return None;
    }
    let mut reads_edge = false;
    let joined: Option<Vec<Source>> = ours
        .iter()
        .zip(&theirs)
        .map(|(a, b)| match (*a, *b) {
            (Source::Kept(u, Tick::Now), Source::Kept(w, Tick::First)) if u == w && p.is_start() => {
                reads_edge = true;
                Some(*b)
            }
            (Source::Kept(u, Tick::Now), Source::Kept(w, Tick::Last)) if u == w && p.is_end() => {
                reads_edge = true;
                Some(*b)
            }
            (a, b) => (a == b).then_some(a),
        })
        .collect();
    let mut joined = joined?.into_iter();
    let result = rule.map(|a| joined.next().unwrap_or(a));
    (reads_edge && result == *pattern).then_some(result)
}
