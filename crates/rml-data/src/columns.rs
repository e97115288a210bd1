//! Columns of data by name.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use rml_base::memory::Reservation;
use rml_base::{Diagnostic, visible_name};
use rml_ir::{Data, Shape};

use crate::files::Files;
use crate::malformed::{Malformed, Unusable};
use crate::parts::Named;

/// The elements of a column, in a type of the file.
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let table = rml::Columns::parse(b"x,y\n1.5,2\n,3\n", rml::Format::Csv, "table.csv")?;
/// let y = &table.columns["y"].elements;
/// assert_eq!((y.kind(), y.len()), ("integers", 2));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Elements {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers of any width.
    Int(Vec<i64>),
    /// Numbers in single precision.
    F32(Vec<f32>),
    /// Numbers in double precision.
    F64(Vec<f64>),
}

impl Elements {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Elements::Bool(v) => v.len(),
            Elements::Int(v) => v.len(),
            Elements::F32(v) => v.len(),
            Elements::F64(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends elements of the same kind, or integers to numbers if they are exact in double precision, or the reverse.
    pub(crate) fn append(&mut self, more: Elements) {
        match (self, more) {
            (Elements::Bool(all), Elements::Bool(v)) => all.extend(v),
            (Elements::Int(all), Elements::Int(v)) => all.extend(v),
            (Elements::F32(all), Elements::F32(v)) => all.extend(v),
            (Elements::F64(all), Elements::F64(v)) => all.extend(v),
            (Elements::F64(all), Elements::F32(v)) => all.extend(v.into_iter().map(f64::from)),
            (Elements::F64(all), Elements::Int(v)) => all.extend(v.into_iter().map(|x| x as f64)),
            (all, v) => debug_assert!(v.is_empty(), "{} among {}", v.kind(), all.kind()),
        }
    }

    /// No elements, of the same kind.
    pub(crate) fn none(&self) -> Self {
        match self {
            Elements::Bool(_) => Elements::Bool(Vec::new()),
            Elements::Int(_) => Elements::Int(Vec::new()),
            Elements::F32(_) => Elements::F32(Vec::new()),
            Elements::F64(_) => Elements::F64(Vec::new()),
        }
    }

    /// The same as elements of values.
    pub(crate) fn to_data(&self) -> Data {
        match self {
            Elements::Bool(v) => Data::Bool(v.clone()),
            Elements::Int(v) => Data::Int(v.clone()),
            Elements::F32(v) => Data::F32(v.clone()),
            Elements::F64(v) => Data::F64(v.clone()),
        }
    }

    /// A description of their kind, for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Elements::Bool(_) => "truth values",
            Elements::Int(_) => "integers",
            Elements::F32(_) | Elements::F64(_) => "numbers",
        }
    }
}

/// A named array: its leading dimension counts rows (cycles or windows).
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let table = rml::Columns::parse(b"x,y\n1.5,2\n,3\n", rml::Format::Csv, "table.csv")?;
/// let x = &table.columns["x"];
/// assert_eq!((x.rows(), x.present_rows()), (2, 1));
/// assert_eq!(x.place(1), None);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// All dimensions, including the leading one.
    pub shape: Shape,
    /// The elements of the present rows, row-major.
    pub elements: Elements,
    /// The numbers of the present rows, ascending; `None` = all rows.
    pub present: Option<Vec<usize>>,
}

impl Column {
    /// The shape for an input whose row has these dimensions: a single value is a vector of one element, too.
    pub(crate) fn shape_for(&self, row: &[usize]) -> Shape {
        match self.shape.dims() {
            [rows] if row == [1] => Shape::new(&[*rows, 1]),
            _ => self.shape.clone(),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.shape.dims().first().copied().unwrap_or(0)
    }

    /// The number of present rows.
    pub fn present_rows(&self) -> usize {
        self.present.as_ref().map_or(self.rows(), Vec::len)
    }

    /// The index of a row among the present rows; none if it is absent.
    pub fn place(&self, row: usize) -> Option<usize> {
        place(self.present.as_deref(), row)
    }

    /// Whether shape, rows and elements are consistent, as in every column that was read from a file.
    pub(crate) fn fits(&self) -> bool {
        let rows = |present: &Vec<usize>| {
            present.is_sorted_by(|a, b| a < b) && present.last().is_none_or(|row| *row < self.rows())
        };
        let cell = self.shape.dims().get(1..).and_then(|dims| Shape::new(dims).checked_len());
        let elements = cell.and_then(|cell| cell.checked_mul(self.present_rows()));
        self.present.as_ref().is_none_or(rows) && elements == Some(self.elements.len())
    }

    /// Whether there are no elements, for any number of rows.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_void() || self.shape.dims().contains(&0)
    }

    /// Whether no row is present; then a text format cannot tell the type of the elements.
    pub(crate) fn is_void(&self) -> bool {
        self.present_rows() == 0
    }
}

/// The index of a row among the present rows.
pub(crate) fn place(present: Option<&[usize]>, row: usize) -> Option<usize> {
    match present {
        None => Some(row),
        Some(rows) => rows.binary_search(&row).ok(),
    }
}

/// The names of a file's columns, in its order, and whether each has numbers as far as that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header(pub(crate) Vec<(String, bool)>);

/// A table of columns.
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let table = rml::Columns::parse(b"x,y\n1.5,2\n,3\n", rml::Format::Csv, "table.csv")?;
/// assert_eq!(table.columns.keys().collect::<Vec<_>>(), ["x", "y"]);
/// assert_eq!(table.most_rows(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The origin of the columns, for messages.
    pub origin: String,
    /// The columns by name, in the order of the file.
    pub columns: IndexMap<String, Column>,
    /// Columns whose rows are sequences of different lengths, with the length of each row. Such a column has the cells
    /// of all rows, concatenated.
    pub(crate) lengths: Box<IndexMap<String, Vec<usize>>>,
    /// The texts of columns that contain texts, by their numbers.
    pub(crate) names: Box<IndexMap<String, Vec<String>>>,
    /// Those of them whose file lists all texts in the order of the numbers that it has in their place.
    pub(crate) listed: BTreeSet<String>,
    /// The names of the values of inputs that are cases of an enumeration, in the order of their numbers.
    pub(crate) cases: BTreeMap<String, Vec<String>>,
    /// The inputs that say whether another input has a value, and these inputs.
    pub(crate) presence: BTreeMap<String, String>,
    /// For each column in which joined files differ, the difference.
    pub(crate) differing: Box<IndexMap<String, String>>,
    /// The columns that count the seconds of dates.
    pub(crate) dated: BTreeSet<String>,
    /// The columns of the file, if other names feed inputs.
    pub(crate) header: Box<Header>,
    /// The files of the rows, if there are several.
    pub(crate) files: Box<Files>,
    /// Properties of the file's format that are neither usual nor given by the user: sentences without a full stop.
    pub assumed: Vec<String>,
    /// The texts that the user gives for cells without a value, and that occur in no cell that was read.
    pub(crate) unfound: Vec<String>,
    /// Entries of the file that cannot be columns (texts, for example), with the reason. They are harmless unless a
    /// program asks for them.
    pub unusable: IndexMap<String, Unusable>,
    /// The columns of each input that has another name than its columns.
    pub(crate) resolved: Box<Named>,
    /// The bytes that the elements took when they were read.
    pub(crate) memory: Reservation,
}

impl Columns {
    /// A table without columns, which messages call `origin`.
    pub fn new(origin: impl Into<String>) -> Self {
        Self { origin: origin.into(), ..Self::default() }
    }

    /// What the user should know about how the file was read: sentences without a full stop.
    pub fn notes(&self) -> Vec<String> {
        let texts: Vec<String> =
            self.unfound.iter().map(|text| format!("`{}`", visible_name(text))).collect();
        let unfound = (!texts.is_empty())
            .then(|| format!("no cell that is read is {} (`--missing`)", texts.join(" or ")));
        self.assumed.iter().cloned().chain(unfound).collect()
    }

    /// The name of the columns in messages.
    pub fn called(&self) -> &str {
        if self.origin.is_empty() { "the data" } else { &self.origin }
    }

    /// The name of the file, or of the first of several.
    pub(crate) fn first_file(&self) -> &str {
        self.files.name(0).unwrap_or(&self.origin)
    }

    /// A row in messages: its number in its file, and the file.
    pub(crate) fn place(&self, row: usize) -> String {
        self.files.place(row, self.called())
    }

    /// Adds a column of texts: for each element the number of its text among `names`.
    pub fn insert_texts(&mut self, name: impl Into<String>, column: Column, names: Vec<String>) {
        let name = name.into();
        self.names.insert(name.clone(), names);
        self.columns.insert(name, column);
    }

    /// Removes a column.
    pub(crate) fn remove(&mut self, name: &str) {
        self.columns.shift_remove(name);
        self.lengths.shift_remove(name);
        self.names.shift_remove(name);
        self.listed.remove(name);
        self.differing.shift_remove(name);
    }

    /// Records the columns that a mapping assigns in this table, and the inputs whose columns it lacks.
    pub(crate) fn take_resolved(&mut self, lacking: Vec<(&str, Malformed)>, named: Named) {
        for (input, why) in lacking {
            self.remove(input);
            self.unusable.insert(input.to_owned(), why.into());
        }
        *self.resolved = named;
    }

    /// Whether the data has an entry of this name, usable or not.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.columns.contains_key(name) || self.unusable.contains_key(name)
    }

    /// Adds to the finding about a column how files differ in it.
    pub(crate) fn explained(&self, name: &str, finding: Diagnostic) -> Diagnostic {
        match self.differing.get(name) {
            Some(how) => finding.note(how.clone()),
            None => finding,
        }
    }

    /// The lengths of the rows of a column, if they are sequences of different lengths.
    pub fn lengths(&self, name: &str) -> Option<&[usize]> {
        self.lengths.get(name).map(Vec::as_slice)
    }

    /// The largest number of rows of a column; a sequence counts as one row.
    pub fn most_rows(&self) -> usize {
        let rows =
            |(name, column): (&String, &Column)| self.lengths(name).map_or(column.rows(), <[usize]>::len);
        match self.columns.get(LENGTHS) {
            // Sequences may be concatenated; then this column counts them.
            Some(lengths) => lengths.rows(),
            None => self.columns.iter().map(rows).max().unwrap_or(0),
        }
    }
}

/// The integer that marks an absent element until its gap is filled.
pub(crate) const ABSENT: i64 = i64::MIN;

/// The column with the number of cycles of each window.
pub(crate) const LENGTHS: &str = "lengths";

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        self.origin == other.origin
            && self.columns == other.columns
            && self.lengths == other.lengths
            && self.names == other.names
            && self.unusable == other.unusable
    }
}
