//! `rml import` restores a model that `rml export --format onnx` wrote, with its states and weights.

mod support;

use support::Folder;

/// A layer with a state, and one without.
const PROGRAM: &str = "
node net(x: num [3]) -> (y: num [2])
  kernel = [[0.1, -0.2, 0.3, 0.4], [-0.5, 0.6, 0.7, -0.8], [0.9, 1.0, -1.1, 1.2]];
  h = tanh(matmul(x, kernel) + 0.5 * before);
  before = 0.25 * ones([4]) fby h;
  y = matmul(h, [[1.0, 0.5], [-1.0, 0.25], [0.5, -0.5], [0.25, 2.0]]);
";

const INPUTS: &str = r#"{"x": [[0.5, -1.0, 2.0], [1.5, 0.0, -0.5], [0.25, 0.75, 1.0]]}"#;

/// The numbers of a trace in JSON.
fn numbers(text: &str) -> Vec<f64> {
    let (_, values) = text.split_once("\"y\":").expect("the output `y`");
    let values = values.split('"').next().expect("up to the next output");
    let words = values.split(|c: char| !(c.is_ascii_digit() || "-+.eE".contains(c)));
    words.filter_map(|word| word.parse().ok()).collect()
}

fn exported() -> Folder {
    let folder = Folder::new().file("net.rml", PROGRAM).file("inputs.json", INPUTS);
    folder.rml("export net.rml --node net --format onnx").ok();
    folder
}

#[test]
fn a_model_that_was_exported_computes_the_same() {
    let folder = exported();
    let said = folder.rml("import net.onnx --out back").ok();
    assert!(
        said.contains("in: x\n")
            && said.contains("states: before keeps before.next\n")
            && said.contains("back/net.toml"),
        "{said}"
    );
    folder.rml("check back/net.rml").ok();
    folder.rml("fmt --check back/net.rml").ok();
    let before = numbers(&folder.rml("run net.rml --node net --inputs inputs.json").ok());
    let run = "run back/net.rml --node main --inputs inputs.json --params back/net.safetensors";
    let after = numbers(&folder.rml(run).ok());
    assert_eq!(before.len(), 6);
    assert_eq!(before.len(), after.len());
    assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-5), "{before:?} {after:?}");
}

#[test]
fn weights_go_back_under_the_names_of_the_model() {
    let folder = exported();
    folder.rml("import net.onnx --out back").ok();
    let back =
        "params export back/net.rml --params back/net.safetensors --map back/net.toml --out weights.npz";
    folder.rml(back).ok();
    let again = "params import back/net.rml --from weights.npz --map back/net.toml --save again.safetensors";
    folder.rml(again).ok();
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert_eq!(bytes("again.safetensors"), bytes("back/net.safetensors"));
}

#[test]
fn flags_that_do_not_fit_the_model_are_errors() {
    let folder = exported();
    folder
        .rml("import net.onnx --set rate=1")
        .fails(1, &["import-refused", "`--set rate`", "its inputs are x"]);
    folder.rml("import net.onnx --state x=z").fails(1, &["import-refused", "no output `z`"]);
    folder.rml("import net.onnx --state none --state x=y").fails(1, &["bad-option", "leave one of them out"]);
    folder.rml("import nothing.onnx").fails(1, &["unreadable-file"]);
    folder.rml("import net.onnx --dim batch").fails(2, &["expected NAME=N"]);
    folder.rml("import net.onnx --node when").fails(2, &["`when` is not a name"]);
}
