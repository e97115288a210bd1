//! A NumPy array (`.npy`): a strict reader for the header of numeric arrays, and for their elements.

use rml_base::memory::bytes_of;
use rml_ir::Shape;

use crate::columns::{Column, Elements};
use crate::half::F16;
use crate::malformed::Malformed;

/// The longest header; that of a numeric array is never longer.
const MAX_HEADER: usize = 1 << 16;
/// The most dimensions of an array, as in NumPy.
const MAX_RANK: usize = 64;

/// The content of a header.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    /// The type of the elements, such as `<f4`; `None` if it is not a plain type.
    pub(crate) descr: Option<String>,
    /// Whether the first index varies fastest.
    pub(crate) fortran: bool,
    /// The dimensions.
    pub(crate) shape: Vec<usize>,
    /// The position of the first element.
    pub(crate) data: usize,
}

/// The storage of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stored {
    Bool,
    Int(usize),
    Uint(usize),
    Float(usize),
}

impl Stored {
    fn size(self) -> usize {
        match self {
            Stored::Bool => 1,
            Stored::Int(n) | Stored::Uint(n) | Stored::Float(n) => n,
        }
    }
}

/// The length of the header in bytes, from the first bytes of a file.
pub(crate) fn header_len(start: &[u8]) -> Result<usize, Malformed> {
    let not_npy = || {
        Malformed::new("not a NumPy array: the file does not begin with `\\x93NUMPY`")
            .help("an npy file is written by NumPy's `save`; check that the extension names the format")
    };
    let start: &[u8; 12] = start.first_chunk().ok_or_else(not_npy)?;
    let [m @ .., major, minor, a, b, c, d] = *start;
    if m != *b"\x93NUMPY" {
        return Err(not_npy());
    }
    let (len, text) = match (major, minor) {
        (1, 0) => (usize::from(u16::from_le_bytes([a, b])), 10),
        (2 | 3, 0) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
        _ => return Err(Malformed::new(format!("version {major}.{minor} of the NumPy format is not known"))),
    };
    if len > MAX_HEADER {
        return Err(Malformed::too_large(format!("the header says that it is {len} bytes long"))
            .note(format!("expected at most {MAX_HEADER}")));
    }
    Ok(text + len)
}

/// Reads the header at the beginning of `bytes`.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, Malformed> {
    let end = header_len(bytes)?;
    let begin = if bytes[6] == 1 { 10 } else { 12 };
    let text = bytes.get(begin..end).ok_or_else(|| Malformed::new("the file ends within its header"))?;
    let text = std::str::from_utf8(text).map_err(|_| Malformed::new("the header is not text"))?;
    let bad = |what: &str| Malformed::new(format!("the header is malformed: {what}"));
    let mut scan = Scan(text.trim());
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    scan.expect('{').ok_or_else(|| bad("no dictionary"))?;
    while !scan.accept('}') {
        let key = scan.string().ok_or_else(|| bad("a key is no string"))?;
        scan.expect(':').ok_or_else(|| bad("no `:` after a key"))?;
        match key {
            "descr" if scan.0.starts_with(['\'', '"']) => {
                descr = Some(scan.string().ok_or_else(|| bad("`descr` has no end"))?.to_owned());
            }
            // A record type; the rest does not matter, since its arrays cannot be columns.
            "descr" => return Ok(Header { descr: None, fortran: false, shape: Vec::new(), data: end }),
            "fortran_order" => {
                fortran = Some(scan.truth().ok_or_else(|| bad("`fortran_order` is no truth value"))?);
            }
            "shape" => {
                let dims = scan.tuple().ok_or_else(|| bad("`shape` is no tuple of sizes"))?;
                if dims.len() > MAX_RANK {
                    return Err(bad("`shape` has more than 64 dimensions"));
                }
                shape = Some(dims);
            }
            _ => return Err(bad("an unknown key")),
        }
        if !scan.accept(',') && !scan.0.starts_with('}') {
            return Err(bad("no `,` between entries"));
        }
    }
    match (descr, fortran, shape) {
        (Some(descr), Some(fortran), Some(shape)) => {
            Ok(Header { descr: Some(descr), fortran, shape, data: end })
        }
        _ => Err(bad("`descr`, `fortran_order` or `shape` is missing")),
    }
}

/// The rest of a header's text.
struct Scan<'a>(&'a str);

impl<'a> Scan<'a> {
    fn accept(&mut self, c: char) -> bool {
        let Some(rest) = self.0.strip_prefix(c) else { return false };
        self.0 = rest.trim_start();
        true
    }

    fn expect(&mut self, c: char) -> Option<()> {
        self.accept(c).then_some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = self.0.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest.trim_start();
        Some(text)
    }

    fn truth(&mut self) -> Option<bool> {
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest.trim_start();
                return Some(value);
            }
        }
        None
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.expect('(')?;
        let mut dims = Vec::new();
        while !self.accept(')') {
            let digits = self.0.len() - self.0.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            dims.push(self.0[..digits].parse().ok()?);
            self.0 = self.0[digits..].trim_start_matches('L').trim_start();
            if !self.accept(',') && !self.0.starts_with(')') {
                return None;
            }
        }
        Some(dims)
    }
}

/// The storage and byte order of a type such as `<f4`.
fn stored(descr: &str) -> Option<(Stored, bool)> {
    let mut chars = descr.chars();
    let big = match chars.next()? {
        '<' | '|' | '=' => false,
        '>' => true,
        _ => return None,
    };
    let kind = chars.next()?;
    let size = chars.as_str();
    let stored = match (kind, size) {
        ('b', "1") => Stored::Bool,
        ('i', "1" | "2" | "4" | "8") => Stored::Int(size.parse().ok()?),
        ('u', "1" | "2" | "4" | "8") => Stored::Uint(size.parse().ok()?),
        ('f', "2" | "4" | "8") => Stored::Float(size.parse().ok()?),
        _ => return None,
    };
    Some((stored, big))
}

/// A description of elements that no input can use.
fn foreign(descr: &str) -> &'static str {
    match descr.trim_start_matches(['<', '>', '|', '=']).chars().next() {
        Some('O') => " (Python objects, as from rows of different lengths: fill the rows up to one length)",
        Some('U' | 'S' | 'a') => " (texts: write a number for each)",
        Some('c') => " (complex numbers: store real and imaginary part as two arrays)",
        Some('M' | 'm') => " (dates or times: store them as numbers, in NumPy `.astype(float)`)",
        _ => "",
    }
}

impl Header {
    /// The size of the elements in bytes; `Err` = why the array cannot be a column.
    pub(crate) fn data_bytes(&self) -> Result<Option<u64>, String> {
        let Some(descr) = &self.descr else { return Err("its elements are records".into()) };
        let Some((stored, _)) = stored(descr) else {
            let what = foreign(descr);
            return Err(format!("elements of type `{descr}`{what} are neither numbers nor truth values"));
        };
        // The dimensions of an array without elements must still be small enough to iterate over, and to be written for
        // any type.
        let empty = self.shape.contains(&0);
        let size = if empty { 8 } else { stored.size() as u64 };
        let extents = self.shape.iter().filter(|d| **d > 0);
        let bytes = extents.copied().try_fold(size, |n, d| n.checked_mul(d as u64));
        let total = bytes.map(|n| if empty { 0 } else { n });
        Ok(total.filter(|_| self.shape.len() <= 32))
    }

    /// The size of the elements in memory, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let size = match self.descr.as_deref().and_then(stored) {
            None => 0,
            Some((Stored::Bool, _)) => 1,
            Some((Stored::Float(2 | 4), _)) => size_of::<f32>(),
            Some(_) => size_of::<i64>(),
        };
        bytes_of(self.shape.iter().product(), size)
    }

    /// The size of an element in bytes, if the elements can be read in pieces: they are stored row by row, and the kind
    /// of each piece can be told without the others.
    pub(crate) fn in_pieces(&self) -> Option<usize> {
        let (stored, _) = self.descr.as_deref().and_then(stored)?;
        let is_plain = stored != Stored::Uint(8) && !(self.fortran && self.shape.len() > 1);
        is_plain.then(|| stored.size())
    }

    /// Reads a piece of the elements, which starts with element number `first`.
    ///
    /// `Err` = why the array cannot be a column.
    pub(crate) fn piece(&self, bytes: &[u8], first: usize) -> Result<Elements, String> {
        match self.descr.as_deref().and_then(stored) {
            Some((stored, big)) => elements(bytes, first, stored, big),
            None => Err("its elements are of an unknown type".into()),
        }
    }

    /// Reads the elements from `bytes`, which has the size of [`Header::data_bytes`].
    ///
    /// `Err` = why the array cannot be a column.
    pub(crate) fn column(&self, bytes: &[u8]) -> Result<Column, String> {
        let Some((stored, big)) = self.descr.as_deref().and_then(stored) else {
            return Err("its elements are of an unknown type".into());
        };
        let elements = elements(bytes, 0, stored, big)?;
        let elements = if self.fortran && self.shape.len() > 1 {
            match elements {
                Elements::Bool(v) => Elements::Bool(row_major(&v, &self.shape)),
                Elements::Int(v) => Elements::Int(row_major(&v, &self.shape)),
                Elements::F32(v) => Elements::F32(row_major(&v, &self.shape)),
                Elements::F64(v) => Elements::F64(row_major(&v, &self.shape)),
            }
        } else {
            elements
        };
        Ok(Column { shape: Shape::new(&self.shape), elements, present: None })
    }
}

/// The elements in these bytes, starting with element number `first`.
fn elements(bytes: &[u8], first: usize, stored: Stored, big: bool) -> Result<Elements, String> {
    /// Elements of `N` bytes each, converted to little-endian order.
    fn each<const N: usize, T>(bytes: &[u8], big: bool, f: impl Fn([u8; N]) -> T) -> Vec<T> {
        let (chunks, _) = bytes.as_chunks::<N>();
        chunks
            .iter()
            .map(|&c| {
                let mut c = c;
                if big {
                    c.reverse();
                }
                f(c)
            })
            .collect()
    }
    Ok(match stored {
        Stored::Bool => {
            if let Some(i) = bytes.iter().position(|b| *b > 1) {
                return Err(format!("element {} is a byte {}, no truth value", first + i, bytes[i]));
            }
            Elements::Bool(bytes.iter().map(|b| *b == 1).collect())
        }
        Stored::Int(1) => Elements::Int(each(bytes, big, |b| i8::from_le_bytes(b).into())),
        Stored::Int(2) => Elements::Int(each(bytes, big, |b| i16::from_le_bytes(b).into())),
        Stored::Int(4) => Elements::Int(each(bytes, big, |b| i32::from_le_bytes(b).into())),
        Stored::Int(_) => Elements::Int(each(bytes, big, i64::from_le_bytes)),
        Stored::Uint(1) => Elements::Int(each(bytes, big, |b| u8::from_le_bytes(b).into())),
        Stored::Uint(2) => Elements::Int(each(bytes, big, |b| u16::from_le_bytes(b).into())),
        Stored::Uint(4) => Elements::Int(each(bytes, big, |b| u32::from_le_bytes(b).into())),
        Stored::Uint(_) => unsigned(&each(bytes, big, u64::from_le_bytes))?,
        Stored::Float(2) => Elements::F32(each(bytes, big, |b| F16.to_f32(u16::from_le_bytes(b)))),
        Stored::Float(4) => Elements::F32(each(bytes, big, f32::from_le_bytes)),
        Stored::Float(_) => Elements::F64(each(bytes, big, f64::from_le_bytes)),
    })
}

/// Integers; or, if one of them is too large, numbers of the same value.
fn unsigned(v: &[u64]) -> Result<Elements, String> {
    if let Ok(ints) = v.iter().map(|i| i64::try_from(*i)).collect() {
        return Ok(Elements::Int(ints));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "compared afterwards")]
    let exact = |i: u64| Some(i as f64).filter(|x| *x as u128 == u128::from(i));
    match v.iter().position(|i| exact(*i).is_none()) {
        None => Ok(Elements::F64(v.iter().filter_map(|i| exact(*i)).collect())),
        Some(i) => Err(format!(
            "it has integers larger than 2^63 - 1, and element {i}, {}, is not exact in double precision",
            v[i]
        )),
    }
}

/// The elements of a column-major array in row-major order.
fn row_major<T: Copy>(v: &[T], shape: &[usize]) -> Vec<T> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &d in shape {
        strides.push(stride);
        stride *= d;
    }
    let mut index = vec![0_usize; shape.len()];
    let mut at = 0;
    let mut out = Vec::with_capacity(v.len());
    while out.len() < v.len() {
        out.push(v[at]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    out
}

/// The type of [`Elements::Int`].
pub(crate) const INTEGERS: &str = "<i8";

/// The type of elements, and their bytes.
pub(crate) fn raw(elements: &Elements) -> (&'static str, Vec<u8>) {
    match elements {
        Elements::Bool(v) => ("|b1", v.iter().map(|b| u8::from(*b)).collect()),
        Elements::Int(v) => (INTEGERS, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Elements::F32(v) => ("<f4", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Elements::F64(v) => ("<f8", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
    }
}

/// The elements from the bytes that [`raw`] returned.
pub(crate) fn of_raw(descr: &str, bytes: &[u8]) -> Elements {
    let read = stored(descr).and_then(|(stored, big)| elements(bytes, 0, stored, big).ok());
    read.unwrap_or_else(|| Elements::Int(Vec::new()))
}

/// The size in bytes of an element of this type.
pub(crate) fn size(descr: &str) -> usize {
    stored(descr).map_or(0, |(stored, _)| stored.size())
}

/// An array as a file.
pub(crate) fn write(column: &Column) -> Vec<u8> {
    let (descr, data) = raw(&column.elements);
    file(descr, &column.shape, data)
}

/// Texts as a file: a vector of texts of one width, in UTF-32.
pub(crate) fn write_texts(texts: &[String]) -> Vec<u8> {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let padded = texts.iter().flat_map(|text| text.chars().chain(std::iter::repeat('\0')).take(width));
    let data = padded.flat_map(|c| u32::from(c).to_le_bytes()).collect();
    file(&format!("<U{width}"), &Shape::new(&[texts.len()]), data)
}

fn file(descr: &str, shape: &Shape, data: Vec<u8>) -> Vec<u8> {
    let dims: String = shape.dims().iter().map(|d| format!("{d}, ")).collect();
    let dims = if shape.rank() > 1 { dims.trim_end_matches(", ") } else { dims.trim_end() };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    fn read(bytes: &[u8]) -> Result<Column, String> {
        let h = header(bytes).map_err(|e| e.what())?;
        h.column(&bytes[h.data..])
    }

    #[test]
    fn unsigned_integers_are_integers_or_exact_numbers() {
        let h = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }\n";
        let array = |v: [u64; 2]| file(h, &v.map(u64::to_le_bytes).concat());
        let max = i64::MAX;
        assert_eq!(read(&array([1, max as u64])).unwrap().elements, Elements::Int(vec![1, max]));
        let numbers = Elements::F64(vec![1.0, 2_f64.powi(63)]);
        assert_eq!(read(&array([1, 1 << 63])).unwrap().elements, numbers);
        for v in [[1, u64::MAX], [(1 << 53) + 1, 1 << 63]] {
            let why = read(&array(v)).unwrap_err();
            assert!(why.contains(&v[usize::from(v[0] == 1)].to_string()), "{why}");
        }
    }

    #[test]
    fn column_major_becomes_row_major() {
        let h = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n";
        let data: Vec<u8> = [1_i16, 4, 2, 5, 3, 6].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(read(&file(h, &data)).unwrap().elements, Elements::Int(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn byte_order_and_halves() {
        let h = "{'descr': '>f2', 'fortran_order': False, 'shape': (5,), }\n";
        let data = [0x3c, 0x00, 0xc0, 0x00, 0x00, 0x01, 0x7c, 0x00, 0x35, 0x55];
        let expected = vec![1.0, -2.0, 2_f32.powi(-24), f32::INFINITY, 0.333_251_95];
        assert_eq!(read(&file(h, &data)).unwrap().elements, Elements::F32(expected));
    }

    #[test]
    fn what_is_written_reads_back() {
        for shape in [vec![6], vec![2, 3], vec![1, 6, 1]] {
            let c = Column {
                shape: Shape::new(&shape),
                elements: Elements::F64(vec![0.1, -2.0, 3.5, f64::MAX, 1e-300, 0.0]),
                present: None,
            };
            assert_eq!(read(&write(&c)).unwrap(), c);
        }
    }

    #[test]
    fn hostile_headers_are_errors() {
        for h in [
            "",
            "{",
            "{'descr'",
            "{'descr': '<f4'}",
            "((((((",
            "{'shape': (1,",
            "{'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
            "{'descr': '<f4' 'fortran_order': True}",
            "{'é'",
        ] {
            assert!(header(&file(h, b"")).is_err(), "{h}");
        }
        assert!(header(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").is_err());
        assert!(header(b"\x93NUMPY\x01\x00\xff\x00{}").is_err());
        let records = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }";
        assert!(header(&file(records, b"")).unwrap().data_bytes().is_err());
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }";
        assert_eq!(header(&file(huge, b"")).unwrap().data_bytes(), Ok(None));
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }";
        assert_eq!(header(&file(huge, b"")).unwrap().data_bytes(), Ok(None));
    }
}
