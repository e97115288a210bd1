//! The slips of a first training on a table of your own: each is a note, a warning or an error that names its remedy.

mod support;

use support::Folder;

/// Reads the windows of a machine, and says its state at their ends.
const NET: &str = "import std.layers;
import std.losses;
node net(x: num [batch, 2], kind: int [batch], end: bool []) -> (logits: num [batch, 3] when end)
  e = embedding(2, 2, kind) every end;
  h = gru(4, concat(x, e, 1)) every end;
  logits = dense(3, h when end);
node train(x: num [batch, 2], kind: int [batch], end: bool [], state: int [batch] when end) -> (loss)
  logits, _ = diff_net(x, kind, end, true, d);
  loss, d = diff_cross_entropy(logits, state, true, -0.1);
node infer(x: num [batch, 2], kind: int [batch], end: bool [], state: int [batch] when end) -> (logits, loss)
  logits = net(x, kind, end);
  loss = cross_entropy(logits, state);
node watch(x: num [batch, 2], kind: int [batch], end: bool []) -> (found: int [batch] when end)
  found = argmax(net(x, kind, end), -1);
";

/// Six machines with 24 rows each, whose first rows alone have the state `new`.
fn table() -> String {
    let row = |i: usize| {
        let (machine, t) = (i / 24, i % 24);
        let state = if t < 8 { "new" } else { ["ok", "worn"][machine % 2] };
        let x = if state == "worn" { 3 } else { 1 };
        format!(
            "2025-03-01 {t:02}:00,m{machine},{},{},{},{state}\n",
            ["A", "B"][machine % 2],
            x + t % 3,
            t % 5
        )
    };
    format!("time,machine,type,a,b,state\n{}", (0..144).map(row).collect::<String>())
}

fn folder() -> Folder {
    Folder::new().file("p.rml", NET).file("t.csv", table())
}

const CUT: &str = "--columns kind=type --group machine --time time --gap 2h --window 4";

#[test]
fn classes_and_groups_of_a_test_are_told() {
    let folder = folder();
    let run =
        folder.rml(&format!("train p.rml --data t.csv --columns x=a,b {CUT} --test 2 --epochs 1 --save c"));
    assert!(run.err.contains("2 of 6 groups of `machine` are for testing: `m"), "{}", run.err);
    run.ok();
    let last = format!("train p.rml --data t.csv --columns x=a,b {CUT} --test last:0.3 --epochs 1 --save l");
    let run = folder.rml(&last);
    assert!(run.err.contains("no test window has the class `new` of `state`"), "{}", run.err);
    assert!(!run.err.contains("are for testing"), "{}", run.err);
    run.ok();
    // A class that does not occur has no rates, and does not count in their mean.
    let out = folder.rml("infer p.rml --data t.csv --params l --confusion").ok();
    let row = out.lines().find(|line| line.starts_with("new ")).unwrap_or_else(|| panic!("{out}"));
    assert!(row.trim_end().ends_with('–'), "{out}");
    let folder = folder
        .file("four.rml", NET.replace("num [batch, 3]", "num [batch, 4]").replace("dense(3", "dense(4"));
    let run = folder.rml(&last.replace("p.rml", "four.rml").replace("--save l", ""));
    assert!(run.err.contains("`logits` has 4 scores, and `state` has 3 classes"), "{}", run.err);
}

#[test]
fn a_label_among_the_inputs_is_told() {
    let cut = CUT.replace("kind=type", "kind=state");
    let net = NET.replace("embedding(2, 2", "embedding(3, 2");
    let run = folder()
        .file("p.rml", net)
        .rml(&format!("train p.rml --data t.csv --columns x=a,b {cut} --epochs 1"));
    assert!(run.err.contains("column `state` feeds the label `state` and input `kind`"), "{}", run.err);
    run.ok();
}

#[test]
fn inference_counts_classes_and_does_without_groups() {
    let folder = folder();
    folder.rml(&format!("train p.rml --data t.csv --columns x=a,b {CUT} --test 2 --epochs 1 --save c")).ok();
    let one: String = table()
        .lines()
        .take(25)
        .map(|line| line.replacen(",m0", "", 1).replacen(",machine", "", 1) + "\n")
        .collect();
    let folder = folder.file("new.csv", one);
    let run = folder.rml("infer p.rml --node watch --data new.csv --params c --out o.csv");
    for words in ["the data has no column `machine`", "`found` is ", "1 series of 24 rows"] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    let out = run.ok();
    assert!(!out.contains("found"), "{out}");
    assert!(
        folder.read("o.csv").lines().nth(1).is_some_and(|row| row.contains(",new.csv,")),
        "{}",
        folder.read("o.csv")
    );
    let run = folder.rml("infer p.rml --node train --data t.csv --params c");
    assert!(run.err.contains("`train` updates parameters, so it learns"), "{}", run.err);
}

#[test]
fn a_missing_column_is_told_with_the_columns_of_the_file() {
    let folder = folder();
    folder.rml(&format!("train p.rml --data t.csv {CUT}")).fails(
        1,
        &["missing-column", "t.csv has `time`, `machine`, `type`, `a`, `b`, `state`", "`--columns 'x=a,b'`"],
    );
    folder
        .rml(&format!("train p.rml --data t.csv --columns x=a,b {}", CUT.replace("machine", "Machine")))
        .fails(1, &["`--group Machine`", "it has `time`, `machine`, `type`, `a`, `b`, `state`"]);
}

#[test]
fn layers_before_a_recurrent_one_have_one_remedy() {
    let folder =
        folder().file("p.rml", NET.replace("embedding(2, 2, kind) every end", "embedding(2, 2, kind)"));
    let remedy = "in line 4, write `e = embedding(2, 2, kind) every end;`";
    let check = folder.rml("check p.rml");
    assert!(check.err.contains(remedy), "{}", check.err);
    assert!(check.ok().contains(&format!("help: {remedy}")));
    let run = folder.rml(&format!("train p.rml --data t.csv --columns x=a,b {CUT} --epochs 1"));
    let warning = run.err.split("warning[uneven-updates]").nth(1).unwrap_or_else(|| panic!("{}", run.err));
    assert!(warning.contains(&format!("help: {remedy}")), "{warning}");
}

#[test]
fn errors_of_programs_name_the_cause() {
    let check = |from: &str, to: &str| folder().file("p.rml", NET.replace(from, to)).rml("check p.rml");
    check("logits, _ = diff_net(x, kind, end, true, d)", "logits, _ = net(x, kind, end)")
        .fails(1, &["arity", "did you mean `diff_net`?"]);
    let run = check("concat(x, e, 1)", "concat([x, e], 1)");
    assert!(!run.err.contains("shape-mismatch"), "{}", run.err);
    run.fails(1, &["write `concat(x, e, 1)`"]);
    let rule = "import std.optimisers;
node diff_param(init, bp, do) -> (o)
  o = adam(RATE, 0.9, 0.999, 1e-8, init, bp, do);
node net(";
    let with = |rate: &str| check("node net(", &rule.replace("RATE", rate)).err;
    let told = with("-0.005");
    assert!(
        told.contains("a learning rate of -0.005 is negative") && !told.contains("gradient-sign"),
        "{told}"
    );
    assert_eq!(with("0.0").matches("warning[learning-rate]").count(), 1);
}

/// A memory outside of the windows, whose rows threads share with a network.
#[test]
fn threads_do_not_change_what_is_learned_beside_a_memory() {
    let text = "import std.layers;
import std.losses;
import std.time;
node net(x: num [batch, 12], end: bool []) -> (next: num [batch, 4] when end)
  h = gru(16, x) every end;
  next = dense(4, h when end);
node train(x: num [batch, 12], end: bool []) -> (loss)
  past = delay(2, x);
  next, _ = diff_net(past, end, true, d);
  loss, d, _ = diff_mse(next, zeros([batch, 4]) when end, true, -0.1);
";
    let names: Vec<String> = (0..12).map(|i| format!("c{i}")).collect();
    let row =
        |i: usize| (0..12).map(|j| format!("{}", (i * 7 + j * 3) % 11)).collect::<Vec<_>>().join(",") + "\n";
    let rows: String = (0..1980).map(row).collect();
    let folder = Folder::new().file("p.rml", text).file("t.csv", format!("{}\n{rows}", names.join(",")));
    let train = |threads: usize| {
        let flags = "--columns x=c0..c11 --window 30 --epochs 1 --test 0 --batch 33";
        folder.rml(&format!("train p.rml --data t.csv {flags} --threads {threads}")).ok()
    };
    let one = train(1);
    assert!(one.contains("loss"), "{one}");
    assert_eq!([train(2), train(4)], [one.clone(), one]);
}
