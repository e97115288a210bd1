//! `rml params`: lists, and errors in mappings and weights.

mod support;

use support::Folder;

const NET: &str = "import std.layers;\nnode net(x: num [3]) -> (y)\n  h = dense(4, x);\n  y = dense(2, h);\n";
const WEIGHTS: &str = r#"{"0.weight": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]], "0.bias": [0, 1, 2, 3],
    "1.weight": [[1, 2, 3, 4], [5, 6, 7, 8]], "1.bias": [0.5, 0.25]}"#;
const MAP: &str = "[[use]]\nlayout = \"torch.linear\"\nat = \"dense_{n}\"\nfrom = \"{n}\"\n";

fn folder() -> Folder {
    Folder::new().file("net.rml", NET).file("w.json", WEIGHTS).file("map.toml", MAP)
}

const IMPORT: &str = "params import net.rml --from w.json --map map.toml --save net.safetensors";

/// Checks that an import of these weights by this mapping fails with these words, the first of which is the code.
#[track_caller]
fn fails(map: &str, weights: &str, words: &[&str]) {
    let folder = folder().file("map.toml", map).file("w.json", weights);
    let run = folder.rml(IMPORT).fails(1, &words[1..]);
    let code = format!("error[{}]", words[0]);
    assert!(run.err.matches("error[").count() == run.err.matches(&code).count(), "{}", run.err);
    assert!(run.err.contains(&code), "{}", run.err);
    assert!(!folder.path("net.safetensors").exists(), "nothing is saved");
}

#[test]
fn parameters_are_listed_with_types_places_and_values() {
    let folder = folder();
    let table = folder.rml("params list net.rml").ok();
    assert!(table.contains("dense_0.kernel  num [3, 4]  std/layers.rml:"), "{table}");
    assert!(table.ends_with("4 parameters, 26 elements\n"), "{table}");
    assert_eq!(folder.rml(IMPORT).ok(), "4 parameters, 26 elements\n");
    let list = folder.rml("params list net.rml --params net.safetensors --format json").json();
    let bias = &list["params"][3];
    assert_eq!((&bias["path"], &bias["shape"]), (&"dense_1.bias".into(), &serde_json::json!([2])));
    let values = serde_json::json!({"min": 0.25, "max": 0.5, "mean": 0.375, "std": 0.125, "not_finite": 0});
    assert_eq!(bias["values"], values);
    assert!(bias["declared"]["line"].as_u64() > Some(1) && list["node"] == "net", "{list}");
}

#[test]
fn tensors_of_files_are_listed() {
    let folder = folder();
    folder.rml(IMPORT).ok();
    folder.rml("params export net.rml --params net.safetensors --map map.toml --out w.npz").ok();
    let table = folder.rml("params list w.npz").ok();
    assert!(table.contains("0.weight  f32   [4, 3]") && table.contains("4 tensors, 26 elements"), "{table}");
    let json = folder.rml("params list net.safetensors --format json").json();
    assert_eq!(json["tensors"][1]["name"], "dense_0.kernel");
    folder.rml("params list none.npz").fails(1, &["unreadable-file"]);
    let folder = folder.file("bad.safetensors", "no");
    folder.rml("params list bad.safetensors").fails(1, &["malformed-data", "bad.safetensors"]);
}

#[test]
fn a_batch_and_static_parameters_need_not_be_said() {
    let text = "import std.layers;\nnode net(units, x: num [batch, 3]) -> (y)\n  y = dense(units, x);\n";
    let folder = folder().file("net.rml", text);
    let table = folder.rml("params list net.rml --set units=5").ok();
    assert!(table.contains("num [3, 5]"), "{table}");
    folder.rml("params list net.rml").fails(1, &["static-not-set"]);
}

#[test]
fn layouts_are_listed_and_printed() {
    let folder = Folder::new();
    let all = folder.rml("params layouts").ok();
    assert!(all.lines().count() > 25 && all.contains("torch.lstm ") && all.contains("flax.embed"), "{all}");
    let one = folder.rml("params layouts torch.linear").ok();
    assert!(one.starts_with("[layout.\"torch.linear\"]") && one.contains("o i -> i o"), "{one}");
    folder.rml("params layouts torch.linea").fails(1, &["bad-option", "torch.linear"]);
}

#[test]
fn a_layout_of_ones_own() {
    let map = format!("{MAP}\n[layout.mine]\nabout = \"transposed\"\nseparator = \":\"\n[layout.mine.params]\nkernel = \"{{from}}k\"\nbias = \"{{from}}b\"\n")
        .replace("torch.linear", "mine");
    let weights = r#"{"0:k": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], "0:b": [0, 1, 2, 3],
        "1:k": [[1, 2], [3, 4], [5, 6], [7, 8]], "1:b": [0, 1]}"#;
    let folder = folder().file("map.toml", map).file("w.json", weights);
    folder.rml(IMPORT).ok();
}

#[test]
fn mappings_that_are_no_mappings() {
    let code = "malformed-mapping";
    fails("[params\n", WEIGHTS, &[code, "not TOML", "map.toml:1"]);
    fails("[param]\n", WEIGHTS, &[code, "has no key `param`", "is `params` meant?"]);
    fails(&MAP.replace("linear", "lineer"), WEIGHTS, &[code, "no layout `torch.lineer`", "torch.linear"]);
    fails(&MAP.replace("from = \"{n}", "from = \"{m}"), WEIGHTS, &[code, "{m}"]);
    fails(&format!("{MAP}bits = 3\n"), WEIGHTS, &[code, "no option `bits`", "separator"]);
    let entry = |text: &str| {
        format!("[params]\n\"dense_{{n}}.kernel\" = {text}\n\"dense_{{n}}.bias\" = \"{{n}}.bias\"\n")
    };
    for (text, words) in [
        ("3", "must be a table"),
        ("{ tensr = \"a\" }", "must have one of the keys"),
        ("{ tensor = \"a\", sum = [\"b\"] }", "must have one of the keys"),
        ("{ tensor = \"a\", axis = 3 }", "no key `axis`"),
        ("{ tensor = \"a\", rearrange = \"o i\" }", "no `->`"),
        ("{ tensor = \"a\", rearrange = \"o -> i\" }", "do not have the same axes"),
        ("{ tensor = \"a\", rearrange = { axes = \"o -> o\", w = 2 } }", "no axis `w`"),
        ("{ tensor = \"a\", reorder = { blocks = \"i f -> i i\" } }", "do not have the same blocks"),
        ("{ tensor = \"a\", flip = -1 }", "not negative"),
        ("{ tensor = \"a\", flip = 0, rearrange = \"o i -> i o\" }", "no order"),
        ("{ tensor = \"a\", flip = 0, steps = [] }", "beside `steps`"),
        ("{ tensor = \"a\", steps = [{}] }", "a step is empty"),
        ("{ tensor = \"a\", cut = { block = 2, of = 2 } }", "no such block"),
        ("{ tensor = \"a\", cut = { range = [2, 1] } }", "ends before it begins"),
        ("{ concat = [\"a\", \"b\"], sizes = [1] }", "2 parts and 1 sizes"),
        ("{ sum = [] }", "no parts"),
        ("{ fill = \"x\" }", "must be a number"),
        ("1979-05-27", "no dates"),
        ("\"{n+99999999999999999999}\"", "cannot be computed"),
    ] {
        fails(&entry(text), WEIGHTS, &[code, words]);
    }
    fails("[params]\ndense_0.kernel = \"a\"\n", WEIGHTS, &["unknown-parameter", "`dense_0`"]);
    fails("[fixed]\na = { type = \"f8\", value = 0 }\n", WEIGHTS, &[code, "`f8`", "bf16"]);
}

#[test]
fn parameters_are_made_once() {
    fails(
        "[params]\n\"dense_2.kernel\" = \"a\"\n",
        WEIGHTS,
        &["unknown-parameter", "dense_2.kernel", "dense_"],
    );
    fails(
        &MAP.replace("torch.linear", "torch.rnn"),
        WEIGHTS,
        &["unknown-parameter", "recurrent", "torch.rnn"],
    );
    fails(
        &format!("{MAP}[params]\n\"dense_1.bias\" = \"1.bias\"\n"),
        WEIGHTS,
        &["parameter-twice", "dense_1.bias"],
    );
    let one = MAP.replace("dense_{n}", "dense_0").replace("{n}", "0");
    fails(&one, WEIGHTS, &["parameter-not-mapped", "dense_1.kernel", "dense_1.bias", "declared here"]);
}

#[test]
fn tensors_are_there_and_used() {
    fails(
        &MAP.replace("\"{n}\"", "\"l{n}\""),
        WEIGHTS,
        &["unknown-tensor", "l0.weight", "is `0.weight` meant?"],
    );
    let more = WEIGHTS.replace("\"0.bias\"", "\"aux\": [1, 2], \"0.bias\"");
    fails(MAP, &more, &["unused-tensor", "`aux`", "ignore = [\"aux\"]"]);
    let half = format!(
        "{}[params]\n\"dense_1.kernel\" = {{ tensor = \"1.weight\", rearrange = \"o i -> i o\" }}\n\
         \"dense_1.bias\" = {{ tensor = \"long\", cut = {{ range = [1, 3] }} }}\n",
        MAP.replace("dense_{n}", "dense_0").replace("{n}", "0")
    );
    let long = WEIGHTS.replace("\"1.bias\": [0.5, 0.25]", "\"long\": [1, 2, 3, 4]");
    fails(&half, &long, &["unused-tensor", "2 of the 4 elements of `long`"]);
    let null = WEIGHTS.replace("0.25", "null");
    fails(MAP, &null, &["unused-tensor", "1.bias"]);
}

#[test]
fn shapes_and_types_are_compared() {
    let code = "tensor-shape";
    fails(
        MAP,
        &WEIGHTS.replace(", [10, 11, 12]", ""),
        &[code, "`0.weight`", "expected [4, 3], found [3, 3]", "num [3, 4]"],
    );
    let entry = |text: &str| {
        format!(
            "[params]\n\"dense_{{n}}.bias\" = \"{{n}}.bias\"\n\"dense_1.kernel\" = {{ tensor = \"1.weight\", rearrange = \"o i -> i o\" }}\n\"dense_0.kernel\" = {text}\n"
        )
    };
    for (text, words) in [
        ("{ tensor = \"0.weight\", reorder = { axis = 1, blocks = \"a b c -> c b a\" } }", "3 equal blocks"),
        ("{ tensor = \"0.weight\", flip = 2 }", "axis 2"),
        ("{ tensor = \"0.weight\", rearrange = \"a b c -> c b a\" }", "it must give [3, 4]"),
        ("{ tensor = \"0.weight\", rearrange = \"a b -> (a b)\" }", "it must give [3, 4]"),
        ("{ concat = [\"0.weight\", \"0.weight\"], axis = 0 }", "along axis 0"),
        ("{ concat = [\"0.weight\", \"0.weight\"], axis = 0, equal = true }", "2 equal parts"),
        ("{ stack = [\"0.bias\", \"0.bias\"] }", "which is 2"),
        ("{ tensor = \"0.weight\", cut = { axis = 3, block = 0, of = 2 } }", "cut from the tensor"),
    ] {
        fails(&entry(text), WEIGHTS, &[code, words]);
    }
    fails(MAP, &WEIGHTS.replace("0.25", "1e39"), &["tensor-type", "too large for f32", "--f64"]);
    fails(MAP, &WEIGHTS.replace("[1, 2, 3],", "[16777217, 2, 3],"), &["tensor-type", "integers"]);
    fails(MAP, &WEIGHTS.replace("[0.5, 0.25]", "[true, false]"), &["tensor-type", "bool"]);
}

#[test]
fn numbers_are_rounded_and_counted() {
    let folder = folder().file("w.json", WEIGHTS.replace("0.25", "0.1"));
    assert!(folder.rml(IMPORT).ok().contains("1 rounded to single precision"));
    assert!(!folder.rml(&format!("{IMPORT} --f64")).ok().contains("rounded"));
    let list = folder.rml("params list net.safetensors").ok();
    assert!(list.contains("f64"), "{list}");
}

#[test]
fn what_has_no_place_is_not_exported() {
    let folder = folder().file(
        "no_bias.toml",
        "[params]\n\"dense_{n}.kernel\" = \"k{n}\"\n\"dense_{n}.bias\" = { fill = 0 }\n",
    );
    let folder = folder
        .file("shared.toml", "[params]\n\"dense_{n}.kernel\" = \"k{n}\"\n\"dense_0.bias\" = { concat = [\"b\", \"c\"], sizes = [2, 2] }\n\"dense_1.bias\" = \"b\"\n")
        .file("gap.toml", "[params]\n\"dense_{n}.kernel\" = \"k{n}\"\n\"dense_{n}.bias\" = { tensor = \"b{n}\", cut = { block = 0, of = 2 } }\n")
        .file("shapes.toml", "[params]\n\"dense_{n}.kernel\" = \"k\"\n\"dense_{n}.bias\" = \"b{n}\"\n")
        .file("open.toml", "[params]\n\"dense_{n}.kernel\" = { concat = [\"k{n}\", \"l{n}\"] }\n\"dense_{n}.bias\" = \"b{n}\"\n");
    folder.rml(IMPORT).ok();
    let export = "params export net.rml --params net.safetensors --out out.npz --map";
    let code = "export-mismatch";
    folder.rml(&format!("{export} no_bias.toml")).fails(1, &[code, "dense_0.bias", "it is constant"]);
    folder.rml(&format!("{export} shared.toml")).fails(1, &[code, "share tensor `b`"]);
    folder.rml(&format!("{export} gap.toml")).fails(1, &[code, "4 of its 8 elements"]);
    folder.rml(&format!("{export} shapes.toml")).fails(1, &[code, "disagree about the shape of tensor `k`"]);
    folder.rml(&format!("{export} open.toml")).fails(1, &["tensor-shape", "--like", "sizes = [..]"]);
    assert!(!folder.path("out.npz").exists());
    let wrong = "params export net.rml --params net.safetensors --map map.toml --out out.json";
    folder.rml(wrong).fails(1, &["unknown-format"]);
}

#[test]
fn exports_are_like_a_file() {
    let folder = folder().file("like.json", WEIGHTS.replace("\"0.bias\"", "\"steps\": [7], \"0.bias\""));
    folder.rml(IMPORT).ok();
    let export = "params export net.rml --params net.safetensors --out out.safetensors --like like.json --map map.toml";
    folder.rml(export).fails(1, &["unused-tensor", "steps"]);
    let folder = folder.file("map.toml", format!("ignore = [\"st*\"]\n{MAP}"));
    folder.rml(export).ok();
    let json = folder.rml("params list out.safetensors --format json").json();
    assert_eq!(json["tensors"].as_array().map(Vec::len), Some(5), "{json}");
    folder.rml(&format!("{export} --numbers bf16")).ok();
    let table = folder.rml("params list out.safetensors").ok();
    assert!(table.contains("bf16") && table.contains("i64"), "{table}");
}

#[test]
fn a_training_begins_from_imported_weights() {
    let text = "import std.layers;\nnode line(x: num [1]) -> (y)\n  y = dense(1, x);\n\
                node train(x: num [1], t: num [1]) -> (loss: num [])\n  y, _ = diff_line(x, true, 0.01 * (t - y));\n\
                \x20 loss = sum((y - t) * (y - t));\n";
    let folder = Folder::new()
        .file("net.rml", text)
        .file("w.json", r#"{"weight": [[2]], "bias": [1]}"#)
        .file("map.toml", "[[use]]\nlayout = \"torch.linear\"\nat = \"line_0.dense_0\"\n")
        .file("data.json", r#"{"x": [[1.0], [2.0], [3.0], [4.0]], "t": [[3.0], [5.0], [7.0], [9.0]]}"#);
    folder.rml(&format!("{IMPORT} --node train")).ok();
    let train = "train net.rml --data data.json --epochs 1 --save t.safetensors --message-format json";
    let first = |run: support::Run| run.json()["train"]["loss"].as_f64();
    assert_eq!(
        first(folder.rml(&format!("{train} --resume net.safetensors"))),
        Some(0.0),
        "it knows the line"
    );
    assert!(first(folder.rml(train)) > Some(0.1), "else it would have to learn it");
}

#[test]
fn a_trained_parameter_is_declared_in_its_layer() {
    let program = "import std.layers; import std.losses; import std.optimisers;
node diff_param(init, bp, do) -> (o)
  o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);
node net(x: num [3]) -> (y)
  y = dense(2, x) + param(0.0);
node train(x: num [3], t: num [2]) -> (loss)
  y, _ = diff_net(x, true, dy);
  loss, dy, _ = diff_mse(y, t, true, -0.1);
";
    let folder = Folder::new().file("p.rml", program);
    let table = folder.rml("params list p.rml --node train").ok();
    for (parameter, place) in [("net_0.dense_0.kernel", "std/layers.rml:"), ("net_0.y", "p.rml:5:21")] {
        let line =
            table.lines().find(|line| line.starts_with(parameter)).unwrap_or_else(|| panic!("{table}"));
        assert!(line.contains(place), "{table}");
    }
}

#[test]
fn parameters_that_the_outputs_do_not_need_are_kept() {
    let text = "import std.layers;\nnode net(x: num [3]) -> (y, v)\n  y = dense(4, x);\n  v = dense(1, x);\n\
                node infer(x: num [3]) -> (y)\n  y, _ = net(x);\n";
    let map = "[params]\n\"net_0.dense_0.kernel\" = \"a\"\n\"net_0.dense_0.bias\" = \"b\"\n";
    let head = "\"net_0.dense_1.kernel\" = \"v\"\n\"net_0.dense_1.bias\" = \"c\"\n";
    let policy = r#""a": [[1, 2, 3, 4], [4, 5, 6, 7], [7, 8, 9, 1]], "b": [0, 1, 2, 3]"#;
    let value = r#""v": [[1], [2], [3]], "c": [0.5]"#;
    let folder = Folder::new()
        .file("net.rml", text)
        .file("all.toml", format!("{map}{head}"))
        .file("policy.toml", map)
        .file("all.json", format!("{{{policy}, {value}}}"))
        .file("policy.json", format!("{{{policy}}}"));
    let import = |weights: &str, map: &str| {
        folder.rml(&format!(
            "params import net.rml --node infer --from {weights} --map {map} --save n.safetensors"
        ))
    };
    assert_eq!(import("policy.json", "policy.toml").ok(), "2 parameters, 16 elements\n");
    assert_eq!(
        import("policy.json", "all.toml").ok(),
        "2 parameters, 16 elements\n",
        "the file lacks the others"
    );
    import("all.json", "policy.toml").fails(1, &["unused-tensor"]);
    assert_eq!(import("all.json", "all.toml").ok(), "4 parameters, 20 elements\n");
    let export = "params export net.rml --node infer --params n.safetensors --map all.toml --out back.npz";
    assert_eq!(folder.rml(export).ok(), "4 tensors, 20 elements\n");
    folder.rml("params list net.rml --node net --params n.safetensors").fails(1, &["net_0"]);
}

#[test]
fn a_json_file_has_single_values() {
    let folder = Folder::new()
        .file("net.rml", "node net(x: num []) -> (y)\n  k = param(1.0);\n  y = k * x;\n")
        .file("w.json", r#"{"gain": 0.5}"#)
        .file("map.toml", "[params]\n\"k\" = \"gain\"\n");
    assert_eq!(folder.rml(IMPORT).ok(), "1 parameter, 1 element\n");
    let list = folder.rml("params list net.rml --params net.safetensors --format json").json();
    assert_eq!(list["params"][0]["values"]["mean"], 0.5);
}
