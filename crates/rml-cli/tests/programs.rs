//! `check`, `run`, `trace`, `diff`, `dump`, `fmt`, `explain`: their output, and their messages about wrong input.

mod support;

use serde_json::{Value, json};
use support::Folder;

const BACKFILL: &str = "node backfill(i: num [], bp: bool []) -> (o)
  o = merge bp (i when bp) ((post o) when not bp);
";
const INPUTS: &str =
    r#"{"i": [2.0, 6.0, 8.0, null, 1.0, 4.0], "bp": [false, false, true, null, false, true]}"#;

fn backfill() -> Folder {
    Folder::new().file("b.rml", BACKFILL).file("i.json", INPUTS)
}

#[test]
fn run_prints_the_trace() {
    let folder = backfill();
    let expected = json!({"cycles": 6, "values": {"o": [8.0, 8.0, 8.0, null, 4.0, 4.0]}});
    assert_eq!(folder.rml("run b.rml --inputs i.json").json(), expected);
    assert_eq!(folder.rml("run b.rml --inputs i.json --node backfill --format json --f64").json(), expected);
    let shorter = folder.rml("run b.rml --inputs i.json --cycles 5");
    assert_eq!(shorter.json()["values"]["o"], json!([8.0, 8.0, 8.0, null, "?"]));
    let all = folder.rml("run b.rml --inputs i.json --vars all").json();
    assert_eq!(all["values"]["i"], json!([2.0, 6.0, 8.0, null, 1.0, 4.0]));
    assert_eq!(all["values"]["bp"][3], Value::Null);
}

#[test]
fn run_prints_tables() {
    let folder = backfill();
    let csv = folder.rml("run b.rml --inputs i.json --format csv").ok();
    assert_eq!(csv.lines().collect::<Vec<_>>(), ["o", "8.0", "8.0", "8.0", "\"\"", "4.0", "4.0"]);
    let table = folder.rml("run b.rml --inputs i.json --format table").ok();
    let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["cycle", "0", "1", "2", "3", "4", "5"]);
    assert_eq!(lines[1][0], "o");
    assert_eq!(lines[1][4], "□");
}

#[test]
fn inputs_may_be_csv() {
    let folder = backfill().file("i.csv", "i,bp\n2,false\n,\n8,true\n");
    let trace = folder.rml("run b.rml --inputs i.csv").json();
    assert_eq!(trace, json!({"cycles": 3, "values": {"o": [8.0, null, 8.0]}}));
}

#[test]
fn open_and_closed_traces_differ() {
    let folder = Folder::new()
        .file("s.rml", "node suffix(x: int []) -> (s)\n  s = x + (0 fby back s);\n")
        .file("x.json", r#"{"x": [1, 2, 3]}"#);
    assert_eq!(folder.rml("run s.rml --inputs x.json").json()["values"]["s"], json!([6, 5, 3]));
    let open = folder.rml("run s.rml --inputs x.json --open").json();
    assert_eq!(open["values"]["s"], json!(["?", "?", "?"]));
}

#[test]
fn programs_without_inputs_need_a_number_of_cycles() {
    let folder = Folder::new().file("c.rml", "node counter() -> (o)\n  o = 0 fby u;\n  u = o + 1;\n");
    assert_eq!(folder.rml("run c.rml --cycles 4").json()["values"]["o"], json!([0, 1, 2, 3]));
    assert_eq!(folder.rml("run c.rml --cycles 0").json(), json!({"cycles": 0, "values": {"o": []}}));
    folder.rml("run c.rml").fails(1, &["bad-option"]);
}

#[test]
fn settings_reach_the_node() {
    let folder = Folder::new()
        .file("z.rml", "node z(n, x: num []) -> (o)\n  o = zeros([n, 2]) + x;\n")
        .file("x.json", r#"{"x": [1.5]}"#);
    let trace = folder.rml("run z.rml --inputs x.json --set n=1").json();
    assert_eq!(trace["values"]["o"], json!([[[1.5, 1.5]]]));
    folder.rml("run z.rml --inputs x.json").fails(1, &["error[", "--set"]);
    folder.rml("run z.rml --inputs x.json --set n=1 --set m=2").fails(1, &["error[", "m"]);
    folder.rml("run z.rml --inputs x.json --set n=x").fails(2, &["--set"]);
}

#[test]
fn what_was_computed_before_an_error_is_printed() {
    let folder = Folder::new()
        .file("e.rml", "node e(x: int [], y: int []) -> (o)\n  o = x + y;\n")
        .file("i.json", r#"{"x": [1, 2, 3], "y": [10, null, 30]}"#);
    let run = folder.rml("run e.rml --inputs i.json").fails(1, &["error[sync-error]", "cycle 1"]);
    let trace: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(trace["values"]["o"][0], json!(11));
}

#[test]
fn trace_draws_the_chronogram() {
    let folder = backfill();
    let text = folder.rml("trace b.rml --inputs i.json --cycles 5").ok();
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["cycle", "0", "1", "2", "3", "4"]);
    assert_eq!(lines[2], ["bp", "F", "F", "T", "□", "F"]);
    assert_eq!((lines[3][0], lines[3][4], lines[3][5]), ("o", "□", "?"));
    assert_eq!(lines.len(), 4, "{text}");
    let outputs = folder.rml("trace b.rml --inputs i.json --vars outputs").ok();
    assert_eq!(outputs.lines().count(), 2);
}

#[test]
fn trace_draws_into_a_file() {
    let folder = backfill();
    assert_eq!(folder.rml("trace b.rml --inputs i.json --svg t.svg").ok(), "");
    let svg = folder.read("t.svg");
    // Cycles 0 and 1 read the next cycle, 4 reads 5: three arrows backward in time.
    assert_eq!(svg.matches("url(#backward)").count(), 3 + 1, "with the legend");
    assert_eq!(svg.matches("url(#forward)").count(), 0);
    assert!(svg.starts_with("<svg") && svg.contains("□"));
    folder.rml("trace b.rml --inputs i.json --svg no/such/t.svg").fails(1, &["unwritable-file"]);
}

#[test]
fn trace_dumps_value_changes() {
    let folder = backfill();
    assert_eq!(folder.rml("trace b.rml --inputs i.json --cycles 5 --vcd t.vcd").ok(), "");
    let dump = folder.read("t.vcd");
    assert!(dump.contains("$scope module backfill $end\n$var real 64 ! i $end"), "{dump}");
    // The cells of the row o are 8, 8, 8, absent, and not determined.
    assert!(dump.contains("$var real 64 $ o $end\n$var wire 1 % o__present $end"), "{dump}");
    assert!(dump.contains("#3\nz\"\nz#\nz%\n#4\n") && dump.ends_with("x%\n#5\n"), "{dump}");
    folder.rml("trace b.rml --inputs i.json --vcd no/such/t.vcd").fails(1, &["unwritable-file"]);
}

#[test]
fn trace_makes_pages() {
    let folder = backfill();
    assert_eq!(folder.rml("trace b.rml --inputs i.json --cycles 5 --html t.html").ok(), "");
    let page = folder.read("t.html");
    let data =
        page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("data");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(
        (&data["cycles"], &data["sources"][0]["name"]),
        (&serde_json::json!(5), &serde_json::json!("b.rml"))
    );
    assert!(
        data["rows"].as_array().is_some_and(|rows| rows.iter().all(|row| row["line"].is_array())),
        "{data}"
    );
    // The page explains the value of `o` in the first cycle, the end of the window, the data flow, and how the plan
    // runs.
    let o = data["rows"].as_array().and_then(|rows| rows.iter().find(|row| row["name"] == "o")).expect("o");
    let why = o["why"][0].as_u64().and_then(|n| usize::try_from(n).ok()).expect("a sentence");
    assert_eq!(data["reasons"][why], "`bp` is false here, so `o` is the next `o`.");
    assert_eq!(data["windows"], json!([{"name": "bp", "depth": 0, "cycles": [2]}]));
    let lines = data["network"]["lines"].as_array().expect("lines");
    assert!(lines.iter().any(|line| line[2] == -1), "`post` comes from the next cycle: {lines:?}");
    assert!(data["plan"]["regions"].as_array().is_some_and(|regions| !regions.is_empty()), "{data}");
}

/// A page also shows the variables of instances, unless `--vars` restricts them.
#[test]
fn pages_have_the_variables_of_instances() {
    let text = "node net(x: num [])\n    -> (o)\n  k = param(2.0);\n  y = k * x;\n  o = y + 1.0;\n\nnode main(x: num []) -> (o)\n  o = net(x);\n";
    let folder = Folder::new().file("n.rml", text).file("i.json", r#"{"x": [1, 2]}"#);
    let names = |flags: &str| {
        folder.rml(&format!("trace n.rml --inputs i.json --html t.html {flags}")).ok();
        let page = folder.read("t.html");
        let data =
            page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("data");
        let data: Value = serde_json::from_str(data).expect("JSON");
        let rows = data["rows"].as_array().expect("rows").iter();
        (rows.map(|row| row["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>(), data)
    };
    let (all, data) = names("");
    assert!(all.iter().any(|name| name == "net_0.y"), "{all:?}");
    assert_eq!(data["checkpoint"], Value::Null);
    assert_eq!(names("--vars node").0, ["x", "o"]);
}

#[test]
fn trace_writes_all_files_that_are_asked_for_and_says_so() {
    let folder = backfill();
    folder.rml("trace b.rml --inputs i.json --svg one.svg").ok();
    folder.rml("trace b.rml --inputs i.json --html one.html").ok();
    folder.rml("trace b.rml --inputs i.json --vcd one.vcd").ok();
    let run = folder.rml("trace b.rml --inputs i.json --html t.html --svg t.svg --vcd t.vcd");
    assert_eq!(run.err, "written to t.html\nwritten to t.vcd\nwritten to t.svg\n");
    assert_eq!(run.ok(), "");
    for kind in ["svg", "vcd"] {
        assert_eq!(folder.read(&format!("t.{kind}")), folder.read(&format!("one.{kind}")));
    }
    assert!(folder.read("t.html").contains("id=\"data\">"));
}

/// Pages show the bytes and the time of the values that each line computes, and show adjoints beside the lines that
/// they come from.
#[test]
fn pages_say_what_lines_cost_and_what_adjoints_come_from() {
    let text = "node net(x: num [4]) -> (o)\n  o = 2.0 * x;\n\nnode train(x: num [4]) -> (dx)\n  _, dx = diff_net(x, true, x);\n";
    let inputs = serde_json::json!({"x": vec![[1.0, 2.0, 3.0, 4.0]; 50]});
    let folder = Folder::new().file("n.rml", text).file("i.json", inputs.to_string());
    folder.rml("trace n.rml --node train --inputs i.json --html t.html").ok();
    let page = folder.read("t.html");
    let data =
        page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("data");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let costs = data["costs"].as_array().expect("costs");
    let own = costs.iter().find(|cost| cost["line"] == serde_json::json!([0, 2])).expect("the line of `o`");
    assert_eq!(own["bytes"], 32, "four numbers of `o` and four of the gradient: {costs:?}");
    assert!(own["ns"].as_f64().is_some_and(|ns| ns > 0.0), "{costs:?}");
    let side = &data["sides"][0];
    assert_eq!(side["name"], "diff_net");
    let rows = side["rows"].as_array().expect("rows");
    let gradient =
        rows.iter().find(|row| row["text"].as_str().is_some_and(|t| t.starts_with("  dx ="))).expect("dx");
    assert_eq!(
        gradient["from"],
        serde_json::json!([{"place": "n.rml:2", "text": "o = 2.0 * x;", "line": [0, 2]}])
    );
}

#[test]
fn wrong_inputs_are_explained() {
    let folder = backfill()
        .file("missing.json", r#"{"i": [1.0]}"#)
        .file("type.json", r#"{"i": ["a"], "bp": [true]}"#)
        .file("bad.json", "{\"i\": [1.0")
        .file("bad.npz", "PK\u{3}\u{4} nonsense")
        .file("bad.csv", "i,bp\n1,2,3\n");
    for (file, code) in [
        ("missing.json", "missing-column"),
        ("type.json", "data-type"),
        ("bad.json", "malformed-data"),
        ("bad.npz", "malformed-data"),
        ("bad.csv", "malformed-data"),
        ("none.json", "unreadable-file"),
        ("b.rml", "unknown-format"),
    ] {
        folder.rml(&format!("run b.rml --inputs {file}")).fails(1, &[code]);
        folder.rml(&format!("trace b.rml --inputs {file}")).fails(1, &[code]);
    }
    folder.rml("run b.rml --inputs i.json --node nothing").fails(1, &["error[", "nothing"]);
    folder.rml("run none.rml --inputs i.json").fails(1, &["unreadable-file"]);
    folder.rml("run b.rml --inputs i.json --cycles 7").fails(1, &["bad-option"]);
}

#[test]
fn check_reports_all_findings() {
    let folder = backfill().file("w.rml", "node w(x: num []) -> (o)\n  o = x + y;\n  p = z;\n");
    let verdict = "b.rml: ok\n  backfill: windowed by `bp`; state 0 B, window 22 B a cycle, of which 4 B once a window\n    \
        plan: no loop; 0 values over all ticks; memory 64 B + 0 B a tick\n";
    assert_eq!(folder.rml("check b.rml").ok(), verdict);
    let run = folder
        .rml("check b.rml w.rml --color never")
        .fails(1, &["error[unknown-name]", "w.rml:2", "w.rml:3", "2 errors"]);
    assert_eq!(run.out, verdict);
    let run = folder.rml("check w.rml --message-format json").fails(1, &[]);
    let lines: Vec<Value> = run.err.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    let (code, span) = (&lines[0]["code"], &lines[0]["spans"][0]);
    assert_eq!((code, &span["file"], &span["line"]), (&json!("unknown-name"), &json!("w.rml"), &json!(2)));
    folder.rml("check none.rml").fails(1, &["unreadable-file"]);
    folder.rml("check b.rml --node nothing").fails(1, &["nothing"]);
}

#[test]
fn colours_are_a_choice() {
    let folder = Folder::new().file("w.rml", "node w() -> (o)\n  o = y;\n");
    assert!(folder.rml("check w.rml --color always").fails(1, &[]).err.contains('\u{1b}'));
    assert!(!folder.rml("check w.rml").fails(1, &[]).err.contains('\u{1b}'));
}

#[test]
fn any_bytes_are_only_errors() {
    for bytes in [
        &b"\xff\xfe\x00node"[..],
        b"",
        b"\0\0\0",
        "node ((((".as_bytes(),
        "node f(x)->(o) o = 日本;".as_bytes(),
    ] {
        let folder = Folder::new().file("x.rml", bytes);
        for command in [
            "check x.rml",
            "dump x.rml --after fold",
            "fmt x.rml",
            "diff x.rml --node f",
            "run x.rml --cycles 1",
        ] {
            let code = folder.rml(command).code;
            assert!(matches!(code, Some(0 | 1)), "{command} {bytes:?}: {code:?}");
        }
    }
}

#[test]
fn diff_prints_a_program() {
    let source = "node square(x: num []) -> (o)\n  o = x * x;\n";
    let folder = Folder::new().file("s.rml", source);
    let derived = folder.rml("diff s.rml --node square").ok();
    assert!(derived.contains("node diff_square("), "{derived}");
    let folder = folder.file("both.rml", format!("{source}{derived}"));
    folder.rml("check both.rml").ok();
    folder.rml("diff s.rml --node nothing").fails(1, &["nothing"]);
    folder.rml("diff s.rml").fails(2, &["--node"]);
}

#[test]
fn every_stage_can_be_dumped() {
    let folder = backfill();
    for stage in ["parse", "elab", "normalize", "diff", "inline", "fold"] {
        let text = folder.rml(&format!("dump b.rml --after {stage}")).ok();
        assert!(text.contains("merge") && text.ends_with('\n'), "{stage}: {text}");
    }
    folder.rml("dump b.rml --after nothing").fails(2, &["nothing"]);
    folder.rml("dump b.rml").fails(2, &["--after"]);
}

#[test]
fn fmt_formats_in_place() {
    let ugly = "node f( x:num[] )->( o )\n (* why *) o=x+1.0 ; -- end\n";
    let folder = Folder::new().file("f.rml", ugly).file("bad.rml", "node f(");
    let run = folder.rml("fmt --check f.rml").fails(1, &[]);
    assert_eq!((run.out.as_str(), folder.read("f.rml").as_str()), ("f.rml\n", ugly));
    assert_eq!(folder.rml("fmt f.rml").ok(), "");
    let pretty = folder.read("f.rml");
    assert!(pretty != ugly && pretty.contains("(* why *)") && pretty.contains("-- end"), "{pretty}");
    assert_eq!(folder.rml("fmt --check f.rml").ok(), "");
    assert_eq!(folder.rml_with("fmt -", ugly).ok(), pretty);
    // A file with errors is not changed; the others are formatted anyway.
    let folder = folder.file("f.rml", ugly);
    folder.rml("fmt bad.rml f.rml").fails(1, &["error[syntax]", "bad.rml"]);
    assert_eq!((folder.read("bad.rml").as_str(), folder.read("f.rml")), ("node f(", pretty));
    folder.rml("fmt none.rml").fails(1, &["unreadable-file"]);
}

#[test]
fn codes_are_explained() {
    let folder = Folder::new();
    assert!(folder.rml("explain sync-error").ok().starts_with("# sync-error\n"));
    assert!(folder.rml("explain").ok().lines().count() > 30);
    folder.rml("explain nothing").fails(1, &["nothing"]);
}
