//! Windows of tables in several files.

use std::path::PathBuf;

use rml_base::codes::run as codes;
use rml_ir::{DType, Data, Precision};

use super::input;
use crate::{Arranged, Columns, Dataset, OnDisk, Recipe, Selection, Windowing, Windows};

/// Three files of five, two and four rows, whose times continue each other.
const FILES: [&str; 3] = [
    "t,id,x\n0,a,0\n1,a,1\n2,a,2\n3,b,3\n4,b,4\n",
    "t,id,x\n5,a,5\n6,b,6\n",
    "t,id,x\n7,a,7\n8,a,8\n9,a,9\n10,a,10\n",
];

/// The rows of each window in memory, which are those on disk, or the error; and the notes.
fn windows(files: &[&str], cut: &Windowing) -> Result<(Vec<Vec<usize>>, Vec<String>), rml_base::Diagnostic> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..files.len()).map(|i| folder.path().join(format!("{i}.csv"))).collect();
    for (path, text) in paths.iter().zip(files) {
        std::fs::write(path, text).unwrap();
    }
    let recipe = Recipe { cut: cut.clone(), ..Recipe::default() };
    let selection = recipe.selection(Selection::of(["x"])).unwrap();
    let of = |data: &dyn Dataset| {
        let arranged = Arranged::new(data, cut)?;
        let inputs = [input("x", DType::Num, &[], None)];
        let windows = Windows::bind_by(&arranged, &inputs, (Precision::F64, false), &recipe)
            .map_err(|d| d.0[0].clone())?;
        let rows = |window: usize| {
            let cycles: Vec<usize> = (0..windows.length(window)).collect();
            match windows.values(0, &[window], &cycles).unwrap().unwrap().to_data() {
                Data::F64(x) => x.iter().map(|x| *x as usize).collect(),
                other => panic!("{other:?}"),
            }
        };
        Ok::<_, rml_base::Diagnostic>(((0..windows.count).map(rows).collect(), arranged.notes()))
    };
    let all = of(&Columns::read_selected(&paths, &selection).unwrap());
    for piece in [1, 1 << 20] {
        let disk = of(&OnDisk::read_by(&paths, &selection, piece).unwrap());
        match (&all, &disk) {
            (Ok(all), Ok(disk)) => assert_eq!(all, disk),
            (Err(all), Err(disk)) => assert_eq!(all.code, disk.code),
            (all, disk) => panic!("{all:?} in memory, {disk:?} on disk"),
        }
    }
    all
}

fn cut(group: Option<&str>, time: Option<&str>, gap: Option<f64>) -> Windowing {
    let name = |name: &str| name.to_owned();
    Windowing { window: Some(2), group: group.map(name), time: time.map(name), gap, ..Windowing::default() }
}

#[test]
fn a_window_is_within_one_file() {
    let expected = [&[0, 1][..], &[2, 3], &[4], &[5, 6], &[7, 8], &[9, 10]];
    for time in [None, Some("t")] {
        let (rows, notes) = windows(&FILES, &cut(None, time, None)).unwrap();
        assert_eq!(rows, expected);
        assert_eq!(notes[0], "3 series of 2 to 5 rows, windows of 2 rows");
        assert!(notes[1].starts_with("no window has rows of two files"), "{notes:?}");
    }
    // Rows of one group in two files are two series, and clocks may start again in each file.
    let (rows, _) = windows(&FILES, &cut(Some("id"), None, None)).unwrap();
    assert_eq!(rows, [&[0, 1][..], &[2], &[5], &[7, 8], &[9, 10], &[3, 4], &[6]]);
    let again = [FILES[0], FILES[0]];
    let (rows, _) = windows(&again, &cut(None, Some("t"), None)).unwrap();
    assert_eq!(rows, [&[0, 1][..], &[2, 3], &[4], &[0, 1], &[2, 3], &[4]]);
    // One file has no such ends.
    let (rows, notes) = windows(&FILES[..1], &cut(None, None, None)).unwrap();
    assert_eq!((rows.len(), notes[0].as_str()), (3, "1 series of 5 rows, windows of 2 rows"));
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn a_gap_in_time_says_which_files_continue_each_other() {
    let (rows, notes) = windows(&FILES, &cut(None, Some("t"), Some(1.0))).unwrap();
    assert_eq!(rows, [&[0, 1][..], &[2, 3], &[4, 5], &[6, 7], &[8, 9], &[10]]);
    assert!(!notes.iter().any(|note| note.contains("files")), "{notes:?}");
    let again = windows(&[FILES[0], FILES[0]], &cut(None, Some("t"), Some(1.0))).unwrap_err();
    assert_eq!(again.code, codes::TIME_ORDER);
    // Without a number of rows, a group is a window, whatever the files.
    let groups = Windowing { window: None, ..cut(Some("id"), None, None) };
    assert_eq!(windows(&FILES, &groups).unwrap().0, [&[0, 1, 2, 5, 7, 8, 9, 10][..], &[3, 4, 6]]);
}

/// A table without a column that can be read has no rows, and the reason is told, not that there are none.
#[test]
fn columns_are_explained_before_rows_are_counted() {
    let cut = cut(None, None, None);
    let mapping = crate::ColumnMapping::parse(&["x=a,b"]).unwrap();
    let selection = Selection::of(["x", "y"]).mapped(mapping).unwrap();
    let table = Columns::parse_selected(b"a,b\n1,2\n,3\n", crate::Format::Csv, "e.csv", &selection).unwrap();
    let inputs = [input("x", DType::Num, &[2], None), input("y", DType::Num, &[], None)];
    let recipe = Recipe { cut: cut.clone(), ..Recipe::default() };
    let arranged = Arranged::new(&table, &cut).unwrap();
    let found = Windows::bind_by(&arranged, &inputs, (Precision::F64, false), &recipe).unwrap_err();
    let found: Vec<_> = found.iter().map(|d| d.code).collect();
    assert_eq!(found, [codes::DATA_SHAPE, codes::MISSING_COLUMN]);
    let none = Windows::bind_by(&arranged, &[], (Precision::F64, false), &recipe).unwrap_err();
    assert_eq!(none.iter().map(|d| d.code).collect::<Vec<_>>(), [codes::EMPTY_DATA]);
}

#[test]
fn missing_rows_are_told() {
    let hour = |i: usize| if i < 15 { i } else { i + 5 };
    let row = |i: usize| format!("2025-03-0{} {:02}:00,{i}\n", 1 + hour(i) / 24, hour(i) % 24);
    let table = format!("t,x\n{}", (0..30).map(row).collect::<String>());
    let note =
        |cut: &Windowing| windows(&[&table], cut).unwrap().1.into_iter().find(|note| note.contains("apart"));
    let found = note(&cut(None, Some("t"), None));
    let expected = "rows are 1 h apart by `t`, and further in 1 place, at most 6 h: `--gap DURATION` ends a series there";
    assert_eq!(found.as_deref(), Some(expected));
    assert_eq!(note(&cut(None, Some("t"), Some(7200.0))), None);
    assert_eq!(note(&cut(None, None, None)), None);
}

#[test]
fn a_table_in_another_encoding_is_told_with_its_place() {
    let found = Columns::parse(b"a,b\n1,2\n3,\xb0C\n", crate::Format::Csv, "t.csv").unwrap_err().to_string();
    for words in ["line 3, column 3", "0xb0", "Windows-1252", "iconv -f cp1252"] {
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn rows_are_grouped_by_file() {
    let groups = Windowing { window: None, ..cut(Some("file"), None, None) };
    assert_eq!(windows(&FILES, &groups).unwrap().0, [&[0, 1, 2, 3, 4][..], &[5, 6], &[7, 8, 9, 10]]);
    // A column of this name is a column.
    let named = FILES.map(|text| text.replace("id", "file"));
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(windows(&named, &groups).unwrap().0, [&[0, 1, 2, 5, 7, 8, 9, 10][..], &[3, 4, 6]]);
}
