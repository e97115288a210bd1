//! Beginners' mistakes in data files and on the command line. For each mistake `mistakes/<name>.txt` contains the
//! output of a terminal; each output has a line that says what to do. `RML_BLESS=1` rewrites the files.

#[path = "mistakes/npz.rs"]
mod npz;
mod support;

use std::path::Path;

use npz::{Array, npz};

use support::Folder;

/// A line through points of two coordinates.
const LINE: &str = "import std.losses;

node model(x: num [2]) -> (y)
  y = sum(param(zeros([2])) * x);

node train(x: num [2], y: num []) -> (loss: num [])
  o, _ = diff_model(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);
";

/// Inputs of three types.
const TYPES: &str = "node main(x: num [], ok: bool [], n: int []) -> (o)
  o = if ok then x else to_num(n);
";

/// A classifier of two classes.
const CLASSES: &str = "import std.losses;

node model(x: num [2]) -> (y: num [2])
  y = param(zeros([2])) * x;

node train(x: num [2], y: int []) -> (loss: num [])
  o, _ = diff_model(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
";

/// A node with a size that is set from outside.
const SIZE: &str = "node main(n, y: num []) -> (o)
  o = y + sum(zeros([n]));
";

/// A node without inputs.
const COUNT: &str = "node train() -> (loss: num [], n: int [])
  loss = 0.0 fby (loss + 1.0);
  n = 0 fby (n + 1);
";

/// Mistakes in data files: the name of the mistake, the name of the file, its content.
const DATA: &[(&str, &str, &str)] = &[
    ("empty_element", "d.csv", "x[0],x[1],y\n1.0,2.0,3.0\n2.0,,3.5\n"),
    ("empty_cell", "d.csv", "x[0],x[1],y\n1.0,2.0,3.0\n2.0,1.0,\n0.5,0.1,0.2\n"),
    ("two_separators", "d.csv", "x[0],x[1];y\n1.0,a;3.0\n"),
    ("no_header", "d.csv", "1.0,2.0,3.0\n2.0,1.0,3.5\n"),
    ("decimal_commas", "d.csv", "x[0],x[1],y\n\"1,5\",2.5,3\n"),
    ("thousands", "d.csv", "x[0],x[1],y\n\"1,000\",2,3\n"),
    ("percent", "d.csv", "x[0],x[1],y\n10%,2.0,3\n"),
    ("not_available", "d.csv", "x[0],x[1],y\n1.0,NA,3.0\n"),
    ("category", "d.csv", "x[0],x[1],y\n1.0,2.0,cat\n"),
    ("numbered_columns", "d.csv", "x0,x1,y\n1.0,2.0,3.0\n"),
    ("other_columns", "d.csv", "height,weight,y\n1.0,2.0,3.0\n"),
    ("label_column", "d.csv", "x[0],x[1],label\n1.0,2.0,3.0\n"),
    ("longer_names", "d.json", "{\"x_train\": [[1, 2]], \"y_train\": [3]}"),
    ("comma_after_lines", "d.jsonl", "{\"x\": [1, 2], \"y\": 3},\n{\"x\": [1, 2], \"y\": 3}\n"),
    (
        "short_row",
        "d.jsonl",
        "{\"x\": [1, 2], \"y\": 3}\n{\"x\": [1], \"y\": 3}\n{\"x\": [1, 2], \"y\": 3}\n",
    ),
    ("wrapped_rows", "d.json", "{\"data\": [{\"x\": [1, 2], \"y\": 3}]}"),
    (
        "packed_too_short",
        "d.json",
        "{\"x\": [[1, 2], [1, 2], [1, 2], [1, 2]], \"lengths\": [2, 3], \"y\": [1, 2]}",
    ),
    ("lengths_as_numbers", "d.json", "{\"x\": [[[1, 2], [1, 2]]], \"lengths\": [2.0], \"y\": [1]}"),
    ("wide_rows", "d.json", "{\"x\": [[1, 2, 3, 4]], \"y\": [1]}"),
    ("capital_letters", "d.csv", "x[0],x[1],Y\n1.0,2.0,3.0\n"),
    ("one_column", "d.csv", "x,y\n1.0,3.0\n"),
    ("three_columns", "d.csv", "x[0],x[1],x[2],y\n1.0,2.0,3.0,3.0\n"),
    ("from_one", "d.csv", "x[1],x[2],y\n1.0,2.0,3.0\n"),
    ("list_in_a_cell", "d.csv", "x,y\n\"[1.0, 2.0]\",3.0\n\"[2.0, 1.0]\",3.5\n"),
    ("columns_by_row", "d.json", "{\"x\": {\"0\": 1.5, \"1\": 2.5}, \"y\": {\"0\": 1.5, \"1\": 2.5}}"),
    ("lengths", "d.json", "{\"x\": [[1, 2], [1, 2]], \"y\": [3]}"),
    ("one_row", "d.json", "{\"x\": [1, 2], \"y\": [3]}"),
    ("transposed", "d.json", "{\"x\": [[1, 2, 3], [1, 2, 3]], \"y\": [3, 4, 5]}"),
    ("single_quotes", "d.json", "{'x': [[1, 2]], 'y': [3]}"),
    ("trailing_comma", "d.json", "{\"x\": [[1, 2],], \"y\": [3]}"),
    ("array_file", "d.npy", "x[0],x[1],y\n"),
    ("text_file", "d.txt", "x[0],x[1],y\n"),
    ("sheet", "d.xlsx", "PK"),
    ("not_a_number", "d.csv", "x[0],x[1],y\n1.0,2.0,3.0\n2.0,nan,3.5\n"),
    ("infinite", "d.csv", "x[0],x[1],y\n1.0,2.0,3.0\n2.0,inf,3.5\n0.5,0.1,0.2\n"),
    ("text_as_archive", "d.npz", "x[0],x[1],y\n1.0,2.0,3.0\n"),
    ("empty_file", "d.csv", ""),
    ("null_in_a_list", "d.jsonl", "{\"x\": [1, 2], \"y\": 3}\n{\"x\": [1, null], \"y\": 3}\n"),
    ("short_row_of_blanks", "d.csv", "x[0] x[1]  y\n1.0  2.0  3.0\n2.0  1.0  3.5\n2.0  1.0\n"),
];

/// The NumPy type of 64-bit numbers.
const NUMBERS: &str = "<f8";

/// Mistakes in archives of NumPy arrays: the name, and the arrays.
const ARCHIVES: &[(&str, &[Array<'_>])] = &[
    ("npz_without_names", &[("arr_0", NUMBERS, "(2, 2)", &[0; 32]), ("arr_1", NUMBERS, "(2,)", &[0; 16])]),
    ("npz_of_texts", &[("x", NUMBERS, "(2, 2)", &[0; 32]), ("y", "<U1", "(2,)", b"a\0\0\0b\0\0\0")]),
    ("npz_of_objects", &[("x", "|O", "(2, 2)", b"\x80\x04]."), ("y", NUMBERS, "(2,)", &[0; 16])]),
    ("npz_of_a_scalar", &[("x", NUMBERS, "(2, 2)", &[0; 32]), ("y", NUMBERS, "()", &[0; 8])]),
    ("npz_transposed", &[("x", NUMBERS, "(2, 3)", &[0; 48]), ("y", NUMBERS, "(3,)", &[0; 24])]),
    ("npz_with_nan", &[("x", NUMBERS, "(2, 2)", &[0xFF; 32]), ("y", NUMBERS, "(2,)", &[0; 16])]),
];

/// Data about which the command prints a warning and continues: the name, the name of the file, its content, the
/// program, and the flags.
const WARNINGS: &[(&str, &str, &str, &str, &str)] = &[
    ("one_hot", "d.json", "{\"x\": [[1, 2], [3, 4]], \"y\": [[0, 1], [1, 0]]}", CLASSES, ""),
    ("length_column", "d.json", "{\"x\": [[[1, 2], [0, 0]]], \"y\": [[1, 0]], \"length\": [1]}", LINE, ""),
    ("parameters_of_zeros", "d.json", "{\"x\": [[1, 2]], \"y\": [1]}", LAYERS, ""),
    (
        "overshooting",
        "d.csv",
        "x[0],x[1],y[0]\n9.0,9.5,3.0\n9.2,9.1,0.5\n7.0,9.1,0.5\n9.2,8.1,0.5\n9.0,9.5,3.0\n9.2,9.1,0.5\n7.0,9.1,0.5\n9.2,8.1,0.5\n9.0,9.5,3.0\n9.2,9.1,0.5\n7.0,9.1,0.5\n9.2,8.1,0.5\n9.0,9.5,3.0\n9.2,9.1,0.5\n7.0,9.1,0.5\n9.2,8.1,0.5\n",
        STACKED,
        "--batch 8",
    ),
    (
        "label_among_inputs",
        "d.csv",
        "x[0],x[1],y\n0.0,0.0,0\n0.1,1.0,1\n0.2,0.0,0\n0.3,1.0,1\n0.4,0.0,0\n0.5,1.0,1\n0.6,0.0,0\n0.7,1.0,1\n0.8,0.0,0\n0.9,1.0,1\n1.0,0.0,0\n1.1,1.0,1\n1.2,0.0,0\n1.3,1.0,1\n1.4,0.0,0\n1.5,1.0,1\n1.6,0.0,0\n1.7,1.0,1\n1.8,0.0,0\n1.9,1.0,1\n2.0,0.0,0\n2.1,1.0,1\n2.2,0.0,0\n2.3,1.0,1\n",
        STACKED_CLASSES,
        "",
    ),
    (
        "sigmoid_of_a_temperature",
        "d.csv",
        "x[0],x[1],y[0]\n0.0,1.00,14.5\n0.1,0.95,15.5\n0.2,0.90,16.5\n0.3,0.85,17.5\n0.4,0.80,18.5\n0.5,0.75,19.5\n",
        SIGMOID,
        "",
    ),
    ("weights_of_zeros", "d.json", "{\"x\": [[1, 2], [2, 1], [1, 1]], \"y\": [1, 2, 3]}", BIASED, ""),
    ("windows_of_one_cycle", "d.json", "{\"x\": [[[1, 2], [3, 4]]], \"y\": [1]}", STEPS, ""),
    (
        "fewer_than_a_batch",
        "d.csv",
        "x[0],x[1],y[0]\n1.0,2.0,3.0\n2.0,1.0,0.5\n3.0,1.0,0.5\n",
        STACKED,
        "--batch 8",
    ),
    ("large_inputs", "d.csv", "x[0],x[1],y[0]\n90.0,95.0,3.0\n92.0,91.0,0.5\n", STACKED, ""),
    (
        "large_targets",
        "d.csv",
        "x[0],x[1],y[0]\n90.0,95.0,300000.0\n92.0,91.0,310000.0\n",
        STACKED,
        "--epochs 3",
    ),
    ("no_change", "d.csv", "x[0],x[1],y[0]\n1.0,0.5,-3.0\n0.5,1.0,-2.0\n", POSITIVE, "--epochs 4"),
    ("rows_as_windows", "d.csv", "x[0],x[1],y\n1.0,2.0,3.0\n2.0,1.0,3.5\n", CYCLES, ""),
];

/// A net whose last layer gives numbers between 0 and 1.
const SIGMOID: &str = "import std.losses;

node model(x: num [batch, 2]) -> (y)
  y = sigmoid(matmul(x, param([[0.1], [0.2]])));

node train(x: num [batch, 2], y: num [batch, 1]) -> (loss: num [])
  o, _ = diff_model(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);
";

/// Two layers whose matrices start as zeros.
const BIASED: &str = "node model(x: num [2]) -> (y: num [])
  h = relu(matmul(x, param(zeros([2, 3]))) + param(zeros([3])));
  y = matmul(h, param(zeros([3]))) + param(0.0);

node train(x: num [2], y: num []) -> (loss)
  o, _ = diff_model(x, true, 0.1 * (y - o));
  loss = (o - y) * (o - y);
";

/// A net whose last layer gives no negative numbers.
const POSITIVE: &str = "node model(x: num [batch, 2]) -> (y)
  y = relu(matmul(x, param([[0.5], [0.5]])));

node train(x: num [batch, 2], y: num [batch, 1]) -> (loss)
  o, _ = diff_model(x, true, y - o);
  loss = mean((o - y) * (o - y));
";

/// A sequence with one value per cycle.
const CYCLES: &str = "import std.losses;

node last(x: num [2]) -> (y: num [])
  y = param(0.5) * sum(x) + (0.0 fby y);

node model(x: num [2], end: bool []) -> (y: num [])
  y = last(x) every end;

node train(x: num [2], end: bool [], y: num []) -> (loss: num [])
  o, _ = diff_model(x, end, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);
";

/// Two layers that start as zeros.
const LAYERS: &str = "import std.losses;

node model(x: num [2]) -> (y: num [1])
  w1 = param(zeros([2, 3]));
  w2 = param(zeros([3, 1]));
  y = matmul(relu(matmul(x, w1)), w2);

node train(x: num [2], y: num []) -> (loss: num [])
  o, _ = diff_model(x, true, do);
  loss, do, _ = diff_mse(o, [y], true, -0.1);
";

/// A sequence as a single value.
const STEPS: &str = "import std.losses;

node last(x: num [2, 2]) -> (y: num [])
  y = param(0.5) * sum(x) + (0.0 fby y);

node model(x: num [2, 2], end: bool []) -> (y: num [])
  y = last(x) every end;

node train(x: num [2, 2], end: bool [], y: num []) -> (loss: num [])
  o, _ = diff_model(x, end, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);
";

/// A line through points, in stacked windows.
const STACKED: &str = "node model(x: num [batch, 2]) -> (y)
  y = matmul(x, param(zeros([2, 1])));

node train(x: num [batch, 2], y: num [batch, 1]) -> (loss: num [])
  o, _ = diff_model(x, true, 0.1 * (y - o));
  loss = mean((o - y) * (o - y));
";

/// Mistakes in a file of inputs of three types.
const INPUTS: &[(&str, &str, &str)] = &[
    ("yes", "d.csv", "x,ok,n\n1,yes,3\n"),
    ("zero_and_one", "d.csv", "x,ok,n\n1,1,3\n"),
    ("huge_integer", "d.csv", "x,ok,n\n1,true,1e16\n"),
    ("broken_integer", "d.csv", "x,ok,n\n1,true,3.5\n"),
    ("empty_cell_of_a_run", "d.csv", "x,ok,n\n1,true,3\n2,true,3\n4,,3\n"),
];

/// Wrong command lines, in a folder with the programs and `d.csv`.
const COMMANDS: &[(&str, &str)] = &[
    ("learning_rate", "train line.rml --data d.csv --lr 0.5"),
    ("label_under_another_name", "train line.rml --data l.csv --columns x=a,b"),
    ("learning_rate_equals", "train line.rml --data d.csv --learning-rate=0.5"),
    ("optimiser", "train line.rml --data d.csv --optimizer adam"),
    ("epoch", "train line.rml --data d.csv --epoch 3"),
    ("short_flag", "train line.rml --data d.csv -e 3"),
    ("batch_size", "train line.rml --data d.csv --batch-size 3"),
    ("underscore", "train line.rml --data d.csv --save_every 3"),
    ("static_as_flag", "train line.rml --data d.csv --units 3"),
    ("gpu", "train line.rml --data d.csv --gpu"),
    ("parameters_of_a_run", "run line.rml --params d.safetensors"),
    ("data_without_flag", "train line.rml d.csv"),
    ("setting_without_flag", "train line.rml --data d.csv units=3"),
    ("no_data", "train line.rml"),
    ("no_inputs", "run line.rml"),
    ("data_without_inputs", "train count.rml --data d.csv"),
    ("backend_gpu", "run line.rml --backend gpu"),
    ("backend_tensorflow", "run line.rml --backend tensorflow"),
    ("negative_count", "train line.rml --data d.csv --epochs -1"),
    ("text_as_count", "train line.rml --data d.csv --epochs ten"),
    ("program_first", "line.rml"),
    ("file_to_test_on", "train line.rml --data d.csv --test l.csv"),
    ("epochs_without_inputs", "train count.rml --epochs 100"),
    ("outputs_as_a_table", "infer line.rml --node model --data d.csv --out o.xlsx"),
    ("predict", "predict line.rml"),
    ("no_such_data", "train line.rml --data e.csv"),
    ("no_such_program", "check line"),
    ("no_such_folder", "check programs/line.rml"),
    ("no_such_node", "run line.rml --node trian --inputs d.csv"),
    ("node_infer", "infer line.rml --data d.csv"),
    ("device_gpu", "train line.rml --data d.csv --device gpu"),
    ("data_and_windows", "train line.rml --data d.csv --windows 100"),
    ("output_of_infer", "infer line.rml --data d.csv --output p.npz"),
    ("plot_of_a_trace", "trace line.rml --inputs d.csv --plot o.svg"),
    ("language_of_an_export", "export line.rml --lang c"),
    ("half_precision", "train line.rml --data d.csv --fp16"),
    ("checkpoint_of_a_training", "train line.rml --data d.csv --checkpoint m.safetensors"),
    ("sweep_of_an_array", "train line.rml --data d.csv --runs r --sweep rate=[0.1,0.2]"),
    ("size_with_a_point", "run size.rml --inputs d.csv --set n=3.0"),
    ("part_of_a_code", "explain sync"),
    ("data_as_program", "check d.csv"),
    ("parameters_as_program", "run d.safetensors --inputs d.csv"),
    ("parameters_without_ending", "params list weights"),
    ("part_of_a_metric", "train line.rml --data d.csv --best b.safetensors --metric los"),
    ("metric_of_validation", "train line.rml --data d.csv --best b.safetensors --metric val.loss"),
    ("flag_of_another_command", "infer line.rml --data d.csv --epochs 3"),
    ("switch_with_value", "train line.rml --data d.csv --shuffle false"),
    ("switch_equals", "train line.rml --data d.csv --no-shuffle=true"),
    ("folder_of_an_export", "export line.rml --node model --format onnx --out model.onnx"),
    ("format_of_an_export", "export line.rml --node model --out build/model.onnx"),
    ("checkpoint_of_pytorch", "infer line.rml --node model --data d.csv --params model.pt"),
    ("checkpoint_of_keras", "infer line.rml --node model --data d.csv --params model.h5"),
    (
        "weights_of_pytorch",
        "params import line.rml --node model --from model.pt --map map.toml --save m.safetensors",
    ),
    ("metric_without_direction", "train count.rml --windows 3 --patience 1 --metric n"),
];

#[test]
fn data_is_refused_with_what_to_write() {
    for (cases, program, command) in
        [(DATA, LINE, "train p.rml --epochs 1 --test 0 --data"), (INPUTS, TYPES, "run p.rml --inputs")]
    {
        for (name, file, text) in cases {
            let folder = Folder::new().file("p.rml", program).file(file, text);
            shows(name, &folder, &format!("{command} {file}"), 1);
        }
    }
}

#[test]
fn archives_are_refused_with_what_to_write() {
    for (name, arrays) in ARCHIVES {
        let folder = Folder::new().file("p.rml", LINE).file("d.npz", npz(arrays));
        shows(name, &folder, "train p.rml --epochs 1 --test 0 --data d.npz", 1);
    }
}

#[test]
fn data_that_is_doubtful_is_warned_of() {
    for (name, file, text, program, flags) in WARNINGS {
        let folder = Folder::new().file("p.rml", program).file(file, text);
        let epochs = if flags.contains("--epochs") { "" } else { "--epochs 1 " };
        let command = format!("train p.rml {epochs}--test 0 --data {file} {flags}");
        let run = folder.rml(&command);
        assert!(run.err.contains("warning["), "{name}\n{}", run.err);
        shows(name, &folder, command.trim_end(), run.code.unwrap_or(1));
    }
}

/// Words instead of class numbers: one is misspelt, one is missing.
const WORDS: &[(&str, &str)] = &[
    ("misspelt_class", "x[0],x[1],y\n1.0,2.0,cat\n2.0,1.0,Dog\n3.0,1.0,dog\n1.0,2.0,cat\n3.0,1.0,dog\n"),
    ("absent_class", "x[0],x[1],y\n1.0,2.0,cat\n2.0,1.0,\n3.0,1.0,dog\n"),
];

/// A classifier of two classes, over stacked rows.
const STACKED_CLASSES: &str = "import std.losses;

node model(x: num [batch, 2]) -> (y)
  y = matmul(x, param(zeros([2, 2])));

node train(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  o, _ = diff_model(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
";

#[test]
fn words_that_are_no_classes_are_refused_with_what_to_write() {
    for (name, text) in WORDS {
        let folder = Folder::new().file("p.rml", STACKED_CLASSES).file("d.csv", text);
        shows(name, &folder, "train p.rml --epochs 1 --test 0 --data d.csv", 1);
    }
}

#[test]
fn a_split_by_class_is_doubted() {
    let row = |i: usize| format!("{}.5,{}.25,{}\n", i % 7, i % 5, usize::from(i >= 12));
    let rows: String = (0..24).map(row).collect();
    let folder = Folder::new().file("p.rml", STACKED_CLASSES).file("d.csv", format!("x[0],x[1],y\n{rows}"));
    let train = |test: &str| folder.rml(&format!("train p.rml --epochs 1 --data d.csv --test {test}")).err;
    let told = train("last:10");
    for word in
        ["[uneven-split]", "10 of 10 windows for testing have class 1 of `y`, and 2 of 14", "`--test 0.3`"]
    {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
    assert!(!train("10").contains("uneven-split"));
}

#[test]
fn standardised_inputs_are_not_warned_of() {
    let folder = Folder::new().file("p.rml", STACKED);
    let folder = folder.file("d.csv", "x[0],x[1],y[0]\n90.0,95.0,300000.0\n92.0,91.0,310000.0\n");
    let run = folder.rml("train p.rml --epochs 2 --test 0 --data d.csv --standardise x --standardise y");
    assert!(run.code == Some(0) && !run.err.contains("warning["), "{}", run.err);
}

#[test]
fn a_row_is_a_batch_of_one_and_outputs_are_not_lost() {
    let program = format!("{STACKED}\nnode infer(x: num [batch, 2]) -> (y)\n  y = model(x);\n");
    let folder = Folder::new().file("p.rml", program).file("d.csv", "x[0] x[1]\n1.0  2.0\n3.0  4.0\n");
    let run = folder.rml("run p.rml --node model --batch 1 --inputs d.csv");
    assert!(run.err.contains("cells are separated by blanks"), "{}", run.err);
    assert_eq!(run.json()["values"]["y"], serde_json::json!([[[0.0]], [[0.0]]]));
    let run = folder.rml("run p.rml --node model --batch 1 --inputs d.csv --separator ' '");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let train = "train p.rml --epochs 1 --test 0 --save m.safetensors --data t.csv";
    let folder = folder.file("t.csv", "x[0],x[1],y[0]\n1.0,2.0,3.0\n");
    assert_eq!(folder.rml(train).code, Some(0));
    let infer = "infer p.rml --params m.safetensors --data d.csv";
    let told = "`y` is computed for each window: `--out FILE.csv`, `--out FILE.json` or `--out FILE.npz` writes them";
    let run = folder.rml(infer);
    assert!(run.err.contains(told), "{}", run.err);
    assert!(!folder.rml(&format!("{infer} --out o.npz")).err.contains(told));
}

#[test]
fn doubts_about_data_have_codes_of_their_own() {
    for (name, code) in [
        ("windows_of_one_cycle", "unused-state"),
        ("length_column", "unused-column"),
        ("parameters_of_zeros", "zero-gradient"),
        ("overshooting", "learning-rate"),
        ("label_among_inputs", "label-among-inputs"),
        ("sigmoid_of_a_temperature", "out-of-reach"),
        ("weights_of_zeros", "zero-gradient"),
        ("no_change", "zero-gradient"),
        ("large_inputs", "learning-rate"),
        ("large_targets", "learning-rate"),
        ("rows_as_windows", "unused-state"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes").join(format!("{name}.txt"));
        let told = std::fs::read_to_string(path).expect("a file");
        assert!(told.contains(&format!("warning[{code}]")), "{name}\n{told}");
    }
}

#[test]
fn command_lines_are_refused_with_what_to_write() {
    let folder = Folder::new().file("line.rml", LINE).file("count.rml", COUNT).file("size.rml", SIZE);
    let folder = folder.file("d.csv", "x[0],x[1],y\n1.0,2.0,3.0\n2.0,1.0,3.5\n");
    let folder = folder.file("l.csv", "a,b,label\n1.0,2.0,3.0\n2.0,1.0,3.5\n");
    // A file of parameters: the length of the header, an empty header, and no values.
    let folder =
        folder.file("model.pt", b"PK\x03\x04\x14\0archive/data.pkl").file("model.h5", b"\x89HDF\r\n\x1a\n\0");
    let folder = folder.file("weights", b"\x02\0\0\0\0\0\0\0{}");
    for (name, command) in COMMANDS {
        let code = i32::from(shown(&folder, command).contains("For more information")) + 1;
        shows(name, &folder, command, code);
    }
}

fn shown(folder: &Folder, command: &str) -> String {
    let run = folder.rml(command);
    let lines = format!("$ rml {command}\n{}", run.err);
    // The line of an epoch ends with a duration.
    let lines = lines.lines().filter(|line| !line.starts_with("epoch "));
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[track_caller]
fn shows(name: &str, folder: &Folder, command: &str, code: i32) {
    let found = shown(folder, command);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes").join(format!("{name}.txt"));
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(path, &found).expect("a writable file");
    } else {
        let expected = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(found, expected, "{name} (RML_BLESS=1 rewrites it)");
    }
    assert_eq!(folder.rml(command).code, Some(code), "{name}\n{found}");
    let advice = [
        "help:",
        "Help:",
        "Help 1:",
        "tip:",
        "there is no folder",
        "to try several, write",
        "and not a text",
    ];
    assert!(advice.iter().any(|word| found.contains(word)), "{name} has no advice\n{found}");
}
