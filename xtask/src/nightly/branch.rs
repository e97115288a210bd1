//! The branch that keeps the figures: it has no commit in common with the others.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

const NAME: &str = "performance";
/// Where it is checked out, below the root.
const FOLDER: &str = "target/performance";
/// Who commits where nobody else is configured.
const AUTHOR: [&str; 4] = ["-c", "user.name=nightly", "-c", "user.email=nightly@localhost"];

/// What git says in a folder.
fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let shell = Shell::new()?;
    shell.change_dir(folder);
    Ok(cmd!(shell, "git {args...}").quiet().read()?)
}

/// The branch, checked out beside the sources.
pub(super) struct Branch {
    root: PathBuf,
    folder: PathBuf,
}

impl Branch {
    /// Checks the branch out; `fetch` takes that of the remote, if it has one. A branch that is not there begins empty.
    pub(super) fn open(root: &Path, fetch: bool) -> Result<Self> {
        let folder = root.join(FOLDER);
        let path = folder.to_string_lossy().into_owned();
        if folder.exists() {
            // One that was left behind is of no use.
            git(root, &["worktree", "remove", "--force", &path])?;
        }
        if fetch && !git(root, &["ls-remote", "--heads", "origin", NAME])?.is_empty() {
            git(root, &["fetch", "--quiet", "origin", &format!("+{NAME}:{NAME}")])?;
        }
        if git(root, &["branch", "--list", NAME])?.is_empty() {
            git(root, &["worktree", "add", "--quiet", "--detach", &path])?;
            git(&folder, &["checkout", "--quiet", "--orphan", NAME])?;
            git(&folder, &["rm", "-r", "--quiet", "--force", "."])?;
        } else {
            git(root, &["worktree", "add", "--quiet", &path, NAME])?;
        }
        Ok(Self { root: root.to_owned(), folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Commits what is in the folder, pushes it if told to, and removes the folder.
    pub(super) fn keep(self, push: bool) -> Result<()> {
        git(&self.folder, &["add", "--all"])?;
        git(&self.folder, &[&AUTHOR[..], &["commit", "--quiet", "-m", "Figures of another night"]].concat())?;
        if push {
            git(&self.folder, &["push", "--quiet", "origin", NAME])?;
        }
        git(&self.root, &["worktree", "remove", "--force", &self.folder.to_string_lossy()])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a commit.
    fn repository(folder: &Path) {
        git(folder, &["init", "--quiet"]).unwrap();
        std::fs::write(folder.join("source"), "1").unwrap();
        git(folder, &["add", "source"]).unwrap();
        git(folder, &[&AUTHOR[..], &["commit", "--quiet", "-m", "first"]].concat()).unwrap();
    }

    fn night(root: &Path, text: &str, push: bool) -> usize {
        let branch = Branch::open(root, push).unwrap();
        let files = std::fs::read_dir(branch.folder()).unwrap().count();
        std::fs::write(branch.folder().join("figures"), text).unwrap();
        branch.keep(push).unwrap();
        files
    }

    #[test]
    fn the_branch_keeps_what_each_night_writes_here_and_in_other_checkouts() {
        let folder = tempfile::tempdir().unwrap();
        let origin = folder.path().join("origin");
        std::fs::create_dir(&origin).unwrap();
        repository(&origin);
        // `.git` alone, then `figures`, too.
        assert_eq!([night(&origin, "1", false), night(&origin, "2", false)], [1, 2]);
        assert_eq!(git(&origin, &["rev-list", "--count", NAME]).unwrap(), "2");
        assert_eq!(git(&origin, &["ls-tree", "--name-only", NAME]).unwrap(), "figures");
        for (clone, text) in [("a", "3"), ("b", "4")] {
            git(folder.path(), &["clone", "--quiet", "origin", clone]).unwrap();
            assert_eq!(night(&folder.path().join(clone), text, true), 2);
            assert_eq!(git(&origin, &["show", "performance:figures"]).unwrap(), text);
        }
    }
}
