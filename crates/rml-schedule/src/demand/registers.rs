//! Which registers exist, and what is written to them.

use rml_analysis::Positions;
use rml_ir::flat::{Eq, Rhs, Var};
use rml_plan::{Lifetime, Tick};

use super::{Demand, Register, Write};
use crate::Declined;
use crate::window::Restart;

impl Demand<'_> {
    pub(super) fn register(&mut self, eq: Eq) -> Result<(), Declined> {
        self.register_of(self.window.flat.equations[eq].lhs)
    }

    /// The register of a delay or a parameter.
    pub(super) fn register_of(&mut self, v: Var) -> Result<(), Declined> {
        if self.registers.contains_key(&v) {
            return Ok(());
        }
        let state = self.window.defs[v].and_then(|eq| self.states.get(&eq).cloned());
        let state = state.map(|(key, parameter)| Lifetime::State { key, parameter });
        let (restart, backward) = match self.window.rhs(v) {
            Some(Rhs::Fby { window, .. }) => (self.window.restart(*window), false),
            Some(Rhs::FbyBack { window, .. } | Rhs::Post { window, .. }) => {
                (self.window.restart(*window), true)
            }
            _ => {
                let kind = state.unwrap_or(Lifetime::Hidden);
                self.registers
                    .insert(v, Register { kind, writes: Vec::new(), in_turn: false, backward: false });
                return Ok(());
            }
        };
        if backward && self.window.waits && state.is_some() {
            let why = Declined::at("a state looks ahead", self.span(v));
            return Err(why.help("keep it by `fby`, which remembers what was"));
        }
        let kind = match restart {
            _ if backward && self.window.waits => Lifetime::Local,
            Restart::Edge | Restart::Inner { edge: true, .. } => Lifetime::Local,
            _ => state.unwrap_or(Lifetime::Hidden),
        };
        let in_turn = self.is_in_turn(v);
        self.registers.insert(v, Register { kind, writes: Vec::new(), in_turn, backward });
        // The written value is read only once it is known whether a tick is the last one.
        if self.is_open { Ok(()) } else { self.writes_of(v) }
    }

    fn is_in_turn(&self, v: Var) -> bool {
        !self.resolver.is_steady(v) && !self.window.is_once(v)
    }

    /// Demands the writes of a delay's register.
    pub(super) fn writes_of(&mut self, v: Var) -> Result<(), Declined> {
        let (next, restart, tick) = match self.window.rhs(v) {
            Some(Rhs::Fby { next, window, .. }) => (next, self.window.restart(*window), Tick::Now),
            // The ends are those of the tick before: a window that ends there does not see this tick.
            Some(Rhs::FbyBack { next, window, .. }) => (next, self.window.restart(*window), Tick::Before),
            // At the last tick of a window, the value is never known.
            Some(Rhs::Post { next, .. }) => (next, Restart::Never, Tick::After),
            _ => return Ok(()),
        };
        let in_turn = self.is_in_turn(v);
        let ends = match &restart {
            Restart::Inner { ends, edge } if in_turn || !edge => ends.as_slice(),
            _ => &[],
        };
        let at = if self.resolver.is_steady(v) { Positions::ENDS } else { self.window.all };
        let mut writes: Vec<Write> = Vec::new();
        for p in at.iter() {
            let present = self.window.may_be_present(v, p);
            let when = if present { self.guards(v, p)? } else { None };
            let unless = self.ends(ends, p, tick)?;
            let Some(when) = when else {
                if !unless.is_empty() {
                    let why = "an inner window ends at a tick at which a delay in it is never active";
                    let why = Declined::at(why, self.span(v));
                    return Err(why.help("let its `every` have a condition that is false there"));
                }
                continue;
            };
            let value = self.needed_within(*next, p)?;
            writes.push(Write { at: Positions::NONE.with(p), when, unless, value });
        }
        if let Some(register) = self.registers.get_mut(&v) {
            register.writes = merged_writes(writes);
        }
        Ok(())
    }
}

fn merged_writes(writes: Vec<Write>) -> Vec<Write> {
    let mut merged: Vec<Write> = Vec::new();
    for write in writes {
        let same =
            |w: &&mut Write| w.when == write.when && w.unless == write.unless && w.value == write.value;
        match merged.iter_mut().find(same) {
            Some(known) => known.at = known.at.or(write.at),
            None => merged.push(write),
        }
    }
    merged
}
