//! Compares ONNX models and StableHLO modules with the plans that they are made from.
//!
//! Each case is written to a folder, with its inputs and expected outputs. If `RML_EXCHANGE` names a Python with JAX
//! and ONNX Runtime, these run it; otherwise models are parsed, and only their form is checked.

#![allow(dead_code, reason = "each test has its own part of it")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rml_backend::routine::{Port, PortRole, RoutineInput, WindowModel};
use rml_ir::{Data, Precision, Value};
use rml_onnx::Refused;
use rml_plan::reference::{Cells, Fault, Machine};
use rml_plan::{Ends, Plan};

mod form;

/// The variable that names the interpreter.
const PYTHON: &str = "RML_EXCHANGE";

/// The cases of a test.
pub(crate) struct Cases {
    folder: tempfile::TempDir,
    all: Vec<String>,
}

/// The inputs and outputs of a call; no outputs if an operator fails.
struct Call {
    ticks: usize,
    inputs: Vec<Vec<Option<Value>>>,
    outputs: Option<Vec<Cells>>,
}

impl Cases {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), all: Vec::new() }
    }

    /// The number of cases.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a plan over these cycles; without windows, a call has a fixed number of them. Returns whether there is
    /// something to compare.
    pub(crate) fn add(
        &mut self,
        told: &str,
        plan: &Plan,
        columns: &[Cells],
        cycles: usize,
        most: usize,
    ) -> bool {
        if plan.waits || matches!(plan.ends, Ends::Found { .. }) {
            return false;
        }
        if plan.outputs.iter().all(|output| output.ty.shape.is_empty()) {
            return false;
        }
        let calls = calls(plan, columns, cycles, most);
        let Some(first) = calls.first() else { return false };
        let model = rml_lower::model(plan, first.ticks, &|_| None);
        if let Err(found) = rml_backend::routine::verify(&model.routine) {
            panic!("{told}: {}", found.join("; "));
        }
        let name = format!("case{}", self.all.len());
        let file = |ending: &str, bytes: &[u8]| {
            std::fs::write(self.folder.path().join(format!("{name}.{ending}")), bytes)
                .expect("it is written");
        };
        match rml_onnx::export(&model, told) {
            Ok(bytes) => {
                if let Err(why) = form::check(&bytes) {
                    panic!("{told}: {why}");
                }
                file("onnx", &bytes);
            }
            Err(Refused::Operator { name: "cholesky" | "solve", .. }) => {}
            Err(Refused::Operator { name: "atan2" | "erf" | "gelu", .. })
                if plan.precision == Precision::F64 => {}
            Err(why) => panic!("{told}: {why:?}"),
        }
        file("mlir", rml_stablehlo::export(&model, told).as_bytes());
        self.all.push(case(&name, told, plan, &model, &calls));
        true
    }

    /// Runs all cases, if there is an interpreter.
    pub(crate) fn run(self) {
        let path = self.folder.path();
        std::fs::write(path.join("cases.json"), format!("[{}]", self.all.join(",\n")))
            .expect("it is written");
        let Some(python) = std::env::var_os(PYTHON) else { return };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/exchange/run.py");
        let output = Command::new(python).arg(script).arg(path).output().expect("Python starts");
        let told =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{told}");
    }
}

/// The windows with the length of the first one, or blocks.
fn calls(plan: &Plan, columns: &[Cells], cycles: usize, most: usize) -> Vec<Call> {
    let mut machine = Machine::new(Arc::new(plan.clone()));
    let (mut from, mut calls): (usize, Vec<Call>) = (0, Vec::new());
    while from < cycles && calls.len() < 6 {
        let wanted = calls.first().map(|call| call.ticks);
        let rest = match plan.ends {
            Ends::Nothing => (cycles - from).min(wanted.unwrap_or(most + plan.ahead() as usize)),
            _ => cycles - from,
        };
        let part = |n: usize| columns.iter().map(|c| c[from..from + n].to_vec()).collect::<Vec<Cells>>();
        let Ok(Some(ticks)) = machine.length(rest, &part(rest)) else { break };
        if wanted.is_some_and(|wanted| wanted != ticks) || ticks <= plan.ahead() as usize {
            break;
        }
        match machine.window(ticks, &part(ticks)) {
            Ok((outputs, done)) => {
                let outputs = outputs.into_iter().map(|column| column[..done].to_vec()).collect();
                calls.push(Call { ticks, inputs: part(ticks), outputs: Some(outputs) });
                from += done;
            }
            Err(Fault::Operator { .. }) => {
                calls.push(Call { ticks, inputs: part(ticks), outputs: None });
                break;
            }
            Err(_) => break,
        }
    }
    calls
}

/// A case as JSON.
fn case(name: &str, told: &str, plan: &Plan, model: &WindowModel, calls: &[Call]) -> String {
    let mut text = format!(
        "{{\"name\": {name:?}, \"told\": {told:?}, \"precision\": \"{}\", \"places\": {{",
        plan.precision
    );
    let is_output = |port: &&Port| matches!(port.role, PortRole::Cycles(..) | PortRole::Cycle(_));
    let ports: Vec<&Port> = model.outputs.iter().filter(is_output).collect();
    let place = |port: &&Port| match port.role {
        PortRole::Cycles(from, to) => format!("{:?}: [{from}, {to}]", port.name),
        PortRole::Cycle(t) => format!("{:?}: [{t}, null]", port.name),
        role => panic!("{} is {role:?}", port.name),
    };
    let places: Vec<String> = ports.iter().map(place).collect();
    let _ = write!(text, "{}}}, \"calls\": [", places.join(", "));
    for (i, call) in calls.iter().enumerate() {
        text += if i > 0 { ",\n" } else { "" };
        let inputs = plan.inputs.iter().zip(&call.inputs).map(|((name, ty), column)| {
            let one = model.inputs.iter().find_map(|given| match given {
                RoutineInput::Port(port) if *port.name == **name => Some(port.role),
                _ => None,
            });
            let cells: Vec<&Option<Value>> = match one {
                Some(PortRole::Cycle(t)) => vec![&column[t]],
                _ => column.iter().collect(),
            };
            let zeros = Value::zeros(ty, plan.precision);
            let flat: Vec<String> =
                cells.iter().map(|cell| elements(cell.as_ref().unwrap_or(&zeros))).collect();
            format!(
                "{:?}: [{}]",
                &**name,
                flat.into_iter().filter(|f| !f.is_empty()).collect::<Vec<_>>().join(", ")
            )
        });
        let outputs = ports.iter().zip(call.outputs.iter().flatten()).map(|(port, column)| {
            let row = |cell: &Option<Value>| {
                cell.as_ref().map_or("null".to_owned(), |v| format!("[{}]", elements(v)))
            };
            format!("{:?}: [{}]", port.name, column.iter().map(row).collect::<Vec<_>>().join(", "))
        });
        let (inputs, outputs) =
            (inputs.collect::<Vec<_>>().join(", "), outputs.collect::<Vec<_>>().join(", "));
        let suspect = call.outputs.is_none();
        let _ = write!(text, "{{\"in\": {{{inputs}}}, \"out\": {{{outputs}}}, \"suspect\": {suspect}}}");
    }
    text + "]}"
}

/// The elements of a value, in a form that Python reads.
fn elements(value: &Value) -> String {
    let number = |x: f64| match x {
        _ if x.is_nan() => "NaN".to_owned(),
        _ if x.is_infinite() => format!("{}Infinity", if x < 0.0 { "-" } else { "" }),
        _ => format!("{x:?}"),
    };
    let all: Vec<String> = match value.to_data() {
        Data::Bool(v) => v.iter().map(bool::to_string).collect(),
        Data::Int(v) => v.iter().map(i64::to_string).collect(),
        Data::F32(v) => v.iter().map(|x| number(f64::from(*x))).collect(),
        Data::F64(v) => v.iter().map(|x| number(*x)).collect(),
    };
    all.join(", ")
}

/// The precision of a case by its number: the two precisions alternate.
pub(crate) fn precision(i: usize) -> Precision {
    if i.is_multiple_of(2) { Precision::F32 } else { Precision::F64 }
}
