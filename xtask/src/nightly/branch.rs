//! The branch that keeps the figures: it has no commit in common with the others.

use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "performance";
/// Where it is checked out, below the root.
const FOLDER: &str = "target/performance";
/// Who commits where nobody else is configured.
const AUTHOR: [&str; 4] = ["-c", "user.name=nightly", "-c", "user.email=nightly@localhost"];

/// What git says.
pub(super) fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(args).current_dir(folder).output();
    let output = output.map_err(|e| format!("cannot start git: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("git {} fails:\n{}", args.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}

/// The branch, checked out beside the sources.
pub(super) struct Branch {
    root: PathBuf,
    folder: PathBuf,
}

impl Branch {
    /// Checks the branch out; `fetch` takes that of the remote, if it has one. A branch that is not there begins empty.
    pub(super) fn open(root: &Path, fetch: bool) -> Result<Self, String> {
        let folder = root.join(FOLDER);
        let path = folder.to_string_lossy().into_owned();
        // One that was left behind is of no use.
        let _ = git(root, &["worktree", "remove", "--force", &path]);
        if fetch && !git(root, &["ls-remote", "--heads", "origin", NAME])?.is_empty() {
            git(root, &["fetch", "--quiet", "origin", &format!("+{NAME}:{NAME}")])?;
        }
        if git(root, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{NAME}")]).is_ok() {
            git(root, &["worktree", "add", "--quiet", &path, NAME])?;
        } else {
            git(root, &["worktree", "add", "--quiet", "--detach", &path])?;
            git(&folder, &["checkout", "--quiet", "--orphan", NAME])?;
            git(&folder, &["rm", "-r", "--quiet", "--force", "."])?;
        }
        Ok(Self { root: root.to_owned(), folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Commits what is in the folder, pushes it if told to, and removes the folder.
    pub(super) fn keep(self, push: bool) -> Result<(), String> {
        git(&self.folder, &["add", "--all"])?;
        let commit: Vec<&str> =
            AUTHOR.into_iter().chain(["commit", "--quiet", "-m", "Figures of another night"]).collect();
        git(&self.folder, &commit)?;
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
        let commit: Vec<&str> = AUTHOR.into_iter().chain(["commit", "--quiet", "-m", "first"]).collect();
        git(folder, &commit).unwrap();
    }

    fn night(root: &Path, text: &str, push: bool) -> usize {
        let branch = Branch::open(root, push).unwrap();
        let files = std::fs::read_dir(branch.folder()).unwrap().count();
        std::fs::write(branch.folder().join("figures"), text).unwrap();
        branch.keep(push).unwrap();
        files
    }

    #[test]
    fn the_branch_keeps_what_each_night_writes() {
        let folder = tempfile::tempdir().unwrap();
        repository(folder.path());
        // `.git` alone, then `figures`, too.
        assert_eq!(night(folder.path(), "1", false), 1);
        assert_eq!(night(folder.path(), "2", false), 2);
        assert_eq!(git(folder.path(), &["show", "performance:figures"]).unwrap(), "2");
        assert_eq!(git(folder.path(), &["rev-list", "--count", "performance"]).unwrap().trim(), "2");
        assert!(git(folder.path(), &["show", "performance:source"]).is_err());
    }

    #[test]
    fn another_checkout_goes_on_from_what_was_pushed() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let origin = folders[0].path().join("origin");
        std::fs::create_dir(&origin).unwrap();
        repository(&origin);
        for (folder, text, files) in [("a", "1", 1), ("b", "2", 2)] {
            let clone = folders[1].path().join(folder);
            git(folders[1].path(), &["clone", "--quiet", &origin.to_string_lossy(), folder]).unwrap();
            assert_eq!(night(&clone, text, true), files);
        }
        assert_eq!(git(&origin, &["show", "performance:figures"]).unwrap(), "2");
    }
}
