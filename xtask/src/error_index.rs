//! The pages of diagnostics, `docs/errors/<code>.md`: one for each code declared in `rml-base`. Their index and the
//! table by which the command line embeds them are generated.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::workspace::{self, File};

const PAGES: &str = "docs/errors";
const INDEX: &str = "docs/errors/README.md";
const TABLE: &str = "crates/rml-cli/src/pages.rs";
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
    // Texts in quotes, in which a `;` ends nothing, alternate with what is between them.
    let parts: Vec<&str> = body.split('"').collect();
    parts
        .chunks_exact(4)
        .filter_map(|declaration| {
            let [before, name, _, summary] = declaration else { return None };
            Some(Entry {
                path: file.path.clone(),
                constant: before.split_once('=')?.0.split_whitespace().last()?.to_owned(),
                name: (*name).to_owned(),
                summary: (*summary).to_owned(),
            })
        })
        .collect()
}

/// The topics as `rml-base` declares them.
fn declared_topics() -> Result<Vec<(String, String)>, String> {
    let path = workspace::root().join(CODES).join("mod.rs");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(topics(&text))
}

/// Writes the index and the table of pages.
pub(crate) fn write() -> Result<(), String> {
    let entries = entries()?;
    let topics = declared_topics()?;
    let folder = workspace::root().join(PAGES);
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    for (file, text) in [(INDEX, index(&topics, &entries)), (TABLE, table(&entries))] {
        let path = workspace::root().join(file);
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(())
}

/// Findings: generated files that are not what [`write()`] would make them, codes without a page, pages without a code.
pub(crate) fn check(entries: &[Entry]) -> Result<Vec<String>, String> {
    let read = |path: &str| std::fs::read_to_string(workspace::root().join(path)).unwrap_or_default();
    let topics = declared_topics()?;
    let mut findings = Vec::new();
    for (file, text) in [(INDEX, index(&topics, entries)), (TABLE, table(entries))] {
        if read(file) != text {
            findings.push(format!("{file}: out of date; run `cargo xtask bless`"));
        }
    }
    let folder = workspace::root().join(PAGES);
    let files = std::fs::read_dir(&folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let names: BTreeSet<String> =
        files.filter_map(|f| f.ok()?.file_name().into_string().ok()).filter(|n| n != "README.md").collect();
    findings.extend(compare(entries, &names));
    for entry in entries {
        let page = format!("{PAGES}/{}.md", entry.name);
        if names.contains(&format!("{}.md", entry.name)) && !read(&page).starts_with(&heading(entry)) {
            findings.push(format!("{page}: does not begin with the code and its summary"));
        }
    }
    Ok(findings)
}

/// How the page of a code begins.
fn heading(entry: &Entry) -> String {
    format!("# {}\n\n{}\n", entry.name, entry.summary)
}

/// Codes without a page and pages without a code.
fn compare(entries: &[Entry], files: &BTreeSet<String>) -> Vec<String> {
    let wanted: BTreeSet<String> = entries.iter().map(|e| format!("{}.md", e.name)).collect();
    let lacking = wanted.difference(files).map(|f| format!("{PAGES}/{f}: the code has no page"));
    let stray = files.difference(&wanted).map(|f| format!("{PAGES}/{f}: there is no such code"));
    lacking.chain(stray).collect()
}

fn table(entries: &[Entry]) -> String {
    let mut text = String::from(
        "//! The page of each diagnostic code. Generated from the codes' declarations by `cargo xtask bless`.\n\n\
         /// Codes and their pages.\n#[rustfmt::skip]\npub(crate) const PAGES: &[(&str, &str)] = &[\n",
    );
    for entry in entries {
        let name = &entry.name;
        let _ = writeln!(text, "    (\"{name}\", include_str!(\"../../../{PAGES}/{name}.md\")),");
    }
    text + "];\n"
}

fn index(topics: &[(String, String)], entries: &[Entry]) -> String {
    let mut text = String::from(
        "# Diagnostics\n\n\
         Every diagnostic has a stable code, shown as `error[code]`, and a page; `rml explain CODE` prints it.\n\
         This index is generated from the codes' declarations by `cargo xtask bless`.\n",
    );
    for (topic, module) in topics {
        let _ = write!(text, "\n## {topic}\n\n| code | meaning |\n|---|---|\n");
        let file = format!("{CODES}{module}.rs");
        for entry in entries.iter().filter(|e| e.path == file) {
            let (name, summary) = (&entry.name, entry.summary.replace('|', "\\|"));
            let _ = writeln!(text, "| [`{name}`]({name}.md) | {summary} |");
        }
    }
    text
}

/// The topics that `TOPICS` lists, and the module of the codes of each: `("Runs", sim::ALL),`.
fn topics(text: &str) -> Vec<(String, String)> {
    let list = text.split_once("TOPICS").map_or("", |(_, list)| list);
    let entry = |line: &str| {
        let (topic, module) = line.trim().strip_prefix("(\"")?.split_once("\", ")?;
        Some((topic.to_owned(), module.strip_suffix("::ALL),")?.to_owned()))
    };
    list.lines()
        .map_while(|line| if line.starts_with("];") { None } else { Some(entry(line)) })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_and_listed_by_stage() {
        let file = File {
            path: format!("{CODES}elab.rs"),
            text: "//! Codes.\n\ncodes! {\n    /// Doc.\n    ARITY = \"arity\", \"Too many.\";\n    X = \"x-y\",\n        \"a | b; c\";\n}\n"
                .to_owned(),
        };
        let entries = declared(&file);
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].constant.as_str(), entries[0].name.as_str()), ("ARITY", "arity"));
        let topics = topics(
            "pub const TOPICS: &[(&str, &[Code])] = &[\n    (\"Names\", elab::ALL),\n];\n(\"No\", no::ALL),\n",
        );
        assert_eq!(topics, [("Names".to_owned(), "elab".to_owned())]);
        let text = index(&topics, &entries);
        assert!(
            text.ends_with(
                "## Names\n\n| code | meaning |\n|---|---|\n| [`arity`](arity.md) | Too many. |\n| [`x-y`](x-y.md) | a \\| b; c |\n"
            ),
            "{text}"
        );
        assert!(table(&entries).contains("(\"x-y\", include_str!(\"../../../docs/errors/x-y.md\")),"));
        let files = BTreeSet::from(["arity.md".to_owned(), "y.md".to_owned()]);
        assert_eq!(
            compare(&entries, &files),
            ["docs/errors/x-y.md: the code has no page", "docs/errors/y.md: there is no such code"]
        );
    }
}
