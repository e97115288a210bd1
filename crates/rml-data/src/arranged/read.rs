//! Reads the columns that determine how a long table is cut.

use std::ops::Range;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::memory::{Reservation, Shortage, bytes_of};
use rml_base::{Diagnostic, suggest, visible_name};

use super::FILE;
use crate::columns::{Column, Columns, Elements, LENGTHS};
use crate::cut::Windowing;
use crate::dates;
use crate::labels::listed;
use crate::on_disk::Dataset;

/// The rows of a table, according to the columns of a cut.
pub(super) struct Rows {
    /// The number of rows.
    pub(super) count: usize,
    /// The rows in the order of groups; `None` if the table has that order.
    pub(super) order: Option<Vec<usize>>,
    /// The places of each group.
    pub(super) groups: Vec<Range<usize>>,
    /// The names of the groups, if a column says them.
    pub(super) names: Vec<String>,
    /// The time of each row.
    pub(super) time: Option<Vec<f64>>,
    /// Whether each row is the last one of a window.
    pub(super) ends: Option<Vec<bool>>,
}

impl Rows {
    pub(super) fn of(
        data: &dyn Dataset,
        cut: &Windowing,
        memory: &mut Reservation,
    ) -> Result<Self, Diagnostic> {
        let table = data.table();
        let columns = [("group", &cut.group), ("time", &cut.time), ("end", &cut.end)];
        let mut count = None;
        let given = columns.iter().filter_map(|(flag, name)| Some((*flag, name.as_ref()?)));
        for (flag, name) in given.filter(|(flag, name)| *flag != "group" || !is_by_file(table, name)) {
            let rows = column(table, flag, name)?.rows();
            count = count.or(Some((rows, name)));
            if let Some((before, other)) = count.filter(|(before, _)| *before != rows) {
                let what = format!("column `{name}` has {rows} rows, column `{other}` has {before}");
                let d = Diagnostic::error(codes::DATA_SHAPE, what);
                return Err(
                    d.note("expected as many rows in all columns of a table that is cut into windows")
                );
            }
        }
        if table.columns.contains_key(LENGTHS) {
            let what = format!("{} says its windows itself, by the column `{LENGTHS}`", table.called());
            let d = Diagnostic::error(codes::BAD_OPTION, what).note(format!("it is to be cut: {cut}"));
            return Err(d.help("leave those options out, or the column"));
        }
        let count = count.map_or_else(|| table.most_rows(), |(rows, _)| rows);
        if count == 0 && table.columns.is_empty() && !table.unusable.is_empty() {
            // The inputs that need these columns are refused with the reasons.
            return Ok(Self {
                count,
                order: None,
                groups: Vec::new(),
                names: Vec::new(),
                time: None,
                ends: None,
            });
        }
        if count == 0 {
            return Err(Diagnostic::error(codes::EMPTY_DATA, format!("{} has no row", table.called())));
        }
        let mut needed = Reservation::default();
        let mut grow = |bytes: u64| needed.grow(bytes).map_err(short);
        let (order, groups, names) = match &cut.group {
            None => (None, std::iter::once(0..count).collect(), Vec::new()),
            Some(group) => {
                grow(bytes_of(count, size_of::<u32>()))?;
                let (numbers, names) = numbers_of_groups(data, group, count)?;
                let (order, groups) = arranged(&numbers);
                let bytes = order.as_ref().map_or(0, |order| bytes_of(order.len(), size_of::<usize>()));
                memory.grow(bytes).map_err(short)?;
                (order, groups, names)
            }
        };
        let time = match &cut.time {
            None => None,
            Some(name) => {
                grow(bytes_of(count, size_of::<f64>()))?;
                Some(times(data, name, count)?)
            }
        };
        let ends = match &cut.end {
            None => None,
            Some(name) => {
                grow(bytes_of(count, 1))?;
                Some(ends(data, name, count)?)
            }
        };
        let rows = Self { count, order, groups, names, time, ends };
        rows.check_time(table, cut)?;
        Ok(rows)
    }

    /// Checks that within each group, no row is earlier than the one before it.
    fn check_time(&self, table: &Columns, cut: &Windowing) -> Result<(), Diagnostic> {
        let (Some(time), Some(name)) = (&self.time, &cut.time) else { return Ok(()) };
        let row = |place: usize| self.order.as_ref().map_or(place, |order| order[place]);
        for group in &self.groups {
            for place in group.start + 1..group.end {
                let (before, now) = (row(place - 1), row(place));
                if cut.ends_with_files() && table.files.of(before) != table.files.of(now) {
                    continue;
                }
                if time[now] < time[before] {
                    return Err(not_in_order(table, cut, (name, time), (before, now)));
                }
            }
        }
        Ok(())
    }
}

/// The error that a row is earlier than the row before it.
fn not_in_order(
    table: &Columns,
    cut: &Windowing,
    (name, time): (&str, &[f64]),
    (before, now): (usize, usize),
) -> Diagnostic {
    let what = format!("{} is earlier than the row before it", table.place(now));
    let is_date = table.dated.contains(name) || table.names(name).is_some();
    let shown = |row: usize| match dates::split(time[row]).filter(|_| is_date) {
        Some(date) => dates::shown(date),
        None => time[row].to_string(),
    };
    let within = match &cut.group {
        Some(group) => format!(" of the same `{group}`"),
        None => String::new(),
    };
    let note = format!(
        "column `{name}` is {} there, after {} in {}{within} (rows count from 0)",
        shown(now),
        shown(before),
        table.place(before)
    );
    let d = Diagnostic::error(codes::TIME_ORDER, what).note(note).help(format!("sort the rows by `{name}`"));
    match (&cut.group, table.files.of(before) == table.files.of(now)) {
        (None, false) => d.help("if each file is a series of its own: `--group file`, or without `--gap`"),
        (None, true) => {
            d.help("if the table has several series, name the column that tells them apart: `--group COLUMN`")
        }
        (Some(_), _) => d,
    }
}

fn short(short: Shortage) -> Diagnostic {
    short.diagnostic("the places of the rows in the windows of the table")
}

/// A column of a cut, which must have a value in each row.
fn column<'t>(table: &'t Columns, flag: &str, name: &str) -> Result<&'t Column, Diagnostic> {
    let what = |why: &str| format!("`--{flag} {}`: {why}", visible_name(name));
    if let Some(why) = table.unusable.get(name) {
        let read = format!("column `{}` of {} cannot be read", visible_name(name), table.called());
        return Err(why.refused(what(&read)));
    }
    let Some(column) = table.columns.get(name) else {
        let missing = format!("{} has no such column", table.called());
        let d = Diagnostic::error(codes::MISSING_COLUMN, what(&missing));
        let names = table.header();
        let d = d.note(format!("it has {}", listed(&names)));
        return Err(match suggest(name, names.iter().map(String::as_str)) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d.help("write the name of a column"),
        });
    };
    if column.shape.rank() != 1 || table.lengths(name).is_some() {
        let d = Diagnostic::error(codes::DATA_SHAPE, what("a row has more than one value"));
        return Err(d.note(format!("expected one value in each row, [rows], found {}", column.shape)));
    }
    if let Some(present) = &column.present {
        let row = present.iter().enumerate().position(|(i, row)| i != *row).unwrap_or(present.len());
        let d = Diagnostic::error(
            codes::DATA_SHAPE,
            what(&format!("row {row} of {} has no value", table.called())),
        );
        let d = d.note(format!("{} of {} rows have none", column.rows() - present.len(), column.rows()));
        return Err(d.help("write a value into that row, or leave the row out"));
    }
    Ok(column)
}

/// Whether the groups of this name are the files.
fn is_by_file(table: &Columns, name: &str) -> bool {
    name == FILE && !table.mentions(FILE)
}

/// For each row the number of its group, in the order of their first rows; and the names of the groups.
fn numbers_of_groups(
    data: &dyn Dataset,
    name: &str,
    count: usize,
) -> Result<(Vec<u32>, Vec<String>), Diagnostic> {
    if is_by_file(data.table(), name) {
        let files = data.table().files.rows(count);
        let table = data.table();
        let names = (0..files.len()).map(|file| table.files.name(file).unwrap_or(table.called()).to_owned());
        let numbers = files.iter().cloned().zip(0..).flat_map(|(rows, file)| rows.map(move |_| file));
        return Ok((numbers.collect(), names.collect()));
    }
    let texts = data.table().names(name);
    let mut names = Vec::new();
    let mut known: IndexMap<u64, ()> = IndexMap::new();
    let mut all = Vec::with_capacity(count);
    let mut add = |key: u64, shown: &dyn Fn() -> String| {
        let (number, is_new) = known.insert_full(key, ());
        if is_new.is_none() {
            names.push(shown());
        }
        all.push(u32::try_from(number).unwrap_or(u32::MAX));
    };
    let text = |x: i64| {
        let text = usize::try_from(x).ok().and_then(|x| texts?.get(x).cloned());
        text.unwrap_or_else(|| x.to_string())
    };
    // 0.0 and -0.0 are the same number.
    let bits = |x: f64| if x == 0.0 { 0 } else { x.to_bits() };
    data.for_each(name, &mut |elements| match elements {
        Elements::Bool(v) => v.iter().for_each(|x| add(u64::from(*x), &|| x.to_string())),
        Elements::Int(v) => v.iter().for_each(|x| add(x.cast_unsigned(), &|| text(*x))),
        Elements::F32(v) => v.iter().for_each(|x| add(bits(f64::from(*x)), &|| x.to_string())),
        Elements::F64(v) => v.iter().for_each(|x| add(bits(*x), &|| x.to_string())),
    })?;
    Ok((all, names))
}

/// The order of rows by group, unless the table has this order already, and the places of each group.
fn arranged(numbers: &[u32]) -> (Option<Vec<usize>>, Vec<Range<usize>>) {
    let groups = numbers.iter().max().map_or(0, |most| *most as usize + 1);
    let mut ends = vec![0; groups];
    numbers.iter().for_each(|number| ends[*number as usize] += 1);
    let mut end = 0;
    for count in &mut ends {
        end += *count;
        *count = end;
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let ranges = starts.zip(&ends).map(|(start, end)| start..*end).collect::<Vec<_>>();
    if numbers.is_sorted() {
        return (None, ranges);
    }
    let mut next: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    let mut order = vec![0; numbers.len()];
    for (row, number) in numbers.iter().enumerate() {
        let place = &mut next[*number as usize];
        order[*place] = row;
        *place += 1;
    }
    (Some(order), ranges)
}

/// The time of each row.
#[allow(clippy::cast_precision_loss, reason = "times are compared, and gaps of a unit are far larger")]
fn times(data: &dyn Dataset, name: &str, count: usize) -> Result<Vec<f64>, Diagnostic> {
    let mut all = Vec::with_capacity(count);
    let mut is_truth = false;
    data.for_each(name, &mut |elements| match elements {
        Elements::Bool(_) => is_truth = true,
        Elements::Int(v) => all.extend(v.iter().map(|x| *x as f64)),
        Elements::F32(v) => all.extend(v.iter().map(|x| f64::from(*x))),
        Elements::F64(v) => all.extend(v),
    })?;
    if is_truth {
        let what = format!("`--time {}`: the column holds truth values", visible_name(name));
        let d = Diagnostic::error(codes::DATA_TYPE, what);
        return Err(d.note("expected numbers or dates").note(dates::EXPECTED));
    }
    if let Some(texts) = data.table().names(name) {
        let seconds = texts.iter().map(|text| date(name, text)).collect::<Result<Vec<f64>, _>>()?;
        let mut rows = Vec::with_capacity(count);
        data.for_each(name, &mut |elements| {
            if let Elements::Int(numbers) = elements {
                rows.extend(numbers.iter().filter_map(|number| seconds.get(usize::try_from(*number).ok()?)));
            }
        })?;
        all = rows;
    }
    match all.iter().position(|x: &f64| !x.is_finite()) {
        None => Ok(all),
        Some(row) => {
            let what = format!("`--time {}`: row {row} is {}", visible_name(name), all[row]);
            Err(Diagnostic::error(codes::DATA_TYPE, what).help("leave the row out, or give it a time"))
        }
    }
}

/// The seconds of a date in a column of texts.
#[allow(clippy::cast_precision_loss, reason = "as above")]
fn date(name: &str, text: &str) -> Result<f64, Diagnostic> {
    match dates::seconds(text) {
        Some((seconds, fraction)) => Ok(seconds as f64 + fraction),
        None => {
            let what = format!("`--time {}`: `{}` is no date", visible_name(name), visible_name(text));
            Err(Diagnostic::error(codes::DATA_TYPE, what).note(dates::EXPECTED))
        }
    }
}

/// Whether each row is the last one of a window.
fn ends(data: &dyn Dataset, name: &str, count: usize) -> Result<Vec<bool>, Diagnostic> {
    let mut all = Vec::with_capacity(count);
    let mut wrong = None;
    data.for_each(name, &mut |elements| match elements {
        Elements::Bool(v) => all.extend(v),
        Elements::Int(v) if v.iter().all(|x| matches!(x, 0 | 1)) && data.table().names(name).is_none() => {
            all.extend(v.iter().map(|x| *x == 1));
        }
        other => wrong = wrong.or(Some(other.kind())),
    })?;
    match wrong {
        None => Ok(all),
        Some(kind) => {
            let what = format!("`--end {}`: the column holds {kind}", visible_name(name));
            let d = Diagnostic::error(codes::DATA_TYPE, what);
            Err(d.note("expected `true` or 1 in the last row of each window, `false` or 0 in the others"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_arranged_by_groups() {
        assert_eq!(arranged(&[0, 0, 1]), (None, vec![0..2, 2..3]));
        assert_eq!(arranged(&[0, 1, 0, 2, 1, 0]), (Some(vec![0, 2, 5, 1, 4, 3]), vec![0..3, 3..5, 5..6]));
    }
}
