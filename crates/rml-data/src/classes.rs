//! The classes of an input: the names of its values, if they have names, and the classes of the texts in its column.

use indexmap::IndexSet;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, visible_name};
use rml_ir::InputInfo;

use crate::builder::whole;
use crate::columns::{ABSENT, Elements};
use crate::labels::{unclear, unknown_value};
use crate::on_disk::Dataset;

/// The classes of an input.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Classes {
    /// Their names, in the order of their numbers.
    pub(crate) names: Vec<String>,
    /// The class of each number of the column, if it contains texts.
    pub(crate) numbers: Option<Vec<i64>>,
}

/// The classes of an input: the cases of its enumeration, or the known classes, or else the texts of its column, in the
/// order of the file if it lists them, sorted otherwise. An input has no classes if its column contains no texts and no
/// names are known.
///
/// # Errors
/// A text that is not a known class.
pub(crate) fn classes(
    data: &dyn Dataset,
    input: &InputInfo,
    known: Option<&[String]>,
) -> Result<Option<Classes>, Diagnostic> {
    let table = data.table();
    let known = table.cases.get(&*input.name).map(Vec::as_slice).or(known);
    let classes = match (table.names(&input.name), known) {
        (None, None) => return Ok(None),
        (None, Some(known)) => {
            only_numbers(data, &input.name, known)?;
            if table.cases.contains_key(&*input.name) {
                only_cases(data, &input.name, known)?;
            }
            return Ok(Some(Classes { names: known.to_vec(), numbers: None }));
        }
        (Some(_), Some(known)) => known.to_vec(),
        (Some(names), None) => {
            let mut classes = names.to_vec();
            if !table.listed.contains(&*input.name) {
                classes.sort();
            }
            classes
        }
    };
    let names = table.names(&input.name).unwrap_or_default();
    let all: IndexSet<&str> = classes.iter().map(String::as_str).collect();
    let number = |name: &String| all.get_index_of(name.as_str()).and_then(|class| i64::try_from(class).ok());
    let numbers: Vec<Option<i64>> = names.iter().map(number).collect();
    for unknown in (0..names.len()).filter(|at| numbers[*at].is_none()) {
        let row = first_row(data, &input.name, |x| usize::try_from(x) == Ok(unknown))?;
        // A file may list texts that do not occur.
        if row.is_some() || !table.listed.contains(&*input.name) {
            let place = row.map_or_else(|| table.called().to_owned(), |row| table.place(row));
            return Err(unknown_label((&input.name, row.is_some()), &place, &names[unknown], &classes));
        }
    }
    let numbers = numbers.into_iter().map(|number| number.unwrap_or(ABSENT)).collect();
    Ok(Some(Classes { names: classes, numbers: Some(numbers) }))
}

/// Refuses values that could be meant as names or as the numbers of classes.
fn only_numbers(data: &dyn Dataset, name: &str, classes: &[String]) -> Result<(), Diagnostic> {
    let mut other = None;
    data.for_each(name, &mut |elements| other = other.take().or_else(|| unclear(elements, classes)))?;
    match other {
        Some(other) => Err(unknown_label((name, false), data.table().called(), &other, classes)),
        None => Ok(()),
    }
}

/// The first element that is such an integer, after its place. NaN is the integer of an absent element.
fn integer(elements: &Elements, is_it: impl Fn(i64) -> bool) -> Option<(usize, i64)> {
    fn find<T: Copy>(v: &[T], of: impl Fn(T) -> i64, is_it: impl Fn(i64) -> bool) -> Option<(usize, i64)> {
        v.iter().map(|x| of(*x)).enumerate().find(|(_, i)| is_it(*i))
    }
    let number = |x: f64| whole(x).unwrap_or(ABSENT);
    match elements {
        Elements::Bool(v) => find(v, i64::from, is_it),
        Elements::Int(v) => find(v, |i| i, is_it),
        Elements::F32(v) => find(v, |x| number(f64::from(x)), is_it),
        Elements::F64(v) => find(v, number, is_it),
    }
}

/// Refuses a number that is not a case of the enumeration of an input.
fn only_cases(data: &dyn Dataset, name: &str, cases: &[String]) -> Result<(), Diagnostic> {
    let is_case = |x: i64| x == ABSENT || usize::try_from(x).is_ok_and(|x| x < cases.len());
    let mut other = None;
    data.for_each(name, &mut |elements| {
        other = other.or_else(|| integer(elements, |x| !is_case(x)).map(|(_, x)| x));
    })?;
    let Some(other) = other else { return Ok(()) };
    let table = data.table();
    let place = match first_row(data, name, |x| x == other)? {
        Some(row) => format!(", {}", table.place(row)),
        None => format!(" of {}", table.called()),
    };
    let numbered: Vec<String> = cases.iter().enumerate().map(|(i, case)| format!("{case} = {i}")).collect();
    let what = format!("column `{name}`{place}: {other} is no case");
    Err(Diagnostic::error(codes::UNKNOWN_CLASS, what)
        .note(format!("the cases of input `{name}` are {}", numbered.join(", ")))
        .help("write the names of the cases, or their numbers"))
}

/// The first row in which a column has a certain number.
fn first_row(
    data: &dyn Dataset,
    name: &str,
    is_it: impl Fn(i64) -> bool,
) -> Result<Option<usize>, Diagnostic> {
    let (mut found, mut before) = (None, 0);
    data.for_each(name, &mut |elements| {
        found = found.or_else(|| integer(elements, &is_it).map(|(at, _)| before + at));
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

/// The error that a text of a column is not the name of a class.
fn unknown_label((input, in_row): (&str, bool), place: &str, label: &str, classes: &[String]) -> Diagnostic {
    let joint = if in_row { "," } else { " of" };
    let d = unknown_value(input, label, classes);
    let message = format!("column `{input}`{joint} {place}: `{}` is no known class", visible_name(label));
    Diagnostic { message, ..d }
}
