//! Parquet, read with the reader of Apache Arrow: columns of truth values, integers, numbers and texts, lists of them,
//! and times. The reader builds a whole row at a time, so memory for the longest row is reserved first.

mod footer;
mod kinds;
mod lists;

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::file::serialized_reader::ReadOptionsBuilder;
use ::parquet::record::Field;
use ::parquet::schema::types::{Type, TypePtr};
use rml_base::memory::Reservation;

use crate::columns::Columns;
use crate::element::{Rows, Sink};
use crate::malformed::{MAX_COLUMNS, Malformed, Wrong, too_many_columns};
use crate::selection::{self, Selection};
use kinds::Kind;

/// The most rows of a small file; larger files may have `EXPANSION` rows per byte. Rows without a value take no bytes.
const ALWAYS_ALLOWED: u64 = 1 << 27;
const EXPANSION: u64 = 64;

/// The approximate memory of the reader for an element of a list, in bytes: its vectors have room for twice as many.
const ELEMENT: u64 = 2 * size_of::<Field>() as u64;
/// The most elements of lists that are read ahead, and the most rows.
const AHEAD: u64 = 1 << 16;
const ROWS_AHEAD: usize = 1024;

/// A callback for rows that were read, and their number.
pub(crate) type Put<'p> = &'p mut dyn FnMut(Columns, usize) -> Result<(), Malformed>;

/// Reads a file of this length, about `elements` elements at a time.
pub(crate) fn read<R: ChunkReader + 'static>(
    from: R,
    length: u64,
    selection: &Selection,
    elements: usize,
    put: Put<'_>,
) -> Result<(), Malformed> {
    read_limited(from, ALWAYS_ALLOWED.max(length.saturating_mul(EXPANSION)), selection, elements, put)
}

/// The same for a file that may have `allowed` rows.
fn read_limited<R: ChunkReader + 'static>(
    from: R,
    allowed: u64,
    selection: &Selection,
    elements: usize,
    put: Put<'_>,
) -> Result<(), Malformed> {
    let options = ReadOptionsBuilder::new().with_parquet_schema(footer::schema(&from)?).build();
    let reader = guarded(|| SerializedFileReader::new_with_options(from, options))?;
    let metadata = reader.metadata().file_metadata();
    let rows = u64::try_from(metadata.num_rows()).unwrap_or(u64::MAX);
    let in_groups = reader.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()));
    let in_groups = in_groups.map(|rows| rows.unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
    if rows.max(in_groups) > allowed {
        return Err(Malformed::too_large(format!("the file has {} rows", rows.max(in_groups)))
            .note(format!("expected at most {allowed} in a file of its size")));
    }
    let schema = metadata.schema();
    if schema.get_fields().len() > MAX_COLUMNS {
        return Err(too_many_columns());
    }
    let (mut table, mut kinds) = (Rows::new(selection), Vec::new());
    let mut projected: Vec<TypePtr> = Vec::new();
    for field in schema.get_fields() {
        if table.has(field.name()) {
            return Err(Malformed::new(format!("two columns have the name `{}`", field.name())));
        }
        let kind = match selection.has(field.name()) {
            true => Kind::of(field, selection.texts(field.name())),
            false => Err(selection::left_out()),
        };
        match kind {
            Ok(kind) => {
                table.add(field.name());
                kinds.push(kind);
                projected.push(field.clone());
            }
            Err(why) => {
                table.unusable.insert(field.name().to_owned(), why.into());
            }
        }
    }
    if projected.is_empty() {
        return put(table.taken(), 0);
    }
    let longest = lists::longest(&reader, &|name| table.columns.iter().any(|(column, _)| column == name))?;
    let mut row = Reservation::default();
    row.grow(longest.fields.saturating_mul(ELEMENT)).map_err(|short| {
        Malformed::short(short.diagnostic(format!("a row with a list of {} elements", longest.elements)))
    })?;
    let ahead = usize::try_from(AHEAD / longest.elements.max(1)).map_or(1, |rows| rows.clamp(1, ROWS_AHEAD));
    let projection =
        Type::group_type_builder(schema.name()).with_fields(projected).build().map_err(damaged)?;
    let mut all = guarded(|| Ok(reader.get_row_iter(Some(projection))?.with_batch_size(ahead)))?;
    while let Some(row) = guarded(|| all.next().transpose())? {
        for (at, ((_, field), kind)) in row.into_columns().iter().zip(&kinds).enumerate() {
            if !matches!(field, Field::Null) {
                table.cell(at, |sink| tensor(field, *kind, sink))?;
            }
        }
        table.end_row();
        if table.elements >= elements {
            let rows = table.rows;
            put(table.taken(), rows)?;
        }
    }
    let rows = table.rows;
    put(table.taken(), rows)
}

/// Calls the reader, and turns its panics at damaged files into errors.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Malformed> {
    thread_local! {
        static READS: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !READS.get() {
                before(info);
            }
        }));
    });
    READS.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(read));
    READS.set(false);
    match outcome {
        Ok(read) => read.map_err(damaged),
        Err(_) => Err(Malformed::new("it cannot be read as Parquet").note("the file is damaged")),
    }
}

fn damaged(e: ParquetError) -> Malformed {
    Malformed::new("it cannot be read as Parquet").note(e.to_string())
}

/// Adds the elements of a cell, which are of this kind. Returns its shape.
fn tensor(field: &Field, kind: Kind, sink: &mut Sink<'_>) -> Result<Vec<usize>, Wrong> {
    if let Field::ListInternal(list) = field {
        let mut cell: Option<Vec<usize>> = None;
        for element in list.elements() {
            let shape = tensor(element, kind, sink)?;
            if cell.as_ref().is_some_and(|cell| *cell != shape) {
                return Err(Wrong::Shape("the rows of a tensor have different shapes".to_owned()));
            }
            cell = Some(shape);
        }
        return Ok([&[list.elements().len()], &cell.unwrap_or_default()[..]].concat());
    }
    sink.put(kind.element(field)?)?;
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::basic::{Compression, ZstdLevel};
    use ::parquet::data_type::{
        BoolType, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
    };
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    use rml_base::codes::run as codes;

    use super::*;
    use crate::columns::Elements;
    use crate::{Dataset as _, Format, OnDisk, Selection};

    /// A column in the form of the writer: values, definition levels, repetition levels.
    type Writes<'w> = Box<dyn Fn(&mut ::parquet::file::writer::SerializedColumnWriter<'_>) + 'w>;

    fn column<'w, T: DataType>(values: &'w [T::T], levels: &'w [i16], repeated: &'w [i16]) -> Writes<'w> {
        let some = |levels: &'w [i16]| (!levels.is_empty()).then_some(levels);
        Box::new(move |writer| {
            writer.typed::<T>().write_batch(values, some(levels), some(repeated)).unwrap();
        })
    }

    /// A file with the same rows in each of several groups.
    fn file(schema: &str, groups: usize, compression: Compression, columns: &[Writes<'_>]) -> Vec<u8> {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        for _ in 0..groups {
            let mut group = writer.next_row_group().unwrap();
            for write in columns {
                let mut column = group.next_column().unwrap().unwrap();
                write(&mut column);
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Columns {
        Columns::parse(bytes, Format::Parquet, "p").unwrap()
    }

    const SCHEMA: &str = "message schema {
        required boolean b;
        optional int64 i;
        required float x;
        required int32 u (UINT_8);
        required double d;
        optional binary text (UTF8);
        required int64 time (TIMESTAMP_MILLIS);
        required int64 finer (TIMESTAMP(NANOS,true));
        optional group vector (LIST) { repeated group list { optional float element; } }
        optional group window (LIST) { repeated group list { required group element (LIST) { repeated group list { required double element; } } } }
    }";

    /// Three rows: vectors of two elements; windows of 2, 1 and 3 cycles of one number.
    fn sample(groups: usize, compression: Compression) -> Vec<u8> {
        let text = [vec![1_u8], vec![2]].map(::parquet::data_type::ByteArray::from);
        file(
            SCHEMA,
            groups,
            compression,
            &[
                column::<BoolType>(&[true, false, true], &[], &[]),
                column::<Int64Type>(&[7, -9], &[1, 0, 1], &[]),
                column::<FloatType>(&[0.5, 0.1, -2.0], &[], &[]),
                column::<Int32Type>(&[200, 1, 2], &[], &[]),
                column::<DoubleType>(&[0.1, 0.2, 0.3], &[], &[]),
                column::<ByteArrayType>(&text, &[1, 0, 1], &[]),
                column::<Int64Type>(&[1, 2, 3], &[], &[]),
                column::<Int64Type>(&[1, 2, 3], &[], &[]),
                column::<FloatType>(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3; 6], &[0, 1, 0, 1, 0, 1]),
                column::<DoubleType>(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3; 6], &[0, 1, 0, 0, 1, 1]),
            ],
        )
    }

    #[test]
    fn columns_and_lists_are_read() {
        for compression in
            [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())]
        {
            let columns = read(&sample(1, compression));
            let get = |name: &str| &columns.columns[name];
            assert_eq!(get("b").elements, Elements::Bool(vec![true, false, true]));
            assert_eq!(
                (&get("i").elements, &get("i").present),
                (&Elements::Int(vec![7, -9]), &Some(vec![0, 2]))
            );
            assert_eq!(get("x").elements, Elements::F64(vec![0.5, 0.1_f32.into(), -2.0]));
            assert_eq!(get("u").elements, Elements::Int(vec![200, 1, 2]));
            assert_eq!(get("d").elements, Elements::F64(vec![0.1, 0.2, 0.3]));
            assert_eq!((get("vector").shape.dims(), columns.lengths("vector")), (&[3, 2][..], None));
            assert_eq!(
                (get("window").shape.dims(), columns.lengths("window")),
                (&[6, 1][..], Some(&[2, 1, 3][..]))
            );
            assert_eq!(columns.unusable.keys().collect::<Vec<_>>(), ["text", "time", "finer"]);
        }
    }

    #[test]
    fn files_are_read_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, sample(5, Compression::SNAPPY)).unwrap();
        let whole = Columns::read(&path).unwrap();
        assert_eq!(whole.lengths("window").map(<[usize]>::len), Some(15));
        for piece in [1, 100, 1 << 20] {
            let disk = OnDisk::read_by(&[&path], &Selection::all(), piece).unwrap();
            let table = disk.table();
            assert!(table.columns.keys().eq(whole.columns.keys()) && table.unusable == whole.unusable);
            for (name, column) in &whole.columns {
                let found = &table.columns[name];
                assert_eq!((&found.shape, &found.present), (&column.shape, &column.present), "{name}");
                assert_eq!(disk.elements(name, 0..column.elements.len()).unwrap(), column.elements, "{name}");
                assert_eq!(table.lengths(name), whole.lengths(name));
            }
        }
    }

    /// Memory for a row is reserved before the row is built.
    #[test]
    fn the_longest_row_is_known() {
        let schema =
            "message schema { optional group x (LIST) { repeated group list { required float element; } } }";
        let rows = |lengths: &[usize]| {
            let values = vec![1.5; lengths.iter().sum()];
            let repeated: Vec<i16> = lengths.iter().flat_map(|n| (0..*n).map(|i| i16::from(i > 0))).collect();
            let levels = vec![2; values.len()];
            file(schema, 2, Compression::SNAPPY, &[column::<FloatType>(&values, &levels, &repeated)])
        };
        let longest = |bytes: Vec<u8>| {
            let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
            let found = lists::longest(&reader, &|name| name == "x").unwrap();
            assert_eq!(lists::longest(&reader, &|_| false).unwrap(), lists::Longest::default());
            (found.elements, found.fields)
        };
        assert_eq!(longest(rows(&[3, 1, 40, 7])), (40, 40));
        assert_eq!(longest(rows(&[3, 70_000, 2])), (70_000, 70_000));
        let reader = SerializedFileReader::new(bytes::Bytes::from(sample(2, Compression::SNAPPY))).unwrap();
        let found = lists::longest(&reader, &|_| true).unwrap();
        assert_eq!((found.elements, found.fields), (3, 2 + 2 * 3));
    }

    #[test]
    fn rows_are_bounded() {
        let bytes = bytes::Bytes::from(sample(2, Compression::SNAPPY));
        let read = |allowed: u64| {
            read_limited(bytes.clone(), allowed, &Selection::all(), usize::MAX, &mut |_, _| Ok(()))
        };
        assert!(read(6).is_ok());
        assert_eq!(read(5).unwrap_err().code, codes::DATA_TOO_LARGE);
    }

    #[test]
    fn what_is_no_tensor_is_no_column() {
        let schema =
            "message schema { optional group x (LIST) { repeated group list { optional float element; } } }";
        let gap =
            file(schema, 1, Compression::UNCOMPRESSED, &[column::<FloatType>(&[1.0], &[3, 2], &[0, 1])]);
        let why = "row 0: some elements are absent here, others not: `null` in a list";
        assert_eq!(read(&gap).unusable["x"].to_string(), why);
        let e = Columns::parse(b"PAR1 and nothing", Format::Parquet, "p").unwrap_err();
        assert_eq!(e.code(), Some(codes::MALFORMED_DATA));
    }

    #[test]
    fn null_in_a_list_is_an_element_without_a_value() {
        let schema =
            "message schema { optional group x (LIST) { repeated group list { optional float element; } } }";
        let column = column::<FloatType>(&[1.0, 4.0], &[3, 2, 2, 3], &[0, 1, 0, 1]);
        let bytes = file(schema, 2, Compression::UNCOMPRESSED, &[column]);
        let fills = crate::Recipe::parse_fills(&["x=0"]).unwrap();
        let recipe = crate::Recipe { fills, ..crate::Recipe::default() };
        let selection = recipe.selection(Selection::of(["x"])).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, &bytes).unwrap();
        let memory = Columns::read_selected(&[&path], &selection).unwrap();
        let x = &memory.columns["x"];
        assert_eq!(x.shape.dims(), [4, 2]);
        let Elements::F64(v) = &x.elements else { panic!("{x:?}") };
        let seen: Vec<Option<f64>> = v.iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
        let row = [Some(1.0), None, None, Some(4.0)];
        assert_eq!(seen, [row, row].concat());
        let disk = OnDisk::read_selected(&[&path], &selection).unwrap();
        assert_eq!(disk.table().columns["x"].shape.dims(), [4, 2]);
        // Without a fill, such a column feeds no input.
        let plain = Columns::read_selected(&[&path], &Selection::of(["x"])).unwrap();
        assert!(plain.unusable["x"].to_string().contains("`null` in a list"));
    }

    #[test]
    fn texts_are_classes_and_times_are_dates() {
        let schema = "message schema {
            optional binary day (UTF8);
            required int64 when (TIMESTAMP(NANOS,true));
            required int64 due (TIMESTAMP_MILLIS);
        }";
        let days = ["tue", "mon", "tue"].map(::parquet::data_type::ByteArray::from);
        let hour = 3_600_000_000_000;
        let when = [0, hour, 2 * hour + 1, 25 * hour];
        let columns = [
            column::<ByteArrayType>(&days, &[1, 1, 0, 1], &[]),
            column::<Int64Type>(&when, &[], &[]),
            column::<Int64Type>(&[86_400_000, 500, 0, 0], &[], &[]),
        ];
        let bytes = file(schema, 2, Compression::UNCOMPRESSED, &columns);
        let columns =
            crate::ColumnMapping::parse(&["x=hour(when),day(due)", "t=seconds(due)", "y=day"]).unwrap();
        let recipe = crate::Recipe { columns, ..crate::Recipe::default() };
        let selection = recipe.selection(Selection::of(["x", "t", "y"]).with_integers(["y"])).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, &bytes).unwrap();
        let memory = Columns::read_selected(&[&path], &selection).unwrap();
        let get = |name: &str| &memory.columns[name];
        assert_eq!(get("x").elements, Elements::Int([[0, 2, 1, 1, 2, 1, 1, 1]; 2].concat()));
        let t = [86_400.0, 0.5, 0.0, 0.0];
        assert_eq!(get("t").elements, Elements::F64([t, t].concat()));
        assert_eq!(memory.names("y"), Some(&["tue".to_owned(), "mon".to_owned()][..]));
        assert_eq!(get("y").elements, Elements::Int(vec![0, 1, 0, 0, 1, 0]));
        assert_eq!(get("y").present, Some(vec![0, 1, 3, 4, 5, 7]));
        let disk = OnDisk::read_by(&[&path], &selection, 1).unwrap();
        for name in ["x", "t", "y"] {
            let elements = &get(name).elements;
            assert_eq!(disk.elements(name, 0..elements.len()).unwrap(), *elements, "{name}");
        }
        // An input that is given the time itself is told how to read it.
        let plain = Columns::read_selected(&[&path], &Selection::of(["when", "day"])).unwrap();
        let shown = |name: &str| plain.unusable[name].refused(String::new());
        assert!(shown("when").help.join(" ").contains("x=seconds(when)"), "{:?}", shown("when"));
        assert!(shown("day").notes.join(" ").contains("declared as `int`"), "{:?}", shown("day"));
    }

    /// Damaged files cause errors or have other values, but never cause a panic.
    #[test]
    fn damage_is_found() {
        let good = sample(1, Compression::SNAPPY);
        for end in 0..good.len() {
            let e = Columns::parse(&good[..end], Format::Parquet, "p").unwrap_err();
            assert_eq!(e.code(), Some(codes::MALFORMED_DATA));
        }
        for at in 0..good.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff, good[at] ^ 1, good[at] ^ 0x20] {
                let mut bad = good.clone();
                bad[at] = byte;
                let _ = Columns::parse(&bad, Format::Parquet, "p");
            }
        }
    }
}
