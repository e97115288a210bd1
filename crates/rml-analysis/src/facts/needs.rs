//! The values that each variable needs within a segment, position by position. Known facts reduce the needs: a constant
//! needs nothing, and a value that is equal to another value at an edge of the segment needs only that value.

use rml_base::EntityId;
use rml_ir::flat::{Init, Rhs, Var, Window};

use super::Hold;
use super::scope::{Presence, Relation, Scope};
use super::values::Values;
use rml_ir::{Position, Positions};

/// The distance in time at which something is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// At the same tick.
    Now,
    /// At the previous tick of the clock of a delay, or at the next one.
    Back,
    Ahead,
    /// At the first or last tick of the segment.
    ToFirst,
    ToLast,
}

/// A variable at a position, needed by another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) var: Var,
    pub(super) at: Position,
    pub(super) step: Step,
}

pub(super) struct Needs<'s, 'c, 'a> {
    pub(super) scope: &'s Scope<'c, 'a>,
    pub(super) values: &'s Values,
    pub(super) presence: &'s Presence,
}

impl Needs<'_, '_, '_> {
    /// The index of a variable at a position, among all variables and positions.
    pub(super) fn index(v: Var, p: Position) -> usize {
        4 * v.index() + p.index()
    }

    /// The needs of a variable at a position where it may be present.
    pub(super) fn of(&self, v: Var, p: Position) -> Vec<Need> {
        let mut found = Vec::new();
        let Some(rhs) = self.scope.conditions.rhs(v) else { return found };
        let inside = self.scope.is_inside(v);
        if inside {
            if self.is_decided(v, p) {
                return found;
            }
            for (hold, at, step) in [
                (self.values.first[v][p.index()], p.start(), Step::ToFirst),
                (self.values.last[v][p.index()], p.end(), Step::ToLast),
            ] {
                if let Hold::At(var) = hold
                    && (var != v || at != p)
                {
                    let step = if at == p { Step::Now } else { step };
                    return vec![Need { var, at, step }];
                }
            }
            let chain = self.scope.chain(self.scope.clock(v));
            found.extend(chain.first().map(|l| Need { var: l.cond, at: p, step: Step::Now }));
        }
        let mut now = |var: Var| found.push(Need { var, at: p, step: Step::Now });
        match rhs {
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let truths = if inside { self.values.truths[*cond][p.index()] } else { super::Truths::ANY };
                if truths.known().is_none() {
                    now(*cond);
                }
                [(*a, true), (*b, false)]
                    .into_iter()
                    .filter(|(_, v)| truths.may(*v))
                    .for_each(|(x, _)| now(x));
            }
            Rhs::Fby { init, next, window } => self.delay(v, p, rhs, Some(init), *next, *window, &mut found),
            Rhs::FbyBack { init, next, window } => {
                self.delay(v, p, rhs, Some(init), *next, *window, &mut found)
            }
            Rhs::Post { next, window } => self.delay(v, p, rhs, None, *next, *window, &mut found),
            rhs => rhs.for_each_operand(now),
        }
        found.retain(|n| {
            self.presence.place[n.var].contains(n.at)
                && !(self.scope.is_inside(n.var) && self.is_decided(n.var, n.at))
        });
        found
    }

    fn is_decided(&self, v: Var, p: Position) -> bool {
        let condition = self.scope.conditions.flat.vars[v].ty == rml_ir::Type::condition();
        (condition && self.values.truths[v][p.index()].known().is_some())
            || matches!(self.values.first[v][p.index()], Hold::Const(_) | Hold::Nothing)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a delay")]
    fn delay(
        &self,
        v: Var,
        p: Position,
        rhs: &Rhs,
        init: Option<&Init>,
        next: Var,
        window: Option<Window>,
        found: &mut Vec<Need>,
    ) {
        let forward = matches!(rhs, Rhs::Fby { .. });
        let step = if forward { Step::Back } else { Step::Ahead };
        let (same, takes_init) = if self.scope.is_inside(v) {
            let sources = self.scope.sources(self.values, v, rhs, p);
            let once = self.presence.once[self.scope.clock(v)];
            (if once { Positions::NONE } else { sources.same }, sources.init)
        } else {
            (Positions::ALL, true)
        };
        found.extend(same.iter().map(|at| Need { var: next, at, step }));
        if takes_init && let Some(Init::Stream(i)) = init {
            found.push(Need { var: *i, at: p, step: Step::Now });
        }
        // It must also be known whether a window ends between the two ticks.
        let ends: Vec<Var> = window.into_iter().flat_map(|w| self.scope.ends_of(w)).collect();
        for end in ends.into_iter().filter(|_| takes_init && !same.is_empty()) {
            if !forward {
                found.push(Need { var: end, at: p, step: Step::Now });
            }
            if forward || self.scope.relation(v) != Relation::Same {
                found.extend(same.iter().map(|at| Need { var: end, at, step }));
            }
        }
    }
}
