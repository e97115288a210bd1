//! Failures as exceptions: `rml.Error`, with the findings as data and as text.

use pyo3::prelude::*;
use rml::{Diagnostics, Error, Sources};

/// The parts from which Python makes findings: one JSON array, and the text without and with colours.
fn parts(findings: &Diagnostics, sources: &Sources) -> (String, String, String) {
    let json = rml_render::json_objects(findings, sources).to_string();
    let picture = |colour| rml_render::human(findings, sources, colour).trim_end().to_owned();
    (json, picture(false), picture(true))
}

/// The exception for a failure. If it cannot be made, the exception that prevented it.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let make = py.import("rml._errors")?.getattr("_error")?;
        Ok(PyErr::from_value(make.call1(parts(error.diagnostics(), error.sources()))?))
    };
    made().unwrap_or_else(|why| why)
}

/// Warns about findings that stopped nothing.
pub(crate) fn warn(py: Python<'_>, found: &Diagnostics, sources: &Sources) -> PyResult<()> {
    if found.is_empty() {
        return Ok(());
    }
    py.import("rml._errors")?.getattr("_warn")?.call1(parts(found, sources))?;
    Ok(())
}
