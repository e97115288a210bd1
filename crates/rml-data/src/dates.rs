//! Dates in text as numbers: seconds, or properties such as the hour or the weekday. Durations.

use serde::{Deserialize, Serialize};

const DAY: i64 = 86_400;

/// The property of a date that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Aspect {
    /// Seconds since the beginning of 1970.
    Seconds,
    /// The minute of the hour, from 0 to 59.
    Minute,
    /// The hour of the day, from 0 to 23.
    Hour,
    /// The day of the week, from 0 for Monday to 6.
    Weekday,
    /// The day of the month, from 1 to 31.
    Day,
    /// The number of the day in the year, from 1 to 366.
    Yearday,
    /// The month of the year, from 1 to 12.
    Month,
    /// The year.
    Year,
}

impl Aspect {
    /// All aspects.
    pub(crate) const ALL: [Self; 8] = [
        Self::Seconds,
        Self::Minute,
        Self::Hour,
        Self::Weekday,
        Self::Day,
        Self::Yearday,
        Self::Month,
        Self::Year,
    ];

    /// The name of the aspect in options.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Weekday => "weekday",
            Self::Day => "day",
            Self::Yearday => "yearday",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The aspect with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.name() == name)
    }

    /// This aspect of a date: an integer and a fraction. For [`Aspect::Seconds`], this is the date itself.
    pub(crate) fn of(self, (whole, fraction): Date) -> Date {
        let (days, second) = (whole.div_euclid(DAY), whole.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let number = match self {
            Self::Seconds => return (whole, fraction),
            Self::Minute => second / 60 % 60,
            Self::Hour => second / 3600,
            // The first day of 1970 was a Thursday.
            Self::Weekday => (days + 3).rem_euclid(7),
            Self::Day => day,
            Self::Yearday => days - since_1970(year, 1, 1) + 1,
            Self::Month => month,
            Self::Year => year,
        };
        (number, 0.0)
    }
}

/// Whole seconds since the beginning of 1970, and a fraction of a second after them.
pub(crate) type Date = (i64, f64);

/// The range of dates: from the first second of the year -9999 to the last second of the year 9999.
const RANGE: std::ops::RangeInclusive<i64> = -377_705_116_800..=253_402_300_799;

/// A date from whole seconds, if it is in range.
pub(crate) fn within(seconds: i64) -> Option<Date> {
    RANGE.contains(&seconds).then_some((seconds, 0.0))
}

/// A date from a number of seconds with a fraction, if it is in range.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "within the range")]
pub(crate) fn split(seconds: f64) -> Option<Date> {
    let whole = seconds.floor();
    let fits = whole >= *RANGE.start() as f64 && whole <= *RANGE.end() as f64;
    fits.then_some((whole as i64, seconds - whole))
}

/// The year, month and day of the Gregorian calendar, from the days since the beginning of 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counting years from March makes the leap day the last one; 400 years always have the same number of days.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let date = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, date)
}

/// A date in messages: without seconds if there are none.
pub(crate) fn shown((whole, fraction): Date) -> String {
    let (days, second) = (whole.div_euclid(DAY), whole.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let text = format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", second / 3600, second / 60 % 60);
    match (second % 60, fraction) {
        (0, 0.0) => text,
        (second, 0.0) => format!("{text}:{second:02}"),
        (second, fraction) => {
            let fraction = format!("{fraction:.3}");
            format!("{text}:{second:02}.{}", fraction.trim_start_matches("0.").trim_end_matches('0'))
        }
    }
}

/// A number of seconds in messages, in the largest unit of which it is a whole number.
pub(crate) fn span(seconds: f64) -> String {
    let units = [("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)];
    let unit = units.into_iter().find(|(_, unit)| (seconds / unit).fract() == 0.0);
    let (name, unit) = unit.unwrap_or(("s", 1.0));
    format!("{} {name}", seconds / unit)
}

/// The notation of dates, for messages.
pub(crate) const EXPECTED: &str =
    "a date is written 2024-03-31, 2024-03, 31.03.2024, 20240331, 2024-03-31 23:05 or 2024-03-31T23:05:09.5Z";

/// The meaning of numbers among dates, for messages.
pub(crate) const NUMBERS: &str =
    "a number of 8, 12 or 14 digits is written so, and any other one counts seconds since 1970";

/// The date of an integer in a column of dates: 8, 12 or 14 digits are the year, the month, the day, and the time of
/// day; any other integer is a number of seconds. `None` if it is not a date.
pub(crate) fn integer(i: i64) -> Option<Date> {
    let digits = i.to_string();
    let (date, time) = match digits.len() {
        8 | 12 | 14 if i > 0 => digits.split_at(8),
        _ => return within(i),
    };
    let number = |text: &str| text.parse::<i64>().ok();
    let part = |at: usize| time.get(at..at + 2).map_or(Some(0), number);
    let midnight = midnight(number(&date[..4])?, number(&date[4..6])?, number(&date[6..])?)?;
    let (hour, minute, second) = (part(0)?, part(2)?, part(4)?);
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then_some((midnight + hour * 3600 + minute * 60 + second, 0.0))
}

/// The same for a number that may have a fraction: without one, it is an integer.
pub(crate) fn number(x: f64) -> Option<Date> {
    #[allow(clippy::cast_possible_truncation, reason = "a date has few digits, and casts saturate")]
    if x.fract() == 0.0 { integer(x as i64) } else { split(x) }
}

/// Advice on how to write a text that looks like a date, but does not say which number is the day.
pub(crate) fn advice(text: &str) -> Option<&'static str> {
    let date = text.trim().split([' ', 'T']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split(['/', '-']).collect();
    let are_numbers = parts.iter().all(|part| part.parse::<u32>().is_ok());
    (parts.len() == 3 && are_numbers).then_some(
        "the day or the month could come first: write the year first, `2023-12-31`; in pandas, `pd.to_datetime(df[NAME], format=\"%m/%d/%Y\")`",
    )
}

/// The seconds from the beginning of 1970 to the beginning of a day, if there is such a day.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_day = (1..=12).contains(&month) && (1..=days(year, month)).contains(&day);
    is_day.then(|| since_1970(year, month, day) * DAY)
}

/// The whole seconds from the beginning of 1970 to a date, and the fraction of a second after them; `None` if the text
/// is not a date. The year comes first, so that a day cannot be mistaken for a month; between points, the day does. A
/// month is its first day. A date without a time zone is in UTC.
pub(crate) fn seconds(text: &str) -> Option<Date> {
    let mut reader = Reader { rest: text.trim() };
    let midnight = reader.day()?;
    if reader.rest.is_empty() {
        return Some((midnight, 0.0));
    }
    reader.one(&['T', 't', ' '])?;
    let (hour, minute) = (reader.digits(2)?, reader.one(&[':']).and_then(|_| reader.digits(2))?);
    let mut second = 0;
    let mut fraction = "";
    if reader.one(&[':']).is_some() {
        second = reader.digits(2)?;
        if reader.one(&['.', ',']).is_some() {
            fraction = reader.while_digits()?;
        }
    }
    // A leap second counts as the first second of the next minute.
    if hour > 24 || minute > 59 || second > 60 || (hour == 24 && (minute, second) != (0, 0)) {
        return None;
    }
    let whole = midnight + hour * 3600 + minute * 60 + second - reader.zone()?;
    if !reader.rest.is_empty() {
        return None;
    }
    let fraction: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
    Some((whole, fraction))
}

/// A duration in seconds: a number, or a number and a unit; `None` if the text is not a duration.
pub(crate) fn duration(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.trim().parse().ok()?;
    let unit = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return None,
    };
    let duration = number * unit;
    (duration.is_finite() && duration > 0.0).then_some(duration)
}

/// How many days a month has.
fn days(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from the beginning of 1970 to a day of the Gregorian calendar.
fn since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Counting years from March makes the leap day the last one.
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let in_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year - 719_468
}

/// The rest of a text.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// The beginning of a day, in seconds since 1970.
    fn day(&mut self) -> Option<i64> {
        let has_points = self.rest.bytes().take(3).any(|b| b == b'.');
        if has_points {
            let (day, month) =
                (self.up_to_two_digits()?, self.one(&['.']).and_then(|_| self.up_to_two_digits())?);
            self.one(&['.'])?;
            return midnight(self.digits(4)?, month, day);
        }
        let year = self.digits(4)?;
        let mark = self.one(&['-', '/'])?;
        let month = self.digits(2)?;
        let day = if self.rest.is_empty() { 1 } else { self.one(&[mark]).and_then(|_| self.digits(2))? };
        midnight(year, month, day)
    }

    /// A number of one or two digits.
    fn up_to_two_digits(&mut self) -> Option<i64> {
        self.while_digits().filter(|digits| digits.len() <= 2)?.parse().ok()
    }

    /// A number of exactly this many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.rest.get(..count).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
        self.rest = &self.rest[count..];
        digits.parse().ok()
    }

    /// All digits that follow, at least one.
    fn while_digits(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!digits.is_empty()).then_some(digits)
    }

    /// One of these characters.
    fn one(&mut self, of: &[char]) -> Option<char> {
        let found = self.rest.chars().next().filter(|c| of.contains(c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    /// The seconds by which a time zone is ahead of UTC; 0 if none is given.
    fn zone(&mut self) -> Option<i64> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() || self.one(&['Z', 'z']).is_some() {
            return Some(0);
        }
        if let Some(rest) = self.rest.strip_prefix("UTC") {
            self.rest = rest;
            return Some(0);
        }
        let sign = if self.one(&['+', '-'])? == '-' { -1 } else { 1 };
        let hours = self.digits(2)?;
        let has_colon = self.one(&[':']).is_some();
        let minutes = if self.rest.is_empty() && !has_colon { 0 } else { self.digits(2)? };
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds() {
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1970-01-02", DAY),
            ("1969-12-31 23:59:59", -1),
            ("2000-02-29T00:00Z", 951_782_400),
            ("2024/03/31 23:05:09", 1_711_926_309),
            ("2024-03-31T23:05:09+02:00", 1_711_919_109),
            ("2024-03-31T23:05:09.000-0230", 1_711_935_309),
            ("2024-03-31 24:00", 1_711_929_600),
            ("1958-03-29", -371_174_400),
            ("2024-03-31 23:05:09 UTC", 1_711_926_309),
            ("1970-02", 31 * DAY),
            ("1970/02", 31 * DAY),
            ("02.01.1970", DAY),
            ("2.1.1970 00:01", DAY + 60),
        ] {
            assert_eq!(seconds(text), Some((expected, 0.0)), "{text}");
        }
        assert_eq!(seconds("1970-01-01T00:00:00.25Z"), Some((0, 0.25)));
        for text in ["2024-03-31 23:05", "1969-12-31 23:59:59", "0099-02-03 00:00:07.25"] {
            assert_eq!(seconds(text).map(shown).as_deref(), Some(text));
        }
    }

    #[test]
    fn days_follow_each_other() {
        let mut day = since_1970(1600, 1, 1);
        for year in 1600..2401 {
            for month in 1..=12 {
                for date in 1..=days(year, month) {
                    assert_eq!(since_1970(year, month, date), day, "{year}-{month}-{date}");
                    assert_eq!(civil(day), (year, month, date));
                    day += 1;
                }
            }
        }
    }

    #[test]
    fn a_date_has_aspects() {
        let all = |text: &str| Aspect::ALL.map(|aspect| aspect.of(seconds(text).unwrap()));
        let ints = |v: [i64; 8]| v.map(|i| (i, 0.0));
        // 31 March 2024 was a Sunday, and the 91st day of its year.
        assert_eq!(all("2024-03-31 23:05:09"), ints([1_711_926_309, 5, 23, 6, 31, 91, 3, 2024]));
        assert_eq!(all("1969-12-29"), ints([-259_200, 0, 0, 0, 29, 363, 12, 1969]));
        assert_eq!(all("2024-12-31T23:30:00-01:00"), ints([1_735_691_400, 30, 0, 2, 1, 1, 1, 2025]));
        assert_eq!(Aspect::Seconds.of((1, 0.5)), (1, 0.5));
        for aspect in Aspect::ALL {
            assert_eq!(Aspect::named(aspect.name()), Some(aspect));
        }
        assert_eq!((Aspect::named("hours"), split(f64::NAN), within(i64::MAX)), (None, None, None));
    }

    #[test]
    fn dates_have_years_of_four_digits() {
        let (first, last) = (since_1970(-9999, 1, 1) * DAY, since_1970(10_000, 1, 1) * DAY - 1);
        assert_eq!((within(first - 1), within(first)), (None, Some((first, 0.0))));
        assert_eq!((within(last), within(last + 1)), (Some((last, 0.0)), None));
        assert_eq!((split(-377_705_116_800.5), split(-377_705_116_800.0)), (None, Some((first, 0.0))));
        assert_eq!((split(253_402_300_799.5), split(253_402_300_800.0)), (Some((last, 0.5)), None));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "1970",
            "03/31/2024",
            "2023-02-29",
            "2024-13-01",
            "2024-03-31T",
            "2024-03-31 7:05",
            "2024-03/31",
            "2024-03-31 23:60",
            "2024-03-31 23:05 CET",
            "2024-03-31 23:05+2",
            "2024-03-31 24:01",
            "2024-03-31x",
            "2024-03-31 23:05:09.",
            "2024-03-31 23:05:09+02:",
            "２０２４-03-31",
            "2024-13",
            "2024-",
            "12.31.2023",
            "31.12.23",
            "031.12.2023",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn digits_are_a_date_or_seconds() {
        for (i, expected) in [
            (19_700_102, Some(DAY)),
            (20_231_231, Some(1_703_980_800)),
            (202_312_312_359, Some(1_704_067_140)),
            (20_231_231_235_959, Some(1_704_067_199)),
            (20_230_229, None),
            (20_231_301, None),
            (20_231_232, None),
            (202_312_312_400, None),
            (86_400, Some(DAY)),
            (1_711_929_600, Some(1_711_929_600)),
            (-10_000_101, Some(-10_000_101)),
        ] {
            assert_eq!(integer(i), expected.map(|whole| (whole, 0.0)), "{i}");
        }
        assert_eq!((number(20_231_231.0), number(0.5)), (integer(20_231_231), Some((0, 0.5))));
        assert_eq!((number(f64::NAN), number(1e300)), (None, None));
        assert!(advice("12/31/2023 7:05").is_some() && advice("31-12-2023").is_some());
        assert!(advice("yesterday").is_none() && advice("31-Dec-2023").is_none());
    }

    #[test]
    fn durations_have_units() {
        for (text, expected) in [
            ("90", 90.0),
            ("1.5h", 5400.0),
            ("15 min", 900.0),
            ("2d", 172_800.0),
            ("1w", 604_800.0),
            ("250ms", 0.25),
        ] {
            assert_eq!(duration(text), Some(expected), "{text}");
        }
        for text in ["", "h", "0", "-1h", "1m", "1 fortnight", "inf", "NaN"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
