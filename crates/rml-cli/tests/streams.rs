//! `rml infer --stream`: refused lines, errors during a run, the end of the input.

mod support;

use serde_json::{Value, json};
use support::{Folder, Run};

/// Sums the input over all cycles and since the end of the last window; the sum over the rest of a window is known at
/// its end.
const SUMS: &str = "
node infer(x: int [], end: bool []) -> (total, rest)
  total = x + (0 fby total);
  rest = x + (if end then 0 else post rest);
";

const RUNNING: &str = "node infer(x: int []) -> (total) total = x + (0 fby total);\n";

fn stream(program: &str, flags: &str, lines: &str) -> Run {
    Folder::new().file("p.rml", program).rml_with(&format!("infer p.rml --stream {flags}"), lines)
}

fn answers(run: &Run) -> Vec<Value> {
    run.out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e} in {l}"))).collect()
}

/// The line and code of an answer that is an error.
fn refused(answer: &Value) -> (u64, &str) {
    let code = answer["error"]["code"].as_str().unwrap_or_default();
    (answer["line"].as_u64().unwrap_or_default(), code)
}

#[test]
fn a_refused_line_is_answered_and_does_not_happen() {
    for (line, code) in [
        ("{\"x\": 5", "malformed-data"),
        ("[5]", "malformed-data"),
        ("nonsense", "malformed-data"),
        ("{\"x\": 5, \"x\": 5}", "malformed-data"),
        ("{\"x\": 0.5}", "data-type"),
        ("{\"x\": \"5\"}", "input-type"),
        ("{\"x\": [5]}", "input-type"),
        ("{\"x\": 9223372036854775808}", "data-type"),
        ("{\"x\": 1e400}", "input-type"),
        ("{\"z\": 5}", "unknown-input"),
        ("{}", "missing-input"),
        ("{\"x\": 9223372036854775807}", "integer-overflow"),
    ] {
        let run = stream(RUNNING, "", &format!("{{\"x\": 50}}\n\n{line}\n{{\"x\": 20}}"));
        let all = answers(&run);
        assert_eq!(run.code, Some(1), "{}", run.err);
        assert_eq!(run.err, "1 line of standard input was answered with an error\n");
        assert_eq!(all[0], json!({"cycle": 0, "total": 50}), "{line}");
        assert_eq!(refused(&all[1]), (3, code), "{line}: {}", all[1]);
        assert_eq!(all[2], json!({"cycle": 1, "total": 70}), "{line}");
        assert_eq!(all.len(), 3);
    }
}

#[test]
fn a_misspelt_input_is_refused_and_the_line_is_repeated() {
    let run =
        stream(SUMS, "", "{\"x\": 1, \"end\": false}\n{\"X\": 2, \"end\": true}\n{\"x\": 3, \"end\": true}");
    let all = answers(&run);
    let error = &all.iter().find(|answer| !answer["error"].is_null()).expect("a refused line")["error"];
    assert_eq!(error["code"], "unknown-input", "{error}");
    assert_eq!(error["help"], json!(["there is `x`"]));
    let quoted = error["notes"].as_array().and_then(|notes| notes.last()).expect("a note");
    assert_eq!(*quoted, json!("the line is `{\"X\": 2, \"end\": true}`"));
    assert_eq!(all.last(), Some(&json!({"cycle": 1, "total": 4, "rest": 3})));
}

/// A line without a key does not say that an input is absent; `null` does. A node without inputs has no keys.
#[test]
fn a_cycle_without_values_is_written_out() {
    let run = stream(RUNNING, "", "{\"x\": 5}\n{\"x\": null}\n{\"x\": 2}");
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(answers(&run)[1..], [json!({"cycle": 1, "total": null}), json!({"cycle": 2, "total": 7})]);
    let run = stream("node infer() -> (n: int []) n = 0 fby (n + 1);", "", "{}\n{}");
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(answers(&run), [json!({"cycle": 0, "n": 0}), json!({"cycle": 1, "n": 1})]);
}

/// Other keys of a line are ignored, like other columns of files.
#[test]
fn other_entries_of_a_line_are_ignored() {
    let lines = "{\"id\": \"a\", \"x\": 50}\n{\"x\": 20, \"at\": {\"y\": [true, \"Monday\"]}}\n";
    let run = stream(RUNNING, "", lines);
    assert_eq!(answers(&run), [json!({"cycle": 0, "total": 50}), json!({"cycle": 1, "total": 70})]);
    run.ok();
    let run = stream(RUNNING, "", "{\"x\": 1, \"speed\": 5}\n{\"x\": 2, \"speed\": 5, \"t\": 1}\n");
    assert_eq!(answers(&run).len(), 2);
    assert_eq!(run.err.matches("warning[unknown-input]").count(), 1, "once: {}", run.err);
    assert!(run.err.contains("line 1 of standard input: `speed` is no input of node infer"), "{}", run.err);
    run.ok();
    let strict = stream(RUNNING, "--strict", "{\"x\": 1}\n{\"x\": 2, \"t\": 1}\n{\"x\": 3}\n");
    assert_eq!(answers(&strict).len(), 1);
    strict.fails(1, &["error[unknown-input]", "line 2 of standard input", "no input `t`"]);
}

/// An error message does not repeat a long line.
#[test]
fn a_refusal_does_not_repeat_what_is_long() {
    let long = "1 ".repeat(1 << 16);
    for line in [
        format!("{{\"x\": \"{long}\"}}"),
        format!("{{\"x\": {}}}", "1".repeat(1 << 16)),
        format!("{{\"{long}\": 1}}"),
        format!("{{\"x\": 1, \"{long}\": 1, \"{long}\": 1}}"),
    ] {
        let all = answers(&stream(RUNNING, "", &format!("{line}\n")));
        assert!(all[0]["error"].is_object() && all[0].to_string().len() < 2000, "{}", all[0]);
    }
}

#[test]
fn a_refused_line_has_one_number() {
    let run = stream(RUNNING, "", "{\"x\": 50}\n{\"x\" 1}\n");
    let error = answers(&run)[1]["error"].to_string();
    assert!(error.contains("at column 6") && !error.contains("line 1"), "{error}");
}

#[test]
fn bytes_that_are_no_text_are_one_refused_line() {
    use std::io::Write as _;
    use std::process::Stdio;
    let folder = Folder::new().file("p.rml", RUNNING);
    let mut command = folder.command("infer p.rml --stream");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("rml starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"x\": 50}\n\xff\xfe\n{\"x\": 20}\n").expect("rml reads");
    drop(stdin);
    let output = child.wait_with_output().expect("rml ends");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[1].contains("\"line\": 2") && lines[2].contains("\"total\": 70"), "{out}");
}

#[test]
fn cycles_that_wait_outlive_a_line_that_fails_in_them() {
    // The line that ends the window is refused, since the sum of the rest in cycle 0 overflows; a corrected line may
    // follow.
    let run = stream(
        SUMS,
        "",
        "{\"x\": 1, \"end\": false}\n{\"x\": 9223372036854775807, \"end\": true}\n{\"x\": 2, \"end\": false}\n{\"x\": 4, \"end\": true}\n",
    );
    let all = answers(&run);
    assert_eq!(refused(&all[0]), (2, "integer-overflow"), "{}", run.out);
    assert_eq!(
        all[1..],
        [
            json!({"cycle": 0, "total": 1, "rest": 7}),
            json!({"cycle": 1, "total": 3, "rest": 6}),
            json!({"cycle": 2, "total": 7, "rest": 4})
        ]
    );
}

#[test]
fn the_first_line_that_is_accepted_names_the_inputs() {
    let program = "node infer(x: num [], y: num []) -> (o, p) o = x; p = y;\n";
    let run = stream(program, "", "{\"z\": 1}\n{}\n{\"z\": 1, \"x\": 4}\n{\"x\": 5, \"y\": 6}\n");
    let all = answers(&run);
    assert_eq!([&all[0], &all[1]].map(refused), [(1, "unknown-input"), (2, "missing-input")]);
    assert_eq!(all[2], json!({"cycle": 0, "o": 4.0}));
    assert_eq!(refused(&all[3]), (4, "unknown-input"));
}

#[test]
fn a_strict_stream_ends_at_the_first_refused_line() {
    let lines = "{\"x\": 1, \"end\": false}\n\n{\"x\": 1.5}\n{\"x\": 2, \"end\": true}\n";
    let run = stream(SUMS, "--strict", lines).fails(1, &["error[data-type]: line 3 of standard input: "]);
    assert_eq!(run.err.matches("line 3").count(), 1, "{}", run.err);
    assert_eq!(answers(&run), [json!({"cycle": 0, "total": 1, "rest": "?"})], "what is known is not lost");
    assert!(stream(RUNNING, "--strict", "{\"x\": 50}\n").ok().contains("\"total\": 50"));
}

#[test]
fn what_the_end_leaves_undetermined_is_said() {
    let run =
        stream(SUMS, "", "{\"x\": 1, \"end\": true}\n{\"x\": 2, \"end\": false}\n{\"x\": 3, \"end\": false}");
    let all = answers(&run);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(
        all,
        [
            json!({"cycle": 0, "total": 1, "rest": 1}),
            json!({"cycle": 1, "total": 3, "rest": "?"}),
            json!({"cycle": 2, "total": 6, "rest": "?"})
        ]
    );
    assert!(run.err.contains("warning[") && run.err.contains("rest"), "{}", run.err);
}

#[test]
fn an_error_at_the_end_comes_after_what_is_known() {
    // The last value is used only where the trace ends, and it is too large there.
    let program =
        "node infer(x: int []) -> (o, rest) o = x; rest = x + (9223372036854775807 fby back rest);\n";
    let run = stream(program, "", "{\"x\": 1}\n{\"x\": 2}\n").fails(1, &["error[integer-overflow]"]);
    assert_eq!(
        answers(&run),
        [json!({"cycle": 0, "o": 1, "rest": "?"}), json!({"cycle": 1, "o": 2, "rest": "?"})]
    );
}

#[test]
fn parameters_need_a_checkpoint_and_nothing_else_does() {
    let folder = Folder::new()
        .file("p.rml", "node infer(x: num []) -> (o) k = param(1.0); o = k * x;\n")
        .file("q.rml", "node infer(x: num []) -> (o) o = 2.0 * x;\n")
        .file("d.json", "{\"x\": [1, 2]}");
    for source in ["--stream", "--data d.json"] {
        folder
            .rml(&format!("infer p.rml {source}"))
            .fails(1, &["no-parameters", "node infer has parameters", "`k`: num", "--params FILE"]);
    }
    assert!(folder.rml("infer q.rml --data d.json").ok().contains("o 3.0"));
    assert_eq!(folder.rml_with("infer q.rml --stream", "{\"x\": 4}").ok(), "{\"cycle\": 0, \"o\": 8.0}\n");
    folder.rml("infer q.rml --data d.json --split test").fails(1, &["no-test-split", "no checkpoint"]);
    folder.rml("infer q.rml --data d.json --fresh").fails(2, &["--params"]);
    folder.rml("infer q.rml --data d.json --strict").fails(2, &["cannot be used with"]);
}

#[test]
fn look_ahead_has_a_limit_that_names_what_waits() {
    let never = "node infer(x: num [], end: bool []) -> (o)\n  o = if end then x else post o;\n";
    let line = "{\"x\": 1.0, \"end\": false}\n";
    let run = stream(never, "--look-ahead 3", &line.repeat(10));
    let words =
        ["line 4 of standard input", "look-ahead-limit", "3 cycles are open", "p.rml:2:", "--look-ahead"];
    let run = run.fails(1, &words);
    assert!(
        run.err.contains("the value of `o` in cycle 0 waits for the value of `o` in cycle 1"),
        "{}",
        run.err
    );
    assert_eq!(answers(&run).len(), 3, "what is known is printed");
    // The last line before the limit determines all answers.
    let lines = format!("{}{{\"x\": 1.0, \"end\": true}}\n", line.repeat(2));
    assert_eq!(stream(never, "--look-ahead 3", &lines).ok().lines().count(), 3);
    // Without the flag, the default limit applies.
    let run =
        stream(never, "", &line.repeat(100_001)).fails(1, &["look-ahead-limit", "100000 cycles are open"]);
    assert_eq!(run.out.lines().count(), 100_000);
    stream(never, "--look-ahead 0", "").fails(2, &["--look-ahead"]);
}

#[test]
fn memory_ends_a_stream_that_waits() {
    let never = "node infer(x: num [], end: bool []) -> (o)\n  a = broadcast([50000], x);\n  o = if end then a else post o;\n";
    let lines = "{\"x\": 1.0, \"end\": false}\n".repeat(1000);
    let run = stream(never, "--memory 8M", &lines).fails(1, &["memory-limit", "of standard input", "p.rml:"]);
    assert!(run.out.lines().count() < 60, "{} lines", run.out.lines().count());
}

#[test]
fn programs_that_check_rejects_do_not_start() {
    for (program, code) in [
        ("node infer(x: num []) -> (o)\n  k = 0.5;\n  o = post o + k * x;\n", "uncut-recurrence"),
        ("node infer(x: num [], c: bool []) -> (o)\n  o = x + (x when c);\n", "clock-mismatch"),
        ("node infer(x: num []) -> (o)\n  o = o + x;\n", "instantaneous-cycle"),
    ] {
        let folder = Folder::new().file("p.rml", program);
        let words = [code, "p.rml:"];
        folder.rml("check p.rml --node infer").fails(1, &words);
        let run = folder.rml_with("infer p.rml --stream", "{\"x\": 1.0, \"c\": true}\n").fails(1, &words);
        assert_eq!(run.out, "", "nothing was run");
    }
}

/// The lines of a stream name inputs, and a cycle needs each input without a declared clock.
#[test]
fn columns_of_the_training_and_nulls_are_told() {
    let program = "import std.layers;
import std.losses;
node net(x: num [batch, 2], end: bool []) -> (o: num [batch, 2] when end)
  h = gru(3, x) every end;
  o = dense(2, h when end);
node train(x: num [batch, 2], end: bool [], y: int [batch] when end) -> (loss: num [] when end)
  o, _ = diff_net(x, end, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
node infer(x: num [batch, 2], end: bool []) -> (o: num [batch, 2] when end)
  o = net(x, end);
";
    let table = "a,b,kind\n1,2,on\n0,1,on\n3,1,off\n2,2,off\n";
    let folder = Folder::new().file("p.rml", program).file("t.csv", table);
    let flags = "--columns x=a,b --columns y=kind --window 2 --epochs 1 --test 0 --save c.safetensors";
    folder.rml(&format!("train p.rml --data t.csv {flags}")).ok();
    let stream = "infer p.rml --params c.safetensors --stream";
    let run = folder.rml_with(stream, "{\"a\": 1, \"b\": 2, \"end\": true}\n");
    for text in [&run.err, &run.out] {
        assert!(text.contains("the training took `x` from columns `a`, `b`"), "{text}");
    }
    let run = folder.rml_with(stream, "{\"x\": [1, 2], \"end\": null}\n");
    let error = &answers(&run)[0]["error"];
    let help = "`end` is null in the line, and the program needs it in this cycle: write `true` or `false`";
    assert_eq!(error["help"], json!([help]), "{error}");
    let spans = error["spans"].as_array().expect("spans");
    assert!(spans.iter().all(|span| span["file"] == "p.rml"), "{error}");
}
