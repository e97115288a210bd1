//! Windows whose ends data of the next cycle tell: the form that has these data as inputs means the same, and has a
//! plan of whole windows.

use std::sync::Arc;

use rml_analysis::clocks;
use rml_ir::Value;
use rml_ir::flat::Drawn;
use rml_ir::pass::lower_drawn;
use rml_plan::Ends;
use rml_schedule::{Fed, Foreseen, NextInput, foreseen, schedule};
use rml_sim::{InputCell, Options, Simulator, Status};
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::verdicts::respecting;

/// The outputs of an open trace, cycle by cycle; an error if it fails.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Option<Vec<Vec<String>>> {
    let options = Options { record: true, ..Options::default() };
    let mut sim = Simulator::new(Arc::clone(flat), options);
    inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(false)).ok()?;
    let cell = |t: usize, v| match sim.status(t as u64, v).expect("on the host") {
        None | Some(Status::Bottom | Status::Unknown) => "?".to_owned(),
        known => format!("{known:?}"),
    };
    Some((0..inputs.len()).map(|t| flat.outputs.iter().map(|v| cell(t, *v)).collect()).collect())
}

fn value(input: &InputCell) -> Option<&Value> {
    match input {
        InputCell::Given(value) => Some(value),
        _ => None,
    }
}

/// The same rows with the inputs that are those of the next cycle, as far as cycles are determined.
fn extended(inputs: &[Vec<InputCell>], next: &[NextInput]) -> Vec<Vec<InputCell>> {
    let mut rows = Vec::new();
    for (t, row) in inputs.iter().enumerate() {
        let mut row = row.clone();
        for NextInput { of, end, init } in next {
            let ends = end.is_some_and(|end| value(&row[end]).and_then(Value::as_bool) == Some(true));
            let next = match (ends, init, inputs.get(t + 1)) {
                (true, Some(init), _) => InputCell::Given(Value::Bool(*init)),
                (_, _, Some(next)) => next[*of].clone(),
                // Any value will do.
                (true, None, None) => row[*of].clone(),
                (false, _, None) => return rows,
            };
            row.push(next);
        }
        rows.push(row);
    }
    rows
}

#[test]
fn ends_of_random_programs_mean_the_same() {
    let (mut ran, mut known, mut planned) = (0, 0, 0);
    for seed in 0..6000 {
        let mut r = Lcg(seed);
        let (flat, _) = program(&r.take(220), 24, false);
        let flat = Arc::new(lower_drawn((*flat).clone()));
        let clocks = clocks(&flat).clocks;
        let Some(Foreseen { program, next }) = foreseen(&flat, &clocks) else { continue };
        let plan = schedule(&program, Fed::Windows);
        planned += usize::from(plan.is_ok_and(|plan| plan.ends != Ends::Nothing));
        let inputs = respecting(&flat, &clocks, &mut r, 14);
        let rows = extended(&inputs, &next);
        let (Some(wanted), Some(found)) = (outputs(&flat, &inputs), outputs(&Arc::new(program), &rows))
        else {
            continue;
        };
        ran += 1;
        for (t, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            for (found, wanted) in found.iter().zip(wanted).filter(|(_, wanted)| *wanted != "?") {
                known += usize::from(found != "?");
                // What waits for cycles that are not determined is not known here.
                let waits = found == "?" && rows.len() < inputs.len();
                let text = rml_ir::flat::print(&flat);
                assert!(waits || found == wanted, "seed {seed}, cycle {t}: {found}, not {wanted}\n{text}");
            }
        }
    }
    assert!(ran > 50 && known > 500 && planned > 5, "{ran} programs, {known} cells, {planned} plans");
}
