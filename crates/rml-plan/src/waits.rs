//! Checks P9: what a plan that [waits](Plan::waits) is made of.

use super::{Atom, Case, Ends, Lifetime, Output, Part, Plan, Region, Tick, Write};

impl Plan {
    /// In a plan that waits, a part of a forward loop may read the next tick of another part; then it runs some ticks
    /// behind that part. Returns how many ticks each part lags; none if a part would have to lag behind itself.
    pub fn lags(&self, parts: &[Part]) -> Option<Vec<usize>> {
        let mut at = vec![None; self.tapes.len()];
        parts.iter().enumerate().for_each(|(i, part)| at[part.tape.0 as usize] = Some(i));
        let mut reads = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let cases = self.tapes[part.tape].cases.iter();
            for atom in cases.flat_map(Case::reads) {
                let Atom::Tape(tape, tick) = atom else { continue };
                let Some(j) = at[tape.0 as usize] else { continue };
                let by = tick.offset().unwrap_or(0);
                // Later parts have not reached the same tick yet.
                reads.push((i, j, by + isize::from(j >= i)));
            }
        }
        let mut lags = vec![0_isize; parts.len()];
        loop {
            let mut changed = false;
            for (i, j, by) in &reads {
                let lag = lags[*j] + by;
                changed |= lag > lags[*i];
                lags[*i] = lag.max(lags[*i]);
            }
            if !changed {
                return Some(lags.into_iter().map(isize::unsigned_abs).collect());
            }
            // If the lags have a solution, none exceeds that of a path through all parts.
            if lags.iter().any(|lag| lag.unsigned_abs() > 2 * parts.len()) {
                return None;
            }
        }
    }
}

/// Adds every violation.
pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    if !plan.waits {
        return;
    }
    let mut fail = |who: &dyn std::fmt::Display, what: &str| found.push(format!("P9: {who} {what}"));
    if plan.ends != Ends::Nothing || plan.ahead() > 0 {
        fail(&"a plan that waits", "has ends, or says how far it looks ahead");
    }
    let is_edge = |atom: Atom| matches!(atom, Atom::Tape(_, Tick::First | Tick::Last));
    for region in &plan.regions {
        for part in region.parts() {
            if part.at.and(plan.tapes[part.tape].place()) != plan.tapes[part.tape].place() {
                fail(&part.tape, "is filled by several parts");
            }
        }
        let Region::Loop { backward, parts, writes, .. } = region else { continue };
        match if *backward { None } else { Some(plan.lags(parts)) } {
            Some(None) => fail(&parts[0].tape, "is in a loop in which a tick needs itself"),
            Some(Some(lags)) if !writes.is_empty() && lags.iter().any(|lag| *lag > 0) => {
                fail(&writes[0].register, "is written in a loop in which some parts lag behind others");
            }
            _ => {}
        }
        for write in writes {
            if *backward && plan.registers[write.register].kind != Lifetime::Local {
                fail(&write.register, "outlives the block, and is written in a loop backward");
            }
            if !write.at.ignores_end() {
                fail(&write.register, "is written with something else where a tick is the last one");
            }
            if write.reads().any(is_edge) {
                fail(&write.register, "is written with what is at an edge");
            }
        }
    }
    for output in &plan.outputs {
        if !output.cases.iter().all(|(at, ..)| at.ignores_end()) {
            fail(&output.name, "is something else where a tick is the last one");
        }
    }
    let mut put_out = plan.outputs.iter().flat_map(Output::reads).map(|(_, atom)| atom);
    if put_out.any(is_edge) || plan.commits.iter().flat_map(Write::reads).any(is_edge) {
        fail(&"what is put out or committed", "is at an edge");
    }
    for (tape, data) in plan.tapes.iter_enumerated() {
        if data.is_sum() {
            fail(&tape, "is a sum");
        }
        if !data.cases.iter().all(|case| case.at.ignores_end()) {
            fail(&tape, "is something else where a tick is the last one");
        }
        if data.cases.iter().flat_map(Case::reads).any(is_edge) {
            fail(&tape, "reads what is at an edge");
        }
    }
}
