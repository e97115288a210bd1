//! `cargo xtask nightly`: is this commit slower than that of the last night, and how fast is it beside others? The
//! figures of all nights and their charts are kept in a branch of their own.

mod branch;
mod history;

use std::path::Path;

use serde_json::Value;

use crate::page::machine;
use crate::workspace::root;
use crate::{compare, peers};
use branch::{Branch, git};
use history::Entry;

/// The name under which the program of the last night is saved.
const LAST: &str = "last-night";

/// Compares with the last night, runs the peers, and keeps the figures; with `push` the branch goes where the
/// repository came from. Fails, after all of that, if something is slower than it was.
pub(crate) fn nightly(push: bool) -> Result<(), String> {
    let branch = Branch::open(&root(), push)?;
    let mut entries = history::read(branch.folder())?;
    let verdict = match entries.last() {
        Some(last) if git(&root(), &["cat-file", "-e", &format!("{}^{{commit}}", last.commit)]).is_ok() => {
            compare::save(LAST, Some(&last.commit))?;
            compare::compare(LAST)
        }
        Some(last) => {
            println!("nothing to compare with: this checkout has no commit {}", last.commit);
            Ok(())
        }
        None => Ok(()),
    };
    let machine = machine();
    peers::peers(&[])?;
    entries.push(entry(&root(), machine)?);
    history::write(branch.folder(), &entries)?;
    branch.keep(push)?;
    verdict
}

/// The run that has just ended.
fn entry(root: &Path, machine: String) -> Result<Entry, String> {
    let text = std::fs::read_to_string(root.join(peers::FIGURES))
        .map_err(|e| format!("cannot read {}: {e}", peers::FIGURES))?;
    let figures: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", peers::FIGURES))?;
    let line = git(root, &["show", "--no-patch", "--format=%H %cs", "HEAD"])?;
    let (commit, date) = line.trim().split_once(' ').ok_or("git shows no commit")?;
    let figures = figures.as_object().cloned().unwrap_or_default();
    Ok(Entry { commit: commit.to_owned(), date: date.to_owned(), machine, figures })
}
