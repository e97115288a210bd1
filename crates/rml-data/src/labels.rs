//! Columns of texts that name classes. Such a column holds numbers, and its table has the text of each number, in the
//! order in which they were first read. What class a text is depends on the training, so it is said when the column is
//! bound to its input.

use indexmap::IndexSet;
use rml_base::codes::run as codes;
use rml_base::memory::Reservation;
use rml_base::{Diagnostic, suggest, visible_name};
use rml_ir::InputInfo;

use crate::columns::{Columns, Elements};
use crate::malformed::Wrong;
use crate::on_disk::Dataset;

/// That many known classes are named where one is not known.
const NAMED: usize = 20;

/// Which texts a column takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Texts {
    /// None.
    #[default]
    Refused,
    /// Names of classes, unless numbers are classes in this column.
    Names,
    /// Names of classes, however they look: `1` and `true` are names, too.
    All,
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

/// Adds the texts of another column to those of this one. Returns the number that each of them has here.
pub(crate) fn merged(ours: &mut Vec<String>, theirs: &[String]) -> Vec<i64> {
    let mut all: IndexSet<String> = std::mem::take(ours).into_iter().collect();
    let number = |name: &String| i64::try_from(all.insert_full(name.clone()).0).unwrap_or(i64::MAX);
    let numbers = theirs.iter().map(number).collect();
    *ours = all.into_iter().collect();
    numbers
}

/// Gives elements other numbers.
pub(crate) fn renumber(elements: &mut Elements, numbers: &[i64]) {
    let Elements::Int(v) = elements else { return };
    for x in v {
        let to = usize::try_from(*x).ok().and_then(|at| numbers.get(at));
        *x = to.copied().unwrap_or(*x);
    }
}

impl Columns {
    /// The texts that the numbers of a column stand for, if it holds texts.
    pub fn names(&self, column: &str) -> Option<&[String]> {
        self.names.get(column).map(Vec::as_slice)
    }

    /// Gives the texts of another table the numbers that they have here. Returns the numbers by column.
    pub(crate) fn number_as_here(&mut self, other: &mut Self) -> Vec<(String, Vec<i64>)> {
        let mut all = Vec::new();
        for (column, theirs) in other.names.iter_mut() {
            let ours = self.names.entry(column.clone()).or_default();
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

/// The classes of an input.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Classes {
    /// Their names, in the order of their numbers.
    pub(crate) names: Vec<String>,
    /// The class of each number of the column, if it holds texts.
    pub(crate) numbers: Option<Vec<i64>>,
}

/// The classes of an input: the cases of its enumeration, or those that are known, or else the texts of its column in
/// their order. An input has none if its column holds no texts and no names are known.
///
/// # Errors
/// A text that is no known class.
pub(crate) fn classes(
    data: &dyn Dataset,
    input: &InputInfo,
    known: Option<&[String]>,
) -> Result<Option<Classes>, Diagnostic> {
    let table = data.table();
    let known = table.cases.get(&*input.name).map(Vec::as_slice).or(known);
    let classes = match (table.names(&input.name), known) {
        (None, None) => return Ok(None),
        (None, Some(known)) => return Ok(Some(Classes { names: known.to_vec(), numbers: None })),
        (Some(_), Some(known)) => known.to_vec(),
        (Some(names), None) => {
            let mut sorted = names.to_vec();
            sorted.sort();
            sorted
        }
    };
    let names = table.names(&input.name).unwrap_or_default();
    let all: IndexSet<&str> = classes.iter().map(String::as_str).collect();
    let number = |name: &String| all.get_index_of(name.as_str()).and_then(|class| i64::try_from(class).ok());
    let numbers: Vec<Option<i64>> = names.iter().map(number).collect();
    if let Some(unknown) = numbers.iter().position(Option::is_none) {
        let row = first_row(data, &input.name, unknown)?;
        return Err(unknown_label(&input.name, row, table.called(), &names[unknown], &classes));
    }
    Ok(Some(Classes { names: classes, numbers: Some(numbers.into_iter().flatten().collect()) }))
}

/// Whether a class is called as other values look, so that every cell of a column is a text.
pub(crate) fn look_like_values(classes: &[String]) -> bool {
    let is_value = |name: &String| name.parse::<f64>().is_ok() || matches!(&**name, "true" | "false");
    classes.iter().any(is_value)
}

/// The first row of a column that has a number.
fn first_row(data: &dyn Dataset, name: &str, number: usize) -> Result<Option<usize>, Diagnostic> {
    let (mut found, mut before) = (None, 0);
    data.for_each(name, &mut |elements| {
        if let (None, Elements::Int(v)) = (found, elements) {
            let at = v.iter().position(|x| usize::try_from(*x) == Ok(number));
            found = at.map(|at| before + at);
        }
        before += elements.len();
    })?;
    let table = data.table();
    let (Some(at), Some(column)) = (found, table.columns.get(name)) else { return Ok(None) };
    if let Some(lengths) = table.lengths(name) {
        let mut end = 0;
        return Ok(lengths.iter().position(|length| {
            end += length;
            at < end
        }));
    }
    let per_row = (before / column.present_rows().max(1)).max(1);
    let row = at / per_row;
    Ok(Some(column.present.as_ref().map_or(row, |rows| rows[row])))
}

/// A text of a column names no class.
fn unknown_label(
    input: &str,
    row: Option<usize>,
    origin: &str,
    label: &str,
    classes: &[String],
) -> Diagnostic {
    let row = row.map_or(String::new(), |row| format!(", row {row}"));
    let mut d = unknown_value(input, label, classes);
    d.message = format!("column `{input}`{row} of {origin}: `{}` is no known class", visible_name(label));
    d
}

/// A value of an input names no class.
pub(crate) fn unknown_value(input: &str, label: &str, classes: &[String]) -> Diagnostic {
    let what = format!("input `{input}`: `{}` is no known class", visible_name(label));
    let d = Diagnostic::error(codes::UNKNOWN_CLASS, what).note(format!("known are {}", listed(classes)));
    match suggest(label, classes.iter().map(String::as_str)) {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d.help("leave its rows out, or train with it: `--classes` names all classes of an input"),
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
