//! Selects and opens the backends of a test run. The caller provides the values of environment variables; this file
//! does not read the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use rml_base::codes::backend as codes;

use crate::contract::{Backend, Options};
use crate::error::Failure;
use crate::plugin::host::Library;

/// The selected backends, the device, and the folder of installed libraries.
#[derive(Clone, Debug)]
pub struct WantedBackends {
    /// The names of the backends; only `cpu` if `RML_TEST_BACKENDS` does not name any.
    pub backends: Vec<String>,
    /// The options for opening them: the device is `cpu` or the value of `RML_TEST_DEVICE`.
    pub options: Options,
    /// The folder that contains the folders of backends: `$RML_BACKENDS`, or the user's cache folder.
    pub folder: Option<PathBuf>,
}

/// The reason why a backend is not open.
#[derive(Clone, Debug)]
pub enum Closed {
    /// The backend has no such device: its checks are skipped.
    NoDevice(String),
    /// Any other reason, which counts as a failure.
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

impl WantedBackends {
    /// Reads the selection from environment variables; `variable` returns the value of a name.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| variable(name).and_then(|v| v.into_string().ok()).filter(|v| !v.is_empty());
        let path = |name: &str| variable(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let names = text("RML_TEST_BACKENDS").unwrap_or_else(|| "cpu".to_owned());
        let device = text("RML_TEST_DEVICE").unwrap_or_else(|| Options::default().device);
        Self {
            backends: names.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).collect(),
            options: Options { device, threads: Some(2), ..Options::default() },
            folder: path("RML_BACKENDS")
                .or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("rml")))
                .or_else(|| path("HOME").map(|home| home.join(".cache/rml"))),
        }
    }

    /// The backends that support CUDA but do not run on it now; a suite lists them as skipped.
    pub fn without_cuda(&self) -> impl Iterator<Item = &'static str> {
        let is_cuda = self.options.device.starts_with("cuda");
        ["xla", "torch"].into_iter().filter(move |name| !is_cuda || self.backends.iter().all(|b| b != name))
    }

    /// Opens the library of a backend.
    ///
    /// # Errors
    /// The library is not installed, or does not load.
    pub fn library(&self, name: &str) -> Result<Arc<Library>, Closed> {
        let folder =
            self.folder.as_ref().ok_or_else(|| Closed::Failed("there is no home folder".to_owned()))?;
        Ok(Library::open(&folder.join(name).join("lib").join(format!("librml_backend_{name}.so")))?)
    }

    /// Opens a backend on the device; `cpu` opens the embedded one.
    ///
    /// # Errors
    /// The backend is not installed, does not load, or does not have the device.
    pub fn open(
        &self,
        name: &str,
        cpu: impl FnOnce(&Options) -> Result<Arc<dyn Backend>, Failure>,
    ) -> Result<Arc<dyn Backend>, Closed> {
        if name == "cpu" {
            return Ok(cpu(&self.options)?);
        }
        Ok(self.library(name)?.backend(&self.options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> WantedBackends {
        WantedBackends::read(|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
        })
    }

    #[test]
    fn variables_say_what_to_test() {
        let plain = read(&[("HOME", "/users/me")]);
        assert_eq!(plain.backends, ["cpu"]);
        assert_eq!(plain.options.device, "cpu");
        assert_eq!(plain.folder, Some(PathBuf::from("/users/me/.cache/rml")));
        let asked =
            [("RML_TEST_BACKENDS", "xla, torch,"), ("RML_TEST_DEVICE", "cuda:0"), ("RML_BACKENDS", "/b")];
        let asked = read(&asked);
        assert_eq!(asked.backends, ["xla", "torch"]);
        assert_eq!(plain.without_cuda().collect::<Vec<_>>(), ["xla", "torch"]);
        assert_eq!(asked.without_cuda().count(), 0);
        let one = read(&[("RML_TEST_BACKENDS", "cpu,torch"), ("RML_TEST_DEVICE", "cuda:0")]);
        assert_eq!(one.without_cuda().collect::<Vec<_>>(), ["xla"]);
        assert_eq!((asked.options.device.as_str(), asked.folder), ("cuda:0", Some(PathBuf::from("/b"))));
    }

    #[test]
    fn only_a_missing_device_is_skipped() {
        let wanted = read(&[("RML_BACKENDS", "/nowhere")]);
        let no_device = || Failure::new(codes::NO_DEVICE, "no such device");
        assert!(matches!(wanted.open("cpu", |_| Err(no_device())), Err(Closed::NoDevice(_))));
        assert!(matches!(wanted.open("cpu", |_| Err(Failure::call("no"))), Err(Closed::Failed(_))));
        assert!(matches!(wanted.open("xla", |_| Err(no_device())), Err(Closed::Failed(_))));
    }
}
