//! Circular waits: who waits for whom when nothing can go on.

use std::collections::BTreeSet;

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::Var;

use super::Wait;

/// The variables that wait for ever, and the circles that they wait in. Every wait has to be met, so a variable that waits for one
/// of a circle is as stuck as those in it.
pub(super) fn find(waits: &IndexVec<Var, Vec<Wait>>) -> (IndexVec<Var, bool>, Vec<Vec<Wait>>) {
    let mut stuck: IndexVec<Var, bool> = waits.iter().map(|w| !w.is_empty()).collect();
    // What waits for nothing that is stuck is not stuck.
    loop {
        let free = |v: Var| !waits[v].iter().any(|w| stuck[w.on]);
        let freed: Vec<Var> = waits.ids().filter(|&v| stuck[v] && free(v)).collect();
        if freed.is_empty() {
            break;
        }
        freed.into_iter().for_each(|v| stuck[v] = false);
    }
    let mut circles: Vec<Vec<Wait>> = Vec::new();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for v in waits.ids().filter(|&v| stuck[v]) {
        let path = follow(v, waits, &stuck, &mut seen);
        circles.extend(path);
    }
    (stuck, circles)
}

/// The circle that the waits of `v` lead into, if it was not met before.
fn follow(
    v: Var,
    waits: &IndexVec<Var, Vec<Wait>>,
    stuck: &IndexVec<Var, bool>,
    seen: &mut BTreeSet<usize>,
) -> Option<Vec<Wait>> {
    let mut path: Vec<Wait> = Vec::new();
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
