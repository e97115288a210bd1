//! The index of diagnostics, `docs/errors/README.md`: generated from the codes declared in `rml-base`.

use std::fmt::Write as _;

use crate::workspace::{self, File};

const INDEX: &str = "docs/errors/README.md";
const CODES: &str = "crates/rml-base/src/codes/";

/// A declared code.
pub(crate) struct Entry {
    /// The file that declares it.
    pub(crate) path: String,
    /// The constant's name.
    pub(crate) constant: String,
    /// The code.
    pub(crate) name: String,
    /// What it means.
    pub(crate) summary: String,
}

/// All codes in the order of their files and declarations.
pub(crate) fn entries() -> Result<Vec<Entry>, String> {
    let files = workspace::files(&["rs"])?;
    Ok(files
        .iter()
        .filter(|f| f.path.starts_with(CODES) && !f.path.ends_with("/mod.rs"))
        .flat_map(declared)
        .collect())
}

/// Reads the declarations `CONSTANT = "name", "summary";` of a file.
fn declared(file: &File) -> Vec<Entry> {
    let body = file.text.split_once("codes! {").map_or("", |(_, body)| body);
    body.split(';')
        .filter_map(|declaration| {
            let (left, right) = declaration.split_once('=')?;
            let mut texts = right.split('"').skip(1).step_by(2);
            Some(Entry {
                path: file.path.clone(),
                constant: left.split_whitespace().last()?.to_owned(),
                name: texts.next()?.to_owned(),
                summary: texts.next()?.to_owned(),
            })
        })
        .collect()
}

/// Writes the index.
pub(crate) fn write() -> Result<(), String> {
    let path = workspace::root().join(INDEX);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    }
    std::fs::write(&path, index(&entries()?)).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// A finding if the index is not what [`write()`] would make it.
pub(crate) fn check(entries: &[Entry]) -> Option<String> {
    let text = std::fs::read_to_string(workspace::root().join(INDEX)).unwrap_or_default();
    (text != index(entries)).then(|| format!("{INDEX}: out of date; run `cargo xtask bless`"))
}

fn index(entries: &[Entry]) -> String {
    let mut text = String::from(
        "# Diagnostics\n\n\
         Every diagnostic has a stable code, shown as `error[code]`. `rml explain CODE` prints what it means.\n\
         This page is generated from the codes' declarations by `cargo xtask bless`.\n",
    );
    let mut stage = "";
    for entry in entries {
        let of_file =
            entry.path.strip_prefix(CODES).and_then(|p| p.strip_suffix(".rs")).unwrap_or(&entry.path);
        if of_file != stage {
            stage = of_file;
            let _ = write!(text, "\n## {stage}\n\n| code | meaning |\n|---|---|\n");
        }
        let _ = writeln!(text, "| `{}` | {} |", entry.name, entry.summary.replace('|', "\\|"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_and_listed_by_stage() {
        let file = File {
            path: format!("{CODES}elab.rs"),
            text: "//! Codes.\n\ncodes! {\n    /// Doc.\n    ARITY = \"arity\", \"Too many.\";\n    X = \"x-y\",\n        \"a | b\";\n}\n"
                .to_owned(),
        };
        let entries = declared(&file);
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].constant.as_str(), entries[0].name.as_str()), ("ARITY", "arity"));
        let text = index(&entries);
        assert!(
            text.ends_with(
                "## elab\n\n| code | meaning |\n|---|---|\n| `arity` | Too many. |\n| `x-y` | a \\| b |\n"
            ),
            "{text}"
        );
    }
}
