//! The files of the repository from which inputs are made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::FuzzInput;

/// Folders of programs; their subfolders are included.
const PROGRAMS: [&str; 6] = [
    "std",
    "examples",
    "crates/rml-syntax/tests",
    "crates/rml-elab/tests/rejected",
    "crates/rml-autodiff/tests",
    "tests/weights",
];
/// Folders of pages that contain programs.
const PAGES: [&str; 2] = ["docs/errors", "docs/language"];
/// A small program with thousands of instances, which needs a second per case.
const LARGE: &str = "instance_limit.rml";
/// The maximum size of files that are damaged.
const LARGEST: u64 = 60_000;

/// The material from which inputs are made.
#[derive(Debug)]
pub struct Corpus {
    /// The programs of the library, the examples, the tests, and the pages of the documentation.
    pub programs: Vec<String>,
    /// The cases of `fuzz/regressions`, by target.
    cases: BTreeMap<String, Vec<FuzzInput>>,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Corpus {
    /// Reads the corpus.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn load() -> Result<Self, String> {
        let mut programs = Vec::new();
        for path in PROGRAMS.iter().map(|f| files(&root().join(f))).collect::<Result<Vec<_>, _>>()?.concat() {
            let name = path.file_name().unwrap_or_default();
            if path.extension().is_some_and(|e| e == "rml") && is_small(&path) && name != LARGE {
                programs.push(FuzzInput::read(&path)?.as_text());
            }
        }
        for path in PAGES.iter().map(|f| files(&root().join(f))).collect::<Result<Vec<_>, _>>()?.concat() {
            programs.extend(blocks(&FuzzInput::read(&path)?.as_text()));
        }
        let mut cases: BTreeMap<String, Vec<FuzzInput>> = BTreeMap::new();
        for path in files(&root().join("fuzz/regressions"))? {
            let target = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            cases.entry(target.into_owned()).or_default().push(FuzzInput::read(&path)?);
        }
        Ok(Self { programs, cases })
    }

    /// The cases in `fuzz/regressions` for a target.
    pub fn of(&self, target: &str) -> &[FuzzInput] {
        self.cases.get(target).map_or(&[], Vec::as_slice)
    }
}

fn is_small(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.len() <= LARGEST)
}

/// All files under a folder, by path; empty if the folder does not exist.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.map_err(|e| format!("cannot list {}: {e}", folder.display()))?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// The programs on a page: its code blocks that contain a node.
fn blocks(page: &str) -> Vec<String> {
    let inside = page.split("\n```").skip(1).step_by(2);
    let blocks = inside.filter_map(|block| block.split_once('\n').map(|(_, code)| code.to_owned() + "\n"));
    blocks.filter(|code| code.contains("node ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_all_kinds_are_found() {
        let corpus = Corpus::load().unwrap();
        assert!(corpus.programs.len() > 150, "{}", corpus.programs.len());
        let has = |part: &str| corpus.programs.iter().any(|p| p.contains(part));
        assert!(has("node lstm(") && has("node diff_param(init, bp, do)"));
    }

    #[test]
    fn blocks_of_a_page() {
        let page = "# a\n\n```rml\nnode f() -> (o)\n  o = 1;\n```\n\ntext\n\n```text\nno\n```\n";
        assert_eq!(blocks(page), ["node f() -> (o)\n  o = 1;\n"]);
    }
}
