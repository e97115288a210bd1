//! Checks inputs against their declared clocks (ENV-3).

use rml_base::{Diagnostic, codes};
use rml_ir::Value;
use rml_ir::flat::Var;

use super::Simulator;
use super::cell::Presence;
use super::engine::{Go, Halt, Truth};
use super::program::{InputClock, Step};
use rml_engine::InputCell;

impl Simulator {
    /// Checks the inputs whose clock depends on another input, before the cycle is opened.
    pub(super) fn check_input_clocks(&self, inputs: &[InputCell]) -> Result<(), Diagnostic> {
        let flat = &self.program.flat;
        for (formal, input) in flat.inputs.iter().zip(inputs) {
            let Some((cond, flag)) = formal.clock else { continue };
            let given = flat.inputs.iter().zip(inputs).find(|(c, _)| c.var == cond);
            let (expected, is) = match given {
                Some((_, InputCell::Given(Value::Bool(c)))) => (*c == flag, truth(*c)),
                Some((_, InputCell::Absent)) => (false, "absent"),
                _ => continue,
            };
            let found = match input {
                InputCell::Given(_) => true,
                InputCell::Absent => false,
                InputCell::OnDemand(_) => continue,
            };
            if expected != found {
                return Err(self.against_clock(self.rows.end, (formal.var, cond, flag), found, is));
            }
        }
        Ok(())
    }

    /// Checks an input whose clock depends on a computed condition, once both are known.
    pub(super) fn check_clock(&mut self, cycle: u64, clock: InputClock) -> Go {
        if !self.is_against(cycle, &clock) {
            return Ok(());
        }
        if !self.options.keep_going {
            return Err(Halt::InputClock { cycle, clock });
        }
        let known = |h: &Halt| matches!(h, Halt::InputClock { cycle: c, clock: k } if *c == cycle && k.input == clock.input);
        if !self.halts.iter().any(known) {
            self.halts.push(Halt::InputClock { cycle, clock });
        }
        Ok(())
    }

    /// Checks all such inputs of a cycle.
    pub(super) fn check_clocks_of(&mut self, cycle: u64) -> Go {
        for i in self.program.equation_of.len()..self.program.steps.len() {
            if let Step::InputClock(clock) = self.program.steps[i] {
                self.check_clock(cycle, clock)?;
            }
        }
        Ok(())
    }

    /// Whether an input is present where its clock is not, or cannot be present where its clock is.
    fn is_against(&self, cycle: u64, clock: &InputClock) -> bool {
        let expected = match self.rows.presence(cycle, clock.from) {
            Presence::Absent => false,
            Presence::Present => match self.truth(cycle, clock.cond) {
                Truth::True => clock.flag,
                Truth::False => !clock.flag,
                Truth::Never | Truth::Unknown => return false,
            },
            Presence::Bottom | Presence::Error => return false,
        };
        match self.rows.presence(cycle, clock.class) {
            Presence::Present => !expected,
            Presence::Absent => expected,
            Presence::Bottom => expected && self.rows.has_nothing_to_offer(cycle, clock.input),
            Presence::Error => false,
        }
    }

    pub(super) fn clock_report(&self, cycle: u64, clock: &InputClock) -> Diagnostic {
        let cond = self.program.flat.inputs.iter().find_map(|i| i.clock.filter(|_| i.var == clock.input));
        let (cond, flag) = cond.unwrap_or((clock.input, clock.flag));
        let is = match self.rows.presence(cycle, clock.from) {
            Presence::Present => truth(matches!(self.truth(cycle, clock.cond), Truth::True)),
            _ => "absent",
        };
        let found = self.rows.presence(cycle, clock.class) == Presence::Present;
        self.against_clock(cycle, (clock.input, cond, flag), found, is)
    }

    fn against_clock(
        &self,
        cycle: u64,
        (input, cond, flag): (Var, Var, bool),
        found: bool,
        is: &str,
    ) -> Diagnostic {
        let (x, c) = (self.program.name(input), self.program.name(cond));
        let not = if flag { "" } else { "not " };
        let presence = |present| if present { "present" } else { "absent" };
        let what = format!("input {x} is {} in cycle {cycle}, against its clock", presence(found));
        Diagnostic::error(codes::sim::INPUT_CLOCK, what)
            .label(
                self.program.flat.vars[input].span,
                format!("declared `when {not}{}`", c.trim_matches('`')),
            )
            .note(format!("expected {}, since {c} is {is}", presence(!found)))
    }
}

fn truth(c: bool) -> &'static str {
    if c { "true" } else { "false" }
}
