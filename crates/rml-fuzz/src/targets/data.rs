//! Data files and tensor files: data that is read must be the same after it is written and read again; other files must
//! be refused.

use std::collections::BTreeSet;
use std::io::{Cursor, Write as _};
use std::path::Path;

use rml::{Column, Columns, Dataset as _, Elements, Format, OnDisk, Selection, Shape, TensorFile};
use rml_base::Error;
use rml_testkit::Lcg;
use zip::write::SimpleFileOptions;

use super::{Target, bytes, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "data",
    about: "npz, csv, json, jsonl and safetensors files: read in memory and on disk, and written and read again, they are the same, or they are refused",
    chunk: 2500,
    generate,
    check,
    smaller: nothing_smaller,
};

const EXTENSIONS: [&str; 5] = ["npz", "csv", "json", "jsonl", "safetensors"];

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let kept = corpus.of(TARGET.name);
    if !kept.is_empty() && r.chance(0.3) {
        let case = r.pick(kept);
        return FuzzInput::bytes(&case.extension, bytes::damaged(&case.bytes, r));
    }
    let extension = *r.pick(&EXTENSIONS);
    let made = match extension {
        "npz" => archive(r),
        "safetensors" => safetensors(r),
        "json" => table(r).to_json().into_bytes(),
        "csv" => csv(r).into_bytes(),
        _ => json_lines(r).into_bytes(),
    };
    let made = if r.chance(0.75) { bytes::damaged(&made, r) } else { made };
    FuzzInput::bytes(extension, made)
}

/// A table of random columns; columns of text formats may have missing rows.
fn table(r: &mut Lcg) -> Columns {
    let mut columns = Columns::default();
    let rows = r.below(5);
    for k in 0..1 + r.below(3) {
        let dims: Vec<usize> = std::iter::once(rows).chain((0..r.below(3)).map(|_| r.below(4))).collect();
        let n = dims.iter().product();
        let elements = match r.below(4) {
            0 => Elements::Bool((0..n).map(|_| r.chance(0.5)).collect()),
            1 => Elements::Int((0..n).map(|_| integer(r)).collect()),
            2 => Elements::F32((0..n).map(|_| real(r) as f32).collect()),
            _ => Elements::F64((0..n).map(|_| real(r)).collect()),
        };
        columns.columns.insert(format!("c{k}"), Column { shape: Shape::new(&dims), elements, present: None });
    }
    columns
}

pub(super) fn integer(r: &mut Lcg) -> i64 {
    *r.pick(&[0, 1, -1, 7, -3, 16_777_217, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN])
}

pub(super) fn real(r: &mut Lcg) -> f64 {
    let any = r.range(-10.0, 10.0);
    *r.pick(&[any, any, 0.0, -0.0, 0.1, 1e300, 1e-310, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX])
}

/// A cell of a table as text.
pub(super) fn word(r: &mut Lcg) -> String {
    let any = r.range(-10.0, 10.0);
    let words = [
        "", "1", "-2", "true", "false", "1.5", "NaN", "inf", "1e5", "-0", "x", "\"\"", "\"1\"", " 3", "007",
        "é",
    ];
    if r.chance(0.3) { format!("{any:.3}") } else { (*r.pick(&words)).to_owned() }
}

fn csv(r: &mut Lcg) -> String {
    let columns = 1 + r.below(4);
    let end = *r.pick(&["\n", "\r\n", "\n"]);
    let header: Vec<String> = (0..columns)
        .map(|k| r.pick(&["x", "y[0]", "y[1]", "m[0,1]", "", "\"a,b\"", "z"]).to_string() + &k.to_string())
        .collect();
    let mut text = header.join(",") + end;
    let column_words: Vec<Vec<String>> =
        (0..columns).map(|_| (0..1 + r.below(3)).map(|_| word(r)).collect()).collect();
    for _ in 0..r.below(6) {
        let row: Vec<String> = column_words.iter().map(|words| r.pick(words).clone()).collect();
        text += &(row.join(",") + end);
    }
    text
}

fn json_lines(r: &mut Lcg) -> String {
    let mut text = String::new();
    for _ in 0..r.below(6) {
        let cells: Vec<String> = (0..1 + r.below(3)).map(|k| format!("\"k{k}\": {}", json(r, 3))).collect();
        text += &format!("{{{}}}\n", cells.join(", "));
    }
    text
}

fn json(r: &mut Lcg, depth: usize) -> String {
    if depth > 0 && r.chance(0.4) {
        let cells: Vec<String> = (0..r.below(4)).map(|_| json(r, depth - 1)).collect();
        return format!("[{}]", cells.join(", "));
    }
    let any = format!("{:.4}", r.range(-9.0, 9.0));
    (*r.pick(&["null", "true", "0", "1", "-1", "1.5", "\"NaN\"", "-0", "1e3", "9223372036854775807", &any]))
        .to_owned()
}

/// An archive of arrays. Some arrays are damaged before they are archived, so the archive's checksums are correct.
fn archive(r: &mut Lcg) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for k in 0..r.below(3) + 1 {
        let method =
            if r.chance(0.5) { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
        let options = SimpleFileOptions::default().compression_method(method);
        let name = *r.pick(&["a.npy", "b.npy", "c", "d.npy", "é.npy", "x/y.npy"]);
        let array = array(r);
        let array = if r.chance(0.3) { bytes::damaged(&array, r) } else { array };
        // A second entry with the same name is not written; the archive is then smaller.
        if writer.start_file(format!("{k}{name}"), options).is_ok() {
            let _ = writer.write_all(&array);
        }
    }
    writer.finish().map(Cursor::into_inner).unwrap_or_default()
}

/// An `.npy` file.
fn array(r: &mut Lcg) -> Vec<u8> {
    let kinds = [
        ("<f8", 8),
        ("<f4", 4),
        ("|b1", 1),
        ("<i8", 8),
        ("<i4", 4),
        ("|u1", 1),
        ("|i1", 1),
        ("<u8", 8),
        (">f8", 8),
        (">i2", 2),
        ("<f2", 2),
        ("<U3", 12),
        ("|S4", 4),
        ("<c8", 8),
        ("|O", 8),
        ("<M8[s]", 8),
    ];
    let (kind, size) = *r.pick(&kinds);
    let mut dims: Vec<usize> = (0..r.below(4)).map(|_| r.below(4)).collect();
    let bytes: Vec<u8> =
        (0..dims.iter().product::<usize>() * size).map(|_| u8::try_from(r.below(256)).unwrap_or(0)).collect();
    if r.chance(0.1) {
        dims.push(*r.pick(&[usize::MAX, 1 << 62, 1 << 32, 1_000_000_007, 0]));
    }
    let shape = dims.iter().map(|d| format!("{d},")).collect::<Vec<_>>().join(" ");
    let order = if r.chance(0.3) { "True" } else { "False" };
    let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({shape}), }}");
    let pad = 64 - (10 + header.len() + 1) % 64;
    let text = format!("{header}{}\n", " ".repeat(pad));
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
    file.extend(text.bytes());
    file.extend(bytes);
    file
}

fn safetensors(r: &mut Lcg) -> Vec<u8> {
    let kinds = [
        ("F32", 4),
        ("F64", 8),
        ("BOOL", 1),
        ("I64", 8),
        ("F16", 2),
        ("BF16", 2),
        ("U8", 1),
        ("F8_E4M3", 1),
        ("I16", 2),
    ];
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for k in 0..r.below(4) {
        let (kind, size) = *r.pick(&kinds);
        let dims: Vec<usize> = (0..r.below(3)).map(|_| r.below(4)).collect();
        let start = data.len();
        data.extend(
            (0..dims.iter().product::<usize>() * size).map(|_| u8::try_from(r.below(256)).unwrap_or(0)),
        );
        entries.push(format!(
            "\"t{k}\":{{\"dtype\":\"{kind}\",\"shape\":{dims:?},\"data_offsets\":[{start},{}]}}",
            data.len()
        ));
    }
    let mut header = format!("{{{}}}", entries.join(","));
    if r.chance(0.3) {
        header = String::from_utf8_lossy(&bytes::damaged(header.as_bytes(), r)).into_owned();
    }
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(data);
    file
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let name = format!("case.{}", case.extension);
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join(&name);
    std::fs::write(&path, &case.bytes).map_err(|e| e.to_string())?;
    if let Some(format) = Format::of(Path::new(&name)) {
        let columns = Columns::parse(&case.bytes, format, &name);
        for piece in [3, 1 << 20] {
            on_disk(&columns, OnDisk::read_by(&[&path], &Selection::all(), piece), piece)?;
        }
        if let Ok(columns) = columns {
            consistent(&columns)?;
            written(&columns)?;
        }
    }
    if !matches!(&*case.extension, "safetensors" | "npz" | "json") {
        return Ok(());
    }
    match TensorFile::read(&path) {
        Ok(file) => rewritten(&file, folder.path()),
        Err(_) => Ok(()),
    }
}

/// Checks that a file read on disk, in pieces of any size, has the same columns as in memory, or is refused with the
/// same code.
pub(super) fn on_disk(
    memory: &Result<Columns, Error>,
    disk: Result<OnDisk, Error>,
    piece: usize,
) -> Result<(), String> {
    let (memory, disk) = match (memory, disk) {
        (Ok(memory), Ok(disk)) => (memory, disk),
        (Err(memory), Err(disk)) if memory.code() == disk.code() => return Ok(()),
        (memory, disk) => {
            let said = |e: Option<&Error>| e.map_or("it is read".to_owned(), Error::to_string);
            let (memory, disk) = (said(memory.as_ref().err()), said(disk.as_ref().err()));
            return Err(format!("refused otherwise on disk\nin memory: {memory}\nby {piece}: {disk}"));
        }
    };
    let table = disk.table();
    let unusable = |columns: &Columns| columns.unusable.keys().cloned().collect::<BTreeSet<_>>();
    if !memory.columns.keys().eq(table.columns.keys()) || unusable(memory) != unusable(table) {
        return Err(format!("other columns on disk\nin memory: {memory:?}\nby {piece}: {table:?}"));
    }
    for (name, column) in &memory.columns {
        let mut elements = Vec::new();
        disk.for_each(name, &mut |some| elements.extend(numbers(some, false))).map_err(|d| d.to_string())?;
        let other = &table.columns[name];
        let present = |c: &Column| c.present.clone().filter(|p| p.len() < c.rows());
        let same = column.shape == other.shape
            && present(column) == present(other)
            && memory.lengths(name) == table.lengths(name)
            && numbers(&column.elements, false) == elements;
        if !same {
            return Err(format!(
                "a column differs on disk\n{name:?}: {column:?}\nby {piece}: {other:?} of {elements:?}"
            ));
        }
    }
    Ok(())
}

/// Checks that the number of elements fits the shape and the number of present rows.
pub(super) fn consistent(columns: &Columns) -> Result<(), String> {
    for (name, column) in &columns.columns {
        let mut dims = column.shape.dims().to_vec();
        if let Some(rows) = dims.first_mut() {
            *rows = column.present_rows();
        }
        let inside = column.present.iter().flatten().all(|row| *row < column.rows());
        if Shape::new(&dims).checked_len() != Some(column.elements.len()) || !inside {
            let (shape, n) = (&column.shape, column.elements.len());
            return Err(format!(
                "a column does not fit its shape\n{name:?} of shape {shape} has {n} elements"
            ));
        }
    }
    Ok(())
}

/// Checks that the columns are the same after they are written and read again.
fn written(columns: &Columns) -> Result<(), String> {
    if let Ok(bytes) = columns.to_npz() {
        let again = Columns::parse(&bytes, Format::Npz, "again")
            .map_err(|e| format!("written as npz, but not read: {e}"))?;
        compare(columns, &again, "npz")?;
    }
    let text = columns.to_json();
    let again = Columns::parse(text.as_bytes(), Format::Json, "again");
    let again = again.map_err(|e| format!("written as json, but not read: {e}\n{text}"))?;
    compare(columns, &again, "json")
}

pub(super) fn compare(columns: &Columns, again: &Columns, format: &str) -> Result<(), String> {
    for (name, column) in &columns.columns {
        let Some(other) = again.columns.get(name) else {
            if column.elements.is_empty() {
                continue;
            }
            return Err(format!("a column is lost in {format}\n{name:?}: {:?}", again.unusable.get(name)));
        };
        // In JSON, empty arrays have no element type, a dimension of 0 hides the rest of the shape, and a column must
        // have rows.
        let nothing = column.shape.is_scalar() || column.elements.is_empty();
        if format == "json" && nothing {
            continue;
        }
        let single = matches!(column.elements, Elements::F32(_));
        let present = |c: &Column| c.present.clone().filter(|p| p.len() < c.rows());
        let same = column.shape == other.shape
            && present(column) == present(other)
            && numbers(&column.elements, single) == numbers(&other.elements, single);
        if !same {
            return Err(format!("a column differs in {format}\n{name:?}: {column:?}\n{other:?}"));
        }
    }
    Ok(())
}

/// The elements as texts; equal numbers, in single precision if `single`, have equal texts.
fn numbers(elements: &Elements, single: bool) -> Vec<String> {
    match elements {
        Elements::Bool(v) => v.iter().map(bool::to_string).collect(),
        Elements::Int(v) => v.iter().map(i64::to_string).collect(),
        Elements::F32(v) => v.iter().map(|x| format!("{x:?}")).collect(),
        Elements::F64(v) if single => v.iter().map(|x| format!("{:?}", *x as f32)).collect(),
        Elements::F64(v) => v.iter().map(|x| format!("{x:?}")).collect(),
    }
}

fn rewritten(file: &TensorFile, folder: &Path) -> Result<(), String> {
    let path = folder.join("again.safetensors");
    file.write(&path).map_err(|e| format!("tensors that were read cannot be written: {e}"))?;
    let again =
        TensorFile::read(&path).map_err(|e| format!("tensors that were written cannot be read: {e}"))?;
    for (name, tensor) in &file.tensors {
        if !again.tensors.get(name).is_some_and(|t| t.same(tensor)) {
            return Err(format!("a tensor differs\n{name:?}: {tensor:?}\n{:?}", again.tensors.get(name)));
        }
    }
    Ok(())
}
