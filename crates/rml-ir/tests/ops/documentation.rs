//! `docs/operators.md` is written from the table: this test compares them, and with `RML_BLESS=1` writes the
//! file again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rml_ir::op::{Form, OpInfo, Topic, entries, info, names, samples};

const INTRODUCTION: &str = "# Operators

<!-- Written from the operator table (crate `rml-ir`, `op/table`): change it there, then `cargo xtask bless`. -->

Everything a program can call without importing it, by topic. Element types are never converted; *broadcast*
means that shapes are aligned on the right and dimensions are equal, 1 or missing on the left. `[s..]` stands
for any dimensions. Arguments in brackets may be left out; axes, shapes, sizes and the like are
[static](language/statics.md). The *adjoint* says what each num operand gets, where `do` is the gradient of the result
`o`; an operand without an equation gets nothing.

Numbers follow IEEE 754. Only two things are errors: an int that does not fit 64 bits, and a position outside of an axis.
Sums are taken first to last in their own precision, and all results have the same bits in every run on one machine.
`exp`, `log`, `tanh`, `sin`, `cos`, `pow` and what is made of them come from the system's library, so that the last
bit may differ between machines; `erf`, and random draws, do not depend on it.

An image or sequence has its channels last: `[batch.., length, channels]`, `[batch.., height, width, channels]`, with any
batch dimensions or none. The kernel of a convolution is `[size.., channels / groups, filters]`.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for topic in Topic::ALL {
        let _ = write!(page, "\n## {}\n\n", topic.title());
        page.push_str("| | meaning |\n|---|---|\n");
        for entry in entries().filter(|e| e.topic == topic) {
            let meaning = entry
                .meaning
                .split("; ")
                .next()
                .and_then(|clause| clause.split(". ").next())
                .unwrap_or_default();
            let anchor = anchor(entry);
            let _ =
                writeln!(page, "| [`{}`](#{anchor}) | {} |", entry.signature, meaning.replace('|', "\\|"));
        }
        for entry in entries().filter(|e| e.topic == topic) {
            page.push_str(&section(entry));
        }
    }
    page
}

/// Names are anchors; marks get words.
fn anchor(entry: &OpInfo) -> String {
    let word = match entry.name {
        "+" => "plus",
        "-" => "minus",
        "*" => "times",
        "/" => "divided-by",
        "==" => "equal",
        "!=" => "not-equal",
        "<" => "less",
        "<=" => "at-most",
        ">" => "greater",
        ">=" => "at-least",
        "[..]" => "array",
        "x[..]" => "index",
        name => name,
    };
    format!("op-{word}")
}

fn section(entry: &OpInfo) -> String {
    let mut text = format!("\n### <a id=\"{}\"></a>`{}`\n\n", anchor(entry), entry.signature);
    let mut meaning = entry.meaning.chars();
    let first = meaning.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let _ = writeln!(text, "{first}{}.\n", meaning.as_str());
    let _ = writeln!(text, "- types and shapes: `{}`", entry.shapes);
    if entry.is_differentiable() {
        let _ = writeln!(text, "- adjoint: `{}`", entry.adjoint);
    } else {
        text.push_str("- no gradient passes\n");
    }
    let _ = writeln!(text, "- example: `{}` is `{}`", entry.example.replace("; ", ";` then `"), entry.value);
    text
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
    let all: BTreeSet<&str> = entries().map(|e| e.name).collect();
    assert_eq!(all.len(), entries().count());
    assert!(names().all(|name| info(name).is_some_and(|e| e.form == Form::Function)));
    assert!(
        names().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))
    );
    for name in ["matmul", "param", "shape", "zeros", "unindex"] {
        assert!(names().any(|n| n == name), "{name}");
    }
    assert!(names().all(|n| n != "+" && n != "not"));
    assert!(info("no_such_name").is_none());
}

#[test]
fn signatures_begin_with_the_name() {
    for entry in entries().filter(|e| e.form == Form::Function) {
        let call = entry.signature.rsplit(" = ").next().unwrap_or_default();
        assert!(call.starts_with(&format!("{}(", entry.name)), "{}", entry.signature);
    }
}

/// The table and the operators must agree on what has a gradient; the adjoints themselves are tested in `rml-autodiff`.
#[test]
fn every_entry_has_an_example_and_a_meaning() {
    for entry in entries() {
        let texts = [entry.meaning, entry.shapes, entry.example, entry.value];
        assert!(texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')), "{}", entry.name);
    }
}
