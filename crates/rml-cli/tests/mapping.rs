//! Mapping files, outputs in the units of the data, and states that restart in each epoch.

mod support;

use serde_json::Value;
use support::Folder;

const PROGRAM: &str = "import std.losses;
node net(x: num [batch, 2]) -> (o: num [batch])
  k = param([0.1, 0.1]);
  o = matmul(x, k);
node train(x: num [batch, 2], y: num [batch]) -> (loss)
  o, _ = diff_net(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.2);
node infer(x: num [batch, 2], y: num [batch])
    -> (o: num [batch], loss: num [], error: num [], rmse: num [], share: num [], sure: num [batch])
  o = net(x);
  loss = mse(o, y);
  error = mean(abs(o - y));
  rmse = sqrt(loss);
  share = mean((o - y) / (1.0 + abs(y)));
  sure = sigmoid(o);
node predict(x: num [batch, 2]) -> (p: num [batch])
  p = net(x);
";

const MAPPING: &str = "separator = ';'
standardise = ['x', 'y']
[columns]
x = ['a', 'b']
y = 'target'
";

fn table() -> String {
    let row = |i: i32| {
        let (a, b) = (f64::from(i * 7 % 13) - 6.0, f64::from(i * 5 % 11) - 5.0);
        format!("{a};{b};{}\n", 100.0 + 8.0 * a - 3.0 * b)
    };
    format!("a;b;target\n{}", (0..40).map(row).collect::<String>())
}

fn folder() -> Folder {
    Folder::new().file("p.rml", PROGRAM).file("t.csv", table()).file("m.toml", MAPPING)
}

#[test]
fn a_file_says_what_flags_say() {
    let folder = folder();
    let flags = "--columns x=a,b --columns y=target --separator ; --standardise x --standardise y";
    folder.rml(&format!("train p.rml --data t.csv {flags} --epochs 3 --save flags")).ok();
    folder.rml("train p.rml --data t.csv --mapping m.toml --epochs 3 --save file").ok();
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert_eq!(bytes("flags"), bytes("file"));
    // The checkpoint has all of it; the file may be given again, and flags have priority.
    let infer = |flags: &str| folder.rml(&format!("infer p.rml --data t.csv --params file {flags}"));
    let out = infer("").ok();
    assert_eq!(infer("--mapping m.toml").ok(), out);
    assert_ne!(infer("--mapping m.toml --columns y=a").ok(), out);
}

/// The program names its usual columns: flags and files have priority, and the bits are those of flags.
#[test]
fn a_program_names_the_columns_of_its_inputs() {
    let header = "columns x = a..b;\ncolumns y = target;\n";
    let named = PROGRAM.replacen('\n', &format!("\n{header}"), 1);
    let folder = folder()
        .file("named.rml", &named)
        .file("more.csv", "a;c;b;target\n1;5;2;102\n3;5;4;120\n")
        .file("bare.csv", "a;b\n1;2\n")
        .file("x.csv", "a;w\n1;2\n");
    let flags = "--columns x=a,b --columns y=target";
    let train = |program: &str, flags: &str, save: &str| {
        let how = "--data t.csv --separator ; --standardise x --epochs 3";
        folder.rml(&format!("train {program} {how} {flags} --save {save}"))
    };
    train("p.rml", flags, "flags.safetensors").ok();
    train("named.rml", "", "header.safetensors").ok();
    let tensors = |name: &str| rml::TensorFile::read(&folder.path(name)).expect("a checkpoint").tensors;
    let (ours, theirs) = (tensors("header.safetensors"), tensors("flags.safetensors"));
    assert!(ours.len() == theirs.len() && ours.iter().all(|(name, tensor)| tensor.same(&theirs[name])));
    // The checkpoint has the columns of the range by their names.
    let run = |command: &str, flags: &str| {
        folder.rml(&format!("{command} named.rml --params header.safetensors {flags}"))
    };
    run("infer", "--data more.csv --split all --out named.json").ok();
    let plain =
        folder.rml("infer p.rml --params flags.safetensors --data more.csv --split all --out flags.json");
    plain.ok();
    assert_eq!(folder.read("named.json"), folder.read("flags.json"));
    assert!(run("run", "--node predict --batch 1 --inputs bare.csv").ok().contains("\"p\""));
    assert!(run("trace", "--node predict --batch 1 --inputs bare.csv").ok().contains("cycle"));
    assert!(folder.rml("run named.rml --node predict --batch 1 --inputs bare.csv").ok().contains("\"p\""));
    // Flags have priority over files, and files over the program.
    let other = folder.file("map.toml", "separator = ';'\ncolumns.x = ['a', 'w']\n");
    let predict =
        |flags: &str| other.rml(&format!("run named.rml --node predict --batch 1 --inputs x.csv {flags}"));
    let words = ["the program takes it from column `b`, which the file lacks", "`--columns 'x=a..NAME'`"];
    predict("--separator ;").fails(1, &words);
    predict("--mapping map.toml").ok();
    predict("--mapping map.toml --columns x=w,z").fails(1, &["no column `z` for input `x`"]);
    // A missing label is left out, as after a training with flags.
    let run = other.rml("infer named.rml --params header.safetensors --data bare.csv --out o.json");
    assert!(run.err.contains("left out, since they need it: `loss`"), "{}", run.err);
    run.ok();
    // It is shown with the node, and refused at its place.
    assert!(other.rml("doc named.rml train").ok().contains("  columns x = a..b;\n  columns y = target;\n"));
    let wrong = other.file("wrong.rml", named.replace("y = target", "y = hours(target)"));
    wrong
        .rml("train wrong.rml --data t.csv")
        .fails(1, &["bad-option", "wrong.rml:3:13", "dates have no property `hours`", "there is `hour`"]);
    let wrong = wrong.file("wrong.rml", named.replace("columns y", "columns z"));
    wrong
        .rml("train wrong.rml --data t.csv")
        .fails(1, &["unknown-name", "wrong.rml:3:9", "has an input `z`"]);
}

/// A line through the points whose label is known; and the last label that was known.
const PARTLY: &str = "columns known = present(y);
node net(x: num [batch]) -> (o: num [batch])
  k = param(0.0);
  o = k * x;
node train(x: num [batch], y: num [batch], known: bool [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, 0.001 * error);
  error = where(known, y - o, zeros_like(o));
  loss = mean(error * error);
node infer(x: num [batch], y: num [batch], known: bool [batch]) -> (o: num [batch], share: num [batch])
  o = net(x);
  share = where(known, ones(shape(o)), zeros_like(o));
node held(y: num [], known: bool []) -> (o: num [])
  o = y + (if known then 10.0 else 0.0);
node alone(known: bool []) -> (o: bool [])
  o = known;
node sampled(known: bool [], y: num [] when known) -> (o: num [])
  o = merge known y ((0.0 fby o) when not known);
";

#[test]
fn a_program_asks_whether_an_input_is_present() {
    let label = |i: i32| if i % 3 == 0 { String::new() } else { format!("{}", 2 * i) };
    let rows: String = (1..=12).map(|i| format!("{i},{}\n", label(i))).collect();
    let lists = "{\"x\": [1, 2], \"y\": [2, null]}\n{\"x\": [3, 1], \"y\": [6, 2]}\n";
    let folder = Folder::new()
        .file("p.rml", PARTLY)
        .file("t.csv", format!("x,y\n{rows}"))
        .file("w.jsonl", lists)
        .file("bare.csv", "x\n1\n2\n");
    // Unknown labels do not count, whatever their gaps are filled with.
    let train = |fill: &str, save: &str| {
        folder
            .rml(&format!(
                "train p.rml --data t.csv --fill y={fill} --batch 3 --test 0 --epochs 9 --save {save}"
            ))
            .ok();
        rml::TensorFile::read(&folder.path(save)).expect("a checkpoint").tensors
    };
    let (zero, many) = (train("0", "zero.safetensors"), train("1000", "many.safetensors"));
    assert!(zero.iter().all(|(name, tensor)| tensor.same(&many[name])), "{zero:?}\n{many:?}");
    for on_disk in ["", "--on-disk"] {
        let out = "--split all --out o.json --batch 5";
        folder.rml(&format!("infer p.rml --params zero.safetensors --data t.csv {out} {on_disk}")).ok();
        let found: Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
        let share = [1.0, 1.0, 0.0].repeat(4);
        assert_eq!(found["share"], serde_json::json!(share));
    }
    // In windows: whole rows of a table, and elements of lists.
    folder.rml("infer p.rml --params zero.safetensors --data t.csv --window 4 --split all --out o.json").ok();
    let found: Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    assert_eq!(found["share"][0], serde_json::json!([1.0, 1.0, 0.0, 1.0]));
    folder.rml("infer p.rml --params zero.safetensors --data w.jsonl --split all --out o.json").ok();
    let found: Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    assert_eq!(found["share"], serde_json::json!([[1.0, 0.0], [1.0, 1.0]]));
    // Without labels, none of them is present.
    let none = folder.rml("infer p.rml --params zero.safetensors --data bare.csv --split all --out o.json");
    assert!(none.err.contains("left out, since they need it: `share`"), "{}", none.err);
    none.ok();
    // Cycle by cycle, with gaps that are filled, and as a clock.
    let run = |flags: &str| folder.rml(&format!("run p.rml --inputs t.csv --cycles 4 {flags}"));
    assert_eq!(run("--node sampled").json()["values"]["o"], serde_json::json!([2.0, 4.0, 4.0, 8.0]));
    assert_eq!(
        run("--node sampled --window 2").json()["values"]["o"],
        serde_json::json!([2.0, 4.0, 4.0, 8.0])
    );
    run("--node held").fails(1, &["sync-error", "`y`"]);
    let held = run("--node held --params zero.safetensors").json();
    assert_eq!(held["values"]["o"], serde_json::json!([12.0, 14.0, 0.0, 18.0]));
    run("--node sampled --columns y=present(known)").fails(1, &["data-type", "cannot be `present(known)`"]);
    run("--node sampled --columns known=present(z)").fails(1, &["bad-option", "has no input `z`"]);
    run("--node alone").fails(1, &["bad-option", "the node has no input `y`"]);
    run("--node sampled --columns known=y,present(y)").fails(1, &["bad-option"]);
    let wrong = folder.file("p.rml", PARTLY.replace("present(y)", "present(z)"));
    wrong.rml("run p.rml --node held --inputs t.csv").fails(1, &["p.rml:1:17", "has no input `z`"]);
}

#[test]
fn faults_of_a_file_are_shown() {
    let folder =
        folder().file("bad.toml", "separator = ';'\n[colums]\nx = 'a'\n").file("other.toml", "fill.x = 0\n");
    let train = |file: &str| folder.rml(&format!("train p.rml --data t.csv --mapping {file}"));
    train("bad.toml")
        .fails(1, &["malformed-mapping", "bad.toml:2:2", "no key `colums`", "is `columns` meant?"]);
    train("none.toml").fails(1, &["none.toml"]);
    folder.rml("train p.rml --data t.csv --mapping m.toml --epochs 1 --save c").ok();
    folder
        .rml("infer p.rml --data t.csv --params c --mapping other.toml")
        .fails(1, &["bad-option", "prepares data in another way"]);
    folder.rml("run p.rml --node predict --batch 1 --mapping m.toml").fails(1, &["bad-option", "--mapping"]);
}

#[test]
fn words_of_other_tools_work_or_get_advice() {
    let folder = folder();
    for flag in ["--sep ;", "--separator ;"] {
        folder
            .rml(&format!("train p.rml --data t.csv --columns x=a,b --columns y=target {flag} --epochs 1"))
            .ok();
    }
    folder.rml("train p.rml --data t.csv --delimiter ;").fails(2, &["--separator ';'"]);
    folder.rml("train p.rml --data t.csv --skiprows 3").fails(2, &["--comment '#'"]);
    folder.rml("infer p.rml --data t.csv --encoding latin1").fails(2, &["iconv"]);
}

/// The outputs of `rml infer`, in JSON.
fn outputs(folder: &Folder, flags: &str) -> (Value, Value) {
    let run = folder.rml(&format!(
        "infer p.rml --data t.csv --params c --split all --out o.json {flags} --message-format json"
    ));
    let metrics = serde_json::from_str(&run.ok()).expect("metrics");
    (metrics, serde_json::from_str(&folder.read("o.json")).expect("outputs"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn outputs_are_brought_to_the_units_of_the_data() {
    let folder = folder();
    folder.rml("train p.rml --data t.csv --mapping m.toml --epochs 20 --save c").ok();
    let preparation = rml::Checkpoint::read(&folder.path("c")).expect("a checkpoint").preparation();
    let (mean, deviation) = preparation.scale("y").expect("a scale");
    let (mean, deviation) = (mean[0], deviation[0]);
    let ((plain, scaled), (metrics, found)) = (outputs(&folder, ""), outputs(&folder, "--unscale"));
    let close =
        |found: &Value, expected: f64| (number(found) - expected).abs() <= 1e-5 * expected.abs().max(1.0);
    let rows = |of: &Value, name: &str| of[name].as_array().expect("a list").clone();
    for (before, after) in rows(&scaled, "o").iter().zip(&rows(&found, "o")) {
        assert!(close(after, number(before) * deviation + mean), "{before} {after}");
    }
    for (name, factor) in
        [("loss", deviation * deviation), ("error", deviation), ("rmse", deviation), ("share", 1.0)]
    {
        assert!(
            close(&metrics[name], number(&plain[name]) * factor),
            "{name}: {} {}",
            plain[name],
            metrics[name]
        );
    }
    assert_eq!(rows(&scaled, "sure"), rows(&found, "sure"), "no unit");
    let told = folder.rml("infer p.rml --data t.csv --params c --unscale").err;
    for words in ["`o` is in the unit of `y`", "`loss` is in the square of the unit of `y`"] {
        assert!(told.contains(words), "{told}");
    }
    assert!(!told.contains("`share`") && !told.contains("`sure`"), "{told}");
    // A node without the label has the same network, also on lines.
    let (_, predicted) = outputs(&folder, "--node predict --unscale");
    assert_eq!(rows(&predicted, "p"), rows(&found, "o"));
    let line = folder
        .rml_with("infer p.rml --node predict --params c --unscale --stream", "{\"x\": [-6.0, -5.0]}\n");
    let answer: Value = serde_json::from_str(line.ok().trim()).expect("an answer");
    assert_eq!(answer["p"], rows(&predicted, "p")[0]);
}

#[test]
fn outputs_without_a_unit_are_a_finding() {
    let folder = folder();
    folder
        .rml("train p.rml --data t.csv --columns x=a,b --columns y=target --epochs 1 --save c --allow-nan")
        .ok();
    let infer = "infer p.rml --data t.csv --params c --unscale";
    folder.rml(infer).fails(1, &["bad-option", "standardised no input"]);
    let text =
        format!("{PROGRAM}node other(x: num [batch, 2]) -> (m: num [])\n  m = mean(sigmoid(net(x)));\n");
    let folder = folder.file("p.rml", text);
    folder.rml("train p.rml --data t.csv --mapping m.toml --epochs 1 --save c").ok();
    folder.rml(&format!("{infer} --node other")).fails(1, &["bad-option", "no output of node other", "`x`"]);
    folder.rml("infer p.rml --data t.csv --unscale").fails(2, &["--params"]);
}

#[test]
fn states_that_restart_are_told() {
    let text = "node net(x: num []) -> (o: num [])
  k = param(0.5);
  before = 0.0 fby x;
  o = k * (x + stop_gradient(before));
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_net(x, true, 0.1 * (y - o));
  loss = (y - o) * (y - o);
";
    let folder = Folder::new().file("p.rml", text).file("t.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n5,9\n");
    let train = |flags: &str| folder.rml(&format!("train p.rml --data t.csv --no-shuffle --test 0 {flags}"));
    let told = "the state `net_0.before` restarts in each epoch (`--keep-states` lets it continue)";
    let run = train("--epochs 2 --save a");
    assert!(run.err.contains(told), "{}", run.err);
    for flags in ["--epochs 2 --keep-states --save b", "--epochs 1 --save c"] {
        let run = train(flags);
        assert!(!run.err.contains("restarts in each epoch"), "{}", run.err);
        run.ok();
    }
    assert_ne!(std::fs::read(folder.path("a")).expect("a"), std::fs::read(folder.path("b")).expect("b"));
    train("--resume a --epochs 3 --keep-states")
        .fails(1, &["resume-mismatch", "treatment of states", "restarting in each epoch"]);
    train("--resume b --epochs 3 --save b").ok();
    folder.rml("train p.rml --windows 3 --keep-states").fails(2, &["--keep-states"]);
}

/// A memory is made of itself and of what enters it, so it has the unit of that.
#[test]
fn memories_and_delays_keep_the_unit() {
    let text = "import std.losses;
import std.time;
node net(x: num [batch, 2], end: bool []) -> (o: num [batch] when end)
  k = param(zeros([2]));
  o = matmul(x, k) when end;
node train(x: num [batch, 2], y: num [batch], end: bool []) -> (loss)
  past = delay(2, y) every end;
  o, _ = diff_net(x, end, true, d);
  loss, d, _ = diff_mse(o, past when end, true, -0.1);
node infer(x: num [batch, 2], y: num [batch], end: bool []) -> (o, width: num [] when end)
  all = last(3, y) every end;
  o = net(x, end);
  width = (max(all) - min(all)) when end;
node other(y: num [batch]) -> (square: num [])
  square = mean(y * y);
";
    let rows: String = (0..40).map(|i| format!("{},{},{}\n", i % 5, i % 7, 50 + i)).collect();
    let folder = Folder::new().file("p.rml", text).file("t.csv", format!("a,b,y\n{rows}"));
    folder
        .rml("train p.rml --data t.csv --columns x=a,b --standardise x --standardise y --window 8 --epochs 2 --save c")
        .ok();
    let run = folder.rml("infer p.rml --data t.csv --params c --unscale");
    for words in ["`o` is in the unit of `y`", "`width` is in the unit of `y`"] {
        assert!(run.err.contains(words), "{}", run.err);
    }
    run.ok();
    folder.rml("infer p.rml --data t.csv --params c --unscale --node other").fails(
        1,
        &["no output of node other", "`x` or `y`", "the result of this has no unit, although `y` has one"],
    );
}
