//! The compiled part of the Python package `rml`: makes the facade `rml` available to Python. The functions for users,
//! with their documentation, are in `python/rml`; this crate has conversions, and calls without the interpreter's lock.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

mod columns;
mod error;
mod grad;
mod infer;
mod models;
mod options;
mod program;
mod ranks;
mod session;
mod shown;
mod states;
mod sweep;
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
    use super::sweep::sweep;
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
    reporting(py, move |interrupt, _: &dyn Fn(Infallible)| work(interrupt), |never| match never {})
}

/// What a thread sends: an event, or its result.
enum Told<T, E> {
    Event(E),
    End(Result<T, rml::Error>),
}

/// As [`interruptible`], for work that reports events, which are passed to `each` in the calling thread. An exception
/// of `each` ends the work as a signal does.
fn reporting<T: Send + 'static, E: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>, &dyn Fn(E)) -> Result<T, rml::Error> + Send + 'static,
    mut each: impl FnMut(E) -> PyResult<()>,
) -> PyResult<T> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (sends, receives) = channel();
    let receives = Mutex::new(receives);
    let asked = Arc::clone(&interrupt);
    Builder::new().name("rml".to_owned()).spawn(move || {
        // If nobody receives, the work was asked to end.
        let tell = |event| drop(sends.send(Told::Event(event)));
        let result = work(&asked, &tell);
        sends.send(Told::End(result))
    })?;
    let wait =
        |time| py.detach(|| receives.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time));
    loop {
        let told = match wait(PULSE) {
            Ok(Told::End(result)) => return result.map_err(|why| error::raised(py, &why)),
            Ok(Told::Event(event)) => each(event),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the computation ended without a result"));
            }
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
        };
        if let Err(why) = told {
            interrupt.store(true, Ordering::SeqCst);
            let until = Instant::now() + MOMENT;
            while let Ok(Told::Event(_)) = wait(until.saturating_duration_since(Instant::now())) {}
            return Err(why);
        }
    }
}
