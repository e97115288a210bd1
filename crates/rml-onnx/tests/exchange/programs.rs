//! The conformance vectors and the examples as ONNX and as StableHLO, compared with their plans.

use std::path::Path;

use crate::support::Cases;
use rml::{Options as Compile, Source};
use rml_plan::reference::Cells;
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::conformance::{ConformanceVector, files, program};
use rml_testkit::samples::columns;

#[test]
fn vectors_mean_the_same_elsewhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let mut cases = Cases::new();
    for part in ["vectors", "more"] {
        for file in files(&folder.join(part)).expect("vectors") {
            let vector = ConformanceVector::parse(&std::fs::read_to_string(&file).expect("it is read"))
                .expect("a vector");
            let Ok((flat, inputs)) = program(&vector) else { continue };
            if file.ends_with("big_ints.json") {
                // Graphs suspect integers beyond 2^62 even if they do not overflow.
                continue;
            }
            let cell = |input: &InputCell| match input {
                InputCell::Given(value) => Some(value.to_precision(flat.precision)),
                _ => None,
            };
            let columns: Vec<Cells> =
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
            let columns = columns(program.flat(), 24, &mut Lcg(7));
            if let Ok(plan) = schedule(program.flat(), Fed::Windows) {
                let told = format!("{} {node}", file.display());
                cases.add(&told, &plan, &columns, 24, 4);
            }
        }
    }
    assert!(cases.len() >= 25, "{} nodes were compared", cases.len());
    cases.run();
}

/// Products of operands with one to four axes in any order, whose transpositions ONNX Runtime's optimizer merges into
/// the product.
#[test]
fn products_of_transposed_operands_mean_the_same_elsewhere() {
    let mut cases = Cases::new();
    for (i, (left, right)) in (1..=4).flat_map(|a| (1..=4).map(move |b| (a, b))).enumerate() {
        let (a, b) = (operands("a", left), operands("b", right));
        let (mut inputs, mut outputs, mut body) = (Vec::new(), Vec::new(), String::new());
        for (name, dims, _) in a.iter().chain(&b) {
            inputs.push(format!("{name}: num {dims:?}"));
        }
        for (x, _, turned_x) in &a {
            for (y, _, turned_y) in &b {
                outputs.push(format!("{x}{y}"));
                body += &format!("  {x}{y} = 0.5 * matmul({turned_x}, {turned_y});\n");
            }
        }
        let (inputs, outputs) = (inputs.join(", "), outputs.join(", "));
        let text = format!("node main({inputs}) -> ({outputs})\n{body}");
        let options = Compile { precision: crate::support::precision(i), ..Compile::default() };
        let program = rml::compile(&Source::text("products.rml", &text), &options)
            .unwrap_or_else(|found| panic!("{text}{found:?}"));
        let columns = columns(program.flat(), 2, &mut Lcg(7));
        let plan = schedule(program.flat(), Fed::Windows).expect("a plan");
        assert!(cases.add(&format!("products of {left} and {right} axes"), &plan, &columns, 2, 1));
    }
    cases.run();
}

/// Operands for the left (`a`) or right side of a product, which have the same shape after they are transposed: their
/// names, shapes, and transpositions. Matrices are 3 times 4 and 4 times 2.
fn operands(side: &str, rank: usize) -> Vec<(String, Vec<usize>, String)> {
    let whole: &[usize] = if side == "a" { &[2, 5, 3, 4] } else { &[2, 5, 4, 2] };
    let shape = if rank == 1 { &[4] } else { &whole[4 - rank..] };
    let mut orders = vec![Vec::new()];
    for axis in 0..rank {
        let with = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, axis);
                longer
            })
        };
        orders = orders.iter().flat_map(with).collect();
    }
    let one = |(i, perm): (usize, Vec<usize>)| {
        let mut dims = vec![0; rank];
        perm.iter().zip(shape).for_each(|(axis, n)| dims[*axis] = *n);
        let name = format!("{side}{i}");
        let turned = if rank == 1 { name.clone() } else { format!("transpose({name}, {perm:?})") };
        (name, dims, turned)
    };
    orders.into_iter().enumerate().map(one).collect()
}
