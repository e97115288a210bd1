//! `--engine` on every command that runs: which programs have a plan, which are refused, and that the results are the
//! same.

mod support;

use support::Folder;

const PLANNED: &str = "node sum(k, x: num []) -> (o: num [])
  o = k * x + (0.0 fby o);
node main(x: num [], end: bool []) -> (o: num [])
  o = sum(param(2.0), x) every end;
";
/// Values of a tick that depend on each other in an order that the data decide.
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

/// Operators that fail, but whose results nothing reads: after the end of a window, before its first cycle, in a branch
/// that is not taken, or where both branches have the same value.
#[test]
fn errors_that_are_due_are_the_same_on_each_engine() {
    let inner = [
        ("o = 1 fby x * x;", 2),
        ("o = 1 fby back x * x;", 0),
        ("first = true fby false; o = if first then 1 else x * x;", 0),
        (
            "first = true fby false; o = merge first (1 when first) ((x when not first) * x when not first);",
            2,
        ),
        ("o = if x > 2 then 5 else 5 + 0 * (x * x);", 0),
        ("o = gather([1, 2, 3], if x > 100 then 3 else 0);", 0),
        ("o = 7 fby gather([1, 2, 3], if x > 100 then 3 else 0);", 2),
    ];
    let large = 1_i64 << 62;
    for (body, cycle) in inner {
        let mut xs = [1, 3, 1, 3];
        xs[cycle] = large;
        let program = format!(
            "node f(x: int []) -> (o: int []) {body}
node main(x: int [], e: bool []) -> (o: int []) o = f(x) every e;"
        );
        let inputs = format!(r#"{{"x": {xs:?}, "e": [false, false, true, true]}}"#);
        let folder = Folder::new().file("m.rml", program).file("i.json", inputs);
        let of =
            |engine: &str| folder.rml(&format!("run m.rml --node main --inputs i.json --engine {engine}"));
        let words = [format!("in cycle {cycle}")];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (sim, plan) = (of("sim").fails(1, &words), of("plan").fails(1, &words));
        assert_eq!((plan.out, plan.err), (sim.out, sim.err), "{body}");
    }
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

/// Windows that end before a restart, and windows that end with the data: parameters are updated at the end of each.
#[test]
fn restarts_train_on_each_engine() {
    let text = "node cell(x: num []) -> (h)
  k = param(0.5);
  h = tanh(k * x + (0.0 fby h));
node last(r: bool []) -> (l)
  l = true fby back r;
node train(x: num [], r: bool [], end: bool []) -> (loss)
  l = last(r) every end;
  h, _ = diff_cell(x, true, 0.5 * (x - h)) every l;
  loss = (x - h) * (x - h);
";
    let data = "{\"x\": [[1, 2, 3, 4], [4, 3, 2, 1]], \"r\": [[true, false, true, false], [true, true, false, true]]}";
    let folder = Folder::new().file("net.rml", text).file("w.json", data);
    let trained = |engine: &str| {
        let train = "train net.rml --data w.json --epochs 3 --test 0 --engine";
        folder.rml(&format!("{train} {engine} --save {engine}.npz")).ok();
        let list =
            folder.rml(&format!("params list net.rml --node train --params {engine}.npz --format json"));
        list.json().to_string()
    };
    assert_eq!(trained("plan"), trained("sim"));
    assert!(folder.rml("dump net.rml --node train --after plan").ok().contains(" until last_0.l\n"));
}

#[test]
fn check_says_what_runs_a_node() {
    let folder = folder();
    let checked = folder.rml("check planned.rml --node main").ok();
    let line = "    plan: 1 loop forward; 2 values over all ticks; memory ";
    assert!(checked.lines().any(|l| l.starts_with(line)), "{checked}");
    let explained = folder.rml("check unplanned.rml --explain").ok();
    assert!(
        explained.contains("  runs in the simulator: when its values are known depends on the data"),
        "{explained}"
    );
    assert!(explained.contains(" (unplanned.rml:4:3)\n"), "{explained}");
    assert!(
        explained.contains("help: first name the values that need no other value, then choose"),
        "{explained}"
    );
    let planned = folder.rml("check planned.rml --node main --format json").json();
    assert_eq!(planned["plan"]["loops"], serde_json::json!({"forward": 1, "backward": 0}));
    let declined = folder.rml("check unplanned.rml --format json").json();
    assert!(declined["plan"]["declined"].as_str().is_some_and(|why| why.ends_with("depends on the data")));
    assert!(declined["plan"]["help"].as_str().is_some_and(|help| help.starts_with("first name the values")));
}

/// Clocks of inputs that depend on other inputs on clocks, and clocks that the program computes.
#[test]
fn declared_clocks_are_checked_by_each_engine() {
    let text = "node chain(x: num [], a: bool [], b: bool [] when a, y: num [] when b) -> (o, l)
  o = x + (0.0 fby o);
  l = y + (0.0 fby l);
node own(n: int [], x: int [] when c) -> (o, c)
  c = n > 1;
  o = 0 fby x;
";
    let chain =
        |b: &str, y: &str| format!(r#"{{"x": [1, 2, 3], "a": [false, true, true], "b": [{b}], "y": [{y}]}}"#);
    let own = |x: &str| format!(r#"{{"n": [1, 2, 3], "x": [{x}]}}"#);
    let (right, here) = ("null, false, true", "`y` is present in cycle 1");
    for (node, data, fault) in [
        ("chain", chain(right, "null, null, 5"), None),
        ("chain", chain(right, "null, 4, 5"), Some(here)),
        ("chain", chain("null, true, true", "null, null, 5"), Some("`y` is absent in cycle 1")),
        ("own", own("null, 5, 6"), None),
        ("own", own("4, 5, 6"), Some("`x` is present in cycle 0")),
        ("own", own("null, 5, null"), Some("`x` is absent in cycle 2")),
    ] {
        let folder = Folder::new().file("p.rml", text).file("d.json", &data);
        let run = |engine: &str| {
            let run = folder.rml(&format!("run p.rml --node {node} --inputs d.json --engine {engine}"));
            match fault {
                None => run.ok(),
                Some(fault) => run.fails(1, &["error[input-clock]", fault]).err,
            }
        };
        assert_eq!(run("plan"), run("sim"), "{node}: {data}");
    }
}

/// The program that a help line suggests has a plan.
#[test]
fn a_node_without_a_plan_is_told_what_has_one() {
    let cells = "import std.layers;
node fast(x: num [1, 2]) -> (h: num [1, 2])
  h = gru(2, x);
node slow(x: num [1, 2]) -> (h: num [1, 2])
  h = gru(2, x);
node both(x: num [1, 2], e: bool []) -> (p: num [1, 2])
  p = (fast(x) every e) + slow(x);
node restarted(x: num [1, 2], r: bool []) -> (h: num [1, 2])
  h = fast(x) every (false fby back r);
node doc(x: num [1, 2], we: bool [], se: bool [] when we) -> (o)
  w = fast(x) every we;
  s = slow(w when we) every se;
  o = s when se;
";
    let train = |inputs: &str, lines: &str| {
        format!(
            "{cells}node main(x: num [1, 2], y: num [1, 2], {inputs}) -> (loss)\n  {lines}\n  loss = mean((p - y) * (p - y));\n"
        )
    };
    let order = |lines: &str| format!("node main(x: num [], c: bool []) -> (a, b)\n  {lines}\n");
    for (declined, why, help, planned) in [
        (
            train(
                "e, end: bool []",
                "p = a + b; d = y - p; a = diff_fast(x, true, d) every e; b = diff_slow(x, true, d) every end;",
            ),
            "windows stand side by side, which end at `e` and at `end`",
            "put one inside the other",
            train("e, end: bool []", "p = diff_both(x, e, true, y - p) every end;"),
        ),
        (
            train(
                "c: bool [], r: bool [] when c, end: bool []",
                "p = diff_fast(x, true, y - p) every ((false fby back (merge c r false)) or end);",
            ),
            "the end of a window looks ahead",
            "restart inside of the window",
            train(
                "c: bool [], r: bool [] when c, end: bool []",
                "p = diff_restarted(x, merge c r false, true, y - p) every end;",
            ),
        ),
        (
            train(
                "we: bool [], se: bool [] when we",
                "p = zeros([1, 2]); o = diff_doc(x, we, se, true when we when se, -o);",
            ),
            "when its values are known depends on the data",
            "let one window end all of it",
            train(
                "we: bool [], se: bool [] when we, end: bool []",
                "p = zeros([1, 2]); o = diff_doc(x, we, se, true when we when se, -o) every end;",
            ),
        ),
        (
            order("a = if c then b + 1.0 else x; b = if c then x else a + 1.0;"),
            "when its values are known depends on the data",
            "first name the values that need no other value",
            order(
                "first = x; second = first + 1.0; a = if c then second else first; b = if c then first else second;",
            ),
        ),
    ] {
        let folder = Folder::new().file("declined.rml", &declined).file("planned.rml", &planned);
        let checked = folder.rml("check declined.rml --node main").ok();
        assert!(
            checked.contains(&format!("runs in the simulator: {why} (declined.rml:")),
            "{declined}{checked}"
        );
        assert!(checked.contains(&format!("      help: {help}")), "{declined}{checked}");
        let checked = folder.rml("check planned.rml --node main").ok();
        assert!(checked.contains("    plan: "), "{planned}{checked}");
    }
}
