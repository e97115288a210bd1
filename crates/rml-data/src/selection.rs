//! Selects the columns of data files that are read, and how to read them.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, suggest, visible_name};

use crate::builder::{Builder, List, Reading};
use crate::columns::LENGTHS;
use crate::dialect::Dialect;
use crate::filling::Filling;
use crate::formats::Format;
use crate::labels::Texts;
use crate::malformed::Malformed;
use crate::mapping::ColumnMapping;

/// The columns to read, and how. Columns that it leaves out take no memory, and are
/// [unusable](crate::Columns::unusable).
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let file = std::env::temp_dir().join("rml-doc-selection.csv");
/// std::fs::write(&file, "x,day\n1.5,Monday\n").expect("it is written");
/// let table = rml::Columns::read_selected(&[&file], &rml::Selection::of(["x"]))?;
/// # std::fs::remove_file(&file).expect("it is there");
/// assert_eq!(table.columns.keys().collect::<Vec<_>>(), ["x"]);
/// assert!(table.unusable["day"].to_string().contains("was not read"));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Selection {
    /// The names; `None` = all.
    names: Option<BTreeSet<String>>,
    dialect: Dialect,
    mapping: ColumnMapping,
    /// The inputs of the node that are not conditions, if they are known.
    feeding: Vec<String>,
    /// The format that overrides the names of files.
    format: Option<Format>,
    /// The integer inputs, if they are known.
    integers: Vec<String>,
    /// The names of the values of inputs that are cases of an enumeration.
    cases: BTreeMap<String, Vec<String>>,
    /// The inputs that accept texts.
    texts: BTreeMap<String, Texts>,
    /// The inputs whose values may have absent elements.
    filled: BTreeSet<String>,
    /// The inputs that are lists, if they are known.
    lists: BTreeMap<String, List>,
}

impl Selection {
    /// All columns.
    pub fn all() -> Self {
        Self::default()
    }

    /// The columns with these names, and the column `lengths`.
    pub fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { names: Some(names.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// The same, for a node whose inputs of these names accept numbers or classes.
    #[must_use]
    pub fn feeding<S: Into<String>>(self, inputs: impl IntoIterator<Item = S>) -> Self {
        Self { feeding: inputs.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same; columns of the inputs in `texts` contain texts, and elements of those in `filled` may be absent.
    pub(crate) fn taking(self, texts: BTreeMap<String, Texts>, filled: BTreeSet<String>) -> Self {
        Self { texts: self.texts.into_iter().chain(texts).collect(), filled, ..self }
    }

    /// The same; inputs with these names are integers, so that texts may name their values.
    #[must_use]
    pub fn with_integers<S: Into<String>>(self, inputs: impl IntoIterator<Item = S>) -> Self {
        Self { integers: inputs.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same; values of inputs have these names, in the order of their numbers.
    #[must_use]
    pub fn with_cases(self, cases: BTreeMap<String, Vec<String>>) -> Self {
        let texts = cases.keys().map(|input| (input.clone(), Texts::Names)).collect();
        Self { cases, texts, ..self }
    }

    /// The same, with the number of entries along the first dimension, and the number of dimensions, of inputs that are
    /// lists (without the dimension of windows). If gaps are filled, shorter lists are filled up to this number.
    #[must_use]
    pub fn with_lists(self, lists: impl IntoIterator<Item = (String, (usize, usize))>) -> Self {
        let lists = lists.into_iter().map(|(input, (entries, rank))| (input, List { entries, rank }));
        Self { lists: lists.collect(), ..self }
    }

    /// The inputs that say whether another input has a value, and these inputs.
    pub(crate) fn presence(&self) -> BTreeMap<String, String> {
        self.mapping.presence().map(|(input, of)| (input.to_owned(), of.to_owned())).collect()
    }

    /// The names of the values of inputs that are cases of an enumeration.
    pub(crate) fn cases(&self) -> &BTreeMap<String, Vec<String>> {
        &self.cases
    }

    /// The integer inputs.
    pub(crate) fn integers(&self) -> &[String] {
        &self.integers
    }

    /// The same, for files in this format, whatever their names.
    #[must_use]
    pub fn in_format(self, format: Option<Format>) -> Self {
        Self { format, ..self }
    }

    /// The same, for tables in text files with this dialect.
    #[must_use]
    pub fn written(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The same, with these columns for inputs.
    ///
    /// # Errors
    /// The mapping names an input that is not among the names, and is not what a training recorded.
    pub fn mapped(self, mapping: ColumnMapping) -> Result<Self, Error> {
        let is_known = |input: &str| self.names.as_ref().is_none_or(|names| names.contains(input));
        let mapping = mapping.fitting(|input| input == LENGTHS || is_known(input));
        if let Some(names) = &self.names
            && let Some(input) = mapping.inputs().find(|input| *input != LENGTHS && !names.contains(*input))
        {
            let what = format!("the program has no input `{}` for `--columns`", visible_name(input));
            let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            let d = d.note(format!("inputs are {}", known.join(", ")));
            return Err(match suggest(input, names.iter().map(String::as_str)) {
                Some(near) => d.help(format!("there is `{near}`")).into(),
                None => d.help("write the name of an input before the `=`").into(),
            });
        }
        let is_unknown = |of: &str| self.names.as_ref().is_some_and(|names| !names.contains(of));
        if let Some((input, of)) = mapping.presence().find(|(_, of)| is_unknown(of)) {
            let (input, of) = (visible_name(input), visible_name(of));
            let what = format!("`--columns '{input}=present({of})'`: the program has no input `{of}`");
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            return Err(d.help("`present(y)` says whether the input `y` has a value in a cycle").into());
        }
        Ok(Self { mapping, ..self })
    }

    /// The same, with columns that no input needs: each with the texts that it accepts if no input has its name.
    pub(crate) fn also<'n>(mut self, columns: impl IntoIterator<Item = (&'n str, Texts)>) -> Self {
        for (column, texts) in columns {
            let is_input = self.names.as_ref().is_some_and(|names| names.contains(column));
            if let Some(names) = &mut self.names {
                names.insert(column.to_owned());
            }
            let texts = if is_input && texts == Texts::All { Texts::Names } else { texts };
            self.texts.entry(column.to_owned()).or_insert(texts);
        }
        self
    }

    /// Whether a column is read.
    pub fn has(&self, name: &str) -> bool {
        let names = self.names.as_ref();
        names.is_none_or(|names| name == LENGTHS || names.contains(name)) || self.mapping.uses(name)
    }

    /// The format of tables in text files, as far as the user gives it.
    pub(crate) fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The only input, if there is just one.
    pub(crate) fn only(&self) -> Option<&str> {
        match &self.feeding[..] {
            [input] => Some(input),
            _ => None,
        }
    }

    /// The format of all files, if the user gives it.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format
    }

    /// The columns of inputs with other names.
    pub(crate) fn mapping(&self) -> &ColumnMapping {
        &self.mapping
    }

    /// The same for a table whose columns have the names of inputs.
    pub(crate) fn of_inputs(&self) -> Self {
        let Self { names, texts, filled, lists, integers, .. } = self.clone();
        Self { names, texts, filled, lists, integers, ..Self::default() }
    }

    /// Whether the gaps of an input are filled.
    pub(crate) fn fills(&self, input: &str) -> bool {
        self.filled.contains(input)
    }

    /// How the gaps of a column may be filled.
    pub(crate) fn filling(&self, column: &str) -> Filling {
        let fed = self.mapping.inputs().find(|input| self.mapping.gives(column, input));
        let input = fed.unwrap_or(column).to_owned();
        let has_mean = !self.integers.contains(&input);
        Filling { input, has_mean }
    }

    /// The texts that a column accepts.
    pub(crate) fn texts(&self, column: &str) -> Texts {
        self.taken(column).0
    }

    /// The texts that a column accepts, and whether single elements may be absent.
    fn taken(&self, column: &str) -> (Texts, bool) {
        if self.mapping.reads_dates(column) {
            return (Texts::Dates, false);
        }
        let feeds = |input: &String| *input == column || self.mapping.gives(column, input);
        let texts = self.texts.iter().filter(|(input, _)| feeds(input)).map(|(_, texts)| *texts).next();
        (texts.unwrap_or_default(), self.filled.iter().any(feeds))
    }

    /// Begins to read the column with this name.
    pub(crate) fn reading(&self, name: &str, cells: impl FnOnce() -> Builder) -> Reading {
        if !self.has(name) {
            return Reading::Refused(left_out());
        }
        let (texts, has_gaps) = self.taken(name);
        let list = self.lists.iter().find(|(input, _)| *input == name || self.mapping.gives(name, input));
        Reading::Cells(cells().taking(texts, has_gaps).filling_up(list.map(|(_, list)| *list)))
    }
}

/// The reason why a column that is not read is unusable.
pub(crate) fn left_out() -> Malformed {
    Malformed::lacking("it was not read, since no input of the program had its name".to_owned())
}

#[cfg(test)]
mod tests {
    use rml_ir::Shape;

    use super::*;
    use crate::{Column, Columns, Dataset as _, Elements, OnDisk};

    /// A file in each format whose column `wide` takes much more than its column `x`; `x` has rows 0 and 1.
    fn files() -> (tempfile::TempDir, Vec<std::path::PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let cell = format!("[{}]", vec!["0.5"; 4096].join(","));
        let object = |i: usize| format!("{{\"wide\": {cell}, \"x\": {i}}}");
        let names = (0..512).map(|i| format!("wide[{i}]")).collect::<Vec<_>>().join(",");
        let row = |i: usize| format!("{},{i}", vec!["0.5"; 512].join(","));
        let mut arrays = Columns::new("");
        let wide = Column {
            shape: Shape::new(&[2, 1 << 16]),
            elements: Elements::F64(vec![0.0; 1 << 17]),
            present: None,
        };
        let x = Column { shape: Shape::new(&[2]), elements: Elements::Int(vec![0, 1]), present: None };
        arrays.columns.extend([("wide".to_owned(), wide), ("x".to_owned(), x)]);
        let files = [
            ("t.npz", arrays.to_npz().unwrap()),
            ("t.csv", format!("{names},x\n{}\n{}\n", row(0), row(1)).into_bytes()),
            ("t.json", format!("[{}, {}]", object(0), object(1)).into_bytes()),
            ("a.json", format!("{{\"wide\": [{cell}, {cell}], \"x\": [0, 1]}}").into_bytes()),
            ("t.jsonl", format!("{}\n{}\n", object(0), object(1)).into_bytes()),
        ];
        let paths = files.iter().map(|(name, bytes)| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        });
        let paths = paths.collect();
        (folder, paths)
    }

    #[test]
    fn what_is_left_out_is_named_and_takes_no_memory() {
        let (_folder, files) = files();
        let selection = Selection::of(["x"]);
        for file in &files {
            let one = Columns::read_selected(&[file], &selection).unwrap();
            let all = Columns::read(file).unwrap();
            let disk = OnDisk::read_selected(&[file], &selection).unwrap();
            assert_eq!(one.columns.get("x"), all.columns.get("x"), "{}", file.display());
            for table in [&one, disk.table()] {
                assert!(table.columns.keys().eq(["x"]), "{}", file.display());
                assert!(table.unusable["wide"].to_string().contains("was not read"), "{}", file.display());
            }
            assert!(one.memory.bytes() * 8 < all.memory.bytes(), "{}", file.display());
        }
    }

    #[test]
    fn files_are_joined_by_what_is_selected() {
        let (_folder, files) = files();
        let two = Columns::read_selected(&[&files[0], &files[4]], &Selection::of(["x"])).unwrap();
        assert_eq!(two.columns["x"].elements, Elements::Int(vec![0, 1, 0, 1]));
        assert!(two.unusable["wide"].to_string().contains("was not read"));
        assert!(Columns::read_all(&[&files[0], &files[4]]).unwrap().columns.contains_key("wide"));
    }

    #[test]
    fn lengths_are_always_read() {
        let text = b"{\"x\": [1, 2, 3], \"lengths\": [2, 1], \"y\": [1, 2]}";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.json");
        std::fs::write(&file, text).unwrap();
        let read = Columns::read_selected(&[&file], &Selection::of(["x"])).unwrap();
        assert!(read.columns.keys().eq(["x", "lengths"]));
    }
}
