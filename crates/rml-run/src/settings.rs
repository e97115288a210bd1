//! Values of static parameters in a checkpoint: the settings of a training run, for its resumption and for inference.

use indexmap::IndexMap;
use rml_ir::typed::StaticValue;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Values of static parameters, and of the dimension `batch`, by name.
///
/// ```
/// use rml::{Settings, StaticValue};
///
/// let settings: Settings = [("units".to_owned(), StaticValue::Int(64))].into_iter().collect();
/// assert_eq!(settings["units"].to_string(), "64");
/// ```
pub type Settings = IndexMap<String, StaticValue>;

/// The form in which a value is written. Numbers are texts, so that every bit is restored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Bool(bool),
    Int(i64),
    Num(String),
    Array(Vec<Written>),
}

fn written(value: &StaticValue) -> Written {
    match value {
        StaticValue::Bool(b) => Written::Bool(*b),
        StaticValue::Int(i) => Written::Int(*i),
        StaticValue::Num(x) => Written::Num(format!("{x:?}")),
        StaticValue::Array(items) => Written::Array(items.iter().map(written).collect()),
    }
}

fn read(value: Written) -> Option<StaticValue> {
    Some(match value {
        Written::Bool(b) => StaticValue::Bool(b),
        Written::Int(i) => StaticValue::Int(i),
        Written::Num(text) => StaticValue::Num(text.parse().ok()?),
        Written::Array(items) => StaticValue::Array(items.into_iter().map(read).collect::<Option<_>>()?),
    })
}

/// Writes settings, if they are known.
pub(crate) fn serialize<S: Serializer>(settings: &Option<Settings>, to: S) -> Result<S::Ok, S::Error> {
    let list = settings.as_ref().map(|s| s.iter().map(|(n, v)| (n, written(v))).collect::<Vec<_>>());
    list.serialize(to)
}

/// Reads settings; `None` if they were not written.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Settings>, D::Error> {
    let Some(list) = Option::<Vec<(String, Written)>>::deserialize(from)? else { return Ok(None) };
    let settings = list.into_iter().map(|(name, value)| Some((name, read(value)?)));
    settings.collect::<Option<_>>().map(Some).ok_or_else(|| D::Error::custom("a setting is no value"))
}
