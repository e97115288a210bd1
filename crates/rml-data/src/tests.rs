//! Binding columns to inputs: conversions, readings, and errors.

mod cut_tests;
mod files_tests;
mod prepared_tests;

use std::sync::Arc;

use rml_base::Diagnostics;
use rml_engine::{Block, InputCell};
use rml_ir::{DType, Data, InputInfo, Precision, Shape, Type, Value};

use crate::bind::by_cycle;
use crate::windows::Windows;
use crate::{Column, Columns, Elements, Format, Preparation};

fn input(name: &str, dtype: DType, dims: &[usize], clock: Option<&str>) -> InputInfo {
    InputInfo {
        name: name.into(),
        ty: Type::new(dtype, dims),
        clock: clock.map(|c| (Arc::from(c), true)),
        batched: false,
    }
}

fn batched(mut info: InputInfo) -> InputInfo {
    info.batched = true;
    info
}

fn json(text: &str) -> Columns {
    Columns::parse(text.as_bytes(), Format::Json, "test").unwrap()
}

fn codes_of(findings: Diagnostics) -> Vec<&'static str> {
    findings.iter().map(|d| d.code.name).collect()
}

fn cycle_error(text: &str, inputs: &[InputInfo]) -> Vec<&'static str> {
    codes_of(by_cycle(&json(text), inputs, Precision::F32, false, &Preparation::default()).unwrap_err())
}

fn window_error(text: &str, inputs: &[InputInfo]) -> Vec<&'static str> {
    codes_of(Windows::bind(&json(text), inputs, Precision::F32, false).unwrap_err())
}

#[test]
fn types_convert_only_without_loss() {
    let num = [input("x", DType::Num, &[], None)];
    let int = [input("x", DType::Int, &[], None)];
    let bool_ = [input("x", DType::Bool, &[], None)];
    assert!(
        by_cycle(&json(r#"{"x": [1, 2]}"#), &num, Precision::F32, false, &Preparation::default()).is_ok()
    );
    assert!(
        by_cycle(&json(r#"{"x": [16777217]}"#), &num, Precision::F64, false, &Preparation::default()).is_ok()
    );
    assert_eq!(cycle_error(r#"{"x": [16777217]}"#, &num), ["data-type"]);
    for exact in ["16777218", "-9223372036854775808", "9007199254740992", "-0", "18446744073709551616"] {
        for precision in [Precision::F32, Precision::F64] {
            assert!(
                by_cycle(
                    &json(&format!("{{\"x\": [{exact}]}}")),
                    &num,
                    precision,
                    false,
                    &Preparation::default()
                )
                .is_ok(),
                "{exact}"
            );
        }
    }
    for (precision, inexact) in [
        (Precision::F32, "9007199254740993"),
        (Precision::F32, "-16777219"),
        (Precision::F64, "9007199254740993"),
        (Precision::F64, "-9223372036854775807"),
        (Precision::F64, "9223372036854775807"),
    ] {
        let columns = json(&format!("{{\"x\": [1, {inexact}]}}"));
        let found = by_cycle(&columns, &num, precision, false, &Preparation::default()).unwrap_err();
        assert!(found.0[0].message.contains(&format!("cycle 1 of test: the integer {inexact}")), "{found}");
    }
    assert_eq!(cycle_error(r#"{"x": [1e300]}"#, &num), ["data-type"]);
    assert_eq!(cycle_error(r#"{"x": [1.5]}"#, &int), ["data-type"]);
    assert_eq!(cycle_error(r#"{"x": [1.0, 1e16]}"#, &int), ["data-type"]);
    assert_eq!(cycle_error(r#"{"x": [1.0, "NaN"]}"#, &int), ["data-type"]);
    assert_eq!(cycle_error(r#"{"x": [1]}"#, &bool_), ["data-type"]);
    assert_eq!(cycle_error(r#"{"x": [1.0]}"#, &bool_), ["data-type"]);
    // Truth values and whole numbers are read as what they are exactly.
    for (cells, inputs, expected) in [
        ("[true, false]", &num, Data::F32(vec![1.0, 0.0])),
        ("[true, false]", &int, Data::Int(vec![1, 0])),
        ("[2.0, -1e3]", &int, Data::Int(vec![2, -1000])),
    ] {
        let columns = json(&format!("{{\"x\": {cells}}}"));
        let (found, _) = by_cycle(&columns, inputs, Precision::F32, false, &Preparation::default()).unwrap();
        assert!(
            found[0].gather(&[0, 1], &Shape::new(&[2])).same(&Value::new(Shape::new(&[2]), expected)),
            "{cells}"
        );
    }
    assert_eq!(cycle_error(r#"{"x": [1.5, "NaN"]}"#, &num), ["nan-in-data"]);
    assert!(
        by_cycle(&json(r#"{"x": ["NaN"]}"#), &num, Precision::F32, true, &Preparation::default()).is_ok()
    );
}

/// A column of truth values beside columns of numbers is a column of zeros and ones; a column is not both.
#[test]
fn a_vector_has_truth_values_and_numbers() {
    let x = [input("x", DType::Num, &[2], None)];
    let selection = |fills: &[&str]| {
        let columns = crate::ColumnMapping::parse(&["x=a,b"]).unwrap();
        let fills = crate::Recipe::parse_fills(fills).unwrap();
        let recipe = crate::Recipe { columns, fills, ..crate::Recipe::default() };
        recipe.selection(crate::Selection::of(["x"])).unwrap()
    };
    let read = |text: &str, format: Format, fills: &[&str]| {
        Columns::parse_selected(text.as_bytes(), format, "t", &selection(fills)).unwrap()
    };
    let csv = "a,b\nTrue,1\nFalse,2.5\nTrue,3\n";
    let lines = "{\"a\": true, \"b\": 1}\n{\"a\": false, \"b\": 2.5}\n{\"a\": true, \"b\": 3}\n";
    for (text, format) in [(csv, Format::Csv), (lines, Format::JsonLines)] {
        let columns = read(text, format, &[]);
        assert_eq!(columns.columns["x"].elements, Elements::F64(vec![1.0, 1.0, 0.0, 2.5, 1.0, 3.0]));
        assert!(by_cycle(&columns, &x, Precision::F32, false, &Preparation::default()).is_ok());
    }
    let mixed = read("a,b\nTrue,1\n0,2\n", Format::Csv, &[]);
    assert!(mixed.unusable["x"].to_string().contains("line 3, column 1: truth values and numbers are mixed"));
    let gaps = read("a,b\nTrue,1\n,2\nFalse,\n", Format::Csv, &["x=0"]);
    let Elements::F64(v) = &gaps.columns["x"].elements else { panic!("{gaps:?}") };
    assert_eq!(v.iter().map(|x| x.is_nan()).collect::<Vec<_>>(), [false, false, true, false, false, true]);
}

/// A gap in a column of a vector is found with its row and column, or filled, in each format alike.
#[test]
fn gaps_in_vectors_are_named_or_filled() {
    let read = |text: &str, format: Format, fills: &[&str]| {
        let columns = crate::ColumnMapping::parse(&["x=a,b"]).unwrap();
        let fills = crate::Recipe::parse_fills(fills).unwrap();
        let recipe = crate::Recipe { columns, fills, ..crate::Recipe::default() };
        let selection = recipe.selection(crate::Selection::of(["x", "y"]).with_integers(["y"])).unwrap();
        Columns::parse_selected(text.as_bytes(), format, "t", &selection).unwrap()
    };
    let csv = "a,b\n1,2\n,\n,3\n4,\n";
    let lines = "{\"a\": 1, \"b\": 2}\n{}\n{\"a\": null, \"b\": 3}\n{\"a\": 4}\n";
    for (text, format) in [(csv, Format::Csv), (lines, Format::JsonLines)] {
        let column = &read(text, format, &["x=mean"]).columns["x"];
        assert_eq!((column.shape.dims(), &column.present), (&[4, 2][..], &Some(vec![0, 2, 3])));
        let Elements::F64(v) = &column.elements else { panic!("{column:?}") };
        let shown: Vec<Option<f64>> = v.iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
        assert_eq!(shown, [Some(1.0), Some(2.0), None, Some(3.0), Some(4.0), None]);
    }
    let found = read(lines, Format::JsonLines, &[]).unusable["x"].refused(String::new());
    assert_eq!(found.notes[0], "row 2: some elements are absent here, others not: column `a` has no value");
    assert!(found.help.join(" ").contains("`--fill 'x=mean'`"), "{found:?}");
    // Integers have no mean.
    let list = "{\"a\": 1, \"b\": 2, \"y\": [0, null, 1]}\n";
    let found = read(list, Format::JsonLines, &[]).unusable["y"].refused(String::new());
    assert!(found.help.join(" ").contains("`--fill 'y=0'`"), "{found:?}");
    assert!(!found.help.join(" ").contains("mean"), "{found:?}");
    let filled = read(list, Format::JsonLines, &["y=0"]);
    assert_eq!(filled.columns["y"].shape.dims(), [1, 3]);
}

/// A column of single values is a vector of one element.
#[test]
fn one_column_is_a_vector_of_one_element() {
    let x = [batched(input("x", DType::Num, &[1, 1], None))];
    let columns = Columns::parse(b"x\n1.5\n2.5\n", Format::Csv, "t").unwrap();
    let windows = Windows::bind(&columns, &x, Precision::F64, false).unwrap();
    let value = windows.values(0, &[1, 0], &[0]).unwrap().unwrap();
    assert!(value.same(&Value::new(Shape::new(&[1, 2, 1]), Data::F64(vec![2.5, 1.5]))), "{value:?}");
    let one = [input("x", DType::Num, &[1], None)];
    assert!(by_cycle(&columns, &one, Precision::F32, false, &Preparation::default()).is_ok());
    let two = [input("x", DType::Num, &[2], None)];
    assert!(by_cycle(&columns, &two, Precision::F32, false, &Preparation::default()).is_err());
}

#[test]
fn all_findings_are_collected() {
    let inputs = [
        input("x", DType::Num, &[2], None),
        input("y", DType::Int, &[], None),
        input("z", DType::Int, &[], None),
    ];
    assert_eq!(
        cycle_error(r#"{"x": [1, 2], "y": [1.5, 2]}"#, &inputs),
        ["data-shape", "data-type", "missing-column"]
    );
    assert_eq!(cycle_error(r#"{"x": [[1, 2]], "y": [1, 2], "z": [1]}"#, &inputs), ["data-shape"]);
}

#[test]
fn columns_that_contradict_themselves_are_refused() {
    let inputs = [input("x", DType::Num, &[2], None)];
    let column = |dims: &[usize], present: Option<Vec<usize>>, n: usize| {
        let mut columns = Columns::default();
        let elements = Elements::F32(vec![0.0; n]);
        columns.columns.insert("x".into(), Column { shape: Shape::new(dims), elements, present });
        columns
    };
    let run = |columns: &Columns| by_cycle(columns, &inputs, Precision::F32, false, &Preparation::default());
    assert!(run(&column(&[3, 2], None, 6)).is_ok() && run(&column(&[3, 2], Some(vec![0, 2]), 4)).is_ok());
    for bad in [
        column(&[3, 2], None, 5),
        column(&[3, 2], Some(vec![0, 2]), 6),
        column(&[3, 2], Some(vec![2, 0]), 4),
        column(&[3, 2], Some(vec![1, 3]), 4),
        column(&[], None, 0),
    ] {
        assert_eq!(codes_of(run(&bad).unwrap_err()), ["data-shape"]);
        assert_eq!(
            codes_of(Windows::bind(&bad, &inputs, Precision::F32, false).unwrap_err()),
            ["data-shape"]
        );
    }
}

#[test]
fn place_of_nan_is_named() {
    let inputs = [input("x", DType::Num, &[2], None)];
    let columns = json(r#"{"x": [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, "NaN"]]]}"#);
    let d = Windows::bind(&columns, &inputs, Precision::F32, false).unwrap_err();
    assert!(d.0[0].message.contains("window 1, cycle 1"), "{d}");
}

fn show(input: &InputCell) -> String {
    match input {
        InputCell::Absent => "-".into(),
        InputCell::Given(v) => text(v),
        InputCell::OnDemand(v) => format!("?{}", v.as_ref().map_or_else(String::new, text)),
    }
}

fn text(v: &Value) -> String {
    let mut out = String::new();
    crate::text::json_value(&mut out, v, None);
    out
}

fn rows(windows: &Windows, batch: &[usize]) -> Vec<String> {
    rows_of(&windows.block(batch, false).unwrap())
}

fn rows_of(block: &Block) -> Vec<String> {
    let (mut rows, mut row, mut shown) = (block.rows().unwrap(), Vec::new(), Vec::new());
    while rows.next_inputs(&mut row) {
        shown.push(row.iter().map(show).collect::<Vec<_>>().join(" "));
    }
    shown
}

#[test]
fn windows_drive_end_and_clocked_inputs() {
    let inputs = [
        input("x", DType::Num, &[], None),
        input("end", DType::Bool, &[], None),
        input("y", DType::Int, &[], Some("end")),
        input("held", DType::Int, &[], None),
        input("late", DType::Int, &[], Some("output")),
    ];
    let columns = json(r#"{"x": [[1.0, 2.0], [3.0, 4.0]], "y": [5, 6], "held": [7, 8], "late": [9, 10]}"#);
    let windows = Windows::bind(&columns, &inputs, Precision::F32, false).unwrap();
    assert_eq!(rows(&windows, &[1]), ["3.0 false - 8 ?10", "4.0 true 6 8 ?10"]);
}

#[test]
fn an_epoch_ends_with_the_last_cycle_of_its_last_windows() {
    let inputs = [
        batched(input("x", DType::Num, &[2], None)),
        input("epoch_end", DType::Bool, &[], None),
        input("late", DType::Bool, &[], Some("epoch_end")),
    ];
    let columns = json(r#"{"x": [[1.0, 2.0], [3.0, 4.0]]}"#);
    let windows = Windows::bind(&columns, &inputs[..2], Precision::F32, false).unwrap();
    assert_eq!(rows(&windows, &[0, 1]), ["[1.0, 3.0] false", "[2.0, 4.0] false"]);
    assert_eq!(rows_of(&windows.block(&[0, 1], true).unwrap()), ["[1.0, 3.0] false", "[2.0, 4.0] true"]);
    // A column for the clock of another input decides where windows end.
    let columns = json(r#"{"x": [[1.0, 2.0], [3.0, 4.0]], "late": [true, true]}"#);
    let windows = Windows::bind(&columns, &inputs, Precision::F32, false).unwrap();
    assert_eq!(rows(&windows, &[0, 1]), ["[1.0, 3.0] false -", "[2.0, 4.0] true true"]);
}

#[test]
fn stacked_windows_share_what_is_not_stacked() {
    let inputs = [
        batched(input("x", DType::Num, &[2, 1], None)),
        input("end", DType::Bool, &[], None),
        batched(input("y", DType::Int, &[2], Some("end"))),
    ];
    let columns = json(
        r#"{"x": [[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]], "y": [7, 8, 9],
            "end": [[false, true], [true, true], [false, true]]}"#,
    );
    let windows = Windows::bind(&columns, &inputs, Precision::F32, false).unwrap();
    assert_eq!(rows(&windows, &[2, 0]), ["[[5.0], [1.0]] false -", "[[6.0], [2.0]] true [9, 7]"]);
    assert_eq!(windows.block(&[0, 1], false).unwrap_err().code.name, "data-shape");
}

#[test]
fn rows_without_cycles_are_windows_of_one() {
    let inputs = [input("x", DType::Num, &[2], None), input("end", DType::Bool, &[], None)];
    let windows = Windows::bind(&json(r#"{"x": [[1, 2], [3, 4]]}"#), &inputs, Precision::F32, false).unwrap();
    assert_eq!((windows.count, windows.cycles), (2, 1));
    assert_eq!(rows(&windows, &[1]), ["[3.0, 4.0] true"]);
}

#[test]
fn windows_that_do_not_fit_are_refused() {
    let inputs = [input("x", DType::Num, &[2], None), input("y", DType::Int, &[], None)];
    assert_eq!(window_error(r#"{"x": [[1, 2]]}"#, &inputs), ["missing-column"]);
    assert_eq!(window_error(r#"{"x": [[1, 2, 3]], "y": [1]}"#, &inputs), ["data-shape"]);
    assert_eq!(window_error(r#"{"x": [[[1, 2]], [[1, 2]]], "y": [1]}"#, &inputs), ["data-shape"]);
    assert_eq!(window_error(r#"{"x": [[[1, 2], [1, 2]]], "y": [[1]]}"#, &inputs), ["data-shape"]);
    assert_eq!(window_error(r#"{"x": [], "y": []}"#, &inputs), ["empty-data"]);
    assert_eq!(window_error("{}", &inputs), ["empty-data"]);
    assert_eq!(window_error(r#"{"y": []}"#, &inputs[1..]), ["empty-data"]);
}

#[test]
fn damage_to_text_formats_never_panics() {
    let json = br#"{"x": [1, null, [2.5]], "y": [true, "NaN"], "inputs": {"z": [[1, 2], [3, 4]]}}"#;
    let csv = b"x,\"m[0,1]\",\"m[0,0]\"\n1,2.5,3\n,true,nan\n";
    for (good, formats) in
        [(&json[..], [Format::Json, Format::JsonLines]), (&csv[..], [Format::Csv, Format::Csv])]
    {
        for format in formats {
            for end in 0..good.len() {
                let _ = Columns::parse(&good[..end], format, "t");
                for byte in [0, b'[', b']', b'{', b'"', b'-', b'e', b',', b'\n', 0xc3, 0xff] {
                    let mut bad = good.to_vec();
                    bad[end] = byte;
                    let _ = Columns::parse(&bad, format, "t");
                }
            }
        }
    }
}

/// A column that only one file lacks is an error; a default is used only if all files lack it.
#[test]
fn defaults_are_of_columns_that_no_file_has() {
    let inputs = [input("x", DType::Num, &[], None), input("end", DType::Bool, &[], None)];
    let x = r#""x": [[1.0, 2.0], [3.0, 4.0]]"#;
    let bound = |first: &str, second: &str| {
        let [mut all, other] = [first, second].map(|more| json(&format!("{{{x}{more}}}")));
        all.origin = "first".to_owned();
        all.append(Columns { origin: "second".to_owned(), ..other }).unwrap();
        Windows::bind(&all, &inputs, Precision::F32, false)
    };
    let lengths = |windows: Windows| (0..windows.count).map(|w| windows.length(w)).collect::<Vec<_>>();
    assert_eq!(lengths(bound("", "").unwrap()), [2, 2, 2, 2]);
    assert_eq!(lengths(bound(r#", "lengths": [2, 1]"#, r#", "lengths": [1, 1]"#).unwrap()), [2, 1, 1, 1]);
    for (first, second, code, note) in [
        (r#", "lengths": [2, 1]"#, "", "missing-column", "second has no column `lengths`"),
        ("", r#", "lengths": [2, 1]"#, "missing-column", "first has no column `lengths`"),
        (
            r#", "lengths": [2, 1]"#,
            r#", "lengths": [2.0, 1.5]"#,
            "data-type",
            "integers in first, and numbers in second",
        ),
        (
            r#", "lengths": [2, 1]"#,
            r#", "lengths": [true, false]"#,
            "data-type",
            "integers in first, and truth values in second",
        ),
        (
            r#", "lengths": [2, 1]"#,
            r#", "lengths": ["2", "1"]"#,
            "data-type",
            "second, line 1, column 45: row 0",
        ),
        (r#", "end": [[false, true], [true, true]]"#, "", "missing-column", "second has no column `end`"),
        (
            r#", "end": [[false, true], [true, true]]"#,
            r#", "end": [[0, 1], [0, 1]]"#,
            "data-type",
            "in second",
        ),
        (r#", "end": [[false, true], [true, true]]"#, r#", "end": [true, false]"#, "data-shape", "in second"),
    ] {
        let found = bound(first, second).unwrap_err();
        assert_eq!(found.iter().map(|d| d.code.name).collect::<Vec<_>>(), [code], "{found}");
        assert!(found.0[0].notes.iter().any(|n| n.contains(note)), "{found:?}");
    }
}

#[test]
fn files_with_windows_of_other_lengths_are_joined() {
    let inputs = [input("x", DType::Num, &[], None), input("end", DType::Bool, &[], None)];
    let bound = |lengths: [&str; 2], inputs: &[InputInfo]| {
        let [mut all, other] = ["[[1.0, 2.0], [3.0, 4.0]]", "[[5.0, 6.0, 7.0]]"]
            .iter()
            .zip(lengths)
            .map(|(x, lengths)| json(&format!(r#"{{"x": {x}{lengths}}}"#)))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        all.origin = "first".to_owned();
        all.append(Columns { origin: "second".to_owned(), ..other }).unwrap();
        Windows::bind(&all, inputs, Precision::F32, false)
    };
    let windows = bound(["", ""], &inputs).unwrap();
    assert_eq!(rows(&windows, &[1]), ["3.0 false", "4.0 true"]);
    assert_eq!(rows(&windows, &[2]), ["5.0 false", "6.0 false", "7.0 true"]);
    let windows = bound([r#", "lengths": [1, 2]"#, r#", "lengths": [2]"#], &inputs).unwrap();
    assert_eq!(rows(&windows, &[0]), ["1.0 true"]);
    assert_eq!(rows(&windows, &[1]), ["3.0 false", "4.0 true"]);
    assert_eq!(rows(&windows, &[2]), ["5.0 false", "6.0 true"]);
    let found = bound([r#", "lengths": [1, 3]"#, r#", "lengths": [2]"#], &inputs).unwrap_err();
    assert!(found.0[0].message.contains("window 1 has 3 cycles by column `lengths`"), "{found}");
    let found = bound(["", ""], &[input("x", DType::Num, &[2], None)]).unwrap_err();
    assert!(
        found.0[0].notes.iter().any(|n| n == "its rows have the shape [2] in first, and [3] in second"),
        "{found}"
    );
}

#[test]
fn what_no_input_takes_is_refused_where_one_asks_for_it() {
    let columns = Columns::parse(b"x,day\n1.5,Monday\n2.5,Tuesday\n", Format::Csv, "table.csv").unwrap();
    let one = |name: &str| [input(name, DType::Num, &[], None)];
    assert!(by_cycle(&columns, &one("x"), Precision::F32, false, &Preparation::default()).is_ok());
    let found = by_cycle(&columns, &one("day"), Precision::F32, false, &Preparation::default()).unwrap_err();
    assert_eq!(found.0[0].message, "column `day` of table.csv cannot feed input `day: num []`");
    assert_eq!(found.0[0].notes[0], "line 2, column 5: `Monday` is a text");
    assert_eq!(found.0[0].code.name, "data-type");
}

#[test]
fn each_type_that_does_not_fit_says_what_does() {
    let why = |dtype: DType, cells: &str| {
        let found = by_cycle(
            &json(&format!(r#"{{"x": {cells}}}"#)),
            &[input("x", dtype, &[], None)],
            Precision::F32,
            false,
            &Preparation::default(),
        );
        let found = found.unwrap_err();
        assert_eq!(found.0[0].code.name, "data-type");
        [&found.0[0].notes[..], &found.0[0].help[..]].concat().join("; ")
    };
    assert!(why(DType::Bool, "[0, 1]").contains("declare the input `x` as int, and write `x == 1`"));
    assert!(why(DType::Bool, "[0.0, 1.0]").contains("declare the input `x` as num, and write `x > 0.5`"));
    assert!(why(DType::Int, "[1, 2.0, 2.5]").contains("cycle 2 of test: 2.5 is no integer"));
    assert!(why(DType::Int, "[1, \"NaN\"]").contains("cycle 1 of test: NaN is no integer"));
    assert!(why(DType::Int, "[1.0, 1e16]").contains("beyond 2^53"));
}

/// Without elements, a text format does not tell the type of a column.
#[test]
fn columns_without_elements_are_of_any_type() {
    for dtype in [DType::Bool, DType::Int, DType::Num] {
        let inputs = [input("x", dtype, &[0], None)];
        assert!(
            by_cycle(&json(r#"{"x": [[], []]}"#), &inputs, Precision::F32, false, &Preparation::default())
                .is_ok(),
            "{dtype}"
        );
    }
    let mut all = json(r#"{"x": [[]]}"#);
    let bools = Column { shape: Shape::new(&[1, 0]), elements: Elements::Bool(vec![]), present: None };
    let mut other = Columns::default();
    other.columns.insert("x".to_owned(), bools);
    all.append(other).unwrap();
    assert!(
        by_cycle(
            &all,
            &[input("x", DType::Bool, &[0], None)],
            Precision::F32,
            false,
            &Preparation::default()
        )
        .is_ok(),
        "{all:?}"
    );
}
