//! Every node of the library documents its meaning, its shapes, its clocks and its origin, and
//! `docs/language/library.md` is generated from these comments: this test compares them, and rewrites the file with
//! `RML_BLESS=1`.

use std::fmt::Write as _;
use std::path::Path;

use rml_driver::doc::{ModuleDoc, NodeDoc, library};

const INTRODUCTION: &str = "# Library

<!-- Written from the comments in `std/`: change them there, then `cargo xtask bless`. -->

`import std.layers;` imports all names of a module, `import std.layers (lstm);` some of them, and
`import std.layers as nn;` puts `nn.` before them; see [imports](nodes.md#imports). `rml doc lstm` prints the whole
comment of a node, with its shapes, clocks and source. The source texts are in [`std/`](../../std).
";

fn public(module: &ModuleDoc) -> impl Iterator<Item = &NodeDoc> {
    module.nodes.iter().filter(|n| !n.private)
}

/// A paragraph of a comment: indented lines are an example, all others are text.
fn markdown(paragraph: &str) -> String {
    match paragraph.starts_with("  ") {
        true => {
            let lines: Vec<&str> = paragraph.lines().collect();
            let indent = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
            let lines: Vec<&str> = lines.iter().map(|l| &l[indent..]).collect();
            format!("```\n{}\n```", lines.join("\n"))
        }
        false => wrapped(paragraph),
    }
}

/// The words of a paragraph in lines of at most 120 columns.
fn wrapped(paragraph: &str) -> String {
    let mut text = String::new();
    let mut columns = 0;
    for word in paragraph.split_whitespace() {
        let width = word.chars().count();
        let fits = columns + 1 + width <= 120;
        if columns > 0 {
            text.push(if fits { ' ' } else { '\n' });
        }
        columns = if columns > 0 && fits { columns + 1 + width } else { width };
        text.push_str(word);
    }
    text
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for module in library() {
        let _ = write!(page, "\n## {}\n", module.name);
        for paragraph in module.introduction.split("\n\n") {
            let _ = write!(page, "\n{}\n", markdown(paragraph));
        }
        page.push_str("\n| | meaning |\n|---|---|\n");
        for node in public(&module) {
            let header = node.header.split_whitespace().collect::<Vec<_>>().join(" ");
            let header =
                header.replacen("node ", "", 1).replace("( ", "(").replace(" )", ")").replace('|', "\\|");
            let _ = writeln!(page, "| `{header}` | {} |", node.summary().replace('|', "\\|"));
        }
    }
    page
}

#[test]
fn the_page_is_what_the_comments_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language/library.md");
    let page = page();
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/language/library.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/language/library.md is stale: run this test with RML_BLESS=1");
}

#[test]
fn comments_have_one_form() {
    for module in library() {
        assert!(!module.introduction.is_empty(), "{} has no introduction", module.name);
        for node in public(&module) {
            let lines: Vec<&str> = node.comment.lines().collect();
            let at = |label: &str| lines.iter().position(|l| l.starts_with(label));
            let found = [at("Shapes: "), at("Clocks: "), at("Source: ")];
            assert!(
                found.iter().all(Option::is_some) && found.is_sorted() && !node.summary().is_empty(),
                "{}.{}: expected a meaning, then Shapes, Clocks and Source; found\n{}",
                module.name,
                node.name,
                node.comment
            );
        }
    }
}
