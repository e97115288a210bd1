//! Braces, which the language does not have, around what another language writes in them: the cases of an enumeration,
//! the fields of a record, and the values of fields.
//!
//! One error says what to write. The tokens are those of the form that is meant, so that nothing else is in error.

use crate::lexer::{Lexed, Lexer};
use crate::token::{Kind, Token};
use rml_base::Diagnostic;
use rml_base::codes::syntax as codes;

impl Lexer<'_> {
    /// `enum a {b, c}`, `record r {x: num []}` or `r {x = a}`, with the brace next, which is not nested.
    pub(crate) fn braces(&mut self) -> bool {
        let start = self.at;
        let Some(length) = self.rest()[1..].find(['{', '}', '#']) else { return false };
        let close = start + 1 + length;
        if self.text.as_bytes().get(close) != Some(&b'}') {
            return false;
        }
        let tokens = &self.out.tokens;
        let eq = tokens.last().is_some_and(|token| token.kind == Kind::Eq);
        let named = &tokens[..tokens.len() - usize::from(eq)];
        let is_name = |token: &Token| token.kind == Kind::Ident;
        let [.., word, name] = named else { return false };
        if !is_name(name) {
            return false;
        }
        match self.text.get(word.start..word.end) {
            Some("enum") => self.declaration((word.start, eq), close, ("an enumeration", "", "")),
            Some("record") => self.declaration((word.start, eq), close, ("a record", "(", ")")),
            _ if !eq && word.kind == Kind::Eq => self.value(name.start, close),
            _ => return false,
        }
        true
    }

    /// `enum a = {b, c}`, whose first word begins at `word`.
    fn declaration(
        &mut self,
        (word, eq): (usize, bool),
        close: usize,
        (what, open, shut): (&str, &str, &str),
    ) {
        let start = self.at;
        let inner: Vec<Token> = self.inside(close);
        let text = self.text.get(start + 1..close).unwrap_or("").trim().trim_end_matches([',', ';']);
        self.at = close + 1;
        let ended = self.rest().trim_start().starts_with(';');
        let head = self.text.get(word..start).unwrap_or("").trim_end().trim_end_matches([' ', '=']);
        let end = if ended { "" } else { ";" };
        let written = format!("{head} = {open}{}{shut}{end}", text.replace(';', ","));
        let message = format!("{what} is written without braces");
        self.out.diagnostics.push(
            Diagnostic::error(codes::UNEXPECTED_CHARACTER, message)
                .label(self.span(start, start + 1), "no token begins like this")
                .fix(format!("write `{written}`"), self.span(word, close + 1), written),
        );
        if !eq {
            self.push(Kind::Eq, start);
        }
        if !open.is_empty() {
            self.push(Kind::LParen, start);
        }
        self.out.tokens.extend(inner);
        if !open.is_empty() {
            self.push(Kind::RParen, close);
        }
        if !ended {
            self.push(Kind::Semi, close);
        }
    }

    /// The tokens up to the closing brace, with commas between them alone.
    fn inside(&self, close: usize) -> Vec<Token> {
        let out = Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new() };
        let mut inner = Lexer { file: self.file, text: &self.text[..close], at: self.at + 1, out };
        while inner.step() {}
        let mut tokens = inner.out.tokens;
        tokens.iter_mut().filter(|token| token.kind == Kind::Semi).for_each(|token| token.kind = Kind::Comma);
        if tokens.last().is_some_and(|token| token.kind == Kind::Comma) {
            tokens.pop();
        }
        tokens
    }

    /// `{x = a, y = b}` after the name of a record.
    fn value(&mut self, name: usize, close: usize) {
        let start = self.at;
        let record = self.text.get(name..start).unwrap_or("").trim();
        let text = self.text.get(start + 1..close).unwrap_or("").trim().trim_end_matches([',', ';']);
        let value =
            |field: &str| field.split_once(['=', ':']).map_or(field, |(_, value)| value).trim().to_owned();
        let values: Vec<String> = text.split([',', ';']).map(value).collect();
        let inner = self.inside(close);
        self.at = close + 1;
        let written = format!("{record}({})", values.join(", "));
        self.out.diagnostics.push(
            Diagnostic::error(codes::UNEXPECTED_CHARACTER, "a record is made without braces")
                .label(self.span(start, start + 1), "no token begins like this")
                .fix(
                    format!("write `{written}`, in the order of the fields"),
                    self.span(name, close + 1),
                    written,
                ),
        );
        self.push(Kind::LParen, start);
        // The values without the names of the fields.
        for field in inner.split_inclusive(|token| token.kind == Kind::Comma) {
            let named = matches!(field, [name, sign, ..] if name.kind == Kind::Ident && matches!(sign.kind, Kind::Eq | Kind::Colon));
            self.out.tokens.extend(field.iter().skip(if named { 2 } else { 0 }));
        }
        self.push(Kind::RParen, close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_base::{EntityId, FileId};

    /// The tokens that are made, and the help.
    #[track_caller]
    fn check(text: &str, kinds: &str, help: &str) {
        let lexed = crate::lexer::lex(FileId::from_index(0), text);
        let spelling = |token: &Token| match token.kind {
            Kind::Eof => "",
            kind => kind.spelling().unwrap_or("x"),
        };
        let found: Vec<&str> = lexed.tokens.iter().map(spelling).collect();
        assert_eq!(found.join(" ").trim(), kinds);
        let helps: Vec<&String> = lexed.diagnostics.iter().flat_map(|d| &d.help).collect();
        assert_eq!(helps, [help]);
    }

    #[test]
    fn types_in_braces_are_declared() {
        check("enum a { b, c }", "x x = x , x ;", "write `enum a = b, c;`");
        check("enum a = {b, c};", "x x = x , x ;", "write `enum a = b, c`");
        check("record r { x: num []; }", "x x = ( x : x [ ] ) ;", "write `record r = (x: num []);`");
        check(
            "p = r {x = a, y: b + 1};",
            "x = x ( x , x + x ) ;",
            "write `r(a, b + 1)`, in the order of the fields",
        );
    }
}
