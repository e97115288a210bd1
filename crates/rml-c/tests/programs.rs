//! The conformance vectors and the examples in C, compared with their plans.

mod support;

use support::Close;

use std::path::Path;
use std::sync::Arc;

use rml::{Options as Compile, Source};
use rml_ir::flat::Drawn;
use rml_plan::reference::Cells;
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::conformance::{ConformanceVector, files, program};
use rml_testkit::samples::columns;

/// Compares a program with its C, and returns the number of compared cycles; none if it has no plan that can be
/// exported.
fn fares(flat: &Arc<Drawn>, columns: &[Cells], cycles: usize) -> Result<Option<usize>, String> {
    match schedule(flat, Fed::Windows) {
        Ok(plan) if !plan.waits && cycles > 0 => {
            support::compare(&plan, columns, (cycles, cycles.max(plan.ahead() as usize + 1)), Close::Nearly)
                .map(Some)
        }
        _ => Ok(None),
    }
}

#[test]
fn vectors_mean_the_same_in_c() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let mut equal = 0;
    for part in ["vectors", "more"] {
        for file in files(&folder.join(part)).expect("vectors") {
            let vector = ConformanceVector::parse(&std::fs::read_to_string(&file).expect("it is read"))
                .expect("a vector");
            let Ok((flat, inputs)) = program(&vector) else { continue };
            let cell = |input: &InputCell| match input {
                InputCell::Given(value) => Some(value.to_precision(flat.precision)),
                _ => None,
            };
            let columns: Vec<Cells> =
                (0..flat.inputs.len()).map(|i| inputs.iter().map(|row| cell(&row[i])).collect()).collect();
            match fares(&flat, &columns, inputs.len()) {
                Ok(cycles) => equal += usize::from(cycles > Some(0)),
                Err(why) if why.contains("Missing") || why.contains("Operator") => {}
                Err(why) => panic!("{}: {why}", file.display()),
            }
        }
    }
    assert!(equal >= 60, "{equal} vectors were compared");
}

#[test]
fn examples_mean_the_same_in_c() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut equal = 0;
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
            let columns = columns(program.flat(), 24, &mut Lcg(7));
            match fares(program.flat(), &columns, 24) {
                Ok(cycles) => equal += usize::from(cycles > Some(0)),
                Err(why) if why.contains("Missing") => {}
                Err(why) => panic!("{} {node}: {}", file.display(), &why[..why.len().min(6000)]),
            }
        }
    }
    assert!(equal >= 25, "{equal} nodes were compared");
}
