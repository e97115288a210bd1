//! Bounds on the wait for a value, and their combination.

use std::collections::BTreeSet;

use rml_base::entity_id;

entity_id!(
    /// A condition for which values wait.
    Cut,
    "cut"
);

/// A bound on the wait for a value of cycle n, measured in cycles that have been fed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Latency {
    /// The value is known when cycle n plus this number has been fed.
    Bounded(u64),
    /// The value is known when some conditions have held.
    Windowed(Wait),
    /// The value is known at the end of a closed trace.
    Closed,
    /// The wait is unknown before the program runs.
    Dynamic,
    /// The value is never known.
    Never,
}

/// A wait for conditions: from `lead` cycles after cycle n on, each condition must hold `rounds` times, and then `lag`
/// more cycles must be fed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wait {
    /// The conditions.
    pub cuts: BTreeSet<Cut>,
    /// The number of cycles after which the wait begins.
    pub lead: u64,
    /// The number of times that the conditions must hold.
    pub rounds: u64,
    /// The number of cycles that are needed afterwards.
    pub lag: u64,
}

impl Wait {
    pub(crate) fn once(cut: Cut, lead: u64, rounds: u64) -> Wait {
        Wait { cuts: BTreeSet::from([cut]), lead, rounds, lag: 0 }
    }

    /// The wait for a value of the last cycle of this wait, where `inner` is the wait for that value.
    pub(crate) fn then(self, inner: &Latency) -> Latency {
        match inner {
            Latency::Bounded(z) => Latency::Windowed(Wait { lag: self.lag + z, ..self }),
            Latency::Windowed(w) => {
                // A wait that begins at an end of the same kind is over at once; for each cycle that it begins later,
                // it takes at most one more end.
                let same = self.cuts == w.cuts;
                let gap = (w.lead + self.lag).max(u64::from(!same));
                Latency::Windowed(Wait {
                    cuts: self.cuts.union(&w.cuts).copied().collect(),
                    lead: self.lead,
                    rounds: (self.rounds + w.rounds + gap).saturating_sub(1),
                    lag: w.lag,
                })
            }
            worse => worse.clone(),
        }
    }
}

impl Latency {
    /// The bound on a value that needs both values.
    pub(crate) fn join(&self, other: &Latency) -> Latency {
        match (self, other) {
            (Latency::Bounded(a), Latency::Bounded(b)) => Latency::Bounded(*a.max(b)),
            (Latency::Bounded(z), Latency::Windowed(w)) | (Latency::Windowed(w), Latency::Bounded(z)) => {
                Latency::Windowed(Wait { lag: w.lag.max(z.saturating_sub(w.lead)), ..w.clone() })
            }
            (Latency::Windowed(a), Latency::Windowed(b)) => Latency::Windowed(Wait {
                cuts: a.cuts.union(&b.cuts).copied().collect(),
                lead: a.lead.max(b.lead),
                rounds: a.rounds.max(b.rounds),
                lag: a.lag.max(b.lag),
            }),
            (a, b) => if a.rank() > b.rank() { a } else { b }.clone(),
        }
    }

    /// The bound on the same value one cycle earlier.
    pub(crate) fn before(&self) -> Latency {
        match self {
            Latency::Bounded(z) => Latency::Bounded(z.saturating_sub(1)),
            Latency::Windowed(w) => Latency::Windowed(Wait { lead: w.lead.saturating_sub(1), ..w.clone() }),
            worse => worse.clone(),
        }
    }

    /// The bound on the same value one cycle later.
    pub(crate) fn after(&self) -> Latency {
        match self {
            Latency::Bounded(z) => Latency::Bounded(z + 1),
            Latency::Windowed(w) => Latency::Windowed(Wait { lead: w.lead + 1, ..w.clone() }),
            worse => worse.clone(),
        }
    }

    /// A rank, to choose the worst bound.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Latency::Bounded(_) => 0,
            Latency::Windowed(_) => 1,
            Latency::Closed => 2,
            Latency::Dynamic => 3,
            Latency::Never => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windowed(cut: u32, lead: u64, rounds: u64, lag: u64) -> Latency {
        Latency::Windowed(Wait { cuts: BTreeSet::from([Cut(cut)]), lead, rounds, lag })
    }

    #[test]
    fn shifts_undo_each_other_but_nothing_is_known_before_its_cycle() {
        assert_eq!(Latency::Bounded(2).after().before(), Latency::Bounded(2));
        assert_eq!(Latency::Bounded(0).before(), Latency::Bounded(0));
        assert_eq!(windowed(0, 0, 1, 0).after().before(), windowed(0, 0, 1, 0));
    }

    #[test]
    fn a_join_waits_for_both() {
        assert_eq!(windowed(0, 1, 1, 0).join(&Latency::Bounded(3)), windowed(0, 1, 1, 2));
        assert_eq!(Latency::Closed.join(&Latency::Bounded(9)), Latency::Closed);
        assert_eq!(windowed(0, 0, 1, 0).join(&windowed(0, 2, 1, 1)), windowed(0, 2, 1, 1));
    }

    #[test]
    fn the_same_end_is_waited_for_once() {
        let wait = Wait::once(Cut(0), 0, 1);
        assert_eq!(wait.clone().then(&windowed(0, 0, 1, 2)), windowed(0, 0, 1, 2));
        assert_eq!(wait.clone().then(&windowed(0, 1, 1, 0)), windowed(0, 0, 2, 0));
        assert_eq!(wait.then(&windowed(0, 2, 1, 0)), windowed(0, 0, 3, 0));
    }
}
