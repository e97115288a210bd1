//! Which backends tests are asked to run, and opening them. The caller looks variables up; nothing here reads the
//! environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use rml_base::codes::backend as codes;

use crate::contract::{Backend, Options};
use crate::error::Failure;
use crate::plugin::host::Library;

/// Backends, a device, and where libraries are installed.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The names of the backends; `cpu` alone if `RML_TEST_BACKENDS` does not name them.
    pub backends: Vec<String>,
    /// How to open them: the device is `cpu` or what `RML_TEST_DEVICE` says.
    pub options: Options,
    /// Where the folders of backends are: `$RML_BACKENDS`, or in the user's cache folder.
    pub folder: Option<PathBuf>,
}

/// Why a backend is not open.
#[derive(Clone, Debug)]
pub enum Closed {
    /// It has no such device: its checks are skipped.
    NoDevice(String),
    /// Anything else: a failure.
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

impl Wanted {
    /// What variables of those names say.
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

    /// The backends that can compute on CUDA and are not asked to, so that a suite lists them as skipped.
    pub fn without_cuda(&self) -> impl Iterator<Item = &'static str> {
        let is_cuda = self.options.device.starts_with("cuda");
        ["xla", "torch"].into_iter().filter(move |name| !is_cuda || self.backends.iter().all(|b| b != name))
    }

    /// Opens the library of a backend.
    ///
    /// # Errors
    /// If it is not installed, or does not load.
    pub fn library(&self, name: &str) -> Result<Arc<Library>, Closed> {
        let folder =
            self.folder.as_ref().ok_or_else(|| Closed::Failed("there is no home folder".to_owned()))?;
        Ok(Library::open(&folder.join(name).join("lib").join(format!("librml_backend_{name}.so")))?)
    }

    /// Opens a backend on the device; `cpu` opens the embedded one.
    ///
    /// # Errors
    /// If it is not installed, does not load, or has no such device.
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

    fn read(variables: &[(&str, &str)]) -> Wanted {
        Wanted::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v)))
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
