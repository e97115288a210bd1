//! Recipes in files: TOML whose keys are the names of the flags.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rml_base::{Diagnostic, Error, Sources, visible_name};

use super::Recipe;
use crate::cut::Windowing;
use crate::dialect::Dialect;
use crate::mapping::ColumnMapping;
use crate::parts::{self, Part};
use crate::prepare::Fill;
use crate::tree::{self, Node, Table, TreeValue, bad};

/// The keys of a file, in the order of the flags.
const KEYS: &str = "columns separator decimal thousands missing header comment classes fill standardise standardize \
                    window stride group time gap end rest";

impl Recipe {
    /// Reads a mapping file.
    ///
    /// # Errors
    /// A file that cannot be read, or does not follow the format of [`Recipe::of_toml`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let name = path.as_ref().display().to_string();
        let text = rml_files::contents::text(path.as_ref()).map_err(|unread| unread.diagnostic(&name))?;
        Self::of_toml(&name, &text)
    }

    /// Parses the text of a mapping file: TOML whose keys are the names of the flags that say how data is read,
    /// prepared and cut into windows. Messages call the file `name`.
    ///
    /// ```
    /// # fn main() -> Result<(), rml_base::Error> {
    /// # use rml_data as rml;
    /// let text = "separator = ';'\nstandardise = ['x']\n[columns]\nx = ['open', 'low..high']\ny = 'label'\n";
    /// let recipe = rml::Recipe::of_toml("map.toml", text)?;
    /// assert_eq!(recipe.columns, rml::ColumnMapping::parse(&["x=open,low..high", "y=label"])?);
    /// assert_eq!((recipe.dialect.separator, recipe.standardised), (Some(';'), vec!["x".to_owned()]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A text that is not TOML, an unknown key, a value of another form.
    pub fn of_toml(name: &str, text: &str) -> Result<Self, Error> {
        let mut sources = Sources::new();
        let file = sources.add(name, text);
        let read = tree::parse(text, file).and_then(|root| recipe(&root));
        read.map_err(|d| Error::new(d, Arc::new(sources)))
    }

    /// The same, completed by another recipe: the settings of this one have priority.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut standardised = self.standardised;
        let more: Vec<String> =
            other.standardised.into_iter().filter(|input| !standardised.contains(input)).collect();
        standardised.extend(more);
        Self {
            columns: self.columns.over(other.columns),
            dialect: self.dialect.or(other.dialect),
            classes: other.classes.into_iter().chain(self.classes).collect(),
            fills: other.fills.into_iter().chain(self.fills).collect(),
            standardised,
            cut: self.cut.or(other.cut),
        }
    }
}

fn recipe(root: &Node) -> Result<Recipe, Diagnostic> {
    let root = root.table("a mapping")?;
    root.only(&KEYS.split_whitespace().collect::<Vec<_>>(), "a mapping of columns to inputs")?;
    let mut standardised = list(root, "standardise")?;
    standardised.extend(list(root, "standardize")?);
    Ok(Recipe {
        columns: ColumnMapping::of(inputs(root, "columns", columns)?),
        dialect: dialect(root)?,
        classes: inputs(root, "classes", classes)?,
        fills: inputs(root, "fill", fill)?,
        standardised,
        cut: cut(root)?,
    })
}

fn dialect(root: Table<'_>) -> Result<Dialect, Diagnostic> {
    Ok(Dialect {
        separator: parsed(root, "separator", Dialect::parse_separator)?,
        decimal: parsed(root, "decimal", Dialect::parse_decimal)?,
        thousands: parsed(root, "thousands", Dialect::parse_thousands)?,
        missing: root.get("missing").map(|node| texts(node, "`missing`")).transpose()?,
        header: root.get("header").map(|node| node.truth("`header`")).transpose()?,
        comment: parsed(root, "comment", Dialect::parse_comment)?,
    })
}

fn cut(root: Table<'_>) -> Result<Windowing, Diagnostic> {
    let rows = |key: &str| {
        let Some(node) = root.get(key) else { return Ok(None) };
        let what = format!("`{key}`");
        match node.size(&what)? {
            0 => Err(bad(node.span, format!("{what} must be at least 1"), "this is 0")),
            rows => Ok(Some(rows)),
        }
    };
    let name =
        |key: &str| root.get(key).map(|node| node.text(&format!("`{key}`")).map(str::to_owned)).transpose();
    let refusal = |why: &Error| {
        let first = why.diagnostics().iter().next();
        first.map(|d| d.notes.first().unwrap_or(&d.message).clone()).unwrap_or_default()
    };
    Ok(Windowing {
        window: rows("window")?,
        stride: rows("stride")?,
        group: name("group")?,
        time: name("time")?,
        gap: parsed(root, "gap", |text| Windowing::parse_gap(text).map_err(|why| refusal(&why)))?,
        end: name("end")?,
        rest: parsed(root, "rest", |text| Windowing::parse_rest(text).map_err(|why| refusal(&why)))?,
    })
}

/// The value of a key that is a text or a number.
fn parsed<T>(
    root: Table<'_>,
    key: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Diagnostic> {
    let Some(node) = root.get(key) else { return Ok(None) };
    let text = scalar(node, &format!("`{key}`"))?;
    let wrong = |why| bad(node.span, format!("`{key}` cannot be `{}`", visible_name(&text)), why);
    parse(&text).map(Some).map_err(wrong)
}

/// A text or a number, as text.
fn scalar(node: &Node, what: &str) -> Result<String, Diagnostic> {
    match &node.data {
        TreeValue::Int(i) => Ok(i.to_string()),
        TreeValue::Num(x) => Ok(x.to_string()),
        TreeValue::Text(_) | TreeValue::Bool(_) | TreeValue::List(_) | TreeValue::Table(_) => {
            node.text(what).map(str::to_owned)
        }
    }
}

/// A text, or a list of texts and numbers.
fn texts(node: &Node, what: &str) -> Result<Vec<String>, Diagnostic> {
    match &node.data {
        TreeValue::List(items) => {
            items.iter().map(|item| scalar(item, &format!("an entry of {what}"))).collect()
        }
        TreeValue::Text(_)
        | TreeValue::Int(_)
        | TreeValue::Num(_)
        | TreeValue::Bool(_)
        | TreeValue::Table(_) => Ok(vec![scalar(node, what)?]),
    }
}

fn list(root: Table<'_>, key: &str) -> Result<Vec<String>, Diagnostic> {
    root.get(key).map_or(Ok(Vec::new()), |node| texts(node, &format!("`{key}`")))
}

/// The values of a table by input.
fn inputs<T>(
    root: Table<'_>,
    key: &str,
    read: impl Fn(&Node, &str) -> Result<T, Diagnostic>,
) -> Result<BTreeMap<String, T>, Diagnostic> {
    let Some(node) = root.get(key) else { return Ok(BTreeMap::new()) };
    let entries = node.table(&format!("`{key}`"))?.iter();
    entries
        .map(|(input, value)| Ok((input.text.clone(), read(value, &format!("`{key}.{}`", input.text))?)))
        .collect()
}

/// The columns of an input: in the notation of flags, or a list with one column, range or property of dates in each
/// entry.
fn columns(node: &Node, what: &str) -> Result<Vec<Part>, Diagnostic> {
    let unread = |node: &Node| {
        bad(
            node.span,
            format!("{what} does not name columns"),
            "expected names, `first..last` or `hour(date)`",
        )
    };
    let TreeValue::List(items) = &node.data else {
        return parts::parts(node.text(what)?).ok_or_else(|| unread(node));
    };
    let part = |item: &Node| {
        let text = scalar(item, &format!("an entry of {what}"))?;
        match parts::parts(&text) {
            Some(mut parts) if parts.len() == 1 => Ok(parts.remove(0)),
            // A comma is a part of the name.
            Some(_) => Ok(Part::One(text)),
            None => Err(unread(item)),
        }
    };
    match items.is_empty() {
        true => Err(unread(node)),
        false => items.iter().map(part).collect(),
    }
}

fn classes(node: &Node, what: &str) -> Result<Vec<String>, Diagnostic> {
    let names = match &node.data {
        TreeValue::Text(text) => parts::names(text).unwrap_or_default(),
        TreeValue::List(_)
        | TreeValue::Int(_)
        | TreeValue::Num(_)
        | TreeValue::Bool(_)
        | TreeValue::Table(_) => texts(node, what)?,
    };
    let twice = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
    if let Some((_, name)) = twice {
        let label = format!("`{}` is given twice", visible_name(name));
        return Err(bad(node.span, format!("{what} must name each class once"), label));
    }
    match names.is_empty() {
        true => Err(bad(node.span, format!("{what} does not name classes"), "expected a list of texts")),
        false => Ok(names),
    }
}

fn fill(node: &Node, what: &str) -> Result<Fill, Diagnostic> {
    let text = scalar(node, what)?;
    Ok(if text == "mean" { Fill::Mean } else { Fill::Given(text) })
}

#[cfg(test)]
mod tests {
    use rml_base::codes::run as codes;

    use super::*;

    const ALL: &str = "
        separator = 'tab'
        decimal = ','
        thousands = '.'
        missing = [-999, '']
        header = false
        comment = '#'
        standardize = 'x'
        window = 50
        stride = 5
        group = 'engine'
        time = 'date'
        gap = '6h'
        end = 'done'
        rest = 'drop'
        [columns]
        x = ['a,b', 'p0..p3', 'hour(date)', 7]
        y = 'label'
        [classes]
        y = ['cat', 'a dog']
        [fill]
        x = 'mean'
        y = 0
        z = 0.5
    ";

    /// The file says the same as the flags.
    #[test]
    fn a_file_has_the_settings_of_the_flags() {
        let found = Recipe::of_toml("map.toml", ALL).unwrap();
        let expected = Recipe {
            columns: ColumnMapping::parse(&["x=\"a,b\",p0..p3,hour(date),7", "y=label"]).unwrap(),
            dialect: Dialect {
                separator: Some('\t'),
                decimal: Some(','),
                thousands: Some('.'),
                missing: Some(vec!["-999".into(), String::new()]),
                header: Some(false),
                comment: Some("#".into()),
            },
            classes: Recipe::parse_classes(&["y=cat,a dog"]).unwrap(),
            fills: Recipe::parse_fills(&["x=mean", "y=0", "z=0.5"]).unwrap(),
            standardised: vec!["x".into()],
            cut: Windowing {
                window: Some(50),
                stride: Some(5),
                group: Some("engine".into()),
                time: Some("date".into()),
                gap: Some(21600.0),
                end: Some("done".into()),
                rest: Some(crate::Rest::Drop),
            },
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn flags_have_priority() {
        let file = Recipe::of_toml("map.toml", ALL).unwrap();
        let flags = Recipe {
            columns: ColumnMapping::parse(&["x=q"]).unwrap(),
            dialect: Dialect { separator: Some(';'), ..Dialect::default() },
            fills: Recipe::parse_fills(&["y=1"]).unwrap(),
            standardised: vec!["y".into()],
            ..Recipe::default()
        };
        let both = flags.or(file.clone());
        assert_eq!(both.columns, ColumnMapping::parse(&["x=q", "y=label"]).unwrap());
        assert_eq!((both.dialect.separator, both.dialect.decimal), (Some(';'), Some(',')));
        assert_eq!(both.fills, Recipe::parse_fills(&["x=mean", "y=1", "z=0.5"]).unwrap());
        assert_eq!((both.standardised, both.cut), (vec!["y".to_owned(), "x".to_owned()], file.cut));
    }

    #[test]
    fn faults_are_shown_in_their_place() {
        for (text, place, words) in [
            ("columns", "columns", "not TOML"),
            ("colums = 1", "colums", "no key `colums`"),
            ("separator = 'ab'", "'ab'", "`separator` cannot be `ab`"),
            ("separator = true", "true", "must be a text"),
            ("window = 0", "0", "at least 1"),
            ("window = -1", "-1", "not negative"),
            ("gap = 'x'", "'x'", "`gap` cannot be `x`"),
            ("rest = 'all'", "'all'", "`rest` cannot be `all`"),
            ("columns = ['x']", "['x']", "must be a table"),
            ("columns.x = []", "[]", "does not name columns"),
            ("columns.x = 'a..'", "'a..'", "does not name columns"),
            ("classes.y = ['a', 'a']", "['a', 'a']", "each class once"),
            ("classes.y = []", "[]", "does not name classes"),
            ("fill.x = [1]", "[1]", "must be a text"),
        ] {
            let error = Recipe::of_toml("map.toml", text).unwrap_err();
            assert_eq!(error.code(), Some(codes::MALFORMED_MAPPING), "{text}");
            let d = error.diagnostics().iter().next().unwrap().clone();
            let label = d.labels.first().unwrap();
            let said = format!("{} {}", d.message, label.message);
            assert!(said.contains(words), "{text}: {said}");
            let at = &text[label.span.start as usize..label.span.end as usize];
            assert!(at == place || words == "not TOML", "{text}: {at}");
        }
    }
}
