//! Data in several files: the rows of each file follow those of the file before.

use std::path::{Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, visible_name};
use rml_files::is_standard_input;
use rml_ir::Shape;

use crate::builder::gaps_in_sequences;
use crate::columns::{Column, Columns, Elements};
use crate::concat::joined;
use crate::format::EXTENSIONS;
use crate::formats::Format;
use crate::malformed::{Malformed, Unusable};
use crate::parts;
use crate::selection::Selection;

/// The data files of these paths: a file is itself, a folder is the data files in it, and a pattern such as
/// `part-*.csv` is the files that it matches; folders and patterns are in the order of names. `-` is standard input.
///
/// # Errors
/// A folder that cannot be read, or has no data file; a pattern that matches nothing.
pub fn data_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        if let Some(found) = rml_files::contents::matching(path)? {
            files.extend(found);
            continue;
        }
        let Some(found) = rml_files::contents::files_in(path)? else {
            if is_standard_input(path) && files.iter().any(|file| is_standard_input(file)) {
                let d = Diagnostic::error(codes::BAD_OPTION, "standard input (`-`) is given twice");
                return Err(d.help("give it once: its end is the end of the data").into());
            }
            files.push(path.to_owned());
            continue;
        };
        let before = files.len();
        files.extend(of_folder(path, found)?);
        if files.len() == before {
            let what = format!("{} cannot be read", path.display());
            return Err(Diagnostic::error(codes::UNREADABLE_FILE, what)
                .note("it is a folder without a data file")
                .note(format!("names of data files end with {EXTENSIONS}"))
                .into());
        }
    }
    Ok(files)
}

/// The data files among those of a folder. In a folder of the library `datasets`, other files describe the data.
fn of_folder(folder: &Path, found: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
    let has = |name: &str| found.iter().any(|file| file.file_name().is_some_and(|own| own == name));
    if has("dataset_dict.json") {
        let what = format!("{} has several parts, each in a folder of its own", folder.display());
        let part = folder.join("train");
        return Err(Diagnostic::error(codes::UNREADABLE_FILE, what)
            .note("the library `datasets` wrote it")
            .help(format!("name a part: `{}`", part.display()))
            .into());
    }
    let is_dataset = has("dataset_info.json") || has("state.json");
    let is_data = |file: &PathBuf| match Format::of(file) {
        Some(Format::Arrow) => true,
        Some(_) => !is_dataset,
        None => false,
    };
    Ok(found.into_iter().filter(is_data).collect())
}

impl Columns {
    /// Reads files, and the data files in folders, as one table: the rows of each file follow those of the one before.
    /// If windows of a column differ in length between files, the column has [windows of different
    /// lengths](Self::lengths). A column that some file lacks, or whose rows differ in shape or kind between files, is
    /// [unusable](Self::unusable).
    ///
    /// # Errors
    /// A file or folder that cannot be read, or is malformed.
    pub fn read_all<P: AsRef<Path>>(paths: &[P]) -> Result<Self, Error> {
        Self::read_selected(paths, &Selection::all())
    }

    /// As [`read_all`](Self::read_all), for the selected columns.
    ///
    /// # Errors
    /// As [`read_all`](Self::read_all).
    pub fn read_selected<P: AsRef<Path>>(paths: &[P], selection: &Selection) -> Result<Self, Error> {
        let files = data_files(paths)?;
        let Some((first, others)) = files.split_first() else { return Ok(Self::default()) };
        // Files without a common column are probably not rows of one table.
        let whole = |file: &Path| Self::read_one(file, &Selection::all()).ok();
        let lacking = |e: Error| match (e.code(), others.first()) {
            (Some(codes::MISSING_COLUMN), Some(second))
                if whole(first).zip(whole(second)).is_some_and(|(a, b)| a.is_apart(&b)) =>
            {
                e.help(side_by_side(first, second))
            }
            _ => e,
        };
        let mut all = Self::read_one(first, selection).map_err(lacking)?;
        all.cases.clone_from(selection.cases());
        all.presence = selection.presence();
        for file in others {
            let next = Self::read_one(file, selection).map_err(lacking)?;
            all.append(next)?;
        }
        Ok(all)
    }

    /// Whether another table has the same number of rows, and no column with the same name: then the files probably
    /// belong side by side.
    fn is_apart(&self, other: &Self) -> bool {
        !self.columns.is_empty()
            && !other.columns.is_empty()
            && self.most_rows() == other.most_rows()
            && !self.columns.keys().any(|name| other.columns.contains_key(name))
    }

    /// Adds the rows of another table.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), Error> {
        let (ours, theirs) = (self.origin.clone(), other.origin.clone());
        self.files.add((&ours, self.most_rows()), (&theirs, other.most_rows()));
        self.number_as_here(&mut other);
        self.memory
            .grow(other.memory.bytes())
            .map_err(|short| short.diagnostic(format!("the data of {theirs} beside that of {ours}")))?;
        self.unusable.values_mut().for_each(|why| why.name_file(&ours));
        for (name, mut why) in other.unusable.drain(..) {
            why.name_file(&theirs);
            self.remove(&name);
            self.unusable.entry(name).or_insert(why);
        }
        let is_apart = self.is_apart(&other);
        let lacking = |name: &str, file: &str| lacking(name, file, is_apart.then_some((&*ours, &*theirs)));
        let missing: Vec<String> =
            self.columns.keys().filter(|name| !other.columns.contains_key(*name)).cloned().collect();
        for name in missing {
            self.remove(&name);
            let why = lacking(&name, &theirs);
            self.unusable.insert(name, why);
        }
        for (input, a, b) in parts::differing(&self.resolved, &other.resolved) {
            let why = other_columns(&input, [&ours, &theirs], [&a, &b]);
            self.remove(&input);
            self.unusable.insert(input, why);
        }
        for (name, mut column) in other.columns {
            let Some(before) = self.columns.get_mut(&name) else {
                self.unusable.entry(name).or_insert_with_key(|name| lacking(name, &ours));
                continue;
            };
            let mut lengths = [self.lengths.shift_remove(&name), other.lengths.shift_remove(&name)];
            let differing = difference(before, &column, &ours, &theirs);
            if lengths.iter().any(Option::is_some) || have_other_lengths(before, &column) {
                for (column, lengths) in [&mut *before, &mut column].into_iter().zip(&mut lengths) {
                    *lengths = lengths.take().or_else(|| as_sequences(column));
                }
            }
            let has_gaps = before.present.is_some() || column.present.is_some();
            let hold_texts =
                [self.names.contains_key(&name) && !before.is_bare(), other.names.contains_key(&name)];
            let appended = match &lengths {
                _ if hold_texts[0] != hold_texts[1] && !before.is_bare() && !column.is_bare() => {
                    Err(texts_and_numbers(hold_texts[0], &ours, &theirs))
                }
                [Some(_), _] | [_, Some(_)] if has_gaps => Err(gaps_in_sequences()),
                [Some(_), None] => Err(no_sequences(&ours, &theirs)),
                [None, Some(_)] => Err(no_sequences(&theirs, &ours)),
                _ => append(before, column, &ours, &theirs),
            };
            if let Err(why) = appended {
                self.remove(&name);
                self.unusable.insert(name, Unusable::of_files(why));
                continue;
            }
            if let [Some(first), Some(second)] = lengths {
                self.lengths.insert(name.clone(), [first, second].concat());
            }
            if let Some(how) = differing {
                self.differing.entry(name).or_insert(how);
            }
        }
        self.unfound.retain(|text| other.unfound.contains(text));
        other.assumed.retain(|how| !self.assumed.contains(how));
        self.assumed.append(&mut other.assumed);
        self.dated.append(&mut other.dated);
        self.origin = self.files.called();
        Ok(())
    }
}

/// The reason that a file lacks a column of another file. With `apart`, they have no column in common and equal numbers
/// of rows.
fn lacking(name: &str, file: &str, apart: Option<(&str, &str)>) -> Unusable {
    let why = format!("{file} has no column `{}`, and another file has", visible_name(name));
    let why = Malformed::lacking(why);
    Unusable::of_files(match apart {
        Some((ours, theirs)) => why.help(side_by_side(Path::new(ours), Path::new(theirs))),
        None => why.help("add the column to each file, or leave it out of all"),
    })
}

/// Advice on how to join the columns of two files.
fn side_by_side(first: &Path, second: &Path) -> String {
    let are = "several files are rows, one after the other; if these are columns of one table, put them side by side";
    let is_csv = |file: &Path| Format::of(file) == Some(Format::Csv);
    match is_csv(first) && is_csv(second) {
        true => format!("{are}: `paste -d, {} {} > data.csv`", first.display(), second.display()),
        false => are.to_owned(),
    }
}

/// Refuses another table in which a range of columns contains other columns.
///
/// # Errors
/// The error about the first such input.
pub fn check_ranges(data: &Columns, other: &Columns) -> Result<(), Diagnostic> {
    let differing = parts::differing(&data.resolved, &other.resolved);
    let Some((input, ours, theirs)) = differing.first() else { return Ok(()) };
    let what = format!("input `{input}` has other columns in {}", other.called());
    Err(other_columns(input, [data.called(), other.called()], [ours, theirs]).refused(what))
}

/// The reason that a range of columns contains other columns in another file.
fn other_columns(input: &str, [ours, theirs]: [&str; 2], columns: [&str; 2]) -> Unusable {
    let what = format!("its columns are {} in {ours}, and {} in {theirs}", columns[0], columns[1]);
    let why = Malformed::of_shape(what)
        .note("a range has the columns between two, in the order of the file")
        .help(format!("name each column: `--columns '{input}=a,b,c'`"));
    Unusable::of_files(why)
}

fn no_sequences(ours: &str, theirs: &str) -> Malformed {
    Malformed::of_shape(format!("its rows are sequences of different lengths in {ours}, and not in {theirs}"))
}

/// The finding that a column contains texts in only one of two files.
fn texts_and_numbers(first: bool, ours: &str, theirs: &str) -> Malformed {
    let (texts, numbers) = if first { (ours, theirs) } else { (theirs, ours) };
    Malformed::of_type(format!("it holds texts in {texts}, and numbers in {numbers}"))
        .help("write the name of a class in each row, or its number")
}

/// How the rows of a column differ in two files, if they do.
fn difference(before: &Column, after: &Column, ours: &str, theirs: &str) -> Option<String> {
    if before.is_bare() || after.is_bare() || theirs.is_empty() {
        return None;
    }
    let kinds = [before, after].map(|column| column.elements.kind());
    if kinds[0] != kinds[1] {
        return Some(format!("it holds {} in {ours}, and {} in {theirs}", kinds[0], kinds[1]));
    }
    let cells = [before, after].map(|column| Shape::new(column.shape.dims().get(1..).unwrap_or_default()));
    (cells[0] != cells[1])
        .then(|| format!("its rows have the shape {} in {ours}, and {} in {theirs}", cells[0], cells[1]))
}

/// Whether rows differ only in their number of entries.
fn have_other_lengths(before: &Column, after: &Column) -> bool {
    let there = !before.is_void() && !after.is_void();
    match (before.shape.dims(), after.shape.dims()) {
        ([_, a, cell @ ..], [_, b, other @ ..]) => there && a != b && cell == other,
        _ => false,
    }
}

/// Concatenates the cells of all rows, and returns the lengths of the rows; nothing if the rows are not sequences.
pub(crate) fn as_sequences(column: &mut Column) -> Option<Vec<usize>> {
    let [rows, length, cell @ ..] = column.shape.dims() else { return None };
    if column.present.is_some() {
        return None;
    }
    let lengths = vec![*length; *rows];
    column.shape = Shape::new(&[&[rows * length], cell].concat());
    Some(lengths)
}

/// Appends the rows of one column to another one, which is in an unspecified state after an error.
fn append(to: &mut Column, from: Column, ours: &str, theirs: &str) -> Result<(), Malformed> {
    let cell = |column: &Column| column.shape.dims().get(1..).map(<[usize]>::to_vec);
    let (Some(cell_to), Some(cell_from)) = (cell(to), cell(&from)) else {
        return Err(Malformed::of_shape(format!("it has no rows in {ours} or in {theirs}")));
    };
    if cell_to != cell_from {
        let (a, b) = (Shape::new(&cell_to), Shape::new(&cell_from));
        let what = format!("its rows have the shape {a} in {ours}, and {b} in {theirs}");
        return Err(Malformed::of_shape(what).help("store rows of one shape in all files"));
    }
    let (rows, added) = (to.rows(), from.rows());
    let kinds = || {
        let [a, b] = [&*to, &from].map(|column| column.elements.kind());
        let what = format!("it holds {a} in {ours}, and {b} in {theirs}");
        Malformed::of_type(what).help("store elements of one kind in all files")
    };
    let kinds = kinds();
    let elements = std::mem::replace(&mut to.elements, Elements::Bool(Vec::new()));
    to.elements = match (to.is_bare(), from.is_bare()) {
        (_, true) => elements,
        (true, false) => from.elements,
        (false, false) => joined(elements, from.elements).ok_or(kinds)?,
    };
    if to.present.is_some() || from.present.is_some() {
        let mut present = to.present.take().unwrap_or_else(|| (0..rows).collect());
        match &from.present {
            Some(there) => present.extend(there.iter().map(|row| rows + row)),
            None => present.extend(rows..rows + added),
        }
        to.present = Some(present);
    }
    to.shape = Shape::new(&[&[rows + added], &cell_to[..]].concat());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(origin: &str, text: &str) -> Columns {
        Columns::parse(text.as_bytes(), Format::Json, origin).unwrap()
    }

    fn joined(a: &str, b: &str) -> Columns {
        let mut all = table("a", a);
        all.append(table("b", b)).unwrap();
        assert_eq!(all.origin, "a, b");
        assert!(all.columns.values().all(Column::fits));
        all
    }

    #[test]
    fn rows_stand_after_each_other() {
        let all = joined(
            r#"{"x": [[1.5, 2.0], [3.0, 4.0]], "n": [1, 2], "y": [null, true]}"#,
            r#"{"y": [false, null], "n": [3], "x": [[5.0, 6.0]]}"#,
        );
        assert_eq!(all.columns["x"].shape.dims(), [3, 2]);
        assert_eq!(all.columns["n"].elements, Elements::Int(vec![1, 2, 3]));
        let y = &all.columns["y"];
        assert_eq!((y.rows(), &y.elements), (4, &Elements::Bool(vec![true, false])));
        assert_eq!(y.present, Some(vec![1, 2]));
    }

    #[test]
    fn numbers_get_a_type_that_has_all_of_them() {
        let all = joined(r#"{"x": [1, 2], "v": [null]}"#, r#"{"x": [0.5], "v": [7]}"#);
        assert_eq!(all.columns["x"].elements, Elements::F64(vec![1.0, 2.0, 0.5]));
        assert_eq!(
            (&all.columns["v"].elements, &all.columns["v"].present),
            (&Elements::Int(vec![7]), &Some(vec![1]))
        );
    }

    #[test]
    fn sequences_of_any_length_stand_after_each_other() {
        let all =
            joined(r#"{"x": [[1, 2], [3]], "y": [[1, 2]]}"#, r#"{"x": [[4, 5, 6]], "y": [[3], [4, 5]]}"#);
        assert_eq!((all.columns["x"].shape.dims(), all.lengths("x")), (&[6][..], Some(&[2, 1, 3][..])));
        assert_eq!(all.lengths("y"), Some(&[2, 1, 2][..]));
        assert_eq!(all.columns["y"].elements, Elements::Int(vec![1, 2, 3, 4, 5]));
        let all = joined(r#"{"x": [[1], [2, 3]], "y": [[1], [2, 3]]}"#, r#"{"x": [4], "y": [null]}"#);
        assert!(all.columns.is_empty() && all.unusable.len() == 2, "{all:?}");
        assert_eq!(
            all.unusable["x"].to_string(),
            "its rows are sequences of different lengths in a, and not in b"
        );
    }

    #[test]
    fn windows_of_other_lengths_are_sequences() {
        let all = joined(r#"{"x": [[[1, 1], [2, 2]]]}"#, r#"{"x": [[[3, 3]], [[4, 4]]]}"#);
        assert_eq!((all.columns["x"].shape.dims(), all.lengths("x")), (&[4, 2][..], Some(&[2, 1, 1][..])));
        assert_eq!(all.differing["x"], "its rows have the shape [2, 2] in a, and [1, 2] in b");
        let all = joined(r#"{"x": [[1, 2], null]}"#, r#"{"x": [[3]]}"#);
        assert!(all.columns.is_empty() && all.unusable.contains_key("x"), "{all:?}");
    }

    #[test]
    fn what_does_not_fit_together_is_no_column() {
        let all = joined(
            r#"{"x": [[1.0]], "y": [1.0], "z": [9007199254740993], "only_a": [1], "same": [1], "t": [1]}"#,
            r#"{"x": [1.0], "y": [true], "z": [0.5], "only_b": [1], "same": [2], "t": ["a"]}"#,
        );
        assert_eq!(all.columns.keys().collect::<Vec<_>>(), ["same"]);
        let why = |name: &str| all.unusable[name].to_string();
        assert_eq!(why("x"), "its rows have the shape [1] in a, and [] in b");
        assert_eq!(why("y"), "it holds numbers in a, and truth values in b");
        assert_eq!(why("z"), "it holds integers in a, and numbers in b");
        assert_eq!(why("only_a"), "b has no column `only_a`, and another file has");
        assert_eq!(why("only_b"), "a has no column `only_b`, and another file has");
        assert_eq!(why("t"), "b, line 1, column 73: row 0: the text \"a\" is no value");
    }
}
