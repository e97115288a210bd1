//! `--engine` on every command that runs: what has a plan, what is refused, and that the results are the same.

mod support;

use support::Folder;

const PLANNED: &str = "node sum(k, x: num []) -> (o: num [])
  o = k * x + (0.0 fby o);
node main(x: num [], end: bool []) -> (o: num [])
  o = sum(param(2.0), x) every end;
";
/// Values of a tick that need each other in an order that data decide.
const UNPLANNED: &str = "node main(x: num [], end: bool []) -> (o: num [])
  k = param(2.0);
  big = x > 4.0;
  a = if big then k * b else x;
  b = if big then x else k * a;
  o = a + b;
";

fn folder() -> Folder {
    Folder::new()
        .file("planned.rml", PLANNED)
        .file("unplanned.rml", UNPLANNED)
        .file("i.json", r#"{"x": [1, 2, 3, 4, 5], "end": [false, true, false, false, true]}"#)
        .file("w.json", r#"{"x": [[1, 2], [3, 4]], "end": [[false, true], [false, true]]}"#)
}

#[test]
fn each_command_runs_on_each_engine_with_the_same_result() {
    let folder = folder();
    for command in
        ["run planned.rml", "grad planned.rml --format json", "gradcheck planned.rml --format json"]
    {
        let of = |engine: &str| {
            folder.rml(&format!("{command} --node main --inputs i.json --engine {engine}")).json()
        };
        assert_eq!(of("plan"), of("sim"), "{command}");
        assert_eq!(of("plan"), of("auto"), "{command}");
    }
    let plain = folder.rml("run planned.rml --node main --inputs i.json").json();
    assert_eq!(plain["values"]["o"], serde_json::json!([2.0, 6.0, 6.0, 14.0, 24.0]));
}

#[test]
fn what_has_no_plan_is_refused_with_the_reason_and_run_otherwise() {
    let folder = folder();
    let inputs = "--node main --inputs i.json";
    let data = "--node main --data w.json";
    for command in [
        format!("run unplanned.rml {inputs}"),
        format!("run planned.rml {inputs} --vars all"),
        format!("grad unplanned.rml {inputs} --cycles 4"),
        format!("gradcheck unplanned.rml {inputs} --cycles 4"),
        format!("train unplanned.rml {data} --epochs 1 --test 0"),
    ] {
        let words = ["error[engine-declines]: the engine `plan` does not run", "--engine sim"];
        folder.rml(&format!("{command} --engine plan")).fails(1, &words);
    }
    for engine in ["auto", "sim"] {
        let ran = folder.rml(&format!("run unplanned.rml {inputs} --engine {engine}")).json();
        assert_eq!(ran["values"]["o"], serde_json::json!([3.0, 6.0, 9.0, 12.0, 15.0]), "{engine}");
    }
}

#[test]
fn training_and_inference_take_an_engine() {
    let folder = folder();
    let text = "node net(x: num [], end: bool []) -> (o: num [] when end)
  k = param(0.5);
  o = (k * x) when end;
node train(x: num [], end: bool []) -> (loss: num [] when end)
  o, _ = diff_net(x, end, true, -0.1 * o);
  loss = o * o;
node infer(x: num [], end: bool []) -> (o: num [] when end)
  o = net(x, end);
";
    let folder = folder.file("net.rml", text);
    for engine in ["plan", "sim", "auto"] {
        let train = "train net.rml --data w.json --epochs 3 --test 0 --save s";
        folder.rml(&format!("{train}.{engine} --engine {engine}")).ok();
        let out =
            folder.rml(&format!("infer net.rml --params s.{engine} --data w.json --engine {engine}")).ok();
        assert!(out.contains('o'), "{out}");
    }
    let streamed = |engine: &str| {
        let command = format!("infer net.rml --params s.sim --stream --engine {engine}");
        folder.rml_with(&command, "{\"x\": 2, \"end\": true}\n").ok()
    };
    assert_eq!(streamed("plan"), streamed("sim"));
}

#[test]
fn check_says_what_runs_a_node() {
    let folder = folder();
    let checked = folder.rml("check planned.rml --node main").ok();
    let line = "    plan: 1 loop forward; 2 values over all ticks; memory ";
    assert!(checked.lines().any(|l| l.starts_with(line)), "{checked}");
    let explained = folder.rml("check unplanned.rml --explain").ok();
    assert!(
        explained.contains("  runs in the simulator: only a run can tell when its values are known"),
        "{explained}"
    );
    let planned = folder.rml("check planned.rml --node main --format json").json();
    assert_eq!(planned["plan"]["loops"], serde_json::json!({"forward": 1, "backward": 0}));
    let declined = folder.rml("check unplanned.rml --format json").json();
    assert!(declined["plan"]["declined"].as_str().is_some_and(|why| why.starts_with("only a run can tell")));
}
