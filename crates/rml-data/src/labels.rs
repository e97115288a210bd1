//! Columns of texts that name classes. Such a column contains numbers, and its table has the text of each number; texts
//! are numbered in the order in which they are first read. The class of a text depends on the training, so it is
//! determined when the column is bound to its input.

use std::sync::Arc;

use indexmap::IndexSet;
use rml_base::codes::run as codes;
use rml_base::memory::Reservation;
use rml_base::{Diagnostic, suggest, visible_name};

use crate::columns::{Columns, Elements};
use crate::malformed::Wrong;
use crate::text;

/// The most known classes that a message about an unknown one lists.
const NAMED: usize = 20;

/// The texts that a column accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Texts {
    /// No texts.
    #[default]
    Refused,
    /// Names of classes, except texts that are numbers.
    Names,
    /// Names of classes of any form: `1` and `true` are names, too.
    All,
    /// Dates, as texts or numbers. They become seconds.
    Dates,
    /// Times: dates become seconds, and numbers of any unit are kept.
    Times,
}

impl Texts {
    /// Whether texts are names of classes.
    pub(crate) fn are_names(self) -> bool {
        match self {
            Self::Names | Self::All => true,
            Self::Refused | Self::Dates | Self::Times => false,
        }
    }
}

/// The numbers of texts.
#[derive(Debug, Default)]
pub(crate) struct Numbered(IndexSet<String>);

impl Numbered {
    /// The number of a text.
    pub(crate) fn number(&mut self, text: &str, memory: &mut Reservation) -> Result<i64, Wrong> {
        let at = match self.0.get_index_of(text) {
            Some(at) => at,
            None => {
                memory.grow((text.len() + 2 * size_of::<String>()) as u64)?;
                self.0.insert_full(text.to_owned()).0
            }
        };
        Ok(i64::try_from(at).unwrap_or(i64::MAX))
    }

    pub(crate) fn names(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}

/// Merges the texts of another column into those of this one. Returns the number of each of its texts in this one.
pub(crate) fn merged(ours: &mut Vec<String>, theirs: &[String]) -> Vec<i64> {
    let mut all: IndexSet<String> = std::mem::take(ours).into_iter().collect();
    let number = |name: &String| i64::try_from(all.insert_full(name.clone()).0).unwrap_or(i64::MAX);
    let numbers = theirs.iter().map(number).collect();
    *ours = all.into_iter().collect();
    numbers
}

/// Renumbers elements.
pub(crate) fn renumber(elements: &mut Elements, numbers: &[i64]) {
    let Elements::Int(v) = elements else { return };
    for x in v {
        let to = usize::try_from(*x).ok().and_then(|at| numbers.get(at));
        *x = to.copied().unwrap_or(*x);
    }
}

impl Columns {
    /// The texts of the numbers of a column, if it contains texts.
    pub fn names(&self, column: &str) -> Option<&[String]> {
        self.names.get(column).map(Vec::as_slice)
    }

    /// Names the integers of a column in the order of their numbers, as its file does.
    pub(crate) fn label(&mut self, column: &str, names: &[String]) {
        if let Some(Elements::Int(_)) = self.columns.get(column).map(|column| &column.elements) {
            self.names.insert(column.to_owned(), names.to_vec());
            self.listed.insert(column.to_owned());
        }
    }

    /// The same, in the form for printing values.
    pub(crate) fn shared_names(&self, column: &str) -> Option<Vec<Arc<str>>> {
        Some(self.names(column)?.iter().map(|name| Arc::from(name.as_str())).collect())
    }

    /// Renumbers the texts of another table to the numbers in this one. Returns the new numbers by column.
    pub(crate) fn number_as_here(&mut self, other: &mut Self) -> Vec<(String, Vec<i64>)> {
        let mut all = Vec::new();
        for (column, theirs) in other.names.iter_mut() {
            let ours = self.names.entry(column.clone()).or_default();
            if ours.is_empty() && other.listed.contains(column) {
                self.listed.insert(column.clone());
            }
            let numbers = merged(ours, theirs);
            theirs.clone_from(ours);
            if let Some(column) = other.columns.get_mut(column) {
                renumber(&mut column.elements, &numbers);
            }
            all.push((column.clone(), numbers));
        }
        all
    }
}

/// Whether the name of a class looks like another value, so that every cell of its column is a text.
pub(crate) fn look_like_values(classes: &[String]) -> bool {
    let is_value = |name: &String| name.parse::<f64>().is_ok() || matches!(&**name, "true" | "false");
    classes.iter().any(is_value)
}

/// The error that a value of an input is not the name of a class.
pub(crate) fn unknown_value(input: &str, label: &str, classes: &[String]) -> Diagnostic {
    let what = format!("input `{input}`: `{}` is no known class", visible_name(label));
    let d = Diagnostic::error(codes::UNKNOWN_CLASS, what).note(format!("known are {}", listed(classes)));
    match suggest(label, classes.iter().map(String::as_str)) {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d.help("correct the data; or add the class: by `--classes` in a training, or as a case of the enumeration"),
    }
}

/// The names of classes, for messages.
pub(crate) fn listed(classes: &[String]) -> String {
    let named: Vec<String> =
        classes.iter().take(NAMED).map(|name| format!("`{}`", visible_name(name))).collect();
    match classes.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A value of a column that could be meant as a name or as the number of a class, although it is neither: a truth
/// value, or a number with a point beside classes that look like numbers.
pub(crate) fn unclear(elements: &Elements, classes: &[String]) -> Option<String> {
    match elements {
        Elements::Bool(v) => v.first().map(ToString::to_string),
        Elements::F32(v) if look_like_values(classes) => v.first().map(|x| text::number(f64::from(*x), x)),
        Elements::F64(v) if look_like_values(classes) => v.first().map(|x| text::number(*x, x)),
        Elements::Int(_) | Elements::F32(_) | Elements::F64(_) => None,
    }
}
