//! Files of tensors from other libraries and for them: safetensors, NumPy archives and, for small files, JSON.

use std::path::Path;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::memory::{Reservation, bytes_of};
use rml_base::{Diagnostic, Error};
use rml_data::half::{BF16, F16, Half};
use rml_data::{Column, Columns, Elements, Format};
use rml_files::contents;
use rml_ir::{Data, Shape, Value};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::foreign::no_tensors;

/// The storage of a tensor's elements.
///
/// ```
/// use rml::Stored;
///
/// assert_eq!(Stored::named("f32"), Some(Stored::F32));
/// assert_eq!(Stored::named("float"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Stored {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

const NAMES: [(Stored, &str, Dtype); 13] = [
    (Stored::Bool, "bool", Dtype::BOOL),
    (Stored::I8, "i8", Dtype::I8),
    (Stored::I16, "i16", Dtype::I16),
    (Stored::I32, "i32", Dtype::I32),
    (Stored::I64, "i64", Dtype::I64),
    (Stored::U8, "u8", Dtype::U8),
    (Stored::U16, "u16", Dtype::U16),
    (Stored::U32, "u32", Dtype::U32),
    (Stored::U64, "u64", Dtype::U64),
    (Stored::F16, "f16", Dtype::F16),
    (Stored::Bf16, "bf16", Dtype::BF16),
    (Stored::F32, "f32", Dtype::F32),
    (Stored::F64, "f64", Dtype::F64),
];

impl Stored {
    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, n, _)| *n == name).map(|(stored, ..)| *stored)
    }

    /// All names, for messages.
    pub(crate) fn list() -> String {
        let names: Vec<&str> = NAMES.iter().map(|(_, name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    }

    /// Whether elements of this type are numbers, and neither integers nor truth values.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Stored::F16 | Stored::Bf16 | Stored::F32 | Stored::F64)
    }

    fn of(dtype: Dtype) -> Option<Self> {
        NAMES.iter().find(|(_, _, d)| *d == dtype).map(|(stored, ..)| *stored)
    }

    fn dtype(self) -> Dtype {
        NAMES.iter().find(|(stored, ..)| *stored == self).map_or(Dtype::F32, |(_, _, d)| *d)
    }
}

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(NAMES.iter().find(|(stored, ..)| stored == self).map_or("", |(_, name, _)| name))
    }
}

/// A tensor of a file. Integers of any width are read as `i64`, numbers in half precision as `f32`, both without loss.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// # let weights = rml::TensorFile::read(&path)?;
/// let bias = &weights.tensors["fc.bias"];
/// assert_eq!((bias.shape.len(), bias.data.get(0).as_num()), (1, Some(0.5)));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FileTensor {
    /// The storage of its elements in the file.
    pub stored: Stored,
    /// Its dimensions.
    pub shape: Shape,
    /// Its elements, row-major.
    pub data: Data,
}

impl FileTensor {
    /// Whether both are stored in the same way and have the same elements; all NaN are equal.
    pub fn same(&self, other: &FileTensor) -> bool {
        let value = |t: &FileTensor| Value::new(t.shape.clone(), t.data.clone());
        self.stored == other.stored && value(self).same(&value(other))
    }
}

/// The tensors of a file.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("net.rml", "import std.layers;  node net(x: num [2]) -> (y)  y = dense(1, x);");
/// # let options = rml::Options::default();
/// # let arrays = br#"{"fc.weight": [[3.0, 4.0]], "fc.bias": [0.5]}"#;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("weights.json");
/// # std::fs::write(&path, arrays).expect("a file");
/// let weights = rml::TensorFile::read(&path)?;
/// assert_eq!(weights.tensors["fc.weight"].shape.dims(), [1, 2]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct TensorFile {
    /// The name of the file, for messages.
    pub origin: String,
    /// The tensors by name, in the order of the file (of safetensors, sorted by name).
    pub tensors: IndexMap<String, FileTensor>,
    /// Entries of the file that are not usable tensors, with the reasons.
    pub unusable: IndexMap<String, String>,
    /// An upper bound on the bytes of its elements.
    pub(crate) reserved: Reservation,
}

/// Whether this is the name of a file of tensors: `.safetensors`, `.npz` or `.json`.
pub fn is_tensor_file(path: &Path) -> bool {
    is_safetensors(path) || matches!(Format::of(path), Some(Format::Npz | Format::Json))
}

fn is_safetensors(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("safetensors"))
}

impl TensorFile {
    /// Tensors from another source; `origin` names it in messages.
    pub fn of(origin: impl Into<String>, tensors: IndexMap<String, FileTensor>) -> Self {
        Self { origin: origin.into(), tensors, ..Self::default() }
    }

    /// Reads a file by its extension: `.safetensors`, `.npz` or `.json` (an object of nested arrays).
    ///
    /// # Errors
    /// A file that cannot be read, is malformed, or has another extension.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let origin = path.display().to_string();
        if is_safetensors(path) {
            return Self::parse(&contents::data(path)?.bytes, &origin).map_err(Error::from);
        }
        if !is_tensor_file(path) {
            let d = unknown(path, "no known tensor format");
            return Err(no_tensors(d, &contents::data(path)?.bytes).into());
        }
        let columns = Columns::read(path)?;
        let unusable = columns.unusable.into_iter().map(|(name, why)| (name, why.to_string())).collect();
        let mut found = Self { origin, unusable, ..Self::default() };
        for (name, column) in columns.columns {
            if column.present.is_some() {
                found.unusable.insert(name, "a part of it is null".into());
                continue;
            }
            found.tensors.insert(name, of_column(column));
        }
        if !found.unusable.is_empty() && matches!(Format::of(path), Some(Format::Json)) {
            found.add_scalars(&contents::data(path)?.bytes);
        }
        Ok(found)
    }

    /// Adds the entries of a JSON object that are single values; these are not columns of data.
    fn add_scalars(&mut self, bytes: &[u8]) {
        let Ok(serde_json::Value::Object(entries)) = serde_json::from_slice(bytes) else { return };
        for (name, value) in entries {
            let (stored, data) = match value {
                serde_json::Value::Bool(b) => (Stored::Bool, Data::Bool(vec![b])),
                serde_json::Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                    (Some(whole), _) => (Stored::I64, Data::Int(vec![whole])),
                    (None, Some(x)) => (Stored::F64, Data::F64(vec![x])),
                    (None, None) => continue,
                },
                serde_json::Value::Null
                | serde_json::Value::String(_)
                | serde_json::Value::Array(_)
                | serde_json::Value::Object(_) => continue,
            };
            self.unusable.shift_remove(&name);
            self.tensors.insert(name, FileTensor { stored, shape: Shape::scalar(), data });
        }
    }

    /// Reads the bytes of a safetensors file.
    pub(crate) fn parse(bytes: &[u8], origin: &str) -> Result<Self, Diagnostic> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| {
            Diagnostic::error(
                codes::MALFORMED_DATA,
                format!("{origin} is no safetensors file, or is damaged"),
            )
            .note(e.to_string())
        })?;
        let mut found = Self { origin: origin.to_owned(), ..Self::default() };
        let mut views: Vec<(&str, TensorView<'_>)> = file.iter().collect();
        views.sort_by(|a, b| a.0.cmp(b.0));
        for (name, view) in views {
            let what = || format!("tensor `{name}` of {origin}");
            found.reserved.grow(held(&view)).map_err(|short| short.diagnostic(what()))?;
            match of_view(&view) {
                Ok(tensor) => {
                    found.tensors.insert(name.to_owned(), tensor);
                }
                Err(why) => {
                    found.unusable.insert(name.to_owned(), why);
                }
            }
        }
        Ok(found)
    }

    /// Writes a file by its extension, `.safetensors` or `.npz`, in one step. An npz archive has numbers in half
    /// precision as single precision, and integers as `i64`.
    ///
    /// # Errors
    /// Another extension; a file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        Self::check_format(path)?;
        let bytes = if is_safetensors(path) { self.to_safetensors()? } else { self.to_npz()? };
        rml_files::write_output(path, &bytes)
    }

    /// Checks that [`TensorFile::write`] supports the extension of a file.
    ///
    /// # Errors
    /// Another extension.
    pub fn check_format(path: &Path) -> Result<(), Error> {
        if is_safetensors(path) || Format::of(path) == Some(Format::Npz) {
            return Ok(());
        }
        Err(unknown(path, "no tensor format that can be written").into())
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Diagnostic> {
        let failed = |e: safetensors::SafeTensorError| {
            Diagnostic::error(codes::UNWRITABLE_FILE, "the tensors cannot be written").note(e.to_string())
        };
        let bytes: Vec<Vec<u8>> = self.tensors.values().map(|t| encode(&t.data, t.stored)).collect();
        let views = self.tensors.iter().zip(&bytes).map(|((name, t), bytes)| {
            let view = TensorView::new(t.stored.dtype(), t.shape.dims().to_vec(), bytes).map_err(failed)?;
            Ok((name.as_str(), view))
        });
        // required by PyTorch's own loader
        let metadata = [("format".to_owned(), "pt".to_owned())].into();
        safetensors::serialize(views.collect::<Result<Vec<_>, Diagnostic>>()?, Some(metadata)).map_err(failed)
    }

    fn to_npz(&self) -> Result<Vec<u8>, Error> {
        let column = |t: &FileTensor| {
            let elements = match rounded(&t.data, t.stored) {
                Data::Bool(v) => Elements::Bool(v),
                Data::Int(v) => Elements::Int(v),
                Data::F32(v) => Elements::F32(v),
                Data::F64(v) => Elements::F64(v),
            };
            Column { shape: t.shape.clone(), elements, present: None }
        };
        let mut columns = Columns::new(self.origin.clone());
        columns.columns = self.tensors.iter().map(|(name, t)| (name.clone(), column(t))).collect();
        columns.to_npz()
    }
}

fn unknown(path: &Path, what: &str) -> Diagnostic {
    Diagnostic::error(codes::UNKNOWN_FORMAT, format!("{} is in {what}", path.display()))
        .note("the extension says the format: .safetensors or .npz")
}

fn of_column(column: Column) -> FileTensor {
    let (stored, data) = match column.elements {
        Elements::Bool(v) => (Stored::Bool, Data::Bool(v)),
        Elements::Int(v) => (Stored::I64, Data::Int(v)),
        Elements::F32(v) => (Stored::F32, Data::F32(v)),
        Elements::F64(v) => (Stored::F64, Data::F64(v)),
    };
    FileTensor { stored, shape: column.shape, data }
}

/// The size of its elements in memory, in bytes.
fn held(view: &TensorView<'_>) -> u64 {
    let size = match Stored::of(view.dtype()) {
        None | Some(Stored::Bool) => 1,
        Some(Stored::F16 | Stored::Bf16 | Stored::F32) => size_of::<f32>(),
        Some(_) => size_of::<i64>(),
    };
    bytes_of(Shape::new(view.shape()).checked_len().unwrap_or(0), size)
}

/// `Err` = why the tensor is not usable.
fn of_view(view: &TensorView<'_>) -> Result<FileTensor, String> {
    let strange = || format!("its elements are of type {:?}", view.dtype());
    let stored = Stored::of(view.dtype()).ok_or_else(strange)?;
    let data = decode(view.data(), stored).ok_or("an integer is larger than 2^63 - 1")?;
    let shape = Shape::new(view.shape());
    match shape.checked_len() == Some(data.len()) {
        true => Ok(FileTensor { stored, shape, data }),
        false => Err(format!("its shape {shape} does not fit its elements")),
    }
}

/// Little-endian elements; `None` if an integer does not fit `i64`.
fn decode(bytes: &[u8], stored: Stored) -> Option<Data> {
    fn each<const N: usize, T>(bytes: &[u8], f: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|b| f(*b)).collect()
    }
    Some(match stored {
        Stored::Bool => Data::Bool(bytes.iter().map(|b| *b != 0).collect()),
        Stored::I8 => Data::Int(each(bytes, |b| i8::from_le_bytes(b).into())),
        Stored::I16 => Data::Int(each(bytes, |b| i16::from_le_bytes(b).into())),
        Stored::I32 => Data::Int(each(bytes, |b| i32::from_le_bytes(b).into())),
        Stored::I64 => Data::Int(each(bytes, i64::from_le_bytes)),
        Stored::U8 => Data::Int(each(bytes, |b| u8::from_le_bytes(b).into())),
        Stored::U16 => Data::Int(each(bytes, |b| u16::from_le_bytes(b).into())),
        Stored::U32 => Data::Int(each(bytes, |b| u32::from_le_bytes(b).into())),
        Stored::U64 => {
            let wide = each(bytes, |b| i64::try_from(u64::from_le_bytes(b)).ok());
            Data::Int(wide.into_iter().collect::<Option<_>>()?)
        }
        Stored::F16 => Data::F32(each(bytes, |b| F16.to_f32(u16::from_le_bytes(b)))),
        Stored::Bf16 => Data::F32(each(bytes, |b| BF16.to_f32(u16::from_le_bytes(b)))),
        Stored::F32 => Data::F32(each(bytes, f32::from_le_bytes)),
        Stored::F64 => Data::F64(each(bytes, f64::from_le_bytes)),
    })
}

/// The elements in this type: numbers are rounded to it, other elements are unchanged.
#[allow(clippy::cast_possible_truncation, reason = "rounding to the type of the file is meant")]
pub(crate) fn rounded(data: &Data, stored: Stored) -> Data {
    let halves = |format: Half, v: &mut dyn Iterator<Item = f64>| {
        Data::F32(v.map(|x| format.to_f32(format.nearest(x))).collect())
    };
    match (data, stored) {
        (Data::F64(v), Stored::F32) => Data::F32(v.iter().map(|x| *x as f32).collect()),
        (Data::F64(v), Stored::F16) => halves(F16, &mut v.iter().copied()),
        (Data::F64(v), Stored::Bf16) => halves(BF16, &mut v.iter().copied()),
        (Data::F32(v), Stored::F16) => halves(F16, &mut v.iter().map(|x| f64::from(*x))),
        (Data::F32(v), Stored::Bf16) => halves(BF16, &mut v.iter().map(|x| f64::from(*x))),
        (Data::F32(v), Stored::F64) => Data::F64(v.iter().map(|x| f64::from(*x)).collect()),
        _ => data.clone(),
    }
}

/// The bytes of elements that were [`rounded`] or have the type already.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the elements were read from that type"
)]
fn encode(data: &Data, stored: Stored) -> Vec<u8> {
    fn each<T: Copy, const N: usize>(v: &[T], f: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        v.iter().flat_map(|x| f(*x)).collect()
    }
    match (rounded(data, stored), stored) {
        (Data::Bool(v), _) => v.iter().map(|b| u8::from(*b)).collect(),
        (Data::Int(v), Stored::I8 | Stored::U8) => each(&v, |x| (x as u8).to_le_bytes()),
        (Data::Int(v), Stored::I16 | Stored::U16) => each(&v, |x| (x as u16).to_le_bytes()),
        (Data::Int(v), Stored::I32 | Stored::U32) => each(&v, |x| (x as u32).to_le_bytes()),
        (Data::Int(v), _) => each(&v, i64::to_le_bytes),
        (Data::F32(v), Stored::F16) => each(&v, |x| F16.nearest(x.into()).to_le_bytes()),
        (Data::F32(v), Stored::Bf16) => each(&v, |x| BF16.nearest(x.into()).to_le_bytes()),
        (Data::F32(v), _) => each(&v, f32::to_le_bytes),
        (Data::F64(v), _) => each(&v, f64::to_le_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tensors: &[(&str, Stored, Data)]) -> TensorFile {
        let tensor = |(name, stored, data): &(&str, Stored, Data)| {
            let shape = Shape::new(&[data.len()]);
            ((*name).to_owned(), FileTensor { stored: *stored, shape, data: data.clone() })
        };
        TensorFile {
            origin: "f".into(),
            tensors: tensors.iter().map(tensor).collect(),
            ..TensorFile::default()
        }
    }

    #[test]
    fn every_type_comes_back() {
        let ints = |v: &[i64]| Data::Int(v.to_vec());
        let sample = file(&[
            ("a", Stored::Bool, Data::Bool(vec![true, false])),
            ("b", Stored::I8, ints(&[-128, 127])),
            ("c", Stored::I16, ints(&[-32768, 5])),
            ("d", Stored::I32, ints(&[i64::from(i32::MIN), 7])),
            ("e", Stored::I64, ints(&[i64::MIN, i64::MAX])),
            ("f", Stored::U8, ints(&[0, 255])),
            ("g", Stored::U16, ints(&[65535])),
            ("h", Stored::U32, ints(&[4_294_967_295])),
            ("i", Stored::U64, ints(&[i64::MAX])),
            ("j", Stored::F16, Data::F32(vec![0.5, -65504.0, 2_f32.powi(-24)])),
            ("k", Stored::Bf16, Data::F32(vec![1.0, -(2_f32.powi(127)), f32::INFINITY])),
            ("l", Stored::F32, Data::F32(vec![0.1, -0.0])),
            ("m", Stored::F64, Data::F64(vec![0.1, 1e300])),
        ]);
        let bytes = sample.to_safetensors().unwrap();
        let read = TensorFile::parse(&bytes, "f").unwrap();
        assert!(read.unusable.is_empty() && read.tensors.len() == sample.tensors.len());
        for (name, tensor) in &sample.tensors {
            assert!(read.tensors[name].same(tensor), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let view = TensorView::new(Dtype::U64, vec![1], &[0xff; 8]).unwrap();
        assert!(of_view(&view).unwrap_err().contains("larger"));
        let view = TensorView::new(Dtype::F8_E4M3, vec![2], &[0; 2]).unwrap();
        assert!(of_view(&view).unwrap_err().contains("F8_E4M3"));
    }

    #[test]
    fn damage_never_panics() {
        let good = file(&[("a", Stored::F32, Data::F32(vec![1.0, 2.0]))]).to_safetensors().unwrap();
        for end in 0..good.len() {
            assert!(TensorFile::parse(&good[..end], "f").is_err());
        }
        for at in 0..good.len() {
            for byte in [0, b'9', b'[', b'"', 0xff, good[at] ^ 1] {
                let mut bad = good.clone();
                bad[at] = byte;
                let _ = TensorFile::parse(&bad, "f");
            }
        }
    }
}
