//! JSON documents in which no object has a key twice. The parser alone would keep the last value and drop the others.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A document.
struct Unique(Value);

/// Parses a document. A byte order mark before it is ignored.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<Unique>(bytes).map(|document| document.0)
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Document).map(Unique)
    }
}

struct Document;

impl<'de> Visitor<'de> for Document {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, b: bool) -> Result<Value, E> {
        Ok(b.into())
    }

    fn visit_i64<E: Error>(self, i: i64) -> Result<Value, E> {
        Ok(i.into())
    }

    fn visit_u64<E: Error>(self, i: u64) -> Result<Value, E> {
        Ok(i.into())
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<Value, E> {
        Ok(x.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` stands here twice")));
            }
            let Unique(value) = entries.next_value()?;
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn values_are_those_of_the_parser() {
        let text = r#"{"a": [1, -2, 18446744073709551615, 0.5, 1e3, true, null, "é\n"], "b": {"a": {}}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(parse("\u{feff}[1]".as_bytes()).unwrap(), json!([1]));
    }

    #[test]
    fn a_key_stands_once_in_each_object() {
        for text in [r#"{"a": 1, "a": 2}"#, r#"[{"b": {"a": 1, "c": 2, "a": 1}}]"#] {
            let why = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(why.contains("the key `a` stands here twice"), "{why}");
        }
        assert!(parse(&b"[".repeat(100_000)).is_err());
    }
}
