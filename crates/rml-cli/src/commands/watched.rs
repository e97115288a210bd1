//! Notices that files changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rml::Source;

/// Files, with when each was written and its length; without, if it is not there.
pub(super) type State = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

/// The files that programs are read from, those that they import as well, and others.
pub(super) fn state(programs: &[PathBuf], others: &[PathBuf]) -> State {
    let read = programs.iter().flat_map(|file| Source::file(file).files());
    read.chain(others.iter().cloned()).map(|file| (file.clone(), written(&file))).collect()
}

fn written(file: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}
