//! The memory for the inspection of a text, measured by a counting allocator.

#[path = "../../rml-ir/tests/memory/ffi.rs"]
mod ffi;

use std::fmt::Write as _;

use ffi::peak_of;
use rml_driver::{Inspector, Source};

/// A text with this many nodes of one equation each.
fn nodes(count: usize) -> Source {
    let text = (0..count).fold(String::new(), |mut text, i| {
        let _ = writeln!(text, "node n{i}(x: num []) -> (y)  y = x * {i}.0 + (0.0 fby y);");
        text
    });
    Source::text("nodes.rml", text)
}

/// The peak memory for a text with this many nodes.
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
