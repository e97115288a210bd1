//! The compiled part of the Python package `rml`: makes the facade `rml` available to Python. The functions for users,
//! with their documentation, are in `python/rml`; this crate has conversions, and calls without the interpreter's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

mod columns;
mod error;
mod grad;
mod infer;
mod models;
mod options;
mod program;
mod session;
mod states;
mod train;
mod value;
mod weights;

/// The compiled part of the package `rml`; only the package uses its functions and classes.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::grad::grad;
    #[pymodule_export]
    use super::infer::infer;
    #[pymodule_export]
    use super::models::import_onnx;
    #[pymodule_export]
    use super::program::{Program, backends, compile};
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::train::{Training, train};
    #[pymodule_export]
    use super::weights::{export_weights, import_weights, read_checkpoint, write_checkpoint};
}

/// Pairs of a name and its value, in order.
type Named<T> = Vec<(String, T)>;

/// Lets other Python threads run while `work` computes.
fn unlocked<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, rml::Error> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| error::raised(py, &error))
}

/// The interval at which Python's signals are checked.
const PULSE: Duration = Duration::from_millis(50);

/// How long to wait for work that was asked to end.
const MOMENT: Duration = Duration::from_secs(1);

/// As [`unlocked`], in a separate thread, while signals are checked. If a signal handler raises an exception, as for
/// Ctrl-C, the work is asked to end, and the exception is raised. Work that does not end soon continues in the
/// background, and its result is dropped.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> Result<T, rml::Error> + Send + 'static,
) -> PyResult<T> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (sends, receives) = sync_channel(1);
    let receives = Mutex::new(receives);
    let asked = Arc::clone(&interrupt);
    Builder::new().name("rml".to_owned()).spawn(move || sends.send(work(&asked)))?;
    let wait =
        |time| py.detach(|| receives.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time));
    loop {
        match wait(PULSE) {
            Ok(result) => return result.map_err(|why| error::raised(py, &why)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the computation ended without a result"));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    interrupt.store(true, Ordering::SeqCst);
                    let _ = wait(MOMENT);
                    return Err(signal);
                }
            }
        }
    }
}
