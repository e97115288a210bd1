//! Parameters that have another prefix in the checkpoint than in the program, and the names of parameters in wrappers.

mod support;

use serde_json::{Value, json};
use support::Folder;

const NET: &str = "import std.layers; import std.losses;
node classify(x: num [batch, 2]) -> (logits: num [batch, 2])
  scale = stop_gradient(param(2.0));
  logits = dense(2, tanh(dense(3, scale * x)));
node model(x: num [batch, 2]) -> (logits: num [batch, 2])
  logits = classify(x);
node train(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  logits, _ = diff_classify(x, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.3);
node infer(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  loss = cross_entropy(classify(x), y);
node twice(x: num [batch, 2]) -> (a: num [batch, 2], b: num [batch, 2])
  a = classify(x);
  b = model(x);
";
const DATA: &str = r#"{"x": [[1.0, 0.5], [-1.0, 0.25], [0.5, 1.5], [-0.5, 1.0]], "y": [1, 0, 1, 0]}"#;
const TRAIN: &str = "train net.rml --data d.json --epochs 3 --batch 2 --test 0 --save c.safetensors";

fn trained() -> Folder {
    let rows = r#"{"x": [[[1.0, 0.5]], [[-1.0, 0.25]]]}"#;
    let folder = Folder::new().file("net.rml", NET).file("d.json", DATA).file("rows.json", rows);
    folder.rml(TRAIN).ok();
    folder
}

/// The parameters of `rml params list`, each with its path and its name in the checkpoint.
fn listed(folder: &Folder, args: &str) -> Vec<(String, String, Value)> {
    let list = folder.rml(&format!("params list net.rml {args} --format json")).json();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let param = |param: &Value| (text(&param["path"]), text(&param["from"]), param["values"].clone());
    list["params"].as_array().expect("a list").iter().map(param).collect()
}

#[test]
fn a_prefix_of_the_file_is_the_root_of_the_program() {
    let folder = trained();
    let root = listed(&folder, "--node classify --params c.safetensors:classify_0");
    let under = listed(&folder, "--node train --params c.safetensors");
    assert_eq!(root.len(), 5);
    for (path, from, values) in &root {
        assert_eq!(*from, format!("classify_0.{path}"));
        let same = under.iter().find(|(path, ..)| path == from).expect("a parameter");
        assert_eq!((&same.1, &same.2), (from, values));
    }
    let table = |args: &str| folder.rml(&format!("params list net.rml {args}")).ok();
    let moved = table("--node classify --params c.safetensors:classify_0");
    assert!(
        moved.contains("in the checkpoint") && moved.contains("  classify_0.dense_0.kernel  "),
        "{moved}"
    );
    assert!(!table("--node train --params c.safetensors").contains("in the checkpoint"));
}

#[test]
fn a_prefix_of_the_program_is_the_root_of_the_file() {
    let folder = trained();
    // Both prefixes can be written: one that the file does not have is that of the program.
    for prefix in ["model_0", "=model_0", "classify_0=model_0.classify_0"] {
        let both = listed(&folder, &format!("--node twice --params c.safetensors:{prefix}"));
        assert_eq!(both.len(), 10);
        for (path, from, _) in both {
            assert_eq!(path.strip_prefix("model_0.").unwrap_or(&path), from, "{prefix}");
        }
    }
}

#[test]
fn every_command_finds_them() {
    let folder = trained();
    let file = "net.rml --node classify --params c.safetensors:classify_0";
    let run = folder.rml(&format!("run {file} --batch 1 --inputs rows.json --format csv")).ok();
    folder.rml(&format!("infer {file} --data d.json --out o.csv")).ok();
    let numbers = |text: &str| {
        let rows = text.lines().skip(1).take(2).flat_map(|line| line.rsplit(',').take(2));
        rows.map(|cell| cell.parse().expect("a number")).collect::<Vec<f64>>()
    };
    assert_eq!(numbers(&run), numbers(&folder.read("o.csv")), "{run}");
    let dump = folder.rml(&format!("dump {file} --batch 1 --after draw")).ok();
    assert_ne!(dump, folder.rml("dump net.rml --node classify --batch 1 --after draw").ok());
    folder.rml(&format!("trace {file} --batch 1 --inputs rows.json")).ok();
    folder.rml(&format!("export {file} --batch 1 --out c")).ok();
    folder.rml(&format!("grad {file} --batch 1 --inputs rows.json --loss logits")).ok();
    let stream = folder.rml_with(&format!("infer {file} --stream"), "{\"x\": [1.0, 0.5]}\n").ok();
    assert!(stream.starts_with("{\"cycle\": 0, \"logits\": ["), "{stream}");
}

#[test]
fn the_message_names_the_flag_and_nothing_is_loaded_before() {
    let folder = trained();
    let infer = "infer net.rml --node classify --params c.safetensors";
    let run = folder.rml(&format!("{infer} --data d.json"));
    run.fails(1, &["checkpoint-mismatch", "`--params c.safetensors:classify_0`", "`dense_0.kernel`"]);
    folder.rml(&format!("{infer}:classify_0 --data d.json")).ok();
    let twice = folder.rml("params list net.rml --node twice --params c.safetensors");
    twice.fails(1, &["`--params c.safetensors:model_0`"]);
}

#[test]
fn several_prefixes_that_fit_are_listed() {
    let program = "import std.layers;
node actor(x: num [3]) -> (y)  y = dense(2, x);
node critic(x: num [3]) -> (y)  y = dense(2, x);
node both(x: num [3]) -> (a, b)
  a = actor(x);
  b = critic(x);
";
    let map = "[params]\n\"actor_0.dense_0.{p}\" = \"a.{p}\"\n\"critic_0.dense_0.{p}\" = \"c.{p}\"\n";
    let weights = r#"{"a.kernel": [[1, 2], [3, 4], [5, 6]], "a.bias": [0, 1], "c.kernel": [[6, 5], [4, 3], [2, 1]], "c.bias": [1, 0]}"#;
    let folder = Folder::new().file("p.rml", program).file("map.toml", map).file("w.json", weights);
    folder.rml("params import p.rml --node both --from w.json --map map.toml --save p.safetensors").ok();
    let run = folder.rml("dump p.rml --node critic --params p.safetensors --after draw");
    run.fails(1, &["2 prefixes", "`--params p.safetensors:actor_0`, `--params p.safetensors:critic_0`"]);
    let list =
        folder.rml("params list p.rml --node critic --params p.safetensors:critic_0 --format json").json();
    assert_eq!(list["params"][0]["values"]["mean"], json!(3.5));
}

#[test]
fn wrong_prefixes_are_refused() {
    let folder = trained();
    let list = |file: &str| folder.rml(&format!("params list net.rml --node classify --params {file}"));
    for prefix in ["none", "classify", "classify_0.dense"] {
        let file = format!("c.safetensors:{prefix}");
        list(&file)
            .fails(1, &["checkpoint-mismatch", "neither", &format!("`{prefix}`"), "are under `classify_0`"]);
    }
    list("c.safetensors:none=classify_0").fails(1, &["has no parameters under `none`"]);
    list("c.safetensors:classify_0=none").fails(1, &["the program has no parameter under `none`"]);
    list("c.safetensors:classify_0.dense_0").fails(1, &["checkpoint-mismatch", "missing there: `scale`"]);
    list("none.safetensors:classify_0").fails(1, &["unreadable-file", "none.safetensors cannot be read"]);
    // A prefix is no part of the name of a file that is to be protected.
    let infer = "infer net.rml --node classify --params c.safetensors:classify_0 --data d.json --out";
    folder.rml(&format!("{infer} c.safetensors")).fails(1, &["c.safetensors"]);
    list("c.safetensors:classify_0").ok();
}

#[test]
fn a_file_with_a_colon_in_its_name_is_read_as_a_whole() {
    let folder = trained();
    std::fs::copy(folder.path("c.safetensors"), folder.path("c:classify_0")).expect("a copy");
    folder.rml("params list net.rml --node train --params c:classify_0").ok();
    folder.rml("params list net.rml --node classify --params c:classify_0:classify_0").ok();
}

#[test]
fn a_training_begins_with_parameters() {
    let folder = trained();
    let first = |args: &str| {
        let run = folder.rml(&format!("{args} --data d.json --batch 2 --test 0 --message-format json"));
        let line = run.ok().lines().next().map(str::to_owned).expect("an epoch");
        serde_json::from_str::<Value>(&line).expect("JSON")
    };
    let begun = first("train net.rml --epochs 1 --init c.safetensors");
    let resumed = first("train net.rml --epochs 4 --resume c.safetensors --save r.safetensors");
    let fresh = first("train net.rml --epochs 1");
    assert_eq!((&begun["epoch"], &resumed["epoch"]), (&json!(1), &json!(4)));
    assert!(begun["train"]["loss"].as_f64() < fresh["train"]["loss"].as_f64(), "{begun} {fresh}");
    // The root of the program has another name.
    let moved = NET.replace("diff_classify", "diff_model");
    let folder = folder.file("moved.rml", moved);
    let run = |init: &str| {
        folder.rml(&format!("train moved.rml --data d.json --batch 2 --test 0 --epochs 1 --init {init}"))
    };
    run("c.safetensors").fails(1, &["c.safetensors:model_0"]);
    run("c.safetensors:model_0").ok();
    let both = "train net.rml --data d.json --resume c.safetensors --init c.safetensors";
    folder.rml(both).fails(2, &["--init"]);
}

/// A body that was trained, and a head that is new: lacking in the file, or of another shape there.
#[test]
fn a_training_begins_with_a_part() {
    let network = |head: &str| {
        format!(
            "import std.layers; import std.losses;
node body(x: num [batch, 2]) -> (h: num [batch, 3])
  h = tanh(dense(3, x));
node net(x: num [batch, 2]) -> (logits: num [batch, 2])
  logits = {head};
node train(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  logits, _ = diff_net(x, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.3);
"
        )
    };
    let new = network("dense(2, tanh(dense(4, body(x) by frozen)))");
    let new = new.replace("net(", "peak(").replace("diff_net", "diff_peak");
    let folder = Folder::new()
        .file("old.rml", network("dense(2, body(x))"))
        .file("new.rml", format!("import std.optimisers (frozen);\n{new}"))
        .file("d.json", DATA);
    let train = |program: &str, flags: &str| {
        folder.rml(&format!("train {program} --data d.json --batch 2 --test 0 --epochs 2 {flags}"))
    };
    train("old.rml", "--save old.safetensors").ok();
    let run = train("new.rml", "--init old.safetensors:net_0.body_0=peak_0.body_0 --save new.safetensors");
    let note = "new parameters have their initial values: `peak_0.dense_1.kernel` and 3 more";
    assert!(run.err.contains(note), "{}", run.err);
    let values = |file: &str, key: &str| {
        let run = folder.rml(&format!("params list {file}"));
        let numbers = |rest: &str| rest.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        run.ok().lines().find_map(|line| line.strip_prefix(key).map(numbers))
    };
    let body = values("new.safetensors", "peak_0.body_0.dense_0.kernel");
    assert!(body.is_some() && body == values("old.safetensors", "net_0.body_0.dense_0.kernel"), "{body:?}");
    // Without saying which part, all parameters are needed.
    train("new.rml", "--init old.safetensors").fails(1, &["checkpoint-mismatch", "--init FILE:THERE=HERE"]);
    train("new.rml", "--init old.safetensors:net_0.body_0=peak_0").fails(1, &["checkpoint-mismatch"]);
}

#[test]
fn a_wrapper_does_not_rename_a_parameter() {
    let text = "node kept(x) -> (o)  o = stop_gradient(x);
node net(x: num []) -> (y)
  a = stop_gradient(param(1.0));
  b = kept(0.5 * param(2.0));
  c = param(3.0) * param(4.0);
  d = 0.0 fby stop_gradient(param(5.0));
  y = a + b + c + d + x;
";
    let folder = Folder::new()
        .file("net.rml", text)
        .file("plain.rml", text.replace("stop_gradient(param(1.0))", "param(1.0)"));
    let paths = |file: &str| {
        let list = folder.rml(&format!("params list {file} --node net --format json")).json();
        let params = list["params"].as_array().expect("a list").clone();
        params.iter().map(|param| param["path"].as_str().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths("net.rml"), ["a", "b", "c.param0", "c.param1", "d.param0"]);
    assert_eq!(paths("plain.rml"), paths("net.rml"));
}

/// A checkpoint as earlier versions wrote it, in which the only parameter of an equation had a number.
#[test]
fn former_names_are_read() {
    let program = "node net(x: num []) -> (y)  k = stop_gradient(param(1.0));  y = k * x;";
    let numbers = "node net(x: num []) -> (y)  k = param(1.0) + param(2.0);  y = k * x;";
    let folder = Folder::new()
        .file("net.rml", program)
        .file("two.rml", numbers)
        .file("one.toml", "[params]\n\"k.param{n}\" = \"p{n}\"\n")
        .file("w.json", r#"{"p0": 7, "p1": 8}"#)
        .file("x.json", r#"{"x": [2.0]}"#);
    folder.rml("params import two.rml --from w.json --map one.toml --save two.safetensors").ok();
    // Two numbered parameters are not the former name of one.
    folder.rml("run net.rml --params two.safetensors --inputs x.json").fails(1, &["checkpoint-mismatch"]);
    let bytes = std::fs::read(folder.path("two.safetensors")).expect("a checkpoint");
    let bytes = replaced(&bytes, b"k.param1", b"z.param1");
    std::fs::write(folder.path("one.safetensors"), bytes).expect("a file");
    let run = folder.rml("run net.rml --params one.safetensors --inputs x.json --format csv").ok();
    assert_eq!(run.lines().last(), Some("14.0"), "{run}");
    let list = folder.rml("params list net.rml --params one.safetensors --format json").json();
    assert_eq!((&list["params"][0]["path"], &list["params"][0]["from"]), (&json!("k"), &json!("k.param0")));
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|part| part == from).expect("the name");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}
