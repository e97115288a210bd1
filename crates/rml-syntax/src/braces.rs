//! Braces, which are not part of the language, where users of other languages write them: around the cases of an
//! enumeration, the fields of a record, and the values of fields.
//!
//! A single error shows the correct form. The lexer continues with the tokens of that form, so no further errors
//! follow.

use crate::lexer::{Lexed, Lexer};
use crate::token::{Kind, Token};
use rml_base::Diagnostic;
use rml_base::codes::syntax as codes;

impl Lexer<'_> {
    /// Reads `enum a {b, c}`, `record r {x: num []}` or `r {x = a}` from the brace on, which must not be nested.
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
            return eq && self.fields(close);
        }
        match self.text.get(word.start..word.end) {
            Some("enum") => self.declaration((word.start, eq), close, ("an enumeration", "", "")),
            Some("record") => self.declaration((word.start, eq), close, ("a record", "(", ")")),
            _ if !eq && word.kind == Kind::Eq => self.value(name.start, close),
            _ => return eq && self.fields(close),
        }
        true
    }

    /// Reads the braces in `enum a = {b, c}`; the first word of the declaration begins at `word`.
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

    /// The tokens up to the closing brace; only commas separate them.
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

    /// Reads `{x = a, y = b}` after the name of a record.
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
        // The values, without the names of the fields.
        for field in inner.split_inclusive(|token| token.kind == Kind::Comma) {
            let named = matches!(field, [name, sign, ..] if name.kind == Kind::Ident && matches!(sign.kind, Kind::Eq | Kind::Colon));
            self.out.tokens.extend(field.iter().skip(if named { 2 } else { 0 }));
        }
        self.push(Kind::RParen, close);
    }

    /// Reads the fields of a record without its name, as in `s: point = {x: a, y: b}` or `s = {x = a}`, as one invalid
    /// token.
    fn fields(&mut self, close: usize) -> bool {
        let start = self.at;
        let text = self.text.get(start + 1..close).unwrap_or("").trim().trim_end_matches([',', ';']);
        let fields: Option<Vec<(&str, &str)>> = text
            .split([',', ';'])
            .map(|field| field.split_once([':', '=']).map(|(name, value)| (name.trim(), value.trim())))
            .collect();
        let Some(fields) = fields else { return false };
        let names = fields.iter().map(|(name, _)| *name);
        let record = self.record_of(&names.collect::<Vec<_>>());
        let value = |name: &String| fields.iter().find(|(field, _)| field == name).map(|(_, value)| *value);
        let d = Diagnostic::error(codes::UNEXPECTED_CHARACTER, "a record is made without braces")
            .label(self.span(start, start + 1), "no token begins like this");
        self.out.diagnostics.push(match record {
            Some((record, order)) => {
                let values: Vec<&str> = order.iter().filter_map(value).collect();
                let written = format!("{record}({})", values.join(", "));
                let help = format!("write `{written}`, in the order of the fields");
                d.fix(help, self.span(start, close + 1), written)
            }
            None => d.help(
                "a record is declared, `record point = (x: num [], y: num []);`, and made by its name, `point(a, b)`",
            ),
        });
        self.at = close + 1;
        self.push(Kind::Invalid, start);
        true
    }

    /// The record defined earlier in the text that has these fields: its name, and the fields in its order.
    fn record_of(&self, fields: &[&str]) -> Option<(String, Vec<String>)> {
        let tokens = &self.out.tokens;
        let text = |token: &Token| self.text.get(token.start..token.end).unwrap_or("");
        let records = (0..tokens.len()).filter(|i| text(&tokens[*i]) == "record");
        records.into_iter().find_map(|at| {
            let rest = tokens.get(at..)?;
            let end = rest.iter().position(|token| token.kind == Kind::Semi)?;
            let declared = rest
                .get(..end)?
                .windows(2)
                .filter(|pair| pair[0].kind == Kind::Ident && pair[1].kind == Kind::Colon);
            let declared: Vec<&str> = declared.map(|pair| text(&pair[0])).collect();
            let alike = declared.len() == fields.len() && declared.iter().all(|name| fields.contains(name));
            let declared = declared.into_iter().map(str::to_owned).collect();
            alike.then(|| (text(&tokens[at + 1]).to_owned(), declared))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_base::{EntityId, FileId};

    /// Checks the tokens that the lexer makes, and the help.
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

    /// Checks the help about a value in braces without the name of its record.
    #[track_caller]
    fn check_fields(text: &str, help: &str) {
        let lexed = crate::lexer::lex(FileId::from_index(0), text);
        let helps: Vec<&String> = lexed.diagnostics.iter().flat_map(|d| &d.help).collect();
        assert_eq!(helps, [help]);
    }

    #[test]
    fn fields_in_braces_are_values_of_their_record() {
        let record = "record r = (x: num [2], y: int []); ";
        let help = "write `r(a, b + 1)`, in the order of the fields";
        check_fields(&format!("{record} s: r = {{y: b + 1, x: a}};"), help);
        check_fields(&format!("{record} s = {{x = a, y = b + 1}};"), help);
        let help = "a record is declared, `record point = (x: num [], y: num []);`, and made by its name, `point(a, b)`";
        check_fields("o = x; s = {x: a};", help);
    }
}
