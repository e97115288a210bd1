//! Rules for the values of delays.

use rml_analysis::Position;
use rml_ir::flat::{Init, Rhs, Var};
use rml_plan::Tick;

use super::{Demand, Rule};
use crate::Declined;
use crate::resolve::Source;
use crate::window::{Restart, Told};

impl Demand<'_> {
    pub(super) fn forward(&mut self, v: Var, p: Position) -> Result<Rule, Declined> {
        let Some(Rhs::Fby { init, next, window }) = self.window.rhs(v) else {
            return Err(Declined::at("it is no delay", self.span(v)));
        };
        let restart = self.window.restart(*window);
        let once = self.window.is_once(v);
        if once && matches!(restart, Restart::Edge | Restart::Inner { edge: true, .. }) {
            return Ok(Rule::Copy(self.init(init, p)));
        }
        if !self.resolver.is_steady(v) {
            return self.sampled(v, init, p);
        }
        match restart {
            Restart::Edge | Restart::Inner { edge: true, .. } if p.is_start() => {
                Ok(Rule::Copy(self.init(init, p)))
            }
            _ if p.is_start() => {
                self.register_of(v)?;
                Ok(Rule::Read { of: v, init: Some(self.init(init, p)) })
            }
            Restart::Inner { ends, .. } => {
                let ends = self.ends(&ends, p, Tick::Before)?;
                let next = self.neighbour(*next, Tick::Before, Position::Middle);
                if ends.is_empty() {
                    return Ok(Rule::Copy(next));
                }
                Ok(Rule::Restart { ends, init: self.init(init, p), next })
            }
            _ => Ok(Rule::Copy(self.neighbour(*next, Tick::Before, Position::Middle))),
        }
    }

    pub(super) fn backward(&mut self, v: Var, p: Position) -> Result<Rule, Declined> {
        let Some(Rhs::FbyBack { init, next, window }) = self.window.rhs(v) else {
            return Err(Declined::at("it is no delay", self.span(v)));
        };
        let restart = self.window.restart(*window);
        if self.window.looks_ahead {
            if !self.resolver.is_steady(v) && !self.window.waits {
                return Err(self.looks_ahead_sampled(v));
            }
        } else if restart == Restart::Never || matches!(restart, Restart::Inner { edge: false, .. }) {
            return Err(self.looks_beyond(v));
        }
        if self.window.is_once(v) {
            return Ok(Rule::Copy(self.init(init, p)));
        }
        if !self.resolver.is_steady(v) {
            return self.sampled(v, init, p);
        }
        match restart {
            Restart::Edge | Restart::Inner { .. } if p.is_end() => Ok(Rule::Copy(self.init(init, p))),
            Restart::Inner { ends, .. } => {
                let ends = self.ends(&ends, p, Tick::Now)?;
                let next = self.neighbour(*next, Tick::After, p);
                if ends.is_empty() {
                    return Ok(Rule::Copy(next));
                }
                Ok(Rule::Restart { ends, init: self.init(init, p), next })
            }
            _ => Ok(Rule::Copy(self.neighbour(*next, Tick::After, p))),
        }
    }

    /// A delay on a clock that depends on data: a register, which is read and written at each tick of the loop.
    fn sampled(&mut self, v: Var, init: &Init, p: Position) -> Result<Rule, Declined> {
        self.register_of(v)?;
        Ok(Rule::Read { of: v, init: Some(self.init(init, p)) })
    }

    /// The ends of inner windows at a tick, relative to a position. An end that is absent ends nothing, whatever clock
    /// it samples.
    pub(super) fn ends(&mut self, ends: &[Var], p: Position, tick: Tick) -> Result<Vec<Source>, Declined> {
        let at = tick.seen_from(self.window.canonical(p));
        let mut there = Vec::new();
        for end in ends.iter().filter(|e| at.iter().any(|q| self.window.may_hold(**e, q))) {
            if !self.window.has_known_clock(*end) {
                return Err(self.unknown_clock(*end));
            }
            let is_always = |q| {
                self.window.may_be_present(*end, q)
                    && self.window.guards(*end, q).is_some_and(|g| g.is_empty())
            };
            there.push(match tick {
                Tick::Now if is_always(p) => self.need(*end, p),
                _ if at.iter().all(is_always) => self.neighbour(*end, tick, p),
                _ => self.neighbour(self.window.told(Told { end: *end, depth: 0 }), tick, p),
            });
        }
        Ok(there)
    }

    /// The rule for a variable that is true where the end of a window is present and true. The variable itself is
    /// present wherever the outermost `depth` conditions of the end's clock allow it.
    pub(super) fn tells(&mut self, told: Told, p: Position) -> Rule {
        let Told { end, depth } = told;
        let samplings = self.window.samplings(end);
        let (cond, positive) = samplings[depth];
        if !self.window.may_be_present(end, p)
            || samplings[depth..].iter().any(|(c, value)| self.window.truth(*c, p) == Some(!value))
        {
            return Rule::Copy(Source::Never);
        }
        let within = if depth + 1 == samplings.len() {
            self.need(end, p)
        } else {
            self.neighbour(self.window.told(Told { end, depth: depth + 1 }), Tick::Now, p)
        };
        if self.window.truth(cond, p).is_some() {
            return Rule::Copy(within);
        }
        let (then, other) = if positive { (within, Source::Never) } else { (Source::Never, within) };
        Rule::Select { cond: self.need(cond, p), then, other }
    }

    fn neighbour(&mut self, v: Var, tick: Tick, p: Position) -> Source {
        let source = Source::Kept(v, tick);
        self.keep(source, p);
        source
    }
}
