//! Long tables that are cut into windows: the rows of each window, the purposes of windows, and that all formats, in
//! memory and on disk, give the same.

use std::path::PathBuf;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_ir::{DType, Data, InputInfo, Precision, Shape};

use super::{batched, input};
use crate::{
    Amount, Arranged, Column, Columns, Dataset, Elements, OnDisk, Parts, Preparation, Ranges, Recipe, Rest,
    Selection, SplitRequest, Windowing, Windows,
};

/// A generator of pseudorandom numbers.
struct Draw(u64);

impl Draw {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A row of a table: its group, its time, and whether it ends a window. The input `x` is the number of the row.
type Row = (usize, i64, bool);

/// A table of some groups, whose rows are mixed and in the order of time within each group.
fn table(draw: &mut Draw, rows: usize, groups: usize) -> Vec<Row> {
    let mut times = vec![0; groups];
    let one = |_| {
        let group = draw.below(groups);
        times[group] += [1, 1, 1, 1, 5, 0][draw.below(6)];
        (group, times[group], draw.below(7) == 0)
    };
    (0..rows).map(one).collect()
}

fn csv(rows: &[Row]) -> String {
    let line = |(i, (group, time, end)): (usize, &Row)| format!("g{group},{time},{end},{i}\n");
    format!("id,t,last,x\n{}", rows.iter().enumerate().map(line).collect::<String>())
}

fn inputs() -> Vec<InputInfo> {
    vec![
        input("x", DType::Num, &[], None),
        input("end", DType::Bool, &[], None),
        input("begin", DType::Bool, &[], None),
    ]
}

fn recipe(cut: &Windowing) -> Recipe {
    Recipe { cut: cut.clone(), ..Recipe::default() }
}

/// A file as data in memory, and on disk in pieces of several sizes.
fn read(name: &str, bytes: &[u8], recipe: &Recipe) -> Result<Vec<Box<dyn Dataset>>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let selection = recipe.selection(Selection::of(["x", "end", "begin"]))?;
    let mut all: Vec<Box<dyn Dataset>> = vec![Box::new(Columns::read_selected(&[&path], &selection)?)];
    for piece in [1, 1 << 20] {
        all.push(Box::new(OnDisk::read_by(&[&path], &selection, piece)?));
    }
    Ok(all)
}

fn bind(data: &dyn Dataset, cut: &Windowing) -> Result<Windows, Diagnostic> {
    Windows::bind_by(data, &inputs(), (Precision::F64, false), &recipe(cut)).map_err(|d| d.0[0].clone())
}

/// The rows of each window, according to the input `x`.
fn rows(windows: &Windows) -> Vec<Vec<usize>> {
    let of = |window: usize| {
        let cycles: Vec<usize> = (0..windows.length(window)).collect();
        let Data::F64(x) = windows.values(0, &[window], &cycles).unwrap().unwrap().to_data() else {
            panic!()
        };
        let x: Vec<usize> = x.into_iter().map(|x| x as usize).collect();
        let said: Vec<usize> = cycles.iter().map(|t| windows.row(window, *t).unwrap()).collect();
        assert_eq!(x, said);
        x
    };
    (0..windows.count).map(of).collect()
}

/// The series of a table.
fn series(table: &[Row], cut: &Windowing) -> Vec<Vec<usize>> {
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for (row, (group, _, _)) in table.iter().enumerate() {
        let key = if cut.group.is_some() { *group } else { 0 };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    let mut all = Vec::new();
    for (_, rows) in groups {
        let together = |a: &usize, b: &usize| {
            let is_gap = cut.gap.is_some_and(|gap| (table[*b].1 - table[*a].1) as f64 > gap);
            !(is_gap || cut.end.is_some() && table[*a].2)
        };
        all.extend(rows.chunk_by(together).map(<[usize]>::to_vec));
    }
    all
}

/// The expected windows, according to the rule.
fn expected(table: &[Row], cut: &Windowing) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for series in series(table, cut) {
        let is_ended = series.last().is_some_and(|row| table[*row].2);
        let Some(window) = cut.window else {
            if cut.end.is_none() || is_ended || cut.rest() == Rest::Keep {
                all.push(series);
            }
            continue;
        };
        let mut covered = 0;
        for start in (0..series.len()).step_by(cut.stride.unwrap_or(window)) {
            if start + window <= series.len() {
                all.push(series[start..start + window].to_vec());
                covered = start + window;
            } else {
                if covered < series.len() && cut.rest() == Rest::Keep {
                    all.push(series[start..].to_vec());
                }
                break;
            }
        }
    }
    all
}

/// Cuts of all kinds.
fn cuts(draw: &mut Draw) -> Vec<Windowing> {
    let column = |name: &str| Some(name.to_owned());
    let window = 1 + draw.below(6);
    let stride = 1 + draw.below(8);
    let rest = [None, Some(Rest::Keep), Some(Rest::Drop)][draw.below(3)];
    let by_rows = Windowing { window: Some(window), stride: Some(stride), rest, ..Windowing::default() };
    let grouped = Windowing { group: column("id"), ..by_rows.clone() };
    let in_time = Windowing { time: column("t"), gap: Some(2.0), ..grouped.clone() };
    vec![
        Windowing { stride: None, ..by_rows.clone() },
        by_rows,
        grouped,
        Windowing { group: column("id"), ..Windowing::default() },
        Windowing { window: None, stride: None, rest: None, ..in_time.clone() },
        in_time,
        Windowing { end: column("last"), rest, ..Windowing::default() },
        Windowing { end: column("last"), group: column("id"), ..Windowing::default() },
    ]
}

#[test]
fn each_window_has_the_rows_that_the_rule_says() {
    let mut draw = Draw(1);
    let mut compared = 0;
    for _ in 0..40 {
        let (count, groups) = (1 + draw.below(40), 1 + draw.below(4));
        let table = table(&mut draw, count, groups);
        for cut in cuts(&mut draw) {
            let fits = |n: usize| series(&table, &cut).iter().any(|series| series.len() >= n);
            let whole = cut.rest == Some(Rest::Keep) || cut.window.is_none_or(fits);
            let expected = expected(&table, &cut);
            for data in read("t.csv", csv(&table).as_bytes(), &recipe(&cut)).unwrap() {
                let found = bind(&*data, &cut);
                if !whole {
                    assert_eq!(found.unwrap_err().code, codes::WINDOW_TOO_LONG, "{cut}");
                } else if expected.is_empty() {
                    assert_eq!(found.unwrap_err().code, codes::EMPTY_DATA, "{cut}");
                } else {
                    let windows = found.unwrap();
                    assert_eq!(rows(&windows), expected, "{cut}: {table:?}");
                    assert_eq!(Arranged::new(&*data, &cut).unwrap().windows(), Some(expected.len()));
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 500, "only {compared} tables were cut");
}

#[test]
fn the_ends_of_windows_and_the_beginnings_of_series_are_told() {
    let mut draw = Draw(2);
    for _ in 0..20 {
        let table = table(&mut draw, 30, 3);
        for cut in cuts(&mut draw) {
            let data = Columns::parse_selected(
                csv(&table).as_bytes(),
                crate::Format::Csv,
                "t",
                &recipe(&cut).selection(Selection::of(["x", "end", "begin"])).unwrap(),
            );
            let Ok(windows) = bind(&data.unwrap(), &cut) else { continue };
            let firsts: Vec<usize> = series(&table, &cut).iter().map(|series| series[0]).collect();
            for (window, rows) in rows(&windows).iter().enumerate() {
                let cycles: Vec<usize> = (0..rows.len()).collect();
                let truths =
                    |i: usize| match windows.values(i, &[window], &cycles).unwrap().unwrap().to_data() {
                        Data::Bool(v) => v,
                        other => panic!("{other:?}"),
                    };
                let last = |t: &usize| t + 1 == rows.len();
                assert_eq!(truths(1), cycles.iter().map(last).collect::<Vec<_>>());
                let first = |t: &usize| *t == 0 && firsts.contains(&rows[0]);
                assert_eq!(truths(2), cycles.iter().map(first).collect::<Vec<_>>());
            }
        }
    }
}

fn wish(draw: &mut Draw, last: bool) -> SplitRequest {
    let amount = match draw.below(3) {
        0 => Amount::Count(0),
        1 => Amount::Count(1 + draw.below(2)),
        _ => Amount::Share(0.3),
    };
    SplitRequest { amount, last }
}

#[test]
fn no_row_is_trained_on_and_tested() {
    let mut draw = Draw(3);
    let (mut divided, mut left_out) = (0, 0);
    for seed in 0..60 {
        let table = table(&mut draw, 60, 5);
        for cut in cuts(&mut draw) {
            let selection = recipe(&cut).selection(Selection::of(["x"])).unwrap();
            let data =
                Columns::parse_selected(csv(&table).as_bytes(), crate::Format::Csv, "t", &selection).unwrap();
            let Ok(windows) = bind(&data, &cut) else { continue };
            let has_groups = cut.group.is_some();
            let [last, last_validation] =
                [draw.below(2) == 0, draw.below(2) == 0].map(|last| last || !has_groups);
            let (test, validation) = (wish(&mut draw, last), wish(&mut draw, last_validation));
            let Ok(found) = windows.divide((Some(test), 0.2), validation, seed) else { continue };
            let Some((ranges, _)) = found else {
                assert!(!has_groups && cut.stride.is_none_or(|stride| stride >= cut.window.unwrap()));
                continue;
            };
            assert!(ranges.is_possible(windows.count), "{ranges:?}");
            let Parts { train, test: tested, validation: validated } = ranges.parts(windows.count);
            let (rows, count) = (rows(&windows), Ranges::count(&ranges.left_out));
            assert_eq!(train.len() + tested.len() + validated.len() + count, windows.count);
            let of = |part: &[usize]| part.iter().flat_map(|w| rows[*w].clone()).collect::<Vec<_>>();
            let [trained, testing, validating] = [&train, &tested, &validated].map(|part| of(part));
            for row in testing.iter().chain(&validating) {
                assert!(!trained.contains(row), "row {row} of {cut}: {ranges:?}");
            }
            assert!(!testing.iter().any(|row| validating.contains(row)), "{cut}: {ranges:?}");
            if !test.last {
                let group = |row: &usize| table[*row].0;
                let others: Vec<usize> = trained.iter().chain(&validating).map(group).collect();
                assert!(testing.iter().all(|row| !others.contains(&group(row))), "a group is on one side");
            }
            // No more windows are left out than necessary.
            for window in ranges.left_out.iter().flat_map(|(first, end)| *first..*end) {
                let is_kept = |row: &usize| testing.contains(row) || validating.contains(row);
                assert!(rows[window].iter().any(is_kept), "window {window} of {cut}: {ranges:?}");
            }
            divided += 1;
            left_out += count;
        }
    }
    assert!(divided > 100 && left_out > 50, "{divided} divided, {left_out} left out");
}

#[test]
fn windows_that_share_rows_are_not_drawn() {
    let cut = Windowing { window: Some(4), stride: Some(1), ..Windowing::default() };
    let windows = bind(
        &Columns::parse(csv(&vec![(0, 0, false); 20]).as_bytes(), crate::Format::Csv, "t").unwrap(),
        &cut,
    );
    let windows = windows.unwrap();
    let (some, none) = (
        SplitRequest { amount: Amount::Count(3), last: false },
        SplitRequest { amount: Amount::Count(0), last: false },
    );
    let refused = windows.divide((Some(some), 0.2), none, 0).unwrap_err();
    assert!(refused.message.contains("cannot be drawn"), "{}", refused.message);
    let (ranges, test) = windows.divide((None, 0.2), none, 0).unwrap().unwrap();
    assert!(test.last);
    assert_eq!((&ranges.test[..], &ranges.left_out[..]), (&[(14, 17)][..], &[(11, 14)][..]));
}

#[test]
fn formats_agree() {
    let mut draw = Draw(4);
    let table = table(&mut draw, 50, 3);
    let cut = |group: &str| Windowing {
        window: Some(4),
        stride: Some(2),
        group: Some(group.to_owned()),
        time: Some("t".to_owned()),
        gap: Some(2.0),
        ..Windowing::default()
    };
    let expected = expected(&table, &cut("id"));
    // The differences of dates in seconds are those of the numbers.
    let date = |t: i64| format!("2024-03-31T23:{:02}:{:02}Z", t / 60, t % 60);
    let dates: String =
        table.iter().enumerate().map(|(i, (g, t, _))| format!("g{g},{},{i}\n", date(*t))).collect();
    let line = |(i, (g, t, _)): (usize, &Row)| {
        format!("{{\"id\": \"g{g}\", \"t\": \"{}\", \"x\": {i}}}\n", date(*t))
    };
    let lines: String = table.iter().enumerate().map(line).collect();
    let list = |of: Vec<String>| format!("[{}]", of.join(","));
    let json = format!(
        "{{\"id\": {}, \"t\": {}, \"x\": {}}}",
        list(table.iter().map(|(g, _, _)| g.to_string()).collect()),
        list(table.iter().map(|(_, t, _)| t.to_string()).collect()),
        list((0..table.len()).map(|i| i.to_string()).collect())
    );
    let archive = Columns::parse(json.as_bytes(), crate::Format::Json, "t").unwrap().to_npz().unwrap();
    for (name, bytes) in [
        ("t.csv", csv(&table).into_bytes()),
        ("dates.csv", format!("id,t,x\n{dates}").into_bytes()),
        ("t.jsonl", lines.into_bytes()),
        ("t.json", json.into_bytes()),
        ("t.npz", archive),
    ] {
        for data in read(name, &bytes, &recipe(&cut("id"))).unwrap() {
            assert_eq!(rows(&bind(&*data, &cut("id")).unwrap()), expected, "{name}");
        }
    }
}

#[test]
fn what_cannot_be_cut_is_named() {
    let message = |text: &str, cut: Windowing| {
        let all = read("t.csv", text.as_bytes(), &recipe(&cut)).unwrap();
        let mut found = all.iter().map(|data| bind(&**data, &cut).unwrap_err());
        let first = found.next().unwrap();
        assert!(found.all(|other| other.code == first.code));
        (first.code.name, format!("{} {:?} {:?}", first.message, first.notes, first.help))
    };
    let column = |name: &str| Some(name.to_owned());
    let none = Windowing::default;
    for (text, cut, code, words) in [
        ("x\n1\n2\n", Windowing { window: Some(3), ..none() }, "window-too-long", "the table has 2 rows"),
        ("x,id\n1,a\n", Windowing { group: column("idd"), ..none() }, "missing-column", "there is `id`"),
        ("x,id\n1,a\n2,\n", Windowing { group: column("id"), ..none() }, "data-shape", "row 1 of"),
        (
            "x,t\n1,5\n2,4\n",
            Windowing { window: Some(1), time: column("t"), ..none() },
            "time-order",
            "column `t` is 4 there, after 5 in row 0 of",
        ),
        (
            "x,t\n1,2024-01-01\n2,01/02/2024\n",
            Windowing { window: Some(1), time: column("t"), ..none() },
            "data-type",
            "neither a number nor a date",
        ),
        ("x,e\n1,2\n", Windowing { end: column("e"), ..none() }, "data-type", "`true` or 1"),
        (
            "x,end\n1,true\n",
            Windowing { window: Some(1), ..none() },
            "bad-option",
            "both `--window` and the column `end`",
        ),
        (
            "x,end\n1,false\n",
            Windowing { end: column("end"), rest: Some(Rest::Drop), ..none() },
            "empty-data",
            "nowhere true",
        ),
    ] {
        let (found, said) = message(text, cut);
        assert!(found == code && said.contains(words), "{found}: {said}");
    }
}

#[test]
fn a_row_counts_once_for_the_mean() {
    let cut = Windowing { window: Some(3), stride: Some(1), rest: Some(Rest::Keep), ..Windowing::default() };
    let recipe = Recipe { fills: Recipe::parse_fills(&["x=mean"]).unwrap(), ..recipe(&cut) };
    let text = "x\n1\n2\nNA\n9\n100\n";
    for data in read("t.csv", text.as_bytes(), &recipe).unwrap() {
        let x = || batched(input("x", DType::Num, &[2], None));
        let mut windows = Windows::bind_by(&*data, &[x()], (Precision::F64, false), &recipe).unwrap();
        let found = Preparation::fit(recipe.clone(), &[&windows], &[0, 1]).unwrap();
        windows.prepare(&found);
        let Data::F64(values) = windows.values(0, &[0, 1], &[0, 1, 2]).unwrap().unwrap().to_data() else {
            panic!()
        };
        // The middle of 1, 2 and 9, which are in the first two windows.
        assert_eq!(values, [1.0, 2.0, 2.0, 4.0, 4.0, 9.0]);
    }
}

#[test]
fn texts_in_memory_are_groups_and_dates() {
    let column = |numbers: Vec<i64>| Column {
        shape: Shape::new(&[numbers.len()]),
        elements: Elements::Int(numbers),
        present: None,
    };
    let cut = |gap| Windowing {
        group: Some("id".to_owned()),
        time: Some("t".to_owned()),
        gap: Some(gap),
        ..Windowing::default()
    };
    let mut table = Columns::new("t");
    let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    table.columns.insert("x".to_owned(), column(vec![0, 1, 2, 3]));
    table.insert_texts("id", column(vec![1, 0, 1, 1]), texts(&["b", "a"]));
    table.insert_texts("t", column(vec![0, 0, 1, 2]), texts(&["2024-03-01", "2024-03-02", "2024-03-04"]));
    assert_eq!(rows(&bind(&table, &cut(86_400.0)).unwrap()), [vec![0, 2], vec![3], vec![1]]);
    assert_eq!(rows(&bind(&table, &cut(172_800.0)).unwrap()), [vec![0, 2, 3], vec![1]]);
    table.insert_texts("t", column(vec![0, 0, 1, 2]), texts(&["2024-03-01", "March 2nd", "2024-03-04"]));
    let refused = bind(&table, &cut(1.0)).unwrap_err();
    assert_eq!((refused.code, refused.message.contains("`March 2nd` is no date")), (codes::DATA_TYPE, true));
}
