//! The columns of an input, in the notation of the user.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use rml_base::visible_name;
use serde::{Deserialize, Serialize};

use crate::dates::Aspect;
use crate::malformed::Malformed;

/// One or more columns of an input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Part {
    One(String),
    /// From one column to another, both included, in the order of the file.
    Range(String, String),
    /// A property of the dates of a column: `hour(date)`.
    Date(Aspect, String),
    /// Whether an input has a value: `present(y)`. It has no other parts beside it.
    Present(String),
}

impl Part {
    /// The columns that it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        let (first, last) = match self {
            Part::One(name) | Part::Date(_, name) => (Some(name), None),
            Part::Range(first, last) => (Some(first), Some(last)),
            Part::Present(_) => (None, None),
        };
        first.into_iter().chain(last)
    }

    /// The notation of the part.
    pub(crate) fn shown(&self) -> String {
        match self {
            Part::One(name) => format!("`{}`", visible_name(name)),
            Part::Range(first, last) => format!("`{}..{}`", visible_name(first), visible_name(last)),
            Part::Date(aspect, name) => format!("`{}({})`", aspect.name(), visible_name(name)),
            Part::Present(input) => format!("`{PRESENT}({})`", visible_name(input)),
        }
    }

    /// The property that is read of dates, if any.
    pub(crate) fn aspect(&self) -> Option<Aspect> {
        match self {
            Part::Date(aspect, _) => Some(*aspect),
            Part::One(_) | Part::Range(_, _) | Part::Present(_) => None,
        }
    }

    /// Whether it is a single column, given by its name.
    pub(crate) fn is_column(&self) -> bool {
        match self {
            Part::One(_) | Part::Date(_, _) => true,
            Part::Range(_, _) | Part::Present(_) => false,
        }
    }

    /// The places of its columns, all of which exist.
    pub(crate) fn places(
        &self,
        input: &str,
        places: impl Fn(&str) -> Vec<usize>,
    ) -> Result<Vec<usize>, Malformed> {
        let (first, last) = match self {
            Part::One(name) | Part::Date(_, name) => return Ok(places(name)),
            Part::Range(first, last) => (first, last),
            Part::Present(_) => return Ok(Vec::new()),
        };
        let ends = (places(first).first().copied(), places(last).first().copied());
        match ends {
            (Some(from), Some(to)) if from <= to => Ok((from..=to).collect()),
            _ => {
                let what =
                    format!("column `{}` comes before column `{}`", visible_name(last), visible_name(first));
                Err(Malformed::lacking(what)
                    .note("a range goes from a column to a later one of the file")
                    .help(format!(
                        "the columns in the order of this file are `--columns '{input}={last}..{first}'`"
                    ))
                    .help(format!(
                        "for another order, name each of them: `--columns '{input}={first},..,{last}'`"
                    )))
            }
        }
    }
}

/// The names of a header: the first place of each, and the number of columns with this name.
pub(crate) struct Counts<'n>(IndexMap<&'n str, (usize, usize)>);

/// Counts the names of a header.
pub(crate) fn counts<'n>(names: &[&'n str]) -> Counts<'n> {
    let mut counts = IndexMap::new();
    for (place, name) in names.iter().enumerate() {
        counts.entry(*name).or_insert((place, 0)).1 += 1;
    }
    Counts(counts)
}

impl Counts<'_> {
    /// The first column of a name.
    pub(crate) fn first(&self, name: &str) -> Option<usize> {
        self.0.get(name).map(|(place, _)| *place)
    }

    /// Whether the column at this place is the only one with its name.
    pub(crate) fn is_one(&self, names: &[&str], place: usize) -> bool {
        names.get(place).and_then(|name| self.0.get(name)).is_some_and(|(_, count)| *count == 1)
    }
}

/// The columns that feed inputs in a table.
pub(crate) type Named = BTreeMap<String, Vec<Part>>;

/// The inputs that have other columns in another table, with both lists of columns.
pub(crate) fn differing(these: &Named, others: &Named) -> Vec<(String, String, String)> {
    let shown = |parts: &[Part]| parts.iter().map(Part::shown).collect::<Vec<_>>().join(", ");
    let both = |(input, ours)| Some((input, ours, others.get(input)?));
    let differ = these.iter().filter_map(both).filter(|(_, ours, theirs)| ours != theirs);
    differ.map(|(input, ours, theirs)| (String::clone(input), shown(ours), shown(theirs))).collect()
}

/// The names of a list; `None` if it is not a list of names.
pub(crate) fn names(list: &str) -> Option<Vec<String>> {
    let one = |part| match part {
        Part::One(name) => Some(name),
        Part::Range(_, _) | Part::Date(_, _) | Part::Present(_) => None,
    };
    parts(list)?.into_iter().map(one).collect()
}

/// The word for whether an input has a value.
pub(crate) const PRESENT: &str = "present";

/// The parts of a list; `None` if it is not a list.
pub(crate) fn parts(list: &str) -> Option<Vec<Part>> {
    let is_alone = |all: &Vec<Part>| all.len() == 1 || !all.iter().any(|p| matches!(p, Part::Present(_)));
    listed(list).filter(is_alone)
}

fn listed(list: &str) -> Option<Vec<Part>> {
    let mut rest = list.trim();
    let mut parts = Vec::new();
    loop {
        if let Some((part, after)) = date(rest) {
            parts.push(part);
            match after.strip_prefix(',') {
                Some(after) => rest = after.trim_start(),
                None => return after.is_empty().then_some(parts),
            }
            continue;
        }
        let (first, after) = name(rest)?;
        if let Some(after) = after.strip_prefix("..") {
            let (last, after) = name(after.trim_start())?;
            parts.push(Part::Range(first, last));
            rest = after;
        } else {
            parts.push(Part::One(first));
            rest = after;
        }
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => return rest.is_empty().then_some(parts),
        }
    }
}

/// A property of dates or the presence of an input at the beginning of a text, and the rest of the text.
fn date(text: &str) -> Option<(Part, &str)> {
    let (word, rest) = text.split_once('(')?;
    let aspect = match word.trim() {
        PRESENT => None,
        word => Some(Aspect::named(word)?),
    };
    let (name, rest) = match rest.trim_start().strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => rest.split_at(rest.find(')')?),
    };
    let (name, rest) = (name.trim(), rest.trim_start().strip_prefix(')')?);
    let part = |name: String| aspect.map_or(Part::Present(name.clone()), |aspect| Part::Date(aspect, name));
    (!name.is_empty()).then(|| (part(name.to_owned()), rest.trim_start()))
}

/// The name at the beginning of a text, quoted or not, and the rest of the text.
fn name(text: &str) -> Option<(String, &str)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => {
            let (name, rest) = quoted.split_once('"')?;
            (name, rest.trim_start())
        }
        None => text.split_at(text.find(',').into_iter().chain(text.find("..")).min().unwrap_or(text.len())),
    };
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), rest))
}
