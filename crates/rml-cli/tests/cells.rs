//! Every kind of network in inference, training and reinforcement learning: the programs of the table in
//! `examples/README.md`, and the other examples that learn something, with shortened forms of the commands in their
//! comments.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::Folder;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().expect("the examples")
}

fn program(name: &str) -> String {
    examples().join(name).with_extension("rml").display().to_string()
}

/// The output of a training without data.
fn train(name: &str, rest: &str) -> String {
    Folder::new().rml(&format!("train {} {rest}", program(name))).ok()
}

/// The output of a training on the digits.
fn digits(name: &str, epochs: u32) -> String {
    let data = examples().join("data/digits.npz");
    Folder::new().rml(&format!("train {} --data {} --epochs {epochs}", program(name), data.display())).ok()
}

/// The value of a metric at the end of a training.
fn metric(out: &str, name: &str) -> f64 {
    let value = out.lines().rev().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no `{name}` in {out}"))
}

/// Every node that an example trains, evaluates or infers with has a plan.
#[test]
fn all_of_them_have_plans() {
    let entries =
        std::fs::read_dir(examples()).expect("readable").map(|entry| entry.expect("readable").path());
    let mut roots = 0;
    for path in entries.filter(|path| path.extension().is_some_and(|extension| extension == "rml")) {
        let out = Folder::new().rml(&format!("check {}", path.display())).ok();
        // Findings that depend on a static parameter are repeated in a summary below.
        let lines: Vec<&str> = out.lines().filter(|line| !line.contains("not checked in full")).collect();
        for pair in lines.windows(2) {
            let kinds = ["  train", "  infer", "  evaluate", "  generate"];
            if kinds.iter().any(|kind| pair[0].starts_with(kind)) {
                assert!(pair[1].trim_start().starts_with("plan:"), "{}: {out}", path.display());
                roots += 1;
            }
        }
    }
    assert!(roots > 40, "{roots}");
}

#[test]
fn digits_are_told_apart_by_every_kind_of_network() {
    for (name, epochs, least) in [
        ("digits_mlp", 6, 0.93),
        ("digits_conv", 2, 0.93),
        ("digits_bilstm", 3, 0.85),
        ("digits_attention", 3, 0.85),
    ] {
        let out = digits(name, epochs);
        assert!(metric(&out, "test accuracy") > least, "{name}: {out}");
    }
    let out = digits("autoencoder", 8);
    assert!(metric(&out, "test loss") < 0.5 * metric(&out, "test naive"), "{out}");
}

#[test]
fn convolutions_forecast() {
    let data = examples().join("data/forecast.npz");
    let run = format!("train {} --data {} --epochs 20", program("forecast_conv"), data.display());
    let out = Folder::new().rml(&run).ok();
    assert!(metric(&out, "test loss") < 0.02, "{out}");
}

/// Accuracies above those of always answering 1, or any fixed symbol.
#[test]
fn sequences_are_kept_in_mind() {
    let out = train("adding", "--report 100 --until 'test.loss < 0.15' --windows 300");
    assert!(metric(&out, "test loss") < 0.15, "{out}");
    let out = train("copy", "--report 100 --until 'test.accuracy > 0.4' --windows 300");
    assert!(metric(&out, "test accuracy") > 0.4, "{out}");
}

/// The learned sentence is generated from its first symbol.
#[test]
fn a_sentence_is_learned_and_written() {
    let folder = Folder::new();
    let text = program("text");
    folder.rml(&format!("train {text} --report 50 --until 'accuracy >= 0.97' --windows 400 --save t")).ok();
    let lines = "{\"warmth\": 0.1}\n".repeat(240);
    let run = folder.rml_with(&format!("infer {text} --node generate --params t --fresh --stream"), &lines);
    let letter = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["letter"].as_u64();
    let alphabet = b" abcdefghijklmnopqrstuvwxyz,.";
    let written: String =
        run.out.lines().map(|line| char::from(alphabet[letter(line).expect("a letter") as usize])).collect();
    assert!(written.contains("must be in want of a wife. it is a truth universally"), "{written}");
}

#[test]
fn poles_are_balanced_with_batch_normalisation_and_with_hidden_speeds() {
    train("cartpole_batchnorm", "--report 50 --until 'test.length >= 475' --windows 800 --seed 3");
    train("cartpole_lstm", "--until 'test.length >= 400' --windows 800 --seed 1");
}

/// Learning the swing-up takes too long for a test; the first windows already improve on the start.
#[test]
fn a_pendulum_is_turned() {
    let out = train("pendulum", "--windows 16 --report 8");
    assert!((-1800.0..-600.0).contains(&metric(&out, "test total")), "{out}");
}

#[test]
fn balls_are_caught() {
    train("catch_dqn", "--report 500 --until 'test.caught >= 0.99' --windows 3000");
}

/// Without a memory half of the turns are right, which is worth 0.95.
#[test]
fn a_maze_needs_a_memory() {
    train("t_maze", "--set memory=1 --report 200 --until 'test.total >= 2.5' --windows 600");
    let out = train("t_maze", "--set memory=0 --report 100 --windows 100");
    assert!(metric(&out, "test total") < 1.6, "{out}");
}

#[test]
fn what_is_behind_helps_to_choose() {
    let both = train("readings", "--report 150 --windows 150");
    let nodes = "--node train_forward --evaluate evaluate_forward";
    let forward = train("readings", &format!("--report 150 --windows 150 {nodes}"));
    let (both, forward) = (metric(&both, "test right"), metric(&forward, "test right"));
    assert!(both > forward && forward > 0.5, "{both} {forward}");
}

/// All balls are caught before the controls are swapped, some after that, and finally all again; while all balls are
/// caught, nothing is trained.
#[test]
fn a_drift_is_followed() {
    let run = Folder::new()
        .rml(&format!("train {} --report 1000 --windows 12000 --message-format json", program("drift")));
    let reports: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |key: &str, report: usize| reports[report - 1]["train"][key].as_f64().expect("a number");
    let caught = [6, 7, 12].map(|report| of("caught", report));
    assert!(caught[0] > 0.99 && caught[1] < 0.95 && caught[2] > 0.99, "{caught:?}");
    assert!(of("learning", 6) == 0.0 && of("learning", 7) > 0.2 && of("learning", 12) == 0.0);
}
