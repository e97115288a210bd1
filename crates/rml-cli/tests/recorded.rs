//! Checkpoints record their columns. Later commands read data by this record: columns in another order, no labels,
//! other rows, a target on another scale, a network of another size.

mod support;

use support::Folder;

/// A line through points of three coordinates.
const FIT: &str = "import std.layers;
import std.losses;

node net(x: num [batch, 3]) -> (guess: num [batch])
  guess = dense(1, x)[.., 0];

node train(x: num [batch, 3], y: num [batch]) -> (loss: num [])
  guess, _ = diff_net(x, true, dguess);
  loss, dguess, _ = diff_mse(guess, y, true, -0.1);

node infer(x: num [batch, 3], y: num [batch]) -> (guess: num [batch], loss: num [])
  guess = net(x);
  loss = mse(guess, y);

node score(x: num [batch, 3], y: num [batch]) -> (loss: num [])
  loss = mse(net(x), y);
";

/// A table with these columns in this order.
fn table(names: &[&str]) -> String {
    let value = |name: &&str, i: usize| {
        let i = i as f64;
        match *name {
            "a" => i,
            "b" => i * i / 10.0,
            "c" => 7.0 - i,
            "gust" => 100.0 + i,
            _ => 2.0 * i + 1.0,
        }
    };
    let row = |i: usize| names.iter().map(|name| value(name, i).to_string()).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..20).map(row).collect();
    format!("{}\n{}\n", names.join(","), rows.join("\n"))
}

fn folder() -> Folder {
    Folder::new().file("p.rml", FIT).file("t.csv", table(&["a", "b", "c", "goal"]))
}

const TRAIN: &str =
    "train p.rml --data t.csv --columns x=a..c --columns y=goal --standardise x --epochs 3 --test 0";

#[test]
fn a_range_of_a_training_is_a_list_of_names() {
    let folder =
        folder().file("o.csv", table(&["goal", "a", "gust", "c", "b"])).file("w.csv", table(&["a", "c"]));
    folder.rml(&format!("{TRAIN} --save m.safetensors")).ok();
    let infer =
        |data: &str| folder.rml(&format!("infer p.rml --params m.safetensors --split all --data {data}"));
    assert_eq!(infer("o.csv").ok(), infer("t.csv").ok());
    assert_eq!(infer("o.csv --on-disk").ok(), infer("t.csv").ok());
    infer("w.csv")
        .fails(1, &["missing-column", "the training took it from column `b`", "`--columns 'x=a,NAME,c'`"]);
    infer("w.csv --columns x=a..c").fails(1, &["data-shape"]);
}

#[test]
fn columns_that_a_training_had_may_be_absent() {
    let folder = folder().file("n.csv", table(&["a", "b", "c"]));
    folder.rml(&format!("{TRAIN} --save m.safetensors")).ok();
    let infer = "infer p.rml --params m.safetensors --data n.csv";
    let run = folder.rml(&format!("{infer} --out o.json"));
    assert!(run.err.contains("warning[missing-column]: the data has no column for input `y`"), "{}", run.err);
    assert!(run.err.contains("left out, since they need it: `loss`"), "{}", run.err);
    assert!(run.err.contains("took it from column `goal`, which the file lacks"), "{}", run.err);
    run.ok();
    assert!(folder.read("o.json").contains("\"guess\""));
    // The command line takes precedence over the record.
    folder.rml(&format!("{infer} --columns y=goal")).fails(1, &["there is no column `goal` for input `y`"]);
}

#[test]
fn a_node_that_needs_labels_alone_is_told_how_to_do_without() {
    let folder = folder().file("n.csv", table(&["a", "b", "c"]));
    folder.rml(&format!("{TRAIN} --save m.safetensors")).ok();
    let score = folder.rml("infer p.rml --node score --params m.safetensors --data n.csv");
    let node = "`node predict(x: num [batch, 3]) -> (guess)  guess = net(x);`";
    score.fails(1, &["`y` is needed for `loss`, and not for `net`", node]);
}

#[test]
fn a_range_has_the_same_columns_in_all_files() {
    let folder = folder().file("o.csv", table(&["a", "gust", "c", "goal"]));
    let both = TRAIN.replace("t.csv", "t.csv --data o.csv");
    folder.rml(&both).fails(1, &["its columns are `a`, `b`, `c` in t.csv, and `a`, `gust`, `c` in o.csv"]);
    let validate = format!("{TRAIN} --validate o.csv");
    folder.rml(&validate).fails(1, &["input `x` has other columns in o.csv", "`--columns 'x=a,b,c'`"]);
}

#[test]
fn a_name_that_two_columns_have_feeds_nothing() {
    let folder = folder().file("d.csv", "a,b,b,goal\n1,2,3,4\n");
    let train = "train p.rml --data d.csv --columns x=a,b,goal --columns y=goal";
    folder.rml(train).fails(1, &["the header has `b` in columns 2 and 3", "rename one of them"]);
    // A column that no input uses is harmless.
    folder.rml("train p.rml --data d.csv --columns x=a,a,goal --columns y=goal --epochs 1 --test 0").ok();
}

#[test]
fn columns_of_one_table_in_two_files_are_put_side_by_side() {
    let folder = folder().file("x.csv", table(&["a", "b", "c"])).file("y.csv", table(&["goal"]));
    let paste = "`paste -d, x.csv y.csv > data.csv`";
    let files = "train p.rml --data x.csv --data y.csv";
    folder.rml(&format!("{files} --columns x=a,b,c --columns y=goal")).fails(1, &[paste]);
    folder.rml(&format!("{files} --columns x=a,b,c")).fails(1, &["missing-column", paste]);
}

#[test]
fn a_target_on_another_scale_is_told() {
    let folder = folder();
    let told =
        "`y` is standardised (mean 20.0000, deviation 11.5326): what is compared with it is on that scale";
    let train = folder.rml(&format!("{TRAIN} --standardise y --save m.safetensors"));
    assert!(train.err.contains(told) && !train.err.contains("`x` is standardised"), "{}", train.err);
    let infer = folder.rml("infer p.rml --params m.safetensors --data t.csv");
    assert!(infer.err.contains(told) && !infer.err.contains("`x` is standardised"), "{}", infer.err);
    folder.rml(&format!("{TRAIN} --save n.safetensors")).ok();
    let infer = folder.rml("infer p.rml --params n.safetensors --data t.csv");
    assert!(!infer.err.contains("is standardised"), "{}", infer.err);
}

#[test]
fn an_option_for_a_column_names_the_input_that_has_it() {
    let folder = folder();
    let one = TRAIN.replace("--standardise x", "--standardise a,b");
    folder.rml(&one).fails(1, &["`a`, `b` are columns of `x`", "`--standardise x`"]);
    let several = TRAIN.replace("--standardise x", "--standardise x,y");
    folder.rml(&several).fails(1, &["`--standardise x --standardise y`"]);
}

#[test]
fn other_sizes_than_those_of_a_checkpoint_are_shown_where_they_are_written() {
    let folder = folder().file("q.rml", FIT.replace("dense(1, x)", "dense(1, dense(4, x))"));
    let folder = folder.file("r.rml", FIT.replace("dense(1, x)", "dense(2, x)"));
    folder.rml(&format!("{TRAIN} --save m.safetensors")).ok();
    let infer = "--params m.safetensors --data t.csv";
    let other = folder.rml(&format!("infer r.rml {infer}"));
    other.fails(1, &["dense(2, x)", "is num [3, 2] here, and num [3, 1] in the checkpoint"]);
    folder.rml(&format!("infer q.rml {infer}")).fails(1, &["dense(4, x)"]);
}

#[test]
fn layers_that_are_repeated_are_a_call_of_the_network() {
    let own = FIT.replace("  guess = net(x);", "  guess = dense(1, x)[.., 0];");
    let folder = folder().file("own.rml", own);
    let train = TRAIN.replace("p.rml", "own.rml");
    let words = ["checkpoint-mismatch", "`train` trains the parameters of node `net`", "`guess = net(x);`"];
    folder.rml(&train.replace("--test 0", "--test 4")).fails(1, &words);
}

#[test]
fn a_network_inside_of_another_node_has_other_names() {
    let folder = folder();
    let within = format!("{FIT}\nnode policy(x: num [batch, 3]) -> (guess)\n  guess = net(x);\n");
    let within = format!("{within}\nnode act(x: num [batch, 3]) -> (guess)\n  guess = policy(x);\n");
    let folder = folder.file("w.rml", within);
    folder.rml(&format!("{TRAIN} --save m.safetensors")).ok();
    let run = folder.rml("infer w.rml --node act --params m.safetensors --data t.csv");
    assert!(!run.err.contains("``"), "{}", run.err);
    run.fails(1, &["`--params m.safetensors:policy_0`"]);
}

#[test]
fn a_run_that_is_done_or_has_other_data_says_how_to_train_on() {
    let folder = folder().file("more.csv", table(&["a", "b", "c", "goal"]) + "1,2,3,4\n");
    folder.rml(&format!("{TRAIN} --save m.safetensors")).ok();
    let resume = "train p.rml --resume m.safetensors --epochs 3";
    let done = folder.rml(&format!("{resume} --data t.csv"));
    assert!(done.err.contains("`--epochs 6` trains 3 more"), "{}", done.err);
    assert_eq!(done.ok(), "nothing was left to train\n");
    folder.rml(&format!("{resume} --data more.csv")).fails(1, &["resume-mismatch", "save_file(load_file("]);
}

#[test]
fn small_seeds_are_told_from_counts() {
    let folder = folder();
    let sweep = |seeds: &str| folder.rml(&format!("{TRAIN} --runs r{} --seeds {seeds}", seeds.len())).err;
    let told = "one seed, 5: `--seeds 0..5` are 5 seeds";
    assert!(sweep("5").contains(told) && !sweep("0..2").contains("one seed"));
}

/// A program that has only what answers needs no label, although the training had one.
#[test]
fn a_program_without_the_label_uses_the_checkpoint() {
    let net = FIT.find("node train").expect("a node");
    let ask = format!("{}node ask(x: num [batch, 3]) -> (guess)\n  guess = net(x);\n", &FIT[..net]);
    let folder = folder().file("ask.rml", ask).file("new.csv", table(&["c", "a", "b"]));
    folder.rml(&format!("{TRAIN} --save p.safetensors")).ok();
    let given = "--params p.safetensors --node ask --batch 1";
    let run = folder.rml(&format!("run ask.rml {given} --inputs new.csv")).json();
    folder.rml(&format!("infer ask.rml {given} --data new.csv --out new.npz")).ok();
    assert_eq!(run["values"]["guess"].as_array().map(Vec::len), Some(20));
    // A flag of the user is still checked.
    let wrong = format!("infer ask.rml {given} --data new.csv --columns y=a");
    folder.rml(&wrong).fails(1, &["error[bad-option]", "no input `y`"]);
}

/// Numbers that single precision does not tell apart are standardised before they are rounded: large ones, and dates in
/// seconds.
#[test]
fn numbers_are_scaled_before_they_are_rounded() {
    let net = "node line(x) -> (o)\n  k = param(1.0);\n  o = k * x;
node train(x: num []) -> (loss)\n  o, _ = diff_line(x, true, 0.0 * x);\n  loss = o;
node infer(x: num []) -> (o)\n  o = line(x);\n";
    let row = |i: u32| {
        let (north, seconds) = (5_800_000.125 + 0.25 * f64::from(i), 7 * i);
        format!("{north},2024-04-01 09:38:{seconds:02},2024-04-01T09:38:0{i}.25\n")
    };
    let rows: String = (0..8).map(row).collect();
    let folder = Folder::new().file("p.rml", net).file("t.csv", format!("north,when,exact\n{rows}"));
    for (columns, name) in [("x=north", "n"), ("x=seconds(when)", "w"), ("x=seconds(exact)", "e")] {
        let train = format!(
            "train p.rml --data t.csv --columns {columns} --standardise x --epochs 1 --test 0 --save {name}"
        );
        folder.rml(&train).ok();
        let run = folder.rml(&format!("run p.rml --node infer --params {name} --inputs t.csv")).json();
        let found: Vec<f64> =
            run["values"]["o"].as_array().unwrap().iter().map(|o| o.as_f64().unwrap()).collect();
        // Eight numbers at equal distances have the deviation 2.29 distances.
        for (i, found) in found.iter().enumerate() {
            let expected = (i as f64 - 3.5) / 5.25_f64.sqrt();
            assert!((found - expected).abs() < 1e-5, "{name}: {found} in place of {expected}");
        }
        folder.rml(&format!("infer p.rml --params {name} --data t.csv --out {name}.json")).ok();
        let inferred: serde_json::Value =
            serde_json::from_str(&folder.read(&format!("{name}.json"))).unwrap();
        assert_eq!(inferred["o"], run["values"]["o"], "{name}");
    }
}
