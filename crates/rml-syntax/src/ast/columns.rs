//! The columns of data that feed inputs.

use rml_base::Span;

use super::Ident;

/// `columns x = open, low..high, hour(date), "wind speed";`: the columns of data that feed an input.
#[derive(Clone, Copy, Debug)]
pub struct ColumnList<'a> {
    /// The input; a field of a record is written `s.h`, and its name consists of both parts and the dot.
    pub input: Ident,
    /// The columns, in order.
    pub parts: &'a [ColumnPart],
    /// The whole item.
    pub span: Span,
}

/// One or more columns. The name of a column in quotes does not contain the quotes.
#[derive(Clone, Copy, Debug)]
pub enum ColumnPart {
    /// `open`
    One(Ident),
    /// `low..high`: from one column to another, both included.
    Range(Ident, Ident),
    /// `hour(date)`: a property of the dates in a column.
    Date(Ident, Ident),
}

impl ColumnPart {
    /// The text from the first to the last name in it.
    pub fn span(&self) -> Span {
        match self {
            ColumnPart::One(name) => name.span,
            ColumnPart::Range(first, last) | ColumnPart::Date(first, last) => first.span.to(last.span),
        }
    }
}
