//! Advice on which columns of a file could feed an input that has none.

use std::path::Path;

use rml_base::{Diagnostic, visible_name};
use rml_ir::{DType, InputInfo};

use crate::advice::{WRITTEN, flag, row_shape, supplied};
use crate::columns::Columns;
use crate::dialect::is_table;

/// Adds advice on how to supply a missing column of an input; `shapes` are the shapes that it may have.
pub(crate) fn missing(
    d: Diagnostic,
    columns: &Columns,
    (input, inputs): (&InputInfo, &[InputInfo]),
    shapes: &[&str],
) -> Diagnostic {
    let d = supplied(d, columns, (input, inputs), shapes);
    let names_columns = d.help.iter().any(|help| help.contains("--columns") || help.contains("--separator"));
    if names_columns || row_shape(input).len() > 1 || columns.header().is_empty() {
        return d;
    }
    let free = columns.free_numbers(inputs);
    let count: usize = row_shape(input).iter().product();
    let flag = flag(input, is_table(Path::new(columns.first_file())), free.iter().map(String::as_str));
    if let Some(flag) = flag.filter(|_| free.len() == count && count <= WRITTEN) {
        return d.help(format!("or say which columns feed it: {flag}"));
    }
    let more = if count > 2 { ",.." } else { "" };
    let some = vec!["COLUMN"; count.clamp(1, 2)].join(",");
    let d = d.help(format!("or say which columns feed it: `--columns '{}={some}{more}'`", input.name));
    let free: Vec<String> =
        free.iter().take(WRITTEN).map(|name| format!("`{}`", visible_name(name))).collect();
    match free.is_empty() || input.ty.dtype == DType::Bool {
        true => d,
        false => d.note(format!("columns with numbers that feed no input: {}", free.join(", "))),
    }
}
