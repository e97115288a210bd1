//! Reads columns of dates as a property of the date, such as the hour or the weekday.

use rml_base::visible_name;

use crate::columns::{Column, Elements};
use crate::dates::{self, Aspect, Date};
use crate::malformed::Malformed;

/// The chosen aspect of each date of a column. `names` has the texts of its numbers; without them, numbers are dates as
/// the file has them, or seconds if the reader of its format has read the dates.
pub(crate) fn dated(
    aspect: Aspect,
    column: &Column,
    names: Option<&[String]>,
    are_seconds: bool,
) -> Result<Column, Malformed> {
    let integer = if are_seconds { dates::within } else { dates::integer };
    let number = if are_seconds { dates::split } else { dates::number };
    let date = |text: &String| dates::seconds(text).ok_or_else(|| no_date(text));
    let named = names.map(|names| names.iter().map(date).collect::<Result<Vec<_>, _>>()).transpose()?;
    let of = |date: Option<Date>| Ok(aspect.of(date.ok_or_else(beyond)?));
    let int = |x: &i64| match &named {
        Some(dates) => of(usize::try_from(*x).ok().and_then(|at| dates.get(at)).copied()),
        None => of(integer(*x)),
    };
    let values: Vec<Date> = match &column.elements {
        Elements::Int(v) => v.iter().map(int).collect::<Result<_, Malformed>>()?,
        Elements::F32(v) => v.iter().map(|x| of(number(f64::from(*x)))).collect::<Result<_, _>>()?,
        Elements::F64(v) => v.iter().map(|x| of(number(*x))).collect::<Result<_, _>>()?,
        Elements::Bool(_) => return Err(Malformed::of_type("its elements are truth values, and no dates")),
    };
    let elements = match values.iter().all(|(_, fraction)| *fraction == 0.0) {
        true => Elements::Int(values.into_iter().map(|(whole, _)| whole).collect()),
        #[allow(clippy::cast_precision_loss, reason = "years have four digits")]
        false => Elements::F64(values.into_iter().map(|(whole, fraction)| whole as f64 + fraction).collect()),
    };
    Ok(Column { elements, ..column.clone() })
}

/// A number that is not a date.
fn beyond() -> Malformed {
    Malformed::of_type(
        "a number is no date: it is beyond the year 9999, NaN, or 8, 12 or 14 digits that are no date",
    )
    .note(format!("{}; {}", dates::EXPECTED, dates::NUMBERS))
    .help("where numbers count milliseconds, divide them by 1000 in the data")
}

/// The error that a text is not a date.
fn no_date(text: &str) -> Malformed {
    Malformed::of_type(format!("`{}` is no date", visible_name(text))).note(dates::EXPECTED)
}
