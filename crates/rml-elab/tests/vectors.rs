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
    for entry in std::fs::read_dir(dir).expect("vectors exist") {
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

/// Checks that the values of a vector have the inferred type.
fn check_cell(path: &Path, name: &str, cell: &serde_json::Value, ty: &rml_ir::Type) {
    let (mut cell, mut dims) = (cell, Vec::new());
    while let Some(items) = cell.as_array() {
        dims.push(items.len());
        cell = &items[0];
    }
    if cell.is_string() {
        return; // Undetermined.
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

/// All files in a directory of the repository whose names end in `.rml`.
fn texts(dir: &str) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = std::fs::read_dir(repository().join(dir))
        .expect("directory exists")
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "rml"))
        .map(|p| (p.display().to_string(), std::fs::read_to_string(&p).expect("readable")))
        .collect();
    texts.sort();
    texts
}

#[test]
fn paper_and_library_check() {
    for (name, text) in texts("examples/paper").into_iter().chain(texts("std")) {
        let mut sources = rml_base::Sources::new();
        let main = sources.add(&name, &text);
        let (_, found) = common::check_all(&mut sources, main, &options());
        let shown: Vec<String> = found.iter().map(|d| common::describe(d, &sources)).collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
    }
}

#[test]
fn paper_nodes_run() {
    let sized = [("units", 4), ("sizex", 3)];
    for (name, text) in texts("examples/paper") {
        let mut sources = rml_base::Sources::new();
        let main = sources.add(&name, &text);
        let nodes =
            rml_elab::Resolved::new(&mut sources, main, &options(), &mut rml_elab::NoFiles).signatures();
        assert!(!nodes.is_empty(), "{name}");
        for node in nodes {
            let mut options = Options { root: Root::Run(node.name.clone()), ..options() };
            for (name, value) in sized {
                options.defaults.insert(name.to_owned(), StaticValue::Int(value));
            }
            let shape = StaticValue::Array(vec![StaticValue::Int(4)]);
            options.defaults.insert("shape".to_owned(), shape);
            let typed = node.formals.iter().all(|f| match &f.kind {
                rml_elab::FormalKind::Node => false,
                rml_elab::FormalKind::Static => true,
                rml_elab::FormalKind::Stream { dtype, .. } => dtype.is_some(),
            });
            if typed {
                accept(&text, &options);
            }
        }
    }
}

#[test]
fn overrides_and_optimisers_are_recorded() {
    let (_, text) =
        texts("examples/paper").into_iter().find(|(n, _)| n.ends_with("lstm_end.rml")).expect("file");
    let module = accept(&text, &Options { root: Root::Run("train".to_owned()), ..options() });
    let name = |id: rml_ir::typed::NodeId| module.nodes[id].name.as_ref();
    for (of, by) in &module.overrides {
        assert_eq!(format!("diff_{}", name(*of)), name(*by));
    }
    assert!(module.overrides.keys().any(|k| name(*k) == "param_end"));
    let types: Vec<String> = module.optimisers.keys().map(|(_, ty)| ty.to_string()).collect();
    assert_eq!(types, ["num [16, 7]", "num [16]"]);
}

#[test]
fn examples_of_the_language_reference_check() {
    let mut seen = 0;
    for file in ["clocks", "gradients", "nodes", "statics", "types-and-shapes"] {
        let path = repository().join(format!("docs/language/{file}.md"));
        let text = std::fs::read_to_string(path).expect("readable");
        for block in text.split("```rml\n").skip(1).filter_map(|b| b.split("```").next()) {
            if !block.contains("node ") {
                continue;
            }
            let mut sources = rml_base::Sources::new();
            let main = sources.add(file, block);
            let (_, found) = common::check_all(&mut sources, main, &options());
            let shown: Vec<String> = found.iter().map(|d| common::describe(d, &sources)).collect();
            assert!(shown.is_empty(), "{}\n{block}", shown.join("\n"));
            seen += 1;
        }
    }
    assert!(seen >= 13, "only {seen} examples");
}
