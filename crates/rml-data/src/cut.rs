//! How the rows of a long table become windows.
//!
//! A table is divided into *groups* by a column, groups into *series* at gaps in time, and series into *windows*.
//! Without a column of groups, the table is one group; without a greatest gap, each group is one series; without a
//! length of windows, each series is one window. Where windows have a length, a series also ends with its file, unless
//! a greatest gap says which files continue each other.

use std::fmt;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, visible_name};
use serde::{Deserialize, Serialize};

use crate::dates;

/// How the rows of a long table become windows. With an empty cut, each row is a window.
///
/// ```
/// # fn main() -> Result<(), rml_base::Error> {
/// # use rml_data as rml;
/// let table = rml::Columns::parse(b"x\n1\n2\n3\n4\n5\n", rml::Format::Csv, "table.csv")?;
/// let cut = rml::Windowing { window: Some(3), stride: Some(1), ..rml::Windowing::default() };
/// let data = rml::Arranged::new(&table, &cut)?;
/// assert_eq!(data.windows(), Some(3));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Windowing {
    /// The number of rows of a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<usize>,
    /// How many rows after the start of one window the next one starts; by default the length of a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stride: Option<usize>,
    /// The column with the group of each row. `file` groups by file, if there is no such column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The column with the time of each row: numbers, or dates, which count in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The greatest gap: rows further apart in time are in different series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// The column that is true in the last row of each window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The treatment of the rows after the last whole window of a series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// The treatment of the rows after the last whole window of a series.
///
/// ```
/// # use rml_data as rml;
/// let cut = rml::Windowing { window: Some(4), stride: Some(1), ..rml::Windowing::default() };
/// assert_eq!(cut.rest(), rml::Rest::Drop);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rest {
    /// They are a shorter window.
    Keep,
    /// They are in no window.
    Drop,
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Keep { "keep" } else { "drop" })
    }
}

/// In the notation of options.
impl fmt::Display for Windowing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { window, stride, group, time, gap, end, rest } = self;
        let number = |n: &usize| n.to_string();
        let parts = [
            ("window", window.as_ref().map(number)),
            ("stride", stride.as_ref().map(number)),
            ("group", group.clone()),
            ("time", time.clone()),
            ("gap", gap.map(|gap| gap.to_string())),
            ("end", end.clone()),
            ("rest", rest.map(|rest| rest.to_string())),
        ];
        let given = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        f.write_str(&given.collect::<Vec<_>>().join(", "))
    }
}

impl Windowing {
    /// Whether it is empty.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Parses a greatest gap: a number in the unit of the column, or a duration such as `30s`, `15min`, `1h` or `2d`.
    ///
    /// # Errors
    /// A text of another form; a gap that is not positive.
    pub fn parse_gap(text: &str) -> Result<f64, Error> {
        dates::duration(text).ok_or_else(|| {
            let what = format!("`{}` is no duration", visible_name(text));
            Diagnostic::error(codes::BAD_OPTION, what)
                .note("expected a positive number, or one with a unit: ms, s, min, h, d or w")
                .help("`--gap 1h` ends a series where two rows are more than an hour apart")
                .into()
        })
    }

    /// Parses the treatment of the rest of a series: `keep` or `drop`.
    ///
    /// # Errors
    /// Another text.
    pub fn parse_rest(text: &str) -> Result<Rest, Error> {
        match text {
            "keep" => Ok(Rest::Keep),
            "drop" => Ok(Rest::Drop),
            _ => {
                let what = format!("`{}` is neither `keep` nor `drop`", visible_name(text));
                let d = Diagnostic::error(codes::BAD_OPTION, what);
                Err(d.help("`--rest keep` makes the rest of a series a shorter window").into())
            }
        }
    }

    /// The treatment of the rows after the last whole window of a series. If windows overlap, these rows are dropped by
    /// default, since other windows contain most of them.
    pub fn rest(&self) -> Rest {
        self.rest.unwrap_or(if self.overlaps() { Rest::Drop } else { Rest::Keep })
    }

    /// Whether a series ends with its file: if series are cut into windows by a number of rows, and no gap in time says
    /// whether the next file continues them.
    pub(crate) fn ends_with_files(&self) -> bool {
        self.window.is_some() && self.gap.is_none()
    }

    /// Whether windows of one series may share rows.
    pub(crate) fn overlaps(&self) -> bool {
        matches!((self.window, self.stride), (Some(window), Some(stride)) if stride < window)
    }

    /// The same settings, completed by those of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            window: self.window.or(other.window),
            stride: self.stride.or(other.stride),
            group: self.group.or(other.group),
            time: self.time.or(other.time),
            gap: self.gap.or(other.gap),
            end: self.end.or(other.end),
            rest: self.rest.or(other.rest),
        }
    }

    /// The columns that it uses, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for name in [&self.group, &self.time, &self.end].into_iter().flatten() {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        all
    }

    /// Checks that it is consistent.
    ///
    /// # Errors
    /// Windows or strides without rows; parts that contradict each other, or have no effect.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let Self { window, stride, group, time, gap, end, rest } = self;
        let bad = |what: &str, help: &str| Err(Diagnostic::error(codes::BAD_OPTION, what).help(help));
        if *window == Some(0) {
            return bad(
                "a window has no row: `--window 0`",
                "give the number of rows of a window: `--window 168`",
            );
        }
        if *stride == Some(0) {
            return bad(
                "each window begins at the same row: `--stride 0`",
                "give the number of rows from one window to the next: `--stride 1` begins one at each row",
            );
        }
        if gap.is_some_and(|gap| !gap.is_finite() || gap <= 0.0) {
            return bad("the greatest gap is no positive number", "`--gap 1h` allows an hour");
        }
        match (window, end) {
            (Some(_), Some(end)) => {
                let what = format!("`--window` and `--end {end}` both say where windows end");
                bad(&what, "leave one out; to keep windows within series, name a column by `--group`")
            }
            (None, _) if stride.is_some() => bad(
                "`--stride` says where windows begin, and nothing says how long they are",
                "give their number of rows: `--window 168`",
            ),
            (None, None) if rest.is_some() => bad(
                "`--rest` is about rows after the last whole window, and each series is one window",
                "leave it out, or give a number of rows: `--window 168`",
            ),
            _ if gap.is_some() && time.is_none() => {
                bad("`--gap` is a gap in time, and no column says the time", "name it: `--time COLUMN`")
            }
            (None, None) if time.is_some() && group.is_none() && gap.is_none() => bad(
                "`--time` alone makes no windows",
                "say what a window is: `--window 168`, `--gap 1h` or `--group COLUMN`",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contradicts_itself_is_refused() {
        let column = || Some("c".to_owned());
        let none = Windowing::default;
        for (cut, words) in [
            (Windowing { window: Some(0), ..none() }, "`--window 0`"),
            (Windowing { window: Some(3), stride: Some(0), ..none() }, "`--stride 0`"),
            (Windowing { stride: Some(3), ..none() }, "how long they are"),
            (Windowing { window: Some(3), end: column(), ..none() }, "both say where windows end"),
            (Windowing { gap: Some(3.0), ..none() }, "no column says the time"),
            (Windowing { gap: Some(-1.0), time: column(), ..none() }, "no positive number"),
            (Windowing { time: column(), ..none() }, "alone makes no windows"),
            (Windowing { group: column(), rest: Some(Rest::Drop), ..none() }, "`--rest` is about"),
        ] {
            let d = cut.check().unwrap_err();
            assert!(d.code == codes::BAD_OPTION && d.message.contains(words), "{}", d.message);
        }
        for cut in [
            none(),
            Windowing {
                window: Some(3),
                stride: Some(1),
                group: column(),
                time: column(),
                gap: Some(1.0),
                ..none()
            },
            Windowing { end: column(), rest: Some(Rest::Drop), ..none() },
            Windowing { time: column(), group: column(), ..none() },
        ] {
            cut.check().unwrap();
        }
    }

    #[test]
    fn a_cut_displays_as_options_say_it() {
        let cut =
            Windowing { window: Some(3), gap: Some(1.5), time: Some("t".into()), ..Windowing::default() };
        assert_eq!(cut.to_string(), "window 3, time t, gap 1.5");
        let over = Windowing { window: Some(5), ..Windowing::default() }.or(cut.clone());
        assert_eq!((over.window, over.gap), (Some(5), Some(1.5)));
        let text = serde_json::to_string(&cut).unwrap();
        assert_eq!(serde_json::from_str::<Windowing>(&text).unwrap(), cut);
    }
}
