//! `check --format json`: the verdict for a tool, whatever errors the program has.

mod support;

use serde_json::{Value, json};
use support::Folder;

/// Programs with the verdict of their clocks, that of their causality, and the codes of their findings.
fn programs() -> [(&'static str, &'static str, Value, &'static [&'static str]); 10] {
    let rejected = || json!({"kind": "rejected"});
    [
        (
            "node f(x: num []) -> (o) o = post (post x);",
            "synchronous",
            json!({"kind": "bounded", "lookahead": 2}),
            &[],
        ),
        (
            "node f(i: num [], bp: bool []) -> (o) o = merge bp (i when bp) ((post o) when not bp);",
            "synchronous",
            json!({"kind": "windowed", "window": "bp"}),
            &[],
        ),
        (
            "node f(x: num []) -> (a) a = x + (0.0 fby back a);",
            "synchronous",
            json!({"kind": "closed-only"}),
            &["closed-only"],
        ),
        ("node f() -> (o) o = post u; u = o + 1;", "synchronous", rejected(), &["uncut-recurrence"]),
        ("node f(x: num []) -> (o) o = x + o;", "synchronous", rejected(), &["instantaneous-cycle"]),
        (
            "node cell(x: num []) -> (o: num []) k = param(0.5); h = k * x; o = h + (0.0 fby h); \
          node f(x: num [], t: num []) -> (o) o, bpx, dx = diff_cell(x, true, do); do = 0.1 * (t - o);",
            "synchronous",
            rejected(),
            &["update-causality"],
        ),
        (
            "import std.layers; import std.losses; \
          node net(x: num [2], end: bool []) -> (y: num [2] when end) h = lstm(2, dense(2, x)) every end; y = h when end; \
          node f(x: num [2], end: bool [], t: num [2] when end) -> (loss) \
          y, _ = diff_net(x, end, true, dy); loss, dy, _ = diff_mse(y, t, true, -0.1);",
            "synchronous",
            json!({"kind": "dynamic", "reasons": ["`diff_net_0.diff_lstm_0.diff_lstm_cell_0.dh`: \
              no condition cuts a recurrence that looks ahead"]}),
            &["update-causality"],
        ),
        (
            "node f(x: num [], c: bool []) -> (o) o = x + (x when c);",
            "rejected",
            rejected(),
            &["clock-mismatch"],
        ),
        ("node f(x: num []) -> (o) o = x + true;", "rejected", rejected(), &["type-mismatch"]),
        ("node f(x: num []) -> (o) o = ;", "rejected", rejected(), &["syntax"]),
    ]
}

#[test]
fn the_verdict_has_one_shape() {
    for (program, clock, causality, codes) in programs() {
        let folder = Folder::new().file("f.rml", program);
        let run = folder.rml("check f.rml --node f --format json");
        let text = if causality["kind"] == "rejected" { run.fails(1, &[]).out } else { run.ok() };
        let verdict: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{program}: {e}: {text}"));
        assert_eq!(verdict["clock"], clock, "{program}: {text}");
        assert_eq!(verdict["causality"], causality, "{program}: {text}");
        assert!(verdict["bytes"].is_object(), "{program}: {text}");
        let found: Vec<&str> = verdict["diagnostics"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|d| d["code"].as_str())
            .collect();
        assert_eq!(found, codes, "{program}: {text}");
    }
}

/// The output of `check` about a program without errors.
fn summary(program: &str) -> String {
    Folder::new().file("p.rml", program).rml("check p.rml").ok()
}

#[test]
fn nodes_that_lack_a_value_are_named_with_what_depends_on_it() {
    let program = "node sub(x: num [4]) -> (y)  y = x + 1.0;
                   node train(n, x: num [3]) -> (y)  y = sub(reshape([n], x));";
    let text = summary(program);
    assert!(
        text.contains("train: not checked in full, its types depend on the value of `n`: with `n` = 5, "),
        "{text}"
    );
    assert!(text.contains("rml check p.rml --node train --set n=.."), "{text}");
    assert!(!text.contains("  sub:"), "what only `train` calls is no program\n{text}");
    let found = Folder::new().file("p.rml", program).rml("check p.rml --format json").json();
    assert_eq!(found["unchecked"][0]["node"], "train");
    let list = summary("node main(sizes, x: num []) -> (y)  y = x + sum(zeros(sizes));");
    assert!(list.contains("main: bounded"), "a list is tried as well\n{list}");
    let declared = summary("node outside(x: num []) -> (y)");
    assert!(declared.contains("outside: not checked in full, it is declared only"), "{declared}");
}

#[test]
fn what_is_wrong_for_any_value_is_an_error() {
    let program = "node train(rate, x: num [3]) -> (y)  y = rate * x + [1.0, 2.0];";
    Folder::new()
        .file("p.rml", program)
        .rml("check p.rml")
        .fails(1, &["shape-mismatch", "[3] and [2]", "`rate`"]);
}

#[test]
fn what_serves_differentiation_is_no_program_of_its_own() {
    // Each parameter has a `bp` that is always true: then `t` has the clock of the gradient.
    let program = "import std.schedules; import std.optimisers;
        node diff_param(init, bp, do) -> (o)
          t = ticks(bp);
          o = adam(step(t), 0.9, 0.999, 0.00000001, init, bp, do);
        node step(t) -> (rate)  rate = warm_up(100, t) * cosine(0.01, 5000, t);
        node net(x: num []) -> (y)  w = param(1.0);  y = w * x;
        node train(x: num []) -> (loss)
          p, _ = diff_net(x, true, 2.0 * (p - x));  loss = (p - x) * (p - x);";
    let text = summary(program);
    assert!(
        text.contains("  train: ") && !text.contains("diff_param") && !text.contains("  step:"),
        "{text}"
    );
    let own = "node twice(x) -> (y)  y = 2.0 * x;
        node diff_twice(x, bp, dy) -> (y, bpx, dx)  y = twice(x);  bpx = bp;  dx = 2.0 * dy;
        node outer(x) -> (y)  y = twice(x);
        node main(x: num []) -> (y, dx)  y, dx = diff_outer(x, true, 1.0);";
    assert!(!summary(own).contains("  diff_twice:"));
}

#[test]
fn a_finding_in_the_library_begins_with_the_call_in_the_program() {
    let program = "import std.layers; import std.losses;
        node net(x: num [4], end: bool []) -> (y: num [2])
          h = gru(8, dense(4, x)) every end;
          y = dense(2, h);
        node train(x: num [4], t: num [2], end: bool []) -> (loss)
          y, _ = diff_net(x, end, true, dy);
          loss, dy, _ = diff_mse(y, t, true, -0.1);";
    let run = Folder::new().file("p.rml", program).rml("check p.rml");
    run.fails(1, &["update-causality", "p.rml:3:22", "called here"]);
}

#[test]
fn an_optimiser_that_an_import_keeps_for_itself_is_a_warning() {
    let cell = "private node diff_param(init, bp, do) -> (o)  o = init fby o;
                node layer(x) -> (y)  w = param(1.0);  y = w * x;";
    let program = "import \"cell.rml\";
                   node train(x: num []) -> (y)  y, _ = diff_layer(x, true, -0.1 * y);";
    let folder = Folder::new().file("cell.rml", cell).file("p.rml", program);
    let run = folder.rml("check p.rml");
    assert!(run.err.contains("warning[private-node]") && run.err.contains("cell.rml:1:14"), "{}", run.err);
    let two = cell.replace(
        "w = param(1.0);  y = w * x;",
        "w = param(1.0);  b = param([0.0, 0.0]);  y = w * x + sum(b);",
    );
    let run = folder.file("cell.rml", two).rml("check p.rml");
    assert_eq!(run.err.matches("private-node").count(), 1, "{}", run.err);
    let folder = Folder::new().file("cell.rml", cell);
    let own = format!("{program}\nnode diff_param(init, bp, do) -> (o)  o = init fby (o + merge bp do 0.0);");
    let run = folder.file("own.rml", own).rml("check own.rml");
    assert!(!run.err.contains("private-node"), "{}", run.err);
}

#[test]
fn a_node_without_equations_runs_as_the_identity() {
    let folder = Folder::new().file("p.rml", "node id(x: num []) -> (x)").file("i.json", "{\"x\": [1, 2]}");
    assert!(folder.rml("check p.rml").ok().contains("id: bounded"));
    assert_eq!(folder.rml("run p.rml --inputs i.json").json()["values"]["x"], json!([1.0, 2.0]));
}
