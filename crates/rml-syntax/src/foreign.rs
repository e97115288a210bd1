//! Syntax of other languages: operators on bits, powers of types (`num^4`), and strings in three quotes. The lexer
//! reports one error for each, which shows the correct form.

use crate::lexer::{Lexed, Lexer, name_len};
use crate::token::{Kind, Token};
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// The help for all operators on bits.
const BITS: &str = "there are no operators on bits: of an int, `mod(x, 256)` is the low byte, `x / 256` what is above it, `mod(x / 4, 2)` bit 2";

impl Lexer<'_> {
    /// Reads an operator on bits and its right operand (`& 255`, `>> 8`, `<< 8`, `| 1`) as one invalid token.
    pub(crate) fn bits(&mut self) -> bool {
        let (start, rest) = (self.at, self.rest());
        let Some(op) = [">>", "<<", "&", "|"].into_iter().find(|op| rest.starts_with(op)) else {
            return false;
        };
        let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
        let after = &rest[op.len()..];
        let after_value = self.out.tokens.last().is_some_and(|token| token.kind.ends_expr());
        let at = start + op.len() + blanks(after);
        let literal = self.text.get(at..).unwrap_or("");
        let literal = &literal[..name_len(literal)];
        let number = Self::based(literal);
        // Between other operands, `&` and `|` mean `and` and `or`; the lexer reports that.
        let fraction = self.text.as_bytes().get(at + literal.len()) == Some(&b'.');
        if !after_value || op.len() == 1 && (number.is_none() || fraction) {
            return false;
        }
        self.at = if number.is_some() && !fraction { at + literal.len() } else { start + op.len() };
        let message = format!("`{op}` is not part of the language");
        let d = Diagnostic::error(codes::UNEXPECTED_CHARACTER, message)
            .label(self.span(start, start + op.len()), "there are no operators on bits");
        self.out.diagnostics.push(self.instead_of_bits(d, op, number));
        self.push(Kind::Invalid, start);
        true
    }

    /// Adds the correct form for an operator on bits whose right operand is `number` and ends here.
    fn instead_of_bits(&self, d: Diagnostic, op: &str, number: Option<i64>) -> Diagnostic {
        let power = number.and_then(|n| u32::try_from(n).ok()).and_then(|n| 2_i64.checked_pow(n));
        let above = number.and_then(|n| n.checked_add(1)).filter(|n| *n > 1 && n & (n - 1) == 0);
        let bit = number.filter(|n| *n > 0 && n & (n - 1) == 0);
        let Some(left) = self.whole_name() else { return d.help(BITS) };
        let name = self.text.get(left.range()).unwrap_or("x");
        let whole = Span::new(self.file, left.range().start, self.at);
        let write = |d: Diagnostic, written: String, note: &str| {
            d.fix(format!("write `{written}`{note}"), whole, written)
        };
        match (op, above, power) {
            ("&", Some(above), _) => {
                write(d, format!("mod({name}, {above})"), ", of an int; `and` is for truth values")
            }
            ("&", None, _) if bit.is_some() => {
                let bit = bit.unwrap_or(1);
                d.help(format!("that bit of an int is `mod({name} / {bit}, 2)`, which is 0 or 1; `and` is for truth values"))
            }
            (">>", _, Some(power)) => {
                d.help(format!("write `{name} / {power}`, of an int that is not negative"))
            }
            ("<<", _, Some(power)) => write(d, format!("{name} * {power}"), ", of an int"),
            _ => d.help(BITS),
        }
    }

    /// The name before the operator, if it is the whole left operand and the right operand ends here. In `a + x & 7`
    /// the name is not the whole operand, because arithmetic binds more tightly than operators on bits.
    fn whole_name(&self) -> Option<Span> {
        let tokens = &self.out.tokens;
        let name = tokens.last().filter(|token| token.kind == Kind::Ident)?;
        let begins = |token: &Token| matches!(token.kind, Kind::Eq | Kind::LParen | Kind::Comma);
        let is_whole = tokens.len().checked_sub(2).and_then(|i| tokens.get(i)).is_some_and(begins);
        let after = self.text.get(self.at..).unwrap_or("").trim_start_matches([' ', '\t']);
        (is_whole && !after.starts_with(['+', '-', '*', '/'])).then(|| self.span(name.start, name.end))
    }

    /// A whole number, such as `12`, `0xff` or `0b101`.
    pub(crate) fn based(text: &str) -> Option<i64> {
        let radix = |prefixes: [&str; 2], radix| {
            let digits = prefixes.into_iter().find_map(|prefix| text.strip_prefix(prefix))?;
            i64::from_str_radix(digits, radix).ok()
        };
        let decimal = || text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        radix(["0x", "0X"], 16).or_else(|| radix(["0b", "0B"], 2)).or_else(decimal)
    }

    /// Reads `num^4`, which means `num [4]`, or `0.0^4`, which means `zeros([4])`.
    pub(crate) fn array_power(&mut self) -> bool {
        let start = self.at;
        let Some(before) = self.out.tokens.last().copied() else { return false };
        let rest = self.rest().strip_prefix('^').unwrap_or("");
        let size = &rest[..name_len(rest)];
        let value = self.text.get(before.start..before.end).unwrap_or("");
        if size.is_empty() {
            return false;
        }
        let shape = format!("[{size}]");
        let label = "this is no array";
        let d = Diagnostic::error(codes::UNEXPECTED_CHARACTER, "`^` is not part of the language");
        let (from, written, note) = match value {
            "num" | "int" | "bool" => (before.start, format!("{value} {shape}"), ""),
            "0" | "0.0" => (before.start, format!("zeros({shape})"), OR_SCALAR),
            "true" | "false" => (before.start, format!("broadcast({shape}, {value})"), OR_SCALAR),
            _ => return false,
        };
        self.at = start + 1 + size.len();
        let place = self.span(from, self.at);
        let d = d.label(self.span(start, self.at), label);
        self.out.diagnostics.push(d.fix(format!("write `{written}`{note}"), place, written));
        if before.kind != Kind::Ident {
            self.push(Kind::Invalid, start);
            return true;
        }
        // The rest of the declaration is parsed with that type.
        let out = Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new() };
        let mut inner = Lexer { file: self.file, text: &self.text[..self.at], at: start + 1, out };
        while inner.step() {}
        self.push(Kind::LBracket, start);
        self.out.tokens.extend(inner.out.tokens);
        self.push(Kind::RBracket, self.at);
        true
    }

    /// Reads a string in three quotes where an equation or a node can begin, and reports that a comment is probably
    /// meant.
    pub(crate) fn long_text(&mut self) -> bool {
        let (start, rest) = (self.at, self.rest());
        let Some(quotes) = ["\"\"\"", "'''"].into_iter().find(|quotes| rest.starts_with(quotes)) else {
            return false;
        };
        let Some(length) = rest[3..].find(quotes) else { return false };
        let last = self.out.tokens.last().map(|token| token.kind);
        if !matches!(last, None | Some(Kind::Semi | Kind::RParen)) {
            return false;
        }
        self.at = start + length + 6;
        let span = self.span(start, self.at);
        let d = text_as_comment(span, &rest[3..3 + length], self.rest());
        self.out.diagnostics.push(d);
        self.at += usize::from(self.rest().starts_with(';'));
        true
    }
}

/// The rest of the help for an array of one value.
const OR_SCALAR: &str = ", or the scalar alone, where it meets an array";

/// The error about a string that stands where an equation or a node can begin. `after` is the text after it.
pub(crate) fn text_as_comment(span: Span, text: &str, after: &str) -> Diagnostic {
    // If the string has several lines, only the three quotes are marked.
    let end = if text.contains('\n') { span.start + 3 } else { span.end };
    let text = text.trim();
    // A `--` comment would hide the text after the string on the same line.
    let rest = after.lines().next().unwrap_or("");
    let alone = !text.contains('\n') && rest.trim_matches([';', ' ', '\t', '\r']).is_empty();
    let (written, help) = match alone {
        true => (format!("-- {text}"), format!("write `-- {text}`")),
        false => (format!("(* {text} *)"), "write `(*` before it and `*)` after it".to_owned()),
    };
    let d = Diagnostic::error(codes::SYNTAX, "a text beside the equations is written as a comment")
        .label(Span { end, ..span }, "expected an equation or the next node");
    // Block comments nest, so a text that contains their delimiters cannot become one.
    match text.contains("(*") || text.contains("*)") {
        true => d.help(help),
        false => {
            let end = span.end + u32::from(after.starts_with(';'));
            d.fix(help, Span { end, ..span }, written)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_base::{EntityId, FileId};

    /// Checks the help lines.
    #[track_caller]
    fn check(text: &str, help: &[&str]) {
        let lexed = crate::lexer::lex(FileId::from_index(0), text);
        let helps: Vec<&String> = lexed.diagnostics.iter().flat_map(|d| &d.help).collect();
        assert_eq!(helps, help);
    }

    #[test]
    fn operators_on_bits_are_arithmetic() {
        check("y = x & 0xFF;", &["write `mod(x, 256)`, of an int; `and` is for truth values"]);
        check(
            "y = x & 4;",
            &["that bit of an int is `mod(x / 4, 2)`, which is 0 or 1; `and` is for truth values"],
        );
        check("y = x >> 8;", &["write `x / 256`, of an int that is not negative"]);
        check("y = x << 3;", &["write `x * 8`, of an int"]);
        check("y = a + x << 3;", &[BITS]);
        check("y = x & 7 * 2;", &[BITS]);
        check("y = x | 1;", &[BITS]);
        check("y = a & b | x & 1.0;", &["write `and`", "write `or`", "write `and`"]);
    }

    #[test]
    fn powers_of_types_and_zeros_are_arrays() {
        check("y: num^4 = x;", &["write `num [4]`"]);
        check("y = 0.0^n fby x;", &["write `zeros([n])`, or the scalar alone, where it meets an array"]);
        check("y = x^2;", &["write `pow(a, b)` for a power of nums"]);
    }

    #[test]
    fn texts_where_an_equation_begins_are_comments() {
        check("node f(x) -> (o)\n  \"\"\"Twice.\"\"\"\n  o = x;", &["write `-- Twice.`"]);
        check("\"\"\"a\nb\"\"\"", &["write `(*` before it and `*)` after it"]);
        check("x = y; \"\"\"a\"\"\"; z = x;", &["write `(*` before it and `*)` after it"]);
    }
}
