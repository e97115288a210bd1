//! Missing values: a `post` has no value at the last tick of its window, and neither has any value that needs it there.

use std::collections::BTreeSet;

use rml_base::EntityId;
use rml_ir::flat::{Eq, Rhs, Var, Window};

use super::graph::{self, Dependences, Distance, Edge, Only};
use crate::conditions::{Guard, Instant};

/// The values that are missing, or may be.
#[derive(Default)]
pub(super) struct Missing {
    /// The positions of the graph that may be missing.
    pub(super) reached: BTreeSet<usize>,
    /// The outputs that are certainly missing, each with the `post` that causes this.
    pub(super) shown: Vec<(Eq, Var)>,
    /// The outputs that may be missing, each with the `post` that causes this.
    pub(super) doubtful: Vec<(Eq, Var)>,
}

/// An edge, listed at its target.
struct Reader {
    by: usize,
    edge: Edge,
}

pub(super) fn missing(deps: &Dependences<'_>) -> Missing {
    let flat = deps.conditions.flat;
    let mut found = Missing::default();
    let is_post = |rhs: &Rhs| matches!(rhs, Rhs::Post { window: Some(_), .. });
    if !flat.equations.iter().any(|e| is_post(&e.rhs)) {
        return found;
    }
    let mut readers: Vec<Vec<Reader>> = Vec::new();
    readers.resize_with(deps.graph.len(), Vec::new);
    for by in 0..deps.graph.len() {
        for edge in deps.graph.of(by) {
            readers[edge.to].push(Reader { by, edge: *edge });
        }
    }
    for (eq, equation) in flat.equations.iter_enumerated() {
        if let Rhs::Post { window: Some(window), .. } = equation.rhs
            && !graph::is_empty(&deps.conditions, deps.conditions.clocks.of[equation.lhs])
        {
            let walk = Walk { deps, readers: &readers, window, instant: last(deps, window) };
            walk.from(eq, equation.lhs, &mut found);
        }
    }
    found
}

/// The facts that are known about the last cycle of a window.
fn last(deps: &Dependences<'_>, window: Window) -> Instant {
    let conditions = &deps.conditions;
    let ends: BTreeSet<Guard> = ends(deps, window);
    let mut instant = Instant { last: Some(true), ..Instant::default() };
    if let [end] = ends.iter().copied().collect::<Vec<_>>()[..] {
        conditions.assume(&mut instant, end);
    }
    instant
}

fn ends(deps: &Dependences<'_>, window: Window) -> BTreeSet<Guard> {
    let conditions = &deps.conditions;
    let windows = conditions.windows(Some(window)).into_iter();
    windows.map(|w| conditions.guard(conditions.flat.windows[w].end, true)).collect()
}

struct Walk<'w, 'd, 'a> {
    deps: &'d Dependences<'a>,
    readers: &'w [Vec<Reader>],
    window: Window,
    instant: Instant,
}

impl Walk<'_, '_, '_> {
    fn from(&self, post: Eq, lhs: Var, found: &mut Missing) {
        let conditions = &self.deps.conditions;
        let ends = ends(self.deps, self.window);
        // If windows end only in ticks, the last tick is in the last cycle.
        let clock = conditions.clocks.of[lhs];
        let at_end = ends.iter().all(|l| conditions.is_within(conditions.clocks.of[l.cond], clock));
        let mut seen = BTreeSet::from([(lhs.index(), at_end)]);
        let mut sure = BTreeSet::from([lhs.index()]);
        let mut pending = vec![(lhs.index(), at_end)];
        while let Some((v, at_end)) = pending.pop() {
            found.reached.insert(v);
            let is_sure = sure.contains(&v);
            for reader in &self.readers[v] {
                let Some(at) = self.reads(reader, at_end) else { continue };
                let always = reader.edge.only == Only::Always && reader.edge.eq.is_some();
                let more =
                    is_sure && always && reader.edge.distance == Distance::Now && sure.insert(reader.by);
                if seen.insert((reader.by, at)) || more {
                    pending.push((reader.by, at));
                }
            }
        }
        for output in &conditions.flat.outputs {
            let position = output.index();
            if sure.contains(&position) {
                found.shown.push((post, *output));
            } else if seen.contains(&(position, true)) || seen.contains(&(position, false)) {
                found.doubtful.push((post, *output));
            }
        }
    }

    /// Whether a reader needs a value that is missing. If so, returns whether the reader is missing at the end of
    /// windows only (true), or anywhere (false).
    fn reads(&self, reader: &Reader, at_end: bool) -> Option<bool> {
        let conditions = &self.deps.conditions;
        match reader.edge.distance {
            Distance::Now if at_end => {
                let possible =
                    |l: &Guard| conditions.truth(l.cond, &self.instant).is_none_or(|t| t == l.value);
                // If the condition itself is missing, the reader is reached through the condition.
                reader.edge.only.condition().is_none_or(|l| possible(&l)).then_some(true)
            }
            Distance::Now => Some(false),
            Distance::Past => {
                let window = self.deps.delay(&reader.edge).and_then(|(_, w)| w);
                // A delay that restarts there does not look back, but it must know that it restarts.
                let is_end = |w: Window| conditions.flat.windows[w].end.index() == reader.edge.to;
                let asks = conditions.windows(window).into_iter().any(is_end);
                let restarts =
                    window.is_some_and(|w| ends(self.deps, w).is_superset(&ends(self.deps, self.window)));
                (asks || !(at_end && restarts)).then_some(false)
            }
            Distance::Next => Some(false),
        }
    }
}
