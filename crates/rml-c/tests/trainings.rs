//! The first windows of all examples that learn, in C and on the embedded backend: all outputs and states have the same
//! bits.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rml::{Columns, Options as Compile, Precision, Program, Source, StaticValue};
use rml_data::{Preparation, Windows, by_cycle};
use rml_ir::{Data, Value};
use rml_plan::Ends;
use rml_plan::reference::Cells;
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::samples::columns;
use support::windows::{ran, same_in_c};

/// How many windows are compared, and the most cycles.
const WINDOWS: usize = 100;
const CYCLES: usize = 4000;

/// The data of examples; the others have random inputs, or none.
const DATA: &[(&str, &str)] = &[
    ("autoencoder", "digits.npz"),
    ("batchnorm", "rings.npz"),
    ("bidirectional", "same_ends.npz"),
    ("characters", "characters.csv"),
    ("descent", "descent.csv"),
    ("digits", "digits.npz"),
    ("digits_attention", "digits.npz"),
    ("digits_bilstm", "digits.npz"),
    ("digits_conv", "digits.npz"),
    ("digits_gru", "digits.npz"),
    ("digits_mlp", "digits.npz"),
    ("experts", "pieces.npz"),
    ("forecast", "forecast.npz"),
    ("forecast_conv", "forecast.npz"),
    ("late_labels", "late.csv"),
    ("nested", "sequences.npz"),
    ("pipeline", "rings.npz"),
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A node with the sizes that its example is run with.
fn program(name: &str, node: &str) -> Result<Program, rml::Error> {
    let set = [("memory", 1), ("batch", 8)].map(|(name, value)| (name.into(), StaticValue::Int(value)));
    let precision = Precision::F32;
    let options =
        Compile { node: Some(node.to_owned()), defaults: set.into(), precision, ..Compile::default() };
    rml::compile(&Source::file(examples().join(format!("{name}.rml"))), &options)
}

/// The inputs of the first windows.
fn inputs(name: &str, program: &Program) -> Vec<Cells> {
    let Some((_, data)) = DATA.iter().find(|(program, _)| *program == name) else {
        let mut inputs = columns(program.flat(), CYCLES, &mut Lcg(11));
        for value in inputs.iter_mut().flatten().flatten() {
            *value = value.to_precision(Precision::F32);
        }
        return inputs;
    };
    let is_stream = data.ends_with("csv");
    let data = Columns::read(examples().join("data").join(data)).unwrap_or_else(|e| panic!("{e}"));
    if is_stream {
        let (columns, cycles) =
            by_cycle(&data, program.inputs(), Precision::F32, false, &Preparation::default())
                .expect("the data fits");
        let cell = |i: usize, t: usize| {
            Some(columns[i].gather(&[columns[i].place(t)?], &program.inputs()[i].ty.shape))
        };
        let column = |i: usize| (0..cycles.min(CYCLES)).map(|t| cell(i, t)).collect();
        return (0..columns.len()).map(column).collect();
    }
    let windows = Windows::bind(&data, program.inputs(), Precision::F32, false).expect("the data fits");
    let stacked = if program.inputs().iter().any(|input| input.batched) { 8 } else { 1 };
    let all: Vec<usize> = (0..windows.count.min(WINDOWS * stacked)).collect();
    let mut inputs = vec![Cells::new(); program.inputs().len()];
    for stack in windows.batches(&all, stacked).iter().filter(|stack| stack.len() == stacked) {
        let block = windows.block(stack, false).expect("there is memory");
        let mut rows = block.rows().expect("they are on the host");
        let mut row = Vec::new();
        while rows.next_inputs(&mut row) {
            for (column, cell) in inputs.iter_mut().zip(row.drain(..)) {
                column.push(match cell {
                    InputCell::Given(value) => Some(value),
                    InputCell::OnDemand(value) => value,
                    InputCell::Absent => None,
                });
            }
        }
    }
    inputs
}

/// Runs the first windows of a node in both ways. Returns the number of windows.
fn compared(name: &str, node: &str) -> Option<usize> {
    let program = program(name, node).unwrap_or_else(|e| panic!("{name} {node}: {e}"));
    let plan = [Fed::Windows, Fed::Blocks].map(|fed| schedule(program.flat(), fed).ok());
    let [windows, blocks] = plan.map(|plan| plan.filter(|plan| !plan.waits));
    let plan = Arc::new(windows.filter(|plan| plan.ends != Ends::Nothing).or(blocks)?);
    let inputs = inputs(name, &program);
    let ran = ran(&plan, &inputs, (WINDOWS, CYCLES));
    let is_finite = |value: &Value| match value.to_data() {
        Data::F32(v) => v.iter().all(|x| x.is_finite()),
        Data::F64(v) => v.iter().all(|x| x.is_finite()),
        Data::Bool(_) | Data::Int(_) => true,
    };
    let ill = ran.states.iter().find(|(_, value)| !is_finite(value));
    assert!(ill.is_none(), "{name} {node}: {ill:?}");
    if let Err(why) = same_in_c(&plan, &inputs, &ran) {
        panic!("{name} {node}: {}", &why[..why.len().min(3000)]);
    }
    Some(ran.windows.len())
}

/// Compares examples whose names are within these bounds.
fn all(from: &str, to: &str) {
    let mut windows = 0;
    for file in std::fs::read_dir(examples()).expect("examples").map(|e| e.expect("a file").path()) {
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if file.extension().is_none_or(|e| e != "rml") || *name < *from || *name >= *to {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a program");
        for node in text.lines().filter_map(|line| line.strip_prefix("node train")) {
            let node = format!("train{}", &node[..node.find('(').unwrap_or_default()]);
            let ran = compared(&name, &node);
            assert!(ran.is_none_or(|ran| ran >= 10), "{name} {node}: {ran:?} windows");
            windows += ran.unwrap_or_default();
        }
    }
    assert!(windows >= 400, "{windows} windows");
}

#[test]
fn examples_from_a_to_cartpole_have_the_same_bits_in_c() {
    all("a", "cartpole");
}
#[test]
fn examples_from_cartpole_to_digits_have_the_same_bits_in_c() {
    all("cartpole", "digits");
}
#[test]
fn examples_from_digits_to_e_have_the_same_bits_in_c() {
    all("digits", "e");
}
#[test]
fn examples_from_e_on_have_the_same_bits_in_c() {
    all("e", "~");
}
