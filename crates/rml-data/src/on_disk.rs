//! Data that may be larger than memory: the elements of all columns are in a temporary file, and are read when they are
//! needed.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rml_base::{Diagnostic, Error};
use rml_files::Scratch;

use crate::columns::{Columns, Elements};
use crate::joined::data_files;
use crate::layout::Layout;
use crate::pieces::{self, PIECE};
use crate::selection::Selection;
use crate::stored::{AT_ONCE, Stored};

/// A table of columns whose elements are in a temporary file. Only the names, the shapes, one number for each row of a
/// column with gaps or sequences, and the column `lengths` are in memory. Cheap to clone.
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let file = folder.path().join("data.csv");
/// # std::fs::write(&file, "x,y\n1,2\n2,4\n").expect("a file");
/// use rml::OnDisk;
///
/// let data = OnDisk::read_all(&[&file])?;
/// let same = data.clone(); // the file is there once, and goes with the last of them
/// # drop((data, same));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct OnDisk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stored: Stored,
    scratch: Scratch,
}

/// Data for training and inference: [`Columns`], or data [`OnDisk`]. Both give the same bits.
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let file = folder.path().join("data.csv");
/// # std::fs::write(&file, "x,y\n1,2\n2,4\n").expect("a file");
/// use rml::{Columns, Dataset, OnDisk};
///
/// let (all, pieces) = (Columns::read(&file)?, OnDisk::read_all(&[&file])?);
/// let either: [&dyn Dataset; 2] = [&all, &pieces];
/// # assert_eq!(either.len(), 2);
/// # Ok(()) }
/// ```
pub trait Dataset: std::fmt::Debug + Send + Sync {
    /// The columns; for data on disk, without their elements.
    #[doc(hidden)]
    fn table(&self) -> &Columns;

    /// The elements that are not in memory, if there are any.
    #[doc(hidden)]
    fn on_disk(&self) -> Option<&OnDisk>;

    /// The windows, if they were cut from the rows of a long table.
    #[doc(hidden)]
    fn layout(&self) -> Option<&Arc<Layout>> {
        None
    }

    /// The maximal number of windows.
    #[doc(hidden)]
    fn most_windows(&self) -> usize {
        self.layout().map_or_else(|| self.table().most_rows(), |layout| layout.windows())
    }

    /// Passes all elements of a column to `each`, piece by piece.
    ///
    /// # Errors
    /// The elements cannot be read.
    #[doc(hidden)]
    fn for_each(&self, name: &str, each: &mut dyn FnMut(&Elements)) -> Result<(), Diagnostic> {
        match self.on_disk().filter(|disk| disk.has(name)) {
            Some(disk) => disk.pieces(name, each),
            None => {
                self.table().columns.get(name).iter().for_each(|column| each(&column.elements));
                Ok(())
            }
        }
    }
}

impl Dataset for Columns {
    fn table(&self) -> &Columns {
        self
    }

    fn on_disk(&self) -> Option<&OnDisk> {
        None
    }
}

impl Dataset for OnDisk {
    fn table(&self) -> &Columns {
        &self.0.stored.table
    }

    fn on_disk(&self) -> Option<&OnDisk> {
        Some(self)
    }
}

impl OnDisk {
    /// As [`Columns::read_all`], with the elements in a temporary file. Files are read in pieces: JSON lines and CSV by
    /// lines, arrays of npz by elements. JSON documents, and arrays in Fortran order or of unsigned 64-bit integers,
    /// are read as a whole.
    ///
    /// # Errors
    /// As [`Columns::read_all`]; a temporary file that cannot be written.
    pub fn read_all<P: AsRef<Path>>(paths: &[P]) -> Result<Self, Error> {
        Self::read_selected(paths, &Selection::all())
    }

    /// As [`OnDisk::read_all`], for the selected columns.
    ///
    /// # Errors
    /// As [`OnDisk::read_all`].
    pub fn read_selected<P: AsRef<Path>>(paths: &[P], selection: &Selection) -> Result<Self, Error> {
        Self::read_by(paths, selection, PIECE)
    }

    /// The same, in pieces of about this many bytes.
    ///
    /// # Errors
    /// As [`OnDisk::read_all`].
    #[doc(hidden)]
    pub fn read_by<P: AsRef<Path>>(paths: &[P], selection: &Selection, piece: usize) -> Result<Self, Error> {
        let scratch = Scratch::new()?;
        let mut stored = Stored::default();
        for (i, file) in data_files(paths)?.iter().enumerate() {
            let next = pieces::read(&scratch, file, selection, piece)?;
            if i == 0 { stored = next } else { stored.append(next)? }
        }
        stored.refuse_inexact(&scratch)?;
        stored.table.cases.clone_from(selection.cases());
        stored.table.presence = selection.presence();
        Ok(Self(Arc::new(Inner { stored, scratch })))
    }

    /// The columns without their elements.
    pub fn columns(&self) -> &Columns {
        &self.0.stored.table
    }

    /// Passes all elements of a column in the file to `each`, piece by piece. The elements of a column in memory are in
    /// the table.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn pieces(&self, name: &str, each: &mut dyn FnMut(&Elements)) -> Result<(), Diagnostic> {
        let segments = self.0.stored.segments.get(name).map_or(&[][..], Vec::as_slice);
        for segment in segments {
            for start in (segment.start..segment.end()).step_by(AT_ONCE) {
                each(&self.elements(name, start..segment.end().min(start + AT_ONCE))?);
            }
        }
        Ok(())
    }

    /// Whether the elements of a column are in the file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.stored.segments.get(name).is_some_and(|segments| !segments.is_empty())
    }

    /// Elements of a column, in the type of the whole column.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn elements(&self, name: &str, range: Range<usize>) -> Result<Elements, Diagnostic> {
        let Inner { stored, scratch } = &*self.0;
        let mut all = stored.table.columns.get(name).map_or(Elements::Int(Vec::new()), |c| c.elements.none());
        let segments = stored.segments.get(name).map_or(&[][..], Vec::as_slice);
        let first = segments.partition_point(|segment| segment.end() <= range.start);
        for segment in segments[first..].iter().take_while(|segment| segment.start < range.end) {
            let within = range.start.max(segment.start)..range.end.min(segment.end());
            // Their type was checked when the column was made.
            all.append(segment.read(scratch, within)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use rml_base::codes::run as codes;
    use rml_ir::{DType, InputInfo, Precision, Shape, Type};

    use super::*;
    use crate::Windows;
    use crate::columns::Column;

    /// Inputs `x: num [batch, ..]` with these cells, and `y: int [batch]`, which accepts `end`.
    fn inputs(cell: &[usize]) -> Vec<InputInfo> {
        let input = |name: &str, ty: Type, clock: Option<&str>| InputInfo {
            name: name.into(),
            batched: name != "end",
            ty,
            clock: clock.map(|name| (name.into(), true)),
        };
        vec![
            input("x", Type::new(DType::Num, &[&[2], cell].concat()), None),
            input("y", Type::new(DType::Int, &[2]), Some("end")),
            input("end", Type::scalar(DType::Bool), None),
        ]
    }

    /// The windows of these files, or the error, which must be the same from memory and from disk in pieces of any
    /// size.
    fn same(files: &[(&str, &[u8])], cell: &[usize], allow_nan: bool) -> Result<usize, String> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
        for (path, (_, bytes)) in paths.iter().zip(files) {
            std::fs::write(path, bytes).unwrap();
        }
        let look = |data: &dyn Dataset| {
            let windows = Windows::bind(data, &inputs(cell), Precision::F32, allow_nan);
            let here = format!("{}/", folder.path().display());
            let message = |d: &rml_base::Diagnostic| d.message.replace(&here, "");
            let windows = windows.map_err(|d| d.iter().map(message).collect::<String>())?;
            let order: Vec<usize> = (0..windows.count).rev().collect();
            let batches = windows.batches(&order, 2);
            let blocks = batches.iter().map(|batch| windows.block(batch, false).map_err(|d| d.message));
            Ok::<_, String>((windows.count, format!("{:?}", blocks.collect::<Result<Vec<_>, _>>()?)))
        };
        let expected = look(&Columns::read_all(&paths).map_err(|e| e.to_string())?);
        for piece in [1, 7, 50, PIECE] {
            let disk = OnDisk::read_by(&paths, &Selection::all(), piece).map_err(|e| e.to_string()).unwrap();
            assert_eq!(look(&disk), expected, "pieces of {piece} bytes");
        }
        expected.map(|(count, _)| count)
    }

    #[test]
    fn windows_are_those_of_data_in_memory() {
        let line = |x: &str, y: i64| format!("{{\"x\": {x}, \"y\": {y}}}\n");
        let even: String = (0..20).map(|i| line(&format!("[{i}, {i}.5, 3]"), i)).collect();
        let ragged: String =
            (0..20).map(|i| line(&format!("{:?}", vec![i; 1 + i as usize % 7 / 3]), i)).collect();
        let late = line("[1, 2]", 0) + &line("[3, 4]", 1) + &line("[5]", 2) + &line("[6, 7]", 3);
        assert_eq!(same(&[("a.jsonl", even.as_bytes())], &[], false), Ok(20));
        assert_eq!(same(&[("a.jsonl", ragged.as_bytes())], &[], false), Ok(20));
        assert_eq!(same(&[("a.jsonl", late.as_bytes())], &[], false), Ok(4));
        let gaps = "{\"x\": [1.0, 2.0]}\n\n{\"x\": [1.0, 2.0], \"y\": 3}\n{\"y\": 4, \"x\": null}\n";
        assert_eq!(
            same(&[("a.jsonl", gaps.as_bytes())], &[], false).map_err(|e| e.contains("has no value")),
            Err(true)
        );
        let table = "y,x[0],\"x[1]\"\r\n1,0.5,1\r\n\"2\",7,8\r\n3,9,1e3\n";
        assert_eq!(same(&[("a.csv", table.as_bytes())], &[2], false), Ok(3));
        let whole = r#"{"x": [[9, 8, 7]], "y": [5]}"#;
        assert_eq!(same(&[("a.jsonl", even.as_bytes()), ("b.json", whole.as_bytes())], &[], false), Ok(21));
    }

    #[test]
    fn arrays_are_read_in_pieces() {
        let array =
            |dims: &[usize], elements: Elements| Column { shape: Shape::new(dims), elements, present: None };
        let archive = |columns: Vec<(&str, Column)>| {
            let mut table = Columns::default();
            table.columns.extend(columns.into_iter().map(|(name, column)| (name.to_owned(), column)));
            table.to_npz().unwrap()
        };
        let labels = || ("y", array(&[5], Elements::Int(vec![4, 3, 2, 1, 0])));
        let x: Vec<f64> = (0..30).map(f64::from).collect();
        let even = archive(vec![("x", array(&[5, 3, 2], Elements::F64(x.clone()))), labels()]);
        assert_eq!(same(&[("a.npz", &even)], &[2], false), Ok(5));
        // Padding may have any values.
        let mut padded = x.clone();
        (padded[4], padded[28]) = (f64::NAN, f64::NAN);
        let lengths = |n: Vec<i64>| ("lengths", array(&[n.len()], Elements::Int(n)));
        let columns =
            |n: Vec<i64>| vec![("x", array(&[5, 3, 2], Elements::F64(padded.clone()))), lengths(n), labels()];
        let (short, long) = (archive(columns(vec![2, 3, 1, 3, 2])), archive(columns(vec![2, 3, 1, 3, 3])));
        assert_eq!(same(&[("a.npz", &short)], &[2], false), Ok(5));
        assert_eq!(
            same(&[("a.npz", &long)], &[2], false),
            Err("column `x`, window 4, cycle 2 of a.npz: NaN".into())
        );
        assert_eq!(same(&[("a.npz", &long)], &[2], true), Ok(5));
        let joined = vec![("x", array(&[15, 2], Elements::F64(x))), lengths(vec![1, 5, 4, 3, 2]), labels()];
        assert_eq!(same(&[("a.npz", &archive(joined))], &[2], false), Ok(5));
    }

    #[test]
    fn what_is_wrong_is_named_as_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            [path]
        };
        let message = |paths: &[std::path::PathBuf]| {
            let memory = Columns::read_all(paths).unwrap_err();
            let disk = OnDisk::read_by(paths, &Selection::all(), 2).unwrap_err();
            assert_eq!(disk.code(), memory.code());
            (disk.to_string(), memory.to_string())
        };
        for lines in ["{\"x\": 1}\n{\"x\": 1}\n[]\n", "\n\n{\n", "{\"x\": 1}\n\n{\"x\": 1, \"x\": 2}\n"] {
            let (disk, memory) = message(&path("b.jsonl", lines));
            assert_eq!(disk, memory);
        }
        for rows in ["x\n1\n2\n\"3\n", "\nx,y\n1,2\n3,4\n5\n"] {
            let (disk, memory) = message(&path("c.csv", rows));
            assert_eq!(disk, memory);
        }
        let why = |paths: &[std::path::PathBuf]| {
            let memory = Columns::read_all(paths).unwrap().unusable["x"].to_string();
            let disk =
                OnDisk::read_by(paths, &Selection::all(), 2).unwrap().table().unusable["x"].to_string();
            (disk, memory)
        };
        let (disk, memory) =
            why(&path("b.jsonl", "{\"x\": 1}\n\n{\"x\": 2}\n{\"x\": [1, [2]]}\n{\"x\": true}\n"));
        assert_eq!(disk, memory);
        assert!(disk.starts_with("line 4, column 7: row 2: the rows"), "{disk}");
        let (disk, memory) = why(&path("c.csv", "\nx,y\n1,2\n2,2\nthree,2\n4,2\n"));
        assert_eq!(disk, memory);
        assert!(disk.starts_with("line 5, column 1: `three` is a text"), "{disk}");
        let (disk, memory) = why(&path("a.jsonl", "{\"x\": 1}\n\n{\"x\": 2}\n{\"x\": true}\n{\"x\": 4}\n"));
        assert!(disk.contains("it holds integers and truth values"), "{disk}");
        assert!(memory.contains("line 4, column 7: row 2: truth values and numbers"), "{memory}");
        let cut = path("d.npz", "no archive");
        let (disk, memory) = message(&cut);
        assert_eq!(disk, memory);
        let (disk, memory) = why(&path("e.jsonl", "{\"x\": 9007199254740993}\n{\"x\": 0.5}\n"));
        assert!(disk.contains("9007199254740993") && memory.contains("9007199254740993"), "{disk} {memory}");
        assert_eq!(
            OnDisk::read_all(&[folder.path().join("none.npz")]).unwrap_err().code(),
            Some(codes::UNREADABLE_FILE)
        );
    }
}
