//! Large programs and data. With these sizes, work in proportion to the size takes seconds, and quadratic work many
//! minutes.

use rml_driver::{Options, Source};

/// Checking does not draw initial values: the orthogonalisation of these vectors would take hours.
#[test]
fn initial_values_are_not_drawn() {
    let text = "node main(x: num [8000]) -> (o)
  k = param(0.5 * orthogonal([8000, 8000]) + uniform([8000, 8000], 0.0, 1.0));
  o = matmul(k, x);";
    let report = rml_driver::check_report(&Source::text("large", text), &Options::default());
    assert!(report.findings.is_empty(), "{}", report.findings);
    let run = report.analyses[0].run.as_ref().expect("it is right");
    assert_eq!(run.bounds.bytes.state, 4 * 8000 * 8000);
}

/// Unrelated nodes are checked one by one.
#[test]
fn unrelated_nodes_are_checked_one_by_one() {
    const NODES: usize = 10_000;
    let text: String = (0..NODES).map(|i| format!("node f{i}(x) -> (o) o = x;\n")).collect();
    let report = rml_driver::check_report(&Source::text("many", text), &Options::default());
    assert!(report.findings.is_empty(), "{}", report.findings);
    let nodes: Vec<&str> = report.analyses.iter().map(|a| a.node()).collect();
    let expected: Vec<String> = (0..NODES).map(|i| format!("f{i}")).collect();
    assert_eq!(nodes, expected);
    let first = &report.analyses[0].sources;
    assert!(report.analyses.iter().all(|a| std::sync::Arc::ptr_eq(&a.sources, first)), "a text is kept once");
}
