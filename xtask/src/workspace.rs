//! Where the workspace is, which files it holds, and how `cargo` is called in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// `cargo`, to be run in the workspace's root: the one that started this program.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Everything that a build can have and the usual one does not: backends that are libraries, and Parquet files.
pub(crate) const FEATURES: [&str; 2] = ["--features", "rml-cli/xla,rml-cli/torch,rml-cli/parquet"];

/// The tests of those names, in the one build that all steps share: the whole workspace with everything in it. A
/// package that is built alone, or with other features, has other dependencies, and so nearly everything would be
/// compiled once more.
pub(crate) fn tests(names: &[&str]) -> Command {
    let mut command = plain_tests(names);
    command.args(FEATURES);
    command
}

/// The tests of those names, in the build that users have who ask for no feature.
pub(crate) fn plain_tests(names: &[&str]) -> Command {
    let mut command = cargo(&["test", "--workspace", "--quiet"]);
    command.args(names.iter().flat_map(|name| ["--test", name]));
    command
}

/// A program of the workspace, built as it is for that test of its package.
pub(crate) fn program(name: &str, test: &str) -> Result<PathBuf, String> {
    step(&format!("building {name}"), tests(&[test]).arg("--no-run"))?;
    Ok(target().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// The folder for build output.
pub(crate) fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|name| !name.is_empty());
    root().join(named.unwrap_or_else(|| "target".into()))
}

/// Runs a command, and says what it is and how long it took.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<(), String> {
    println!("\n== {name}");
    let start = Instant::now();
    let status =
        command.status().map_err(|e| format!("{name}: cannot start {:?}: {e}", command.get_program()))?;
    println!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("{name} failed")) }
}

/// A text file of the workspace.
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// All files of the workspace with one of those extensions, by path, without build output and hidden folders.
pub(crate) fn files(extensions: &[&str]) -> Result<Vec<File>, String> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
        for entry in entries {
            let entry = entry.map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() {
                if !name.starts_with('.') && !name.starts_with("target") && name != "node_modules" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                let text = std::fs::read_to_string(&path)
                    .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
                let relative = path.strip_prefix(&root).unwrap_or(&path);
                found.push(File { path: relative.to_string_lossy().replace('\\', "/"), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
