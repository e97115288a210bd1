//! Compiling, sessions, traces and streams.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rml::{Columns, End, Feed, Format, InferOptions, Options, RunOptions, Session, Source, Stage, Stream};
use support::{CLASSIFIER, code, data, options, source, train};

fn compile(text: &str) -> rml::Program {
    rml::compile(&source(text), &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn json(text: &str) -> Columns {
    Columns::parse(text.as_bytes(), Format::Json, "inputs").unwrap()
}

const BACKFILL: &str = "
node backfill(i: num [], bp: bool []) -> (o)
  o = merge bp (i when bp) ((post o) when not bp);
";

#[test]
fn outputs_come_as_soon_as_they_are_known() {
    let mut session = Session::new(&compile(BACKFILL));
    let mut step = |i: f64, bp: bool| session.step([("i", i.into()), ("bp", bp.into())]).unwrap();
    assert!(step(1.0, false).is_empty() && step(2.0, false).is_empty());
    let rows = step(3.0, true);
    assert_eq!(
        rows.iter().map(|r| (r.cycle, r.num("o"))).collect::<Vec<_>>(),
        [(0, Some(3.0)), (1, Some(3.0)), (2, Some(3.0))]
    );
    assert!(step(4.0, false).is_empty());
    assert_eq!(code(session.states()), "state-time");
    assert_eq!(session.finish(End::Open).unwrap().len(), 0);
}

#[test]
fn wrong_inputs_are_errors_and_the_session_goes_on() {
    let mut session =
        Session::new(&compile("node f(x: num [2], c: bool [], y: int [] when c) -> (o, p) o = x; p = y;"));
    let x = || -> Feed { [1.0, 2.0].into() };
    assert_eq!(code(session.step([("x", x()), ("z", 1.0.into()), ("c", true.into())])), "unknown-input");
    assert_eq!(code(session.step([("x", x())])), "missing-input");
    assert_eq!(code(session.step([("x", x()), ("c", true.into())])), "missing-input");
    assert_eq!(code(session.step([("x", 1.0.into()), ("c", false.into())])), "input-type");
    assert_eq!(code(session.step([("x", [1_i64, 2].into()), ("c", false.into())])), "input-type");
    let rows = session.step([("x", x()), ("c", false.into())]).unwrap();
    assert!(rows[0].get("p").is_none() && rows[0].get("o").is_some());
    let rows = session.step([("x", x()), ("c", true.into()), ("y", 7_i64.into())]).unwrap();
    assert_eq!(rows[0].get("p").and_then(rml::Value::as_int), Some(7));
}

#[test]
fn a_trace_as_json_csv_and_table() {
    let program = compile(
        "node f(x: num [], n: int [], c: bool []) -> (o, p, q) o = x when c; p = post n; q = [x, 2.0 * x];",
    );
    let inputs = json(r#"{"x": [0.5, 1, 2], "n": [1, 2, 3], "c": [true, false, true]}"#);
    let trace = rml::run(&program, &inputs, &RunOptions::default()).unwrap();
    assert!(trace.error.is_none());
    let values: serde_json::Value = serde_json::from_str(&trace.to_json()).unwrap();
    let expected = serde_json::json!({"cycles": 3, "values": {
        "o": [0.5, null, 2.0], "p": [2, 3, "?"], "q": [[0.5, 1.0], [1.0, 2.0], [2.0, 4.0]]}});
    assert_eq!(values, expected);
    assert!(trace.to_json().contains("[0.5, null, 2.0]") && trace.to_json().contains("[2, 3, \"?\"]"));
    assert_eq!(trace.to_csv(), "o,p,q[0],q[1]\n0.5,2,0.5,1.0\n,3,1.0,2.0\n2.0,?,2.0,4.0\n");
    let table = trace.to_table();
    assert_eq!(
        table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(),
        ["o", "0.5", "□", "2.0"],
        "{table}"
    );
}

#[test]
fn all_variables_and_number_of_cycles() {
    let program = rml::compile(
        &source("node f() -> (o: int []) k = 0 fby o; one = 1; o = k + one;"),
        &Options { all_vars: true, ..Options::default() },
    )
    .unwrap();
    let options = RunOptions { cycles: Some(3), all_vars: true, ..RunOptions::default() };
    let trace = rml::run(&program, &Columns::default(), &options).unwrap();
    let values: serde_json::Value = serde_json::from_str(&trace.to_json()).unwrap();
    assert_eq!(values["values"], serde_json::json!({"o": [1, 2, 3], "k": [0, 1, 2], "one": [1, 1, 1]}));
    assert_eq!(code(rml::run(&program, &Columns::default(), &RunOptions::default())), "bad-option");
}

#[test]
fn errors_of_a_run_keep_what_was_computed() {
    let program = compile("node f(x: num [], c: bool []) -> (o, p) o = x; p = x + (x when c);");
    let inputs = json(r#"{"x": [1.0, 2.0, 3.0], "c": [true, false, true]}"#);
    let trace = rml::run(&program, &inputs, &RunOptions::default()).unwrap();
    assert_eq!(trace.error.as_ref().and_then(rml::Error::code).unwrap().name, "sync-error");
    assert!(
        matches!(trace.values["p"][0], rml::Cell::Value(_))
            && matches!(trace.values["p"][1], rml::Cell::Unknown)
    );
    let program = compile("node f(x: num []) -> (a) a = b + x; b = a - x;");
    let trace = rml::run(&program, &json(r#"{"x": [1.0]}"#), &RunOptions::default()).unwrap();
    assert_eq!(trace.error.as_ref().and_then(rml::Error::code).unwrap().name, "deadlock");
}

#[test]
fn columns_without_gaps_follow_the_clocks_of_their_inputs() {
    let program = compile("node f(c: bool [], y: int [] when c) -> (o) o = y;");
    let trace =
        rml::run(&program, &json(r#"{"c": [true, false], "y": [1, 2]}"#), &RunOptions::default()).unwrap();
    assert!(trace.to_json().contains("[1, null]"), "{}", trace.to_json());
}

#[test]
fn every_stage_can_be_dumped() {
    let options = Options { node: Some("train".into()), batch: Some(2), ..Options::default() };
    use Stage::{Cone, Diff, Draw, Elab, Fold, Inline, Normalize, Parse, Settle};
    let flat = [Inline, Settle, Fold, Cone, Draw];
    for stage in [Parse, Elab, Normalize, Diff].into_iter().chain(flat) {
        let text =
            rml::dump(&source(CLASSIFIER), &options, stage).unwrap_or_else(|e| panic!("{stage:?}: {e}"));
        assert!(text.contains("train"), "{stage:?}: {text}");
    }
    let texts = flat.map(|stage| rml::dump(&source(CLASSIFIER), &options, stage).unwrap());
    for text in &texts {
        let flat = rml::ir::flat::parse(text).unwrap();
        rml::ir::flat::verify(&flat).unwrap_or_else(|e| panic!("{}", e.join("\n")));
        assert_eq!(rml::ir::flat::print(&flat), *text);
    }
    // Each pass changes the program, and only the last one draws.
    for (before, after) in texts.iter().zip(&texts[1..]) {
        assert_ne!(before, after);
    }
    assert_eq!(texts.map(|text| text.contains(" = random ")), [true, true, true, true, false]);
}

#[test]
fn a_dump_has_the_values_of_a_checkpoint() {
    let text = "node f(x: num []) -> (o, n)  k = param(2.0);  o = k * x;  n = 1 fby n;";
    let (k, n) = (rml::tensor(&[], vec![3.25_f32]).unwrap(), rml::Value::Int(17));
    let program = compile(text);
    let keys: Vec<_> = program.flat().states.keys().cloned().collect();
    assert_eq!(keys.iter().map(|key| &**key).collect::<Vec<_>>(), ["k", "n"]);
    let held = |k: rml::Value| rml::Checkpoint::of_states(keys.iter().cloned().zip([k, n.clone()]).collect());
    let dump = |stage| held(k.clone()).dump(&source(text), &Options::default(), stage);
    for stage in [Stage::Inline, Stage::Settle, Stage::Fold, Stage::Cone, Stage::Draw, Stage::Plan] {
        let text = dump(stage).unwrap();
        assert!(text.contains("3.25") && text.contains("17"), "{stage:?}: {text}");
    }
    let drawn = dump(Stage::Draw).unwrap();
    assert!(!drawn.contains("2.0"), "the initial value of the program is gone: {drawn}");
    let wrong = held(rml::tensor(&[2], vec![1.0_f32, 2.0]).unwrap());
    assert_eq!(code(wrong.dump(&source(text), &Options::default(), Stage::Draw)), "checkpoint-mismatch");
}

#[test]
fn the_adjoint_is_a_program_again() {
    let text = "node dense(i) -> (o) k = param(1.0); b = param(0.0); o = k * i + b;\n";
    let diff = rml::differentiate(&source(text), &Options::default(), "dense").unwrap();
    assert!(diff.contains("node diff_dense("), "{diff}");
    let both = text.to_owned() + &diff;
    let options = Options { node: Some("diff_dense".into()), ..Options::default() };
    rml::compile(&source(&both), &options).unwrap_or_else(|e| panic!("{e}\n{both}"));
}

#[test]
fn imports_of_files_are_relative() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("lib")).unwrap();
    std::fs::write(dir.path().join("lib/a.rml"), "import \"b.rml\"; node a(x) -> (o) o = b(x);").unwrap();
    std::fs::write(dir.path().join("lib/b.rml"), "node b(x) -> (o) o = x + 1.0;").unwrap();
    let main = dir.path().join("main.rml");
    std::fs::write(&main, "import \"lib/a.rml\"; node main(x: num []) -> (o) o = a(x);").unwrap();
    let program = rml::compile(&Source::file(&main), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(program.node(), "main");
    std::fs::write(&main, b"node \xff").unwrap();
    assert_eq!(code(rml::compile(&Source::file(&main), &Options::default())), "unreadable-file");
    assert_eq!(
        code(rml::compile(&Source::file(dir.path().join("none")), &Options::default())),
        "unreadable-file"
    );
}

#[test]
fn checking_collects_findings() {
    let (sources, findings) =
        rml::check(&source("node f(x) -> (o) o = y; node g(x) -> (o) o = z;"), &Options::default());
    assert_eq!(findings.iter().filter(|d| d.is_error()).count(), 2);
    assert!(sources.ids().count() > 0);
}

#[test]
fn a_stream_answers_each_cycle_with_the_bits_of_a_whole_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let data = data(20);
    train(CLASSIFIER, &data, &options(&path, 1));
    let report = rml::infer(
        &source(CLASSIFIER),
        &data,
        &InferOptions { split: rml::Split::All, keep_outputs: true, ..InferOptions::new(&path) },
    )
    .unwrap();
    let outputs = report.outputs.unwrap();
    let rml::Elements::F32(logits) = &outputs.columns["logits"].elements else {
        panic!("logits are numbers")
    };
    let rml::Elements::F32(x) = &data.columns["x"].elements else { panic!("inputs are numbers") };
    // The data has no labels, so the loss is not computed.
    let mut stream = Stream::new(&source(CLASSIFIER), &InferOptions::new(&path)).unwrap();
    for (n, row) in x.chunks(2).enumerate() {
        let end = n % 3 == 2;
        let line = format!("{{\"x\": [{:?}, {:?}], \"end\": {end}}}", row[0], row[1]);
        let answers = stream.line(&line).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(answers.len(), 1);
        let answer: serde_json::Value = serde_json::from_str(&answers[0]).unwrap();
        assert_eq!(answer["cycle"], n);
        assert!(answer.get("loss").is_none());
        let found: Option<Vec<f32>> = serde_json::from_value(answer["logits"].clone()).unwrap();
        let expected = end.then(|| logits[n / 3 * 3..n / 3 * 3 + 3].to_vec());
        assert_eq!(found, expected, "cycle {n}");
    }
    assert!(stream.line("  ").unwrap().is_empty());
    for (line, expected) in [
        ("{", "malformed-data"),
        ("[1]", "malformed-data"),
        (r#"{"x": [1, 2], "end": false, "y": 1}"#, "unknown-input"),
        (r#"{"q": 1}"#, "unknown-input"),
        (r#"{"x": [1], "end": false}"#, "input-type"),
        (r#"{"x": [1, "NaN"], "end": false}"#, "nan-in-data"),
        (r#"{"x": [1, 2], "end": 1}"#, "data-type"),
    ] {
        assert_eq!(code(stream.line(line)), expected, "{line}");
    }
    assert_eq!(stream.line(r#"{"x": [1, 2], "end": false}"#).unwrap().len(), 1, "a refused line was not fed");
    assert!(stream.finish(End::Closed).error.is_none());
    let mut stream = Stream::new(&source(CLASSIFIER), &InferOptions::new(&path)).unwrap();
    assert_eq!(code(stream.line(r#"{"x": [1, 2]}"#)), "missing-input");
}

/// After a refused line, all other lines have the same results as without this line: delays, look-ahead and draws do
/// not change.
#[test]
fn a_refused_line_changes_no_answer() {
    let text = "
node infer(x: int [], end: bool []) -> (total, rest, d)
  total = x + (0 fby total);
  rest = x + (if end then 0 else post rest);
  d = random_uniform([]) when end;
";
    let start = || Stream::new(&source(text), &InferOptions::default()).unwrap();
    let good = [(1, false), (2, false), (3, true), (4, true), (5, false), (6, true)]
        .map(|(x, end)| format!("{{\"x\": {x}, \"end\": {end}}}"));
    let feed = |stream: &mut Stream| -> Vec<String> {
        good.iter().flat_map(|line| stream.line(line).unwrap()).collect()
    };
    let plain = feed(&mut start());
    assert_eq!(plain.len(), good.len());
    let bad = [
        "{",
        r#"{"x": 1}"#,
        r#"{"x": 1.5, "end": true}"#,
        r#"{"x": 9223372036854775807, "end": true}"#,
        r#"{"x": 9223372036854775807, "end": false}"#,
    ];
    for at in 1..good.len() {
        let mut stream = start();
        let mut answers = Vec::new();
        for (n, line) in good.iter().enumerate() {
            if n == at {
                bad.iter().for_each(|line| assert!(stream.line(line).is_err(), "{line}"));
            }
            answers.extend(stream.line(line).unwrap());
        }
        assert_eq!(answers, plain, "refused before line {at}");
        assert!(!stream.is_stuck());
    }
}

#[test]
fn a_stream_with_labels_gives_the_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let mut stream = Stream::new(&source(CLASSIFIER), &InferOptions::new(&path)).unwrap();
    assert!(stream.line(r#"{"x": [1, 2], "end": false, "y": null}"#).unwrap()[0].contains("\"loss\": null"));
    let answer = stream.line(r#"{"x": [1, 2], "end": true, "y": 1}"#).unwrap();
    assert!(answer[0].contains("\"loss\": ") && !answer[0].contains("null"), "{answer:?}");
}

#[test]
fn cells_that_wait_for_what_never_comes_are_warned_of() {
    let pcounter = compile("node pcounter() -> (o)\n  o = post u;\n  u = o + 1;\n");
    let options = RunOptions { cycles: Some(4), ..RunOptions::default() };
    let trace = rml::run(&pcounter, &Columns::default(), &options).unwrap();
    assert!(trace.error.is_none());
    let warning = trace.warnings.iter().next().expect("no cell is determined");
    assert!(warning.message.contains("what would follow the last active cycle"), "{warning}");
    let ended =
        rml::run(&compile(BACKFILL), &json(r#"{"i": [1, 2], "bp": [false, true]}"#), &RunOptions::default());
    assert!(ended.unwrap().warnings.is_empty());
}

/// A run that is interrupted stops, and can be continued afterwards.
#[test]
fn runs_and_inferences_end_when_they_are_asked_to() {
    let sum =
        "node sum(x: num []) -> (o)\n  o = x + (0.0 fby o);\n\nnode infer(x: num []) -> (o)\n  o = sum(x);\n";
    let program = rml::compile(&source(sum), &Options { node: Some("sum".into()), ..Options::default() });
    let mut session = Session::new(&program.unwrap());
    let (asked, inputs) = (Arc::new(AtomicBool::new(true)), json(r#"{"x": [1.0, 2.0]}"#));
    assert!(session.run_until(&inputs, false, &asked).unwrap().is_empty() && session.cycles() == 0);
    let options = InferOptions { interrupt: Some(Arc::clone(&asked)), ..InferOptions::default() };
    let report = rml::infer(&source(sum), &inputs, &options).unwrap();
    assert_eq!((report.windows, report.metrics.len()), (0, 0));
    asked.store(false, Ordering::SeqCst);
    let known = session.run_until(&inputs, false, &asked).unwrap();
    assert_eq!(known.iter().map(|row| row.num("o")).collect::<Vec<_>>(), [Some(1.0), Some(3.0)]);
    let report = rml::infer(&source(sum), &inputs, &options).unwrap();
    assert_eq!((report.windows, report.metrics["o"]), (2, 2.0));
}
