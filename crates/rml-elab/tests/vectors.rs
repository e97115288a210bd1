//! Every program of the conformance vectors, of the paper and of the examples elaborates.

mod common;

use std::path::{Path, PathBuf};

use common::{accept, options};
use rml_elab::{Options, Root};
use rml_ir::typed::StaticValue;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn conformance_vectors() {
    let dir = repository().join("tests/conformance/vectors");
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).expect("vectors are there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let vector: serde_json::Value = serde_json::from_str(&text).expect("json");
        let (rml, main) = (vector["rml"].as_str().expect("rml"), vector["main"].as_str().expect("main"));
        let module = accept(rml, &Options { root: Root::Run(main.to_owned()), ..options() });
        let root = &module.nodes[module.root];
        let names: Vec<&str> = root.vars.iter().filter_map(|v| v.name.as_deref()).collect();
        for (name, cells) in vector["expected"].as_object().expect("expected") {
            assert!(names.contains(&name.as_str()), "{}: no variable {name}", path.display());
            let var = root.vars.iter().find(|v| v.name.as_deref() == Some(name)).expect("variable");
            for cell in cells.as_array().expect("cells").iter().filter(|c| !c.is_null()) {
                check_cell(&path, name, cell, &var.ty);
            }
        }
        seen += 1;
    }
    assert!(seen > 60, "only {seen} vectors");
}

/// The values of a vector have the type that was inferred.
fn check_cell(path: &Path, name: &str, cell: &serde_json::Value, ty: &rml_ir::Type) {
    let (mut cell, mut dims) = (cell, Vec::new());
    while let Some(items) = cell.as_array() {
        dims.push(items.len());
        cell = &items[0];
    }
    if cell.is_string() {
        return; // undetermined
    }
    let dtype = match cell {
        serde_json::Value::Bool(_) => rml_ir::DType::Bool,
        serde_json::Value::Number(n) if n.is_f64() => rml_ir::DType::Num,
        _ => rml_ir::DType::Int,
    };
    assert_eq!(*ty, rml_ir::Type::new(dtype, &dims), "{}: {name}", path.display());
}

#[test]
fn digits_example() {
    let text = std::fs::read_to_string(repository().join("examples/digits.rml")).expect("readable");
    for node in ["train", "infer"] {
        let mut options = Options { root: Root::Run(node.to_owned()), ..options() };
        options.set.insert("batch".to_owned(), StaticValue::Int(32));
        let module = accept(&text, &options);
        let types = common::outputs(&module);
        assert!(types.iter().all(|t| t == "num []" || t == "num [32, 10]"), "{types:?}");
    }
}
