//! Maps columns to inputs, if their names differ or an input has several columns.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, suggest, visible_name};
use serde::{Deserialize, Serialize};

use crate::advice;
use crate::columns::{Column, Columns, Header};
use crate::dated::dated;
use crate::dates::Aspect;
use crate::labels;
use crate::malformed::Malformed;
use crate::parts::{Named, PRESENT, Part, counts, parts};
use crate::stacked::{Piece, stacked};

/// The columns of inputs. An input that is not named gets the columns of its own name.
///
/// ```
/// # use rml_base::Error;
/// # fn main() -> Result<(), Error> {
/// use rml_data::{Columns, Format, ColumnMapping, Selection};
///
/// let mapping = ColumnMapping::parse(&["x=open..close", "y=label"])?;
/// let text = b"open,high,close,label\n1,2,3,4\n";
/// let table = Columns::parse_selected(text, Format::Csv, "t.csv", &Selection::all().mapped(mapping)?)?;
/// assert_eq!(table.columns["x"].shape.dims(), [1, 3]);
/// assert_eq!(table.columns["y"].shape.dims(), [1]);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ColumnMapping {
    inputs: BTreeMap<String, Vec<Part>>,
    /// Inputs whose columns are not given by the user beside the data: other data may lack these columns.
    #[serde(skip)]
    known: BTreeMap<String, KnownBy>,
}

/// Who names the columns of an input, if not the user beside the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum KnownBy {
    /// The checkpoint of a training.
    Training,
    /// The program.
    Program,
}

impl KnownBy {
    /// The subject of a message.
    fn name(self) -> &'static str {
        match self {
            Self::Training => "the training took",
            Self::Program => "the program takes",
        }
    }
}

/// The index of a column, and which part of its dates is read, if any.
pub(crate) type Field = (usize, Option<Aspect>);

/// An input, the places of its columns, and whether it is fed by a single column.
type Fed<'m> = (&'m str, Vec<Field>, bool);

/// A mapping, applied to a table.
#[derive(Default)]
pub(crate) struct Resolved<'m> {
    pub(crate) fed: Vec<Fed<'m>>,
    /// Inputs whose columns the table lacks although they were recorded, with the reason.
    pub(crate) lacking: Vec<(&'m str, Malformed)>,
    /// The columns of each input by their names, without ranges.
    pub(crate) named: Named,
}

impl ColumnMapping {
    /// Parses `input=column`, `input=first,second`, `input=first..last`, and for dates `input=hour(column)`. A name
    /// that contains a comma or `..`, or that looks like `hour(..)`, must be quoted.
    ///
    /// # Errors
    /// A text of another form; an input that is named twice.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, Error> {
        let mut all = BTreeMap::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let (input, parts) = text
                .split_once('=')
                .and_then(|(input, list)| Some((input.trim(), parts(list)?)))
                .filter(|(input, _)| !input.is_empty())
                .ok_or_else(|| unread(text))?;
            if all.insert(input.to_owned(), parts).is_some() {
                let what = format!("the columns of input `{}` are given twice", visible_name(input));
                let d = Diagnostic::error(codes::BAD_OPTION, what);
                return Err(d.help(format!("name all of them at once: `--columns '{input}=a,b'`")).into());
            }
        }
        Ok(Self::of(all))
    }

    /// Checks `hour(date)` and `present(y)`: that dates have a property of this name, or that there is such an input,
    /// if the inputs are known.
    ///
    /// # Errors
    /// There is no such property or input.
    pub fn check_property(name: &str, of: &str, inputs: Option<&BTreeSet<String>>) -> Result<(), Diagnostic> {
        if name == PRESENT {
            let is_known = inputs.is_none_or(|inputs| inputs.contains(of));
            let what = format!("the program has no input `{}`", visible_name(of));
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            let help = "`present(y)` says whether the input `y` has a value in a cycle";
            return if is_known { Ok(()) } else { Err(d.help(help)) };
        }
        if Aspect::named(name).is_some() {
            return Ok(());
        }
        let what = format!("dates have no property `{}`", visible_name(name));
        let all = Aspect::ALL.map(|aspect| format!("`{}`", aspect.name())).join(", ");
        let d =
            Diagnostic::error(codes::BAD_OPTION, what).note(format!("what is read of dates is one of {all}"));
        Err(match suggest(name, Aspect::ALL.iter().map(|aspect| aspect.name())) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d.help("a column whose name looks like this stands in quotes"),
        })
    }

    /// The columns of these inputs, as the user gives them.
    pub(crate) fn of(inputs: BTreeMap<String, Vec<Part>>) -> Self {
        Self { inputs, known: BTreeMap::new() }
    }

    /// The same, with the inputs of another mapping of the user that this one does not name.
    pub(crate) fn over(mut self, other: Self) -> Self {
        for (input, parts) in other.inputs {
            self.inputs.entry(input).or_insert(parts);
        }
        self
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Whether a column may feed this input, judged only by names.
    pub(crate) fn gives(&self, column: &str, input: &str) -> bool {
        let feeds = |part: &Part| match part {
            Part::One(name) | Part::Date(_, name) => name == column,
            Part::Range(_, _) => true,
            Part::Present(_) => false,
        };
        self.inputs.get(input).is_some_and(|parts| parts.iter().any(feeds))
    }

    /// Whether a column feeds an input by its own name, not by a range.
    pub(crate) fn names_alone(&self, column: &str, input: &str) -> bool {
        let is_it = |part: &Part| part.is_column() && part.names().any(|name| name == column);
        self.inputs.get(input).is_some_and(|parts| parts.iter().any(is_it))
    }

    /// Whether it names a column among those of an input.
    pub(crate) fn names(&self, column: &str, input: &str) -> bool {
        self.inputs
            .get(input)
            .is_some_and(|parts| parts.iter().flat_map(Part::names).any(|name| name == column))
    }

    /// The same, with the inputs of another mapping that this one does not name.
    pub(crate) fn or(self, other: Self) -> Self {
        self.completed(other, KnownBy::Training)
    }

    /// The same, with the inputs of a mapping of the program that this one does not name.
    pub(crate) fn or_declared(self, other: Self) -> Self {
        self.completed(other, KnownBy::Program)
    }

    fn completed(mut self, other: Self, by: KnownBy) -> Self {
        for (input, parts) in other.inputs {
            if !self.inputs.contains_key(&input) {
                self.known.insert(input.clone(), by);
                self.inputs.insert(input, parts);
            }
        }
        self
    }

    /// The same, without what a training recorded of inputs that a program does not have.
    pub(crate) fn fitting(mut self, is_input: impl Fn(&str) -> bool) -> Self {
        let Self { inputs, known } = &mut self;
        let fits = |input: &str, parts: &[Part]| is_input(input) && presence(parts).is_none_or(&is_input);
        inputs.retain(|input, parts| known.get(input) != Some(&KnownBy::Training) || fits(input, parts));
        self
    }

    /// The same, with ranges replaced by the names of their columns in a table, and with the inputs whose columns the
    /// program names.
    pub(crate) fn named_in(mut self, table: &Columns) -> Self {
        self.inputs.extend(table.resolved.iter().map(|(input, parts)| (input.clone(), parts.clone())));
        self
    }

    /// The inputs that say whether another input has a value, and these inputs.
    pub(crate) fn presence(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inputs.iter().filter_map(|(input, parts)| Some((input.as_str(), presence(parts)?)))
    }

    /// Whether it names a column by a number.
    pub(crate) fn has_numbers(&self) -> bool {
        let is_number = |name: &String| name.bytes().all(|b| b.is_ascii_digit());
        self.inputs.values().flatten().any(|part| match part {
            Part::One(name) | Part::Date(_, name) => is_number(name),
            Part::Range(first, last) => is_number(first) && is_number(last),
            Part::Present(_) => false,
        })
    }

    /// The inputs that a column feeds.
    pub fn fed_by(&self, column: &str) -> Vec<&str> {
        self.inputs().filter(|input| self.names(column, input)).collect()
    }

    /// The inputs that it names.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.inputs.keys().map(String::as_str)
    }

    /// Whether a column may feed an input, judged only by its name.
    pub(crate) fn uses(&self, column: &str) -> bool {
        self.inputs.values().flatten().any(|part| match part {
            Part::One(name) | Part::Date(_, name) => name == column,
            Part::Range(_, _) => true,
            Part::Present(_) => false,
        })
    }

    /// Whether an input reads a property of the dates in a column.
    pub(crate) fn reads_dates(&self, column: &str) -> bool {
        let is_it = |part: &Part| part.aspect().is_some() && part.names().any(|name| name == column);
        self.inputs.values().flatten().any(is_it)
    }

    /// For each named input: the places of its columns among all names, and whether it is fed by a single column.
    /// `places` returns the places with a name.
    ///
    /// # Errors
    /// A column that does not exist; a range from a later column to an earlier one.
    pub(crate) fn resolved<'m>(
        &'m self,
        names: &[&str],
        places: impl Fn(&str) -> Vec<usize>,
    ) -> Result<Resolved<'m>, Malformed> {
        let mut resolved = Resolved::default();
        let counts = counts(names);
        for (input, parts) in self.inputs.iter().filter(|(_, parts)| presence(parts).is_none()) {
            let absent = |name: &&String| places(name).is_empty();
            if let Some(name) = parts.iter().flat_map(Part::names).find(absent) {
                let Some(by) = self.known.get(input) else { return Err(no_column(input, name, names)) };
                resolved.lacking.push((input, not_as_known(*by, (input, parts), name, names)));
                continue;
            }
            let mut all = Vec::new();
            let mut named = Vec::new();
            for part in parts {
                let places = part.places(input, &places)?;
                match part {
                    // A range of one column is a vector, which a single name would not be. A name shared by several
                    // columns identifies none of them.
                    Part::Range(_, _)
                        if places.len() > 1 && places.iter().all(|place| counts.is_one(names, *place)) =>
                    {
                        let columns = places.iter().filter_map(|place| names.get(*place));
                        named.extend(columns.map(|name| Part::One((*name).to_owned())));
                    }
                    Part::One(_) | Part::Range(_, _) | Part::Date(_, _) | Part::Present(_) => {
                        named.push(part.clone());
                    }
                }
                all.extend(places.into_iter().map(|place| (place, part.aspect())));
            }
            let is_one = matches!(&parts[..], [part] if part.is_column()) && all.len() == 1;
            resolved.fed.push((input, all, is_one));
            resolved.named.insert(input.clone(), named);
        }
        Ok(resolved)
    }

    /// Assigns the columns of a table, or of a piece of one, to inputs of other names.
    ///
    /// # Errors
    /// A column that does not exist, or columns that cannot be combined to a vector.
    pub(crate) fn apply(&self, table: &mut Columns, piece: &Piece<'_>) -> Result<(), Malformed> {
        let header = Box::new(Header::of(table));
        let names: Vec<String> = table.columns.keys().chain(table.unusable.keys()).cloned().collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let counted = counts(&names);
        let place = |name: &str| counted.first(name).into_iter().collect();
        let mut fed = Vec::new();
        let Resolved { fed: resolved, lacking, named } = self.resolved(&names, place)?;
        for (input, places, is_one) in resolved {
            let of: Vec<(&str, Option<Aspect>)> =
                places.iter().map(|(place, aspect)| (names[*place], *aspect)).collect();
            let unusable = of.iter().find_map(|(name, _)| table.unusable.get(*name)).cloned();
            let mut names: Option<Vec<String>> = None;
            let are_listed = of.iter().all(|(name, _)| table.listed.contains(*name));
            let lengths =
                of.first().filter(|_| is_one).and_then(|(name, _)| table.lengths.get(*name)).cloned();
            let column = match unusable {
                Some(why) => Err(why),
                None => combined(table, (input, &of, is_one), piece, &mut names).map_err(Into::into),
            };
            fed.push((input, column, lengths, names, are_listed));
        }
        for (input, column, lengths, names, are_listed) in fed {
            table.remove(input);
            table.unusable.shift_remove(input);
            match column {
                Ok(column) => drop(table.columns.insert(input.to_owned(), column)),
                Err(why) => drop(table.unusable.insert(input.to_owned(), why)),
            }
            if let Some(lengths) = lengths {
                table.lengths.insert(input.to_owned(), lengths);
            }
            if let Some(names) = names {
                table.names.insert(input.to_owned(), names);
                if are_listed {
                    table.listed.insert(input.to_owned());
                }
            }
        }
        table.take_resolved(lacking, named);
        table.header = header;
        Ok(())
    }
}

/// The input whose presence these parts are.
fn presence(parts: &[Part]) -> Option<&str> {
    match parts {
        [Part::Present(input)] => Some(input),
        _ => None,
    }
}

fn unread(text: &str) -> Error {
    let what = format!("`{}` does not say which columns feed an input", visible_name(text));
    Diagnostic::error(codes::BAD_OPTION, what)
        .note("expected an input, `=` and names of columns")
        .help("`--columns 'x=open,high,low'` makes a vector of three columns, and `--columns 'x=p0..p63'` one of those from `p0` to `p63`")
        .into()
}

/// The names of the columns of a file, for messages.
fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(20).map(|name| format!("`{}`", visible_name(name))).collect::<Vec<_>>();
    let more = if names.len() > 20 { ", .." } else { "" };
    format!("the file has {}{more}", shown.join(", "))
}

/// The finding that data lacks a column that feeds an input according to a checkpoint or the program.
fn not_as_known(by: KnownBy, (input, parts): (&str, &[Part]), name: &str, names: &[&str]) -> Malformed {
    let what = format!("{} it from column `{}`, which the file lacks", by.name(), visible_name(name));
    let why = Malformed::lacking(what).note(listed(names));
    if has_own(input, names) {
        return why.help(own(input));
    }
    // The columns of the input, with another name in place of the missing one.
    let with = |other: &str| {
        let renamed = |one: &String| if one == name { other.to_owned() } else { one.clone() };
        let parts = parts.iter().map(|part| match part {
            Part::One(one) => renamed(one),
            Part::Range(first, last) => format!("{}..{}", renamed(first), renamed(last)),
            Part::Date(aspect, one) => format!("{}({})", aspect.name(), renamed(one)),
            Part::Present(input) => format!("{PRESENT}({input})"),
        });
        parts.collect::<Vec<_>>().join(",")
    };
    match suggest(name, names.iter().copied()) {
        Some(near) => why.help(format!("there is `{near}`: `--columns '{input}={}'`", with(near))),
        None => {
            why.help(format!("if it has another name here, say so: `--columns '{input}={}'`", with("NAME")))
        }
    }
}

/// Whether a file has the column of the input's own name.
fn has_own(input: &str, names: &[&str]) -> bool {
    let is_own =
        |other: &&str| *other == input || other.strip_prefix(input).is_some_and(|rest| rest.starts_with('['));
    names.iter().any(is_own)
}

/// Advice on how to read the column of the input's own name.
fn own(input: &str) -> String {
    format!("to read the column of the input's own name: `--columns '{input}={input}'`")
}

fn no_column(input: &str, name: &str, names: &[&str]) -> Malformed {
    let what = format!("there is no column `{}` for input `{}`", visible_name(name), visible_name(input));
    let why = Malformed::lacking(what);
    if names.is_empty() {
        return why.note("the file has no columns").help("name another file, or write the columns");
    }
    let why = why.note(listed(names));
    let why = if has_own(input, names) { why.help(own(input)) } else { why };
    if let Some((of, column)) = name.strip_suffix(')').and_then(|text| text.split_once('('))
        && names.contains(&column)
    {
        let all = Aspect::ALL.map(|aspect| format!("`{}`", aspect.name())).join(", ");
        let why = why.note(format!("what is read of dates is one of {all}"));
        return match suggest(of, Aspect::ALL.iter().map(|aspect| aspect.name())) {
            Some(near) => why.help(format!("write `--columns '{input}={near}({column})'`")),
            None => why.help(format!("write for example `--columns '{input}=hour({column})'`")),
        };
    }
    match suggest(name, names.iter().copied()) {
        Some(near) => why.help(format!("there is `{near}`")),
        None if names.iter().enumerate().all(|(i, name)| *name == i.to_string()) => {
            why.help("no line of the file names the columns, so they have numbers")
        }
        None => {
            let blanks = advice::blanks(names);
            why.help(blanks.unwrap_or_else(|| "write the name of a column of the file".to_owned()))
        }
    }
}

/// The column of an input, combined from columns of a table; `names` receives the texts of its numbers.
fn combined(
    table: &Columns,
    (input, of, is_one): (&str, &[(&str, Option<Aspect>)], bool),
    piece: &Piece<'_>,
    names: &mut Option<Vec<String>>,
) -> Result<Column, Malformed> {
    let columns = of.iter().map(|(name, aspect)| {
        let (column, own) = (&table.columns[*name], table.names(name));
        match (aspect, own) {
            (Some(aspect), own) => dated(*aspect, column, own, piece.are_seconds)
                .map_err(|why| why.note(format!("in column `{}`", visible_name(name)))),
            (None, own) => Ok(renumbered(column.clone(), own, names)),
        }
    });
    let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
    if is_one && let Some(column) = columns.pop() {
        return Ok(column);
    }
    let columns: Vec<(&str, Column)> = of.iter().map(|(name, _)| *name).zip(columns).collect();
    stacked(input, columns, names.is_none(), piece)
}

/// A column of texts with its numbers replaced by those of texts shared by several columns.
fn renumbered(mut column: Column, own: Option<&[String]>, names: &mut Option<Vec<String>>) -> Column {
    if let Some(own) = own {
        let numbers = labels::merged(names.get_or_insert_default(), own);
        labels::renumber(&mut column.elements, &numbers);
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Elements, Format, Selection};

    fn read(text: &str, format: Format, columns: &[&str]) -> Result<Columns, Error> {
        let selection = Selection::all().mapped(ColumnMapping::parse(columns).unwrap()).unwrap();
        Columns::parse_selected(text.as_bytes(), format, "t", &selection)
    }

    #[test]
    fn columns_of_any_format_become_vectors() {
        let csv = "a,b c,y,p[0],p[1]\n1,2.5,3,8,9\n4,5,6,6,7\n";
        let json = r#"{"a": [1, 4], "b c": [2.5, 5], "y": [3, 6], "p": [[8, 9], [6, 7]]}"#;
        for (text, format) in [(csv, Format::Csv), (json, Format::Json)] {
            let table = read(text, format, &["x=y,a..b c", "z=a", "q=p", "y=b c"]).unwrap();
            let x = &table.columns["x"];
            assert_eq!(x.shape.dims(), [2, 3]);
            assert_eq!(x.elements, Elements::F64(vec![3.0, 1.0, 2.5, 6.0, 4.0, 5.0]));
            assert_eq!(table.columns["z"].elements, Elements::Int(vec![1, 4]));
            assert_eq!(table.columns["q"].elements, Elements::Int(vec![8, 9, 6, 7]));
            assert_eq!(table.columns["y"].elements, Elements::F64(vec![2.5, 5.0]));
        }
    }

    #[test]
    fn dates_are_read_as_what_they_say() {
        let csv = "date,load\n2024-03-31 23:05,1.5\n1711929600,2\n";
        let json = r#"{"date": ["2024-03-31 23:05", "2024-04-01"], "load": [1.5, 2]}"#;
        for (text, format) in [(csv, Format::Csv), (json, Format::Json)] {
            let columns = ["x=hour(date),weekday( date ),load", "m=month(\"date\")", "t=seconds(date)"];
            let table = read(text, format, &columns).unwrap();
            assert_eq!(table.columns["x"].elements, Elements::F64(vec![23.0, 6.0, 1.5, 0.0, 0.0, 2.0]));
            assert_eq!(table.columns["m"].elements, Elements::Int(vec![3, 4]));
            assert_eq!(table.columns["m"].shape.dims(), [2]);
            assert_eq!(table.columns["t"].elements, Elements::Int(vec![1_711_926_300, 1_711_929_600]));
        }
        // Digits of a date are no seconds, in any format.
        let csv = "day\n20231231\n20240101\n";
        let json = r#"{"day": [20231231, 20240101.0]}"#;
        for (text, format) in [(csv, Format::Csv), (json, Format::Json)] {
            let table = read(text, format, &["x=year(day),yearday(day)", "t=seconds(day)"]).unwrap();
            assert_eq!(table.columns["x"].elements, Elements::Int(vec![2023, 365, 2024, 1]));
            assert_eq!(table.columns["t"].elements, Elements::Int(vec![1_703_980_800, 1_704_067_200]));
        }
        // What the reader of a format has made seconds is not read as digits again.
        let table = read(r#"{"day": ["1970-08-23 03:40:31"]}"#, Format::Json, &["t=seconds(day)"]).unwrap();
        assert_eq!(table.columns["t"].elements, Elements::Int(vec![20_230_831]));
        for (text, format) in [("day\n20231301\n", Format::Csv), (r#"{"day": [20231301]}"#, Format::Json)] {
            let table = read(text, format, &["t=seconds(day)"]).unwrap();
            assert!(table.unusable["t"].to_string().contains("`20231301` is no date"));
        }
        let table = read("day\n12/31/2023\n", Format::Csv, &["t=seconds(day)"]).unwrap();
        let shown = table.unusable["t"].refused(String::new()).help.join(" ");
        assert!(shown.contains("write the year first"), "{shown}");
        let csv = "date,load\n2024-03-31 23:05,1.5\n";
        let error = read(csv, Format::Csv, &["x=hours(date)"]).unwrap_err().to_string();
        assert!(error.contains("no column `hours(date)`"), "{error}");
        let table = read("date\nyesterday\n", Format::Csv, &["x=hour(date)"]).unwrap();
        assert!(table.unusable["x"].to_string().contains("`yesterday` is no date"));
        // A column may have this name; then its name is quoted.
        let table = read("hour(date)\n7\n", Format::Csv, &["x=\"hour(date)\""]).unwrap();
        assert_eq!(table.columns["x"].elements, Elements::Int(vec![7]));
    }

    #[test]
    fn a_range_of_one_column_is_a_vector() {
        let table = read("a,b\n1,2\n", Format::Csv, &["x=a..a"]).unwrap();
        assert_eq!(table.columns["x"].shape.dims(), [1, 1]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for format in [Format::Csv, Format::Json] {
            let text = if format == Format::Csv { "open,b\n1,2\n" } else { r#"{"open": [1], "b": [2]}"# };
            let error = |columns: &str| read(text, format, &[columns]).unwrap_err();
            assert!(error("x=opne").to_string().contains("no column `opne` for input `x`"));
            assert_eq!(error("x=opne").code(), Some(codes::MISSING_COLUMN));
            assert!(error("x=b..open").to_string().contains("`open` comes before column `b`"));
        }
        for text in ["x", "=a", "x=", "x=a,", "x=\"a", "x=a..", "x=\"a\"b", "x=hour(a)b", "x=hour(a),"] {
            assert_eq!(ColumnMapping::parse(&[text]).unwrap_err().code(), Some(codes::BAD_OPTION), "{text}");
        }
        assert!(ColumnMapping::parse(&["x=a", "x=b"]).is_err());
        assert!(ColumnMapping::parse(&["x=\"a,b\"..\"c..d\", e"]).is_ok());
    }
}
