//! The columns of data that feed inputs.

use super::{Parse, Parser};
use crate::ast::{ColumnList, ColumnPart, Ident};
use crate::token::Kind;

impl<'a> Parser<'_, 'a> {
    /// Whether `columns x =` or `columns s.h =` is next.
    pub(super) fn at_columns(&self) -> bool {
        let [name, after] = [1, 2].map(|ahead| self.peek_at(ahead).kind);
        self.is_word(0, "columns")
            && (name == Kind::Ident || name.is_keyword())
            && matches!(after, Kind::Eq | Kind::Dot)
    }

    /// Parses `columns input = part, part;`.
    pub(super) fn columns(&mut self) -> Parse<ColumnList<'a>> {
        let start = self.take();
        let mut input = self.name("the name of an input")?;
        while self.eat(Kind::Dot).is_some() {
            let field = self.name("the name of a field")?;
            let span = input.span.to(field.span);
            let text = self.text.get(span.range()).unwrap_or("");
            input = Ident { name: self.names.get_or_intern(text), span };
        }
        self.expect(Kind::Eq, "after the name of the input", &[HELP])?;
        let mut parts = Vec::new();
        loop {
            parts.push(self.column_part()?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        if self.eat(Kind::Semi).is_none() {
            if !self.at_item_end() {
                return Err(self.unexpected("`,` or `;` after a column", &[HELP, QUOTES]));
            }
            self.missing_semicolon("this list of columns");
        }
        Ok(ColumnList { input, parts: self.slice(&parts), span: start.to(self.last_span()) })
    }

    /// Parses `name`, `first..last` or `property(name)`.
    fn column_part(&mut self) -> Parse<ColumnPart> {
        if self.kind() == Kind::Ident && self.peek_at(1).kind == Kind::LParen {
            let property = self.name("a property of dates")?;
            let open = self.take();
            let of = self.column()?;
            self.close(Kind::RParen, open, "`)` after the column of dates")?;
            return Ok(ColumnPart::Date(property, of));
        }
        let first = self.column()?;
        Ok(match self.eat(Kind::DotDot) {
            Some(_) => ColumnPart::Range(first, self.column()?),
            None => ColumnPart::One(first),
        })
    }

    /// Parses the name of a column: a name, a number, or any text in quotes, which are not part of the name.
    fn column(&mut self) -> Parse<Ident> {
        let token = self.peek();
        let name = match token.kind {
            Kind::Ident | Kind::Int => self.text_of(token),
            Kind::Str => self.text.get(token.start + 1..token.end.saturating_sub(1)).unwrap_or(""),
            _ => return Err(self.unexpected("the name of a column", &[HELP, QUOTES])),
        };
        self.next();
        Ok(Ident { name: self.names.get_or_intern(name), span: self.span(token) })
    }
}

const HELP: &str = "columns of an input are written `columns x = open, low..high, hour(date);`";
const QUOTES: &str = "a column of any other name stands in quotes: `\"wind speed\"`";
