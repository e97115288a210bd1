//! The cells of one JSON object, read straight into the elements of tensors: a tree of the text would take many times their memory.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Column, Elements};

/// A cell as a column of one row: `None` = absent, `Err` = why it is no value.
pub(crate) type Cell = Result<Option<Column>, String>;

/// Reads an object of cells in which no key stands twice. A byte order mark before it is ignored.
pub(crate) fn parse(bytes: &[u8]) -> Result<IndexMap<String, Cell>, serde_json::Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let cells = deserializer.deserialize_any(Object)?;
    deserializer.end()?;
    Ok(cells)
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = IndexMap<String, Cell>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"x\": .., ..}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut cells = IndexMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            if cells.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` stands here twice")));
            }
            let mut reader = Reader { elements: Elements::Int(Vec::new()), absent: false, wrong: None };
            let shape = entries.next_value_seed(Part { reader: &mut reader, whole: true })?;
            cells.insert(key, reader.cell(shape));
        }
        Ok(cells)
    }
}

/// What has been read of a cell.
struct Reader {
    elements: Elements,
    absent: bool,
    /// The first thing that is wrong with it.
    wrong: Option<String>,
}

impl Reader {
    fn cell(self, shape: Vec<usize>) -> Cell {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None if self.absent => Ok(None),
            None => {
                let shape = std::iter::once(1).chain(shape).collect();
                Ok(Some(Column { shape, elements: self.elements, present: None }))
            }
        }
    }

    fn wrong(&mut self, why: &str) {
        self.wrong.get_or_insert_with(|| why.to_owned());
    }

    fn truth(&mut self, b: bool) {
        match &mut self.elements {
            Elements::Bool(v) => v.push(b),
            Elements::Int(v) if v.is_empty() => self.elements = Elements::Bool(vec![b]),
            Elements::Int(_) | Elements::F32(_) | Elements::F64(_) => self.wrong(MIXED),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "integers among numbers are numbers")]
    fn integer(&mut self, i: i64) {
        match &mut self.elements {
            Elements::Int(v) => v.push(i),
            Elements::F64(v) => v.push(i as f64),
            Elements::Bool(_) | Elements::F32(_) => self.wrong(MIXED),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "integers among numbers are numbers")]
    fn number(&mut self, x: f64) {
        match &mut self.elements {
            Elements::F64(v) => v.push(x),
            Elements::Int(v) => {
                let numbers = v.iter().map(|i| *i as f64).chain([x]).collect();
                self.elements = Elements::F64(numbers);
            }
            Elements::Bool(_) | Elements::F32(_) => self.wrong(MIXED),
        }
    }
}

const MIXED: &str = "truth values and numbers are mixed";

/// A cell, or an entry of an array within one; its value is its shape.
struct Part<'r> {
    reader: &'r mut Reader,
    /// Whether it is the whole cell.
    whole: bool,
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Vec<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<usize>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Vec<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, b: bool) -> Result<Vec<usize>, E> {
        self.reader.truth(b);
        Ok(Vec::new())
    }

    fn visit_i64<E: Error>(self, i: i64) -> Result<Vec<usize>, E> {
        self.reader.integer(i);
        Ok(Vec::new())
    }

    #[allow(clippy::cast_precision_loss, reason = "what is no integer of 64 bits is a number")]
    fn visit_u64<E: Error>(self, i: u64) -> Result<Vec<usize>, E> {
        match i64::try_from(i) {
            Ok(i) => self.reader.integer(i),
            Err(_) => self.reader.number(i as f64),
        }
        Ok(Vec::new())
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<Vec<usize>, E> {
        self.reader.number(x);
        Ok(Vec::new())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<usize>, E> {
        match text {
            "NaN" => self.reader.number(f64::NAN),
            "Infinity" => self.reader.number(f64::INFINITY),
            "-Infinity" => self.reader.number(f64::NEG_INFINITY),
            _ => self.reader.wrong(&format!("the text {text:?} is no value")),
        }
        Ok(Vec::new())
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<usize>, E> {
        match self.whole {
            true => self.reader.absent = true,
            false => self.reader.wrong("`null` inside a tensor"),
        }
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<usize>, A::Error> {
        let mut count = 0;
        let mut inner: Option<Vec<usize>> = None;
        while let Some(shape) = items.next_element_seed(Part { reader: &mut *self.reader, whole: false })? {
            if inner.as_ref().is_some_and(|s| *s != shape) {
                self.reader.wrong("the rows of a tensor have different shapes");
            }
            inner = Some(shape);
            count += 1;
        }
        let mut shape = vec![count];
        shape.extend(inner.unwrap_or_default());
        Ok(shape)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Vec<usize>, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.reader.wrong("an object is no value");
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Cell {
        let mut cells = parse(format!("{{\"x\": {text}}}").as_bytes()).unwrap();
        cells.swap_remove("x").unwrap()
    }

    fn value(text: &str) -> (Vec<usize>, Elements) {
        let column = one(text).unwrap().unwrap();
        (column.shape.dims().to_vec(), column.elements)
    }

    #[test]
    fn elements_have_the_narrowest_type_that_all_have() {
        assert_eq!(value("3"), (vec![1], Elements::Int(vec![3])));
        assert_eq!(value("[[true], [false]]"), (vec![1, 2, 1], Elements::Bool(vec![true, false])));
        assert_eq!(value("[1, 2, 3.5, 4]"), (vec![1, 4], Elements::F64(vec![1.0, 2.0, 3.5, 4.0])));
        assert_eq!(
            value("[\"-Infinity\", 9223372036854775808]").1,
            Elements::F64(vec![f64::NEG_INFINITY, 2_f64.powi(63)])
        );
        assert_eq!(value("[[], []]"), (vec![1, 2, 0], Elements::Int(vec![])));
        assert_eq!(one("null"), Ok(None));
    }

    #[test]
    fn what_is_no_value_is_told() {
        for (text, why) in [
            ("[1, null]", "`null` inside a tensor"),
            ("{\"a\": [1]}", "an object is no value"),
            ("[[1], [1, 2]]", "the rows of a tensor have different shapes"),
            ("[1, [1]]", "the rows of a tensor have different shapes"),
            ("[true, 1.5]", "truth values and numbers are mixed"),
            ("[1, true]", "truth values and numbers are mixed"),
            ("\"x\"", "the text \"x\" is no value"),
        ] {
            assert_eq!(one(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for (text, why) in [
            ("", "EOF"),
            ("[1]", "expected {\"x\": .., ..}"),
            ("{\"x\": 1} 2", "trailing"),
            ("{\"x\": 1, \"x\": 2}", "the key `x` stands here twice"),
            ("{\"x\": [null, 1e999]}", "out of range"),
        ] {
            let found = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(found.contains(why), "{text}: {found}");
        }
        let deep = format!("{{\"x\": {}", "[".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
        assert_eq!(parse("\u{feff}{}".as_bytes()).unwrap(), IndexMap::new());
    }
}
