//! Verifier of the facts: A1 to A7 of [`facts`](super), each by a check of its own.

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{Eq, Flat, Init, Rhs, Var};

use super::{Facts, Place, constant};
use crate::causality::Direction;
use crate::causality::frame::Frame;
use crate::clocks::{ClockId, Clocks};
use crate::conditions::Conditions;
use crate::scc::{Graph, components};

/// Checks A1 to A7; one line for each violation.
pub fn verify(flat: &Flat, clocks: &Clocks, facts: &Facts) -> Result<(), Vec<String>> {
    let mut checker = Checker { conditions: Conditions::new(flat, clocks), facts, found: Vec::new() };
    checker.windows();
    checker.recurrences();
    checker.outside();
    checker.equations();
    checker.slow();
    if checker.found.is_empty() { Ok(()) } else { Err(checker.found) }
}

struct Checker<'a> {
    conditions: Conditions<'a>,
    facts: &'a Facts,
    found: Vec<String>,
}

impl Checker<'_> {
    fn windows(&mut self) {
        for w in self.conditions.flat.windows.ids() {
            if self.facts.segments.iter().filter(|s| s.windows.contains(&w)).count() != 1 {
                self.found.push(format!("A1: {w} has no segments, or two"));
            }
        }
        for (id, data) in self.facts.segments.iter_enumerated() {
            let Some(parent) = data.parent else { continue };
            let ends = &data.cut.ends;
            if parent >= id || !self.facts.segments[parent].cut.ends.iter().all(|l| ends.contains(l)) {
                self.found.push(format!("A1: {id} does not end where {parent} does"));
            }
        }
    }

    /// The equation of an operand that is a member of the same recurrence.
    fn fellow(&self, eq: Eq, operand: Var) -> Option<Eq> {
        let of = |eq: Eq| self.facts.equations[eq].recurrence;
        self.conditions.defs[operand].filter(|other| of(*other).is_some() && of(*other) == of(eq))
    }

    fn recurrences(&mut self) {
        let flat = self.conditions.flat;
        for (id, rec) in self.facts.recurrences.iter_enumerated() {
            let position = |eq: Eq| rec.equations.binary_search(&eq).ok();
            let mut now = Vec::new();
            for (i, eq) in rec.equations.iter().enumerate() {
                let against = match flat.equations[*eq].rhs {
                    Rhs::Fby { next, .. } => (rec.direction == Direction::Backward).then_some(next),
                    Rhs::FbyBack { next, .. } | Rhs::Post { next, .. } => {
                        (rec.direction == Direction::Forward).then_some(next)
                    }
                    ref rhs => {
                        rhs.for_each_operand(|v| {
                            let fellow = self.fellow(*eq, v).and_then(position);
                            now.extend(fellow.map(|j| (i, j)));
                        });
                        None
                    }
                };
                if against.is_some_and(|next| self.fellow(*eq, next).is_some()) && !self.is_alone(*eq) {
                    self.found.push(format!("A2: {eq} runs against {id}"));
                }
            }
            // Where conditions of a segment exclude each other, the kinds of instants were told apart.
            if rec.segments.is_none()
                && rec.direction != Direction::Unknown
                && has_circle(rec.equations.len(), now)
            {
                self.found.push(format!("A3: within a cycle, {id} needs itself"));
            }
        }
    }

    /// Whether a delay in that equation never looks at another tick.
    fn is_alone(&self, eq: Eq) -> bool {
        let flat = self.conditions.flat;
        let windows = self.conditions.windows(flat.equations[eq].rhs.window());
        let once = windows.iter().any(|w| self.conditions.constant(flat.windows[*w].end) == Some(true));
        let clock = self.conditions.clocks.of[flat.equations[eq].lhs];
        let mut frames = self.facts.segments.iter().filter_map(|s| Frame::of_cut(&self.conditions, &s.cut));
        once || frames.any(|f| f.ticks_once(clock))
    }

    fn outside(&mut self) {
        let flat = self.conditions.flat;
        let mut edges = Vec::new();
        for (eq, equation) in flat.equations.iter_enumerated() {
            let delays = matches!(equation.rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. });
            if self.facts.equations[eq].recurrence.is_some() || (delays && self.crosses(eq)) {
                continue;
            }
            equation.rhs.for_each_operand(|v| {
                if let Some(other) = self.conditions.defs[v]
                    && self.facts.equations[other].recurrence.is_none()
                {
                    edges.push((eq.index(), other.index()));
                }
            });
        }
        if self.facts.main.is_none() && has_circle(flat.equations.len(), edges) {
            self.found.push("A4: equations outside recurrences need each other".to_owned());
        }
    }

    /// Whether a delay leads to other segments only.
    fn crosses(&self, eq: Eq) -> bool {
        self.facts.slow.iter().any(|(slow, _)| *slow == eq)
    }

    fn equations(&mut self) {
        let Some(main) = self.facts.main else { return };
        let Some(frame) = Frame::of_cut(&self.conditions, &self.facts.segments[main].cut) else { return };
        let constants: IndexVec<Var, bool> = {
            let mut known = IndexVec::filled(false, self.conditions.flat.vars.len());
            for (eq, equation) in self.conditions.flat.equations.iter_enumerated() {
                known[equation.lhs] = self.facts.equations[eq].constant;
            }
            known
        };
        let mut found = Vec::new();
        for (eq, equation) in self.conditions.flat.equations.iter_enumerated() {
            let of = &self.facts.equations[eq];
            let clock = self.conditions.clocks.of[equation.lhs];
            let only = matches!(of.place, Place::First | Place::Last);
            if only && !self.is_sampled(clock, of.place == Place::Last, &frame) {
                found.push(format!("A5: nothing samples {eq} at one cycle of a segment"));
            }
            if of.constant && !constant::is_constant(&self.conditions, Some(&frame), &constants, equation.lhs)
            {
                found.push(format!("A6: {eq} is not constant"));
            }
        }
        self.found.extend(found);
    }

    /// Whether some condition of a clock is an end, or restarts after each end.
    fn is_sampled(&self, clock: ClockId, last: bool, frame: &Frame<'_, '_>) -> bool {
        let conditions = &self.conditions;
        conditions.chain(clock).iter().any(|l| {
            // Copies, negations and samples of the end are the end; what is true there implies it.
            if last {
                let before = frame.at(clock, 0);
                return conditions.truth(l.cond, before) == Some(!l.value);
            }
            let at = conditions.literal(l.cond, l.value);
            match conditions.rhs(at.cond) {
                Some(Rhs::Fby { init: Init::Const(_), .. }) => {
                    conditions.truth(at.cond, frame.at(clock, 0)) == Some(!at.value)
                }
                _ => conditions.truth(l.cond, frame.at(clock, 0)) == Some(!l.value),
            }
        })
    }

    fn slow(&mut self) {
        for (eq, segments) in &self.facts.slow {
            let clock = self.conditions.clocks.of[self.conditions.flat.equations[*eq].lhs];
            let sampled = !self.conditions.chain(clock).is_empty();
            if !sampled || segments.index() >= self.facts.segments.len() {
                self.found.push(format!("A7: {eq} ticks in every cycle"));
            }
        }
    }
}

fn has_circle(len: usize, edges: Vec<(usize, usize)>) -> bool {
    let loops = edges.iter().any(|(a, b)| a == b);
    let graph = Graph::new(len, edges);
    loops || components(len, |v, i| graph.of(v).get(i).copied().map(Some)).members.len() < len
}
