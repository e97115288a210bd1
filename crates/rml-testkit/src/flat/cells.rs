//! Inputs and statuses as text.

use rml_ir::Value;
use rml_ir::flat::Var;
use rml_sim::{InputCell, Simulator, Status};

/// The inputs of all cycles, from one text per input: `1 _ 3`, `t f _`, `2.5`, `@7` (on demand), `@_` (refused).
///
/// # Panics
/// A cell is none of these, or a column is shorter than the first one.
pub fn columns(columns: &[&str]) -> Vec<Vec<InputCell>> {
    let columns: Vec<Vec<InputCell>> =
        columns.iter().map(|c| c.split_whitespace().map(input).collect()).collect();
    let cycles = columns.first().map_or(0, Vec::len);
    (0..cycles).map(|n| columns.iter().map(|c| c[n].clone()).collect()).collect()
}

/// The texts that [`columns`] reads as these cycles. Values must be scalars.
pub fn column_texts(cycles: &[Vec<InputCell>]) -> Vec<String> {
    let cell = |input: &InputCell| match input {
        InputCell::Absent => "_".to_owned(),
        InputCell::Given(v) => scalar(v),
        InputCell::OnDemand(None) => "@_".to_owned(),
        InputCell::OnDemand(Some(v)) => format!("@{}", scalar(v)),
    };
    let inputs = cycles.first().map_or(0, Vec::len);
    let column = |i: usize| cycles.iter().map(|row| cell(&row[i])).collect::<Vec<_>>().join(" ");
    (0..inputs).map(column).collect()
}

fn scalar(value: &Value) -> String {
    text(&[Status::Value(value.clone())])
}

fn input(cell: &str) -> InputCell {
    match cell.strip_prefix('@') {
        Some("_") => InputCell::OnDemand(None),
        Some(value) => InputCell::OnDemand(Some(value_of(value))),
        None if cell == "_" => InputCell::Absent,
        None => InputCell::Given(value_of(cell)),
    }
}

fn value_of(cell: &str) -> Value {
    match cell {
        "t" => Value::Bool(true),
        "f" => Value::Bool(false),
        _ if cell.contains('.') => Value::F64(cell.parse().expect("a number")),
        _ => Value::Int(cell.parse().expect("an integer")),
    }
}

/// A row of statuses as text: `1 _ ? bot t error`.
pub fn text(row: &[Status]) -> String {
    let cell = |s: &Status| match s {
        Status::Bottom => "bot".to_owned(),
        Status::Absent => "_".to_owned(),
        Status::Unknown => "?".to_owned(),
        Status::Error => "error".to_owned(),
        Status::Value(Value::Bool(b)) => if *b { "t" } else { "f" }.to_owned(),
        Status::Value(Value::Int(i)) => i.to_string(),
        Status::Value(Value::F64(x)) => format!("{x:?}"),
        Status::Value(v) => format!("{v:?}"),
    };
    row.iter().map(cell).collect::<Vec<_>>().join(" ")
}

/// The row of a variable in a simulation.
pub fn sim_row(sim: &Simulator, v: Var) -> Vec<Status> {
    (0..sim.cycles()).map(|n| sim.status(n, v).unwrap().unwrap_or_default()).collect()
}
