//! Files and streams of Arrow: data that is read is the same in memory, on disk and after it is written and read again;
//! other data is refused. No input makes the reader take much memory, since cases run with little.

use std::path::Path;

use rml::{
    ArrowAnswers, ArrowCell, ArrowField, ArrowRows, ArrowType, Column, Columns, Data, Elements, Format,
    OnDisk, Preparation, Recipe, Selection, Shape, Value,
};
use rml_testkit::Lcg;

use super::{Target, bytes, data, nothing_smaller};
use crate::{Corpus, FuzzInput, root};

pub(super) const TARGET: Target = Target {
    name: "arrow",
    about: "files and streams of Arrow: read in memory, on disk and row by row, and written and read again, they are the same, or they are refused",
    chunk: 2500,
    generate,
    check,
    smaller: nothing_smaller,
};

/// Files of other libraries: with each compression, dictionaries and their additions, texts as views, and labels.
const FILES: [&str; 7] = [
    "plain.feather",
    "lz4.feather",
    "zstd.feather",
    "deltas.arrows",
    "views.arrow",
    "polars.arrow",
    "labels.arrow",
];
/// Columns of texts in these files, and a column of labels.
const TEXTS: [&str; 3] = ["word", "kind", "text"];

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let kept = corpus.of(TARGET.name);
    let made = if !kept.is_empty() && r.chance(0.1) {
        r.pick(kept).bytes.clone()
    } else if r.chance(0.6) {
        let path = root().join("crates/rml-data/src/arrow/data").join(r.pick(&FILES));
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    } else {
        stream(r)
    };
    let made = if r.chance(0.85) { bytes::damaged(&made, r) } else { made };
    FuzzInput::bytes("arrow", made)
}

/// A stream of random columns, with a batch for each row.
fn stream(r: &mut Lcg) -> Vec<u8> {
    let kinds = [ArrowType::Bool, ArrowType::Int, ArrowType::F32, ArrowType::F64];
    let field = |r: &mut Lcg, k: usize| ArrowField {
        name: format!("c{k}"),
        elements: *r.pick(&kinds),
        dims: (0..r.below(3)).map(|_| r.below(4)).collect(),
    };
    let mut fields: Vec<ArrowField> = (0..1 + r.below(3)).map(|k| field(r, k)).collect();
    if r.chance(0.5) {
        fields.push(ArrowField::text("text"));
    }
    let answers = ArrowAnswers::new(fields.clone());
    let mut made = answers.begin();
    for _ in 0..r.below(5) {
        let row: Vec<ArrowCell> = fields.iter().map(|field| cell(r, field)).collect();
        made.extend(answers.answer(&row));
    }
    if r.chance(0.8) {
        made.extend(ArrowAnswers::end());
    }
    made
}

fn cell(r: &mut Lcg, field: &ArrowField) -> ArrowCell {
    if r.chance(0.2) {
        return ArrowCell::Absent;
    }
    let shape = Shape::new(&field.dims);
    let n = shape.len();
    let data = match field.elements {
        ArrowType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        ArrowType::Int => Data::Int((0..n).map(|_| data::integer(r)).collect()),
        ArrowType::F32 => Data::F32((0..n).map(|_| data::real(r) as f32).collect()),
        ArrowType::F64 => Data::F64((0..n).map(|_| data::real(r)).collect()),
        ArrowType::Text => return ArrowCell::Texts(vec![data::word(r)]),
    };
    ArrowCell::Value(Value::new(shape, data))
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let classes = TEXTS.map(|name| (name.to_owned(), vec!["low".to_owned(), "high".to_owned()]));
    let recipe = Recipe { classes: classes.clone().into(), ..Recipe::default() };
    let named = recipe.selection(Selection::all()).map_err(|e| e.to_string())?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("case.arrow");
    std::fs::write(&path, &case.bytes).map_err(|e| e.to_string())?;
    for selection in [&Selection::all(), &named] {
        let columns = Columns::parse_selected(&case.bytes, Format::Arrow, "case.arrow", selection);
        for piece in [3, 1 << 20] {
            data::on_disk(&columns, OnDisk::read_by(&[&path], selection, piece), piece)?;
        }
        if let Ok(columns) = columns {
            data::consistent(&columns)?;
            written(&columns, folder.path())?;
        }
    }
    let preparation = Preparation::default().with_cases(classes.into());
    // Rows are refused one by one, and a damaged stream as a whole.
    if let Ok(mut rows) = ArrowRows::new(&case.bytes[..]) {
        while let Ok(Some(_)) = rows.next(&preparation) {}
    }
    Ok(())
}

/// Checks that the columns that an answer can have are the same after they are written and read again.
fn written(columns: &Columns, folder: &Path) -> Result<(), String> {
    let fits = |(name, column): &(&String, &Column)| {
        columns.lengths(name).is_none() && !column.shape.is_scalar() && !column.elements.is_empty()
    };
    let kept: Vec<(&String, &Column)> = columns.columns.iter().filter(fits).collect();
    let Some(rows) = kept.first().map(|(_, column)| column.rows()) else { return Ok(()) };
    let kind = |column: &Column| match column.elements {
        Elements::Bool(_) => ArrowType::Bool,
        Elements::Int(_) => ArrowType::Int,
        Elements::F32(_) => ArrowType::F32,
        Elements::F64(_) => ArrowType::F64,
    };
    let dims = |column: &Column| column.shape.dims().get(1..).unwrap_or_default().to_vec();
    let field = |(name, column): &(&String, &Column)| ArrowField {
        name: (*name).clone(),
        elements: kind(column),
        dims: dims(column),
    };
    let answers = ArrowAnswers::new(kept.iter().map(field).collect());
    let mut bytes = answers.begin();
    for row in 0..rows {
        let cell = |(_, column): &(&String, &Column)| match column.place(row) {
            None => ArrowCell::Absent,
            Some(at) => ArrowCell::Value(Value::new(Shape::new(&dims(column)), cell_of(column, at))),
        };
        bytes.extend(answers.answer(&kept.iter().map(cell).collect::<Vec<_>>()));
    }
    bytes.extend(ArrowAnswers::end());
    let path = folder.join("again.arrow");
    std::fs::write(&path, &bytes).map_err(|e| e.to_string())?;
    let again = Columns::read(&path).map_err(|e| format!("written as Arrow, but not read: {e}"))?;
    let mut before = Columns::default();
    before.columns.extend(kept.into_iter().map(|(name, column)| (name.clone(), column.clone())));
    data::compare(&before, &again, "Arrow")
}

/// The elements of a present row of a column.
fn cell_of(column: &Column, at: usize) -> Data {
    let n = column.elements.len() / column.present_rows().max(1);
    let range = at * n..(at + 1) * n;
    match &column.elements {
        Elements::Bool(v) => Data::Bool(v[range].to_vec()),
        Elements::Int(v) => Data::Int(v[range].to_vec()),
        Elements::F32(v) => Data::F32(v[range].to_vec()),
        Elements::F64(v) => Data::F64(v[range].to_vec()),
    }
}
