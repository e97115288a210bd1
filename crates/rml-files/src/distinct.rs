//! Checks that two results of a command are never written to the same place.

use std::path::{Component, Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};

use crate::output::{behind_links, is_same};

/// A result that a command will write.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use rml_files::{Written, check_distinct};
///
/// let (plot, log) = (folder.path().join("log/metrics.csv"), folder.path().join("log"));
/// let results = [Written::file("--plot", &plot), Written::folder("--log", &log, &["metrics.csv"])];
/// assert!(check_distinct(&results).is_err());
/// assert!(check_distinct(&results[..1]).is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    option: &'a str,
    path: &'a Path,
    /// The names of the files in a folder; `None` if the result is a file.
    files: Option<&'a [&'a str]>,
}

impl<'a> Written<'a> {
    /// The file that an option names.
    pub fn file(option: &'a str, path: &'a Path) -> Self {
        Self { option, path, files: None }
    }

    /// The folder that an option names, with files of the given names.
    pub fn folder(option: &'a str, path: &'a Path, files: &'a [&'a str]) -> Self {
        Self { option, path, files: Some(files) }
    }

    /// The files of the result, after following links.
    fn all(&self) -> Vec<PathBuf> {
        let place = place(self.path);
        self.files.map_or(vec![place.clone()], |files| files.iter().map(|name| place.join(name)).collect())
    }
}

/// Checks that results do not replace each other: all files differ, and the path of a file is never a folder of another
/// result. Devices and pipes can accept several results and are not checked.
///
/// # Errors
/// `bad-option`: two results replace each other; the first two are named.
pub fn check_distinct(results: &[Written<'_>]) -> Result<(), Error> {
    let is_stream = |path: &Path| std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
    let results: Vec<(&Written<'_>, Vec<PathBuf>)> = results
        .iter()
        .filter(|result| !is_stream(result.path))
        .map(|result| (result, result.all()))
        .collect();
    for (i, (first, files)) in results.iter().enumerate() {
        for (second, others) in &results[i + 1..] {
            let clash = |a: &PathBuf, b: &PathBuf| a.starts_with(b) || b.starts_with(a) || is_same(a, b);
            if files.iter().any(|a| others.iter().any(|b| clash(a, b))) {
                return Err(clashing(first, second).into());
            }
        }
    }
    Ok(())
}

fn clashing(first: &Written<'_>, second: &Written<'_>) -> Diagnostic {
    // The second one is a file if the first one is a folder.
    let (other, file) = if first.files.is_none() { (second, first) } else { (first, second) };
    let what = format!("two results would be written to {}", file.path.display());
    let note = format!("they are `{}` and `{}`", first.option, second.option);
    let d = Diagnostic::error(codes::BAD_OPTION, what).note(note);
    let d = match other.files {
        Some(files) => {
            d.note(format!("`{}` makes a folder with the files {}", other.option, files.join(", ")))
        }
        None => d,
    };
    d.help("write them to different files")
}

/// A unique path for a file that may not exist: the existing part with links followed, and the rest.
fn place(path: &Path) -> PathBuf {
    let path = behind_links(path).unwrap_or_else(|_| path.to_owned());
    let path = std::path::absolute(&path).unwrap_or(path);
    let mut rest = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(there) = std::fs::canonicalize(ancestor) {
            let rest = rest.into_iter().rev();
            return rest.fold(there, |all, part: Component<'_>| match part {
                Component::ParentDir => all.parent().map_or(all.clone(), Path::to_owned),
                _ => all.join(part),
            });
        }
        rest.extend(ancestor.components().next_back());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_two_results() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("there"), b"x").unwrap();
        std::fs::create_dir(path("sub")).unwrap();
        let found = |a: Written<'_>, b: Written<'_>| {
            let error = check_distinct(&[a, Written::file("--other", &path("other")), b]).err();
            error.map(|e| e.to_string())
        };
        for (a, b) in [
            ("new", "new"),
            ("new", "./new"),
            ("new", "sub/../new"),
            ("new", "none/../new"),
            ("there", "sub/../there"),
            ("new", "new/within"),
            ("new/within", "new"),
        ] {
            let why = found(Written::file("--a", &path(a)), Written::file("--b", &path(b))).expect(b);
            assert!(why.contains("`--a` and `--b`"), "{why}");
        }
        assert_eq!(found(Written::file("--a", &path("new")), Written::file("--b", &path("newer"))), None);
        let log = ["lines", "table"];
        for (file, clashes) in
            [("log", true), ("log/lines", true), ("log/table", true), ("log/model", false), ("logs", false)]
        {
            let (file, folder) = (path(file), path("log"));
            let (file, folder) = (Written::file("--a", &file), Written::folder("--b", &folder, &log));
            assert_eq!(found(file, folder).is_some(), clashes, "{file:?}");
            assert_eq!(found(folder, file).is_some(), clashes, "{file:?}");
        }
        let folder = path("log");
        assert!(
            found(Written::folder("--a", &folder, &log), Written::folder("--b", &folder, &log)).is_some()
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("there"), b"x").unwrap();
        std::fs::hard_link(path("there"), path("hard")).unwrap();
        std::os::unix::fs::symlink("there", path("soft")).unwrap();
        std::os::unix::fs::symlink("new", path("dangling")).unwrap();
        for (a, b) in [("there", "hard"), ("there", "soft"), ("dangling", "new")] {
            let (a, b) = (path(a), path(b));
            assert!(
                check_distinct(&[Written::file("--a", &a), Written::file("--b", &b)]).is_err(),
                "{a:?} {b:?}"
            );
        }
        let stream = Path::new("/dev/null");
        assert!(check_distinct(&[Written::file("--a", stream), Written::file("--b", stream)]).is_ok());
    }
}
