//! Which backends are asked for, and opening them.

use std::path::PathBuf;
use std::sync::Arc;

use rml_backend::plugin::host::Library;
use rml_backend::{Backend, Failure, Options};
use rml_backend_cpu::Cpu;
use rml_base::codes::backend as codes;

/// Why a backend is not open.
pub(crate) enum Closed {
    /// It has no such device.
    NoDevice(String),
    /// Anything else.
    Failed(String),
}

impl From<Failure> for Closed {
    fn from(failure: Failure) -> Self {
        if failure.code == codes::NO_DEVICE {
            Closed::NoDevice(failure.message)
        } else {
            Closed::Failed(failure.message)
        }
    }
}

/// The names of the backends to test.
pub(crate) fn asked() -> Vec<String> {
    let text = std::env::var("RML_TEST_BACKENDS").unwrap_or_else(|_| "cpu".to_owned());
    text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Opens one, on the device that is asked for.
pub(crate) fn open(name: &str) -> Result<Arc<dyn Backend>, Closed> {
    let options = Options {
        device: std::env::var("RML_TEST_DEVICE").unwrap_or_else(|_| "cpu".to_owned()),
        threads: Some(2),
    };
    if name == "cpu" {
        return Ok(Arc::new(Cpu::open(&options)?));
    }
    let folder = folder().ok_or_else(|| Closed::Failed("there is no home folder".to_owned()))?;
    let library = folder.join(name).join("lib").join(format!("librml_backend_{name}.so"));
    Ok(Library::open(&library)?.backend(&options)?)
}

/// Where libraries are installed.
fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("RML_BACKENDS")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("rml")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/rml")))
}
