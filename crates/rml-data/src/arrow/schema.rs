//! The columns of Arrow data and their types.

use std::collections::BTreeSet;

use super::table::{Damaged, Read, Table, size};
use crate::builder::Scalar;
use crate::half;

/// The most fields of a schema, those within others included.
const MAX_FIELDS: usize = 1 << 17;
/// The deepest nesting of lists.
pub(super) const MAX_RANK: usize = 64;

/// A column, or the elements of a list.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// For a column whose cells number the values of a dictionary: its id, and the type of these numbers.
    pub(super) dictionary: Option<(i64, Number)>,
    /// The shape of a tensor that is stored as a list of its elements.
    pub(super) shape: Option<Vec<usize>>,
    /// The names of its integers, in the order of their numbers.
    pub(super) labels: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool,
    Number(Number),
    Text(Texts),
    Time(Clock),
    /// Lists of different lengths, with 64-bit offsets or 32-bit ones.
    List(bool, Box<Field>),
    /// Lists of one length.
    Array(usize, Box<Field>),
    /// A type that feeds no input.
    Other(Other),
}

/// How texts are stored: with 32-bit offsets, with 64-bit ones, or as views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Texts {
    Narrow,
    Wide,
    Views,
}

/// The unit of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    Days,
    /// This many parts of a second.
    Parts(i64),
}

/// A type that feeds no input: its name, and what it has in a batch.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) what: &'static str,
    pub(super) buffers: usize,
    pub(super) has_views: bool,
    pub(super) parts: Vec<Field>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    /// An integer of this many bytes, signed or not.
    Int(usize, bool),
    /// A floating-point number of this many bytes.
    Float(usize),
}

impl Number {
    pub(super) fn bytes(self) -> usize {
        match self {
            Number::Int(bytes, _) | Number::Float(bytes) => bytes,
        }
    }

    /// The number in these bytes, of which there are [`Self::bytes`].
    pub(super) fn read(self, bytes: &[u8]) -> Result<Scalar, String> {
        let mut all = [0; 8];
        let n = self.bytes().min(bytes.len());
        all[..n].copy_from_slice(&bytes[..n]);
        let raw = u64::from_le_bytes(all);
        Ok(match self {
            Number::Int(bytes, true) => {
                let shift = 64 - 8 * bytes;
                Scalar::Int((raw << shift).cast_signed() >> shift)
            }
            Number::Int(_, false) => Scalar::Int(
                i64::try_from(raw).map_err(|_| format!("the integer {raw} is larger than 2^63 - 1"))?,
            ),
            Number::Float(2) => Scalar::Num(half::F16.to_f32(u16::from_le_bytes([all[0], all[1]])).into()),
            Number::Float(4) => Scalar::Num(f32::from_le_bytes([all[0], all[1], all[2], all[3]]).into()),
            Number::Float(_) => Scalar::Num(f64::from_le_bytes(all)),
        })
    }
}

/// The columns of a schema.
pub(super) fn fields(schema: Table<'_>) -> Read<Vec<Field>> {
    if schema.i16(0, 0)? != 0 {
        // Big endian.
        return Err(Damaged);
    }
    let mut left = MAX_FIELDS;
    let fields = schema.tables(1)?.into_iter().map(|table| field(table, 0, &mut left));
    let mut fields = fields.collect::<Read<Vec<Field>>>()?;
    if let Some(features) = features(schema)? {
        for field in &mut fields {
            field.labels = features.get(&field.name).and_then(labels);
        }
    }
    Ok(fields)
}

/// The types of columns that the library `datasets` writes beside a schema.
fn features(schema: Table<'_>) -> Read<Option<serde_json::Value>> {
    let entries = schema.tables(2)?;
    // Other libraries write keys and values that are no texts.
    let entry = entries.into_iter().find(|entry| entry.text(0) == Ok(Some("huggingface")));
    let text = entry.and_then(|entry| entry.text(1).ok().flatten());
    let read = text.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    Ok(read.and_then(|mut read| Some(read.get_mut("info")?.get_mut("features")?.take())))
}

/// The names of labels, or of those in a list; none if a name occurs twice.
fn labels(feature: &serde_json::Value) -> Option<Vec<String>> {
    let part = feature.get("feature").or_else(|| feature.as_array().filter(|all| all.len() == 1)?.first());
    if feature.get("_type").and_then(|kind| kind.as_str()) != Some("ClassLabel") {
        return part.and_then(labels);
    }
    let names = feature.get("names")?.as_array()?.iter();
    let names = names.map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()?;
    let different: BTreeSet<&String> = names.iter().collect();
    (different.len() == names.len() && !names.is_empty()).then_some(names)
}

fn field(table: Table<'_>, depth: usize, left: &mut usize) -> Read<Field> {
    *left = left.checked_sub(1).ok_or(Damaged)?;
    if depth > MAX_RANK {
        return Err(Damaged);
    }
    let mut parts = Vec::new();
    for child in table.tables(5)? {
        parts.push(field(child, depth + 1, left)?);
    }
    let dictionary = match table.table(4)? {
        None => None,
        Some(encoding) => {
            let index = encoding.table(1)?.map_or(Ok(Number::Int(4, true)), integer)?;
            Some((encoding.i64(0)?, index))
        }
    };
    let name = table.text(0)?.unwrap_or_default().to_owned();
    let kind = kind(table.byte(2)?, table.table(3)?, parts)?;
    let shape = shape(table)?;
    Ok(Field { name, kind, dictionary, shape, labels: None })
}

fn integer(table: Table<'_>) -> Read<Number> {
    match table.i32(0)? {
        bits @ (8 | 16 | 32 | 64) => Ok(Number::Int(size(i64::from(bits / 8))?, table.bool(1)?)),
        _ => Err(Damaged),
    }
}

/// The type with this number in the format.
fn kind(number: u8, table: Option<Table<'_>>, mut parts: Vec<Field>) -> Read<Kind> {
    let table = table.ok_or(Damaged);
    let other = |what, buffers, has_views, parts| Ok(Kind::Other(Other { what, buffers, has_views, parts }));
    let mut item = || if parts.len() == 1 { Ok(Box::new(parts.remove(0))) } else { Err(Damaged) };
    match number {
        1 => Ok(Kind::Null),
        2 => Ok(Kind::Number(integer(table?)?)),
        3 => match table?.i16(0, 0)? {
            0 => Ok(Kind::Number(Number::Float(2))),
            1 => Ok(Kind::Number(Number::Float(4))),
            2 => Ok(Kind::Number(Number::Float(8))),
            _ => Err(Damaged),
        },
        5 => Ok(Kind::Text(Texts::Narrow)),
        20 => Ok(Kind::Text(Texts::Wide)),
        24 => Ok(Kind::Text(Texts::Views)),
        6 => Ok(Kind::Bool),
        8 if table?.i16(0, 1)? == 0 => Ok(Kind::Time(Clock::Days)),
        8 => Ok(Kind::Time(Clock::Parts(1000))),
        10 => match table?.i16(0, 0)? {
            unit @ 0..=3 => Ok(Kind::Time(Clock::Parts(
                [1, 1000, 1_000_000, 1_000_000_000][usize::from(unit.unsigned_abs())],
            ))),
            _ => Err(Damaged),
        },
        12 => Ok(Kind::List(false, item()?)),
        21 => Ok(Kind::List(true, item()?)),
        16 => Ok(Kind::Array(size(i64::from(table?.i32(0)?))?, item()?)),
        4 | 19 => other("bytes", 3, false, parts),
        23 => other("bytes", 2, true, parts),
        15 => other("bytes", 2, false, parts),
        7 => other("decimals", 2, false, parts),
        9 | 11 | 18 => other("durations or times of the day", 2, false, parts),
        13 => other("structures", 1, false, parts),
        14 => other("unions", if table?.i16(0, 0)? == 1 { 2 } else { 1 }, false, parts),
        17 => other("maps", 2, false, parts),
        22 => other("runs", 0, false, parts),
        25 | 26 => other("views of lists", 3, false, parts),
        _ => Err(Damaged),
    }
}

/// The shape of an extension type for tensors, if a field has this type.
fn shape(table: Table<'_>) -> Read<Option<Vec<usize>>> {
    let (mut is_tensor, mut shape) = (false, None);
    for entry in table.tables(6)? {
        let (key, value) = (entry.text(0)?, entry.text(1)?.unwrap_or_default());
        match key {
            Some("ARROW:extension:name") => is_tensor = value == "arrow.fixed_shape_tensor",
            Some("ARROW:extension:metadata") => {
                let parsed: Option<serde_json::Value> = serde_json::from_str(value).ok();
                let moved = |v: &serde_json::Value| {
                    let order = v.get("permutation").and_then(|p| p.as_array());
                    order.is_some_and(|order| {
                        order.iter().enumerate().any(|(i, n)| n.as_u64() != Some(i as u64))
                    })
                };
                let dims = parsed.filter(|v| !moved(v)).and_then(|v| {
                    let dims = v.get("shape")?.as_array()?.iter();
                    dims.map(|n| usize::try_from(n.as_u64()?).ok()).collect::<Option<Vec<usize>>>()
                });
                shape = dims;
            }
            Some(_) | None => {}
        }
    }
    Ok(shape.filter(|_| is_tensor))
}
