//! Notices that files changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rml::Source;

/// Files, each with its modification time and length; `None` if the file does not exist.
pub(super) type State = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

/// The state of these programs, of the files that they import, and of other files.
pub(super) fn state(programs: &[PathBuf], others: &[PathBuf]) -> State {
    let read = programs.iter().flat_map(|file| Source::file(file).files());
    read.chain(others.iter().cloned()).map(|file| (file.clone(), written(&file))).collect()
}

fn written(file: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}
