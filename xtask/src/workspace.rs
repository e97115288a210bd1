//! The location of the workspace, its files, and calls of programs in it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use regex::Regex;
use walkdir::{DirEntry, WalkDir};
use xshell::{Cmd, Shell};

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A shell that starts programs in the workspace's root.
pub(crate) fn shell() -> Result<Shell> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    Ok(shell)
}

/// The `cargo` that started this program.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// The folder for build output.
pub(crate) fn target() -> PathBuf {
    root().join(variable("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned()))
}

/// An environment variable; empty ones count as absent.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The text of a file of the workspace, with uniform line ends.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String> {
    Ok(fs::read_to_string(root().join(path))?.replace("\r\n", "\n"))
}

/// A regular expression that is known to be valid.
pub(crate) fn regex(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|e| panic!("{e}"))
}

/// Creates a folder, without its previous content.
pub(crate) fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Runs a command, and prints its name and its duration.
pub(crate) fn step(name: &str, command: Cmd<'_>) -> Result<()> {
    println!("\n== {name}");
    let start = Instant::now();
    let ran = command.quiet().run();
    println!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    ran.with_context(|| format!("{name} failed"))
}

/// The output of a command on both streams; if it fails, the error contains both.
pub(crate) fn output(command: Cmd<'_>) -> Result<(String, String)> {
    let output = command.quiet().ignore_status().output()?;
    let [out, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(output.status.success(), "{out}{errors}{}", output.status);
    Ok((out, errors))
}

/// A text file of the workspace.
#[derive(Clone)]
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// All files in a folder with one of these endings, by path, without build output and hidden files.
pub(crate) fn files(folder: &Path, ends: &[&str]) -> Result<Vec<File>> {
    let is_left_out = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        name.starts_with('.') || name.starts_with("target") || name == "node_modules"
    };
    let is_kept = |entry: &DirEntry| entry.depth() == 0 || entry.path().is_file() || !is_left_out(entry);
    let mut found = Vec::new();
    for entry in WalkDir::new(folder).into_iter().filter_entry(is_kept) {
        let entry = entry?;
        let path = entry.path().strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
        if entry.file_type().is_file() && ends.iter().any(|end| path.ends_with(end)) {
            found.push(File { path, text: read(entry.path())? });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
