//! The pieces that the text forms of all stages share: ids, names, types, values and constants, written and
//! read.
//!
//! A text form is line-oriented; `#` starts a remark that the readers skip. This module knows no stage: what
//! a line means is said by the printer and the parser of the stage.

use std::fmt;
use std::sync::Arc;

use rml_base::EntityId;

use crate::op::{Distribution, Op};
use crate::typed::{ConstKind, Constant, StaticValue};
use crate::types::{DType, Precision, Shape, Type};
use crate::value::{Data, Value};

/// A value as text: `true`, `3`, `1.0`, `[1.0, 2.0]` (row-major) or `fill 0.0` where all elements are the
/// same.
pub struct ValueText<'a>(pub &'a Value);

impl fmt::Display for ValueText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Value::Tensor(tensor) = self.0 else {
            return match self.0.to_data() {
                Data::Bool(v) => list(f, &v, ""),
                Data::Int(v) => list(f, &v, ""),
                Data::F32(v) => list(f, &v, ""),
                Data::F64(v) => list(f, &v, ""),
            };
        };
        let fill = |same: bool, n: usize| if same && n > 0 { "fill " } else { "[" };
        match tensor.data() {
            Data::Bool(v) => list(f, v, fill(v.windows(2).all(|w| w[0] == w[1]), v.len())),
            Data::Int(v) => list(f, v, fill(v.windows(2).all(|w| w[0] == w[1]), v.len())),
            Data::F32(v) => list(f, v, fill(v.windows(2).all(|w| w[0].to_bits() == w[1].to_bits()), v.len())),
            Data::F64(v) => list(f, v, fill(v.windows(2).all(|w| w[0].to_bits() == w[1].to_bits()), v.len())),
        }
    }
}

/// `[` writes all items in brackets, anything else writes itself and the first item.
fn list<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, items: &[T], open: &str) -> fmt::Result {
    if open != "[" {
        return items.first().map_or(Ok(()), |first| write!(f, "{open}{first:?}"));
    }
    write!(f, "{items:?}")
}

/// A constant of the typed and the normal form, without its type: its kind, then `as "<source text>"` if it has one.
pub struct ConstantText<'a>(pub &'a Constant);

impl fmt::Display for ConstantText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ConstKind::Value(v) => write!(f, "{}", ValueText(v))?,
            ConstKind::Random(d) => write!(f, "random {d}")?,
        }
        self.0.text.as_ref().map_or(Ok(()), |t| write!(f, " as {t:?}"))
    }
}

/// Items with commas between them.
pub struct Commas<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Commas<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// ` statics ["a", "b"]`, or nothing where there is none.
pub struct StaticsText<'a>(pub &'a [Arc<str>]);

impl fmt::Display for StaticsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " statics {:?}", self.0) }
    }
}

/// What a reader returns: an error names the line, what was expected and what stands there.
pub type ReadResult<T> = Result<T, String>;

/// A reading position in one line.
pub struct Cursor<'a> {
    line: usize,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    /// At the start of a line; `line` counts from 1.
    pub fn new(line: usize, text: &'a str) -> Self {
        Self { line, rest: text.trim() }
    }

    /// Whether there is nothing left but a remark.
    pub fn at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with('#')
    }

    /// The error that something else was expected here.
    pub fn error(&self, expected: impl fmt::Display) -> String {
        let found: String = self.rest.chars().take(30).collect();
        format!("line {}: expected {expected}, found `{found}`", self.line)
    }

    /// What is left of the line.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    /// An error if something is left.
    pub fn end(&self) -> ReadResult<()> {
        if self.at_end() { Ok(()) } else { Err(self.error("the end of the line")) }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at(bytes);
        self.rest = tail.trim_start();
        head
    }

    fn word_length(&self) -> usize {
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        self.rest.find(|c| !inside(c)).unwrap_or(self.rest.len())
    }

    /// Takes that word or punctuation if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        let is_word = token.starts_with(char::is_alphanumeric);
        let found =
            if is_word { &self.rest[..self.word_length()] == token } else { self.rest.starts_with(token) };
        if found {
            self.advance(token.len());
        }
        found
    }

    /// Takes that word or punctuation.
    pub fn expect(&mut self, token: &str) -> ReadResult<()> {
        if self.eat(token) { Ok(()) } else { Err(self.error(format_args!("`{token}`"))) }
    }

    /// Takes a word: letters, digits and `_ . + -`.
    pub fn word(&mut self, expected: &str) -> ReadResult<&'a str> {
        match self.word_length() {
            0 => Err(self.error(expected)),
            n => Ok(self.advance(n)),
        }
    }

    /// Takes a word that `T` reads.
    pub fn parse<T: std::str::FromStr>(&mut self, expected: &str) -> ReadResult<T> {
        let word = &self.rest[..self.word_length()];
        let value = word.parse().map_err(|_| self.error(expected))?;
        self.advance(word.len());
        Ok(value)
    }

    /// Takes an id with that prefix if one comes next.
    pub fn maybe_id<I: EntityId>(&mut self, prefix: &str) -> Option<I> {
        let word = &self.rest[..self.word_length()];
        let number: u32 = word.strip_prefix(prefix)?.parse().ok()?;
        self.advance(word.len());
        Some(I::from_index(number as usize))
    }

    /// Takes an id with that prefix.
    pub fn id<I: EntityId>(&mut self, prefix: &str) -> ReadResult<I> {
        self.maybe_id(prefix).ok_or_else(|| self.error(format_args!("an id `{prefix}<number>`")))
    }

    /// Takes the id `next`, the one that a table's next entry must have.
    pub fn next_id<I: EntityId + fmt::Display>(&mut self, prefix: &str, next: usize) -> ReadResult<I> {
        let error = self.error(format_args!("the next id `{}`", I::from_index(next)));
        self.maybe_id::<I>(prefix).filter(|id| id.index() == next).ok_or(error)
    }

    /// Takes a string in quotes.
    pub fn string(&mut self) -> ReadResult<Arc<str>> {
        let error = self.error("a string in quotes");
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        if chars.next().is_none_or(|(_, c)| c != '"') {
            return Err(error);
        }
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(at + 1);
                    return Ok(text.into());
                }
                '\\' => text.push(unescape(&mut chars).ok_or_else(|| error.clone())?),
                c => text.push(c),
            }
        }
        Err(error)
    }

    /// Takes a string in quotes if one comes next.
    pub fn maybe_string(&mut self) -> ReadResult<Option<Arc<str>>> {
        if self.rest.starts_with('"') { self.string().map(Some) } else { Ok(None) }
    }

    /// Takes a list between `open` and `close`, with commas between its items.
    pub fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        item: impl FnMut(&mut Self) -> ReadResult<T>,
    ) -> ReadResult<Vec<T>> {
        self.expect(open)?;
        self.list_until(close, item)
    }

    /// Takes a list up to `close`, with commas between its items.
    pub fn list_until<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> ReadResult<T>,
    ) -> ReadResult<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes `statics [..]`, if it comes next.
    pub fn statics(&mut self) -> ReadResult<Vec<Arc<str>>> {
        if self.eat("statics") { self.list("[", "]", Self::string) } else { Ok(Vec::new()) }
    }

    /// Takes a type.
    pub fn ty(&mut self) -> ReadResult<Type> {
        let dtype = self.one_of(&[("bool", DType::Bool), ("int", DType::Int), ("num", DType::Num)])?;
        let dims: Vec<usize> = self.list("[", "]", |c| c.parse("a dimension"))?;
        let ty = Type { dtype, shape: Shape::new(&dims) };
        if ty.shape.checked_len().is_none() {
            return Err(self.error("a shape whose elements can be counted"));
        }
        Ok(ty)
    }

    /// Takes a precision.
    pub fn precision(&mut self) -> ReadResult<Precision> {
        self.one_of(&[("f32", Precision::F32), ("f64", Precision::F64)])
    }

    fn one_of<T: Copy>(&mut self, choices: &[(&str, T)]) -> ReadResult<T> {
        for (word, value) in choices {
            if self.eat(word) {
                return Ok(*value);
            }
        }
        let words: Vec<_> = choices.iter().map(|(w, _)| *w).collect();
        Err(self.error(words.join(" or ")))
    }

    /// Takes a word with an optional group in braces, as operators and distributions print.
    fn braced(&mut self, expected: &str) -> ReadResult<&'a str> {
        let word = self.word_length();
        if word == 0 {
            return Err(self.error(expected));
        }
        let group = match self.rest[word..].strip_prefix('{') {
            Some(inside) => inside.find('}').ok_or_else(|| self.error("a closing `}`"))? + 2,
            None => 0,
        };
        Ok(self.advance(word + group))
    }

    /// Takes an operator.
    pub fn op(&mut self) -> ReadResult<Op> {
        let text = self.braced("an operator")?;
        Op::parse(text).map_err(|e| format!("line {}: {e}", self.line))
    }

    /// Takes a constant of that type: its kind, and its source text if there is one.
    pub fn constant(&mut self, ty: Type, precision: Precision) -> ReadResult<Constant> {
        let kind = if self.eat("random") {
            let text = self.braced("a distribution")?;
            ConstKind::Random(Distribution::parse(text).map_err(|e| format!("line {}: {e}", self.line))?)
        } else {
            ConstKind::Value(self.value(&ty, precision)?)
        };
        let text = if self.eat("as") { Some(self.string()?) } else { None };
        Ok(Constant { kind, ty, text })
    }

    /// Takes a value of that type, as [`ValueText`] writes it.
    pub fn value(&mut self, ty: &Type, precision: Precision) -> ReadResult<Value> {
        let data = match (ty.dtype, precision) {
            (DType::Bool, _) => Data::Bool(self.elements(ty, "a truth value")?),
            (DType::Int, _) => Data::Int(self.elements(ty, "an integer")?),
            (DType::Num, Precision::F32) => Data::F32(self.elements(ty, "a number")?),
            (DType::Num, Precision::F64) => Data::F64(self.elements(ty, "a number")?),
        };
        Ok(Value::new(ty.shape.clone(), data))
    }

    fn elements<T: std::str::FromStr + Clone>(&mut self, ty: &Type, expected: &str) -> ReadResult<Vec<T>> {
        let len = ty.shape.len();
        if ty.shape.is_scalar() || self.eat("fill") {
            return Ok(vec![self.parse(expected)?; len]);
        }
        let items = self.list("[", "]", |c| c.parse(expected))?;
        if items.len() == len {
            Ok(items)
        } else {
            Err(self.error(format_args!("{len} elements before this, not {}", items.len())))
        }
    }

    /// Takes a compile-time value as [`StaticValue`] prints it.
    pub fn static_value(&mut self) -> ReadResult<StaticValue> {
        if self.rest.starts_with('[') {
            return self.list("[", "]", Self::static_value).map(StaticValue::Array);
        }
        if self.eat("true") {
            return Ok(StaticValue::Bool(true));
        }
        if self.eat("false") {
            return Ok(StaticValue::Bool(false));
        }
        let word = &self.rest[..self.word_length()];
        match word.parse() {
            Ok(int) => {
                self.advance(word.len());
                Ok(StaticValue::Int(int))
            }
            Err(_) => self.parse("a compile-time value").map(StaticValue::Num),
        }
    }
}

/// The character that an escape after `\` stands for; those that Rust's `Debug` of strings writes.
fn unescape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    match chars.next()?.1 {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '0' => Some('\0'),
        'u' => {
            chars.next().filter(|(_, c)| *c == '{')?;
            let mut code = 0_u32;
            loop {
                match chars.next()?.1 {
                    '}' => return char::from_u32(code),
                    c => code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?,
                }
            }
        }
        c => Some(c),
    }
}
