//! Which columns are read.

use std::collections::BTreeSet;

use crate::builder::{Builder, Reading};
use crate::columns::LENGTHS;
use crate::malformed::Malformed;

/// Which columns are read. Those that it leaves out take no memory, and are [unusable](crate::Columns::unusable).
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
pub struct Selection(Option<BTreeSet<String>>);

impl Selection {
    /// All columns.
    pub fn all() -> Self {
        Self(None)
    }

    /// The columns of those names, and the one that says how long windows are.
    pub fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self(Some(names.into_iter().map(Into::into).collect()))
    }

    /// Whether a column is read.
    pub fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| name == LENGTHS || names.contains(name))
    }

    /// The column of that name before its first cell.
    pub(crate) fn reading(&self, name: &str, cells: impl FnOnce() -> Builder) -> Reading {
        if self.has(name) { Reading::Cells(cells()) } else { Reading::Refused(left_out()) }
    }
}

/// Why a column is unusable that is not read.
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
