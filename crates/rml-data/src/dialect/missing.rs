//! The cells of a table in text that have no value.

use std::borrow::Cow;
use std::cell::Cell;

/// The cells without a value unless the user says otherwise. The empty cell never has a value.
pub(super) const USUAL: [&str; 13] =
    ["NA", "N/A", "#N/A", "n/a", "<NA>", "null", "NULL", "Null", "None", "none", "?", "-", "--"];

/// Which cells have no value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Missing {
    /// Whether [`USUAL`] cells have no value.
    has_usual: bool,
    /// The texts that the user gives.
    words: Vec<Word>,
}

/// A text that means a missing value.
#[derive(Clone, PartialEq, Debug)]
struct Word {
    text: String,
    /// The number that it is, if it is one.
    number: Option<f64>,
    /// Whether a cell was this text.
    is_found: Cell<bool>,
}

impl Default for Missing {
    fn default() -> Self {
        Self { has_usual: true, words: Vec::new() }
    }
}

impl Missing {
    /// The usual cells and these texts; with an empty text among them, these texts alone. `plain` brings a number to
    /// the usual notation.
    pub(super) fn new<'t>(words: &'t [String], plain: impl Fn(&'t str) -> Option<Cow<'t, str>>) -> Self {
        let word = |text: &'t String| {
            let number = plain(text).and_then(|text| text.parse().ok()).or_else(|| text.parse().ok());
            Word { text: text.clone(), number, is_found: Cell::new(false) }
        };
        let has_usual = !words.iter().any(String::is_empty);
        Self { has_usual, words: words.iter().filter(|text| !text.is_empty()).map(word).collect() }
    }

    /// Whether the usual cells have no value.
    pub(super) fn has_usual(&self) -> bool {
        self.has_usual
    }

    /// Whether a cell has no value.
    pub(super) fn has<'t>(&self, cell: &'t str, plain: impl Fn(&'t str) -> Option<Cow<'t, str>>) -> bool {
        let may_be_number =
            cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | ','));
        let number = || plain(cell).and_then(|text| text.parse::<f64>().ok());
        let is_it = |word: &&Word| {
            word.text == cell || may_be_number && word.number.is_some() && word.number == number()
        };
        if let Some(word) = self.words.iter().find(is_it) {
            word.is_found.set(true);
            return true;
        }
        cell.is_empty() || self.has_usual && USUAL.contains(&cell)
    }

    /// The texts of the user that no cell so far was.
    pub(crate) fn unfound(&self) -> Vec<String> {
        self.words.iter().filter(|word| !word.is_found.get()).map(|word| word.text.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::plain;

    #[test]
    fn texts_are_added_to_the_usual_ones_and_numbers_compare_by_value() {
        let missing = |words: &[&str], decimal| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let missing = Missing::new(&words, |text| plain(text, decimal, None));
            let has = |cell: &str| missing.has(cell, |text| plain(text, decimal, None));
            let cells = ["", "NA", "-999", "-999.0", "-999,0", "-9.99e2", "999", "-999 m", "nan"];
            (
                cells.map(has).map(|has| if has { '1' } else { '0' }).iter().collect::<String>(),
                missing.unfound(),
            )
        };
        assert_eq!(missing(&[], '.'), ("110000000".to_owned(), vec![]));
        assert_eq!(missing(&["-999", "x"], '.'), ("111101000".to_owned(), vec!["x".to_owned()]));
        assert_eq!(missing(&["-999.0"], ','), ("111110000".to_owned(), vec![]));
        assert_eq!(missing(&["", "nan"], '.'), ("100000001".to_owned(), vec![]));
    }
}
