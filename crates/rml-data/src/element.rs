//! The elements of cells in files of columns whose types are known before the first row, and the rows that are read
//! from them.

use indexmap::IndexMap;
use rml_base::memory::Reservation;

use crate::advice;
use crate::builder::{Builder, Reading, Scalar};
use crate::columns::Columns;
use crate::dates::Date;
use crate::labels::Texts;
use crate::malformed::{GAP, Malformed, Unusable, Wrong};
use crate::selection::Selection;

/// An element of a cell.
#[derive(Clone, Copy)]
pub(crate) enum Element<'f> {
    Value(Scalar),
    Text(&'f str),
    Time(Date),
    Null,
}

/// What the elements of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ElementKind {
    /// Truth values and numbers.
    Values,
    Texts,
    Times,
}

impl ElementKind {
    /// Whether a column with elements of this kind, within `depth` lists, may feed inputs that accept these texts.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) fn check(self, name: &str, texts: Texts, depth: usize) -> Result<(), Malformed> {
        match (self, texts) {
            (Self::Texts, Texts::Refused) => Err(Malformed::of_type("its elements are texts")
                .note("texts name the classes of an input that is declared as `int`, or are dates")
                .help("write numbers in place of the texts")),
            (Self::Times, Texts::Dates | Texts::Times) if depth == 0 => Ok(()),
            (Self::Times, _) => {
                let seconds = format!(
                    "say what the input needs of them: `--columns 'x=seconds({name})'` or `--columns 'x=hour({name})'`"
                );
                Err(Malformed::of_type("its elements are times").help(seconds))
            }
            (Self::Values | Self::Texts, _) => Ok(()),
        }
    }
}

/// A time, from a number of parts of a second since the beginning of 1970.
pub(crate) fn time(count: i64, per_second: i64) -> Element<'static> {
    #[allow(clippy::cast_precision_loss, reason = "at most nine digits")]
    let fraction = count.rem_euclid(per_second) as f64 / per_second as f64;
    Element::Time((count.div_euclid(per_second), fraction))
}

/// Accepts the elements of a cell.
pub(crate) struct Sink<'s> {
    pub(crate) builder: &'s mut Builder,
    pub(crate) memory: &'s mut Reservation,
    /// How many elements it has accepted.
    pub(crate) count: usize,
}

impl Sink<'_> {
    pub(crate) fn put(&mut self, element: Element<'_>) -> Result<(), Wrong> {
        self.count += 1;
        match element {
            Element::Value(scalar) => self.builder.element(scalar, self.memory),
            Element::Text(text) => self.builder.label(text, self.memory),
            Element::Time(date) => self.builder.date(date, self.memory),
            Element::Null => self.builder.null(self.memory),
        }
    }

    pub(crate) fn numbers(&mut self, all: impl ExactSizeIterator<Item = f64>) -> Result<(), Wrong> {
        self.count += all.len();
        self.builder.numbers(all, self.memory)
    }

    pub(crate) fn integers(&mut self, all: impl ExactSizeIterator<Item = i64>) -> Result<(), Wrong> {
        self.count += all.len();
        self.builder.integers(all, self.memory)
    }
}

/// Rows that are being read.
pub(crate) struct Rows<'s> {
    selection: &'s Selection,
    pub(crate) columns: Vec<(String, Reading)>,
    pub(crate) unusable: IndexMap<String, Unusable>,
    /// The rows and elements read since rows were last taken, and the number of rows before.
    pub(crate) rows: usize,
    pub(crate) elements: usize,
    before: usize,
    memory: Reservation,
}

impl<'s> Rows<'s> {
    pub(crate) fn new(selection: &'s Selection) -> Self {
        let (columns, unusable) = (Vec::new(), IndexMap::new());
        Self { selection, columns, unusable, rows: 0, elements: 0, before: 0, memory: Reservation::default() }
    }

    /// Whether there is a column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, _)| column == name) || self.unusable.contains_key(name)
    }

    /// Adds a column to read.
    pub(crate) fn add(&mut self, name: &str) {
        self.columns.push((name.to_owned(), self.selection.reading(name, Builder::default)));
    }

    /// Reads the cell of the current row in a column; `read` returns its shape.
    pub(crate) fn cell(
        &mut self,
        column: usize,
        read: impl FnOnce(&mut Sink<'_>) -> Result<Vec<usize>, Wrong>,
    ) -> Result<(), Malformed> {
        let Self { selection, columns, rows, elements, before, memory, .. } = self;
        let Some((name, reading)) = columns.get_mut(column) else { return Ok(()) };
        let read = |builder: &mut Builder, memory: &mut Reservation| {
            let mut sink = Sink { builder, memory, count: 0 };
            let shape = read(&mut sink)?;
            *elements += sink.count;
            sink.builder.end(*rows, &shape, sink.memory)
        };
        let placed = |why: Malformed| {
            let why = if why.what() == GAP { advice::null(why, selection.filling(name)) } else { why };
            why.in_row(*before + *rows)
        };
        reading.cell(name, memory, read, placed)
    }

    /// Ends a row. A row without values counts, too.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
        self.elements += 1;
    }

    /// Returns the rows read so far, and starts again.
    pub(crate) fn taken(&mut self) -> Columns {
        let mut columns = Columns { memory: std::mem::take(&mut self.memory), ..Columns::default() };
        for (name, reading) in &mut self.columns {
            let next = self.selection.reading(name, Builder::default);
            columns.insert(name.clone(), std::mem::replace(reading, next).built(self.rows));
        }
        columns.unusable.extend(std::mem::take(&mut self.unusable));
        self.before += self.rows;
        (self.rows, self.elements) = (0, 0);
        columns
    }
}
