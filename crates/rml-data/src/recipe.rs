//! How a table becomes inputs: the columns of each input, the format of text, the classes of texts, the values for
//! gaps, and the inputs to standardise.
//!
//! A [`Recipe`] contains what the user asks for. A [`Preparation`] is a recipe that was fitted to the windows to train
//! on, with the resulting numbers. A checkpoint contains it, so that other data is prepared in the same way.

mod written;

use std::collections::{BTreeMap, BTreeSet};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, suggest, visible_name};
use rml_ir::{DType, InputInfo, Precision, Shape, Type, Value};
use serde::{Deserialize, Serialize};

use crate::columns::{Column, Columns, Elements};
use crate::cut::Windowing;
use crate::dialect::Dialect;
use crate::labels::{Texts, listed, look_like_values, unclear, unknown_value};
use crate::mapping::ColumnMapping;
use crate::parts;
use crate::prepare::{Fill, Scale, Steps};
use crate::selection::Selection;

/// How a table becomes inputs, as requested by the user.
///
/// ```
/// # fn main() -> Result<(), rml_base::Error> {
/// # use rml_data as rml;
/// let recipe = rml::Recipe {
///     classes: rml::Recipe::parse_classes(&["y=cat,dog"])?,
///     fills: rml::Recipe::parse_fills(&["x=mean"])?,
///     standardised: vec!["x".to_owned()],
///     ..rml::Recipe::default()
/// };
/// assert_eq!(recipe.classes["y"], ["cat", "dog"]);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Recipe {
    /// The columns of each input.
    #[serde(skip_serializing_if = "ColumnMapping::is_empty")]
    pub columns: ColumnMapping,
    /// The format of tables in text files.
    #[serde(skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// The classes of inputs whose columns contain texts, in the order of their numbers. For other inputs, the classes
    /// are the texts of their column, sorted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, Vec<String>>,
    /// The values for the gaps of inputs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fills: BTreeMap<String, Fill>,
    /// The inputs that are scaled to mean 0 and standard deviation 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standardised: Vec<String>,
    /// How the rows of a long table become windows.
    #[serde(skip_serializing_if = "is_default")]
    pub cut: Windowing,
}

fn is_default<T: Default + PartialEq>(x: &T) -> bool {
    *x == T::default()
}

impl Recipe {
    /// The precision in which the values of an input are read, for a program of this precision: numbers are scaled
    /// before they are rounded.
    pub(crate) fn precision_of(&self, input: &str, precision: Precision) -> Precision {
        if self.standardised.iter().any(|own| own == input) { Precision::F64 } else { precision }
    }

    /// Parses `input=class,class`, with classes in the order of their numbers. A name that contains a comma or `..`
    /// must be quoted.
    ///
    /// # Errors
    /// A text of another form; an input or a class that is named twice.
    pub fn parse_classes<S: AsRef<str>>(texts: &[S]) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let example = "`--classes 'y=cat,dog'` makes `cat` the class 0 and `dog` the class 1";
        let mut all = BTreeMap::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let (input, list) = assigned(text, "the classes of an input", example)?;
            let names = parts::names(list).ok_or_else(|| unread(text, "the classes of an input", example))?;
            if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
                let what = format!("class `{}` of input `{input}` is given twice", visible_name(twice.1));
                let d = Diagnostic::error(codes::BAD_OPTION, what);
                return Err(d.help("name each class once, in the order of their numbers").into());
            }
            once(&mut all, input, names, "the classes")?;
        }
        Ok(all)
    }

    /// Parses `input=mean`, `input=0` and `input=class`.
    ///
    /// # Errors
    /// A text of another form; an input that is named twice.
    pub fn parse_fills<S: AsRef<str>>(texts: &[S]) -> Result<BTreeMap<String, Fill>, Error> {
        let mut all = BTreeMap::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let example = "`--fill 'x=mean'` fills in the mean, and `--fill 'x=0'` a number";
            let (input, value) = assigned(text, "what stands where an input has no value", example)?;
            let fill = if value == "mean" { Fill::Mean } else { Fill::Given(value.to_owned()) };
            once(&mut all, input, fill, "what fills the gaps")?;
        }
        Ok(all)
    }

    /// The columns to read from data files for inputs that are prepared in this way.
    ///
    /// # Errors
    /// The mapping names an input that the program does not have.
    pub fn selection(&self, columns: Selection) -> Result<Selection, Error> {
        let named = columns.integers().iter().map(|input| (input.clone(), Texts::Names)).collect::<Vec<_>>();
        for (input, classes) in &self.classes {
            if let Some(cases) = columns.cases().get(input).filter(|cases| *cases != classes) {
                let what = format!("`--classes` cannot be used for input `{input}`, which is an enumeration");
                let d = Diagnostic::error(codes::BAD_OPTION, what)
                    .note(format!("its cases are {}", listed(cases)));
                return Err(d.help("leave the option out: the cases are the classes").into());
            }
        }
        let texts = |classes: &[String]| if look_like_values(classes) { Texts::All } else { Texts::Names };
        let stated = self.classes.iter().map(|(input, classes)| (input.clone(), texts(classes)));
        let texts = named.into_iter().chain(stated).collect();
        let filled = self.fills.keys().cloned().collect();
        self.cut.check()?;
        let mapping = self.columns.clone().or_declared(columns.mapping().clone());
        if let Some(name) = self.cut.columns().into_iter().find(|name| mapping.inputs().any(|i| i == *name)) {
            let what = format!(
                "`{name}` is an input with columns of its own, and a column that says how rows are cut"
            );
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            let name = visible_name(name);
            return Err(d.help(format!("rename the input, or leave `--columns '{name}=..'` out")).into());
        }
        let Windowing { group, time, end, .. } = &self.cut;
        let cut = [(time, Texts::Times), (group, Texts::All), (end, Texts::Refused)];
        let cut = cut.into_iter().filter_map(|(name, texts)| Some((name.as_deref()?, texts)));
        let read = columns.written(self.dialect.clone()).mapped(mapping)?.taking(texts, filled);
        Ok(read.also(cut))
    }

    /// The same settings for reading, completed by those of `other`. Classes, fills and standardised inputs are those
    /// of `other`.
    #[must_use]
    pub fn or_read_as(self, other: Self) -> Self {
        let columns = self.columns.or(other.columns);
        let dialect = self.dialect.or(other.dialect);
        let cut = self.cut.or(other.cut);
        Self { columns, dialect, cut, ..other }
    }

    /// The same, with ranges replaced by the names of their columns in a table, so that other data is read by names.
    #[must_use]
    pub fn named_in(self, table: &Columns) -> Self {
        Self { columns: self.columns.named_in(table), ..self }
    }

    /// The same; values of inputs get these names unless their classes are known.
    #[must_use]
    pub fn with_cases(mut self, cases: BTreeMap<String, Vec<String>>) -> Self {
        self.classes.extend(cases);
        self
    }

    /// Checks that a recipe for data after a training prepares nothing, or prepares it as the training did.
    ///
    /// # Errors
    /// It prepares data in another way.
    pub fn check_prepared_as(&self, trained: &Self) -> Result<(), Diagnostic> {
        let prepared =
            |recipe: &Self| (recipe.classes.clone(), recipe.fills.clone(), recipe.standardised.clone());
        if self.prepares_nothing() || prepared(self) == prepared(trained) {
            return Ok(());
        }
        let what = "the mapping prepares data in another way than the training did";
        let d = Diagnostic::error(codes::BAD_OPTION, what)
            .note("classes, `fill` and `standardise` are those of the checkpoint");
        Err(d.help("give the mapping of the training, or leave these keys out"))
    }

    /// Whether it only affects how files are read, and prepares nothing.
    pub fn prepares_nothing(&self) -> bool {
        self.classes.is_empty() && self.fills.is_empty() && self.standardised.is_empty()
    }

    /// Checks that the inputs exist and have types that can be prepared in this way.
    ///
    /// # Errors
    /// An input that does not exist, or of another type.
    pub fn check(&self, inputs: &[&InputInfo]) -> Result<(), Diagnostic> {
        let means = self.fills.iter().filter(|(_, fill)| **fill == Fill::Mean).map(|(input, _)| input);
        let asked = (self.classes.keys().map(|input| ("classes", input, Some(DType::Int))))
            .chain(self.fills.keys().map(|input| ("fill", input, None)))
            .chain(means.map(|input| ("fill", input, Some(DType::Num))))
            .chain(self.standardised.iter().map(|input| ("standardise", input, Some(DType::Num))));
        for (flag, name, dtype) in asked {
            let Some(input) = inputs.iter().find(|input| *input.name == **name) else {
                return Err(self.no_input(flag, name, inputs));
            };
            let found = input.ty.dtype;
            if found == DType::Bool || dtype.is_some_and(|dtype| dtype != found) {
                let what = format!("`--{flag}` cannot be used for input `{name}: {}`", input.ty);
                let kind = match dtype {
                    Some(DType::Int) => "classes are the values of an input of type `int`",
                    Some(DType::Num | DType::Bool) => "only numbers (`num`) have a mean",
                    None => "a truth value cannot be filled in",
                };
                let d = Diagnostic::error(codes::BAD_OPTION, what).note(kind);
                return Err(d.help("leave the option out, or name another input"));
            }
        }
        Ok(())
    }
}

impl Recipe {
    /// The error that an option names an input that does not exist.
    fn no_input(&self, flag: &str, name: &str, inputs: &[&InputInfo]) -> Diagnostic {
        let what = format!("the program has no input `{}` for `--{flag}`", visible_name(name));
        let names: BTreeSet<&str> = inputs.iter().map(|input| &*input.name).collect();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let d = Diagnostic::error(codes::BAD_OPTION, what).note(format!("inputs are {}", listed(&names)));
        let parts: Vec<String> = name.split(',').map(|part| part.trim().to_owned()).collect();
        let fed = |input: &&String| parts.iter().all(|part| self.columns.names(part, input));
        if let Some(input) = names.iter().find(fed) {
            let (are, columns) = if parts.len() == 1 { ("is", "a column") } else { ("are", "columns") };
            return d
                .note(format!("{} {are} {columns} of `{input}`", listed(&parts)))
                .help(format!("write the input, which has all of its columns: `--{flag} {input}`"));
        }
        if parts.len() > 1 && parts.iter().all(|part| names.contains(part)) {
            let flags: Vec<String> = parts.iter().map(|part| format!("--{flag} {part}")).collect();
            return d.help(format!("give the option once for each: `{}`", flags.join(" ")));
        }
        match suggest(name, names.iter().map(String::as_str)) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d.help("write the name of an input"),
        }
    }
}

/// The name of an input and the text after `=`.
fn assigned<'t>(text: &'t str, what: &str, example: &str) -> Result<(&'t str, &'t str), Error> {
    let parts = text.split_once('=').map(|(input, value)| (input.trim(), value.trim()));
    let parts = parts.filter(|(input, value)| !input.is_empty() && !value.is_empty());
    parts.ok_or_else(|| unread(text, what, example))
}

fn unread(text: &str, what: &str, example: &str) -> Error {
    let what = format!("`{}` does not say {what}", visible_name(text));
    Diagnostic::error(codes::BAD_OPTION, what).help(example).into()
}

fn once<T>(all: &mut BTreeMap<String, T>, input: &str, value: T, what: &str) -> Result<(), Error> {
    if all.insert(input.to_owned(), value).is_none() {
        return Ok(());
    }
    let what = format!("{what} of input `{}` are given twice", visible_name(input));
    Err(Diagnostic::error(codes::BAD_OPTION, what).help("give them once").into())
}

/// How a table becomes inputs, with the numbers computed from the windows to train on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Preparation {
    /// The recipe that was requested.
    #[serde(skip_serializing_if = "is_default")]
    pub asked: Recipe,
    /// The classes of all inputs whose values have names, in the order of their numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, Vec<String>>,
    /// For each parameter, by checkpoint key: the inputs whose classes number the positions along each axis, if there
    /// are any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, Vec<Option<String>>>,
    /// The standardised inputs whose values variables of instances are, by the names of the variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The preparation of each input's values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) steps: BTreeMap<String, Steps>,
}

impl Preparation {
    /// The recipe for reading other data: the requested recipe, with all classes.
    pub fn recipe(&self) -> Recipe {
        let columns = ColumnMapping::default().or(self.asked.columns.clone());
        Recipe { classes: self.classes.clone(), columns, ..self.asked.clone() }
    }

    /// A preparation as text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the text of a preparation.
    ///
    /// # Errors
    /// A text that is not a preparation.
    pub fn of_text(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|why| {
            let d = Diagnostic::error(codes::BAD_OPTION, "a text does not say how data is prepared");
            d.note(why.to_string())
                .help("take it from the states of a training, and leave it as it is")
                .into()
        })
    }

    /// Whether it prepares nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same; values of inputs get these names unless their classes are known.
    #[must_use]
    pub fn with_cases(mut self, cases: BTreeMap<String, Vec<String>>) -> Self {
        self.classes.extend(cases);
        self
    }

    /// Whether gaps of an input are filled.
    pub fn fills(&self, input: &str) -> bool {
        self.fill(input).is_some()
    }

    /// What stands in the gaps of an input: one number, or one for each element.
    pub fn fill(&self, input: &str) -> Option<&[f64]> {
        self.steps.get(input)?.fill.as_deref()
    }

    /// A column of an input with the numbers of classes instead of those of texts; `names` are the texts of its
    /// numbers.
    ///
    /// # Errors
    /// A text that is not a known class.
    #[doc(hidden)]
    pub fn column(
        &self,
        input: &str,
        column: &Column,
        names: Option<&[String]>,
    ) -> Result<Column, Diagnostic> {
        let Some(classes) = self.classes.get(input) else { return Ok(column.clone()) };
        if let Some(other) = unclear(&column.elements, classes) {
            return Err(unknown_value(input, &other, classes));
        }
        let Elements::Int(v) = &column.elements else { return Ok(column.clone()) };
        let class = |x: &i64| {
            let name = names.and_then(|names| names.get(usize::try_from(*x).ok()?).cloned());
            if name.is_none() && !look_like_values(classes) {
                return Ok(*x);
            }
            let name = name.unwrap_or_else(|| x.to_string());
            let class = classes.iter().position(|class| *class == name);
            class
                .and_then(|class| i64::try_from(class).ok())
                .ok_or_else(|| unknown_value(input, &name, classes))
        };
        let v = v.iter().map(class).collect::<Result<_, _>>()?;
        Ok(Column { elements: Elements::Int(v), ..column.clone() })
    }

    /// The value of an input in a gap; `None` if the input is absent there.
    #[doc(hidden)]
    pub fn gap(&self, input: &InputInfo, single: bool, precision: Precision) -> Option<Value> {
        let steps =
            self.steps.get(&*input.name).filter(|steps| steps.fill.is_some() && input.clock.is_none())?;
        let dims = input.ty.shape.dims();
        let cell = Shape::new(if single { dims.get(1..).unwrap_or_default() } else { dims });
        let ty = Type { dtype: input.ty.dtype, shape: cell };
        let filled = steps.filled(None, &ty, 1, &[], precision == Precision::F64);
        let value = Value::new(input.ty.shape.clone(), filled.to_data());
        Some(steps.applied(value, precision))
    }

    /// The precision in which the values of an input are read, for a program of this precision.
    #[doc(hidden)]
    pub fn precision_of(&self, input: &str, precision: Precision) -> Precision {
        if self.scale(input).is_some() { Precision::F64 } else { precision }
    }

    /// The prepared value of an input, for a program of this precision.
    #[doc(hidden)]
    pub fn applied(&self, input: &str, value: Value, precision: Precision) -> Value {
        match self.steps.get(input) {
            Some(steps) => steps.applied(value, precision),
            None => value,
        }
    }

    /// The prepared values of an input in some cycles, stacked, and the cycles in which it has a value: all of them, if
    /// its gaps are filled.
    #[doc(hidden)]
    pub fn cycles(
        &self,
        input: &InputInfo,
        present: Vec<bool>,
        values: Value,
        precision: Precision,
    ) -> (Vec<bool>, Value) {
        let Some(steps) = self.steps.get(&*input.name) else { return (present, values) };
        if steps.fill.is_none() || input.clock.is_some() || present.iter().all(|there| *there) {
            return (present, steps.applied(values, precision));
        }
        let there: Vec<usize> = (0..present.len()).filter(|n| present[*n]).collect();
        let double = self.precision_of(&input.name, precision) == Precision::F64;
        let filled = steps.filled(Some(values), &input.ty, present.len(), &there, double);
        (vec![true; present.len()], steps.applied(filled, precision))
    }

    /// The means and the deviations that standardise the elements of an input.
    pub fn scale(&self, input: &str) -> Option<(&[f64], &[f64])> {
        self.steps.get(input)?.scale.as_ref().map(Scale::parts)
    }

    /// The inputs whose values the preparation changes.
    pub fn changed_inputs(&self) -> Vec<&str> {
        self.steps
            .iter()
            .filter(|(_, steps)| steps.scale.is_some())
            .map(|(input, _)| input.as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let classes = Recipe::parse_classes(&["y = cat, \"a,b\" ,dog"]).unwrap();
        assert_eq!(classes["y"], ["cat", "a,b", "dog"]);
        for text in ["y", "=a", "y=", "y=a..b", "y=a,", "y=a,a"] {
            assert_eq!(Recipe::parse_classes(&[text]).unwrap_err().code(), Some(codes::BAD_OPTION), "{text}");
        }
        let fills = Recipe::parse_fills(&["x=mean", "y=0.5"]).unwrap();
        assert_eq!((&fills["x"], &fills["y"]), (&Fill::Mean, &Fill::Given("0.5".into())));
        assert!(Recipe::parse_fills(&["x=0", "x=1"]).is_err() && Recipe::parse_fills(&["x"]).is_err());
    }
}
