//! The best epoch of `rml train`, the metric that decides it, and the end of patience.

mod support;

use serde_json::{Value, json};
use support::{Folder, LINE};

/// Without data: the loss of report N is (N - 3)².
const PARABOLA: &str = "
node moving() -> (k)
  k = param(0.0);

node train() -> (loss, score)
  k = diff_moving(true, 1.0);
  loss = (k - 2.0) * (k - 2.0);
  score = 0.0 - loss;
";

fn parabola() -> Folder {
    Folder::new().file("p.rml", PARABOLA)
}

fn line() -> Folder {
    let data = |shift: f64| {
        let xs: Vec<f64> = (0..40).map(|i| f64::from(i % 8) / 4.0 - 0.9).collect();
        let ys: Vec<f64> = xs.iter().map(|x| 3.0 * x + shift + (7.0 * x).sin()).collect();
        json!({"x": xs, "y": ys}).to_string()
    };
    Folder::new().file("l.rml", LINE).file("d.json", data(0.0)).file("other.json", data(0.5))
}

fn reports(out: &str) -> Vec<Value> {
    out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

#[test]
fn the_best_report_is_kept_and_patience_ends_the_training() {
    let folder = parabola();
    let run = folder.rml("train p.rml --report 1 --windows 50 --best b --patience 4 --save s");
    let err = run.err.clone();
    assert!(run.ok().starts_with("train loss 0.0"), "{err}");
    let told = "best loss 0.0000 in report 3, saved to b; ended after 4 reports without a better one; the results are those of report 3";
    assert!(err.contains(told), "{err}");
    assert_eq!(err.matches("  best\n").count(), 3, "{err}");
    let after = folder.rml("train p.rml --report 1 --windows 4 --resume b --message-format json").ok();
    let after = reports(&after);
    assert_eq!((after.len(), &after[0]["report"], &after[0]["train"]["loss"]), (1, &json!(4), &json!(1.0)));
    let end = folder.rml("train p.rml --report 1 --windows 50 --patience 4 --resume s").ok();
    assert_eq!(end, "nothing was left to train\n");
    let other = folder.rml("train p.rml --report 1 --windows 9 --best other --resume s");
    assert!(other.err.contains("best loss 25.0000 in report 8, saved to other"), "{}", other.err);
    assert!(folder.path("other").exists(), "the best that this run has seen");
}

#[test]
fn the_best_of_a_resumed_run_is_that_of_the_unbroken_one() {
    for metric in ["", " --metric train.score:max"] {
        let folder = parabola();
        let train =
            |flags: &str| folder.rml(&format!("train p.rml --report 1 --patience 9{metric} {flags}")).ok();
        train("--windows 6 --best whole --save w");
        train("--windows 2 --best part --save p");
        train("--windows 6 --best part --save p --resume p");
        let bytes = |name| std::fs::read(folder.path(name)).expect("a checkpoint");
        assert_eq!(bytes("whole"), bytes("part"));
        assert_eq!(bytes("w"), bytes("p"));
    }
}

#[test]
fn epochs_are_compared_by_windows_for_validation() {
    let folder = line();
    let run = folder.rml("train l.rml --data d.json --test 6 --validate 0.25 --epochs 9 --best b --save s");
    assert!(run.err.contains("24 windows to train on, 10 to validate, 6 to test"), "{}", run.err);
    run.ok();
    let json = "--test 6 --validate 10 --epochs 9 --best b --message-format json";
    let all = reports(&folder.rml(&format!("train l.rml --data d.json {json}")).ok());
    let loss = |line: &Value, of: &str| line[of]["loss"].as_f64().expect("a loss");
    let best = all.iter().min_by(|a, b| loss(a, "validation").total_cmp(&loss(b, "validation"))).unwrap();
    let told = &all[8]["best"];
    assert_eq!((&told["epoch"], &told["metric"]), (&best["epoch"], &json!("validation.loss")));
    assert_eq!(told["value"], best["validation"]["loss"]);
    for (split, windows, of) in [("validation", 10, "validation"), ("test", 6, "test")] {
        let run = folder
            .rml(&format!("infer l.rml --params b --data d.json --split {split} --message-format json"))
            .ok();
        let inferred: Value = serde_json::from_str(&run).expect("JSON");
        assert_eq!(inferred["loss"], best[of]["loss"], "{split}");
        assert_eq!(inferred["windows"], json!(windows));
    }
    let train: Value = serde_json::from_str(
        &folder.rml("infer l.rml --params b --data d.json --split train --message-format json").ok(),
    )
    .expect("JSON");
    assert_eq!(train["windows"], json!(24), "what validates is not trained on");
}

#[test]
fn epochs_are_compared_by_other_data() {
    let folder = line();
    let run =
        folder.rml("train l.rml --data d.json --validate other.json --epochs 3 --best b --metric loss:min");
    assert!(run.err.contains("33 windows to train on, 40 to validate, 7 to test"), "{}", run.err);
    assert!(run.err.contains("best validation loss "), "{}", run.err);
    run.ok();
    let of = |metric: &str| {
        folder.rml(&format!("train l.rml --data d.json --validate other.json --epochs 1 --patience 1 --metric {metric}:min")).err
    };
    assert!(of("test.loss").contains("best test loss ") && of("train.loss").contains("best loss "));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = line().file("p.rml", PARABOLA).file("bare.rml", LINE.split("node infer").next().unwrap());
    let train = "train l.rml --data d.json --epochs 2";
    for (flags, told) in [
        ("--best b --metric los:min", &["unknown-metric", "`validation.loss`", "`test.loss`"][..]),
        ("--metric loss:min", &["bad-option", "--best FILE", "--patience N"]),
        ("--best s --save s", &["bad-option", "two results would be written to s"]),
        ("--best d.json", &["output-is-input"]),
        ("--best no/such/folder", &["unwritable-file"]),
        ("--validate 40", &["bad-option", "40 of 40 windows are kept for validation"]),
        ("--test 20", &["bad-option", "20 for validation", "none is left"]),
        ("--validate none.json", &["unreadable-file", "none.json"]),
    ] {
        let validate = if flags.contains("--validate") { "" } else { "--validate 20" };
        folder.rml(&format!("{train} {validate} {flags}")).fails(1, told);
    }
    for flags in ["--metric :max --best b", "--patience 0", "--validate 1.5"] {
        folder.rml(&format!("{train} {flags}")).fails(2, &["--help"]);
    }
    folder.rml("train p.rml --windows 3 --validate 2").fails(2, &["cannot be used with"]);
    folder.rml("train bare.rml --data d.json --validate 4").fails(1, &["bad-option", "--evaluate NODE"]);
    folder.rml("train l.rml --data d.json --validate 4 --epochs 1 --save c").ok();
    folder
        .rml("train l.rml --data d.json --validate 5 --epochs 2 --resume c")
        .fails(1, &["resume-mismatch", "windows for validation", "expected 4, found 5"]);
    folder.rml("train l.rml --data d.json --epochs 1 --save d").ok();
    folder.rml("infer l.rml --params d --data d.json --split validation").fails(1, &["no-test-split"]);
}

#[test]
fn of_a_metric_alone_what_is_better_follows_from_its_name() {
    let best = |metric: &str| {
        let run = line().rml(&format!("train l.rml --data d.json --epochs 2 --best b --metric {metric}"));
        assert_eq!(run.code, Some(0), "{}", run.err);
        run.err.lines().find(|line| line.starts_with("best ")).expect("it tells the best").to_owned()
    };
    assert_eq!(best("loss"), best("loss:min"));
    assert_eq!(best("train.loss"), best("train.loss:min"));
    let unknown = "train p.rml --report 1 --windows 2 --best b --metric";
    parabola()
        .rml(&format!("{unknown} score"))
        .fails(1, &["bad-option", "`--metric score:min` or `--metric score:max`"]);
    let named = PARABOLA.replace("score", "accuracy");
    let run = Folder::new().file("p.rml", &named).rml(&format!("{unknown} accuracy"));
    assert!(run.err.contains("best accuracy "), "{}", run.err);
}

#[test]
fn the_results_are_those_of_the_best_report_that_is_kept() {
    let train = "train p.rml --report 1 --windows 7";
    let kept = parabola().rml(&format!("{train} --best b"));
    assert!(kept.err.contains("; the results are those of report 3\n"), "{}", kept.err);
    assert!(kept.ok().starts_with("train loss 0.0000\n"), "the loss of report 3");
    let last = parabola().rml(&format!("{train} --patience 9"));
    assert!(last.err.contains("; the results are those of report 7, the last one\n"), "{}", last.err);
    assert!(last.ok().starts_with("train loss 16.0000\n"), "the last parameters are the result");
    let folder = parabola();
    folder.rml(&format!("{train} --best b --report r.html")).ok();
    let page = std::fs::read_to_string(folder.path("r.html")).expect("a page");
    assert!(page.contains("<caption>The metrics of report 3, the best one</caption>"), "{page}");
    // The best report is in the earlier run, so only its metric is known.
    folder.rml("train p.rml --report 1 --windows 5 --save s --best b").ok();
    let resumed = folder.rml("train p.rml --report 1 --windows 7 --resume s --best b").ok();
    assert_eq!(resumed, "train loss 0.0000\n");
}
