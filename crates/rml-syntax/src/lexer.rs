//! The lexer: turns text into tokens and collects the comments. It never fails: invalid text becomes [`Kind::Invalid`]
//! and a diagnostic.

use crate::token::{Kind, Token};
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, FileId, Span};

/// The result of lexing a text.
pub(crate) struct Lexed {
    /// The tokens; the last one is [`Kind::Eof`].
    pub(crate) tokens: Vec<Token>,
    /// All comments, in textual order, with their delimiters.
    pub(crate) comments: Vec<Span>,
    /// The errors found.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Splits `text` into tokens.
pub(crate) fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        at: 0,
        out: Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new() },
    };
    while lexer.step() {}
    lexer.push(Kind::Eof, text.len());
    lexer.out
}

pub(crate) struct Lexer<'s> {
    pub(crate) file: FileId,
    pub(crate) text: &'s str,
    pub(crate) at: usize,
    pub(crate) out: Lexed,
}

impl<'s> Lexer<'s> {
    pub(crate) fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    pub(crate) fn push(&mut self, kind: Kind, start: usize) {
        self.out.tokens.push(Token { kind, start, end: self.at });
    }

    /// Reads one token, comment or run of blanks; returns false at the end of the text.
    pub(crate) fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return false };
        let start = self.at;
        if first.is_whitespace() || first == '\u{feff}' {
            self.at += first.len_utf8();
        } else if rest.starts_with("(*") {
            self.block_comment();
        } else if rest.starts_with("--") {
            self.at += rest.find('\n').unwrap_or(rest.len());
            let end = start + self.text.get(start..self.at).map_or(0, |c| c.trim_end().len());
            self.out.comments.push(self.span(start, end));
        } else if first.is_ascii_digit() {
            self.number();
        } else if first.is_ascii_alphabetic() || first == '_' {
            self.at += name_len(rest);
            let kind = self.text.get(start..self.at).and_then(Kind::keyword).unwrap_or(Kind::Ident);
            self.push(kind, start);
        } else if (first == '"' || first == '\'') && self.long_text() || self.bits() {
            return true;
        } else if first == '"' {
            self.string();
        } else if let Some((kind, len)) = mark(rest) {
            self.at += len;
            self.push(kind, start);
        } else {
            self.invalid();
        }
        true
    }

    /// Reads `(* .. *)`, which may be nested.
    fn block_comment(&mut self) {
        let start = self.at;
        let mut open = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with("(*") {
                open.push(self.at);
                self.at += 2;
            } else if rest.starts_with("*)") {
                open.pop();
                self.at += 2;
                if open.is_empty() {
                    break;
                }
            } else if let Some(c) = rest.chars().next() {
                self.at += c.len_utf8();
            } else {
                let inner = open.last().copied().unwrap_or(start);
                let mut diagnostic =
                    Diagnostic::error(codes::UNTERMINATED_COMMENT, "this comment is never closed")
                        .label(self.span(inner, inner + 2), "opened here")
                        .note("comments nest: every `(*` needs its own `*)`")
                        .help("close it with `*)`, or use `--` for a comment up to the end of the line");
                if inner != start {
                    diagnostic =
                        diagnostic.label(self.span(start, start + 2), "inside the comment opened here");
                }
                self.out.diagnostics.push(diagnostic);
                break;
            }
        }
        self.out.comments.push(self.span(start, self.at));
    }

    /// Reads `12`, `1.5` or `2e-3`. The first dot of `..` does not belong to the number.
    fn number(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut kind = Kind::Int;
        let mut at = digits(start);
        if bytes.get(at) == Some(&b'.') && bytes.get(at + 1) != Some(&b'.') {
            kind = Kind::Num;
            at = digits(at + 1);
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
                kind = Kind::Num;
                at = digits(at + 1 + sign);
            }
        }
        self.at = at;
        let tail = name_len(self.rest());
        if tail == 0 {
            self.push(kind, start);
            return;
        }
        self.at += tail;
        let written = self.text.get(start..self.at).unwrap_or("");
        let d = Diagnostic::error(codes::MALFORMED_NUMBER, format!("`{written}` is not a number"))
            .label(self.span(at, self.at), "this does not belong to a number")
            .note("numbers are written `12`, `1.5`, `1e-3`, `2.5E+4`");
        self.out.diagnostics.push(match Self::based(written) {
            Some(number) => d.fix(format!("write `{number}`"), self.span(start, self.at), number.to_string()),
            None => d.help("put a space or an operator between the number and the name, or fix the number"),
        });
        self.push(kind, start);
    }

    /// Reads `".."` on one line, without escapes.
    fn string(&mut self) {
        let start = self.at;
        let rest = self.text.get(start + 1..).unwrap_or("");
        match rest.find(['"', '\n']) {
            Some(len) if rest.as_bytes().get(len) == Some(&b'"') => {
                self.at = start + len + 2;
                self.push(Kind::Str, start);
            }
            other => {
                self.at = start + 1 + other.unwrap_or(rest.len());
                self.out.diagnostics.push(
                    Diagnostic::error(codes::UNTERMINATED_STRING, "this string is never closed")
                        .label(self.span(start, start + 1), "opened here")
                        .note("a string ends on the line where it begins and has no escapes")
                        .help("close it with `\"`"),
                );
                self.push(Kind::Invalid, start);
            }
        }
    }

    /// Reads `# ..`, a comment in other languages: reports it and skips the rest of the line.
    fn foreign_comment(&mut self) {
        let start = self.at;
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        self.out.diagnostics.push(
            Diagnostic::error(codes::UNEXPECTED_CHARACTER, "`#` is not part of the language")
                .label(self.span(start, start + 1), "no token begins like this")
                .help("write `--` for a comment up to the end of the line"),
        );
    }

    /// The token that was probably meant by one character, or its repetition, from `start` to here. Blanks separate it
    /// from names around it.
    fn replacement(&self, meant: &str, start: usize) -> Option<String> {
        let token = meant.strip_prefix('`')?.strip_suffix('`').filter(|token| !token.contains(['`', ' ']))?;
        let mut written = self.text.get(start..self.at)?.chars();
        let first = written.next()?;
        if written.any(|c| c != first) {
            return None;
        }
        let is_name =
            |c: Option<char>| token.starts_with(char::is_alphabetic) && c.is_some_and(|c| !c.is_whitespace());
        let before = if is_name(self.text[..start].chars().next_back()) { " " } else { "" };
        let behind = if is_name(self.rest().chars().next()) { " " } else { "" };
        Some(format!("{before}{token}{behind}"))
    }

    /// The correct form for a character whose purpose is shown by the tokens before it.
    fn around(&self, first: char) -> Option<&'static str> {
        let tokens = &self.out.tokens;
        let after_value = tokens.last().is_some_and(|token| token.kind.ends_expr());
        let mut equation = tokens.iter().rev().take_while(|token| token.kind != Kind::Semi);
        match first {
            '\'' if after_value && !equation.any(|token| token.kind == Kind::Invalid) => {
                Some("the transpose is written `transpose(x)`")
            }
            '?' if !after_value => Some("a dimension of any size has a name: `num [batch, 4]`"),
            '{' | '}' if equation.any(|token| matches!(token.kind, Kind::If | Kind::Else)) => {
                Some("an `if` chooses between two values, without braces: `x = if c then a else b;`")
            }
            _ => None,
        }
    }

    /// Reads `|x|` where a value is expected, as one invalid token.
    fn absolute_value(&mut self) -> bool {
        let start = self.at;
        let ends_expr = self.out.tokens.last().is_some_and(|token| token.kind.ends_expr());
        let line = self.rest()[1..].split(['\n', ';']).next().unwrap_or_default();
        let Some(length) = line.find('|').filter(|length| *length > 0 && !ends_expr) else { return false };
        let inner = line[..length].trim();
        let write = format!("abs({inner})");
        self.at += length + 2;
        self.out.diagnostics.push(
            Diagnostic::error(codes::UNEXPECTED_CHARACTER, "`|` is not part of the language")
                .label(self.span(start, self.at), "this looks like an absolute value")
                .fix(format!("write `{write}`"), self.span(start, self.at), write),
        );
        self.push(Kind::Invalid, start);
        true
    }

    /// Reads a run of characters with which no token begins.
    fn invalid(&mut self) {
        let start = self.at;
        let first = self.rest().chars().next().unwrap_or(' ');
        if first == '#' {
            return self.foreign_comment();
        }
        if first == '|' && self.absolute_value() {
            return;
        }
        if first == '{' && self.braces() || first == '^' && self.array_power() {
            return;
        }
        while let Some(c) = self.rest().chars().next() {
            if c.is_whitespace()
                || c.is_ascii_alphanumeric()
                || c == '_'
                || c == '"'
                || mark(self.rest()).is_some()
            {
                break;
            }
            self.at += c.len_utf8();
        }
        let shown: String = self.text.get(start..self.at).unwrap_or("").chars().take(12).collect();
        let shown = shown.escape_debug();
        let mut diagnostic =
            Diagnostic::error(codes::UNEXPECTED_CHARACTER, format!("`{shown}` is not part of the language"))
                .label(self.span(start, self.at), "no token begins like this");
        if let Some(help) = self.around(first) {
            diagnostic = diagnostic.help(help);
        } else if let Some(meant) = look_alike(first) {
            let help = format!("write {meant}");
            diagnostic = match self.replacement(meant, start) {
                Some(text) => diagnostic.fix(help, self.span(start, self.at), text),
                None => diagnostic.help(help),
            };
        } else if first.is_alphabetic() {
            diagnostic = diagnostic.help("names are made of ASCII letters, digits and `_`");
        }
        self.out.diagnostics.push(diagnostic);
        self.push(Kind::Invalid, start);
    }
}

/// Length of the name (or of the rest of a name) at the beginning of `text`.
pub(crate) fn name_len(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
}

/// The punctuation mark at the beginning of `text`, with its length.
fn mark(text: &str) -> Option<(Kind, usize)> {
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    let two = match (first, bytes.get(1).copied().unwrap_or(0)) {
        (b'-', b'>') => Some(Kind::Arrow),
        (b'=', b'=') => Some(Kind::EqEq),
        (b'!', b'=') => Some(Kind::Ne),
        (b'<', b'=') => Some(Kind::Le),
        (b'>', b'=') => Some(Kind::Ge),
        (b'.', b'.') => Some(Kind::DotDot),
        _ => None,
    };
    if let Some(kind) = two {
        return Some((kind, 2));
    }
    let kind = match first {
        b'+' => Kind::Plus,
        b'-' => Kind::Minus,
        b'*' => Kind::Star,
        b'/' => Kind::Slash,
        b'<' => Kind::Lt,
        b'>' => Kind::Gt,
        b'=' => Kind::Eq,
        b'(' => Kind::LParen,
        b')' => Kind::RParen,
        b',' => Kind::Comma,
        b';' => Kind::Semi,
        b':' => Kind::Colon,
        b'[' => Kind::LBracket,
        b']' => Kind::RBracket,
        b'.' => Kind::Dot,
        _ => return None,
    };
    Some((kind, 1))
}

/// The token that was probably meant by a character of another language or keyboard.
fn look_alike(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "`and`",
        '|' => "`or`",
        '!' => "`not` (or `!=` for unequal)",
        '−' | '–' | '—' => "`-`",
        '×' | '·' => "`*`",
        '÷' => "`/`",
        '≤' => "`<=`",
        '≥' => "`>=`",
        '≠' => "`!=`",
        '→' | '⟶' => "`->`",
        '“' | '”' | '„' | '\'' => "`\"`",
        '%' => "`mod(a, b)` for the remainder of ints, `--` for a comment up to the end of the line",
        '^' => "`pow(a, b)` for a power of nums",
        '~' => "`not`",
        '?' => "`if c then a else b`",
        '{' | '}' => "`(` and `)`, or nothing: the equations of a node stand without braces",
        '@' => "`matmul(a, b)` for the product of matrices",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_base::EntityId;

    /// The tokens as written, separated by `|`, and the reported codes.
    fn tokens(text: &str) -> (String, Vec<&'static str>) {
        let lexed = lex(FileId::from_index(0), text);
        let shown: Vec<_> = lexed.tokens.iter().filter_map(|t| text.get(t.start..t.end)).collect();
        (shown.join("|"), lexed.diagnostics.iter().map(|d| d.code.name).collect())
    }

    #[track_caller]
    fn check(text: &str, expected: &str, codes: &[&str]) {
        assert_eq!(tokens(text), (format!("{expected}|"), codes.to_vec()));
    }

    #[test]
    fn bars_around_a_value_are_one_token() {
        check("y = |x - 1| + 2;", "y|=||x - 1||+|2|;", &["unexpected-character"]);
        check("y = a | b | c;", "y|=|a|||b|||c|;", &["unexpected-character"; 2]);
        check("y = |x;\nz = |x;", "y|=|||x|;|z|=|||x|;", &["unexpected-character"; 2]);
    }

    #[test]
    fn numbers_end_before_two_dots() {
        check("4.. 0:4 x.. 1... 2. 3.5..", "4|..|0|:|4|x|..|1|..|.|2.|3.5|..", &[]);
    }

    #[test]
    fn exponents_need_digits() {
        check("1e5 1.e+5 2.5E-4", "1e5|1.e+5|2.5E-4", &[]);
        check("1e 1e+ 1e+x", "1e|1e|+|1e|+|x", &["malformed-number"; 3]);
        check("1.2.3 12ab_3", "1.2|.|3|12ab_3", &["malformed-number"]);
    }

    #[test]
    fn marks_are_as_long_as_possible() {
        check("a->b<=c<-d==e=f", "a|->|b|<=|c|<|-|d|==|e|=|f", &[]);
        check("*)a*(b", "*|)|a|*|(|b", &[]);
    }

    #[test]
    fn comments_and_blanks_separate() {
        check("\u{feff}a(**)b(*(*)*)*)c--d\r\ne\u{a0}f", "a|b|c|e|f", &[]);
        check("a (* (* *)", "a", &["unterminated-comment"]);
    }

    #[test]
    fn strings_end_on_their_line() {
        check("\"a b\" \"\" \"c\nd", "\"a b\"|\"\"|\"c|d", &["unterminated-string"]);
    }
}
