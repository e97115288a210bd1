//! Errors about inputs and dimensions without a value, completed by what the data says.

use rml_base::codes::elab::UNBOUND_DIMENSION;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error};
use rml_data::Columns;
use rml_driver::{Source, interface};

/// Completes an error about missing columns, with advice on how to set inputs that have no type.
pub(super) fn settable(error: Error, source: &Source, node: Option<&str>) -> Error {
    let Ok(Some(interface)) = interface(source, node.unwrap_or_default()) else { return error };
    let (sources, diagnostics) = error.into_parts();
    let mut all = Diagnostics::new();
    all.extend(diagnostics.into_iter().map(|mut d| {
        let input = d.message.split('`').nth(1).unwrap_or_default();
        if d.code == codes::MISSING_COLUMN && interface.is_untyped(input) {
            let help =
                format!("`{input}` has no type, so it can be set on the command line: `--set {input}=0.1`");
            d.help.insert(0, help);
        }
        d
    }));
    Error::new(all, sources)
}

/// The same error; a dimension without a size gets the size that it has in the data.
pub(super) fn sized(error: Error, table: &Columns) -> Error {
    let (sources, diagnostics) = error.into_parts();
    let size = |d: &Diagnostic| {
        let span = d.labels.first().filter(|_| d.code == UNBOUND_DIMENSION)?.span;
        let name = sources.snippet(span);
        let text = sources.text(span.file);
        let (before, after) =
            (text.get(..usize::try_from(span.start).ok()?)?, text.get(usize::try_from(span.end).ok()?..)?);
        // The declaration around the dimension: `x: num [batch, t, 4]`.
        let (head, outer) = before.rsplit_once('[')?;
        let inner = after.split(']').next()?;
        let input = head.rsplit_once(':')?.0.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        let rest = 1 + inner.matches(',').count();
        let dims = table.columns.get(input).filter(|_| !outer.contains(".."))?.shape.dims();
        let size = dims.get(dims.len().checked_sub(rest)?).filter(|_| dims.len() > rest)?;
        Some(format!("column `{input}` has {size} there: `--set {name}={size}`"))
    };
    let told = |mut d: Diagnostic| {
        if let Some(help) = size(&d) {
            d.help = vec![help];
        }
        d
    };
    Error::new(Diagnostics(diagnostics.into_iter().map(told).collect()), sources)
}
