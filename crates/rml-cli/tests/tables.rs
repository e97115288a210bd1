//! Tables as other tools write them: separators, decimal marks, comments, missing values, names. `data/tables/make.py`
//! makes the files and records how pandas reads them.

mod support;

use std::path::Path;

use serde_json::Value;
use support::Folder;

/// Outputs three columns, each where it has a value.
const PASS: &str = "node main(a, b, c: num []) -> (x, y, z)
  x = a;
  y = b;
  z = c;
";

/// Learns from a vector and a number.
const LINE: &str = "node model(x: num [2]) -> (o)
  k = param(zeros([2]));
  o = sum(k * x);

node train(x: num [2], y: num []) -> (loss)
  o, _ = diff_model(x, true, 0.01 * (y - o));
  loss = (o - y) * (o - y);

node infer(x: num [2], y: num []) -> (loss)
  o = model(x);
  loss = (o - y) * (o - y);
";

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tables").join(name);
    std::fs::read_to_string(path).expect("a table")
}

/// The tables and the columns that pandas reads in each.
fn tables() -> Vec<(String, Value)> {
    let expected: Value = serde_json::from_str(&file("expected.json")).expect("JSON");
    expected.as_object().expect("tables").clone().into_iter().collect()
}

#[test]
fn every_dialect_is_read_as_pandas_reads_it() {
    let tables = tables();
    assert!(tables.len() >= 17);
    for (name, columns) in tables {
        let names: Vec<&String> = columns.as_object().expect("columns").keys().collect();
        let columns_of =
            ["a", "b", "c"].iter().zip(&names).map(|(input, name)| format!("--columns {input}={name}"));
        let folder = Folder::new().file("p.rml", PASS).file(&name, file(&name));
        let flags = if names[0] == "a" { String::new() } else { columns_of.collect::<Vec<_>>().join(" ") };
        let trace = folder.rml(&format!("run p.rml --f64 --inputs {name} {flags}")).json();
        for (output, column) in ["x", "y", "z"].iter().zip(&names) {
            assert_eq!(trace["values"][output], columns[column.as_str()], "{name}: {column}");
        }
    }
}

#[test]
fn a_note_says_what_was_found() {
    for (name, note) in [
        ("plain.csv", ""),
        ("tabs.tsv", ""),
        ("tabs.csv", "tabs.csv: cells are separated by tabs\n"),
        (
            "decimal_commas.csv",
            "decimal_commas.csv: cells are separated by `;`; numbers have a decimal comma\n",
        ),
        ("comments.csv", "comments.csv: lines that begin with `#` are comments\n"),
        ("missing.csv", "missing.csv: a cell `NA` or `?` has no value\n"),
    ] {
        let folder = Folder::new().file("p.rml", PASS).file(name, file(name));
        assert_eq!(folder.rml(&format!("run p.rml --inputs {name}")).err, note, "{name}");
    }
}

#[test]
fn flags_decide_what_a_file_leaves_open() {
    let folder = Folder::new()
        .file("p.rml", "node main(a, b: num []) -> (x, y)\n  x = a;\n  y = b;\n")
        .file("three.csv", "a;b\n1,234;2\n")
        .file("two.csv", "a,b;c\n1,x;y\n")
        .file("word.csv", "a,b\n1,none at all\n2,-\n")
        .file("years.csv", "1990,1991\n1,2\n")
        .file("percent.csv", "% by hand\na,b\n1,2\n");
    folder
        .rml("run p.rml --inputs three.csv")
        .fails(1, &["data-type", "line 2, column 1", "--decimal ,", "--thousands ,"]);
    folder
        .rml("run p.rml --inputs two.csv")
        .fails(1, &["malformed-data", "line 2, column 1", "--separator ';'"]);
    let a = |command: &str| folder.rml(&format!("run p.rml {command}")).json()["values"]["x"].to_string();
    assert_eq!(a("--inputs three.csv --decimal ,"), "[1.234]");
    assert_eq!(a("--inputs three.csv --thousands ,"), "[1234.0]");
    assert_eq!(a("--inputs years.csv --header --columns a=1990 --columns b=1991"), "[1.0]");
    assert_eq!(a("--inputs years.csv --columns a=0 --columns b=1"), "[1990.0,1.0]");
    assert_eq!(a("--inputs percent.csv --comment %"), "[1.0]");
    let run = folder.rml("run p.rml --inputs word.csv --missing -");
    run.fails(1, &["data-type", "line 2, column 3: `none at all` is a text"]);
    folder.rml("run p.rml --separator ;").fails(1, &["bad-option", "--separator", "--inputs"]);
    folder
        .rml("run p.rml --inputs three.csv --decimal , --thousands ,")
        .fails(1, &["bad-option", "--decimal ."]);
    folder.rml("run p.rml --inputs three.csv --separator ab").fails(2, &["one character"]);
}

#[test]
fn numbers_name_columns_where_they_look_like_names() {
    let program = "node main(x: num []) -> (y)\n  y = x;\n";
    let folder = Folder::new()
        .file("p.rml", program)
        .file("index.csv", ",0,1\n0,0.5,1\n1,0.25,2\n")
        .file("array.csv", "0,1,2\n5,0,7\n1,8,3\n")
        .file("r.csv", "\"\",\"1\",\"2\"\n\"1\",50,19\n\"2\",16,40\n")
        .file("rows.csv", "5,0,7\n1,8,3\n");
    let run = |file: &str, flags: &str| {
        let run = folder.rml(&format!("run p.rml --inputs {file} --columns x=1 {flags}"));
        (run.err.clone(), run.json()["values"]["y"].to_string())
    };
    let noted =
        |(err, values): (String, String)| (err.contains("--no-header"), err.contains("--header"), values);
    assert_eq!(noted(run("index.csv", "")), (true, false, "[1.0,2.0]".to_owned()));
    assert_eq!(noted(run("array.csv", "")), (true, false, "[0.0,8.0]".to_owned()));
    assert_eq!(run("array.csv", "--no-header").1, "[1.0,0.0,8.0]");
    assert_eq!(run("r.csv", ""), (String::new(), "[50.0,16.0]".to_owned()));
    assert_eq!(noted(run("rows.csv", "")), (false, true, "[0.0,8.0]".to_owned()));
}

#[test]
fn texts_for_missing_values_are_added_to_the_usual_ones() {
    let folder = Folder::new()
        .file("p.rml", "node main(a, b: num []) -> (x)\n  x = a + b;\n")
        .file("t.csv", "a,b\nNA,-999.0\n,\n1,2\n")
        .file("u.csv", "a,b\n1,2\n");
    let run = folder.rml("run p.rml --inputs t.csv --missing -999");
    assert_eq!(run.err, "t.csv: a cell `NA` has no value\n");
    assert_eq!(run.json()["values"]["x"].to_string(), "[null,null,3.0]");
    folder
        .rml("run p.rml --inputs t.csv --missing '' --missing -999")
        .fails(1, &["data-type", "`NA` is a text"]);
    let run = folder.rml("run p.rml --inputs u.csv --missing -999");
    assert_eq!(run.err, "u.csv: no cell that is read is `-999` (`--missing`)\n");
    for on_disk in ["", "--on-disk"] {
        let train = "node train(a, b: num []) -> (loss)\n  loss = a + b;\n";
        let run = Folder::new()
            .file("p.rml", train)
            .file("t.csv", "a,b\n1,2\n-999.0,1\n")
            .file("u.csv", "a,b\n1,2\n")
            .rml(&format!("train p.rml --data t.csv --data u.csv --missing -999 --fill a=0 --test 0 --epochs 1 {on_disk}"));
        assert!(run.code == Some(0) && !run.err.contains("no cell"), "{}", run.err);
    }
}

#[test]
fn columns_feed_inputs_by_a_mapping() {
    let text = file("decimal_commas.csv");
    let folder = Folder::new()
        .file("p.rml", LINE)
        .file("t.csv", &text)
        .file("own.csv", file("plain.csv").replace("a,b,c", "x[0],x[1],y"));
    let trained = |flags: &str| folder.rml(&format!("train p.rml --epochs 2 --test 2 {flags}")).out;
    let expected = trained("--data own.csv --save own.safetensors");
    assert!(expected.contains("test loss"), "{expected}");
    let map = "--columns x=a,b --columns y=c";
    for flags in ["", "--on-disk", "--validate 1", "--validate t.csv --on-disk"] {
        let run = trained(&format!("--data t.csv {map} {flags} --save t.safetensors"));
        if !flags.contains("--validate 1") {
            assert_eq!(run, expected, "{flags}");
        }
    }
    let infer = |flags: &str| folder.rml(&format!("infer p.rml --params t.safetensors {flags}")).out;
    assert_eq!(infer(&format!("--data t.csv {map}")), infer("--data own.csv --columns x=x --columns y=y"));
    assert_eq!(infer("--data t.csv"), infer(&format!("--data t.csv {map}")));
    let own = folder.rml("infer p.rml --params t.safetensors --data own.csv");
    own.fails(1, &["missing-column", "took it from column `a`, which the file lacks", "`--columns 'x=x'`"]);
    let wrong = |columns: &str| folder.rml(&format!("train p.rml --data t.csv --columns {columns}"));
    wrong("x=a,bb").fails(1, &["missing-column", "t.csv: line 1, column 1", "`bb`", "`a`, `b`, `c`"]);
    wrong("z=a").fails(1, &["bad-option", "no input `z`", "`x`, `y`"]);
    wrong("x").fails(1, &["bad-option", "--columns 'x=open,high,low'"]);
}
