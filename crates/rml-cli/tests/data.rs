//! Data files: the same values in CSV and JSON give the same results or the same refusal. Several files as one data
//! set.

mod support;

use support::{Folder, LINE, Run};

/// A folder with a program that outputs its input.
fn folder(ty: &str) -> Folder {
    Folder::new().file("p.rml", format!("node main(x: {ty} []) -> (o)\n  o = x;\n"))
}

/// The runs over a column with only this value, one for a file of each text format.
fn runs(ty: &str, value: &str, flags: &str) -> [Run; 3] {
    let folder = folder(ty)
        .file("i.csv", format!("x\n{value}\n"))
        .file("i.json", format!("{{\"x\": [{value}]}}"))
        .file("i.jsonl", format!("{{\"x\": {value}}}\n"));
    ["csv", "json", "jsonl"].map(|format| folder.rml(&format!("run p.rml --inputs i.{format} {flags}")))
}

#[track_caller]
fn gives(ty: &str, value: &str, flags: &str, expected: &str) {
    for run in runs(ty, value, flags) {
        assert_eq!(run.json()["values"]["o"][0].to_string(), expected, "{ty} {value} {flags}");
    }
}

#[track_caller]
fn refuses(ty: &str, value: &str, flags: &str, words: &[&str]) {
    for run in runs(ty, value, flags) {
        run.fails(1, words);
    }
}

#[test]
fn integers_are_whole_numbers_in_every_format() {
    gives("int", "-0", "", "0");
    gives("int", "-9223372036854775808", "", "-9223372036854775808");
    for (number, whole) in [("1e3", "1000"), ("3.0", "3"), ("-0.0", "0")] {
        gives("int", number, "", whole);
    }
    refuses("int", "3.5", "", &["data-type", "3.5", "no integer"]);
    refuses("int", "9223372036854775808", "", &["data-type"]);
    refuses("int", "9223372036854775809", "", &["data-type", "9223372036854775809"]);
}

#[test]
fn integers_feed_num_where_they_are_exact() {
    gives("num", "-0", "", "0.0");
    gives("num", "1e3", "", "1000.0");
    gives("num", "16777218", "", "16777218.0");
    gives("num", "-9223372036854775808", "", "-9.223372e+18");
    gives("num", "-9223372036854775808", "--f64", "-9.223372036854776e+18");
    gives("num", "16777217", "--f64", "16777217.0");
    refuses("num", "16777217", "", &["data-type", "cycle 0", "16777217", "--f64"]);
    refuses("num", "9007199254740993", "--f64", &["data-type", "9007199254740993", "float64"]);
    refuses("num", "18446744073709551617", "--f64", &["data-type", "18446744073709551617"]);
}

#[test]
fn csv_is_read_strictly() {
    for (text, words) in [
        ("x\n\"1\"2\n", ["malformed-data", "line 2, column 4"]),
        ("x\n1\"2\"\n", ["malformed-data", "line 2, column 2"]),
        ("x\n1\n\n2\n", ["malformed-data", "line 3, column 1: a blank line"]),
        ("x\n1\n2\n\n", ["malformed-data", "line 4, column 1: a blank line"]),
        ("x,y\n1,2\n3\n", ["malformed-data", "line 3, column 1: the row has 1 of 2 cells"]),
    ] {
        folder("num").file("i.csv", text).rml("run p.rml --inputs i.csv").fails(1, &words);
    }
    let absent = folder("num").file("i.csv", "x\n1\n\"\"\n2\n").rml("run p.rml --inputs i.csv").json();
    assert_eq!(absent["values"]["o"].to_string(), "[1.0,null,2.0]");
}

/// Columns of other tools that are not numbers are harmless, unless an input needs them.
#[test]
fn other_columns_may_hold_anything() {
    let rows = [("Monday", "0.5"), ("Tuesday", "1.5")];
    let csv = rows.map(|(day, x)| format!("{day},{x},3,1,\n")).concat();
    let json = rows.map(|(day, x)| format!("{{\"day\": \"{day}\", \"x\": {x}, \"at\": {{\"a\": []}}}}"));
    let folder = folder("num")
        .file("q.rml", "node main(day: num []) -> (o)\n  o = day;\n")
        .file("i.csv", format!("day,x,speed [m/s],,\n{csv}"))
        .file("i.json", format!("[{}]", json.join(",\n")))
        .file("i.jsonl", json.join("\n"))
        .file("columns.json", r#"{"x": [0.5, 1.5], "day": ["Monday", "Tuesday"], "about": "days"}"#);
    for (inputs, place) in [
        ("i.csv", "line 2, column 1: `Monday` is a text"),
        ("i.json", "line 1, column 10: row 0: the text \"Monday\" is no value"),
        ("i.jsonl", "line 1, column 9: row 0: the text \"Monday\" is no value"),
        ("columns.json", "line 1, column 27: row 0: the text \"Monday\" is no value"),
    ] {
        let run = folder.rml(&format!("run p.rml --inputs {inputs}"));
        assert_eq!(run.json()["values"]["o"].to_string(), "[0.5,1.5]", "{inputs}");
        folder
            .rml(&format!("run q.rml --inputs {inputs}"))
            .fails(1, &["error[data-type]: column `day`", place, "write numbers for categories and dates"]);
    }
}

#[test]
fn numbers_that_are_not_finite_need_quotes_in_json() {
    let folder =
        folder("num").file("i.json", "{\"x\": [1.0,\n NaN]}").file("i.jsonl", "{\"x\": 1.0}\n{\"x\": NaN}\n");
    for inputs in ["i.json", "i.jsonl"] {
        let run = folder.rml(&format!("run p.rml --inputs {inputs}"));
        run.fails(
            1,
            &["malformed-data", "line 2, column ", "`NaN` is not JSON; write it in quotes: `\"NaN\"`"],
        );
    }
}

/// A row may have keys that other rows lack; a key that it lacks is absent, and takes no memory.
#[test]
fn rows_with_keys_of_their_own() {
    let rows: String = (0..20_000).map(|i| format!("{{\"x\": 1.0, \"k{i}\": 1}}\n")).collect();
    let folder = folder("num").file("i.jsonl", &rows);
    let folder = folder.file("i.json", format!("[{}]", rows.trim_end().replace('\n', ",")));
    for inputs in ["i.json", "i.jsonl"] {
        let trace = folder.rml(&format!("--memory 32M run p.rml --inputs {inputs}")).json();
        assert_eq!(trace["cycles"], 20_000);
        folder.rml(&format!("--memory 1M run p.rml --inputs {inputs}")).fails(1, &["memory-limit", "i.json"]);
    }
}

/// Data that a format stores in few bytes cannot take more memory than is allowed.
#[test]
fn memory_is_asked_for_before_it_is_taken() {
    let json = format!("{{\"x\": [{}1]}}", "1,".repeat(500_000));
    let csv = format!("x\n{}", "1\n".repeat(500_000));
    let folder = folder("num").file("i.json", json).file("i.csv", csv);
    for inputs in ["i.json", "i.csv"] {
        let run = folder.rml(&format!("--memory 2M run p.rml --inputs {inputs}"));
        run.fails(1, &["memory-limit", "column `x`"]);
    }
}

/// Ten points in one file; and the same points in two files of a folder and one beside it.
fn parts() -> Folder {
    let folder = Folder::new().file("l.rml", LINE);
    std::fs::create_dir_all(folder.path("parts/within")).expect("folders");
    let points = |from: i32, to: i32| (from..to).map(|i| (i, 3 * i % 7)).collect::<Vec<_>>();
    let csv = |points: Vec<(i32, i32)>| {
        points.iter().fold("x,y\n".to_owned(), |csv, (x, y)| csv + &format!("0.{x},{y}\n"))
    };
    let lines = |points: Vec<(i32, i32)>| {
        points.iter().map(|(x, y)| format!("{{\"x\": 0.{x}, \"y\": {y}}}\n")).collect::<String>()
    };
    folder
        .file("all.csv", csv(points(0, 10)))
        .file("parts/b.jsonl", lines(points(3, 6)))
        .file("parts/a.csv", csv(points(0, 3)))
        .file("parts/README.md", "about them")
        .file("parts/.hidden.csv", "x,y\n1,2\n")
        .file("parts/within/c.csv", "x,y\n1,2\n")
        .file("rest.csv", csv(points(6, 10)))
}

#[test]
fn several_files_are_as_one() {
    let folder = parts();
    let whole = folder.rml("train l.rml --data all.csv --epochs 3 --save whole").ok();
    assert_eq!(folder.rml("train l.rml --data parts --data rest.csv --epochs 3 --save parted").ok(), whole);
    let inferred = |data: &str| folder.rml(&format!("infer l.rml --params whole {data}"));
    let test = inferred("--data all.csv").ok();
    assert!(test.starts_with("2 test windows\n"), "{test}");
    assert_eq!(inferred("--data parts/a.csv --data parts/b.jsonl --data rest.csv").ok(), test);
    assert!(
        inferred("--data rest.csv --data parts").ok().starts_with("10 windows\n"),
        "another order is other data"
    );
    let validated = folder.rml("train l.rml --data rest.csv --test 0 --validate parts --epochs 1").err;
    assert!(validated.contains("4 windows to train on, 6 to validate, 0 to test"), "{validated}");
}

/// A row of CSV is a window in training, so a column `end` cannot join rows to one.
#[test]
fn windows_that_do_not_end_are_explained_by_the_data() {
    let program = "
node difference(x) -> (loss)
  next = 0.0 fby back x;
  loss = (next - x) * (next - x);
node train(x: num [], end: bool []) -> (loss)
  loss = difference(x) every end;
";
    let folder = Folder::new()
        .file("p.rml", program)
        .file("rows.csv", "x,end\n1,false\n2,false\n3,true\n")
        .file("open.json", r#"{"x": [[1, 2, 3]], "end": [[false, false, false]]}"#)
        .file("windows.json", r#"{"x": [[1, 2, 3]]}"#);
    let train =
        |data: &str| folder.rml(&format!("train p.rml --data {data} --epochs 1 --test 0 --no-shuffle"));
    let end = [
        "window-incomplete",
        "column `end` is false in the last cycle",
        "leave column `end` out of the data",
    ];
    train("rows.csv")
        .fails(1, &end)
        .fails(1, &["each row of the data is a window", "store several cycles in a row"]);
    train("open.json").fails(1, &end).fails(1, &["a window of the data has 3 cycles"]);
    train("windows.json").ok();
}

#[test]
fn labels_from_one_name_their_column() {
    let program = "
import std.losses;
node f(x: num []) -> (y)  w = param(zeros([3]));  y = w * x;
node train(x: num [], label: int []) -> (loss)
  y, _ = diff_f(x, true, dy);
  loss, dy = diff_cross_entropy(y, label, true, -0.1);
";
    let folder = Folder::new().file("p.rml", program).file("i.csv", "x,label\n1,1\n2,2\n3,3\n");
    let run = folder.rml("train p.rml --data i.csv --epochs 1 --test 0 --no-shuffle");
    run.fails(
        1,
        &[
            "position-outside",
            "p.rml:6:3",
            "column `label` holds integers from 3 to 3 here",
            "write `label - 1`",
        ],
    );
}

/// The column `lengths`, or `end`, of one file says nothing about the windows of another file.
#[test]
fn a_column_that_one_file_lacks_has_no_default() {
    let program = "
node f(x: num []) -> (y)  w = param(0.5);  y = w * x;
node train(x: num [], end: bool []) -> (n, loss)
  n = 1.0 + (0.0 fby n);
  y, _ = diff_f(x, true, 0.1);
  loss = y;
";
    let folder = Folder::new()
        .file("p.rml", program)
        .file("lengths.json", r#"{"x": [[1, 2, 3, 4], [1, 2, 3, 4]], "lengths": [3, 1]}"#)
        .file("end.json", r#"{"x": [[1, 2, 3, 4], [1, 2, 3, 4]], "end": [[false, true, false, true], [false, true, false, true]]}"#)
        .file("plain.json", r#"{"x": [[1, 2, 3, 4], [1, 2, 3, 4]]}"#)
        .file("longer.jsonl", "{\"x\": [1, 2, 3, 4, 5]}\n{\"x\": [1, 2, 3, 4, 5]}\n");
    for flags in ["", "--on-disk"] {
        let train =
            |data: &str| folder.rml(&format!("train p.rml {data} --epochs 1 --test 0 --no-shuffle {flags}"));
        for (data, words) in [
            (
                "--data lengths.json --data plain.json",
                ["missing-column", "plain.json has no column `lengths`"],
            ),
            (
                "--data plain.json --data lengths.json",
                ["missing-column", "plain.json has no column `lengths`"],
            ),
            ("--data plain.json --data end.json", ["missing-column", "plain.json has no column `end`"]),
        ] {
            train(data).fails(1, &words);
        }
        train("--data plain.json --data longer.jsonl").ok();
        train("--data lengths.json").ok();
    }
}

#[test]
fn files_that_do_not_go_together_are_told() {
    let folder = parts().file("bare.csv", "x\n0.5\n").file("truth.json", r#"{"x": [true], "y": [1]}"#);
    std::fs::create_dir(folder.path("none")).expect("a folder");
    for (data, words) in [
        (
            "--data all.csv --data bare.csv",
            &["missing-column", "`y`", "bare.csv has no column `y`", "to each file"][..],
        ),
        (
            "--data all.csv --data truth.json",
            &["data-type", "numbers in all.csv, and truth values in truth.json"],
        ),
        ("--data all.csv --data none", &["unreadable-file", "none", "a folder without a data file", ".npz"]),
        ("--data all.csv --data gone.csv", &["unreadable-file", "gone.csv"]),
        ("--data parts --save parts/a.csv", &["output-is-input", "a.csv"]),
    ] {
        folder.rml(&format!("train l.rml {data} --epochs 1")).fails(1, words);
    }
}

#[test]
fn a_column_that_does_not_fit_is_not_a_missing_one() {
    let program = "node infer(x: num [], y: num []) -> (s, t)\n  s = x + y;\n  t = y;\n";
    let folder = Folder::new()
        .file("p.rml", program)
        .file("a.json", r#"{"x": [[1, 2], [3, 4]], "y": [[1, 2], [3, 4]], "lengths": [2, 1]}"#)
        .file("b.json", r#"{"x": [1, 2], "y": [[1, 2], [3, 4]], "lengths": [2, 1]}"#)
        .file("q.rml", "node infer(x: num [], y: num []) -> (s)\n  s = 2.0 * y;\n")
        .file("c.json", r#"{"y": [1, 2]}"#);
    folder.rml("infer p.rml --data a.json --data b.json").fails(1, &["data-shape", "`x`", "b.json"]);
    // No output needs the missing column.
    let run = folder.rml("infer q.rml --data c.json");
    assert!(run.code == Some(0) && !run.err.contains("warning"), "{}", run.err);
}
