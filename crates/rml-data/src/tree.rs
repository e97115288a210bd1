//! The text of a mapping file, which is TOML, as a tree with the place of each value, and checks for readers of the
//! tree.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, FileId, Span, suggest};
use toml::de::{DeTable, DeValue};

/// A value of the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// The content.
    pub data: TreeValue,
    /// The place in the text.
    pub span: Span,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub enum TreeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number with a decimal point.
    Num(f64),
    /// A truth value.
    Bool(bool),
    /// A list.
    List(Vec<Node>),
    /// Values by key, sorted by key.
    Table(Vec<(TreeName, Node)>),
}

/// A text with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeName {
    /// The text.
    pub text: String,
    /// The place of the text.
    pub span: Span,
}

/// The finding about an error in a mapping at this place.
pub fn bad(span: Span, message: impl Into<String>, label: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::MALFORMED_MAPPING, message).label(span, label)
}

/// Parses a text; messages refer to it as `file`.
pub fn parse(text: &str, file: FileId) -> Result<Node, Diagnostic> {
    match DeTable::parse(text) {
        Ok(table) => {
            let span = table.span();
            convert(DeValue::Table(table.into_inner()), Span::new(file, span.start, span.end), file)
        }
        Err(e) => {
            let span = e.span().unwrap_or(0..0);
            let place = Span::new(file, span.start, span.end);
            Err(bad(place, "the mapping is not TOML", e.message()))
        }
    }
}

fn convert(value: DeValue<'_>, span: Span, file: FileId) -> Result<Node, Diagnostic> {
    let data = match value {
        DeValue::String(text) => TreeValue::Text(text.into_owned()),
        DeValue::Boolean(b) => TreeValue::Bool(b),
        DeValue::Integer(i) => {
            let number = i64::from_str_radix(i.as_str(), i.radix());
            TreeValue::Int(number.map_err(|_| bad(span, "a whole number is too large", "here"))?)
        }
        DeValue::Float(x) => {
            let number = x.as_str().parse();
            TreeValue::Num(number.map_err(|_| bad(span, "a number cannot be read", "here"))?)
        }
        DeValue::Datetime(_) => return Err(bad(span, "a mapping has no dates", "here")),
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| {
                let at = item.span();
                convert(item.into_inner(), Span::new(file, at.start, at.end), file)
            });
            TreeValue::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| {
                let (k, v) = (key.span(), value.span());
                let name =
                    TreeName { text: key.into_inner().into_owned(), span: Span::new(file, k.start, k.end) };
                Ok((name, convert(value.into_inner(), Span::new(file, v.start, v.end), file)?))
            });
            TreeValue::Table(entries.collect::<Result<_, Diagnostic>>()?)
        }
    };
    Ok(Node { data, span })
}

impl Node {
    fn kind(&self) -> &'static str {
        match self.data {
            TreeValue::Text(_) => "a text",
            TreeValue::Int(_) => "a whole number",
            TreeValue::Num(_) => "a number",
            TreeValue::Bool(_) => "a truth value",
            TreeValue::List(_) => "a list",
            TreeValue::Table(_) => "a table",
        }
    }

    fn expected(&self, what: &str, kind: &str) -> Diagnostic {
        bad(self.span, format!("{what} must be {kind}"), format!("this is {}", self.kind()))
    }

    /// The text; `what` names it in the error.
    pub fn text(&self, what: &str) -> Result<&str, Diagnostic> {
        match &self.data {
            TreeValue::Text(text) => Ok(text),
            _ => Err(self.expected(what, "a text")),
        }
    }

    /// The text with its place.
    pub fn name(&self, what: &str) -> Result<TreeName, Diagnostic> {
        Ok(TreeName { text: self.text(what)?.to_owned(), span: self.span })
    }

    /// A size or position: a whole number that is not negative. It may be given as a text, since filled placeholders
    /// are texts.
    pub fn size(&self, what: &str) -> Result<usize, Diagnostic> {
        match &self.data {
            TreeValue::Int(i) => usize::try_from(*i).ok(),
            TreeValue::Text(text) => text.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| self.expected(what, "a whole number that is not negative"))
    }

    /// The number.
    pub fn number(&self, what: &str) -> Result<f64, Diagnostic> {
        match self.data {
            #[allow(clippy::cast_precision_loss, reason = "a whole number stands for the nearest number")]
            TreeValue::Int(i) => Ok(i as f64),
            TreeValue::Num(x) => Ok(x),
            _ => Err(self.expected(what, "a number")),
        }
    }

    /// A number that is allowed as an element of a parameter.
    pub fn constant(&self, what: &str) -> Result<f64, Diagnostic> {
        let number = self.number(what)?;
        match number.abs() <= f64::from(f32::MAX) {
            true => Ok(number),
            false => {
                Err(bad(self.span, format!("{what} is no number that a parameter can hold"), "beyond 3.4e38"))
            }
        }
    }

    /// The truth value.
    pub fn truth(&self, what: &str) -> Result<bool, Diagnostic> {
        match self.data {
            TreeValue::Bool(b) => Ok(b),
            _ => Err(self.expected(what, "a truth value")),
        }
    }

    /// The list.
    pub fn list(&self, what: &str) -> Result<&[Node], Diagnostic> {
        match &self.data {
            TreeValue::List(items) => Ok(items),
            _ => Err(self.expected(what, "a list")),
        }
    }

    /// The table.
    pub fn table(&self, what: &str) -> Result<Table<'_>, Diagnostic> {
        match &self.data {
            TreeValue::Table(entries) => Ok(Table { entries, span: self.span }),
            _ => Err(self.expected(what, "a table")),
        }
    }

    /// The same tree with every text changed by `f`. Keys are not changed.
    pub fn map_texts(
        &self,
        f: &mut dyn FnMut(&str, Span) -> Result<String, Diagnostic>,
    ) -> Result<Node, Diagnostic> {
        let data = match &self.data {
            TreeValue::Text(text) => TreeValue::Text(f(text, self.span)?),
            TreeValue::List(items) => {
                TreeValue::List(items.iter().map(|i| i.map_texts(f)).collect::<Result<_, _>>()?)
            }
            TreeValue::Table(entries) => {
                let entries = entries.iter().map(|(k, v)| Ok((k.clone(), v.map_texts(f)?)));
                TreeValue::Table(entries.collect::<Result<_, Diagnostic>>()?)
            }
            plain => plain.clone(),
        };
        Ok(Node { data, span: self.span })
    }
}

/// Values by key.
#[derive(Clone, Copy)]
pub struct Table<'n> {
    entries: &'n [(TreeName, Node)],
    /// The place of the table.
    pub span: Span,
}

impl<'n> Table<'n> {
    /// The value of a key.
    pub fn get(self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|(name, _)| name.text == key).map(|(_, value)| value)
    }

    /// The value of a required key.
    pub fn need(self, key: &str, what: &str) -> Result<&'n Node, Diagnostic> {
        self.get(key).ok_or_else(|| bad(self.span, format!("{what} lacks the key `{key}`"), "this one"))
    }

    /// All entries.
    pub fn iter(self) -> std::slice::Iter<'n, (TreeName, Node)> {
        self.entries.iter()
    }

    /// Refuses keys other than these.
    pub fn only(self, keys: &[&str], what: &str) -> Result<(), Diagnostic> {
        let stranger = self.entries.iter().find(|(name, _)| !keys.contains(&name.text.as_str()));
        let Some((name, _)) = stranger else { return Ok(()) };
        let mut d = bad(name.span, format!("{what} has no key `{}`", name.text), "this key")
            .note(format!("its keys are {}", listed(keys.iter().copied())));
        if let Some(near) = suggest(&name.text, keys.iter().copied()) {
            d = d.help(format!("is `{near}` meant?"));
        }
        Err(d)
    }
}

/// Names in a message.
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}
