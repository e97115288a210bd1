//! Models as programs: what they compute, what their weights are, and what is refused. Expected values are worked out
//! by hand.

#![allow(missing_docs, clippy::cast_precision_loss, clippy::float_cmp, reason = "tests")]

mod blocks;
mod control;
mod external;
mod hostile;
mod images;
mod layers;
mod recurrent;
mod shapes;
mod support;
mod weights;

#[test]
fn the_page_lists_the_operators() {
    let page = include_str!("../../../../docs/import.md");
    let words: Vec<&str> = page.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let missing: Vec<&str> = rml_import::operators().into_iter().filter(|op| !words.contains(op)).collect();
    assert!(missing.is_empty(), "docs/import.md does not name {missing:?}");
}
