//! Raw data: compressed, in several files, from standard input, with words for classes, gaps, and inputs of different
//! scales. The checkpoint records how a training prepares its data, and inference prepares it in the same way.

mod support;

use std::io::Write as _;

use serde_json::{Value, json};
use support::Folder;

/// A classifier of two kinds by two numbers.
const NET: &str = "import std.losses;
import std.layers;

node net(x: num [batch, 2]) -> (logits: num [batch, 2])
  logits = dense(2, x);

node train(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  logits, _ = diff_net(x, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.5);

node infer(x: num [batch, 2], y: int [batch]) -> (logits: num [batch, 2], loss: num [], rate: num [])
  logits = net(x);
  loss = cross_entropy(logits, y);
  rate = accuracy(logits, y);

node named(x: num [batch, 2]) -> (kind: int [batch])
  kind = argmax(net(x), -1);

node again(y: int [batch]) -> (z: int [batch], n: int [batch])
  z = y;
  n = y + 1;

node sum(v: num []) -> (o: num [])
  o = v + (0.0 fby o);
";

/// Rows of two kinds; `a` is in grams, `b` in metres, and some cells are empty.
fn rows(from: usize, to: usize) -> String {
    let row = |i: usize| {
        let kind = if i.is_multiple_of(2) { "owl" } else { "emu" };
        let a = if i % 7 == 3 { "NA".to_owned() } else { (3000 + 40 * (i % 2) * 50 + i).to_string() };
        format!("{kind},{a},{}\n", 0.5 + 0.3 * (i % 2) as f64 + 0.001 * (i % 5) as f64)
    };
    (from..to).map(row).collect()
}

fn table() -> String {
    format!("kind,a,b\n{}", rows(0, 60))
}

fn gz(text: &str) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).expect("memory");
    gz.finish().expect("memory")
}

const COLUMNS: &str = "--columns x=a,b --columns y=kind";

fn folder() -> Folder {
    Folder::new().file("p.rml", NET).file("t.csv", table())
}

#[test]
fn inference_does_what_the_training_did() {
    let folder = folder();
    let flags = format!("--data t.csv {COLUMNS} --fill x=mean --standardise x --epochs 20 --batch 8");
    let run = folder.rml(&format!("train p.rml {flags} --save c.safetensors --report r.html"));
    assert!(run.err.contains("y has 2 classes: emu, owl"), "{}", run.err);
    let trained = run.ok();
    assert!(trained.contains("test rate 1.0000"), "{trained}");
    let infer = |flags: &str| folder.rml(&format!("infer p.rml --params c.safetensors {flags}")).ok();
    let tested = infer("--data t.csv");
    assert_eq!(tested.lines().skip(1).collect::<Vec<_>>(), trained.lines().collect::<Vec<_>>());
    assert_eq!(infer("--data t.csv --on-disk"), tested);
    let page = folder.read("r.html");
    assert!(page.contains("<th scope=\"row\">emu</th>") && page.contains("<th scope=\"col\">owl</th>"));

    // The other spelling of the flag, data on disk, and a resumed run give the same bits.
    let again = "--fill x=mean --standardize x --epochs 20 --batch 8 --on-disk --save d.safetensors";
    folder.rml(&format!("train p.rml --data t.csv {COLUMNS} {again}")).ok();
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert_eq!(bytes("c.safetensors"), bytes("d.safetensors"));
    folder.rml(&format!("train p.rml {} --save e.safetensors", flags.replace("20", "7"))).ok();
    folder.rml("train p.rml --data t.csv --resume e.safetensors --epochs 20 --save e.safetensors").ok();
    assert_eq!(bytes("c.safetensors"), bytes("e.safetensors"));
    // `rml grad` does not prepare values.
    let folder = folder.file("x.json", "{\"x\": [[[3001, 0.5]]], \"y\": [[\"owl\"]]}");
    let own = "--columns x=x --columns y=y";
    let grad = "grad p.rml --node infer --loss loss --batch 1 --inputs x.json --params c.safetensors";
    let grad = folder.rml(&format!("{grad} {own}"));
    assert!(grad.err.contains("warning[not-prepared]"), "{}", grad.err);
    let scale = "`x`: mean [4006.";
    assert!(grad.err.contains(scale) && grad.err.contains(", deviation ["), "{}", grad.err);
    // A node without `x` has nothing to prepare, and nor has a list of parameters.
    let folder = folder.file("y.json", "{\"v\": [1.0]}");
    let none = folder.rml("grad p.rml --node sum --inputs y.json --params c.safetensors");
    let list = folder.rml("params list p.rml --node infer --params c.safetensors");
    assert!(!(none.err.clone() + &list.err).contains("prepared"), "{} {}", none.err, list.err);
    none.ok();
    assert!(list.ok().contains("net_0.dense_0.kernel"));
    let other = "train p.rml --data t.csv --resume e.safetensors --epochs 21 --fill x=0";
    folder.rml(other).fails(1, &["resume-mismatch", "expected fill x=mean; standardise x, found fill x=0"]);
}

#[test]
fn a_run_is_prepared_as_its_training() {
    let folder = folder();
    let flags = format!("{COLUMNS} --fill x=mean --standardise x --epochs 5 --batch 1 --save c.safetensors");
    folder.rml(&format!("train p.rml --data t.csv {flags}")).ok();
    // A row is a window in training, but a cycle in `rml run`.
    let folder = folder.file("two.csv", "kind,a,b\nowl,3001,0.5\nemu,,0.8\n");
    let common = "p.rml --node infer --batch 1 --params c.safetensors --columns x=x --columns y=y";
    folder.rml("infer p.rml --params c.safetensors --data two.csv --out o.json --batch 1").ok();
    let outputs: serde_json::Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    let folder = folder
        .file("x.json", "{\"x\": [[[3001, 0.5]], [[null, 0.8]]], \"y\": [[\"owl\"], [\"emu\"]]}")
        .file("cow.json", "{\"x\": [[[3001, 0.5]]], \"y\": [[\"cow\"]]}");
    let run = folder.rml(&format!("run {common} --inputs x.json"));
    assert!(!run.err.contains("not-prepared"), "{}", run.err);
    let run: serde_json::Value = serde_json::from_str(&run.ok()).expect("JSON");
    for i in 0..2 {
        assert_eq!(run["values"]["logits"][i][0], outputs["logits"][i], "row {i}");
    }
    folder.rml(&format!("run {common} --inputs cow.json")).fails(1, &["unknown-class", "`cow`"]);
    let drawn = folder.rml(&format!("trace {common} --inputs x.json --vars outputs")).ok();
    assert!(drawn.contains("logits"), "{drawn}");
    let why = "begins with the values that are written in the program";
    folder.rml(&format!("trace {common} --inputs x.json --semantics kahn")).fails(1, &["--params", why]);
}

#[test]
fn stacked_rows_of_a_stream_are_prepared_element_by_element() {
    let seen = NET.replace(
        "-> (logits: num [batch, 2], loss",
        "-> (logits: num [batch, 2], seen: num [batch, 2], loss",
    );
    let seen = seen.replace("  rate = ", "  seen = x;\n  rate = ");
    let folder = Folder::new().file("p.rml", seen).file("t.csv", "kind,a,b\nowl,1000,1\nemu,3000,3\n");
    let flags = format!("{COLUMNS} --standardise x --epochs 1 --test 0 --batch 2 --save c.safetensors");
    folder.rml(&format!("train p.rml --data t.csv {flags}")).ok();
    let line = "{\"x\": [[1000, 1], [3000, 3]], \"y\": [\"owl\", \"emu\"]}\n";
    let answer = folder.rml_with("infer p.rml --params c.safetensors --batch 2 --stream", line).json();
    assert_eq!(answer["seen"], serde_json::json!([[-1.0, -1.0], [1.0, 1.0]]));
}

#[test]
fn a_stream_is_prepared_as_its_training() {
    let folder = folder();
    let flags = format!("{COLUMNS} --fill x=mean --standardise x --epochs 5 --batch 1 --save c.safetensors");
    folder.rml(&format!("train p.rml --data t.csv {flags}")).ok();
    let lines = "{\"x\": [3001, 0.5], \"y\": \"owl\"}\n{\"x\": [null, 0.8], \"y\": \"emu\"}\n";
    let run = folder.rml_with("infer p.rml --params c.safetensors --stream", lines).ok();
    let logits = |line: &str| {
        let answer: serde_json::Value = serde_json::from_str(line).expect("an answer");
        answer["logits"].to_string()
    };
    let answers: Vec<String> = run.lines().map(logits).collect();
    let line = "{\"x\": [1, 2], \"y\": \"cow\"}\n";
    let refused = folder.rml_with("infer p.rml --params c.safetensors --stream", line).out;
    for words in ["unknown-class", "input `y`: `cow` is no known class", "known are `emu`, `owl`"] {
        assert!(refused.contains(words), "{refused}");
    }
    let folder = folder.file("two.csv", "kind,a,b\nowl,3001,0.5\nemu,,0.8\n");
    folder.rml("infer p.rml --params c.safetensors --data two.csv --out o.json --batch 1").ok();
    let outputs: serde_json::Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    for (i, answer) in answers.iter().enumerate() {
        assert_eq!(*answer, outputs["logits"][i].to_string());
    }
}

#[test]
fn the_scale_and_the_mean_are_those_of_the_training_part() {
    let folder = folder();
    // A table that differs only in its last rows, which are tested.
    let other = format!("kind,a,b\n{}{}", rows(0, 50), rows(50, 60).replace(",0.", ",900."));
    let folder = folder.file("other.csv", other);
    let parameters = |data: &str| {
        let flags = "--fill x=mean --standardise x --epochs 3 --test last:10 --validate last:5";
        folder.rml(&format!("train p.rml --data {data} {COLUMNS} {flags} --save c.safetensors")).ok();
        folder.rml("params list p.rml --node infer --params c.safetensors").ok()
    };
    assert_eq!(parameters("t.csv"), parameters("other.csv"));
}

#[test]
fn a_value_that_is_not_there_is_named() {
    let folder = folder();
    let run = folder.rml(&format!("train p.rml --data t.csv {COLUMNS}"));
    run.fails(1, &["data-shape", "line 5, column 5", "`NA` has no value", "`--fill 'x=mean'`"]);
    let folder = folder.file("y.csv", "x[0],x[1],y\n1,2,0\n3,4,\n5,6,1\n7,8,\n1,1,0\n");
    let run = folder.rml("train p.rml --data y.csv --test 0 --batch 5");
    let words = [
        "input `y` has no value in window 1 of y.csv",
        "2 of 5 windows",
        "leave these rows out",
        "`--fill 'y=0'`",
    ];
    run.fails(1, &[&["data-shape"], &words[..]].concat());
    folder.rml("train p.rml --data y.csv --test 0 --fill y=0 --epochs 1").ok();
    for (flags, words) in [
        ("--fill y=mean", &["bad-option", "`--fill` cannot be used for input `y", "have a mean"][..]),
        ("--fill y=cat", &["bad-option", "`cat` is no value of input `y"]),
        ("--standardise z", &["bad-option", "no input `z` for `--standardise`", "`x`, `y`"]),
        ("--classes x=a", &["bad-option", "`--classes` cannot be used for input `x"]),
        ("--classes y", &["bad-option", "--classes 'y=cat,dog'"]),
    ] {
        folder.rml(&format!("train p.rml --data y.csv --test 0 {flags}")).fails(1, words);
    }
    let without = "train p.rml --windows 3 --standardise x";
    folder.rml(without).fails(1, &["bad-option", "`--standardise` can have no effect here"]);
}

#[test]
fn classes_have_the_order_that_is_stated() {
    let folder = folder().file("new.csv", "kind,a,b\nowl,3001,0.5\nemy,3001,0.5\n");
    let train = |flags: &str| {
        folder.rml(&format!("train p.rml --data t.csv {COLUMNS} --fill x=0 --epochs 1 {flags}"))
    };
    let run = train("--classes y=owl,emu --save c.safetensors");
    assert!(run.err.contains("y has 2 classes: owl, emu"), "{}", run.err);
    folder.rml("infer p.rml --params c.safetensors --data new.csv").fails(
        1,
        &["unknown-class", "column `y`, row 1 of new.csv: `emy`", "known are `owl`, `emu`", "there is `emu`"],
    );
    train("--classes y=owl")
        .fails(1, &["unknown-class", "column `y`, row 1 of t.csv: `emu`", "known are `owl`"]);
    train("--validate new.csv").fails(1, &["unknown-class", "new.csv: `emy`"]);
    // Without a training, the number of a word is unknown.
    folder
        .rml(&format!("run p.rml --node infer --batch 1 --inputs new.csv {COLUMNS}"))
        .fails(1, &["data-type", "column `y` holds texts", "`--params FILE`"]);
}

#[test]
fn cases_of_an_enumeration_are_read_by_name() {
    let program = "enum mode = Up, Down, Away;\n\
                   node main(m: mode) -> (o: num [])\n  o = match m (Up -> 1.0, Down -> 2.0, Away -> 3.0);\n";
    let folder = Folder::new()
        .file("p.rml", program)
        .file("t.csv", "m\nAway\nUp\nDown\n")
        .file("t.json", "{\"m\": [\"Away\", \"Up\", \"Down\"]}")
        .file("n.csv", "m\n2\n0\n1\n")
        .file("w.csv", "m\nAway\nup\n");
    for file in ["t.csv", "t.json", "n.csv"] {
        let trace = folder.rml(&format!("run p.rml --inputs {file}")).json();
        assert_eq!(trace["values"]["o"].to_string(), "[3.0,1.0,2.0]", "{file}");
        folder.rml(&format!("infer p.rml --node main --data {file} --out o.json")).ok();
        assert!(folder.read("o.json").contains("\"o\": [3.0, 1.0, 2.0]"), "{file}");
    }
    let stream = folder.rml_with("infer p.rml --node main --stream", "{\"m\": \"Away\"}\n{\"m\": 0}\n").ok();
    assert_eq!(stream, "{\"cycle\": 0, \"o\": 3.0}\n{\"cycle\": 1, \"o\": 1.0}\n");
    let wrong = folder.rml("run p.rml --inputs w.csv");
    wrong.fails(
        1,
        &["unknown-class", "row 1 of w.csv: `up` is no known class", "`Up`, `Down`, `Away`", "there is `Up`"],
    );
}

#[test]
fn data_comes_compressed_by_pattern_and_from_standard_input() {
    let text = table();
    let packed =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let folder = folder()
        .file("t.csv.gz", gz(&text))
        .file("t.csv.zst", packed)
        .file("t.data", &text)
        .file("part-1.csv.gz", gz(&format!("kind,a,b\n{}", rows(0, 20))))
        .file("part-2.csv.gz", gz(&format!("kind,a,b\n{}", rows(20, 60))))
        .file("cut.csv.gz", &gz(&text)[..100]);
    let flags = format!("{COLUMNS} --fill x=mean --standardise x --epochs 2");
    let train = |data: &str| folder.rml(&format!("train p.rml {data} {flags}"));
    let expected = train("--data t.csv").out;
    assert!(expected.contains("test loss"), "{expected}");
    for data in ["t.csv.gz", "t.csv.zst", "part-*.csv.gz", "t.data --data-format csv"] {
        assert_eq!(train(&format!("--data {data}")).out, expected, "{data}");
        assert_eq!(train(&format!("--on-disk --data {data}")).out, expected, "{data}");
    }
    let piped =
        |on_disk: &str| folder.rml_with(&format!("train p.rml --data - {flags} {on_disk}"), &text).out;
    assert_eq!((piped(""), piped("--on-disk")), (expected.clone(), expected));
    train("--data cut.csv.gz").fails(1, &["malformed-data", "cut.csv.gz", "its gzip data ends too early"]);
    train("--data cut.csv.gz --on-disk")
        .fails(1, &["malformed-data", "cut.csv.gz", "its gzip data ends too early"]);
    train("--data none-*.csv").fails(1, &["unreadable-file", "it is a pattern that no file matches"]);
    train("--data t.data").fails(1, &["unknown-format", "`--data-format csv` reads it"]);
    train("--data - --data -").fails(1, &["bad-option", "standard input (`-`) is given twice"]);
    let json = folder.rml_with(&format!("train p.rml --data - {flags}"), "{\"x\": [[1, 2]], \"y\": [0]}");
    json.fails(1, &["malformed-data", "standard input", "--data-format json", "--data-format jsonl"]);
}

/// The cells of a column of the table, without the header.
fn column(table: &str, name: &str) -> Vec<String> {
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let at = rows[0].iter().position(|own| *own == name).expect("a column");
    rows[1..].iter().map(|row| row[at].to_owned()).collect()
}

#[test]
fn classes_are_written_by_name_and_read_back() {
    let folder = folder();
    let flags = format!("{COLUMNS} --fill x=mean --standardise x --epochs 20 --batch 8");
    folder.rml(&format!("train p.rml --data t.csv {flags} --save c.safetensors")).ok();
    // The node has no label, and shares the parameters with the training.
    let named = "infer p.rml --node named --params c.safetensors --split all --data t.csv";
    folder.rml(&format!("{named} --out o.csv")).ok();
    let kinds = column(&table(), "kind");
    assert_eq!(column(&folder.read("o.csv"), "kind"), kinds);
    folder.rml(&format!("{named} --out o.json")).ok();
    let json: Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    assert_eq!(json["kind"], json!(kinds));
    folder.rml(&format!("{named} --out o.npz")).ok();
    let npz = std::fs::read(folder.path("o.npz")).expect("an archive");
    assert!(npz.windows(14).any(|bytes| bytes == b"kind.names.npy"));

    // Class names in the output, and numbers as before: from a table, from JSON, from an archive.
    let folder = folder.file("numbers.csv", "kind\n1\n0\n");
    let again = "infer p.rml --node again --params c.safetensors --columns y=kind --out z.json --data";
    for (data, expected) in [
        ("o.csv", json!(kinds)),
        ("o.json", json!(kinds)),
        ("o.npz", json!(kinds)),
        ("numbers.csv", json!(["owl", "emu"])),
    ] {
        folder.rml(&format!("{again} {data}")).ok();
        let json: Value = serde_json::from_str(&folder.read("z.json")).expect("JSON");
        assert_eq!(json["z"], expected, "{data}");
        assert!(json["n"][0].is_i64(), "{json}");
    }
}

#[test]
fn lines_and_traces_have_the_names_of_classes() {
    let folder = folder();
    let flags = format!("{COLUMNS} --standardise x --fill x=mean --epochs 20 --batch 8");
    folder.rml(&format!("train p.rml --data t.csv {flags} --save c.safetensors")).ok();
    let lines = "{\"y\": \"emu\"}\n{\"y\": 1}\n";
    let stream = folder.rml_with("infer p.rml --node again --params c.safetensors --stream", lines).ok();
    assert_eq!(
        stream,
        "{\"cycle\": 0, \"z\": \"emu\", \"n\": 1}\n{\"cycle\": 1, \"z\": \"owl\", \"n\": 2}\n"
    );
    let folder = folder.file("x.json", "{\"x\": [[[3001, 0.5]], [[5001, 0.8]]]}");
    let common = "p.rml --node named --batch 1 --params c.safetensors --columns x=x --inputs x.json";
    assert_eq!(folder.rml(&format!("run {common}")).json()["values"]["kind"], json!([["owl"], ["emu"]]));
    assert_eq!(folder.rml(&format!("run {common} --format csv")).ok(), "kind[0]\nowl\nemu\n");
    let drawn = folder.rml(&format!("trace {common} --vars outputs")).ok();
    assert!(drawn.contains("[owl]") && drawn.contains("[emu]"), "{drawn}");
}

#[test]
fn cases_of_an_enumeration_are_written_by_name() {
    let program = "enum way = Up, Down;\n\nnode main(w: way, x: int []) -> (v, n)\n  v = Down fby w;\n  \
                   n = x + (if w == Down then 1 else 0);\n  assert \"small\" x < 9 or w == Up;\n";
    let folder = Folder::new()
        .file("w.rml", program)
        .file("named.csv", "w,x\nUp,1\nDown,2\n")
        .file("numbers.csv", "w,x\n0,1\n1,2\n")
        .file("large.csv", "w,x\nDown,9\n");
    for data in ["named.csv", "numbers.csv"] {
        let run = folder.rml(&format!("run w.rml --inputs {data}")).json();
        assert_eq!(run["values"], json!({"v": ["Down", "Up"], "n": [1, 3]}));
        let all = folder.rml(&format!("run w.rml --inputs {data} --vars all --format csv")).ok();
        assert!(all.starts_with("w,x,v,n,w.case\nUp,1,Down,1,Up\nDown,2,Up,3,Down\n"), "{all}");
    }
    let table = folder.rml("run w.rml --inputs named.csv --format table").ok();
    assert!(table.contains("Down") && table.contains("Up"), "{table}");
    let drawn = folder.rml("trace w.rml --inputs numbers.csv").ok();
    let row = drawn.lines().find(|line| line.starts_with("v ")).expect("a row");
    assert!(row.contains("Down") && row.contains("Up"), "{drawn}");
    let infer = "infer w.rml --node main --data named.csv --out o.csv --split all";
    folder.rml(infer).ok();
    assert_eq!(folder.read("o.csv"), "window,v,n\n0,Down,1\n1,Up,3\n");
    let stream = folder.rml_with("infer w.rml --node main --stream", "{\"w\": \"Down\", \"x\": 1}\n").ok();
    assert_eq!(stream, "{\"cycle\": 0, \"v\": \"Down\", \"n\": 2}\n");
    folder.rml("run w.rml --inputs large.csv").fails(1, &["assertion-failed", "`w` is Down"]);
}

#[test]
fn dates_feed_inputs() {
    let program = "import std.losses;\nimport std.layers;\n\nnode net(t: num [batch, 3]) -> (o: num [batch, 1])\n  \
                   o = dense(1, t);\n\nnode train(t: num [batch, 3], y: num [batch, 1]) -> (loss: num [])\n  \
                   o, _ = diff_net(t, true, d);\n  loss, d, _ = diff_mse(o, y, true, -0.001);\n\n\
                   node show(t: num [batch, 3]) -> (u: num [batch, 3])\n  u = t;\n";
    let rows = "date,load,y\n2024-03-31 23:05,0.5,1.0\n2024-04-01T07:00:00,1.5,2.0\n";
    let folder = Folder::new().file("p.rml", program).file("d.csv", rows);
    let columns = "--columns 't=hour(date),weekday(date),load' --columns y=y..y";
    folder.rml(&format!("train p.rml --data d.csv {columns} --test 0 --epochs 1 --save c.safetensors")).ok();
    // The checkpoint also records how dates are read, for files of other formats, too.
    let other =
        "[{\"date\": \"2024-03-31 23:05\", \"load\": 0.5}, {\"date\": \"2024-04-01 07:00\", \"load\": 1.5}]";
    let folder = folder.file("d.json", other);
    for data in ["d.csv", "d.json", "d.csv --on-disk"] {
        folder.rml(&format!("infer p.rml --node show --params c.safetensors --data {data} --out o.csv")).ok();
        assert_eq!(folder.read("o.csv"), "window,u[0],u[1],u[2]\n0,23.0,6.0,0.5\n1,7.0,0.0,1.5\n", "{data}");
    }
    let wrong = folder.rml("train p.rml --data d.csv --columns 't=hours(date),load,y' --columns y=y..y");
    wrong.fails(1, &["no column `hours(date)`", "`--columns 't=hour(date)'`"]);
}

/// A label that is missing within a sequence teaches nothing: the program sees where it is.
#[test]
fn gaps_that_the_program_sees_are_left_out_of_the_loss() {
    let program = "node net(x: num [batch]) -> (o: num [batch])
  k = param(0.1);
  o = k * x;
node train(x: num [batch], y: num [batch], end: bool []) -> (loss: num [], share: num [])
  o, _ = diff_net(x, true, 0.1 * error) every end;
  known = y > -900.0;
  error = where(known, y - o, zeros_like(o));
  loss = mean(error * error);
  share = mean(to_num(known));
";
    let rows = "{\"x\": [1.0, 2.0, 3.0], \"y\": [2.0, null, 6.0]}\n{\"x\": [1.0, 2.0, 0.5], \"y\": [null, 4.0, null]}\n";
    let folder = Folder::new().file("p.rml", program).file("d.jsonl", rows);
    let train = "train p.rml --data d.jsonl --epochs 30 --test 0 --batch 1";
    let out = folder.rml(&format!("{train} --fill y=-999")).ok();
    assert!(out.contains("loss 0.0000") && out.contains("share 0.5000"), "{out}");
    folder.rml(train).fails(1, &["--fill"]);
}

/// A run begins with the states that inference begins with, and says which ones continue from training.
#[test]
fn runs_begin_as_inference_does() {
    let program = "
node line(x) -> (o)
  k = param(0.0);
  o = k * x;

node seen(x: num [batch]) -> (mean: num [], last: num [batch])
  mean = 0.0 fby 0.5 * mean + 0.5 * sum(x);
  last = zeros(shape(x)) fby x;

node train(x: num [batch], y: num [batch]) -> (loss: num [])
  mean, last = seen(x);
  o, _ = diff_line(x, true, 0.1 * (y - o));
  loss = sum((o - y) * (o - y)) + 0.0 * mean + 0.0 * sum(last);

node infer(x: num [batch]) -> (mean: num [], last: num [batch])
  mean, last = seen(x);
";
    let folder = Folder::new().file("p.rml", program).file("d.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n");
    folder
        .rml("train p.rml --data d.csv --batch 1 --test 0 --epochs 1 --no-shuffle --keep-states --save c")
        .ok();
    let folder = folder.file("x.jsonl", "{\"x\": [5]}\n");
    let run = |flags: &str| {
        let found =
            folder.rml(&format!("run p.rml --node infer --batch 1 --params c --inputs x.jsonl {flags}"));
        let note = found.err.clone();
        let values = found.json()["values"].clone();
        (values["mean"][0].as_f64().expect("a number"), values["last"][0].to_string(), note)
    };
    let (mean, last, note) = run("");
    assert!(
        mean > 1.0 && last == "[0.0]",
        "{mean} {last}: states of stacked windows restart, the mean continues"
    );
    assert!(
        note.contains("begins with the states at the end of training: `seen_0.mean` (`--fresh` resets them)"),
        "{note}"
    );
    let stream = folder.rml_with("infer p.rml --params c --batch 1 --stream", "{\"x\": [5]}\n").ok();
    assert!(stream.contains(&format!("{mean}")), "{stream} has {mean}");
    let (mean, last, note) = run("--fresh");
    assert_eq!((mean, last.as_str(), note.as_str()), (0.0, "[0.0]", ""));
}
