//! Circular waits: the variables that wait for each other when no process can continue.

use std::collections::BTreeSet;

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::Var;

use super::WaitStep;

/// The variables that wait for ever, and the circles in which they wait. A variable needs everything for which it
/// waits, so a variable that waits for a member of a circle is stuck as well.
pub(super) fn find(waits: &IndexVec<Var, Vec<WaitStep>>) -> (IndexVec<Var, bool>, Vec<Vec<WaitStep>>) {
    let mut stuck: IndexVec<Var, bool> = waits.iter().map(|w| !w.is_empty()).collect();
    // A variable is not stuck if none of the variables for which it waits is stuck.
    loop {
        let free = |v: Var| !waits[v].iter().any(|w| stuck[w.on]);
        let freed: Vec<Var> = waits.ids().filter(|&v| stuck[v] && free(v)).collect();
        if freed.is_empty() {
            break;
        }
        freed.into_iter().for_each(|v| stuck[v] = false);
    }
    let mut circles: Vec<Vec<WaitStep>> = Vec::new();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for v in waits.ids().filter(|&v| stuck[v]) {
        let path = follow(v, waits, &stuck, &mut seen);
        circles.extend(path);
    }
    (stuck, circles)
}

/// The circle into which the waits of `v` lead, if it has not been found before.
fn follow(
    v: Var,
    waits: &IndexVec<Var, Vec<WaitStep>>,
    stuck: &IndexVec<Var, bool>,
    seen: &mut BTreeSet<usize>,
) -> Option<Vec<WaitStep>> {
    let mut path: Vec<WaitStep> = Vec::new();
    let mut at = v;
    loop {
        if let Some(start) = path.iter().position(|w| w.var == at) {
            return Some(path.split_off(start));
        }
        if !seen.insert(at.index()) {
            return None;
        }
        let wait = *waits[at].iter().find(|w| stuck[w.on])?;
        path.push(wait);
        at = wait.on;
    }
}
