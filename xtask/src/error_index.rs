//! The pages of diagnostics, `docs/errors/<code>.md`: each code declared in `rml-base` has a page and a test that
//! provokes it. The index of the pages, and the table that embeds them in the command line, are generated.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use fs_err as fs;

use crate::workspace::{self, File, read, regex, root};

const PAGES: &str = "docs/errors";
const INDEX: &str = "docs/errors/README.md";
const TABLE: &str = "crates/rml-cli/src/pages.rs";
const CODES: &str = "crates/rml-base/src/codes/";

/// A declared code.
struct Entry {
    /// The file that declares it.
    path: String,
    /// The constant's name.
    constant: String,
    /// The code.
    name: String,
    /// Its meaning.
    summary: String,
}

/// All codes, in the order of their files and declarations `CONSTANT = "name", "summary";`.
fn entries(files: &[File]) -> Vec<Entry> {
    let declared = regex(r#"(\w+)\s*=\s*"([^"]*)",\s*"([^"]*)""#);
    let is_declaring = |f: &&File| f.path.starts_with(CODES) && !f.path.ends_with("/mod.rs");
    let entry = |file: &File| -> Vec<Entry> {
        let body = file.text.split_once("codes! {").map_or("", |(_, body)| body);
        let found = declared.captures_iter(body).map(|found| found.extract().1.map(str::to_owned));
        let entry = |[constant, name, summary]: [String; 3]| Entry {
            path: file.path.clone(),
            constant,
            name,
            summary,
        };
        found.map(entry).collect()
    };
    files.iter().filter(is_declaring).flat_map(entry).collect()
}

/// The topics in `TOPICS`, each with the module of its codes: `("Runs", sim::ALL),`.
fn topics(text: &str) -> Vec<(String, String)> {
    let list = text.split_once("TOPICS").and_then(|(_, list)| list.split("\n];").next()).unwrap_or_default();
    let found = regex(r#"\("([^"]*)", (\w+)::ALL\)"#);
    found.captures_iter(list).map(|found| found.extract::<2>().1.map(str::to_owned).into()).collect()
}

/// The generated files.
fn generated(entries: &[Entry]) -> Result<[(&'static str, String); 2]> {
    let topics = topics(&read(format!("{CODES}mod.rs"))?);
    Ok([(INDEX, index(&topics, entries)), (TABLE, table(entries))])
}

/// Writes the index and the table of pages.
pub(crate) fn write() -> Result<()> {
    for (file, text) in generated(&entries(&workspace::files(&root(), &[".rs"])?))? {
        fs::write(root().join(file), text)?;
    }
    Ok(())
}

/// Generated files that differ from the output of [`write()`], codes without a test or a page, and pages without a
/// code.
pub(crate) fn check(files: &[File]) -> Result<Vec<String>> {
    let entries = entries(files);
    let mut findings = untested(&entries, files);
    for (file, text) in generated(&entries)? {
        if read(file).unwrap_or_default() != text {
            findings.push(format!("{file}: out of date; run `cargo xtask bless`"));
        }
    }
    let pages: Vec<&File> = files.iter().filter(|f| f.path.starts_with(PAGES) && f.path != INDEX).collect();
    findings.extend(compare(&entries, &pages));
    Ok(findings)
}

fn untested(entries: &[Entry], files: &[File]) -> Vec<String> {
    let form = regex(r#"(?-u)\[([a-z0-9-]+)\]|"([a-z0-9-]+)"|::([A-Z0-9_]+)"#);
    let tests = files.iter().filter_map(test_part);
    let named: BTreeSet<&str> =
        tests.flat_map(|text| form.captures_iter(text).map(|c| c.extract::<1>().1[0])).collect();
    let is_lacking = |e: &&Entry| !named.contains(e.name.as_str()) && !named.contains(e.constant.as_str());
    let lacking = entries.iter().filter(is_lacking);
    lacking.map(|e| format!("{}: no test provokes the code `{}`", e.path, e.name)).collect()
}

/// The tests in a file: all of it below a `tests` folder, or its test module.
fn test_part(file: &File) -> Option<&str> {
    let is_test = file.path.starts_with("tests/") || file.path.contains("/tests/");
    let at =
        if is_test || file.path.ends_with("tests.rs") { Some(0) } else { file.text.find("#[cfg(test)]") };
    at.filter(|_| !file.path.ends_with(".md")).map(|at| &file.text[at..])
}

/// Codes whose page is missing or does not begin with code and summary, and pages without a code.
fn compare(entries: &[Entry], pages: &[&File]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut stray: BTreeSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    for Entry { name, summary, .. } in entries {
        let path = format!("{PAGES}/{name}.md");
        stray.remove(path.as_str());
        match pages.iter().find(|page| page.path == path) {
            None => findings.push(format!("{path}: the code has no page")),
            Some(page) if !page.text.starts_with(&format!("# {name}\n\n{summary}\n")) => {
                findings.push(format!("{path}: does not begin with the code and its summary"));
            }
            Some(_) => {}
        }
    }
    findings.extend(stray.iter().map(|path| format!("{path}: there is no such code")));
    findings
}

fn table(entries: &[Entry]) -> String {
    let mut text = String::from(
        "//! The page of each diagnostic code. Generated from the codes' declarations by `cargo xtask bless`.\n\n\
         /// Codes and their pages.\n#[rustfmt::skip]\npub(crate) const PAGES: &[(&str, &str)] = &[\n",
    );
    for Entry { name, .. } in entries {
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
        for Entry { name, summary, .. } in entries.iter().filter(|e| e.path == format!("{CODES}{module}.rs"))
        {
            let _ = writeln!(text, "| [`{name}`]({name}.md) | {} |", summary.replace('|', "\\|"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn declarations_are_read_and_listed_by_stage() {
        let text =
            "codes! {\n /// Doc.\n ARITY = \"arity\", \"Too many.\";\n    X = \"x-y\",\n \"a | b; c\";\n}\n";
        let entries = entries(&[file(&format!("{CODES}elab.rs"), text)]);
        assert!(entries.len() == 2 && entries[0].constant == "ARITY");
        let topics =
            topics("TOPICS: &[(&str, &[Code])] = &[\n    (\"Names\", elab::ALL),\n];\n(\"No\", no::ALL),\n");
        let text = index(&topics, &entries);
        let rows = "|---|---|\n| [`arity`](arity.md) | Too many. |\n| [`x-y`](x-y.md) | a \\| b; c |\n";
        assert!(text.ends_with(&format!("## Names\n\n| code | meaning |\n{rows}")), "{text}");
        assert!(table(&entries).contains("(\"x-y\", include_str!(\"../../../docs/errors/x-y.md\")),"));
        let pages = [file("docs/errors/arity.md", "# arity\n\nToo few.\n"), file("docs/errors/y.md", "")];
        let found = compare(&entries, &[&pages[0], &pages[1]]);
        let ends =
            ["arity.md: does not begin with", "x-y.md: the code has no page", "y.md: there is no such code"];
        assert!(found.len() == 3 && found.iter().zip(ends).all(|(f, end)| f.contains(end)), "{found:?}");
    }

    #[test]
    fn a_code_counts_as_tested_only_in_tests() {
        let code = |constant: &str, name: &str| format!("{constant} = \"{name}\", \"summary\";\n");
        let codes = code("ARITY", "arity") + &code("UNKNOWN", "unknown-name") + &code("STATIC", "not-static");
        let files = [
            file(&format!("{CODES}a.rs"), &format!("codes! {{ {codes} }}")),
            file("crates/a/src/lib.rs", "codes::STATIC; \"not-static\""),
            file("crates/a/src/b.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use codes::ARITY; }"),
            file("crates/a/tests/rejected/x.rml", "(* --^ error[unknown-name] *)"),
        ];
        let wanted = format!("{CODES}a.rs: no test provokes the code `not-static`");
        assert_eq!(untested(&entries(&files), &files), [wanted]);
    }
}
