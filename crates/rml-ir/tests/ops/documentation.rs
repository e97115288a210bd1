//! `docs/operators.md` is written from the table: this test compares them, and with `RML_BLESS=1` writes the
//! file again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rml_ir::op::{Notation, OpInfo, Topic, entries, info, names, samples};

const INTRODUCTION: &str = "# Operators

<!-- Written from the operator table (crate `rml-ir`, `op/table`): change it there, then `cargo xtask bless`. -->

Everything that a program can call without an import, by topic. Element types are never converted. *Broadcast* means
that shapes are aligned on the right, and that dimensions are equal, 1, or missing on the left. `[s..]` stands for any
dimensions. Arguments in brackets are optional. Axes, shapes, sizes and the like are [static](language/statics.md). The
*adjoint* is the gradient of each num operand, where `do` is the gradient of the result `o`; an operand without an
equation gets none.

Numbers follow IEEE 754. Two things are errors: an int that does not fit 64 bits, and a position outside of an axis.
[Numerics](numerics.md) says in which order sums are added and which functions are exact.

An image or sequence has its channels last: `[batch.., length, channels]`, `[batch.., height, width, channels]`, with
any number of batch dimensions. The kernel of a convolution is `[size.., channels / groups, filters]`.
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
    text.push_str(&wrapped(&format!("{first}{}.", meaning.as_str())));
    text.push('\n');
    text.push_str(&wrapped(&format!("- types and shapes: `{}`", entry.shapes)));
    let adjoint = format!("- adjoint: {}", adjoint(entry.adjoint));
    text.push_str(&wrapped(if entry.is_differentiable() { &adjoint } else { "- no gradient passes" }));
    let example = entry.example.replace("; ", ";` then `");
    text.push_str(&wrapped(&format!("- example: `{example}` is `{}`", entry.value)));
    text
}

/// Equations as code, and what an operand or letter of them means as text.
fn adjoint(text: &str) -> String {
    let (equations, meaning) = text.split_once(", where ").unwrap_or((text, ""));
    let code: Vec<String> = equations.split("; ").map(|e| format!("`{e}`")).collect();
    let meaning = if meaning.is_empty() { String::new() } else { format!(", where {meaning}") };
    code.join("; ") + &meaning
}

/// A paragraph or an item of a list in lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let indent = if text.starts_with("- ") { "  " } else { "" };
    let (mut lines, mut columns) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > 120 {
            lines.push('\n');
            lines.push_str(indent);
            columns = indent.len();
        } else if columns > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines.push_str(word);
        columns += length;
    }
    lines.push('\n');
    lines
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
    assert!(names().all(|name| info(name).is_some_and(|e| e.form == Notation::Function)));
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
    for entry in entries().filter(|e| e.form == Notation::Function) {
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
