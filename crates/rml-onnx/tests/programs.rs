//! The conformance vectors and the examples as ONNX and as StableHLO, beside their plans.

mod support;

use std::path::Path;

use rml::{Options as Compile, Source};
use rml_plan::reference::Column;
use rml_schedule::{Fed, schedule};
use rml_sim::Input;
use rml_testkit::Random;
use rml_testkit::conformance::{Vector, files, program};
use rml_testkit::samples::columns;
use support::Cases;

#[test]
fn vectors_mean_the_same_elsewhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let mut cases = Cases::new();
    for part in ["vectors", "more"] {
        for file in files(&folder.join(part)).expect("vectors") {
            let vector =
                Vector::parse(&std::fs::read_to_string(&file).expect("it is read")).expect("a vector");
            let Ok((flat, inputs)) = program(&vector) else { continue };
            if file.ends_with("big_ints.json") {
                // Graphs suspect integers beyond 2^62, whether they fit or not.
                continue;
            }
            let cell = |input: &Input| match input {
                Input::Given(value) => Some(value.to_precision(flat.precision)),
                _ => None,
            };
            let columns: Vec<Column> =
                (0..flat.inputs.len()).map(|i| inputs.iter().map(|row| cell(&row[i])).collect()).collect();
            if let Ok(plan) = schedule(&flat, Fed::Windows) {
                let told = file.file_name().unwrap_or_default().to_string_lossy();
                cases.add(&told, &plan, &columns, inputs.len(), 3);
            }
        }
    }
    assert!(cases.len() >= 60, "{} vectors were compared", cases.len());
    cases.run();
}

#[test]
fn examples_mean_the_same_elsewhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut cases = Cases::new();
    for file in std::fs::read_dir(folder).expect("examples").map(|e| e.expect("a file").path()) {
        if file.extension().is_none_or(|e| e != "rml") {
            continue;
        }
        for analysis in rml::analyse_all(&Source::file(&file), &Compile::default()) {
            let node = analysis.node().to_owned();
            let defaults = analysis.assumed.iter().cloned().collect();
            let precision = rml_ir::Precision::F64;
            let options = Compile { node: Some(node.clone()), defaults, precision, ..Compile::default() };
            let Ok(program) = rml::compile(&Source::file(&file), &options) else { continue };
            let columns = columns(program.flat(), 24, &mut Random(7));
            if let Ok(plan) = schedule(program.flat(), Fed::Windows) {
                let told = format!("{} {node}", file.display());
                cases.add(&told, &plan, &columns, 24, 4);
            }
        }
    }
    assert!(cases.len() >= 25, "{} nodes were compared", cases.len());
    cases.run();
}
