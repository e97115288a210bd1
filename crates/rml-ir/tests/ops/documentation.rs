//! `docs/operators.md` is written from the table: this test compares them, and with `RML_BLESS=1` writes the
//! file anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rml_ir::op::{Form, Topic, entries, info, names, samples};

const INTRODUCTION: &str = "# Operators

<!-- Written from the operator table (crate `rml-ir`, `op/table.rs`): change it there, then `cargo xtask bless`. -->

Everything a program can call without importing it, by topic. Element types are never converted; *broadcast*
means that shapes are aligned on the right and dimensions are equal, 1 or missing on the left. `[s..]` stands
for any dimensions. Arguments in brackets may be left out. *Gradient* tells whether gradients pass from the
result to the num operands.

Numbers follow IEEE 754: nothing but an int that does not fit 64 bits is an error. Sums are taken first to last
in their own precision, and all results have the same bits in every run on one machine.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for topic in Topic::ALL {
        let _ = write!(page, "\n## {}\n\n", topic.title());
        page.push_str("| | meaning | types and shapes | gradient |\n|---|---|---|---|\n");
        for entry in entries().iter().filter(|e| e.topic == topic) {
            let gradient = if entry.differentiable { "yes" } else { "" };
            let row = [entry.signature, entry.meaning, entry.shapes].map(|text| text.replace('|', "\\|"));
            let _ = writeln!(page, "| `{}` | {} | `{}` | {gradient} |", row[0], row[1], row[2]);
        }
    }
    page
}

#[test]
fn the_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operators.md");
    let page = page();
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/operators.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/operators.md is stale: run this test with RML_BLESS=1");
}

#[test]
fn every_operator_that_a_program_can_write_has_an_entry() {
    for (op, _) in samples() {
        if let Some(name) = op.surface() {
            assert!(info(name).is_some(), "{op} is written `{name}`, which has no entry");
        }
    }
}

#[test]
fn names_are_unique_and_those_of_functions() {
    let all: BTreeSet<&str> = entries().iter().map(|e| e.name).collect();
    assert_eq!(all.len(), entries().len());
    assert!(names().all(|name| info(name).is_some_and(|e| e.form == Form::Function)));
    assert!(names().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
    for name in ["matmul", "param", "shape", "zeros", "unindex"] {
        assert!(names().any(|n| n == name), "{name}");
    }
    assert!(names().all(|n| n != "+" && n != "not"));
    assert!(info("no_such_name").is_none());
}

#[test]
fn signatures_begin_with_the_name() {
    for entry in entries().iter().filter(|e| e.form == Form::Function) {
        assert!(entry.signature.starts_with(&format!("{}(", entry.name)), "{}", entry.signature);
    }
}
