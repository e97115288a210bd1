//! The kinds of elements that columns of Parquet have.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::record::Field;
use ::parquet::schema::types::Type;

use crate::builder::Scalar;
use crate::element::{Element, ElementKind, time};
use crate::labels::Texts;
use crate::malformed::{Malformed, Wrong};

/// The deepest nesting of lists: the most dimensions in other formats.
const MAX_RANK: usize = 64;

/// What the elements of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Truth values and numbers.
    Values,
    Texts,
    /// Days and times, in a unit that the reader tells.
    Times,
    /// Times in nanoseconds, which the reader takes for integers.
    Nanoseconds,
}

impl Kind {
    /// The kind of a column that accepts these texts.
    ///
    /// # Errors
    /// Why the column cannot feed inputs.
    pub(super) fn of(field: &Type, texts: Texts) -> Result<Self, Malformed> {
        Self::nested(field, texts, 0)
    }

    fn nested(field: &Type, texts: Texts, depth: usize) -> Result<Self, Malformed> {
        if depth > MAX_RANK {
            return Err(Malformed::of_type("its lists are too deep"));
        }
        if !field.is_group() {
            let kind = Self::of_elements(field)?;
            let common = match kind {
                Self::Values => ElementKind::Values,
                Self::Texts => ElementKind::Texts,
                Self::Times | Self::Nanoseconds => ElementKind::Times,
            };
            return common.check(field.name(), texts, depth).map(|()| kind);
        }
        let structures =
            || Malformed::of_type("its elements are structures").help("give each part a column of its own");
        match field.get_fields() {
            // A list is a group of a repeated group of the elements; older files omit the inner group.
            [only] if field.get_basic_info().converted_type() == ConvertedType::LIST => {
                match only.is_group().then(|| only.get_fields()) {
                    Some([element]) => Self::nested(element, texts, depth + 1),
                    Some(_) => Err(structures()),
                    None => Self::nested(only, texts, depth + 1),
                }
            }
            _ => Err(structures()),
        }
    }

    /// The kind of a column without lists.
    fn of_elements(field: &Type) -> Result<Self, Malformed> {
        use ConvertedType as C;
        let info = field.get_basic_info();
        let (converted, logical) = (info.converted_type(), info.logical_type_ref());
        let is_nanoseconds =
            matches!(logical, Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::NANOS);
        let is_plain = matches!(logical, None | Some(LogicalType::Integer { .. } | LogicalType::Float16));
        let is_text = matches!(logical, Some(LogicalType::String | LogicalType::Enum))
            || logical.is_none() && matches!(converted, C::UTF8 | C::ENUM);
        match (field.get_physical_type(), converted) {
            (Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE, C::NONE) if is_plain => Ok(Self::Values),
            (
                Physical::INT32,
                C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::UINT_8 | C::UINT_16 | C::UINT_32,
            ) if is_plain => Ok(Self::Values),
            (Physical::INT64, C::NONE | C::INT_64 | C::UINT_64) if is_plain => Ok(Self::Values),
            (Physical::FIXED_LEN_BYTE_ARRAY, C::NONE) if logical == Some(&LogicalType::Float16) => {
                Ok(Self::Values)
            }
            (Physical::BYTE_ARRAY, _) if is_text => Ok(Self::Texts),
            (Physical::INT64, C::NONE) if is_nanoseconds => Ok(Self::Nanoseconds),
            (Physical::INT32, C::DATE) | (Physical::INT64, C::TIMESTAMP_MILLIS | C::TIMESTAMP_MICROS) => {
                Ok(Self::Times)
            }
            (_, C::DECIMAL) => Err(Malformed::of_type("its elements are decimals")
                .help(format!("store numbers: in pandas, `df[\"{}\"].astype(float)`", field.name()))),
            (physical, _) => {
                let what =
                    format!("its elements are neither truth values, numbers, texts nor times ({physical})");
                Err(Malformed::of_type(what).help("store them as one of these"))
            }
        }
    }

    /// An element of a column of this kind.
    pub(super) fn element(self, field: &Field) -> Result<Element<'_>, Wrong> {
        Ok(Element::Value(match field {
            Field::Null => return Ok(Element::Null),
            Field::Bool(x) => Scalar::Bool(*x),
            Field::Byte(x) => Scalar::Int((*x).into()),
            Field::Short(x) => Scalar::Int((*x).into()),
            Field::Int(x) => Scalar::Int((*x).into()),
            Field::Long(x) if self == Self::Nanoseconds => return Ok(time(*x, 1_000_000_000)),
            Field::Long(x) => Scalar::Int(*x),
            Field::UByte(x) => Scalar::Int((*x).into()),
            Field::UShort(x) => Scalar::Int((*x).into()),
            Field::UInt(x) => Scalar::Int((*x).into()),
            Field::ULong(x) => Scalar::Int(
                i64::try_from(*x).map_err(|_| format!("the integer {x} is larger than 2^63 - 1"))?,
            ),
            Field::Float16(x) => Scalar::Num(x.to_f64()),
            Field::Float(x) => Scalar::Num((*x).into()),
            Field::Double(x) => Scalar::Num(*x),
            Field::Str(text) => return Ok(Element::Text(text)),
            Field::Bytes(bytes) => {
                return bytes.as_utf8().map(Element::Text).map_err(|_| "the text is not UTF-8".into());
            }
            Field::Date(days) => return Ok(Element::Time((i64::from(*days) * 86_400, 0.0))),
            Field::TimestampMillis(x) => return Ok(time(*x, 1000)),
            Field::TimestampMicros(x) => return Ok(time(*x, 1_000_000)),
            _ => return Err("it is neither a truth value, a number, a text nor a time".into()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn a_column_has_a_kind_or_a_reason() {
        let kind = |column: &str, texts: Texts| {
            let schema = parse_message_type(&format!("message schema {{ required {column}; }}")).unwrap();
            Kind::of(&schema.get_fields()[0], texts).map_err(|why| why.what())
        };
        for column in ["binary x (UTF8)", "binary x (STRING)", "binary x (ENUM)"] {
            assert_eq!(kind(column, Texts::Names), Ok(Kind::Texts), "{column}");
            assert_eq!(kind(column, Texts::Dates), Ok(Kind::Texts), "{column}");
            assert_eq!(kind(column, Texts::Refused), Err("its elements are texts".to_owned()), "{column}");
        }
        for column in ["int32 x (DATE)", "int64 x (TIMESTAMP_MILLIS)", "int64 x (TIMESTAMP(MICROS,true))"] {
            assert_eq!(kind(column, Texts::Dates), Ok(Kind::Times), "{column}");
            assert_eq!(kind(column, Texts::Names), Err("its elements are times".to_owned()), "{column}");
        }
        assert_eq!(kind("int64 x (TIMESTAMP(NANOS,false))", Texts::Times), Ok(Kind::Nanoseconds));
        assert_eq!(kind("int32 x (DECIMAL(4,2))", Texts::All), Err("its elements are decimals".to_owned()));
        assert_eq!(kind("int64 x", Texts::Dates), Ok(Kind::Values));
        for column in ["binary x", "int64 x (TIME(MICROS,true))", "int96 x"] {
            assert!(kind(column, Texts::Dates).unwrap_err().contains("neither truth values"), "{column}");
        }
    }

    #[test]
    fn times_are_seconds() {
        let seconds = |kind: Kind, field: Field| match kind.element(&field) {
            Ok(Element::Time(date)) => Some(date),
            Ok(Element::Value(_) | Element::Text(_) | Element::Null) | Err(_) => None,
        };
        assert_eq!(seconds(Kind::Times, Field::Date(-1)), Some((-86_400, 0.0)));
        assert_eq!(seconds(Kind::Times, Field::TimestampMillis(1500)), Some((1, 0.5)));
        assert_eq!(seconds(Kind::Times, Field::TimestampMicros(-250_000)), Some((-1, 0.75)));
        assert_eq!(
            seconds(Kind::Nanoseconds, Field::Long(1_711_926_309_000_000_000)),
            Some((1_711_926_309, 0.0))
        );
        assert_eq!(seconds(Kind::Values, Field::Long(1)), None);
    }
}
