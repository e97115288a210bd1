//! Runs a vector by plan: the outputs over the whole trace, in whole windows.

use rml::{Cell, Columns, End, Engine as Runs, Format, RunOptions, Trace, codes};
use rml_sim::Status;
use serde_json::Value as Json;

use super::compare::{agrees, show, show_expected};
use super::{ConformanceVector, Expected, VectorMismatch, VectorRunner, engines};

/// The outputs that are not as expected; `None` if there is no plan for the vector.
pub(super) fn check(vector: &ConformanceVector) -> Result<Option<Vec<VectorMismatch>>, String> {
    let (program, _) = engines::program(vector, false)?;
    // Inputs on demand cannot be given as a table.
    if !vector.on_demand.is_empty() {
        return Ok(None);
    }
    let table: serde_json::Map<String, Json> =
        vector.inputs.iter().map(|(name, cells)| (name.clone(), cells.iter().cloned().collect())).collect();
    let text = Json::Object(table).to_string();
    let inputs = Columns::parse(text.as_bytes(), Format::Json, "the vector").map_err(|e| e.to_string())?;
    let end = if vector.closed { End::Closed } else { End::Open };
    let run = |engine: Runs| {
        let options =
            RunOptions { cycles: Some(vector.cycles), end, allow_nan: true, engine, ..RunOptions::default() };
        rml::run(&program, &inputs, &options)
    };
    let trace = match run(Runs::plan()) {
        Err(error) if error.code() == Some(codes::backend::ENGINE_DECLINES) => return Ok(None),
        found => found.map_err(|e| e.to_string().replace('\n', "; "))?,
    };
    let simulated = run(Runs::simulator()).map_err(|e| e.to_string().replace('\n', "; "))?;
    Ok(Some(compare(vector, &trace, &simulated)))
}

/// Compares the trace with the vector. Its error must be that of the simulator, because equations that no output needs
/// are not run.
fn compare(vector: &ConformanceVector, trace: &Trace, simulated: &Trace) -> Vec<VectorMismatch> {
    let mut failures = Vec::new();
    let error = |trace: &Trace| trace.error.as_ref().map(|e| e.to_string().replace('\n', "; "));
    let stopped = simulated.error.is_some();
    if error(trace) != error(simulated) {
        let message = format!("expected the error {:?}, got {:?}", error(simulated), error(trace));
        failures.push(VectorMismatch::Engine { engine: VectorRunner::Plan, message });
    }
    for (name, cells) in &trace.values {
        let Some(row) = vector.expected.get(name) else { continue };
        for (cycle, (expected, cell)) in row.iter().zip(cells).enumerate() {
            // A run asks for every output, even if the vector's environment does not; and an error ends the run.
            let unasked = vector.demand.is_some() && matches!(expected, Expected::Undetermined);
            let ended = stopped && matches!(cell, Cell::Unknown);
            if vector.error_cycles.contains(&cycle) || unasked || ended {
                continue;
            }
            let got = match cell {
                Cell::Absent => Status::Absent,
                Cell::Unknown => Status::Unknown,
                Cell::Value(value) => Status::Value(value.clone()),
            };
            if !agrees(expected, &got) {
                let (expected, got, variable) = (show_expected(expected), show(&got), name.clone());
                failures.push(VectorMismatch::Cell {
                    engine: VectorRunner::Plan,
                    variable,
                    cycle,
                    expected,
                    got,
                });
            }
        }
    }
    failures
}
