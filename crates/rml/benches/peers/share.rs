//! The common input of all sides of a job: data and initial parameters, in files that this side writes.

use std::path::PathBuf;

use crate::done;

/// The files of a job.
pub(crate) struct Share {
    stem: PathBuf,
}

impl Share {
    /// The files of `job` in `folder`.
    pub(crate) fn new(folder: &str, job: &str) -> Self {
        let name = job.replace([':', ','], "-");
        Self { stem: PathBuf::from(folder).join(name) }
    }

    /// The file with the given ending.
    pub(crate) fn path(&self, ending: &str) -> PathBuf {
        let mut path = self.stem.clone().into_os_string();
        path.push(format!(".{ending}"));
        path.into()
    }

    /// Writes plain numbers in single precision, in the byte order of this machine.
    pub(crate) fn numbers(&self, ending: &str, numbers: &[f32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let path = self.path(ending);
        done(std::fs::write(&path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display())));
    }
}
