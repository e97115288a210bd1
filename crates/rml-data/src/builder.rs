//! Builds a column while a text format is read, cell by cell. Numbers are the same in all formats: digits without
//! anything else are an integer; with a decimal point or an exponent, they are not. Memory is reserved before it is
//! allocated; absent cells need none.

use std::borrow::Cow;

use rml_base::memory::{Reservation, Shortage, bytes_of};
use rml_base::visible_name;
use rml_ir::{Precision, Shape};

use crate::columns::{Column, Columns, Elements};
use crate::dates::{self, Date};
use crate::labels::{Numbered, Texts};
use crate::malformed::{GAP, Malformed, Wrong};

/// The value at one place of a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Scalar {
    Bool(bool),
    Int(i64),
    Num(f64),
}

impl From<Date> for Scalar {
    fn from((whole, fraction): Date) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "years have four digits")]
        if fraction == 0.0 { Scalar::Int(whole) } else { Scalar::Num(whole as f64 + fraction) }
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Num(x) => write!(f, "{x:?}"),
        }
    }
}

/// The beginning of the finding about names and numbers in one column.
pub(crate) const MIXED: &str = "texts and numbers are mixed";
/// The advice for such a column.
pub(crate) const ONE_WAY: &str =
    "write names in all cells of the column, or in all of them numbers, where 0 is the first class or case";

/// The error of a text among numbers, or of a number among texts.
fn mixed(cell: &str) -> Wrong {
    Wrong::Text(format!("{MIXED}: `{}`", visible_name(cell)))
}

/// The number that a text represents; none if it is not a number. An integer that does not fit in 64 bits becomes a
/// floating-point number if that is exact. A number that is too large does not become infinite.
pub(crate) fn number(text: &str) -> Option<Result<Scalar, String>> {
    if let Ok(i) = text.parse() {
        return Some(Ok(Scalar::Int(i)));
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let x: f64 = text.parse().ok()?;
    if x.is_infinite() && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Some(Err(format!("`{}` is beyond the range of double precision", visible_name(text))));
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Ok(Scalar::Num(x)));
    }
    let is_exact = format!("{:.0}", x.abs()) == digits.trim_start_matches('0');
    Some(if is_exact { Ok(Scalar::Num(x)) } else { Err(inexact(visible_name(text))) })
}

pub(crate) fn inexact(integer: impl std::fmt::Display) -> String {
    format!(
        "the integer {integer} is not exact in double precision; as `{integer}.0` it is a number, which may be rounded"
    )
}

/// The integer that a number is exactly.
pub(crate) fn whole(x: f64) -> Option<i64> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it is whole, and within the numbers that count exactly"
    )]
    let i = x as i64;
    (x.fract() == 0.0 && x.abs() <= 9_007_199_254_740_992.0).then_some(i)
}

/// The number in this precision that equals an integer, if there is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "compared afterwards")]
pub(crate) fn exact(i: i64, precision: Precision) -> Option<f64> {
    let x = match precision {
        Precision::F32 => f64::from(i as f32),
        Precision::F64 => i as f64,
    };
    (x as i128 == i128::from(i)).then_some(x)
}

/// An integer among numbers, as a number of the same value.
fn double(i: i64) -> Result<f64, String> {
    exact(i, Precision::F64).ok_or_else(|| inexact(i))
}

/// Elements of the narrowest type that all elements so far have.
#[derive(Debug, Default)]
enum Cells {
    #[default]
    None,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Num(Vec<f64>),
    Label(Vec<i64>, Numbered),
}

impl Cells {
    /// Adds a text that names a class.
    fn push_label(&mut self, text: &str, memory: &mut Reservation) -> Result<(), Wrong> {
        match self {
            Cells::None => {
                *self = Cells::Label(Vec::new(), Numbered::default());
                self.push_label(text, memory)
            }
            Cells::Label(v, names) => {
                let number = names.number(text, memory)?;
                Ok(push(v, number, memory)?)
            }
            Cells::Bool(_) | Cells::Int(_) | Cells::Num(_) => Err(mixed(text)),
        }
    }

    fn push(&mut self, scalar: Scalar, memory: &mut Reservation) -> Result<(), Wrong> {
        match (&mut *self, scalar) {
            (Cells::None, _) => {
                *self = match scalar {
                    Scalar::Bool(_) => Cells::Bool(Vec::new()),
                    Scalar::Int(_) => Cells::Int(Vec::new()),
                    Scalar::Num(_) => Cells::Num(Vec::new()),
                };
                return self.push(scalar, memory);
            }
            (Cells::Bool(v), Scalar::Bool(b)) => push(v, b, memory)?,
            (Cells::Int(v), Scalar::Int(i)) => push(v, i, memory)?,
            (Cells::Num(v), Scalar::Num(x)) => push(v, x, memory)?,
            (Cells::Num(v), Scalar::Int(i)) => push(v, double(i)?, memory)?,
            (Cells::Int(v), Scalar::Num(_)) => {
                let numbers = v.iter().map(|i| double(*i));
                *self = Cells::Num(numbers.collect::<Result<_, _>>()?);
                return self.push(scalar, memory);
            }
            (Cells::Label(_, _), scalar) => return Err(mixed(&scalar.to_string())),
            (Cells::Bool(_), _) | (_, Scalar::Bool(_)) => {
                return Err("truth values and numbers are mixed".into());
            }
        }
        Ok(())
    }
}

/// Adds an element; if the vector has to grow, memory is reserved first.
fn push<T>(all: &mut Vec<T>, element: T, memory: &mut Reservation) -> Result<(), Shortage> {
    if all.len() == all.capacity() {
        let more = all.len().max(4);
        memory.grow(bytes_of(more, size_of::<T>()))?;
        all.reserve_exact(more);
    }
    all.push(element);
    Ok(())
}

/// Adds elements; if the vector has to grow, memory is reserved first.
fn extend<T>(
    all: &mut Vec<T>,
    more: impl ExactSizeIterator<Item = T>,
    memory: &mut Reservation,
) -> Result<(), Shortage> {
    let room = all.capacity() - all.len();
    if room < more.len() {
        let more = more.len().max(all.len());
        memory.grow(bytes_of(more - room, size_of::<T>()))?;
        all.reserve_exact(more);
    }
    all.extend(more);
    Ok(())
}

/// The dimensions of an input whose first dimension is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct List {
    /// The number of entries along the first dimension.
    pub(crate) entries: usize,
    /// The number of dimensions.
    pub(crate) rank: usize,
}

/// A column while it is read.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    /// The shape of one cell, once a cell has been read.
    shape: Option<Vec<usize>>,
    cells: Cells,
    /// How many cells were read.
    count: usize,
    /// The rows of the cells, once there has been a gap.
    rows: Option<Vec<usize>>,
    /// The number of entries of each cell, once two cells have differed in it.
    lengths: Option<Vec<usize>>,
    /// Which texts it accepts.
    texts: Texts,
    /// Whether single elements may be absent; absent elements are NaN.
    has_gaps: bool,
    /// Whether truth values are the numbers 0 and 1, beside numbers in other cells.
    counts_truths: bool,
    /// Whether a text was a date.
    is_dated: bool,
    /// The dimensions of cells that are filled up at their ends, if the first dimension is known.
    list: Option<List>,
}

/// A finished column.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) column: Column,
    /// The lengths of its rows if these are sequences of different lengths.
    pub(crate) lengths: Option<Vec<usize>>,
    /// The texts of its numbers, if it contains texts.
    pub(crate) names: Option<Vec<String>>,
    /// Whether it counts the seconds of dates that were written as texts.
    pub(crate) is_dated: bool,
}

impl Builder {
    /// A builder for cells of this shape.
    pub(crate) fn of_shape(shape: &[usize]) -> Self {
        Self { shape: Some(shape.to_vec()), ..Self::default() }
    }

    /// The same builder with another choice of accepted texts, and with gaps allowed or not.
    pub(crate) fn taking(self, texts: Texts, has_gaps: bool) -> Self {
        Self { texts, has_gaps, ..self }
    }

    /// Whether it accepts a text, depending on whether the text could also be a number.
    pub(crate) fn takes(&self, is_number: bool) -> bool {
        match self.texts {
            Texts::Refused => false,
            Texts::Names | Texts::Dates | Texts::Times => !is_number,
            Texts::All => true,
        }
    }

    /// Adds an element of the cell that is being read.
    pub(crate) fn element(&mut self, scalar: Scalar, memory: &mut Reservation) -> Result<(), Wrong> {
        let scalar = match scalar {
            Scalar::Bool(truth) if self.counts_truths => Scalar::Int(truth.into()),
            Scalar::Bool(_) | Scalar::Int(_) | Scalar::Num(_) => scalar,
        };
        match (self.texts, scalar) {
            (Texts::All, Scalar::Bool(_) | Scalar::Int(_)) => {
                self.cells.push_label(&scalar.to_string(), memory)
            }
            (Texts::Dates, Scalar::Int(_) | Scalar::Num(_)) => {
                let date = match scalar {
                    Scalar::Int(i) => dates::integer(i),
                    Scalar::Num(x) => dates::number(x),
                    Scalar::Bool(_) => None,
                };
                let no_date = || format!("`{scalar}` is no date: {}; {}", dates::EXPECTED, dates::NUMBERS);
                self.cells.push(date.ok_or_else(no_date)?.into(), memory)
            }
            (Texts::Refused | Texts::Names | Texts::All | Texts::Dates | Texts::Times, _) => {
                self.cells.push(scalar, memory)
            }
        }
    }

    /// Adds a text, which names a class or is a date.
    pub(crate) fn label(&mut self, text: &str, memory: &mut Reservation) -> Result<(), Wrong> {
        match self.texts {
            Texts::Dates | Texts::Times => {}
            Texts::Refused | Texts::Names | Texts::All => return self.cells.push_label(text, memory),
        }
        match dates::seconds(text) {
            Some(date) => {
                self.is_dated = true;
                self.cells.push(date.into(), memory)
            }
            None => {
                let expected = dates::advice(text).unwrap_or(dates::EXPECTED);
                let why = format!("`{}` is neither a number nor a date: {expected}", visible_name(text));
                Err(Wrong::Text(why))
            }
        }
    }

    /// Adds numbers, as [`Self::element`] does.
    pub(crate) fn numbers(
        &mut self,
        all: impl ExactSizeIterator<Item = f64>,
        memory: &mut Reservation,
    ) -> Result<(), Wrong> {
        if matches!(self.cells, Cells::None) {
            self.cells = Cells::Num(Vec::new());
        }
        match (&mut self.cells, self.texts) {
            (Cells::Num(v), Texts::Refused | Texts::Names | Texts::Times) => Ok(extend(v, all, memory)?),
            _ => all.into_iter().try_for_each(|x| self.element(Scalar::Num(x), memory)),
        }
    }

    /// Adds integers, as [`Self::element`] does.
    pub(crate) fn integers(
        &mut self,
        all: impl ExactSizeIterator<Item = i64>,
        memory: &mut Reservation,
    ) -> Result<(), Wrong> {
        if matches!(self.cells, Cells::None) {
            self.cells = Cells::Int(Vec::new());
        }
        match (&mut self.cells, self.texts) {
            (Cells::Int(v), Texts::Refused | Texts::Names | Texts::Times) => Ok(extend(v, all, memory)?),
            _ => all.into_iter().try_for_each(|i| self.element(Scalar::Int(i), memory)),
        }
    }

    /// Adds a date.
    pub(crate) fn date(&mut self, date: Date, memory: &mut Reservation) -> Result<(), Wrong> {
        self.cells.push(date.into(), memory)
    }

    /// Whether single elements may be absent.
    pub(crate) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Reads truth values as the numbers 0 and 1, also those before.
    pub(crate) fn count_truths(&mut self, memory: &mut Reservation) -> Result<(), Wrong> {
        self.counts_truths = true;
        if let Cells::Bool(v) = &self.cells {
            memory.grow(bytes_of(v.len(), size_of::<i64>()))?;
            self.cells = Cells::Int(v.iter().map(|truth| i64::from(*truth)).collect());
        }
        Ok(())
    }

    /// Adds an absent element.
    pub(crate) fn gap(&mut self, memory: &mut Reservation) -> Result<(), Wrong> {
        // Only numbers and classes are filled.
        self.count_truths(memory)?;
        self.cells.push(Scalar::Num(f64::NAN), memory)
    }

    /// Adds an element of a list that is `null`.
    pub(crate) fn null(&mut self, memory: &mut Reservation) -> Result<(), Wrong> {
        if self.has_gaps { self.gap(memory) } else { Err(Wrong::Shape(GAP.to_owned())) }
    }

    /// The same builder; if gaps are filled, cells have these dimensions, and shorter cells are filled up. Cells whose
    /// shape is known, such as those of several columns of a table, are not lists that end early.
    pub(crate) fn filling_up(self, list: Option<List>) -> Self {
        Self { list: list.filter(|_| self.has_gaps && self.shape.is_none()), ..self }
    }

    /// Ends the cell of this row, whose elements have this shape. Rows come in their order.
    pub(crate) fn end(&mut self, row: usize, shape: &[usize], memory: &mut Reservation) -> Result<(), Wrong> {
        let mut shape = Cow::Borrowed(shape);
        if let Some(list) = self.list.filter(|list| list.rank == shape.len() && shape[0] < list.entries) {
            let more = (list.entries - shape[0]).saturating_mul(shape[1..].iter().product());
            (0..more).try_for_each(|_| self.gap(memory))?;
            shape.to_mut()[0] = list.entries;
        }
        let shape = &*shape;
        match &self.shape {
            None => self.shape = Some(shape.to_vec()),
            Some(before) if before == shape && self.lengths.is_none() => {}
            Some(before) if before.len() == shape.len() && !shape.is_empty() && before[1..] == shape[1..] => {
                let (first, count) = (before[0], self.count);
                if self.lengths.is_none() {
                    memory.grow(bytes_of(count, size_of::<usize>()))?;
                }
                push(self.lengths.get_or_insert_with(|| vec![first; count]), shape[0], memory)?;
            }
            Some(before) => {
                let (before, found) = (Shape::new(before), Shape::new(shape));
                let why = format!("its shape differs from the rows before: expected {before}, found {found}");
                return Err(Wrong::Shape(why));
            }
        }
        if self.rows.is_none() && row != self.count {
            memory.grow(bytes_of(self.count, size_of::<usize>()))?;
            self.rows = Some((0..self.count).collect());
        }
        if let Some(rows) = &mut self.rows {
            push(rows, row, memory)?;
        }
        self.count += 1;
        Ok(())
    }

    /// The approximate number of bytes that it has reserved.
    fn bytes(&self) -> u64 {
        let vector =
            |v: &Option<Vec<usize>>| bytes_of(v.as_ref().map_or(0, Vec::capacity), size_of::<usize>());
        let elements = match &self.cells {
            Cells::None => 0,
            Cells::Bool(v) => bytes_of(v.capacity(), size_of::<bool>()),
            Cells::Int(v) | Cells::Label(v, _) => bytes_of(v.capacity(), size_of::<i64>()),
            Cells::Num(v) => bytes_of(v.capacity(), size_of::<f64>()),
        };
        elements + vector(&self.rows) + vector(&self.lengths)
    }

    /// The column, with `rows` rows.
    ///
    /// # Errors
    /// Why the cells do not make a column.
    fn built(mut self, rows: usize) -> Result<Built, Malformed> {
        let is_dated = self.is_dated;
        let Some(lengths) = self.lengths.take() else {
            let (column, names) = self.named_column(rows);
            return Ok(Built { column, lengths: None, names, is_dated });
        };
        if self.rows.is_some() || self.count < rows {
            return Err(gaps_in_sequences());
        }
        let shape: Shape = std::iter::once(lengths.iter().sum())
            .chain(self.shape.iter().flat_map(|shape| shape.iter().skip(1).copied()))
            .collect();
        let (column, names) = self.named_column(rows);
        Ok(Built { column: Column { shape, ..column }, lengths: Some(lengths), names, is_dated })
    }

    /// The column, with `rows` rows of one shape, and the texts of its numbers.
    pub(crate) fn named_column(self, rows: usize) -> (Column, Option<Vec<String>>) {
        let (elements, names) = match self.cells {
            Cells::None => (Elements::Int(Vec::new()), None),
            Cells::Bool(v) => (Elements::Bool(v), None),
            Cells::Int(v) => (Elements::Int(v), None),
            Cells::Num(v) => (Elements::F64(v), None),
            Cells::Label(v, names) => (Elements::Int(v), Some(names.names())),
        };
        let shape = std::iter::once(rows).chain(self.shape.unwrap_or_default()).collect();
        // Even without gaps, rows may be missing after the last row that was read.
        let present = self.rows.or_else(|| (self.count < rows).then(|| (0..self.count).collect()));
        (Column { shape, elements, present }, names)
    }
}

/// The finding that sequences of different lengths have no gaps.
pub(crate) fn gaps_in_sequences() -> Malformed {
    Malformed::of_shape("its rows are sequences of different lengths, and some rows have none")
        .help("give each row a sequence, an empty one included, or leave the row out")
}

/// A column that is being read; it is refused at the first cell that cannot be read.
#[derive(Debug)]
pub(crate) enum Reading {
    Cells(Builder),
    /// No input can use it, for this reason.
    Refused(Malformed),
}

impl Reading {
    /// Whether a cell could not be read.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Reads a cell, if all cells before it could be read. A cell that cannot be read refuses the column; `place` adds
    /// its place to the message.
    ///
    /// # Errors
    /// Too little memory.
    pub(crate) fn cell(
        &mut self,
        name: &str,
        memory: &mut Reservation,
        read: impl FnOnce(&mut Builder, &mut Reservation) -> Result<(), Wrong>,
        place: impl FnOnce(Malformed) -> Malformed,
    ) -> Result<(), Malformed> {
        let Self::Cells(builder) = self else { return Ok(()) };
        let Err(wrong) = read(builder, memory) else { return Ok(()) };
        match Malformed::in_cell(name, wrong) {
            Err(short) => Err(place(short)),
            Ok(why) => {
                memory.set(memory.bytes().saturating_sub(builder.bytes()));
                *self = Self::Refused(place(why));
                Ok(())
            }
        }
    }

    /// The column, with `rows` rows.
    ///
    /// # Errors
    /// Why the cells do not make a column.
    pub(crate) fn built(self, rows: usize) -> Result<Built, Malformed> {
        match self {
            Self::Cells(builder) => builder.built(rows),
            Self::Refused(why) => Err(why),
        }
    }
}

impl Columns {
    /// Adds a column, or the reason why it is unusable.
    pub(crate) fn insert(&mut self, name: String, built: Result<Built, Malformed>) {
        match built {
            Ok(Built { column, lengths, names, is_dated }) => {
                if is_dated {
                    self.dated.insert(name.clone());
                }
                self.lengths.extend(lengths.map(|lengths| (name.clone(), lengths)));
                self.names.extend(names.map(|names| (name.clone(), names)));
                self.columns.insert(name, column);
            }
            Err(why) => {
                self.unusable.insert(name, why.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_may_have_different_lengths() {
        let built = |rows: &[(usize, &[usize])], count: usize| {
            let (mut builder, mut memory) = (Builder::default(), Reservation::default());
            for (row, shape) in rows {
                for i in 0..shape.iter().product() {
                    builder.element(Scalar::Int(i as i64), &mut memory).unwrap();
                }
                builder.end(*row, shape, &mut memory)?;
            }
            builder.built(count).map_err(|why| Wrong::Text(why.what()))
        };
        let Built { column, lengths, .. } =
            built(&[(0, &[2, 3]), (1, &[2, 3]), (2, &[1, 3]), (3, &[0, 3])], 4).unwrap();
        assert_eq!((column.shape.dims(), lengths), (&[5, 3][..], Some(vec![2, 2, 1, 0])));
        assert!(column.fits());
        assert_eq!(built(&[(0, &[2]), (1, &[2])], 2).unwrap().lengths, None);
        for (rows, count) in [(vec![(0, &[2][..]), (2, &[1])], 3), (vec![(0, &[2]), (1, &[1])], 3)] {
            assert!(
                matches!(built(&rows, count), Err(Wrong::Text(why)) if why.contains("some rows have none"))
            );
        }
        for rows in [[(0, &[2, 3][..]), (1, &[2, 2])], [(0, &[2]), (1, &[])], [(0, &[2]), (1, &[2, 1])]] {
            assert!(matches!(built(&rows, 2), Err(Wrong::Shape(why)) if why.contains("differs from")));
        }
    }

    #[test]
    fn digits_alone_are_an_integer() {
        let read = |text: &str| number(text).map(|n| n.map_err(drop));
        for (text, i) in [("7", 7), ("-0", 0), ("+3", 3), ("007", 7), ("-9223372036854775808", i64::MIN)] {
            assert_eq!(read(text), Some(Ok(Scalar::Int(i))), "{text}");
        }
        for (text, x) in
            [("1e3", 1000.0), ("7.0", 7.0), ("-0.0", 0.0), ("9223372036854775808", 2_f64.powi(63))]
        {
            assert_eq!(read(text), Some(Ok(Scalar::Num(x))), "{text}");
        }
        assert!(number("-0.0") == Some(Ok(Scalar::Num(-0.0))) && matches!(read("inf"), Some(Ok(_))));
        for text in
            ["9223372036854775809", "18446744073709551615", "-9223372036854775809", "1e999", "-.1e999"]
        {
            assert_eq!(read(text), Some(Err(())), "{text}");
        }
        assert_eq!(read(&"9".repeat(100_000)), Some(Err(())));
        for text in ["", "-", "+", "one", "1_000", "0x10", "1 2"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn integers_among_numbers_are_exact() {
        let read = |scalars: &[Scalar]| {
            let (mut builder, mut memory) = (Builder::default(), Reservation::default());
            for (row, scalar) in scalars.iter().enumerate() {
                builder.element(*scalar, &mut memory)?;
                builder.end(row, &[], &mut memory)?;
            }
            Ok::<_, Wrong>(builder.named_column(scalars.len()).0.elements)
        };
        let (exact, not) = (Scalar::Int(1 << 53), Scalar::Int((1 << 53) + 1));
        assert_eq!(read(&[exact, not]).unwrap(), Elements::Int(vec![1 << 53, (1 << 53) + 1]));
        assert_eq!(read(&[exact, Scalar::Num(0.5)]).unwrap(), Elements::F64(vec![2_f64.powi(53), 0.5]));
        for mixed in [[not, Scalar::Num(0.5)], [Scalar::Num(0.5), not]] {
            assert!(matches!(read(&mixed), Err(Wrong::Text(why)) if why.contains("9007199254740993")));
        }
    }
}
