//! Long tables that are cut into windows: the windows that are trained, tested and left out, the same ones in a resumed
//! run and in inference, and states that continue from one window to the next.

mod support;

use serde_json::Value;
use support::Folder;

/// A line through the rows.
const LINE: &str = "node line(x: num []) -> (o)
  k = param(0.0);
  o = k * x;
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, 0.0001 * (y - o));
  loss = (o - y) * (o - y);
node infer(x: num [], y: num []) -> (o: num [], loss: num [])
  o = line(x);
  loss = (o - y) * (o - y);
";

/// The state `h` continues from one window to the next.
const CARRIED: &str = "node cell(x: num [], h0: num []) -> (h: num [])
  k = param(0.5);
  before = h0 fby h;
  h = tanh(k * x + 0.5 * before);
node net(x: num [], end: bool []) -> (h: num [])
  h = cell(x, stop_gradient(last)) every end;
  last = 0.0 fby h;
node train(x: num [], y: num [], end: bool []) -> (loss)
  h, _ = diff_net(x, end, true, 0.1 * (y - h));
  loss = (h - y) * (h - y);
";
/// Shows where windows and series begin and end.
const WATCHED: &str =
    "node infer(x: num [], end: bool [], begin: bool []) -> (h: num [], ends: bool [], begins: bool [])
  h = net(x, end);
  ends = end;
  begins = begin;
";

/// Rows of three engines, mixed, with a gap of a day in each.
fn table() -> String {
    let row = |i: usize| {
        let (engine, t) = (i % 3, i / 3);
        let day = if t < 9 { 1 } else { 2 };
        format!("e{engine},2024-03-{day:02} {:02}:00,{i},{}\n", t % 24, 2 * i)
    };
    format!("engine,time,x,y\n{}", (0..60).map(row).collect::<String>())
}

fn folder() -> Folder {
    Folder::new().file("p.rml", LINE).file("carried.rml", CARRIED).file("t.csv", table())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// By default, a batch is at most an epoch: the windows for testing do not count.
#[test]
fn a_batch_has_at_most_the_windows_of_an_epoch() {
    let program = "node train(x: num [batch], end: bool []) -> (loss: num [] when end)
  s = x + (zeros([batch]) fby s);
  loss = mean(s) when end;
";
    let table = format!("x\n{}", (0..153).map(|i| format!("{i}\n")).collect::<String>());
    let folder = Folder::new().file("p.rml", program).file("t.csv", table);
    let run = folder.rml("train p.rml --data t.csv --window 5 --rest drop --epochs 2");
    assert!(run.err.contains("to train on, 5 to test, batch 25,"), "{}", run.err);
    run.ok();
}

/// The numbers in nested arrays.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        Value::Bool(truth) => vec![f64::from(u8::from(*truth))],
        other => vec![other.as_f64().expect("a number")],
    }
}

#[test]
fn a_run_over_a_table_has_the_windows_of_the_training() {
    let folder = folder()
        .file("watched.rml", format!("{CARRIED}{WATCHED}"))
        .file("w.csv", "x\n1\n2\n")
        .file("own.csv", "x,end\n1,true\n2,false\n3,true\n");
    let cut = "--window 4 --stride 2 --group engine";
    folder
        .rml(&format!("train watched.rml --data t.csv {cut} --epochs 1 --test 0 --save c.safetensors"))
        .ok();
    folder.rml("infer watched.rml --params c.safetensors --data t.csv --split all --out o.json").ok();
    let run = folder.rml("run watched.rml --node infer --params c.safetensors --inputs t.csv");
    assert!(run.err.contains("3 series of 20 rows, windows of 4 rows, one every 2 rows"), "{}", run.err);
    let (found, expected) = (run.json(), json(&folder.read("o.json")));
    assert_eq!(found["cycles"], 108);
    for name in ["h", "ends", "begins"] {
        let (found, expected) = (flat(&found["values"][name]), flat(&expected[name]));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(found.len() == 108 && expected.len() == 108, "{name}: {found:?}\n{expected:?}");
        assert!(found.iter().zip(&expected).all(near), "{name}: {found:?}\n{expected:?}");
    }
    assert_eq!(flat(&found["values"]["begins"]).iter().sum::<f64>(), 3.0);
    let of = |command: &str, flags: &str| {
        folder.rml(&format!("{command} watched.rml --node net --params c.safetensors:net_0 {flags}"))
    };
    // Flags change the windows, in all of these commands.
    let traced = of("trace", "--inputs t.csv --stride 4 --html p.html");
    assert!(traced.err.contains("windows of 4 rows"), "{}", traced.err);
    traced.ok();
    assert_eq!(of("run", "--inputs t.csv --stride 4").json()["cycles"], 60);
    // A table may say by itself where windows end.
    let own = of("run", "--inputs own.csv");
    assert!(own.err.contains("the table has a column `end`, so each row is a cycle"), "{}", own.err);
    assert_eq!(own.json()["cycles"], 3);
    of("run", "--inputs w.csv").fails(1, &["missing-column", "`--group engine`"]);
    of("run", "--cycles 2 --window 4").fails(1, &["bad-option", "`--inputs`"]);
    // Without a checkpoint, only flags and mappings make windows.
    let run = folder.rml("run watched.rml --node net --inputs t.csv --window 25");
    assert!(run.err.contains("1 window is shorter"), "{}", run.err);
    run.ok();
}

#[test]
fn a_table_is_cut_and_inference_cuts_it_in_the_same_way() {
    let folder = folder();
    let run = folder.rml("train p.rml --data t.csv --window 5 --epochs 2 --save c.safetensors");
    assert!(run.err.contains("1 series of 60 rows, windows of 5 rows"), "{}", run.err);
    assert!(run.err.contains("10 windows to train on, 2 to test"), "{}", run.err);
    let trained = run.ok();
    let infer = |flags: &str| folder.rml(&format!("infer p.rml --params c.safetensors --data t.csv {flags}"));
    let tested = infer("--out o.json").ok();
    assert_eq!(tested.lines().skip(1).collect::<Vec<_>>(), trained.lines().collect::<Vec<_>>());
    let outputs = json(&folder.read("o.json"));
    assert_eq!(outputs["window"], json("[10, 11]"));
    assert_eq!(outputs["row"], json("[[50, 51, 52, 53, 54], [55, 56, 57, 58, 59]]"));
    assert_eq!(infer("--on-disk").ok(), tested);
    // Another stride makes other windows, to which the recorded split does not apply.
    assert!(infer("--stride 1").ok().starts_with("56 windows\n"));
    infer("--stride 1 --split test").fails(1, &["no-test-split", "cut in another way than in the training"]);
    // Each line of a stream is a cycle, however the data is cut.
    let line = folder.rml_with("infer p.rml --params c.safetensors --stream", "{\"x\": 1, \"y\": 2}\n");
    assert!(line.ok().contains("\"o\""));
    folder
        .rml("infer p.rml --params c.safetensors --stream --window 3")
        .fails(1, &["bad-option", "`--window`"]);
}

#[test]
fn groups_are_on_one_side() {
    let folder = folder();
    let cut = "--data t.csv --group engine --window 4 --stride 2 --epochs 1";
    let run = folder.rml(&format!("train p.rml {cut} --test 1 --save c.safetensors"));
    assert!(run.err.contains("3 series of 20 rows, windows of 4 rows, one every 2 rows"), "{}", run.err);
    assert!(run.err.contains("18 windows to train on, 9 to test"), "{}", run.err);
    run.ok();
    folder.rml("infer p.rml --params c.safetensors --data t.csv --out o.json").ok();
    let rows = json(&folder.read("o.json"))["row"].clone();
    let cells = |row: &Value| row.as_array().expect("a row").clone();
    let rows = rows.as_array().expect("rows").iter().flat_map(cells);
    let rows: Vec<u64> = rows.filter_map(|row| row.as_u64()).collect();
    assert_eq!(rows.len(), 36);
    assert!(rows.iter().all(|row| row % 3 == rows[0] % 3), "one engine is tested: {rows:?}");

    // The last windows of each engine are kept; windows that share rows with them are left out.
    let run = folder.rml(&format!("train p.rml {cut} --test last:2 --validate last:1"));
    assert!(run.err.contains("12 windows to train on, 3 to validate, 6 to test"), "{}", run.err);
    assert!(
        run.err.contains("6 windows are left out, since they share rows with windows for testing"),
        "{}",
        run.err
    );
    run.ok();
    folder
        .rml(&format!("train p.rml {cut} --test 3"))
        .fails(1, &["bad-option", "3 of 3 groups", "none is left"]);
}

#[test]
fn gaps_end_windows() {
    let folder = folder();
    let flags = "--data t.csv --group engine --time time --gap 2h --epochs 1 --test 1";
    let run = folder.rml(&format!("train p.rml {flags}"));
    assert!(run.err.contains("6 series of 9 to 11 rows, each one window"), "{}", run.err);
    run.ok();
    let run = folder.rml(&format!("train p.rml {flags} --window 4"));
    assert!(run.err.contains("6 windows are shorter: the rests of series"), "{}", run.err);
    run.ok();
    let run = folder.rml(&format!("train p.rml {flags} --window 4 --rest drop"));
    assert!(run.err.contains("12 rows are in no window"), "{}", run.err);
    run.ok();
    let folder = folder.file("back.csv", "x,y,time\n1,2,2024-03-01\n2,4,2024-03-03\n3,6,2024-03-02\n");
    let run = folder.rml("train p.rml --data back.csv --time time --window 1");
    run.fails(1, &["time-order", "row 2 of back.csv is earlier than the row before it", "`--group COLUMN`"]);
}

#[test]
fn a_resumed_run_cuts_as_before() {
    let folder = folder();
    let flags = "train p.rml --data t.csv --group engine --window 4 --stride 3";
    folder.rml(&format!("{flags} --epochs 5 --save whole.safetensors")).ok();
    folder.rml(&format!("{flags} --epochs 2 --save part.safetensors")).ok();
    let resume = "train p.rml --data t.csv --resume part.safetensors --epochs 5 --save part.safetensors";
    folder.rml(&format!("{resume} --on-disk")).ok();
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert_eq!(bytes("whole.safetensors"), bytes("part.safetensors"));
    let other = "train p.rml --data t.csv --resume part.safetensors --epochs 6 --stride 4";
    let words =
        &["resume-mismatch", "other windows", "expected window 4, stride 3, group engine, found stride 4"];
    folder.rml(other).fails(1, words);
}

#[test]
fn states_that_continue_keep_windows_in_order() {
    let folder = folder();
    let flags = "train carried.rml --data t.csv --window 6 --epochs 1";
    let run = folder.rml(flags);
    assert!(run.err.contains("windows keep their order, since states continue"), "{}", run.err);
    assert!(!run.err.contains("shuffled-state"), "{}", run.err);
    run.ok();
    let run = folder.rml(&format!("{flags} --shuffle"));
    assert!(run.err.contains("warning[shuffled-state]") && run.err.contains("are shuffled"), "{}", run.err);
    // The state has to restart between engines.
    let run = folder.rml(&format!("{flags} --group engine"));
    assert!(run.err.contains("from the last one of a series to the first one of the next"), "{}", run.err);
    let restarted = CARRIED
        .replace("end: bool []", "end: bool [], begin: bool []")
        .replace("diff_net(x, end,", "diff_net(x, end, begin,")
        .replace("stop_gradient(last)", "stop_gradient(if begin then 0.0 else last)");
    let folder = folder.file("restarted.rml", restarted);
    let run = folder.rml("train restarted.rml --data t.csv --window 6 --epochs 1 --group engine");
    assert!(!run.err.contains("warning"), "{}", run.err);
    run.ok();
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let folder = folder().file("e.csv", "x,y,end\n1,2,true\n3,4,true\n");
    for (flags, words) in [
        ("--end last --window 3", &["bad-option", "both say where windows end"][..]),
        ("--stride 3", &["bad-option", "nothing says how long they are"]),
        ("--gap 1h", &["bad-option", "no column says the time"]),
        ("--window 61", &["window-too-long", "the table has 60 rows", "`--window 60` at most"]),
        ("--group engin", &["missing-column", "`--group engin`", "there is `engine`"]),
        ("--window 3 --stride 1 --test 0.2", &["bad-option", "cannot be drawn", "--test last:0.2"]),
    ] {
        folder.rml(&format!("train p.rml --data t.csv {flags}")).fails(1, words);
    }
    for flags in ["--window 0", "--window 3 --stride 0", "--window 3 --gap 1m --time time"] {
        folder.rml(&format!("train p.rml --data t.csv {flags}")).fails(2, &[]);
    }
    let two = "train carried.rml --data e.csv --window 1";
    folder.rml(two).fails(1, &["bad-option", "both `--window` and the column `end`"]);
    folder.rml("train carried.rml --data e.csv --end end --test 1").ok();
    let none = "train p.rml --windows 3 --window 3";
    folder.rml(none).fails(1, &["bad-option", "`--window` can have no effect here"]);
}
