//! Windows of different lengths: as lists, padded, or concatenated; they are batched by length, and the program never
//! sees the padding.

mod support;

use serde_json::{Value, json};
use support::Folder;

/// A sum over the cycles of a window, compared with its target at the end.
const PROGRAM: &str = "
node total(x: num [n, 2]) -> (h: num [n])
  k = param([0.5, -0.25]);
  h = (zeros([n]) fby h) + sum(x * k, -1);

node train(x: num [batch, 2], end: bool [], y: num [batch] when end) -> (loss: num [] when end)
  h, _ = diff_total(x, true, dh) every end;
  off = (h when end) - y;
  loss = mean(off * off);
  dh = merge end (-0.02 * off) (zeros([batch]) when not end);

node infer(x: num [batch, 2], end: bool [], y: num [batch] when end) -> (sum: num [batch] when end, h: num [batch], loss: num [] when end)
  h = total(x) every end;
  sum = h when end;
  loss = mean((sum - y) * (sum - y));
";

/// The length of a window: between one and five cycles.
fn length(window: usize) -> usize {
    1 + (window * window + window / 3) % 5
}

fn cell(window: usize, t: usize) -> [f64; 2] {
    [(window as f64 + 0.3 * t as f64).sin(), (0.7 * window as f64 - t as f64).cos()]
}

fn sum(window: usize) -> f64 {
    (0..length(window)).map(|t| cell(window, t)[0] + 2.0 * cell(window, t)[1]).sum()
}

const WINDOWS: usize = 23;

/// The same windows in each form.
fn folder() -> Folder {
    let windows = || 0..WINDOWS;
    let row = |w: usize| (0..length(w)).map(|t| json!(cell(w, t))).collect::<Vec<Value>>();
    let lines: String = windows().map(|w| json!({"x": row(w), "y": sum(w)}).to_string() + "\n").collect();
    let filled = |w: usize| {
        (0..6)
            .map(|t| if t < length(w) { json!(cell(w, t)) } else { json!(["NaN", "NaN"]) })
            .collect::<Vec<_>>()
    };
    let ys: Vec<f64> = windows().map(sum).collect();
    let lengths: Vec<usize> = windows().map(length).collect();
    let arrays = |x: Vec<Value>| json!({"x": x, "y": ys, "lengths": lengths}).to_string();
    Folder::new()
        .file("p.rml", PROGRAM)
        .file("lists.jsonl", lines)
        .file("lists.json", json!({"x": windows().map(row).collect::<Vec<_>>(), "y": ys}).to_string())
        .file("padded.json", arrays(windows().map(|w| json!(filled(w))).collect()))
        .file("flat.json", arrays(windows().flat_map(row).collect()))
}

const FORMS: [&str; 4] = ["lists.jsonl", "lists.json", "padded.json", "flat.json"];

#[test]
fn each_form_gives_the_same() {
    let folder = folder();
    let train = |form: &str, batch: usize| {
        let flags = "--epochs 5 --validate 3 --stats --message-format json";
        let out = folder.rml(&format!("train p.rml --data {form} --batch {batch} {flags}")).ok();
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            ["train", "validation", "test", "parameters"].map(|part| line[part].clone())
        };
        out.lines().map(line).collect::<Vec<_>>()
    };
    for batch in [1, 4, 100] {
        let first = train(FORMS[0], batch);
        assert_eq!(first.len(), 5);
        for form in FORMS {
            assert_eq!(train(form, batch), first, "{form}, {batch}");
            assert_eq!(train(&format!("{form} --on-disk"), batch), first, "{form} on disk, {batch}");
        }
    }
}

#[test]
fn a_file_to_validate_by_may_be_on_disk() {
    let folder = folder();
    let train = |flags: &str| {
        let out =
            folder.rml(&format!("train p.rml --data lists.jsonl --validate padded.json --epochs 2 {flags}"));
        let lines = out.err.lines().filter(|line| line.starts_with("epoch")).map(str::to_owned);
        let lines: Vec<String> =
            lines.map(|line| line.rsplit_once("  ").map_or("", |(line, _)| line).to_owned()).collect();
        out.ok();
        lines
    };
    let expected = train("");
    assert!(expected.len() == 2 && expected[0].contains("validation loss"), "{expected:?}");
    assert_eq!(train("--on-disk"), expected);
}

/// `windows.parquet` was written by pyarrow 26: `x: list<fixed_size_list<float>[2]>`, `y: double`, a column of texts,
/// and three groups of rows, packed by zstd.
#[test]
fn parquet_files_are_read_by_builds_that_can() {
    let row = |i: u8| {
        let x: Vec<[f64; 2]> =
            (0..1 + i % 3).map(|t| [0.5 * f64::from(i) + 0.25 * f64::from(t), -f64::from(t)]).collect();
        json!({"x": x, "y": 0.25 * f64::from(i)}).to_string() + "\n"
    };
    let folder = Folder::new()
        .file("p.rml", PROGRAM)
        .file("w.parquet", include_bytes!("data/windows.parquet"))
        .file("w.jsonl", (0..8).map(row).collect::<String>());
    let train = |data: &str| folder.rml(&format!("train p.rml --data {data} --test 2 --epochs 2 --save c"));
    if !cfg!(feature = "parquet") {
        for flags in ["", "--on-disk"] {
            train(&format!("w.parquet {flags}"))
                .fails(1, &["unknown-format", "this build does not read Parquet", "--features parquet"]);
        }
        return;
    }
    let checkpoint = |data: &str| {
        train(data).ok();
        std::fs::read(folder.path("c")).expect("a checkpoint")
    };
    let expected = checkpoint("w.jsonl");
    assert!(checkpoint("w.parquet") == expected && checkpoint("w.parquet --on-disk") == expected);
    let broken = include_bytes!("data/windows.parquet")[..1000].to_vec();
    std::fs::write(folder.path("b.parquet"), broken).expect("a file");
    train("b.parquet").fails(1, &["malformed-data", "b.parquet: it cannot be read as Parquet"]);
}

/// Concatenated windows are a trace, with the ends of windows in `end`.
#[test]
fn windows_are_those_of_a_trace() {
    let cycles = || (0..WINDOWS).flat_map(|w| (0..length(w)).map(move |t| (w, t)));
    let rows = cycles().map(|(w, t)| {
        let is_last = t + 1 == length(w);
        json!({"x": [cell(w, t)], "end": is_last, "y": if is_last { json!([sum(w)]) } else { Value::Null }})
    });
    let folder = folder().file("trace.json", Value::Array(rows.collect()).to_string());
    let trace = folder.rml("run p.rml --node train --batch 1 --inputs trace.json").json();
    let losses: Vec<f64> =
        trace["values"]["loss"].as_array().expect("a column").iter().filter_map(Value::as_f64).collect();
    assert_eq!(losses.len(), WINDOWS);
    // Batches are ordered by length; with one window each, this is the order of the data.
    for form in FORMS {
        for engine in ["plan", "sim"] {
            let flags = "--batch 1 --no-shuffle --test 0 --epochs 1 --message-format json";
            let out = folder.rml(&format!("train p.rml --data {form} --engine {engine} {flags}")).ok();
            let line: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
            let mean = losses.iter().sum::<f64>() / WINDOWS as f64;
            assert!((line["train"]["loss"].as_f64().expect("a number") - mean).abs() < 1e-6, "{out} {mean}");
        }
    }
}

#[test]
fn outputs_stand_in_the_order_of_the_data() {
    let folder = folder();
    folder.rml("train p.rml --data lists.jsonl --epochs 1 --test 0 --batch 4 --save s").ok();
    let infer = |form: &str, batch: usize| {
        folder
            .rml(&format!("infer p.rml --params s --data {form} --batch {batch} --split all --out o.json"))
            .ok();
        serde_json::from_str::<Value>(&folder.read("o.json")).expect("JSON")
    };
    let mut one = infer("padded.json", 1);
    // A mean over the stacked windows belongs to no single window.
    assert!(one.as_object_mut().expect("an object").remove("loss").is_some());
    assert_eq!(one["window"], json!((0..WINDOWS).collect::<Vec<_>>()));
    let there = one["h.present"].as_array().expect("a column");
    for (window, there) in there.iter().enumerate() {
        let expected: Vec<bool> = (0..5).map(|t| t < length(window)).collect();
        assert_eq!(*there, json!(expected), "window {window}");
        let last = &one["h"][window][length(window) - 1];
        assert_eq!(*last, one["sum"][window], "window {window}");
    }
    for form in FORMS {
        assert_eq!(infer(form, 4), one, "{form}: batches change no window");
    }
}

#[test]
fn a_resumed_training_goes_on_with_the_batches_that_are_left() {
    let folder = folder();
    let train = "train p.rml --data lists.jsonl --batch 4 --test 2";
    folder.rml(&format!("{train} --epochs 4 --save whole")).ok();
    folder.rml(&format!("{train} --epochs 2 --save part")).ok();
    folder.rml(&format!("{train} --epochs 4 --resume part --save part")).ok();
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert!(bytes("whole") == bytes("part"));
}

#[test]
fn several_files_are_one_data_set() {
    let folder = folder();
    let text = folder.read("lists.jsonl");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let folder = folder.file("a.jsonl", lines[..9].concat()).file("b.jsonl", lines[9..].concat());
    let train = |data: &str| folder.rml(&format!("train p.rml {data} --epochs 3 --batch 4")).ok();
    assert_eq!(train("--data a.jsonl --data b.jsonl"), train("--data lists.jsonl"));
}

#[test]
fn what_does_not_fit_is_told() {
    let folder = Folder::new().file("p.rml", PROGRAM);
    let fails = |data: Value, words: &[&str]| {
        std::fs::write(folder.path("d.json"), data.to_string()).expect("a file");
        folder.rml("train p.rml --data d.json --test 0 --epochs 1").fails(1, words);
    };
    let x = |lengths: &[usize]| lengths.iter().map(|n| vec![[1.0, 2.0]; *n]).collect::<Vec<_>>();
    fails(json!({"x": x(&[1, 2]), "y": [1.0, 2.0, 3.0]}), &["data-shape", "`y` has 3 rows"]);
    fails(
        json!({"x": x(&[3, 3]), "y": [1.0, 2.0], "lengths": [3, 4]}),
        &["data-shape", "window 1 has 4 cycles by column `lengths`"],
    );
    fails(
        json!({"x": x(&[3, 3]), "y": [1.0, 2.0], "lengths": [3, 0]}),
        &["data-shape", "window 1 has no cycle"],
    );
    fails(
        json!({"x": x(&[3, 3]), "y": [1.0, 2.0], "lengths": [3, -1]}),
        &["data-shape", "window 1 has no cycle"],
    );
    fails(
        json!({"x": x(&[3, 3]), "y": [1.0, 2.0], "lengths": [3.0, 2.0]}),
        &["data-type", "expected integers [windows]"],
    );
    fails(
        json!({"x": x(&[1, 2]), "y": [1.0, 2.0], "lengths": [2, 1]}),
        &["data-shape", "window 0 has 2 cycles by column `lengths`, and column `x` has 1"],
    );
    fails(
        json!({"x": vec![[1.0, 2.0]; 4], "y": [1.0, 2.0], "lengths": [2, 1]}),
        &["data-shape", "`x` has 4 rows"],
    );
    fails(
        json!({"x": [[[1.0, 2.0]], null, [[1.0, 2.0], [1.0, 2.0]]], "y": [1.0, 2.0, 3.0]}),
        &["data-shape", "some rows have none"],
    );
    fails(
        json!({"x": x(&[1, 2]), "y": [[1.0, 3.0], [2.0]]}),
        &["data-shape", "window 0 of column `y` has 2 cycles, that of `x` 1"],
    );
    let nan = json!({"x": [[["NaN", 1.0]], [[1.0, 2.0], [1.0, "NaN"]]], "y": [1.0, 2.0]});
    fails(nan, &["nan-in-data", "window 0, cycle 0"]);
    folder
        .rml("run p.rml --node train --batch 1 --inputs d.json")
        .fails(1, &["data-shape", "sequences of different lengths"]);
    // If the program has an input of this name, the column feeds it.
    let program = PROGRAM.replace("node train(", "node train(lengths: int [batch] when end, ");
    let data = json!({"x": x(&[3, 3]), "y": [1.0, 2.0], "lengths": [1, 2]}).to_string();
    let folder = folder.file("q.rml", program).file("d.json", data);
    let folder = folder.file("e.json", json!({"x": x(&[3, 3]), "y": [1.0, 2.0]}).to_string());
    let loss = |program: &str, data: &str| {
        folder.rml(&format!("train {program} --data {data} --test 0 --epochs 1")).ok()
    };
    assert_eq!(loss("q.rml", "d.json"), loss("p.rml", "e.json"));
}
