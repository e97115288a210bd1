//! Reads JSON text without a tree of its values, so that memory is needed only for requested values.

use std::borrow::Cow;

use indexmap::IndexMap;
use rml_base::visible_name;
use serde::de::IgnoredAny;

use crate::malformed::{MAX_COLUMNS, Malformed, line_column};

/// A position in a well-formed JSON document.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'a> {
    text: &'a str,
    at: usize,
}

/// The error in a text that is not well-formed, with its line and column (from 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ill {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The reason of the error.
    pub why: String,
}

impl From<Ill> for Malformed {
    fn from(ill: Ill) -> Self {
        Malformed::new(ill.why).in_line(ill.line, ill.column)
    }
}

/// Checks that a text is one JSON value. Values are skipped instead of built, so this takes no memory, however deep or
/// long they are.
fn well_formed(text: &str) -> Result<(), Ill> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ()).map_err(|e| {
        let (line, column) = (e.line(), e.column());
        let why = match not_finite(text, line, column) {
            Some((word, quoted)) => format!("`{word}` is not JSON; write it in quotes: `{quoted}`"),
            None => e.to_string().replace(&format!(" at line {line} column {column}"), ""),
        };
        Ill { line, column, why }
    })
}

/// A number that is not finite, at this position in the notation of other tools, and its notation in quotes.
fn not_finite(text: &str, line: usize, column: usize) -> Option<(&'static str, &'static str)> {
    const WORDS: [(&str, &str); 6] = [
        ("NaN", "\"NaN\""),
        ("nan", "\"NaN\""),
        ("Infinity", "\"Infinity\""),
        ("-Infinity", "\"-Infinity\""),
        ("inf", "\"Infinity\""),
        ("-inf", "\"-Infinity\""),
    ];
    let line = text.split('\n').nth(line.checked_sub(1)?)?;
    // The position is that of the first wrong byte, or the one before it.
    let starts = (column.saturating_sub(3)..=column).filter_map(|at| line.get(at..));
    starts.flat_map(|rest| WORDS.into_iter().filter(move |(word, _)| rest.starts_with(word))).next()
}

impl<'a> Scan<'a> {
    /// The position of the value of a document.
    pub(crate) fn new(text: &'a str) -> Result<Self, Ill> {
        well_formed(text)?;
        let mut scan = Self { text, at: 0 };
        scan.blanks();
        Ok(scan)
    }

    /// The position of the value in each line that is not blank, with the number of the line (from 1).
    pub(crate) fn lines(text: &'a str) -> impl Iterator<Item = Result<Self, Ill>> {
        let mut at = 0;
        let starts = text.split_inclusive('\n').map(move |line| {
            at += line.len();
            (at - line.len(), line)
        });
        let filled = (1..).zip(starts).filter(|(_, (_, line))| !line.trim().is_empty());
        filled.map(move |(number, (at, line))| {
            well_formed(line.trim_end()).map_err(|ill| Ill { line: number, ..ill })?;
            let mut scan = Self { text, at };
            scan.blanks();
            Ok(scan)
        })
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().bytes().take_while(is_blank).count();
    }

    /// Skips `null`, if it is next.
    pub(crate) fn is_null(&mut self) -> bool {
        self.sees('n') && self.token() == "null"
    }

    /// Whether this character is next.
    pub(crate) fn sees(&self, c: char) -> bool {
        self.rest().starts_with(c)
    }

    /// Skips this character and the blanks after it, if it is next.
    pub(crate) fn accept(&mut self, c: char) -> bool {
        let accepted = self.sees(c);
        if accepted {
            self.at += c.len_utf8();
            self.blanks();
        }
        accepted
    }

    /// Reads the next literal, number or text (with its quotes).
    pub(crate) fn token(&mut self) -> &'a str {
        let token = &self.rest()[..token_len(self.rest())];
        self.at += token.len();
        self.blanks();
        token
    }

    /// Reads the key of the next entry, and moves to its value.
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>, Ill> {
        let start = *self;
        let key = said(self.token()).map_err(|why| start.ill(why))?;
        self.accept(':');
        Ok(key)
    }

    /// Skips the next value.
    pub(crate) fn skip(&mut self) {
        self.at += value_len(self.rest());
        self.blanks();
    }

    /// The keys of the next object, with the positions of their values; if the object has more than [`MAX_COLUMNS`]
    /// entries, only one more than that.
    pub(crate) fn entries(&mut self) -> Result<IndexMap<Cow<'a, str>, Scan<'a>>, Ill> {
        let mut entries = IndexMap::new();
        self.accept('{');
        while entries.len() <= MAX_COLUMNS && !self.accept('}') {
            let start = *self;
            let key = self.key()?;
            if entries.contains_key(&key) {
                return Err(start.twice(&key));
            }
            entries.insert(key, *self);
            self.skip();
            self.accept(',');
        }
        Ok(entries)
    }

    /// The error that a key occurs twice in its object.
    pub(crate) fn twice(&self, key: &str) -> Ill {
        self.ill(format!("the key `{}` occurs twice", visible_name(key)))
    }

    /// An error at this position.
    fn ill(&self, why: String) -> Ill {
        let (line, column) = line_column(self.text, self.at);
        Ill { line, column, why }
    }

    /// The finding, at this position.
    pub(crate) fn place(&self, finding: Malformed) -> Malformed {
        finding.in_text(self.text, self.at)
    }
}

/// The length of the value at the beginning.
fn value_len(rest: &str) -> usize {
    let (mut open, mut at) = (0_usize, 0);
    while let Some(byte) = rest.as_bytes().get(at) {
        at += match byte {
            b'[' | b'{' => {
                open += 1;
                1
            }
            b']' | b'}' => {
                open = open.saturating_sub(1);
                1
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => 1,
            _ => token_len(&rest[at..]),
        };
        if open == 0 {
            break;
        }
    }
    at
}

/// The length of the literal, number or text in quotes at the beginning.
fn token_len(rest: &str) -> usize {
    if rest.starts_with('"') {
        return text_len(rest);
    }
    let ends = |b: u8| matches!(b, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
    rest.bytes().position(ends).unwrap_or(rest.len())
}

/// The length of the text in quotes at the beginning.
fn text_len(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.bytes().skip(1).position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |at| at + 2)
}

/// The content of a text in quotes; `Err` = why it is invalid.
pub(crate) fn said(token: &str) -> Result<Cow<'_, str>, String> {
    match token.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => match serde_json::from_str(token) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(_) => Err("an escape in this text is not a character".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_passed_over_as_a_whole() {
        let text = r#" {"a" : [1, {"b]": "x\"}\\"}, []] , "\u0063":-1.5e3,"d":{} }  "#;
        let mut scan = Scan::new(text).unwrap();
        let entries = scan.entries().unwrap();
        let keys: Vec<&str> = entries.keys().map(|k| &**k).collect();
        assert_eq!(keys, ["a", "c", "d"]);
        assert_eq!(entries["c"].clone().token(), "-1.5e3");
        assert!(entries["d"].sees('{') && scan.rest().is_empty());
    }

    #[test]
    fn what_is_not_well_formed_has_a_place() {
        let ill = |text: &str| Scan::new(text).err().map(|e| (e.line, e.column));
        assert_eq!(ill("{\"x\": [1,\n 2}"), Some((2, 3)));
        assert_eq!(ill("[1] 2"), Some((1, 5)));
        assert_eq!(ill(&"[".repeat(100_000)), Some((1, 100_000)));
        assert_eq!(ill(&("[".repeat(100_000) + &"]".repeat(100_000))), None);
        let mut lines = Scan::lines("[1]\n\n {\n");
        assert!(lines.next().is_some_and(|scan| scan.is_ok()));
        assert_eq!(lines.next().and_then(Result::err).map(|e| (e.line, e.column)), Some((3, 2)));
        assert!(lines.next().is_none());
    }

    #[test]
    fn numbers_that_are_not_finite_need_quotes() {
        let why = |text: &str| Scan::new(text).err().unwrap().why;
        for (word, quoted) in
            [("NaN", "NaN"), ("nan", "NaN"), ("Infinity", "Infinity"), ("-inf", "-Infinity")]
        {
            for text in
                [format!("{{\"x\": [1.5, {word}]}}"), format!("{{\"x\":\n [{word}]}}"), word.to_owned()]
            {
                assert_eq!(
                    why(&text),
                    format!("`{word}` is not JSON; write it in quotes: `\"{quoted}\"`"),
                    "{text}"
                );
            }
        }
        assert!(why("{\"n\": nope}").contains("expected"), "{}", why("{\"n\": nope}"));
    }

    #[test]
    fn keys_stand_once_and_say_something() {
        for (text, what) in [
            (r#"{"a": 1, "a": 2}"#, "line 1, column 10: the key `a`"),
            ("{\"a\": 1,\n \"\\u0061\": 2}", "line 2, column 2: the key `a`"),
            (r#"{"\ud800": 1}"#, "line 1, column 2: an escape"),
        ] {
            let found = Malformed::from(Scan::new(text).unwrap().entries().err().unwrap());
            assert!(found.what().starts_with(what), "{found:?}");
        }
    }
}
