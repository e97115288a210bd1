//! Adds to errors of a run over windows the facts that the columns of the data give about them.

use rml_base::codes::sim::{POSITION_OUTSIDE, SYNC_ERROR};
use rml_base::{Diagnostic, Diagnostics, Error, suggest};
use rml_data::Windows;

/// The most classes that a message names.
const NAMED: usize = 12;
/// A class with a similar name to another one counts as a misspelling if it has this many times fewer values.
const RARE: usize = 10;

/// Completes an error of a run over windows. An error about a position outside of its axis gets the columns that may
/// contain the position; an error about an absent variable gets the empty cells.
pub(super) fn with_columns(error: Error, data: &Windows, windows: &[usize]) -> Error {
    if error.code() == Some(SYNC_ERROR) {
        let gaps = data.gaps(windows);
        let fill = |(name, ..): &(&str, usize, &str)| {
            format!("or fill all gaps in `rml train`: `--fill '{name}=0'`")
        };
        let first = gaps.first().filter(|(name, ..)| data.takes_numbers(name));
        return with_gaps(error, &gaps, first.map(fill));
    }
    if error.code() != Some(POSITION_OUTSIDE) {
        return error;
    }
    // If the data cannot be read again, the error is not completed.
    let columns = data.integers(windows).unwrap_or_default();
    let position = error.diagnostics().iter().find_map(found_position).unwrap_or_default();
    let mut may_be = columns.iter().filter(|(_, least, most)| (*least..=*most).contains(&position));
    if let (Some((name, ..)), None) = (may_be.next(), may_be.next())
        && let Some((_, classes)) = data.classes().find(|(input, _)| input == name)
    {
        return with_classes(error, name, classes, &data.class_counts(name));
    }
    let said = error.diagnostics().iter().flat_map(|d| &d.help).any(|help| help.contains("counts from 1"));
    columns.into_iter().fold(error, |error, (name, least, most)| {
        let from_one = match least {
            1.. if !said => format!("; if it counts from 1, write `{name} - 1`"),
            0 if most > 0 => {
                format!("; if it has classes, the last layer needs {} units", most.saturating_add(1))
            }
            _ => String::new(),
        };
        error.note(format!(
            "column `{name}` holds integers from {least} to {most} here, and positions count from 0{from_one}"
        ))
    })
}

/// The position in a finding about a position outside of its axis.
fn found_position(d: &Diagnostic) -> Option<i64> {
    d.notes.iter().find_map(|note| note.rsplit_once(", found ")?.1.parse().ok())
}

/// Completes an error about an absent variable that may come from empty cells of the data, with their columns, rows and
/// files. `other` is additional advice.
pub(crate) fn with_gaps(error: Error, gaps: &[(&str, usize, &str)], other: Option<String>) -> Error {
    if gaps.is_empty() {
        return error;
    }
    let (sources, diagnostics) = error.into_parts();
    let with = |mut d: Diagnostic| {
        if d.code == SYNC_ERROR {
            let notes = gaps.iter().map(|(column, row, origin)| {
                format!("the cell of column `{column}` in row {row} of {origin} is empty (rows count from 0), so `{column}` is absent there")
            });
            d.notes.splice(0..0, notes);
            let help = "write a value into the empty cell, or leave the row out".to_owned();
            d.help.splice(0..0, std::iter::once(help).chain(other.clone()));
            // The cause is in the data, so the equations on the way are not of interest.
            let (inputs, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut d.labels).into_iter().partition(|l| l.message.starts_with("the input `"));
            d.labels = if inputs.is_empty() { others } else { inputs };
        }
        d
    };
    let mut all = Diagnostics::new();
    all.extend(diagnostics.into_iter().map(with));
    Error::new(all, sources)
}

/// Completes an error about a position outside of its axis that is a class of a column of words. `counts` has the
/// number of values of each class.
fn with_classes(error: Error, column: &str, classes: &[String], counts: &[usize]) -> Error {
    let (sources, diagnostics) = error.into_parts();
    let mut all = Diagnostics::new();
    all.extend(diagnostics.into_iter().map(|d| match d.code == POSITION_OUTSIDE {
        true => advised(d, column, classes, counts),
        false => d,
    }));
    Error::new(all, sources)
}

fn advised(mut d: Diagnostic, column: &str, classes: &[String], counts: &[usize]) -> Diagnostic {
    d.help.clear();
    let one = |(name, count): (&String, &usize)| format!("`{name}` ({count})");
    let shown: Vec<String> = classes.iter().zip(counts).take(NAMED).map(one).collect();
    let more = if classes.len() > NAMED { ", .." } else { "" };
    let d = d.note(format!(
        "column `{column}` holds words, which are {} classes, numbered from 0: {}{more}",
        classes.len(),
        shown.join(", ")
    ));
    let d = match twin(classes, counts) {
        Some((rare, other)) => {
            let is_other = |name: &&String| classes[rare] != **name;
            let kept: Vec<&str> = classes.iter().filter(is_other).map(String::as_str).collect();
            let list = match kept.len() <= NAMED && kept.iter().all(|name| is_plain(name)) {
                true => kept.join(","),
                false => "..".to_owned(),
            };
            d.help(format!("if `{}` is meant to be `{}`, write that in the data", classes[rare], classes[other]))
                .help(format!("`--classes '{column}={list}'` says which classes there are, and finds other words"))
        }
        None => d.help(format!(
            "if some of the words are no classes, correct the data; `--classes '{column}=..'` finds other words"
        )),
    };
    d.help(format!("if all of them are classes, the last layer needs {} units", classes.len()))
}

/// Two classes that are probably the same: the first one differs from the second, which is at least as frequent, only
/// in case; or it is rare and similar.
fn twin(classes: &[String], counts: &[usize]) -> Option<(usize, usize)> {
    let mut rarest: Vec<usize> = (0..classes.len().min(counts.len())).collect();
    rarest.sort_by_key(|class| counts[*class]);
    rarest.iter().find_map(|&rare| {
        let others =
            || rarest.iter().copied().filter(|other| *other != rare && counts[*other] >= counts[rare]);
        let same = |other: &usize| classes[*other].eq_ignore_ascii_case(&classes[rare]);
        let near = || {
            let frequent = others().filter(|other| counts[*other] >= RARE * counts[rare]);
            let near = suggest(&classes[rare], frequent.map(|other| classes[other].as_str()))?;
            others().find(|other| classes[*other] == near)
        };
        others().find(same).or_else(near).map(|other| (rare, other))
    })
}

/// Whether a name needs no quotes in the list of a flag.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains([',', '"', '\'', '`', '\n']) && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarer_of_two_names_is_doubted() {
        let of = |names: &[&str], counts: &[usize]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            twin(&names, counts)
        };
        assert_eq!(of(&["Dog", "cat", "dog", "owl"], &[1, 20, 19, 20]), Some((0, 2)));
        assert_eq!(of(&["car", "cat"], &[8, 9]), None);
        assert_eq!(of(&["setosa", "setossa", "virginica"], &[20, 1, 20]), Some((1, 0)));
    }
}
