//! Programs that are rejected. The expected codes are below each line in error, at the column where the primary place
//! begins: `--^ error[code]`. Header lines: `-- root: NAME`, `-- set: NAME=INT`, `-- expect error[code]` (an error
//! without a place). `RML_BLESS=1` rewrites the expectations.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::options;
use rml_base::{Diagnostics, FileId, Sources};
use rml_elab::{Loader, NotLoaded, Root, elaborate};
use rml_ir::typed::StaticValue;

/// The files that the programs import.
struct Files;

impl Loader for Files {
    fn load(&mut self, _importing: &str, path: &str) -> Result<(String, String), NotLoaded> {
        let text = match path {
            "other" => "node window(x) -> (w)\n  w = x;\n",
            "keeps" => "private node inner(x) -> (o)\n  o = x;\nnode outer(x) -> (o)\n  o = inner(x);\n",
            "cycle" => "import \"back\";\n",
            "back" => "import \"cycle\";\n",
            _ => return Err("there is no such file".into()),
        };
        Ok((path.to_owned(), text.to_owned()))
    }
}

fn is_expectation(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("--") && line.trim_start_matches('-').trim_start().starts_with("^ error[")
        || line.starts_with("-- expect error[")
}

/// The program without its expectations, and the options to elaborate it.
fn program(text: &str) -> (String, rml_elab::Options) {
    let mut options = options();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("-- root: ") {
            options.root = Root::Run(name.to_owned());
        }
        if let Some((name, value)) = line.strip_prefix("-- set: ").and_then(|l| l.split_once('=')) {
            options.set.insert(name.to_owned(), StaticValue::Int(value.parse().expect("an int")));
        }
    }
    let lines = text.lines().filter(|l| !is_expectation(l));
    (lines.fold(String::new(), |all, line| all + line + "\n"), options)
}

/// The program with the findings written under its lines.
fn annotated(program: &str, found: &Diagnostics, sources: &Sources, main: FileId) -> String {
    let mut out = String::new();
    let mut elsewhere: Vec<String> = Vec::new();
    let mut under: Vec<(usize, usize, &str)> = Vec::new();
    for d in found.iter() {
        match d.span() {
            Some(span) if span.file == main => {
                let (line, column) = sources.line_column(main, span.start);
                under.push((line, column, d.code.name));
            }
            _ => elsewhere.push(format!("-- expect error[{}]", d.code)),
        }
    }
    let mut lines = program.lines().enumerate().peekable();
    while let Some((_, line)) = lines.next_if(|(_, l)| l.starts_with("--")) {
        let _ = writeln!(out, "{line}");
    }
    elsewhere.iter().for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
    for (number, line) in lines {
        let _ = writeln!(out, "{line}");
        for (_, column, code) in under.iter().filter(|(l, ..)| *l == number + 1) {
            // The marker needs at least two columns.
            let dashes = "-".repeat((column - 1).max(2));
            let _ = writeln!(out, "{dashes}^ error[{code}]");
        }
    }
    out
}

#[test]
fn rejected_programs() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rejected");
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut codes: Vec<String> = Vec::new();
    let mut wrong = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(dir).expect("directory").map(|e| e.expect("readable").path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let (program, options) = program(&text);
        let mut sources = Sources::new();
        let main = sources.add("main", &program);
        let (module, found) = elaborate(&mut sources, main, &options, &mut Files);
        assert!(module.is_none() && found.has_errors(), "accepted: {}", path.display());
        codes.extend(found.iter().map(|d| d.code.name.to_owned()));
        let result = annotated(&program, &found, &sources, main);
        if result == text {
            continue;
        }
        if bless {
            std::fs::write(&path, result).expect("writable");
        } else {
            let shown: Vec<String> = found.iter().map(|d| common::describe(d, &sources)).collect();
            wrong.push(format!("{}:\n{result}\n{}", path.display(), shown.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "findings differ from what is expected:\n{}", wrong.join("\n"));
    for code in rml_base::codes::elab::ALL {
        assert!(codes.iter().any(|c| c == code.name), "no rejected program for {code}");
    }
}
