//! No option is ignored: an option takes effect, or it is refused before any work is done.

mod support;

use serde_json::json;
use support::Folder;

const NET: &str = "
node net(scale, x: num [batch, 1]) -> (o)
  k = param(1.0);
  o = scale * k * x;

node train(scale, x: num [batch, 1], y: num [batch, 1]) -> (loss)
  o, _, _ = diff_net(scale, x, true, 0.1 * (y - o));
  loss = mean((o - y) * (o - y));

node infer(scale, x: num [batch, 1]) -> (o)
  o = net(scale, x);

node inner(x: num []) -> (o) o = x;
node outer(x: num []) -> (o) o = inner(x);
";

fn folder() -> Folder {
    let xs: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i) / 40.0]).collect();
    Folder::new()
        .file("n.rml", NET)
        .file("d.json", json!({"x": xs, "y": xs}).to_string())
        .file("i.json", "{\"x\": [1]}")
}

const TRAIN: &str = "train n.rml --data d.json --set scale=2.0";

#[test]
fn what_a_checkpoint_fixes_is_not_changed() {
    let folder = folder();
    folder.rml(&format!("{TRAIN} --epochs 2 --test 8 --batch 8 --seed 5 --save c")).ok();
    let resume = "train n.rml --data d.json --resume c --epochs 3";
    for (flags, what, values) in [
        ("--set batch=16", "batch size", "expected 8, found 16"),
        ("--batch 16", "batch size", "expected 8, found 16"),
        ("--seed 0", "seed", "expected 5, found 0"),
        ("--test 0.165", "number of test windows", "expected 8, found 7"),
        ("--test last:8", "choice of test windows", "expected 8, found last:8"),
        ("--validate last:0.1", "number of windows for validation", "expected 0, found last:4"),
        ("--no-shuffle", "order of windows", "expected shuffled, found that of the data"),
        ("--f64", "precision", "expected f32, found f64"),
        ("--node infer", "node", "expected train, found infer"),
        ("--set scale=3.0", "value of `scale`", "expected 2.0, found 3.0"),
    ] {
        let what = format!("the run to resume had another {what}");
        folder.rml(&format!("{resume} {flags}")).fails(1, &["resume-mismatch", &what, values]);
    }
    let again = "--set scale=2.0 --test 8 --set batch=8 --seed 5 --node train";
    folder.rml(&format!("{resume} {again} --save same")).ok();
    folder.rml(&format!("{resume} --save c")).ok();
    let bytes = |name| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert_eq!(bytes("same"), bytes("c"));
    folder
        .rml("train n.rml --data d.json --resume c --epochs 2")
        .fails(1, &["resume-mismatch", "expected more than 3 epochs, found 2"]);
    assert_eq!(
        folder.rml("train n.rml --data d.json --resume c --epochs 3").ok(),
        "nothing was left to train\n"
    );
}

#[test]
fn a_node_that_is_to_evaluate_has_to_be_there_and_be_run() {
    let folder = folder();
    let run = folder.rml(&format!("{TRAIN} --evaluate infe")).fails(1, &["infe", "there is `infer`"]);
    assert!(!run.err.contains("epoch"), "{}", run.err);
    folder
        .rml(&format!("{TRAIN} --evaluate infer --test 0"))
        .fails(1, &["bad-option", "node infer", "there are none"]);
    assert!(folder.rml(&format!("{TRAIN} --epochs 1 --evaluate train --test 5")).ok().contains("test loss"));
    // By default, inference runs the node `infer` if the program has it.
    let folder = folder.file("n.rml", NET.replace("node infer(", "node other("));
    assert!(folder.rml(&format!("{TRAIN} --epochs 1 --test 5")).ok().contains("train loss"));
}

#[test]
fn settings_are_given_once() {
    let folder = folder();
    for (flags, values) in [
        ("--set scale=1.0 --set scale=2.0", "as 1.0 and as 2.0"),
        ("--set batch=4 --batch 8", "as 8 and as 4"),
        ("--set batch=4 --batch 4", "as 4 and as 4"),
    ] {
        for command in [
            "check n.rml",
            "dump n.rml --after inline --node infer",
            "train n.rml --data d.json",
            "infer n.rml --data d.json",
        ] {
            folder.rml(&format!("{command} {flags}")).fails(1, &["bad-option", "is given twice", values]);
        }
    }
}

#[test]
fn settings_beside_a_checkpoint_win_with_a_warning() {
    let folder = folder().file("g.json", "{\"x\": [[[0.5]]]}");
    folder.rml(&format!("{TRAIN} --epochs 1 --save c")).ok();
    for command in [
        "infer n.rml --data d.json --params c",
        "params list n.rml --node infer --params c",
        "dump n.rml --after draw --node infer --batch 1 --params c",
        "grad n.rml --node infer --inputs g.json --params c",
        "gradcheck n.rml --node infer --inputs g.json --params c",
    ] {
        let one = if command.starts_with('g') { " --batch 1" } else { "" };
        let run = folder.rml(&format!("{command}{one} --set scale=3.0"));
        assert!(run.err.contains("warning[setting-changed]"), "{command}: {}", run.err);
        assert!(run.err.contains("`scale` was 2.0, is 3.0"), "{command}: {}", run.err);
        run.ok();
        let err = folder.rml(&format!("{command}{one}")).err;
        assert!(!err.contains("warning"), "{command}: {err}");
    }
}

#[test]
fn options_that_can_have_no_effect_are_refused() {
    let folder = folder().file("w.npz", "");
    for (command, words) in [
        ("dump n.rml --after parse --node zz", ["`--node`", "syntax tree"]),
        (
            "dump n.rml --after parse --set a=1 --batch 2 --f64 --params c --seed 1",
            ["`--set`, `--batch`, `--f64`, `--params`, `--seed`", "syntax tree"],
        ),
        ("dump n.rml --after diff --node outer --params c", ["`--params`", "from `inline` on"]),
        ("dump n.rml --after inline --node outer --seed 1", ["`--seed`", "after this stage"]),
        ("trace n.rml --node outer --inputs i.json --semantics kahn --open", ["`--open`", "endless"]),
        (
            "trace n.rml --node outer --inputs i.json --vcd o.vcd --vars expressions",
            ["`--vars expressions`", "variables"],
        ),
        ("params list w.npz --node infer --params c", ["`--node`, `--params`", "not a program"]),
        ("doc lstm units", ["`units`", "name a module"]),
    ] {
        folder.rml(command).fails(1, &["bad-option", words[0], words[1]]);
    }
    for command in [
        "check n.rml --format json --types",
        "train n.rml --data d.json --save-every 2",
        "infer n.rml --data d.json --split all --stream",
    ] {
        folder.rml(command).fails(2, &["--help"]);
    }
    folder.rml("dump n.rml --after draw --node outer --seed 1").ok();
    let explained = folder.rml("check n.rml --node outer --explain --message-format json").ok();
    assert!(explained.contains("output o"), "{explained}");
}
