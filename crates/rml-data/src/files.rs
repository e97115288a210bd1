//! The files whose rows a table has, one after the other.

use std::ops::Range;

use rml_base::visible_name;

/// The most files that messages name.
const NAMED: usize = 3;

/// The name of each file, and the number of the row after its last one. Empty for a table of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(Vec<(String, usize)>);

impl Files {
    /// Adds a file after the table that messages call `first`, which has `rows` rows.
    pub(crate) fn add(&mut self, (first, rows): (&str, usize), (name, added): (&str, usize)) {
        if self.0.is_empty() {
            self.0.push((first.to_owned(), rows));
        }
        let start = self.0.last().map_or(0, |(_, end)| *end);
        self.0.push((name.to_owned(), start + added));
    }

    /// The names of the files, for messages.
    pub(crate) fn called(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        match names.len() {
            0..=NAMED => names.join(", "),
            all => format!("{} and {} other files", names[..NAMED - 1].join(", "), all - (NAMED - 1)),
        }
    }

    /// The number of files; 1 for a table of one file.
    pub(crate) fn count(&self) -> usize {
        self.0.len().max(1)
    }

    /// The number of the file that has a row.
    pub(crate) fn of(&self, row: usize) -> usize {
        self.0.partition_point(|(_, end)| *end <= row)
    }

    /// The rows of each file, in a table of that many rows.
    pub(crate) fn rows(&self, all: usize) -> Vec<Range<usize>> {
        let mut start = 0;
        let mut rows: Vec<Range<usize>> = Vec::new();
        for (_, end) in &self.0 {
            rows.push(start..(*end).min(all));
            start = (*end).min(all);
        }
        if rows.is_empty() {
            rows.push(0..all);
        }
        rows
    }

    /// A row in messages: its number in its file, and the file; `whole` is the name of a table of one file.
    pub(crate) fn place(&self, row: usize, whole: &str) -> String {
        let file = self.of(row);
        match self.0.get(file) {
            Some((name, _)) => {
                let start = file.checked_sub(1).map_or(0, |before| self.0[before].1);
                format!("row {} of {}", row - start, visible_name(name))
            }
            None => format!("row {row} of {whole}"),
        }
    }

    /// The name of a file.
    pub(crate) fn name(&self, file: usize) -> Option<&str> {
        self.0.get(file).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_their_files() {
        let mut files = Files::default();
        let one = (files.place(7, "a"), files.rows(9).len(), files.rows(9)[0].clone());
        assert_eq!(one, ("row 7 of a".to_owned(), 1, 0..9));
        files.add(("a", 3), ("b", 2));
        files.add(("a, b", 5), ("c", 4));
        assert_eq!((files.called(), files.count()), ("a, b, c".to_owned(), 3));
        assert_eq!(files.rows(9), [0..3, 3..5, 5..9]);
        let places = [2, 3, 8].map(|row| files.place(row, ""));
        assert_eq!(places, ["row 2 of a", "row 0 of b", "row 3 of c"]);
        files.add(("a, b, c", 9), ("d", 1));
        assert_eq!(files.called(), "a, b and 2 other files");
    }
}
