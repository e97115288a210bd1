//! Expands a mapping for the parameters of one program: finds the expression that defines each parameter.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Span, suggest};
use rml_ir::Type;

use crate::expr::Expr;
use crate::mapping::{Entry, FROM, Layout, SEPARATOR, Use, Written};
use crate::pattern::{Captures, filled, matched};
use crate::tensors::Stored;
use rml_data::tree::{Node, TreeName as Name, bad, listed};

/// A parameter of a program that mappings can match.
#[derive(Clone, Debug)]
pub struct WantedParameter {
    /// Its instance path.
    pub key: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// The place of its declaration.
    pub span: Span,
    /// Whether the program needs it; a parameter on which no output depends may be omitted.
    pub needed: bool,
}

/// The definition of a parameter.
#[derive(Debug)]
pub(crate) struct Made<'w> {
    /// The parameter.
    pub(crate) wanted: &'w WantedParameter,
    /// The expression that defines it.
    pub(crate) expr: Expr,
    /// The entry of the mapping.
    pub(crate) entry: Span,
}

/// A foreign tensor that is not a parameter and has a constant value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fixed {
    /// Its name.
    pub(crate) name: String,
    /// The type of its elements.
    pub(crate) stored: Stored,
    /// Its dimensions.
    pub(crate) shape: Vec<usize>,
    /// The value of all its elements.
    pub(crate) value: f64,
}

/// A mapping, expanded for one program.
#[derive(Debug)]
pub(crate) struct Expanded<'w> {
    /// All parameters, in the order of the program.
    pub(crate) made: Vec<Made<'w>>,
    /// Tensors that are no parameters.
    pub(crate) fixed: Vec<Fixed>,
    /// Patterns of tensors that are ignored.
    pub(crate) ignore: Vec<Name>,
}

/// Applies a mapping to the parameters of a program. `builtin` are the predefined layouts.
pub(crate) fn expand<'w>(
    mapping: &Written,
    builtin: &[Layout],
    wanted: &'w IndexMap<Arc<str>, WantedParameter>,
) -> Result<Expanded<'w>, Diagnostics> {
    let mut work = Work { wanted, made: IndexMap::new(), fixed: Vec::new(), findings: Diagnostics::new() };
    for entry in &mapping.params {
        work.entry(entry);
    }
    for item in &mapping.uses {
        let layouts = || mapping.layouts.iter().chain(builtin);
        match layouts().find(|l| l.name.text == item.layout.text) {
            Some(layout) => work.layer(item, layout),
            None => {
                let mut d =
                    bad(item.layout.span, format!("there is no layout `{}`", item.layout.text), "here")
                        .help("`rml params layouts` lists all layouts");
                if let Some(near) = suggest(&item.layout.text, layouts().map(|l| l.name.text.as_str())) {
                    d = d.help(format!("is `{near}` meant?"));
                }
                work.findings.push(d);
            }
        }
    }
    for entry in &mapping.fixed {
        work.fix(entry, &Captures::new());
    }
    work.finish(mapping.ignore.clone())
}

struct Work<'w> {
    wanted: &'w IndexMap<Arc<str>, WantedParameter>,
    made: IndexMap<Arc<str>, Made<'w>>,
    fixed: Vec<Fixed>,
    findings: Diagnostics,
}

impl<'w> Work<'w> {
    /// An entry of the mapping itself, which may match several parameters.
    fn entry(&mut self, entry: &Entry) {
        let found: Vec<(&'w WantedParameter, Captures)> =
            self.wanted.values().filter_map(|w| Some((w, matched(&entry.name.text, &w.key)?))).collect();
        if found.is_empty() {
            let unknown = self.unknown(&entry.name, &entry.name.text);
            self.report(unknown);
        }
        for (wanted, captures) in found {
            self.make(wanted, &entry.value, &captures, entry.name.span);
        }
    }

    /// Applies a layout to all instances that its path matches.
    fn layer(&mut self, item: &Use, layout: &Layout) {
        let within = |entry: &Entry| match item.at.text.as_str() {
            "" => entry.name.text.clone(),
            at => format!("{at}.{}", entry.name.text),
        };
        let mut instances: Vec<Captures> = Vec::new();
        for captures in layout.params.iter().flat_map(|entry| {
            let pattern = within(entry);
            self.wanted.keys().filter_map(move |key| matched(&pattern, key)).collect::<Vec<_>>()
        }) {
            if !instances.contains(&captures) {
                instances.push(captures);
            }
        }
        if instances.is_empty() {
            let mut d = self.unknown(&item.at, &item.at.text);
            let names = listed(layout.params.iter().map(|e| e.name.text.as_str()));
            d = d.note(format!("layout `{}` makes {names} there", layout.name.text));
            self.report(d);
        }
        for captures in instances {
            let options = match options(item, layout, &captures) {
                Ok(options) => options,
                Err(d) => return self.report(d),
            };
            for entry in &layout.params {
                let path = filled(&within(entry), &captures).unwrap_or_default();
                match self.wanted.get(path.as_str()) {
                    Some(wanted) => self.make(wanted, &entry.value, &options, item.layout.span),
                    None => {
                        let d = self.unknown(&item.at, &path);
                        self.report(d.note(format!("layout `{}` makes it", layout.name.text)));
                    }
                }
            }
            for entry in &layout.fixed {
                self.fix(entry, &options);
            }
        }
    }

    fn make(&mut self, wanted: &'w WantedParameter, value: &Node, captures: &Captures, entry: Span) {
        let expr = with_places(value, captures).and_then(|node| Expr::read(&node));
        let expr = match expr {
            Ok(expr) => expr,
            Err(d) => return self.report(d),
        };
        if let Some(first) = self.made.get(&wanted.key) {
            let d = Diagnostic::error(
                codes::PARAMETER_TWICE,
                format!("parameter `{}` is made twice", wanted.key),
            );
            let d = d.label(entry, "by this entry").label(first.entry, "and by this one");
            return self.report(d);
        }
        self.made.insert(Arc::clone(&wanted.key), Made { wanted, expr, entry });
    }

    fn fix(&mut self, entry: &Entry, captures: &Captures) {
        match fixed(entry, captures) {
            Ok(fixed) => self.fixed.push(fixed),
            Err(d) => self.report(d),
        }
    }

    fn unknown(&self, place: &Name, path: &str) -> Diagnostic {
        let message = format!("the program has no parameter `{path}`");
        let mut d = Diagnostic::error(codes::UNKNOWN_PARAMETER, message).label(place.span, "named here");
        let paths: IndexSet<&str> = self.wanted.keys().flat_map(|key| prefixes(key)).collect();
        if let Some(near) = suggest(path, paths.into_iter()) {
            d = d.help(format!("is `{near}` meant?"));
        }
        d.help("`rml params list` shows the parameters by path")
    }

    /// Records a finding; an error in an entry for several parameters is reported once.
    fn report(&mut self, d: Diagnostic) {
        if !self.findings.0.contains(&d) {
            self.findings.push(d);
        }
    }

    fn finish(mut self, ignore: Vec<Name>) -> Result<Expanded<'w>, Diagnostics> {
        if self.findings.is_empty() {
            for wanted in self.wanted.values().filter(|w| w.needed && !self.made.contains_key(&w.key)) {
                let message = format!("the mapping does not say what parameter `{}` is made of", wanted.key);
                let d = Diagnostic::error(codes::PARAMETER_NOT_MAPPED, message)
                    .label(wanted.span, format!("it is declared here: {}", wanted.ty));
                self.findings.push(d.help(format!("add an entry to `[params]`: \"{}\" = ..", wanted.key)));
            }
        }
        if !self.findings.is_empty() {
            return Err(self.findings);
        }
        let mut made: Vec<Made<'w>> = self.made.into_values().collect();
        made.sort_by_key(|m| self.wanted.get_index_of(&m.wanted.key));
        Ok(Expanded { made, fixed: self.fixed, ignore })
    }
}

/// The paths of the instances around a parameter, and its own.
fn prefixes(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('.').map(|(at, _)| &key[..at]).chain([key])
}

/// The options of a layout for one instance: those of the use, or else the layout's defaults.
fn options(item: &Use, layout: &Layout, captures: &Captures) -> Result<Captures, Diagnostic> {
    let mut options: Captures = layout.options.iter().cloned().collect();
    for (key, value) in &item.options {
        if !options.contains_key(&key.text) {
            let message = format!("layout `{}` has no option `{}`", layout.name.text, key.text);
            let d = bad(key.span, message, "this option");
            return Err(d.note(format!("its options are {}", listed(options.keys().map(String::as_str)))));
        }
        let text = filled(&value.text, captures).map_err(|why| bad(value.span, why, "here"))?;
        options.insert(key.text.clone(), text);
    }
    let separator = options.get(SEPARATOR).cloned().unwrap_or_default();
    if let Some(from) = options.get_mut(FROM).filter(|from| !from.is_empty()) {
        from.push_str(&separator);
    }
    Ok(options)
}

fn with_places(value: &Node, captures: &Captures) -> Result<Node, Diagnostic> {
    value.map_texts(&mut |text, span| filled(text, captures).map_err(|why| bad(span, why, "here")))
}

fn fixed(entry: &Entry, captures: &Captures) -> Result<Fixed, Diagnostic> {
    let name = filled(&entry.name.text, captures).map_err(|why| bad(entry.name.span, why, "here"))?;
    let value = with_places(&entry.value, captures)?;
    let table = value.table("a fixed tensor")?;
    table.only(&["type", "shape", "value"], "a fixed tensor")?;
    let kind = table.need("type", "a fixed tensor")?;
    let stored = kind.text("`type`")?;
    let stored = Stored::named(stored)
        .ok_or_else(|| bad(kind.span, format!("`{stored}` is not an element type"), Stored::list()))?;
    let shape = table.get("shape").map_or(Ok(&[][..]), |n| n.list("`shape`"))?;
    let shape = shape.iter().map(|n| n.size("a dimension")).collect::<Result<_, _>>()?;
    let value = table.need("value", "a fixed tensor")?.number("`value`")?;
    Ok(Fixed { name, stored, shape, value })
}
