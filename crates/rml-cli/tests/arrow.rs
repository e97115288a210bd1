//! Streams and files of Arrow: the same answers, parameters and results as with JSON.

mod support;

use std::collections::BTreeMap;

use rml::{ArrowAnswers, ArrowCell, ArrowField, ArrowRows, ArrowType, Preparation};
use serde_json::{Value, json};
use support::Folder;

const PROGRAM: &str = "
enum size = Small, Large;
node net(x: num [2]) -> (o: num [])
  k = param([0.5, 0.25]);
  o = sum(k * x);
node infer(x: num [2], end: bool []) -> (o: num [], sums: num [2], size: size when end)
  o = net(x);
  sums = x + (zeros([2]) fby sums);
  size = (if o > 1.0 then Large else Small) when end;
node train(x: num [2], end: bool []) -> (o: num [])
  o, _ = diff_net(x, true, 0.1 * (1.0 - o));
";

/// A stream of these rows: `x`, and whether a window ends.
fn stream(rows: &[([f32; 2], bool)], also: Option<&str>) -> Vec<u8> {
    let number = |name: &str, dims: &[usize]| ArrowField {
        name: name.to_owned(),
        elements: ArrowType::F32,
        dims: dims.to_vec(),
    };
    let end = ArrowField { name: "end".to_owned(), elements: ArrowType::Bool, dims: Vec::new() };
    let fields = vec![number("x", &[2]), end].into_iter().chain(also.map(|name| number(name, &[])));
    let answers = ArrowAnswers::new(fields.collect());
    let mut bytes = answers.begin();
    for (x, end) in rows {
        let x = rml::tensor(&[2], x.to_vec()).expect("a vector");
        let cells = [ArrowCell::Value(x), ArrowCell::Value(rml::Value::Bool(*end)), ArrowCell::Absent];
        bytes.extend(answers.answer(&cells[..if also.is_some() { 3 } else { 2 }]));
    }
    bytes.extend(ArrowAnswers::end());
    bytes
}

fn lines(rows: &[([f32; 2], bool)]) -> String {
    rows.iter().map(|(x, end)| format!("{}\n", json!({"x": x, "end": end}))).collect()
}

const ROWS: [([f32; 2], bool); 4] =
    [([1.0, 2.0], false), ([0.5, -1.0], true), ([f32::NAN, 1.0], false), ([3.0, 4.0], true)];

/// The rows of a stream of answers, as JSON.
fn answers(bytes: &[u8]) -> Vec<BTreeMap<String, Value>> {
    let texts = ["size", "error"].map(|name| (name.to_owned(), Vec::new()));
    let preparation = Preparation::default().with_cases(texts.into());
    let mut rows = ArrowRows::new(bytes).expect("Arrow");
    let mut all = Vec::new();
    while let Some(batch) = rows.next(&preparation).expect("a batch") {
        for row in batch {
            let row: rml::ArrowRow = row;
            let mut answer = BTreeMap::new();
            for (name, cell) in &row {
                let value = match cell.as_ref().expect("a cell") {
                    None => Value::Null,
                    Some((_, Some(names))) => json!(names[0]),
                    Some((column, None)) => match (&column.elements, column.shape.dims()) {
                        (rml::Elements::Int(v), [1]) => json!(v[0]),
                        (rml::Elements::F64(v), [1]) => json!(v[0]),
                        (rml::Elements::F64(v), _) => json!(v),
                        (other, dims) => panic!("{other:?} {dims:?}"),
                    },
                };
                answer.insert(name.clone(), value);
            }
            all.push(answer);
        }
    }
    all
}

#[test]
fn a_stream_of_arrow_has_the_answers_of_lines() {
    let folder = Folder::new()
        .file("p.rml", PROGRAM)
        .file("in.arrows", stream(&ROWS, None))
        .file("in.jsonl", lines(&ROWS).replace("null", "\"NaN\""));
    let params = rml::Checkpoint::of_states(
        [("net_0.k".into(), rml::tensor(&[2], vec![0.5_f32, 0.25]).expect("k"))].into_iter().collect(),
    );
    params.write(&folder.path("c")).expect("a checkpoint");
    let run = |input: &str, out: &str| {
        let command = format!("rml infer p.rml --params c --stream < {input} > {out}");
        let done = folder.shell(&command).output().expect("a shell");
        assert_eq!(
            done.status.code(),
            Some(1),
            "one row is refused: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        std::fs::read(folder.path(out)).expect("answers")
    };
    let binary = answers(&run("in.arrows", "out.arrows"));
    let text = run("in.jsonl", "out.jsonl");
    let text: Vec<Value> = String::from_utf8_lossy(&text)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!((binary.len(), text.len()), (4, 4));
    for (row, line) in binary.iter().zip(&text) {
        for name in ["cycle", "o", "sums", "size"] {
            assert_eq!(row[name], line.get(name).cloned().unwrap_or_default(), "{name}");
        }
        assert_eq!(row["row"], line.get("line").cloned().unwrap_or_default());
    }
    assert_eq!((binary[1]["size"].as_str(), binary[2]["row"].as_i64()), (Some("Small"), Some(3)));
    assert!(binary[2]["error"].as_str().is_some_and(|why| why.contains("nan-in-data")), "{:?}", binary[2]);
}

#[test]
fn other_columns_are_ignored_with_a_note_or_refused() {
    let folder = Folder::new().file(
        "p.rml",
        PROGRAM
            .replace("node infer", "node other")
            .replace("o = net(x);", "o = x[0];")
            .replace("node other", "node infer"),
    );
    let folder = folder.file("in.arrows", stream(&ROWS[..1], Some("speed")));
    let run = |flags: &str| {
        folder
            .shell(&format!("rml infer p.rml --stream {flags} < in.arrows > out"))
            .output()
            .expect("a shell")
    };
    let (lenient, strict) = (run(""), run("--strict"));
    let err = String::from_utf8_lossy(&lenient.stderr);
    assert!(lenient.status.success() && err.contains("`speed` is no input of node infer"), "{err}");
    let err = String::from_utf8_lossy(&strict.stderr);
    assert!(!strict.status.success() && err.contains("unknown-input") && err.contains("`speed`"), "{err}");
    // Damaged data is a finding.
    let cut = stream(&ROWS, None);
    let folder = folder.file("in.arrows", &cut[..cut.len() - 100]);
    let damaged = folder.shell("rml infer p.rml --stream < in.arrows > out").output().expect("a shell");
    let err = String::from_utf8_lossy(&damaged.stderr);
    assert!(
        !damaged.status.success() && err.contains("malformed-data") && err.contains("ends early"),
        "{err}"
    );
}

#[test]
fn a_training_learns_the_same_from_arrow() {
    let rows = [([1.0, 2.0], false), ([0.5, -1.0], true), ([2.0, 1.0], false)];
    let folder = Folder::new()
        .file("p.rml", PROGRAM)
        .file("in.arrows", stream(&rows, None))
        .file("in.jsonl", lines(&rows));
    for name in ["arrows", "jsonl"] {
        let command = format!("rml train p.rml --stream --save {name}.st < in.{name} > out.{name}");
        let done = folder.shell(&command).output().expect("a shell");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a file");
    assert_eq!(bytes("arrows.st"), bytes("jsonl.st"));
    assert_eq!(answers(&bytes("out.arrows")).len(), 3);
    // The same rows as data.
    let run =
        |inputs: &str| folder.rml(&format!("run p.rml --node train --inputs {inputs} --format json")).json();
    assert_eq!(run("in.arrows"), run("in.jsonl"));
    let piped = folder
        .shell("rml run p.rml --node train --inputs - --format json < in.arrows")
        .output()
        .expect("a shell");
    assert_eq!(serde_json::from_slice::<Value>(&piped.stdout).expect("JSON"), run("in.jsonl"));
}

/// The labels of a dataset of Hugging Face are classes, as the words of a table are.
#[test]
fn labels_of_a_dataset_are_classes() {
    let program = "import std.layers;
import std.losses;
node net(x: num [batch, 1]) -> (scores: num [batch, 3])
  scores = dense(3, x);
node train(x: num [batch, 1], kind: int [batch]) -> (loss: num [])
  scores, _ = diff_net(x, true, ds);
  loss, ds = diff_cross_entropy(scores, kind, true, -0.5);
node infer(x: num [batch, 1], kind: int [batch]) -> (found: int [batch], loss: num [])
  scores = net(x);
  loss = cross_entropy(scores, kind);
  found = argmax(scores, -1);
";
    let labels = include_bytes!("../../rml-data/src/arrow/data/labels.arrow");
    let folder = Folder::new()
        .file("p.rml", program)
        .file("labels.arrow", labels)
        .file("words.csv", "x,kind\n1,high\n-1,low\n");
    let train = folder.rml("train p.rml --data labels.arrow --epochs 20 --batch 2 --test 0 --save c.st");
    assert!(train.err.contains("kind has 3 classes: low, high, none"), "{}", train.err);
    train.ok();
    let run = folder.rml("infer p.rml --params c.st --data words.csv --out o.csv --confusion kind:found");
    let table = run.ok();
    assert!(table.contains("high") && table.contains("2 of 2 are right"), "{table}");
    assert_eq!(
        folder.read("o.csv").lines().map(|line| line.split(',').nth(1)).collect::<Vec<_>>(),
        [Some("found"), Some("high"), Some("low")]
    );
}
