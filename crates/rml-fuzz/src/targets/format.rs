//! Formatting keeps the tree and the comments, and a second formatting changes nothing.

use bumpalo::Bump;
use rml_base::FileId;
use rml_syntax::{dump, format, parse};
use rml_testkit::Lcg;

use super::{Target, front, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "format",
    about: "any text parses or is reported; formatting keeps tree and comments, and changes nothing the second time",
    chunk: 1500,
    generate,
    check,
    smaller: nothing_smaller,
};

/// Possible texts between two tokens.
const LAYOUT: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\n\n\n",
    "\n      ",
    "\t",
    " -- line\n",
    "\n-- own line\n",
    " (* c *) ",
    "\n  (* two\n lines *)\n",
    "(* (* nested *) *)",
    "\r\n",
];

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let mut text =
        if r.chance(0.5) { r.pick(&corpus.programs).clone() } else { front::text(r, corpus, TARGET.name) };
    if r.chance(0.7) {
        text = relaid(&text, r);
    }
    FuzzInput::text("rml", text)
}

/// The text with other blanks and comments between its tokens.
fn relaid(text: &str, r: &mut Lcg) -> String {
    let share = r.range(0.0, 0.5);
    let mut relaid = String::new();
    for token in rml_testkit::damage::tokens(text) {
        if token.trim().is_empty() && r.chance(share) || r.chance(share / 20.0) {
            relaid.push_str(LAYOUT[r.below(LAYOUT.len())]);
        } else {
            relaid.push_str(&token);
        }
    }
    relaid
}

/// The parts of a text that formatting must keep: its tree, and its comments without blanks at line ends.
type Parsed = (String, Vec<String>);

/// The parsed text, if it has no errors.
fn accepted(text: &str) -> Result<Option<Parsed>, String> {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let parsed = parse(&bump, &mut names, FileId(0), text);
    for d in &parsed.diagnostics {
        let outside = d.labels.iter().any(|l| text.get(l.span.range()).is_none());
        if outside || d.labels.is_empty() {
            return Err(format!("points nowhere: {d:?}"));
        }
    }
    let lines = |s: &str| s.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n");
    let comments = parsed.file.comments.iter().map(|span| lines(&text[span.range()])).collect();
    Ok(parsed.diagnostics.is_empty().then(|| (dump(&parsed.file, &names), comments)))
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let text = case.as_text();
    let Some((tree, comments)) = accepted(&text)? else {
        return if format(&text).is_err() { Ok(()) } else { Err("formats what does not parse".to_owned()) };
    };
    let once = format(&text).map_err(|d| format!("parses, but does not format: {d:?}"))?;
    let Some((same_tree, same_comments)) = accepted(&once)? else {
        return Err(format!("does not parse when formatted:\n{once}"));
    };
    if same_tree != tree {
        return Err(format!("formatting changed the tree:\n{once}"));
    }
    if same_comments != comments {
        return Err(format!("formatting changed the comments: {comments:?}\n{once}"));
    }
    if format(&once).as_ref() != Ok(&once) {
        return Err(format!("formatting twice differs:\n{once}"));
    }
    if let Some(line) = once.lines().find(|l| l.trim_end() != *l) {
        return Err(format!("blanks at the end of a line: {line:?}"));
    }
    Ok(())
}
