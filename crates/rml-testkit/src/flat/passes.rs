//! Checks each pass, and the sequences of passes that commands use, against the fixed point of the original program.

use rml_base::EntityId;
use rml_ir::flat::{ClockClasses, Drawn, Flat, Var, print};
use rml_ir::normal::{self, Differentiated};
use rml_ir::pass::{self, Keep};
use rml_sim::oracle::{self, FixedPoint, OracleOptions};
use rml_sim::{InputCell, Status};

use super::outline::outlined;
use super::text;
use crate::Lcg;

/// One pass or several.
type Pass = fn(Flat) -> Drawn;

fn draw(flat: Flat) -> Drawn {
    pass::draw(flat, 0).expect("there is memory for a few scalars")
}

/// The passes that may drop equations. `settle` keeps unused equations, which `cone` removes.
const PASSES: [(&str, Pass); 7] = [
    ("fold", |flat| draw(pass::fold(flat))),
    ("what is kept whole", |flat| draw(pass::lower(flat, Keep::All))),
    ("cone", |flat| draw(pass::cone(flat))),
    ("settle, then cone", |flat| draw(pass::cone(pass::settle(flat)))),
    ("fold, then cone", |flat| draw(pass::cone(pass::fold(flat)))),
    ("what runs", |flat| draw(pass::lower(flat, Keep::Needed))),
    ("what runs, lowered again", |flat| draw(pass::lower(pass::lower(flat, Keep::Needed), Keep::Needed))),
];

/// Runs a program through every pass that takes flat programs, and, cut into nodes, through `inline`. Compares the
/// cells before and after:
///
/// - In a trace without errors, each output and each state that is kept has the same status in every cycle, including
///   unknown statuses.
/// - In a trace with errors, a pass makes no more cells known and adds no error. An error in an equation that a pass
///   drops is not found.
/// - After inlining, every cell of every variable is the same, including errors.
/// - After `forget_values` and `forget_inputs`, the analysis finds no fact that is false in this trace, if the trace
///   has no synchronisation errors.
///
/// Inputs on demand are given, because a dropped equation no longer asks for them.
///
/// # Errors
/// A pass changes the cells; the text contains the pass, the program before and after, and the cells that differ.
pub fn check_passes(flat: &Drawn, inputs: &[Vec<InputCell>], closed: bool, seed: u64) -> Result<(), String> {
    let inputs: Vec<Vec<InputCell>> = inputs.iter().map(|row| row.iter().map(given).collect()).collect();
    let before = Run::new(flat.clone(), &inputs, closed);
    for (name, pass) in PASSES {
        let after = Run::new(pass(Flat::clone(flat)), &inputs, closed);
        before.is_kept_by(&after).map_err(|found| before.report(name, &after.flat, &found))?;
    }
    inlining(&before, &inputs, closed, seed)?;
    forgetting(&before, &inputs)
}

fn given(input: &InputCell) -> InputCell {
    match input {
        InputCell::OnDemand(Some(value)) => InputCell::Given(value.clone()),
        InputCell::OnDemand(None) => InputCell::Absent,
        input => input.clone(),
    }
}

/// A program and its fixed point.
struct Run {
    flat: Drawn,
    trace: FixedPoint,
}

impl Run {
    fn new(flat: Drawn, inputs: &[Vec<InputCell>], closed: bool) -> Run {
        let trace = oracle::run(&flat, inputs, &OracleOptions { closed, ..OracleOptions::default() });
        Run { flat, trace }
    }

    fn errs(&self) -> bool {
        !self.trace.failures.is_empty() || !self.trace.error_cycles().is_empty()
    }

    fn report(&self, name: &str, after: &Flat, found: &str) -> String {
        format!("{name}: {found}\n{}\nbecame\n{}", print(&self.flat), print(after))
    }

    /// Compares outputs by position and states by key.
    fn is_kept_by(&self, after: &Run) -> Result<(), String> {
        if after.errs() && !self.errs() {
            return Err(format!("errors {:?} {:?}", after.trace.error_cycles(), after.trace.failures));
        }
        let outputs = self.flat.outputs.iter().copied().zip(after.flat.outputs.iter().copied());
        let held = |run: &Run, key: &str| {
            run.flat.states.get(key).map(|state| run.flat.equations[state.equation].lhs)
        };
        let states = self.flat.states.keys().filter_map(|key| Some((held(self, key)?, held(after, key)?)));
        for (old, new) in outputs.chain(states) {
            self.cells(after, old, new)?;
        }
        Ok(())
    }

    /// Compares the cells of a variable before and after.
    fn cells(&self, after: &Run, old: Var, new: Var) -> Result<(), String> {
        let (expected, found) = (self.trace.row(old), after.trace.row(new));
        let fits = |(e, f): (&Status, &Status)| if self.errs() { f.is_below(e) } else { f.same(e) };
        if expected.iter().zip(&found).all(fits) {
            return Ok(());
        }
        Err(format!("{old} became {new}: {} became {}", text(&expected), text(&found)))
    }
}

/// Cuts the program into nodes, inlines them, and compares the cells.
fn inlining(before: &Run, inputs: &[Vec<InputCell>], closed: bool, seed: u64) -> Result<(), String> {
    let module = outlined(&before.flat, &mut Lcg(seed));
    let fail = |found: String| format!("{found}\n{}", normal::print(&module));
    let differentiated = Differentiated::new(module.clone()).map_err(|found| fail(found.join("\n")))?;
    let flat = pass::inline(&differentiated).map_err(|found| fail(found.to_string()))?;
    let after = Run::new(draw(flat), inputs, closed);
    let fail = |found: String| before.report("inline", &after.flat, &found);
    for (new, data) in after.flat.vars.iter_enumerated() {
        // Copies at the interfaces have the names of the copied variables.
        let Some(old) = data.name.as_deref().and_then(original) else { continue };
        let (expected, found) = (text(&before.trace.row(old)), text(&after.trace.row(new)));
        if expected != found {
            return Err(fail(format!("{old} in {new}: {expected} became {found}")));
        }
    }
    let cycles = |run: &Run| run.trace.failures.iter().map(|f| f.cycle).collect::<Vec<_>>();
    if cycles(before) == cycles(&after) { Ok(()) } else { Err(fail("other operators fail".to_owned())) }
}

/// The variable to which a path of inlined nodes refers.
fn original(path: &str) -> Option<Var> {
    let number = path.rsplit('.').next()?.strip_prefix('v')?.parse().ok()?;
    Some(Var::from_index(number))
}

/// Checks that the facts known without values are true in the run.
fn forgetting(before: &Run, inputs: &[Vec<InputCell>]) -> Result<(), String> {
    let values = pass::forget_values(Flat::clone(&before.flat));
    let always = |k: usize| inputs.iter().all(|row| matches!(row[k], InputCell::Given(_)));
    let is_given: Vec<bool> = (0..values.inputs.len()).map(always).collect();
    let given: Vec<Var> =
        values.inputs.iter().zip(&is_given).filter(|(_, g)| **g).map(|(i, _)| i.var).collect();
    let mut asked = ClockClasses::new(&values).free_representatives();
    let (blind, present) = pass::forget_inputs(values, &given);
    asked.extend(present);
    let demand = asked.into_iter().map(|v| (v, vec![true; inputs.len()])).collect();
    let rows = vec![Vec::new(); inputs.len()];
    let options = OracleOptions { demand: Some(demand), ..OracleOptions::default() };
    let known = oracle::run(&blind, &rows, &options);
    if !before.trace.error_cycles().is_empty() {
        return Ok(());
    }
    for v in before.flat.vars.ids() {
        let (expected, found) = (before.trace.row(v), known.row(v));
        if !found.iter().zip(&expected).all(|(f, e)| f.is_below(e)) {
            let found = format!("{v}: {} is not below {}", text(&found), text(&expected));
            return Err(before.report("forget", &blind, &found));
        }
    }
    Ok(())
}
