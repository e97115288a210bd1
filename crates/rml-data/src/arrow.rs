//! Arrow: files and streams of batches of columns, as Feather files, and as folders of the library `datasets`.
//!
//! Data is a sequence of messages, each with metadata and a body: first the schema, then dictionaries and batches. A
//! file lists its messages at its end. Batches are read one after the other, so the data is never in memory as a whole.

mod body;
mod lz4;
mod messages;
mod schema;
mod table;
mod write;

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use indexmap::IndexMap;
use rml_base::Diagnostic;
use rml_base::codes::run as codes;
use rml_base::memory::{self, Reservation};

use crate::builder::Builder;
use crate::columns::Columns;
use crate::element::{ElementKind, Rows, Sink};
use crate::formats::ARROW_STREAM;
use crate::json::JsonCell;
use crate::labels::Texts;
use crate::malformed::{Malformed, Wrong};
use crate::recipe::Preparation;
use crate::selection::{self, Selection};
use body::{Batch, Dictionaries, Owned};
use messages::{File, Message, Messages, Stream};
use schema::{Field, Kind};
use table::{Damaged, Table};

pub use write::{ArrowAnswers, ArrowCell, ArrowField, ArrowType};

/// The first bytes of a file of version 1 of Feather.
const OLD: &[u8] = b"FEA1";
/// The most rows of a batch: rows without values take no bytes.
const MAX_ROWS: usize = 1 << 27;

/// A callback for rows that were read, and their number.
pub(crate) type Put<'p> = &'p mut dyn FnMut(Columns, usize) -> Result<(), Malformed>;

impl From<Damaged> for Malformed {
    fn from(_: Damaged) -> Self {
        Malformed::new("it cannot be read as Arrow").note("the data is damaged, or ends early")
    }
}

/// The batches of data whose schema has been read.
struct Batches<M> {
    messages: M,
    fields: Vec<Field>,
    known: Dictionaries,
}

impl<M: Messages> Batches<M> {
    fn new((messages, fields): (M, Vec<Field>)) -> Self {
        Self { messages, fields, known: Dictionaries::new() }
    }

    /// Calls `look` with the next batch, its columns and the known dictionaries; `None` at the end.
    fn next<T>(
        &mut self,
        look: impl FnOnce(Batch<'_>, &[Field], &Dictionaries) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        while let Some(Message { meta, body }) = self.messages.next()? {
            let root = Table::root(&meta)?;
            let header = root.table(2)?.ok_or(Damaged)?;
            match root.byte(1)? {
                2 => self.dictionary(header, &body)?,
                3 => {
                    let batch = Batch::new(header, &body)?;
                    if batch.rows > MAX_ROWS {
                        return Err(Malformed::too_large(format!("a batch has {} rows", batch.rows)));
                    }
                    return look(batch, &self.fields, &self.known).map(Some);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Reads a dictionary, or adds to one.
    fn dictionary(&mut self, header: Table<'_>, body: &[u8]) -> Result<(), Malformed> {
        let id = header.i64(0)?;
        let mut batch = Batch::new(header.table(1)?.ok_or(Damaged)?, body)?;
        let Some(field) = numbered(&self.fields, id) else { return Ok(()) };
        let cells = batch.take(&Field { dictionary: None, ..field.clone() }, true)?;
        if cells.len() > MAX_ROWS {
            return Err(Malformed::too_large(format!("a dictionary has {} values", cells.len())));
        }
        memory::ask(rml_base::memory::bytes_of(cells.len(), size_of::<Owned>()) + body.len() as u64)
            .map_err(|short| Malformed::short(short.diagnostic("a dictionary")))?;
        let value = |i| cells.element(i, &self.known).map_or(Owned::Null, Owned::from);
        let values: Vec<Owned> = (0..cells.len()).map(value).collect();
        match header.bool(2)? {
            true => self.known.entry(id).or_default().extend(values),
            false => drop(self.known.insert(id, values)),
        }
        Ok(())
    }
}

/// The field whose cells number the values of a dictionary.
fn numbered(fields: &[Field], id: i64) -> Option<&Field> {
    fields.iter().find_map(|field| match &field.kind {
        _ if field.dictionary.is_some_and(|(own, _)| own == id) => Some(field),
        Kind::List(_, item) | Kind::Array(_, item) => numbered(std::slice::from_ref(item), id),
        Kind::Other(other) => numbered(&other.parts, id),
        Kind::Null | Kind::Bool | Kind::Number(_) | Kind::Text(_) | Kind::Time(_) => None,
    })
}

impl Field {
    /// Whether a column may feed inputs that accept these texts.
    ///
    /// # Errors
    /// Why it cannot.
    fn check(&self, texts: Texts) -> Result<(), Malformed> {
        let (mut field, mut depth) = (self, 0);
        loop {
            let kind = match &field.kind {
                Kind::List(_, item) | Kind::Array(_, item) if field.dictionary.is_none() => {
                    (field, depth) = (item, depth + 1);
                    continue;
                }
                Kind::Null | Kind::Bool | Kind::Number(_) => ElementKind::Values,
                Kind::Text(_) => ElementKind::Texts,
                Kind::Time(_) => ElementKind::Times,
                Kind::List(_, _) | Kind::Array(_, _) => {
                    return Err(
                        Malformed::of_type("its dictionary has lists").help("store the lists themselves")
                    );
                }
                Kind::Other(other) => {
                    let why = Malformed::of_type(format!("its elements are {}", other.what));
                    return Err(match other.what {
                        "structures" => why.help("give each part a column of its own"),
                        "decimals" => why
                            .help(format!("store numbers: in pandas, `df[\"{}\"].astype(float)`", self.name)),
                        _ => why.help("store truth values, numbers, texts or times"),
                    });
                }
            };
            return kind.check(&self.name, texts, depth);
        }
    }
}

/// Reads a file or a stream, about `elements` elements at a time.
pub(crate) fn read(
    mut from: impl Read + Seek,
    selection: &Selection,
    elements: usize,
    put: Put<'_>,
) -> Result<(), Malformed> {
    match messages::is_file(&mut from)? {
        true => read_batches(Batches::new(File::new(from)?), selection, elements, put),
        false => read_stream(from, selection, elements, put),
    }
}

/// Reads a stream, about `elements` elements at a time.
pub(crate) fn read_stream(
    from: impl Read,
    selection: &Selection,
    elements: usize,
    put: Put<'_>,
) -> Result<(), Malformed> {
    read_batches(Batches::new(Stream::new(from)?), selection, elements, put)
}

fn read_batches(
    mut batches: Batches<impl Messages>,
    selection: &Selection,
    elements: usize,
    put: Put<'_>,
) -> Result<(), Malformed> {
    let mut rows = Rows::new(selection);
    let (mut wanted, mut labels) = (Vec::new(), Vec::new());
    for field in &batches.fields {
        if rows.has(&field.name) {
            return Err(Malformed::new(format!("two columns have the name `{}`", field.name)));
        }
        let check = match selection.has(&field.name) {
            true => field.check(selection.texts(&field.name)),
            false => Err(selection::left_out()),
        };
        wanted.push(check.is_ok());
        match check {
            Ok(()) => {
                rows.add(&field.name);
                let names = field.labels.clone().filter(|_| selection.texts(&field.name).are_names());
                labels.extend(names.map(|names| (field.name.clone(), names)));
            }
            Err(why) => drop(rows.unusable.insert(field.name.clone(), why.into())),
        }
    }
    let put = &mut |mut columns: Columns, count: usize| {
        labels.iter().for_each(|(column, names)| columns.label(column, names));
        put(columns, count)
    };
    while batches
        .next(|batch, fields, known| rows.batch(batch, (fields, &wanted), known, (elements, put)))?
        .is_some()
    {}
    let last = rows.rows;
    put(rows.taken(), last)
}

impl Rows<'_> {
    /// Reads the rows of a batch; `wanted` says which columns are read.
    fn batch(
        &mut self,
        mut batch: Batch<'_>,
        (fields, wanted): (&[Field], &[bool]),
        known: &Dictionaries,
        (elements, put): (usize, &mut dyn FnMut(Columns, usize) -> Result<(), Malformed>),
    ) -> Result<(), Malformed> {
        let mut columns = Vec::new();
        for (field, wanted) in fields.iter().zip(wanted) {
            let cells = batch.take(field, *wanted)?;
            if *wanted {
                columns.push(cells);
            }
        }
        if columns.iter().any(|cells| cells.len() < batch.rows) {
            return Err(Damaged.into());
        }
        for row in 0..batch.rows {
            for (at, cells) in columns.iter().enumerate().filter(|(_, cells)| !cells.is_null(row)) {
                self.cell(at, |sink| cells.cell(row, known, sink))?;
            }
            self.end_row();
            if self.elements >= elements {
                let rows = self.rows;
                put(self.taken(), rows)?;
            }
        }
        Ok(())
    }
}

/// A stream of Arrow whose rows are the cycles of a program: each row has a cell for each column.
pub struct ArrowRows<R> {
    batches: Batches<Stream<R>>,
}

impl<R> std::fmt::Debug for ArrowRows<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowRows").finish_non_exhaustive()
    }
}

/// A row: its cells by name.
pub type ArrowRow = IndexMap<String, JsonCell>;

impl<R: Read> ArrowRows<R> {
    /// Whether a stream that begins with these bytes is Arrow.
    pub fn is_begun_by(begin: &[u8]) -> bool {
        begin.starts_with(&ARROW_STREAM)
    }

    /// Reads the schema.
    ///
    /// # Errors
    /// A stream that cannot be read or is not Arrow.
    pub fn new(from: R) -> Result<Self, Diagnostic> {
        let batches = Batches::new(Stream::new(from).map_err(|e| e.at("standard input"))?);
        let mut names = BTreeSet::new();
        match batches.fields.iter().find(|field| !names.insert(&field.name)) {
            None => Ok(Self { batches }),
            Some(field) => {
                let what = format!("standard input has two columns `{}`", field.name);
                Err(Diagnostic::error(codes::MALFORMED_DATA, what).help("give each column a name of its own"))
            }
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.batches.fields.iter().map(|field| field.name.as_str())
    }

    /// The rows of the next batch, whose texts are prepared in this way; `None` at the end.
    ///
    /// # Errors
    /// The stream cannot be read, or is damaged.
    pub fn next(&mut self, preparation: &Preparation) -> Result<Option<Vec<ArrowRow>>, Diagnostic> {
        let rows = self.batches.next(|batch, fields, known| rows(batch, fields, known, preparation));
        rows.map_err(|e| e.at("standard input"))
    }
}

fn rows(
    mut batch: Batch<'_>,
    fields: &[Field],
    known: &Dictionaries,
    preparation: &Preparation,
) -> Result<Vec<ArrowRow>, Malformed> {
    let columns = fields.iter().map(|field| batch.take(field, true)).collect::<Result<Vec<_>, Damaged>>()?;
    if columns.iter().any(|cells| cells.len() < batch.rows) {
        return Err(Damaged.into());
    }
    let mut memory = Reservation::default();
    let mut one = |row: usize, (field, cells): (&Field, &body::Cells<'_>)| {
        if cells.is_null(row) {
            return Ok(None);
        }
        let texts = if preparation.classes.contains_key(&field.name) { Texts::Names } else { Texts::Refused };
        field.check(texts).map_err(|why| Wrong::Text(why.what()))?;
        let mut builder = Builder::default().taking(texts, preparation.fills(&field.name));
        let mut sink = Sink { builder: &mut builder, memory: &mut memory, count: 0 };
        let shape = cells.cell(row, known, &mut sink)?;
        builder.end(0, &shape, &mut memory)?;
        Ok(Some(builder.named_column(1)))
    };
    let row = |row: usize| {
        let cells = fields.iter().zip(&columns);
        cells.map(|(field, cells)| (field.name.clone(), one(row, (field, cells)))).collect()
    };
    Ok((0..batch.rows).map(row).collect())
}

#[cfg(test)]
mod tests;
