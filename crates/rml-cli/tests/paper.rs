//! The listings of the paper in `examples/paper`: each one checks, runs, and gives the values of the figure.
//! `figures.json` is the list; the inputs of each entry are in `traces`.

mod support;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use support::Folder;

/// How far computed numbers may be from those of the list.
const TOLERANCE: f64 = 1e-5;
/// The same for parameters at the end of a descent.
const REACHED: f64 = 1e-3;

fn paper() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/paper").canonicalize().expect("the listings")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(paper().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn figures() -> Vec<Value> {
    let list: Value = serde_json::from_str(&read("figures.json")).expect("JSON");
    list.as_array().expect("a list").clone()
}

fn text<'a>(figure: &'a Value, key: &str) -> &'a str {
    figure[key].as_str().unwrap_or_else(|| panic!("no `{key}` in {figure}"))
}

/// The entries of a field that maps names to something.
fn each(figure: &Value, key: &str) -> Map<String, Value> {
    figure[key].as_object().cloned().unwrap_or_default()
}

/// The inputs of a figure, each column repeated as often as the list says; none for a node without inputs.
fn inputs(figure: &Value) -> Option<String> {
    if figure["cycles"].is_u64() {
        return None;
    }
    let columns: Value =
        serde_json::from_str(&read(&format!("traces/{}.json", text(figure, "name")))).expect("JSON");
    let times = usize::try_from(figure["repeat"].as_u64().unwrap_or(1)).expect("small");
    let repeated: Map<String, Value> = columns
        .as_object()
        .expect("columns")
        .iter()
        .map(|(name, cells)| {
            let cells = cells.as_array().expect("cells");
            let again = cells.iter().cycle().take(cells.len() * times).cloned();
            (name.clone(), again.collect())
        })
        .collect();
    Some(Value::from(repeated).to_string())
}

/// The arguments that name a figure's program and its inputs, in a folder that has them.
fn arguments(figure: &Value, folder: Folder) -> (Folder, String) {
    let file = paper().join(text(figure, "file"));
    let mut args = format!("{} --node {}", file.display(), text(figure, "node"));
    let folder = match inputs(figure) {
        Some(columns) => {
            args.push_str(" --inputs inputs.json");
            folder.file("inputs.json", columns)
        }
        None => {
            args.push_str(&format!(" --cycles {}", figure["cycles"]));
            folder
        }
    };
    if let Some(setting) = figure["set"].as_str() {
        args.push_str(&format!(" --set {setting}"));
    }
    if figure["open"] == true {
        args.push_str(" --open");
    }
    (folder, args)
}

/// Whether two cells are equal; numbers up to a tolerance, tensors element by element.
fn same(found: &Value, expected: &Value, tolerance: f64) -> bool {
    match (found, expected) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, tolerance))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= tolerance * b.abs().max(1.0)
        }
        _ => found == expected,
    }
}

fn check_values(figure: &Value, values: &Value) {
    let name = text(figure, "name");
    let row =
        |var: &str| values[var].as_array().unwrap_or_else(|| panic!("{name}: no `{var}`: {values}")).clone();
    for (var, expected) in each(figure, "expected") {
        assert!(same(&row(&var).into(), &expected, TOLERANCE), "{name}: {var} = {:?}", row(&var));
    }
    for (var, expected) in each(figure, "last") {
        let found = row(&var).last().cloned().expect("cells");
        assert!(same(&found, &expected, REACHED), "{name}: {var} ends with {found}");
    }
    for (var, window) in each(figure, "falls") {
        let cells: Vec<f64> = row(&var).iter().map(|c| c.as_f64().expect("a number")).collect();
        let window = usize::try_from(window.as_u64().expect("cycles")).expect("small");
        let (first, last) =
            (cells[..window].iter().sum::<f64>(), cells[cells.len() - window..].iter().sum::<f64>());
        assert!(last < 0.5 * first, "{name}: {var} goes from {first} to {last}");
    }
    for var in figure["present"].as_array().into_iter().flatten() {
        let cells = row(var.as_str().expect("a name"));
        assert!(!cells.is_empty() && cells.iter().all(|c| !c.is_null() && *c != "?"), "{name}: {cells:?}");
    }
}

#[test]
fn every_listing_gives_the_values_of_its_figure() {
    for figure in figures().iter().filter(|f| f["semantics"] != "kahn") {
        let (folder, args) = arguments(figure, Folder::new());
        let run = folder.rml(&format!("run {args} --vars all"));
        let trace: Value =
            serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {args}\n{}", run.err));
        check_values(figure, &trace["values"]);
    }
}

#[test]
fn the_kahn_semantics_deadlocks_where_the_appendix_says() {
    let kahn: Vec<Value> = figures().into_iter().filter(|f| f["semantics"] == "kahn").collect();
    assert!(!kahn.is_empty());
    for figure in &kahn {
        let (folder, args) = arguments(figure, Folder::new());
        let run = folder.rml(&format!("trace {args} --semantics kahn"));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.err.contains("warning[kahn-deadlock]"), "{}", run.err);
        for var in figure["waits"].as_array().expect("names") {
            let var = var.as_str().expect("a name");
            assert!(run.err.contains(&format!("`{var}` never gets its element 0")), "{}", run.err);
            assert!(run.out.lines().any(|l| l == var), "the row of {var} is not empty:\n{}", run.out);
        }
    }
}

#[test]
fn windows_have_no_kahn_semantics() {
    let figures = figures();
    let lstm = figures.iter().find(|f| f["name"] == "lstm_train").expect("in the list");
    let (folder, args) = arguments(lstm, Folder::new());
    folder.rml(&format!("trace {args} --semantics kahn")).fails(1, &["error[kahn-window]"]);
}

/// `cargo xtask chronograms` rewrites the pictures.
#[test]
fn chronograms_are_those_of_the_figures() {
    let drawn: Vec<Value> = figures().into_iter().filter(|f| f["draw"].is_string()).collect();
    assert!(drawn.len() >= 15);
    let index = read("README.md");
    for figure in &drawn {
        let name = text(figure, "name");
        let (folder, args) = arguments(figure, Folder::new());
        let how = match (&figure["stages"], &figure["semantics"]) {
            (Value::Bool(true), _) => " --stages",
            (_, Value::String(_)) => " --semantics kahn",
            _ => "",
        };
        folder.rml(&format!("trace {args} --vars {}{how} --svg t.svg", text(figure, "draw")));
        let picture = folder.read("t.svg");
        let file = format!("traces/{name}.svg");
        if std::env::var_os("RML_BLESS").is_some() {
            std::fs::write(paper().join(&file), &picture).expect("writable");
        }
        assert!(
            read(&file) == picture,
            "{file} is not what `rml trace` draws; `cargo xtask chronograms` writes it"
        );
        assert!(index.contains(&format!("]({file})")), "{file} is not in the index");
    }
    let pictures = std::fs::read_dir(paper().join("traces")).expect("readable");
    let names = pictures.map(|e| e.expect("readable").file_name().into_string().expect("a name"));
    assert_eq!(names.filter(|n| n.ends_with(".svg")).count(), drawn.len(), "pictures that no entry draws");
}

#[test]
fn every_listing_is_in_the_index_and_well_formed() {
    let index = read("README.md");
    for figure in figures() {
        let (file, node) = (text(&figure, "file"), text(&figure, "node"));
        let row = format!("[`{file}`]({file})");
        assert!(
            index.lines().any(|l| l.contains(&row) && l.contains(&format!("`{node}`"))),
            "no row of the index has {row} and `{node}`"
        );
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(paper()).expect("readable").map(|e| e.expect("readable").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "rml"));
    files.sort();
    assert!(files.len() >= 12);
    for path in files {
        let file = path.file_name().and_then(|n| n.to_str()).expect("a name");
        assert!(figures().iter().any(|f| text(f, "file") == file), "{file} is in no entry of figures.json");
        Folder::new().rml(&format!("fmt --check {}", path.display())).ok();
        let check = Folder::new().rml(&format!("check {}", path.display()));
        // A program that depends on the infinite future may be rejected before it runs.
        assert!(check.code == Some(0) || file == "future.rml", "{}{}", check.out, check.err);
    }
}
