//! Data files: what CSV and JSON make of the same values, and what is refused. Several of them as one.

mod support;

use support::{Folder, LINE, Run};

/// A program that passes its input on.
fn folder(ty: &str) -> Folder {
    Folder::new().file("p.rml", format!("node main(x: {ty} []) -> (o)\n  o = x;\n"))
}

/// The run over a column of that one value, from a file of each text format.
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
fn integers_are_digits_alone_in_every_format() {
    gives("int", "-0", "", "0");
    gives("int", "-9223372036854775808", "", "-9223372036854775808");
    for number in ["1e3", "3.0", "-0.0"] {
        refuses("int", number, "", &["data-type", "no point or exponent"]);
    }
    refuses("int", "9223372036854775808", "", &["data-type"]);
    refuses("int", "9223372036854775809", "", &["malformed-data", "9223372036854775809"]);
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
    refuses("num", "18446744073709551617", "--f64", &["malformed-data", "18446744073709551617"]);
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

/// A row may name what others do not; what it does not name is absent, and takes no memory.
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

/// What a format holds in few bytes takes no more memory than is allowed.
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

/// Ten points in one file, and in two files of a folder and one beside it.
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

#[test]
fn files_that_do_not_go_together_are_told() {
    let folder = parts().file("bare.csv", "x\n0.5\n").file("truth.json", r#"{"x": [true], "y": [1]}"#);
    std::fs::create_dir(folder.path("none")).expect("a folder");
    for (data, words) in [
        ("--data all.csv --data bare.csv", &["missing-column", "`y`", "bare.csv has none"][..]),
        (
            "--data all.csv --data truth.json",
            &["missing-column", "numbers in all.csv, and truth values in truth.json"],
        ),
        ("--data all.csv --data none", &["unreadable-file", "none", "a folder without a data file", ".npz"]),
        ("--data all.csv --data gone.csv", &["unreadable-file", "gone.csv"]),
        ("--data parts --save parts/a.csv", &["output-is-input", "a.csv"]),
    ] {
        folder.rml(&format!("train l.rml {data} --epochs 1")).fails(1, words);
    }
}
