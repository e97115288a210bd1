//! The columns of a file, whether inputs use them or not.

use rml_ir::InputInfo;

use crate::columns::{Columns, Elements, Header, LENGTHS};
use crate::parts::Part;

impl Header {
    /// A header with these names, of columns with numbers or without.
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, bool)>) -> Self {
        Self(columns.into_iter().filter(|(name, _)| !name.is_empty()).collect())
    }

    /// The header of a table whose columns have the names of the file.
    pub(crate) fn of(table: &Columns) -> Self {
        let has_numbers = |name: &String| {
            let column = table.columns.get(name).filter(|column| column.shape.rank() == 1);
            let is_number = |elements: &Elements| !matches!(elements, Elements::Bool(_));
            column.is_some_and(|column| is_number(&column.elements)) && table.names(name).is_none()
        };
        let names = table.columns.keys().chain(table.unusable.keys());
        Self::new(names.map(|name| (name.clone(), has_numbers(name))))
    }
}

impl Columns {
    /// The names of the file's columns.
    pub(crate) fn header(&self) -> Vec<String> {
        self.known_header().0.into_iter().map(|(name, _)| name).collect()
    }

    /// The columns with numbers that feed no input, by a name of its own or another one.
    pub(crate) fn free_numbers(&self, inputs: &[InputInfo]) -> Vec<String> {
        let is_input = |name: &str| {
            let element = name.split_once('[').map_or(name, |(name, _)| name);
            name == LENGTHS || inputs.iter().any(|input| *input.name == *element)
        };
        let feeds =
            |name: &String| self.resolved.values().flatten().any(|part| part.names().any(|of| of == name));
        let free = self
            .known_header()
            .0
            .into_iter()
            .filter(|(name, has_numbers)| *has_numbers && !is_input(name) && !feeds(name));
        free.map(|(name, _)| name).collect()
    }

    /// A column that feeds an input and another one, and the other input.
    pub fn shared<'c>(&'c self, input: &'c str) -> Option<(&'c str, &'c str)> {
        let of = |name: &str| self.resolved.get(name).map(|parts| columns(parts));
        let own = of(input).unwrap_or_else(|| vec![input]);
        let others = self.resolved.iter().filter(|(other, _)| *other != input);
        others.map(|(other, parts)| (other, columns(parts))).find_map(|(other, of)| {
            Some((own.iter().copied().find(|name| of.contains(name))?, other.as_str()))
        })
    }

    fn known_header(&self) -> Header {
        if self.header.0.is_empty() { Header::of(self) } else { (*self.header).clone() }
    }
}

/// The columns whose values themselves are read.
fn columns(parts: &[Part]) -> Vec<&str> {
    let whole = parts.iter().filter(|part| part.is_column() && part.aspect().is_none());
    whole.flat_map(Part::names).map(String::as_str).collect()
}
