//! `check --format json`: the verdict for a tool, whatever is wrong with the program.

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
              no condition is found that cuts a recurrence that looks ahead"]}),
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
