//! The compiled part of the Python package `rml`: the facade `rml` as Python sees it. What users call, with its documentation, stands in
//! `python/rml`; here are conversions, and calls without the interpreter's lock.

use pyo3::prelude::*;

mod columns;
mod error;
mod grad;
mod infer;
mod options;
mod program;
mod session;
mod states;
mod train;
mod value;
mod weights;

/// The compiled part of the package `rml`; its functions and classes are used by the package only.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::grad::grad;
    #[pymodule_export]
    use super::infer::infer;
    #[pymodule_export]
    use super::program::{Program, backends, compile};
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::train::{Training, train};
    #[pymodule_export]
    use super::weights::{export_weights, import_weights, read_checkpoint, write_checkpoint};
}

/// Python's view of a name and what has it, in order.
type Named<T> = Vec<(String, T)>;

/// Lets other threads of Python run while `work` computes.
fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, rml::Error> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| error::raised(py, &error))
}
