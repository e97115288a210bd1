//! The programs in `examples`: canonical layout, no errors, and the results that their comments promise (only those
//! that are quick to compute).

mod support;

use std::path::{Path, PathBuf};

use support::Folder;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().expect("the examples")
}

fn programs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(examples()).expect("readable");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rml"));
    paths.sort();
    paths
}

/// The output of a command on a program and a data file; `rest` are further arguments.
fn output(command: &str, program: &str, data: &str, rest: &str) -> String {
    let (examples, flag) = (examples(), if command == "run" { "--inputs" } else { "--data" });
    let examples = examples.display();
    Folder::new()
        .rml(&format!("{command} {examples}/{program}.rml {flag} {examples}/data/{data} {rest}"))
        .ok()
}

/// The numbers in the last line of a table; an empty cell is NaN.
fn last_row(table: &str) -> Vec<f64> {
    let line = table.lines().last().unwrap_or_default();
    line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
}

/// The value of a metric at the end of a training.
fn metric(out: &str, name: &str) -> f64 {
    let value = out.lines().rev().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no `{name}` in {out}"))
}

#[test]
fn programs_are_well_formed_and_listed() {
    let list = std::fs::read_to_string(examples().join("README.md")).expect("readable");
    let programs = programs();
    assert!(programs.len() >= 8);
    for path in programs {
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(list.contains(&format!("[`{file}`]({file})")), "{file} is not in the list");
        let path = path.display();
        Folder::new().rml(&format!("fmt --check {path}")).ok();
        Folder::new().rml(&format!("check {path}")).ok();
    }
}

#[test]
fn descent_finds_the_parameters_with_and_without_a_delay() {
    for node in ["train", "train_pipe"] {
        let row = last_row(&output("run", "descent", "descent.csv", &format!("--node {node} --format csv")));
        let [loss, k, b] = row[..] else { panic!("{row:?}") };
        assert!(loss < 1e-9 && (k - 2.0).abs() < 1e-5 && (b + 3.0).abs() < 1e-5, "{node}: {row:?}");
    }
}

/// Windows of one cycle cannot contain a gradient that comes a cycle later, although all outputs are known.
#[test]
fn a_gradient_beyond_the_window_is_explained() {
    let (program, data) = (examples().join("descent.rml"), examples().join("data/descent.csv"));
    let (program, data) = (program.display(), data.display());
    let run = Folder::new().rml(&format!("train {program} --data {data} --node train_pipe"));
    run.fails(1, &["window-incomplete", "cycles after the last one", "descent.rml", "undetermined: "]);
}

#[test]
fn late_labels_are_learned_from() {
    let row = last_row(&output("run", "late_labels", "late.csv", "--node train --format csv"));
    assert!(row[2] < 0.01, "{row:?}");
}

#[test]
fn experts_share_the_work() {
    let out = output("train", "experts", "pieces.npz", "--epochs 20");
    assert!(metric(&out, "test loss") < 0.003, "{out}");
    assert!((1.05..1.4).contains(&metric(&out, "test used")), "{out}");
}

#[test]
fn two_directions_see_both_ends() {
    let both = output("train", "bidirectional", "same_ends.npz", "--epochs 60");
    let nodes = "--node train_forward --evaluate infer_forward";
    let forward = output("train", "bidirectional", "same_ends.npz", &format!("--epochs 10 {nodes}"));
    assert!(metric(&both, "test accuracy") > 0.95, "{both}");
    assert!(metric(&forward, "test accuracy") < 0.7, "{forward}");
}

/// The pole is balanced from any seed; this test tries the first three.
#[test]
fn poles_are_balanced() {
    for seed in 0..3 {
        let program = examples().join("cartpole.rml");
        let until = "--report 50 --until 'test.length >= 475' --windows 2000";
        let out = Folder::new().rml(&format!("train {} {until} --seed {seed}", program.display())).ok();
        assert!(metric(&out, "test length") >= 475.0, "seed {seed}: {out}");
    }
}

#[test]
fn batches_are_normalised() {
    let out = output("train", "batchnorm", "rings.npz", "--epochs 10");
    assert!(metric(&out, "test accuracy") > 0.9, "{out}");
}

#[test]
fn a_pipeline_learns_through_its_delays() {
    let out = output("train", "pipeline", "rings.npz", "--epochs 6");
    assert!(metric(&out, "test accuracy") > 0.95, "{out}");
}

#[test]
fn windows_nest() {
    let out = output("train", "nested", "sequences.npz", "--epochs 4");
    assert!(metric(&out, "test accuracy") > 0.95, "{out}");
}

#[test]
fn a_state_that_outlives_its_window_remembers() {
    let recent = |node: &str| {
        let rest = format!("--node {node} --format csv --cycles 1200");
        last_row(&output("run", "characters", "characters.csv", &rest))[1]
    };
    let (carried, forgotten) = (recent("train"), recent("train_forgetful"));
    assert!(carried > 0.98 && forgotten < 0.95, "{carried} {forgotten}");
}
