//! Columns whose elements are in a temporary file.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::memory::Reservation;
use rml_base::{Diagnostic, Error};
use rml_files::Scratch;
use rml_ir::{Precision, Shape};

use crate::builder::{exact, gaps_in_sequences, inexact};
use crate::columns::{Column, Columns, Elements, LENGTHS};
use crate::joined::as_sequences;
use crate::labels;
use crate::malformed::Malformed;
use crate::npy;

/// How many elements are read at once when a whole column is read.
pub(crate) const AT_ONCE: usize = 1 << 18;

/// Columns without elements, and the positions of their elements.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) table: Columns,
    pub(crate) segments: IndexMap<String, Vec<Segment>>,
}

/// A range of consecutive elements in the file.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// The number of its first element in the column.
    pub(crate) start: usize,
    len: usize,
    /// The type of the elements, as NumPy writes it.
    descr: &'static str,
    /// Its position in the file.
    at: u64,
    /// For texts, their numbers in the whole column.
    numbers: Option<Arc<[i64]>>,
}

impl Segment {
    pub(crate) fn end(&self) -> usize {
        self.start + self.len
    }

    /// Renumbers texts.
    fn renumber(&mut self, numbers: &[i64]) {
        let all = match &self.numbers {
            None => numbers.to_vec(),
            Some(before) => {
                let mut all = Elements::Int(before.to_vec());
                labels::renumber(&mut all, numbers);
                let Elements::Int(all) = all else { return };
                all
            }
        };
        let is_same = all.iter().enumerate().all(|(i, number)| usize::try_from(*number) == Ok(i));
        self.numbers = (!is_same).then(|| all.into());
    }

    /// Reads these elements of the column, all of which are in this segment.
    pub(crate) fn read(&self, scratch: &Scratch, range: Range<usize>) -> Result<Elements, Diagnostic> {
        let size = npy::size(self.descr);
        let mut bytes = vec![0; range.len() * size];
        scratch.read(self.at + ((range.start - self.start) * size) as u64, &mut bytes)?;
        let mut elements = npy::of_raw(self.descr, &bytes);
        if let Some(numbers) = &self.numbers {
            labels::renumber(&mut elements, numbers);
        }
        Ok(elements)
    }
}

impl Stored {
    /// Appends elements to a column.
    pub(crate) fn put(
        &mut self,
        scratch: &Scratch,
        name: &str,
        elements: &Elements,
    ) -> Result<(), Diagnostic> {
        let (descr, bytes) = npy::raw(elements);
        let at = scratch.append(&bytes)?;
        let segments = self.segments.entry(name.to_owned()).or_default();
        let start = segments.last().map_or(0, Segment::end);
        segments.push(Segment { start, len: elements.len(), descr, at, numbers: None });
        Ok(())
    }

    /// Moves the elements of columns from memory to the file.
    pub(crate) fn of(scratch: &Scratch, table: Columns) -> Result<Self, Diagnostic> {
        let mut stored = Self::default();
        stored.keep(scratch, table)?;
        Ok(stored)
    }

    /// Adds columns. Elements that are still in memory move to the file.
    pub(crate) fn keep(&mut self, scratch: &Scratch, mut table: Columns) -> Result<(), Diagnostic> {
        for (name, column) in table.columns.iter_mut().filter(|(name, _)| *name != LENGTHS) {
            let elements = std::mem::replace(&mut column.elements, Elements::Int(Vec::new()));
            column.elements = elements.none();
            if !elements.is_empty() {
                self.put(scratch, name, &elements)?;
            }
        }
        table.memory = Reservation::default();
        self.segments.retain(|name, _| table.columns.contains_key(name));
        self.table = table;
        Ok(())
    }

    /// Adds the rows of another file.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), Error> {
        for (name, numbers) in self.table.number_as_here(&mut other.table) {
            let segments = other.segments.get_mut(&name);
            segments.into_iter().flatten().for_each(|segment| segment.renumber(&numbers));
        }
        self.table.append(other.table)?;
        for (name, segments) in other.segments {
            let own = self.segments.entry(name).or_default();
            let start = own.last().map_or(0, Segment::end);
            own.extend(segments.into_iter().map(|s| Segment { start: start + s.start, ..s }));
        }
        self.segments.retain(|name, _| self.table.columns.contains_key(name));
        Ok(())
    }

    /// Appends the next `added` rows of the same file, after its first `rows` rows. A column that the piece does not
    /// contain has no value in these rows; a column whose rows have different shapes becomes unusable.
    ///
    /// # Errors
    /// Too little memory.
    pub(crate) fn append_piece(
        &mut self,
        rows: usize,
        mut piece: Self,
        added: usize,
    ) -> Result<(), Malformed> {
        if rows == 0 {
            *self = piece;
            return Ok(());
        }
        if added == 0 {
            return Ok(());
        }
        add_missing(&mut self.table, &piece.table, rows);
        add_missing(&mut piece.table, &self.table, added);
        let names: Vec<String> = self.table.columns.keys().cloned().collect();
        for name in names {
            if let Err(why) = fit(&name, &mut self.table, &mut piece.table) {
                self.table.remove(&name);
                piece.table.remove(&name);
                self.table.unusable.insert(name, why.into());
            }
        }
        let (origin, files) = (self.table.origin.clone(), self.table.files.clone());
        self.append(piece).map_err(|e| e.diagnostics().iter().next().cloned()).map_err(|d| match d {
            Some(d) => Malformed::short(d),
            None => Malformed::new("its pieces do not fit each other"),
        })?;
        (self.table.origin, self.table.files) = (origin, files);
        Ok(())
    }

    /// Makes columns of numbers unusable if they contain integers that no number represents exactly.
    pub(crate) fn refuse_inexact(&mut self, scratch: &Scratch) -> Result<(), Diagnostic> {
        let mut refused = Vec::new();
        for (name, segments) in &self.segments {
            let is_num = matches!(self.table.columns.get(name).map(|c| &c.elements), Some(Elements::F64(_)));
            for segment in segments.iter().filter(|segment| is_num && segment.descr == npy::INTEGERS) {
                for start in (segment.start..segment.end()).step_by(AT_ONCE) {
                    let end = segment.end().min(start + AT_ONCE);
                    if let Elements::Int(v) = segment.read(scratch, start..end)?
                        && let Some(x) = v.iter().find(|x| exact(**x, Precision::F64).is_none())
                    {
                        refused.push((name.clone(), inexact(x)));
                    }
                }
            }
        }
        for (name, why) in refused {
            self.table.remove(&name);
            self.table.unusable.insert(name, Malformed::of_type(why).into());
        }
        Ok(())
    }
}

/// Adds the columns that only another piece has, without values.
fn add_missing(table: &mut Columns, other: &Columns, rows: usize) {
    for (name, column) in &other.columns {
        if !table.columns.contains_key(name) && !table.unusable.contains_key(name) {
            let cell = match other.lengths(name) {
                // Such a column has no gaps, whatever its cells.
                Some(_) => &[][..],
                None => column.shape.dims().get(1..).unwrap_or_default(),
            };
            let shape = Shape::new(&[&[rows], cell].concat());
            let none = Column { shape, elements: column.elements.none(), present: Some(Vec::new()) };
            table.columns.insert(name.clone(), none);
        }
    }
}

/// Makes the form of a column in two pieces of a file agree, as if the file had been read as a whole.
///
/// # Errors
/// Why the forms cannot agree.
fn fit(name: &str, before: &mut Columns, piece: &mut Columns) -> Result<(), Malformed> {
    let sequences = [&*before, &*piece].map(|table| table.lengths(name).is_some());
    let (Some(a), Some(b)) = (before.columns.get_mut(name), piece.columns.get_mut(name)) else {
        return Ok(());
    };
    let is_bool = |column: &Column| matches!(column.elements, Elements::Bool(_));
    if !a.is_bare() && !b.is_bare() && is_bool(a) != is_bool(b) {
        return Err(Malformed::of_type(format!("it holds {} and {}", a.elements.kind(), b.elements.kind())));
    }
    let cell = |column: &Column| column.shape.dims().get(1..).unwrap_or_default().to_vec();
    if sequences != [false, false] {
        let entry = |column: &Column, is_joined| match (is_joined, column.shape.dims()) {
            (true, [_, entry @ ..]) | (false, [_, _, entry @ ..]) => Some(entry.to_vec()),
            _ => None,
        };
        let entries = [entry(a, sequences[0]), entry(b, sequences[1])];
        if !a.is_void() && !b.is_void() && (entries[0].is_none() || entries[0] != entries[1]) {
            return Err(other_shape(&cell(a), &cell(b)));
        }
        if a.present.is_some() || b.present.is_some() {
            return Err(gaps_in_sequences());
        }
        // If all rows of the other piece have the same length, they become sequences when they are appended.
        return Ok(());
    }
    let (cells, others) = (cell(a), cell(b));
    if cells == others {
        return Ok(());
    }
    if a.is_void() || b.is_void() {
        let (void, cells) = if a.is_void() { (a, others) } else { (b, cells) };
        void.shape = Shape::new(&[&[void.rows()], &cells[..]].concat());
        return Ok(());
    }
    if cells.is_empty() || others.is_empty() || cells[1..] != others[1..] {
        return Err(other_shape(&cells, &others));
    }
    match (as_sequences(a), as_sequences(b)) {
        (Some(first), Some(second)) => {
            before.lengths.insert(name.to_owned(), first);
            piece.lengths.insert(name.to_owned(), second);
            Ok(())
        }
        _ => Err(gaps_in_sequences()),
    }
}

fn other_shape(expected: &[usize], found: &[usize]) -> Malformed {
    let (expected, found) = (Shape::new(expected), Shape::new(found));
    let why = format!("its shape differs from the rows before: expected {expected}, found {found}");
    Malformed::of_shape(why)
}
