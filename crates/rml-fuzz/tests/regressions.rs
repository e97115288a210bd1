//! Tests every input that once failed, one test per file: `fuzz/regressions/TARGET/NAME.EXT`.

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use rml_fuzz::{FuzzInput, TARGETS, checked, root};

fn check(path: &Path) -> Result<(), Failed> {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let target = TARGETS.iter().find(|t| t.name == folder).ok_or(format!("there is no target `{folder}`"))?;
    match checked(target, &FuzzInput::read(path)?) {
        None => Ok(()),
        Some(finding) => Err(format!("{}: {}", finding.kind, finding.message).into()),
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|p| if p.is_dir() { files(&p) } else { vec![p] }).collect()
}

fn main() {
    let folder = root().join("fuzz/regressions");
    let trials = files(&folder).into_iter().map(|path| {
        let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        Trial::test(name, move || check(&path))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
