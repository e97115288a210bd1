//! Detects the format of a file from its beginning. If the format is ambiguous, the error shows the line and the flags
//! that decide.

use super::head::{self, Head};
use super::missing::{Missing, USUAL};
use super::sample::{Record, is_number, records};
use super::{BLANKS, Dialect, Known, Names, plain, shown};
use crate::malformed::Malformed;

/// The separators of cells that detection tries, besides blanks.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Detects the format of the file that begins with `sample`. `usual` is the default separator for files with its name.
///
/// # Errors
/// Two separators fit.
pub(crate) fn find(sample: &str, given: &Dialect, usual: Option<char>) -> Result<Known, Malformed> {
    let all = records(sample, given.comment.as_deref());
    let looks_hashed = |record: &&Record<'_>| given.comment.is_none() && record.is_hashed();
    let mut rows: Vec<Record<'_>> = all.iter().filter(|record| !looks_hashed(record)).copied().collect();
    if rows.is_empty() {
        rows.clone_from(&all);
    }
    let mut known = Known { thousands: given.thousands, comment: given.comment.clone(), ..Known::default() };
    known.separator = match given.separator {
        Some(separator) => separator,
        None => separator(sample, &rows, given, usual)?,
    };
    if given.separator.is_none() && known.separator != usual.unwrap_or(',') {
        known.assumed.push(format!("cells are separated by {}", words(known.separator)));
    }
    let named = names(&all, &rows, given, &mut known);
    let below = &rows[usize::from(named).min(rows.len())..];
    let cells: Vec<&str> = below.iter().flat_map(|row| row.cells(known.separator)).collect();
    numbers(&cells, given, &mut known);
    known.missing = Missing::new(given.missing.as_deref().unwrap_or_default(), |text| known.plain(text));
    if known.missing.has_usual() {
        let found = USUAL.iter().filter(|word| cells.contains(word));
        let found: Vec<String> = found.map(|word| format!("`{word}`")).collect();
        if !found.is_empty() {
            known.assumed.push(format!("a cell {} has no value", found.join(" or ")));
        }
    }
    Ok(known)
}

/// A description of a separator for a sentence.
fn words(separator: char) -> String {
    match separator {
        '\t' => "tabs".to_owned(),
        BLANKS => "blanks".to_owned(),
        other => format!("`{other}`"),
    }
}

/// Detects the separator of cells.
fn separator(
    sample: &str,
    records: &[Record<'_>],
    given: &Dialect,
    usual: Option<char>,
) -> Result<char, Malformed> {
    let is_in_numbers = |separator: char| [given.decimal, given.thousands].contains(&Some(separator));
    // A character that occurs in numbers is a separator only if such numbers are in quotes.
    let in_quotes = |separator: char| {
        let mut cells = records.iter().flat_map(|record| record.raw(separator));
        cells.any(|cell| cell.starts_with('"') && cell.contains(separator))
    };
    let usable = |separator: &char| !is_in_numbers(*separator) || in_quotes(*separator);
    let first = |separator: char| records.first().map_or(0, |record| record.cells(separator).len());
    let fit = |separator: char| {
        records.iter().filter(|record| record.cells(separator).len() == first(separator)).count()
    };
    let candidates: Vec<char> = SEPARATORS.into_iter().filter(usable).filter(|s| first(*s) > 1).collect();
    let best = candidates.iter().map(|separator| fit(*separator)).max().unwrap_or(0);
    let fitting: Vec<char> = candidates.into_iter().filter(|separator| fit(*separator) == best).collect();
    // An unquoted cell that is not a number and contains another separator is evidence against this separator.
    let is_clean = |separator: &char| {
        let has_other = |cell: &str| fitting.iter().any(|other| other != separator && cell.contains(*other));
        let mut cells = records.iter().flat_map(|record| record.raw(*separator));
        cells.all(|cell| cell.starts_with('"') || !has_other(cell) || is_number(cell))
    };
    let clean: Vec<char> = fitting.iter().copied().filter(is_clean).collect();
    match (&fitting[..], &clean[..]) {
        ([], _) if usable(&BLANKS) && are_blank(records) => Ok(BLANKS),
        ([], _) => Ok(usual.unwrap_or(if is_in_numbers(',') { ';' } else { ',' })),
        ([one], _) | (_, [one]) => Ok(*one),
        (several, _) => match usual.filter(|usual| several.contains(usual)) {
            Some(usual) => Ok(usual),
            None => Err(two_separators(sample, records, several)),
        },
    }
}

/// Whether blanks divide all records into the same number of cells, more than one, and some row contains a number.
fn are_blank(records: &[Record<'_>]) -> bool {
    let Some((first, rows)) = records.split_first() else { return false };
    let count = first.cells(BLANKS).len();
    let is_row = |record: &Record<'_>| {
        let cells = record.cells(BLANKS);
        cells.len() == count && cells.iter().any(|cell| is_number(cell))
    };
    count > 1 && !rows.is_empty() && rows.iter().all(is_row)
}

/// The error that two separators divide all records into equal numbers of cells.
fn two_separators(sample: &str, records: &[Record<'_>], several: &[char]) -> Malformed {
    let Some(record) = records.get(1).or(records.first()) else { return Malformed::new("there is no line") };
    let cut: String = record.text.chars().take(80).collect();
    let fit: Vec<String> = several.iter().map(|separator| words(*separator)).collect();
    let what = format!("the cells may be separated by {}", fit.join(" or by "));
    let why = Malformed::new(what).note(format!("the line is `{}`", rml_base::visible_name(&cut)));
    let why = several.iter().fold(why, |why, separator| {
        let cells = record.cells(*separator).len();
        why.help(format!("`--separator {}` reads {cells} cells in it", shown(*separator)))
    });
    why.in_text(sample, record.at)
}

/// Detects the names of the columns and the comments. Returns whether the first row has the names.
fn names(all: &[Record<'_>], rows: &[Record<'_>], given: &Dialect, known: &mut Known) -> bool {
    let Some(first) = rows.first() else { return false };
    let own = first.cells(known.separator);
    // A column may have the name `#`.
    let is_name = |record: &Record<'_>| {
        let cells = record.cells(known.separator);
        cells.len() == own.len() && cells.len() > 1 && cells[0] == "#"
    };
    if let Some(header) = all.first().filter(|r| given.comment.is_none() && r.is_hashed() && is_name(r)) {
        known.names = Names::From(header.at);
        return false;
    }
    let above: Vec<&Record<'_>> = all.iter().take_while(|record| record.at < first.at).collect();
    let is_comment =
        |record: &Record<'_>| record.is_hashed() && record.cells(known.separator).len() != own.len();
    let has_comments = !above.is_empty() || all.iter().any(is_comment);
    if has_comments && given.comment.is_none() {
        known.comment = Some("#".to_owned());
    }
    if let Some(header) = above.last().filter(|_| given.header != Some(false) && given.comment.is_none())
        && is_header(header, &own, known.separator)
    {
        let names = header.text.trim_start().trim_start_matches('#').trim_start_matches([' ', '\t']);
        known.names = Names::From(header.at + header.text.len() - names.len());
        known.assumed.push("the last line above that begins with `#` names the columns".to_owned());
        return false;
    }
    if has_comments && given.comment.is_none() {
        known.assumed.push("lines that begin with `#` are comments".to_owned());
    }
    let guess = head::guess(rows, known.separator);
    if given.header.unwrap_or(guess != Head::Row) {
        known.names = Names::From(first.at);
        if given.header.is_none() && guess == Head::Numbers {
            known.assumed.push(
                "the first line names the columns, although it has numbers (if it is a row: `--no-header`)"
                    .to_owned(),
            );
        }
        return true;
    }
    known.names = Names::Numbered(own.len());
    if given.header.is_none() {
        let last = own.len().saturating_sub(1);
        let flag = if head::are_integers(&own) { " (if the first line names them: `--header`)" } else { "" };
        known.assumed.push(format!("no line names the columns, which are called `0` to `{last}`{flag}"));
    }
    false
}

/// Whether a line that begins with `#` contains the names of the columns of the row below it.
fn is_header(above: &Record<'_>, row: &[&str], separator: char) -> bool {
    let text = above.text.trim_start().trim_start_matches('#');
    let cells = Record { text, ..*above }.cells(separator);
    let is_sentence = cells.len() == 1 && cells[0].contains(' ');
    cells.len() == row.len() && !is_sentence && row.iter().any(|cell| is_number(cell))
}

/// Detects the notation of numbers.
fn numbers(cells: &[&str], given: &Dialect, known: &mut Known) {
    let reads = |cell: &str, decimal, thousands| {
        plain(cell, decimal, thousands).is_some_and(|text| text.parse::<f64>().is_ok())
    };
    // A mark is certainly a separator of thousands if it occurs twice in a number, or before a decimal mark.
    let is_grouped = |decimal: char, mark: char| {
        let is_certain = |cell: &&&str| cell.contains(decimal) || cell.matches(mark).count() > 1;
        let mut marked = cells.iter().filter(|cell| cell.contains(mark)).filter(is_certain);
        marked.any(|cell| reads(cell, decimal, Some(mark)))
    };
    let has = |mark: char, is_so: &dyn Fn(&str) -> bool| {
        cells.iter().any(|cell| cell.contains(mark) && is_so(cell))
    };
    let (by_comma, by_point) = (is_grouped('.', ','), is_grouped(',', '.'));
    // Digits after a mark are a fraction unless there are exactly three of them after one to three others.
    let is_fraction = |cell: &str, mark: char, other: char| {
        let starts_with_zero = cell.trim_start_matches(['-', '+']).starts_with('0');
        reads(cell, mark, None) && (starts_with_zero || !reads(cell, other, Some(mark)))
    };
    let comma_fraction = has(',', &|cell| is_fraction(cell, ',', '.'));
    let point_fraction = has('.', &|cell| is_fraction(cell, '.', ','));
    let comma_after_groups = by_point && has(',', &|cell| reads(cell, ',', Some('.')));
    let is_comma = !by_comma && !point_fraction && (comma_fraction || comma_after_groups);
    let found = match given.thousands {
        Some('.') => ',',
        Some(',') => '.',
        _ if is_comma => ',',
        _ => '.',
    };
    known.decimal = given.decimal.unwrap_or(found);
    if given.decimal.is_none() && known.decimal == ',' {
        known.assumed.push("numbers have a decimal comma".to_owned());
    }
    // One mark is before fractions, and the other one only before three digits: those are thousands.
    let (mark, certain) = if known.decimal == ',' {
        let beside = comma_fraction && !point_fraction && has('.', &|cell| reads(cell, ',', Some('.')));
        ('.', by_point || beside)
    } else {
        let beside = point_fraction && has(',', &|cell| reads(cell, '.', Some(',')));
        (',', (by_comma || beside) && !comma_fraction)
    };
    if given.thousands.is_none() && certain {
        known.thousands = Some(mark);
        known.assumed.push(format!("`{mark}` separates thousands"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Known {
        find(text, &Dialect::default(), None).map_err(|why| why.what()).unwrap()
    }

    #[test]
    fn separators_are_found() {
        for (text, expected) in [
            ("a,b\n1,2\n", ','),
            ("a;b\n1,5;2,5\n", ';'),
            ("a\tb\n1\t2\n", '\t'),
            ("a|b\n1|2\n", '|'),
            ("1,5;2,5\n3,5;4,5\n", ';'),
            ("a,\"b;c\"\n1,\"2;3\"\n", ','),
            ("day,note\n1,a;b\n2,c\n", ','),
            ("x\n1\n", ','),
            ("a;b\n1;2\n3\n4;5\n", ';'),
            ("a  b c\n 1 2   3\n4\t5 6 \n", ' '),
            ("my label\nbig cat\n", ','),
            ("first last\n1 2\n3\n", ','),
            ("", ','),
        ] {
            assert_eq!(of(text).separator, expected, "{text:?}");
        }
    }

    #[test]
    fn two_separators_are_an_error_with_both_flags() {
        let why = find("a,b;c\n1,x;y\n", &Dialect::default(), None).unwrap_err();
        assert_eq!(why.what(), "line 2, column 1: the cells may be separated by `,` or by `;`");
        let shown = why.at("f").help.join(" ");
        assert!(shown.contains("`--separator ,`") && shown.contains("`--separator ';'`"), "{shown}");
        assert_eq!(find("a,b;c\n1,x;y\n", &Dialect::default(), Some(';')).unwrap().separator, ';');
    }

    #[test]
    fn decimal_commas_and_thousands_are_told_apart() {
        for (cells, decimal, thousands) in [
            ("1,5;2", ',', None),
            ("1,234;2", '.', None),
            ("1,234;1,5", ',', None),
            ("0,234;1", ',', None),
            ("1,234,567;2", '.', Some(',')),
            ("1,234.5;2", '.', Some(',')),
            ("1.234,5;2", ',', Some('.')),
            ("1.234.567;2,5", ',', Some('.')),
            ("1,5;2.5", '.', None),
            // A point before three digits, beside decimal commas, and the other way round.
            ("1.411;0,511", ',', Some('.')),
            ("12.411;-3,5", ',', Some('.')),
            ("1,411;0.511", '.', Some(',')),
            ("0.411;0,511", '.', None),
            ("1.411;2,511", '.', None),
            ("1.411;2", '.', None),
            ("01.02.2020;3,5", ',', None),
        ] {
            let known = of(&format!("a;b\n{cells}\n"));
            assert_eq!((known.decimal, known.thousands), (decimal, thousands), "{cells}");
        }
    }

    #[test]
    fn names_are_found() {
        for (text, names, comment) in [
            ("a,b\n1,2\n", Names::From(0), false),
            ("\n# by hand\na,b\n1,2\n", Names::From(11), true),
            ("# a,b\n1,2\n", Names::From(2), true),
            ("# by hand\n# a,b\n1,2\n", Names::From(12), true),
            ("# by hand\n1,2\n", Names::Numbered(2), true),
            ("1,2\n3,4\n", Names::Numbered(2), false),
            ("5.1,3.5,setosa\n4.9,3.0,setosa\n", Names::Numbered(3), false),
            ("land,1990\nA,1\n", Names::From(0), false),
            ("a,b\n1,2\n# half\n3,4\n", Names::From(0), true),
            ("colour,b\n#ff0000,2\n", Names::From(0), false),
            ("#,b\n1,2\n", Names::From(0), false),
            ("# a b\n1 2\n3 4\n", Names::From(2), true),
            // An array in pandas, with and without the numbers of its rows.
            (",0,1\n0,0.5,1\n1,0.25,2\n", Names::From(0), false),
            ("0,1,2\n5,0,7\n1,8,3\n", Names::From(0), false),
            ("0,1\n0.5,0.25\n1.0,0.125\n", Names::From(0), false),
        ] {
            let known = of(text);
            assert_eq!((known.names, known.comment.is_some()), (names, comment), "{text:?}");
        }
    }

    #[test]
    fn what_is_said_is_not_guessed() {
        let given = Dialect { header: Some(true), decimal: Some(','), ..Dialect::default() };
        let known = find("1;2\n1,234;5\n", &given, None).unwrap();
        assert_eq!((known.separator, known.decimal, known.names), (';', ',', Names::From(0)));
        let given = Dialect { comment: Some("%".to_owned()), ..Dialect::default() };
        assert_eq!(find("% x\na,b\n1,2\n", &given, None).unwrap().names, Names::From(4));
        let given = Dialect { decimal: Some(','), ..Dialect::default() };
        assert_eq!(find("1,5\n2,5\n", &given, None).unwrap().names, Names::Numbered(1));
        assert_eq!(find("\"1,5\",\"2,5\"\n", &given, None).unwrap().names, Names::Numbered(2));
    }
}
