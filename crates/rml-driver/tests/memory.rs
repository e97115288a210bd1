//! What the inspection of a text takes, by what the allocator counts.

#[path = "../../rml-ir/tests/memory/ffi.rs"]
mod ffi;

use std::fmt::Write as _;

use ffi::peak_of;
use rml_driver::{Inspector, Source};

/// A text of that many nodes of one equation each.
fn nodes(count: usize) -> Source {
    let text = (0..count).fold(String::new(), |mut text, i| {
        let _ = writeln!(text, "node n{i}(x: num []) -> (y)  y = x * {i}.0 + (0.0 fby y);");
        text
    });
    Source::text("nodes.rml", text)
}

/// The most that is taken for a text of that many nodes.
fn peak(count: usize) -> u64 {
    let source = nodes(count);
    let (inspection, peak) = peak_of(|| {
        let mut inspector = Inspector::default();
        let survey = inspector.survey(&source).expect("it can be read");
        (inspector.inspect().expect("it was surveyed"), survey, inspector)
    });
    assert_eq!((inspection.0.report.analyses.len(), inspection.0.report.findings.0.len()), (count, 0));
    peak
}

#[test]
fn a_small_node_takes_few_kilobytes() {
    let few = peak(200);
    let each = (peak(1000) - few) / 800;
    assert!(each < 13_000, "{each} bytes a node");
}
