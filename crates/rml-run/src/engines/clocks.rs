//! The cycles in which a plan expects its inputs, and whether they are present there (ENV-3).

use std::collections::BTreeSet;

use rml_analysis::Clocks;
use rml_backend::Held;
use rml_base::{Diagnostic, EntityId};
use rml_engine::{Declined, Reason};
use rml_executor::Running;
use rml_ir::Data;
use rml_ir::flat::{Drawn, Input, Var};
use rml_plan::{Plan, Region};

use super::given::Given;

/// In which cycles a plan expects an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    /// In every cycle.
    Always,
    /// Where this input is present with this value.
    Input(usize, bool),
    /// Where this output of the plan is present with this value.
    Output(usize, bool),
}

/// The clock of each input, and the conditions that a plan has to output after the outputs of the program.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct InputClocks {
    pub(super) of: Vec<Clock>,
    pub(super) told: Vec<Var>,
}

impl InputClocks {
    /// The clocks of a program.
    ///
    /// # Errors
    /// An input is on a clock that is not known before the program runs.
    pub(super) fn new(program: &Drawn, clocks: &Clocks) -> Result<Self, Declined> {
        let mut found = Self { of: Vec::new(), told: Vec::new() };
        let conds = program.inputs.iter().map(|input| condition(program, clocks, input));
        let conds = conds.collect::<Result<Vec<_>, _>>()?;
        for cond in &conds {
            let clock = match *cond {
                None => Clock::Always,
                Some((cond, flag)) => match program.inputs.iter().position(|input| input.var == cond) {
                    Some(at) if is_given(program, &conds, at) => Clock::Input(at, flag),
                    _ => Clock::Output(found.output(program, cond), flag),
                },
            };
            found.of.push(clock);
        }
        Ok(found)
    }

    /// The number of the plan's output that gives the condition `cond`; adds this output if necessary.
    fn output(&mut self, program: &Drawn, cond: Var) -> usize {
        if let Some(at) = program.outputs.iter().position(|v| *v == cond) {
            return at;
        }
        let at = self.told.iter().position(|v| *v == cond).unwrap_or_else(|| {
            self.told.push(cond);
            self.told.len() - 1
        });
        program.outputs.len() + at
    }

    /// The first input whose clock the program computes.
    pub(super) fn computed(&self) -> Option<usize> {
        self.of.iter().position(|clock| matches!(clock, Clock::Output(..)))
    }

    /// The reason why a program whose inputs have computed clocks has no plan.
    pub(super) fn declined(&self, program: &Drawn, why: &str) -> Declined {
        let why = |name: &str| format!("the program computes the clock of the input `{name}`, and {why}");
        let help = "make the condition of that clock an input, too";
        let input = self.computed().and_then(|at| program.inputs.get(at));
        match input.map(|input| &program.vars[input.var]) {
            Some(data) => {
                let why = why(data.name.as_deref().unwrap_or_default());
                Declined::new(Reason::Schedule, why).at(data.span).help(help)
            }
            None => Declined::new(Reason::Schedule, why("")).help(help),
        }
    }
}

/// The innermost condition of the clock of an input; none if it is present in every cycle.
fn condition(program: &Drawn, clocks: &Clocks, input: &Input) -> Result<Option<(Var, bool)>, Declined> {
    let clock = clocks.of[input.var];
    if clocks.root(clock) != Clocks::BASE {
        let data = &program.vars[input.var];
        let name = data.name.clone().unwrap_or_default();
        let why = format!("it is not known before a run in which cycles the input `{name}` is present");
        let help = format!("declare its clock where it is an input, as in `{name}: num [] when c`");
        return Err(Declined::new(Reason::Schedule, why).at(data.span).help(help));
    }
    Ok(input.clock.or_else(|| clocks.samplings(clock).pop()))
}

/// Whether data alone determine where an input is present: all its conditions are inputs.
fn is_given(program: &Drawn, conds: &[Option<(Var, bool)>], mut at: usize) -> bool {
    for _ in 0..=conds.len() {
        let Some((cond, _)) = conds[at] else { return true };
        let Some(input) = program.inputs.iter().position(|input| input.var == cond) else { return false };
        at = input;
    }
    false
}

/// Checks inputs against their clocks.
#[derive(Debug)]
pub(super) struct Checks {
    clocks: Vec<Clock>,
    /// If the program computes clocks: the registers that a window writes, and their values before it.
    written: Vec<(usize, Option<Held>)>,
}

impl Checks {
    /// The checks of a plan.
    pub(super) fn new(plan: &Plan, clocks: Vec<Clock>) -> Self {
        let mut checks = Self { clocks, written: Vec::new() };
        if checks.computes() {
            let writes = plan.regions.iter().flat_map(Region::writes).chain(&plan.commits);
            let written: BTreeSet<usize> = writes.map(|write| write.register.index()).collect();
            checks.written = written.into_iter().map(|register| (register, None)).collect();
        }
        checks
    }

    /// Whether the plan computes clocks; then data that do not agree with them are found after a window has run.
    pub(super) fn computes(&self) -> bool {
        self.clocks.iter().any(|clock| matches!(clock, Clock::Output(..)))
    }

    /// Whether inputs are present exactly where their clocks expect them in the cycles `from..to`, for clocks that
    /// depend only on inputs. `rows` gives the rows of the inputs at `from`.
    pub(super) fn fit(&self, given: &[Given], (from, to): (usize, usize), rows: &[usize]) -> bool {
        given.iter().zip(&self.clocks).all(|(input, clock)| match *clock {
            Clock::Always => (from..to).all(|t| input.agrees(t, true)),
            Clock::Input(..) => {
                let expected = self.expected(given, *clock, (from, to), rows);
                (from..to).zip(expected).all(|(t, expected)| input.agrees(t, expected))
            }
            Clock::Output(..) => true,
        })
    }

    /// For each of the cycles `from..to`, whether a clock that depends only on inputs ticks.
    fn expected(
        &self,
        given: &[Given],
        clock: Clock,
        (from, to): (usize, usize),
        rows: &[usize],
    ) -> Vec<bool> {
        let Clock::Input(cond, flag) = clock else { return vec![true; to - from] };
        let there = self.expected(given, self.clocks[cond], (from, to), rows);
        let truths = given[cond].truths((from, to), rows[cond]);
        there.into_iter().zip(truths).map(|(there, truth)| there && truth == Some(flag)).collect()
    }

    /// Saves the registers that the next window writes.
    pub(super) fn keep(&mut self, machine: &dyn Running) -> Result<(), Diagnostic> {
        for (register, before) in &mut self.written {
            *before = if machine.is_set(*register)? { machine.register(*register) } else { None };
        }
        Ok(())
    }

    /// Whether the inputs in the first `cycles` cycles of a window that begins at `from` are present exactly where the
    /// computed clocks expect them. If not, restores all registers to their values before the window.
    pub(super) fn hold(
        &mut self,
        machine: &mut dyn Running,
        given: &[Given],
        (from, cycles): (usize, usize),
    ) -> Result<bool, Diagnostic> {
        let mut holds = true;
        for (input, clock) in given.iter().zip(&self.clocks) {
            let Clock::Output(output, flag) = *clock else { continue };
            for t in 0..cycles {
                let mut cond = Data::Bool(Vec::new());
                let there = machine.add_output(output, t, &mut cond)?;
                let is = matches!(&cond, Data::Bool(values) if values.last() == Some(&flag));
                holds = holds && input.agrees(from + t, there && is);
            }
        }
        if !holds {
            for (register, before) in &self.written {
                match before {
                    Some(value) => machine.set_register(*register, value)?,
                    None => machine.unset_register(*register),
                }
            }
        }
        Ok(holds)
    }
}
