use rml_ir::{Data, InputInfo, Precision, Shape, Type, Value};

use super::*;
use crate::columns::Elements;
use crate::{Dataset as _, Fill, Format, OnDisk, Recipe};

/// What `data/make.py` writes with pyarrow.
const FILES: [(&str, &[u8]); 3] = [
    ("plain", include_bytes!("data/plain.feather")),
    ("lz4", include_bytes!("data/lz4.feather")),
    ("zstd", include_bytes!("data/zstd.feather")),
];
const DELTAS: &[u8] = include_bytes!("data/deltas.arrows");
const VIEWS: &[u8] = include_bytes!("data/views.arrow");
const LABELS: &[u8] = include_bytes!("data/labels.arrow");
const POLARS: &[u8] = include_bytes!("data/polars.arrow");

fn parsed(bytes: &[u8], recipe: &Recipe) -> Columns {
    let selection = recipe.selection(Selection::all()).unwrap();
    Columns::parse_selected(bytes, Format::Arrow, "t.arrow", &selection).unwrap()
}

#[test]
fn columns_are_read_in_each_compression() {
    for (name, bytes) in FILES {
        let columns = parsed(bytes, &Recipe::default());
        let get = |name: &str| {
            let column = &columns.columns[name];
            (column.elements.clone(), column.shape.dims().to_vec(), column.present.clone())
        };
        assert_eq!(
            get("b"),
            (Elements::Bool(vec![true, false, true]), vec![4], Some(vec![0, 2, 3])),
            "{name}"
        );
        assert_eq!(get("i"), (Elements::Int(vec![1, -2, 3]), vec![4], Some(vec![0, 1, 3])));
        assert_eq!(get("u"), (Elements::Int(vec![200, 1, 2, 3]), vec![4], None));
        assert_eq!(get("h").0, Elements::F64(vec![0.5, -2.0, 1.0, 0.25]));
        assert_eq!(get("x"), (Elements::F64(vec![0.5, 0.25, -2.0]), vec![4], Some(vec![0, 1, 2])));
        assert_eq!(get("d").0, Elements::F64(vec![0.1, 0.2, 0.3, 0.4]));
        let eight: Vec<f64> = (1..9).map(f64::from).collect();
        assert_eq!(get("vector"), (Elements::F64(eight), vec![4, 2], None));
        assert_eq!((get("window").1, columns.lengths("window")), (vec![6, 1], Some(&[2, 1, 1, 2][..])));
        let pixels: Vec<i64> = (0..4).flat_map(|_| 0..6).collect();
        assert_eq!(get("frame"), (Elements::Int(pixels), vec![4, 2, 3], None));
        assert_eq!(get("nothing").2, Some(Vec::new()));
        assert_eq!(get("after").0, Elements::Int(vec![1, 2, 3, 4]));
        let unusable: Vec<&String> = columns.unusable.keys().collect();
        let expected = ["word", "kind", "day", "time", "parts", "money", "raw", "gaps"];
        assert!(expected.iter().all(|name| unusable.iter().any(|found| *found == name)), "{unusable:?}");
        assert_eq!(unusable.len(), expected.len());
    }
}

#[test]
fn texts_are_classes_and_times_are_dates() {
    let recipe = Recipe {
        columns: crate::ColumnMapping::parse(&["t=seconds(time)", "w=weekday(day)"]).unwrap(),
        classes: Recipe::parse_classes(&["word=cat,dog", "kind=low,high"]).unwrap(),
        fills: [("gaps".to_owned(), Fill::Mean)].into(),
        ..Recipe::default()
    };
    let selection = recipe.selection(Selection::all()).unwrap();
    for (_, bytes) in FILES {
        let columns = Columns::parse_selected(bytes, Format::Arrow, "t.arrow", &selection).unwrap();
        let texts = |name: &str| columns.names[name].clone();
        assert_eq!(texts("word"), ["cat", "dog", "a longer text than a view holds"]);
        assert_eq!(columns.columns["word"].present, Some(vec![0, 1, 3]));
        assert_eq!(
            (texts("kind"), &columns.columns["kind"].elements),
            (vec!["low".into(), "high".into()], &Elements::Int(vec![0, 1, 0]))
        );
        assert_eq!(columns.columns["t"].elements, Elements::F64(vec![1_711_926_309.5; 4]));
        assert_eq!(columns.columns["w"].elements, Elements::Int(vec![6; 3]));
        assert!(
            matches!(&columns.columns["gaps"].elements, Elements::F64(v) if v[1].is_nan() && v[2] == 3.0)
        );
    }
    let kinds = parsed(
        DELTAS,
        &Recipe { classes: Recipe::parse_classes(&["kind=low,high,none"]).unwrap(), ..Recipe::default() },
    );
    assert_eq!(
        (&kinds.names["kind"], &kinds.columns["kind"].elements),
        (&vec!["low".into(), "high".into(), "none".into()], &Elements::Int(vec![0, 1, 2, 0, 1]))
    );
    assert_eq!(kinds.columns["x"].elements, Elements::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0]));
    let views = parsed(
        VIEWS,
        &Recipe { classes: Recipe::parse_classes(&["word=cat"]).unwrap(), ..Recipe::default() },
    );
    assert_eq!(views.names["word"], ["cat", "dog", "a longer text than a view holds"]);
}

/// A file whose schema is only in the list at its end.
#[test]
fn files_of_polars_are_read() {
    let recipe = Recipe { classes: Recipe::parse_classes(&["word=cat"]).unwrap(), ..Recipe::default() };
    let columns = parsed(POLARS, &recipe);
    assert_eq!(columns.names["word"], ["cat", "a longer text than a view holds"]);
    let x = &columns.columns["x"];
    assert_eq!((&x.elements, &x.present), (&Elements::F64(vec![1.0, 2.0]), &Some(vec![0, 1])));
}

#[test]
fn files_are_read_in_pieces_and_without_a_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a.arrow", FILES[0].1), ("b.arrows", DELTAS)] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let whole = Columns::read(&path).unwrap();
        assert_eq!(Format::of_bytes(bytes).unwrap(), Format::Arrow);
        for piece in [1, 50, 1 << 20] {
            let disk = OnDisk::read_by(&[&path], &Selection::all(), piece).unwrap();
            let table = disk.table();
            assert!(table.columns.keys().eq(whole.columns.keys()) && table.unusable == whole.unusable);
            for (name, column) in &whole.columns {
                assert_eq!(
                    (&table.columns[name].shape, &table.columns[name].present),
                    (&column.shape, &column.present),
                    "{name}"
                );
            }
        }
    }
}

/// What the library `datasets` writes for labels.
#[test]
fn labels_have_the_names_in_the_metadata() {
    let columns = crate::ColumnMapping::parse(&["y=kind"]).unwrap();
    let integers = Selection::all().with_integers(["y", "kind", "tags", "other"]);
    let selection = Recipe { columns, ..Recipe::default() }.selection(integers).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.arrow");
    std::fs::write(&path, LABELS).unwrap();
    let y = InputInfo { name: "y".into(), ty: Type::scalar(rml_ir::DType::Int), clock: None, batched: false };
    let (disk, memory) = (
        OnDisk::read_by(&[&path, &path], &selection, 3).unwrap(),
        Columns::read_selected(&[&path, &path], &selection).unwrap(),
    );
    let data: [&dyn crate::Dataset; 2] = [&disk, &memory];
    for data in data {
        let names = |column: &str| data.table().names(column).unwrap_or_default().to_vec();
        assert_eq!(names("kind"), ["low", "high", "none"]);
        assert_eq!(names("tags"), ["out", "in"]);
        assert!(names("other").is_empty() && names("x").is_empty(), "a name occurs twice; numbers have none");
        // Their order is that of the numbers, not that of the alphabet.
        let classes = crate::classes::classes(data, &y, None).unwrap().unwrap();
        assert_eq!((classes.names, classes.numbers), (names("kind"), Some(vec![0, 1, 2])));
        // Known classes have priority, and the file may have other names that do not occur.
        let known = ["high", "low"].map(str::to_owned);
        let classes = crate::classes::classes(data, &y, Some(&known)).unwrap().unwrap();
        assert_eq!(classes.numbers.unwrap()[..2], [1, 0]);
        let known = ["low".to_owned()];
        let d = crate::classes::classes(data, &y, Some(&known)).unwrap_err();
        assert_eq!(d.code, codes::UNKNOWN_CLASS, "{}", d.message);
    }
    // Without known classes, a run by cycle has the numbers.
    let (found, rows) =
        crate::by_cycle(&memory, &[y], Precision::F32, false, &Preparation::default()).unwrap();
    let first = found[0].gather(&[0, 1], &Shape::new(&[2])).to_data();
    assert!(matches!(&first, Data::Int(v) if *v == [1, 0]) && rows == 12, "{first:?}");
}

/// A folder of the library `datasets`: streams, and descriptions that are not data.
#[test]
fn folders_of_datasets_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("data-00000-of-00002.arrow", DELTAS);
    write("data-00001-of-00002.arrow", DELTAS);
    write("dataset_info.json", b"{\"features\": {\"x\": {\"_type\": \"Value\"}}}");
    write("state.json", b"{\"_data_files\": [{\"filename\": \"data-00000-of-00002.arrow\"}]}");
    let columns = Columns::read_all(&[folder.path()]).unwrap();
    assert_eq!(columns.columns["x"].rows(), 10);
    write("dataset_dict.json", b"{\"splits\": [\"train\"]}");
    let error = Columns::read_all(&[folder.path()]).unwrap_err();
    assert!(
        error.to_string().contains("has several parts") && error.to_string().contains("train"),
        "{error}"
    );
}

/// Damaged files cause errors or have other values, and never a panic.
#[test]
fn damage_never_panics() {
    let recipe =
        Recipe { classes: Recipe::parse_classes(&["word=a", "kind=a"]).unwrap(), ..Recipe::default() };
    let selection = recipe.selection(Selection::all()).unwrap();
    let read = |bytes: &[u8]| Columns::parse_selected(bytes, Format::Arrow, "t.arrow", &selection);
    for bytes in FILES.map(|(_, bytes)| bytes).into_iter().chain([DELTAS, VIEWS, POLARS, LABELS]) {
        for end in (0..bytes.len()).step_by(7) {
            let _ = read(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.to_vec();
            bad[at] = [0, 0xff, 0x7f, bad[at] ^ 1, bad[at] ^ 0x80][at % 5];
            let _ = read(&bad);
        }
    }
    assert!(read(b"FEA1....").unwrap_err().to_string().contains("version 1"));
    assert!(read(b"").is_err() && read(&[0xff; 8]).is_err() && read(b"ARROW1\0\0").is_err());
}

#[test]
fn answers_are_read_back() {
    let num = |dims: &[usize]| Type::new(rml_ir::DType::Num, dims);
    let fields = vec![
        ArrowField::of("cycle", &Type::scalar(rml_ir::DType::Int), Precision::F32),
        ArrowField::of("sure", &Type::new(rml_ir::DType::Bool, &[3]), Precision::F32),
        ArrowField::of("m", &num(&[2, 2]), Precision::F32),
        ArrowField::of("x", &num(&[]), Precision::F64),
        ArrowField::text("error"),
    ];
    let answers = ArrowAnswers::new(fields);
    let value = |dims: &[usize], data: Data| ArrowCell::Value(Value::new(Shape::new(dims), data));
    let row = [
        ArrowCell::Value(Value::Int(7)),
        value(&[3], Data::Bool(vec![true, false, true])),
        value(&[2, 2], Data::F32(vec![1.0, 2.0, 3.0, 4.0])),
        value(&[], Data::F64(vec![0.1])),
        ArrowCell::Absent,
    ];
    let refused = [
        ArrowCell::Absent,
        ArrowCell::Absent,
        ArrowCell::Absent,
        ArrowCell::Absent,
        ArrowCell::Texts(vec!["not a number".to_owned()]),
    ];
    let bytes =
        [answers.begin(), answers.answer(&row), answers.answer(&refused), ArrowAnswers::end().to_vec()]
            .concat();
    let preparation =
        Preparation { classes: [("error".to_owned(), Vec::new())].into(), ..Preparation::default() };
    let mut rows = ArrowRows::new(&bytes[..]).unwrap();
    assert_eq!(rows.names().collect::<Vec<_>>(), ["cycle", "sure", "m", "x", "error"]);
    let cell = |row: &ArrowRow, name: &str| {
        row[name]
            .as_ref()
            .ok()
            .cloned()
            .flatten()
            .map(|(column, names)| (column.elements, column.shape.dims().to_vec(), names))
    };
    let first = rows.next(&preparation).unwrap().unwrap().remove(0);
    assert_eq!(cell(&first, "cycle"), Some((Elements::Int(vec![7]), vec![1], None)));
    assert_eq!(cell(&first, "sure"), Some((Elements::Bool(vec![true, false, true]), vec![1, 3], None)));
    assert_eq!(cell(&first, "m"), Some((Elements::F64(vec![1.0, 2.0, 3.0, 4.0]), vec![1, 2, 2], None)));
    assert_eq!(cell(&first, "x"), Some((Elements::F64(vec![0.1]), vec![1], None)));
    assert_eq!(cell(&first, "error"), None);
    let second = rows.next(&preparation).unwrap().unwrap().remove(0);
    assert!(["cycle", "sure", "m", "x"].iter().all(|name| cell(&second, name).is_none()));
    assert_eq!(cell(&second, "error").and_then(|(_, _, names)| names), Some(vec!["not a number".to_owned()]));
    assert!(rows.next(&preparation).unwrap().is_none());
}
