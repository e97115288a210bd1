//! Symbolic *backprop conditions*: for each variable `v` with a gradient, the boolean stream `bp_v` on `v`'s clock that
//! is true where the gradient is present (ADJ-1, ADJ-3).
//!
//! They are stored as a graph and compared by congruence before any equation is made, so that gradients with the same
//! condition are added without padding. This module makes no equations and does not depend on gradients.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{IndexVec, entity_id};
use rml_ir::normal::Var;

entity_id!(
    /// A node of the graph of conditions.
    Bp,
    "bp"
);

/// A condition of the program, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Guard {
    /// The condition.
    pub(crate) var: Var,
    /// True for the condition itself, false for its negation.
    pub(crate) positive: bool,
}

impl Guard {
    /// The negated guard.
    pub(crate) fn negated(self) -> Self {
        Self { positive: !self.positive, ..self }
    }
}

/// The definition of a condition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum BpKind {
    /// A variable.
    Var(Var),
    /// `false fby back of` (`back`), or `false fby of`.
    Delay {
        /// Whether the delay is `fby back`.
        back: bool,
        /// The delayed condition.
        of: Bp,
    },
    /// `of when cond`.
    When {
        /// The sampled condition.
        of: Bp,
        /// The condition of the sampling.
        cond: Guard,
    },
    /// `merge cond of false`.
    Merge {
        /// The condition under which the result is `of`.
        cond: Guard,
        /// The value under that condition.
        of: Bp,
    },
    /// `if cond then of else false`.
    If {
        /// The condition under which the result is `of`.
        cond: Guard,
        /// The value under that condition.
        of: Bp,
    },
    /// The disjunction of the list. The empty list is the condition of a variable that has no contribution yet.
    Or(Vec<Bp>),
}

impl BpKind {
    /// The conditions from which this condition is computed.
    fn operands(&self) -> &[Bp] {
        match self {
            BpKind::Var(_) => &[],
            BpKind::Delay { of, .. }
            | BpKind::When { of, .. }
            | BpKind::Merge { of, .. }
            | BpKind::If { of, .. } => std::slice::from_ref(of),
            BpKind::Or(cases) => cases,
        }
    }
}

/// The longest disjunction that is merged into another one.
const MAX_INLINED: usize = 16;

/// The graph, with classes of conditions that are known to be equal.
#[derive(Default)]
pub(crate) struct BpGraph {
    kinds: IndexVec<Bp, BpKind>,
    parents: Vec<Bp>,
}

impl BpGraph {
    /// Adds a condition.
    pub(crate) fn add(&mut self, kind: BpKind) -> Bp {
        let id = self.kinds.push(kind);
        self.parents.push(id);
        id
    }

    /// Adds a case to a condition that was added as `Or`.
    pub(crate) fn extend(&mut self, bp: Bp, case: Bp) {
        if let BpKind::Or(cases) = &mut self.kinds[bp] {
            cases.push(case);
        }
    }

    /// The representative of the condition's class.
    pub(crate) fn find(&self, mut bp: Bp) -> Bp {
        while self.parents[bp.0 as usize] != bp {
            bp = self.parents[bp.0 as usize];
        }
        bp
    }

    /// The definition of the representative of the condition's class, in terms of representatives. Requires: the
    /// conditions are solved.
    pub(crate) fn kind(&self, bp: Bp) -> &BpKind {
        &self.kinds[self.find(bp)]
    }

    /// Whether a condition comes from another cycle, possibly through samplings and merges.
    pub(crate) fn is_late(&self, mut bp: Bp) -> bool {
        loop {
            match self.kind(bp) {
                BpKind::Delay { .. } => return true,
                BpKind::When { of, .. } | BpKind::Merge { of, .. } | BpKind::If { of, .. } => bp = *of,
                BpKind::Var(_) | BpKind::Or(_) => return false,
            }
        }
    }

    /// Makes the representative of `of` the representative of the class of `bp`.
    fn unite(&mut self, bp: Bp, of: Bp) {
        let (a, b) = (self.find(bp), self.find(of));
        self.parents[a.0 as usize] = b;
    }

    /// Finds equal conditions until no more are found. Requires: no more conditions are added afterwards.
    pub(crate) fn solve(&mut self) {
        loop {
            let mut changed = false;
            let mut known: BTreeMap<BpKind, Bp> = BTreeMap::new();
            for id in self.order() {
                let kind = self.reduced(id);
                let equal = match &kind {
                    BpKind::Or(cases) if cases.len() == 1 => cases.first().copied(),
                    BpKind::Or(cases) if cases.is_empty() => None,
                    _ => known.get(&kind).copied(),
                };
                match equal {
                    Some(other) if self.find(other) != id => {
                        self.unite(id, other);
                        changed = true;
                    }
                    _ => {
                        // The simplified form is stored, because its operands may later be represented by this
                        // condition itself.
                        self.kinds[id] = kind.clone();
                        known.insert(kind, id);
                    }
                }
            }
            for id in self.kinds.ids() {
                self.parents[id.0 as usize] = self.find(id);
            }
            if !changed {
                return;
            }
        }
    }

    /// The representatives, each after its operands, so that a whole chain is simplified in one pass. Within a circle,
    /// and in all other cases, those that were added later come first.
    fn order(&self) -> Vec<Bp> {
        let mut seen = vec![false; self.kinds.len()];
        let mut order = Vec::with_capacity(self.kinds.len());
        for root in self.kinds.ids().rev() {
            let mut stack = vec![(self.find(root), false)];
            while let Some((id, operands_done)) = stack.pop() {
                if operands_done {
                    order.push(id);
                } else if !std::mem::replace(&mut seen[id.0 as usize], true) {
                    stack.push((id, true));
                    stack.extend(self.kinds[id].operands().iter().map(|of| (self.find(*of), false)));
                }
            }
        }
        order
    }

    /// The definition of a representative in terms of representatives, simplified.
    fn reduced(&self, id: Bp) -> BpKind {
        match &self.kinds[id] {
            BpKind::Var(v) => BpKind::Var(*v),
            BpKind::Delay { back, of } => BpKind::Delay { back: *back, of: self.find(*of) },
            BpKind::When { of, cond } => {
                let of = self.find(*of);
                match &self.kinds[of] {
                    BpKind::If { cond: c, of: inner } if c == cond => {
                        BpKind::When { of: self.find(*inner), cond: *cond }
                    }
                    _ => BpKind::When { of, cond: *cond },
                }
            }
            BpKind::Merge { cond, of } => {
                let of = self.find(*of);
                match &self.kinds[of] {
                    BpKind::When { of: inner, cond: c } if c == cond => {
                        BpKind::If { cond: *cond, of: self.find(*inner) }
                    }
                    _ => BpKind::Merge { cond: *cond, of },
                }
            }
            BpKind::If { cond, of } => {
                let of = self.find(*of);
                match &self.kinds[of] {
                    BpKind::If { cond: c, of: inner } if c == cond => {
                        BpKind::If { cond: *cond, of: self.find(*inner) }
                    }
                    _ => BpKind::If { cond: *cond, of },
                }
            }
            BpKind::Or(cases) => self.reduced_or(id, cases),
        }
    }

    fn reduced_or(&self, id: Bp, cases: &[Bp]) -> BpKind {
        let mut flat: Vec<Bp> = Vec::new();
        let mut seen = BTreeSet::from([id]);
        let mut todo: Vec<Bp> = cases.iter().rev().copied().collect();
        while let Some(case) = todo.pop() {
            let case = self.find(case);
            if !seen.insert(case) {
                continue;
            }
            match &self.kinds[case] {
                // Longer disjunctions are not merged, so a chain of disjunctions does not take quadratic space.
                BpKind::Or(inner) if !inner.is_empty() && inner.len() <= MAX_INLINED => {
                    todo.extend(inner.iter().rev());
                }
                _ => flat.push(case),
            }
        }
        // `if c then b else false` adds nothing to `b`, and its two halves together make `b`.
        let if_of = |bp: Bp| match self.reduced(bp) {
            BpKind::If { cond, of } => Some((cond, of)),
            _ => None,
        };
        let halves: BTreeMap<Bp, (Guard, Bp)> =
            flat.iter().filter(|&&b| !self.is_or(b)).filter_map(|&b| Some((b, if_of(b)?))).collect();
        let known: BTreeSet<(Guard, Bp)> = halves.values().copied().collect();
        let whole: BTreeSet<Bp> = flat
            .iter()
            .copied()
            .chain(known.iter().filter(|(c, of)| known.contains(&(c.negated(), *of))).map(|&(_, of)| of))
            .collect();
        let mut result: BTreeSet<Bp> = BTreeSet::new();
        for case in flat {
            let kept = match halves.get(&case) {
                Some((_, of)) if whole.contains(of) => *of,
                _ => case,
            };
            if kept != id {
                result.insert(kept);
            }
        }
        let mut result: Vec<Bp> = result.into_iter().collect();
        result.sort_by_key(|&bp| (!matches!(self.kinds[bp], BpKind::Var(_)), bp));
        BpKind::Or(result)
    }

    fn is_or(&self, bp: Bp) -> bool {
        matches!(self.kinds[bp], BpKind::Or(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Guard = Guard { var: Var(9), positive: true };

    fn graph() -> (BpGraph, Bp) {
        let mut g = BpGraph::default();
        let bp = g.add(BpKind::Var(Var(0)));
        (g, bp)
    }

    #[test]
    fn the_two_halves_of_an_if_make_the_whole() {
        let (mut g, bp) = graph();
        let a = g.add(BpKind::If { cond: C, of: bp });
        let b = g.add(BpKind::If { cond: C.negated(), of: bp });
        let or = g.add(BpKind::Or(vec![a, b]));
        g.solve();
        assert_eq!(g.find(or), bp);
    }

    #[test]
    fn sampling_and_merging_back_make_the_whole() {
        let (mut g, bp) = graph();
        let half = |g: &mut BpGraph, cond| {
            let of = g.add(BpKind::When { of: bp, cond });
            g.add(BpKind::Merge { cond, of })
        };
        let (a, b) = (half(&mut g, C), half(&mut g, C.negated()));
        let or = g.add(BpKind::Or(vec![a, b]));
        g.solve();
        assert_eq!(g.find(or), bp);
    }

    #[test]
    fn a_recurrence_is_compared_through_its_cycle() {
        let (mut g, bp) = graph();
        let call = g.add(BpKind::Or(vec![]));
        let (h, c) =
            (g.add(BpKind::Delay { back: true, of: call }), g.add(BpKind::Delay { back: true, of: call }));
        let h_next = g.add(BpKind::Or(vec![bp, h]));
        let c_next = g.add(BpKind::Or(vec![c]));
        g.extend(call, h_next);
        g.extend(call, c_next);
        g.solve();
        assert_eq!(g.find(h), g.find(c));
        assert_eq!(g.find(h_next), g.find(call));
        assert_ne!(g.find(h_next), g.find(bp));
    }

    #[test]
    fn a_chain_of_single_cases_is_its_last() {
        let (mut g, bp) = graph();
        let a = g.add(BpKind::Or(vec![]));
        let back = g.add(BpKind::Delay { back: true, of: a });
        let b = g.add(BpKind::Or(vec![back, bp]));
        g.extend(a, b);
        g.solve();
        assert_eq!(g.find(a), g.find(b));
        assert_eq!(g.kind(a), &BpKind::Or(vec![bp, back]));
    }

    #[test]
    fn different_delays_stay_apart() {
        let (mut g, bp) = graph();
        let f = g.add(BpKind::Delay { back: false, of: bp });
        let b = g.add(BpKind::Delay { back: true, of: bp });
        g.solve();
        assert_ne!(g.find(f), g.find(b));
    }
}
