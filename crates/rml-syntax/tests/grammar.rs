//! The language reference: its programs parse, and its table of groupings is correct.

mod common;

use common::{dump_of, parse_text};
use rml_syntax::format;

const GRAMMAR: &str = include_str!("../../../docs/language/grammar.md");

#[test]
fn programs_parse_and_are_laid_out() {
    let mut count = 0;
    for block in GRAMMAR.split("```rml\n").skip(1) {
        let text = block.split("```").next().unwrap_or("");
        let (_, diagnostics) = parse_text(text);
        assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
        assert_eq!(format(text).as_deref(), Ok(text), "not in the canonical layout");
        count += 1;
    }
    assert!(count >= 3, "the programs of the reference are marked `rml`");
}

#[test]
fn groupings() {
    let table = GRAMMAR.split("| Written | Means |\n|---|---|\n").nth(1).unwrap_or("");
    let mut count = 0;
    for row in table.lines().take_while(|l| l.starts_with('|')) {
        let cells: Vec<&str> = row.split('`').collect();
        let [_, written, _, means, _] = cells.as_slice() else { panic!("two programs in {row}") };
        let node = |e: &str| dump_of(&format!("node f() -> (o) o = {e};"));
        assert_eq!(node(written), node(means), "{row}");
        count += 1;
    }
    assert!(count >= 10, "the table of groupings is found");
}
