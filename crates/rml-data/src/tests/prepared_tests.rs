//! Windows of prepared data: classes, filled gaps, one scale. Data on disk gives the same as data in memory.

use std::path::PathBuf;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error};
use rml_ir::{DType, Data, InputInfo, Precision};

use super::{batched, input};
use crate::{Columns, Dataset, Fill, OnDisk, Preparation, Recipe, Selection, Windows};

/// `x: num [batch, 2]` and `y: int [batch]`.
fn inputs() -> Vec<InputInfo> {
    vec![batched(input("x", DType::Num, &[2, 2], None)), batched(input("y", DType::Int, &[2], None))]
}

fn recipe(classes: &[&str], fills: &[&str], standardised: &[&str]) -> Recipe {
    Recipe {
        columns: crate::ColumnMapping::parse(&["x=a,b"]).unwrap(),
        classes: Recipe::parse_classes(classes).unwrap(),
        fills: Recipe::parse_fills(fills).unwrap(),
        standardised: standardised.iter().map(ToString::to_string).collect(),
        ..Recipe::default()
    }
}

fn selection(recipe: &Recipe) -> Selection {
    let columns = Selection::of(["x", "y"]).feeding(["x", "y"]).with_integers(["y"]);
    recipe.selection(columns).unwrap()
}

/// Files as data in memory, and on disk in pieces of several sizes.
fn read(files: &[(&str, &str)], recipe: &Recipe) -> Result<Vec<Box<dyn Dataset>>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| std::fs::write(path, text).unwrap());
    let mut all: Vec<Box<dyn Dataset>> = vec![Box::new(Columns::read_selected(&paths, &selection(recipe))?)];
    for piece in [1, 20, 1 << 20] {
        all.push(Box::new(OnDisk::read_by(&paths, &selection(recipe), piece)?));
    }
    Ok(all)
}

fn bind(data: &dyn Dataset, recipe: &Recipe) -> Result<Windows, Diagnostic> {
    Windows::bind_by(data, &inputs(), (Precision::F64, false), recipe).map_err(|d| d.0[0].clone())
}

/// The values of both inputs in all windows at once, with the preparation fitted to the windows of `set`.
fn prepared(data: &dyn Dataset, recipe: &Recipe, set: &[usize]) -> Result<(Vec<f64>, Vec<i64>), Diagnostic> {
    let mut windows = bind(data, recipe)?;
    let found = Preparation::fit(recipe.clone(), &[&windows], set)?;
    windows.prepare(&found);
    Ok(values(&windows))
}

fn values(windows: &Windows) -> (Vec<f64>, Vec<i64>) {
    let all: Vec<usize> = (0..windows.count).collect();
    let values = |i| windows.values(i, &all, &[0]).unwrap().unwrap().to_data();
    match (values(0), values(1)) {
        (Data::F64(x), Data::Int(y)) => (x, y),
        other => panic!("{other:?}"),
    }
}

const TABLE: &str = "a,b,y\n1,10,dog\n3,,cat\n,30,dog\n5,50,bird\n";

#[test]
fn texts_are_classes_in_their_order_or_as_stated() {
    let lines = "{\"a\": 1, \"b\": 2, \"y\": \"dog\"}\n{\"a\": 1, \"b\": 2, \"y\": \"cat\"}\n";
    let files = [("a.csv", "a,b,y\n1,2,dog\n1,2,ape\n"), ("b.jsonl", lines)];
    for (classes, expected) in [(&[][..], [2, 0, 2, 1]), (&["y=dog,cat,ape,cow"], [0, 2, 0, 1])] {
        let recipe = recipe(classes, &[], &[]);
        for data in read(&files, &recipe).unwrap() {
            assert_eq!(prepared(&*data, &recipe, &[0]).unwrap().1, expected);
        }
    }
    let numbers = recipe(&["y=2,10,1"], &[], &[]);
    for data in read(&[("a.csv", "a,b,y\n1,2,10\n1,2,1\n1,2,2\n")], &numbers).unwrap() {
        assert_eq!(prepared(&*data, &numbers, &[0]).unwrap().1, [1, 2, 0]);
    }
}

#[test]
fn a_class_that_is_not_known_is_named_with_its_row() {
    let recipe = recipe(&["y=cat,dog"], &[], &[]);
    let rows = "a,b,y\n1,2,dog\n1,2,cat\n1,2,cat\n1,2,dgo\n";
    for data in read(&[("t.csv", rows)], &recipe).unwrap() {
        let found = bind(&*data, &recipe).unwrap_err();
        assert_eq!(found.code, codes::UNKNOWN_CLASS);
        assert!(found.message.starts_with("column `y`, row 3 of "), "{}", found.message);
        assert!(found.message.ends_with("t.csv: `dgo` is no known class"), "{}", found.message);
        assert_eq!((&*found.notes[0], &*found.help[0]), ("known are `cat`, `dog`", "there is `dog`"));
    }
}

#[test]
fn texts_among_numbers_are_refused() {
    let recipe = recipe(&[], &[], &[]);
    for rows in ["a,b,y\n1,2,dog\n1,2,7\n", "a,b,y\n1,2,7\n1,2,dog\n"] {
        let data = read(&[("t.csv", rows)], &recipe).unwrap();
        assert_eq!(bind(&*data[0], &recipe).unwrap_err().code, codes::DATA_TYPE);
    }
    let two = [("a.csv", "a,b,y\n1,2,dog\n"), ("b.csv", "a,b,y\n1,2,7\n")];
    for data in read(&two, &recipe).unwrap() {
        let found = bind(&*data, &recipe).unwrap_err();
        assert!(found.notes[0].contains("it holds texts in "), "{found:?}");
    }
    // If nothing is known about inputs, texts feed none.
    let plain = Columns::parse(TABLE.as_bytes(), crate::Format::Csv, "t.csv").unwrap();
    assert!(plain.unusable.contains_key("y"));
}

#[test]
fn gaps_are_filled_by_the_mean_of_the_training_part_or_a_value() {
    let mean = recipe(&[], &["x=mean"], &[]);
    for data in read(&[("t.csv", TABLE)], &mean).unwrap() {
        let (x, _) = prepared(&*data, &mean, &[0, 1, 2]).unwrap();
        assert_eq!(x, [1.0, 10.0, 3.0, 20.0, 2.0, 30.0, 5.0, 50.0]);
    }
    let given = recipe(&[], &["x=-1", "y=cat"], &[]);
    let rows = "a,b,y\n1,,dog\n,,cat\n,2,\n";
    let json = r#"[{"x": [1, null], "y": "dog"}, {"y": "cat"}, {"x": [null, 2], "y": null}]"#;
    for (name, text) in [("t.csv", rows), ("t.json", json)] {
        let asked = if name == "t.csv" {
            given.clone()
        } else {
            Recipe { columns: Default::default(), ..given.clone() }
        };
        for data in read(&[(name, text)], &asked).unwrap() {
            let (x, y) = prepared(&*data, &asked, &[0]).unwrap();
            assert_eq!((&x[..], &y[..]), (&[1.0, -1.0, -1.0, -1.0, -1.0, 2.0][..], &[1, 0, 0][..]), "{name}");
        }
    }
    let without = recipe(&[], &[], &[]);
    let data = read(&[("t.csv", TABLE)], &without).unwrap();
    assert_eq!(bind(&*data[0], &without).unwrap_err().code, codes::DATA_SHAPE);
}

#[test]
fn the_scale_is_that_of_the_training_part() {
    let recipe = recipe(&[], &["x=mean"], &["x"]);
    for data in read(&[("t.csv", TABLE)], &recipe).unwrap() {
        let (x, _) = prepared(&*data, &recipe, &[0, 1]).unwrap();
        // The second column is constant, so it is not divided.
        assert_eq!(x, [-1.0, 0.0, 1.0, 0.0, 0.0, 20.0, 3.0, 40.0]);
    }
}

#[test]
fn a_preparation_that_was_stored_gives_the_same_values() {
    let asked = recipe(&[], &["x=mean"], &["x"]);
    let data = read(&[("t.csv", TABLE)], &asked).unwrap();
    let mut windows = bind(&*data[0], &asked).unwrap();
    let found = Preparation::fit(asked, &[&windows], &[0, 3]).unwrap();
    windows.prepare(&found);
    let stored: Preparation = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
    assert_eq!(stored, found);
    let recipe = stored.recipe();
    let other = read(&[("t.jsonl", "{\"a\": 7, \"b\": 1, \"y\": \"cat\"}\n")], &recipe).unwrap();
    let mut others = bind(&*other[0], &recipe).unwrap();
    others.prepare(&stored);
    assert_eq!(values(&others).1, [1]);
    let (x, _) = values(&windows);
    assert_eq!(values(&others).0, [(7.0 - 3.0) / 2.0, (1.0 - 30.0) / 20.0]);
    assert_eq!(x[..2], [-1.0, -1.0]);
}

#[test]
fn what_cannot_be_prepared_is_refused() {
    let data = read(&[("t.csv", TABLE)], &recipe(&[], &["x=0"], &[])).unwrap();
    let refused = |asked: Recipe| {
        let reading = Recipe { fills: [("x".to_owned(), Fill::Mean)].into(), ..Recipe::default() };
        let windows = Windows::bind_by(&*data[0], &inputs(), (Precision::F64, false), &reading).unwrap();
        Preparation::fit(asked, &[&windows], &[0]).unwrap_err()
    };
    assert_eq!(refused(recipe(&[], &[], &["z"])).help, ["write the name of an input"]);
    assert!(refused(recipe(&[], &[], &["y"])).notes[0].contains("have a mean"));
    assert!(refused(recipe(&["x=a,b"], &[], &[])).message.contains("`--classes` cannot be used"));
    assert!(refused(recipe(&[], &["x=cat"], &[])).message.contains("`cat` is no value of input `x"));
    assert!(refused(recipe(&[], &["y=cow"], &[])).notes[0].contains("its classes are `bird`, `cat`, `dog`"));
    let empty = read(&[("t.csv", "a,b,y\n1,,cat\n2,,cat\n")], &recipe(&[], &["x=mean"], &[])).unwrap();
    let asked = recipe(&[], &["x=mean"], &[]);
    let found = prepared(&*empty[0], &asked, &[0, 1]).unwrap_err();
    assert_eq!(found.code, codes::EMPTY_DATA);
    assert!(found.message.starts_with("element 1 of input `x` has no value"), "{}", found.message);
}

#[test]
fn lists_that_are_shorter_than_their_input_are_filled_up() {
    let recipe = Recipe { fills: Recipe::parse_fills(&["y=0"]).unwrap(), ..Recipe::default() };
    let lists = [("y".to_owned(), (4, 1))];
    let selection =
        recipe.selection(Selection::of(["x", "y"]).feeding(["x", "y"]).with_lists(lists)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let inputs =
        [batched(input("x", DType::Num, &[2], None)), batched(input("y", DType::Int, &[2, 4], None))];
    let bound = |rows: &str| {
        std::fs::write(&path, rows).unwrap();
        let mut data: Vec<Box<dyn Dataset>> =
            vec![Box::new(Columns::read_selected(&[&path], &selection).unwrap())];
        data.extend(
            [1, 20].map(|piece| Box::new(OnDisk::read_by(&[&path], &selection, piece).unwrap()) as _),
        );
        let bind = |data: Box<dyn Dataset>| {
            let mut windows = Windows::bind_by(&*data, &inputs, (Precision::F64, false), &recipe)?;
            let found =
                Preparation::fit(recipe.clone(), &[&windows], &[0]).map_err(|d| Diagnostics(vec![d]))?;
            windows.prepare(&found);
            Ok::<_, Diagnostics>(values(&windows).1)
        };
        data.into_iter().map(bind).collect::<Vec<_>>()
    };
    for found in bound("{\"x\": [1, 2], \"y\": [3, 1]}\n{\"x\": [1, 2], \"y\": [2, null, 4]}\n") {
        assert_eq!(found.unwrap(), [3, 1, 0, 0, 2, 0, 4, 0]);
    }
    for found in bound("{\"x\": [1, 2], \"y\": [3, 1, 1, 1, 1]}\n{\"x\": [1, 2], \"y\": [2]}\n") {
        assert_eq!(found.unwrap_err().0[0].code.name, "data-shape");
    }
}

/// The columns of a table are no lists, so an input with more elements than columns is refused, filled or not.
#[test]
fn vectors_of_columns_are_not_filled_up() {
    let inputs = [batched(input("x", DType::Num, &[2, 3], None))];
    let refused = [&[][..], &["x=0"]].map(|fills: &[&str]| {
        let recipe = Recipe { columns: recipe(&[], &[], &[]).columns, ..recipe(&[], fills, &[]) };
        let selection = Selection::of(["x"]).feeding(["x"]).with_lists([("x".to_owned(), (3, 1))]);
        let selection = recipe.selection(selection).unwrap();
        let table =
            Columns::parse_selected(b"a,b\n1,2\n3,4\n", crate::Format::Csv, "t.csv", &selection).unwrap();
        let found = Windows::bind_by(&table, &inputs, (Precision::F64, false), &recipe).unwrap_err();
        found.0[0].clone()
    });
    assert_eq!(refused[0].message, "column `x` has shape [2, 2], input `x` is num [2, 3]");
    assert_eq!(refused[0], refused[1]);
}
