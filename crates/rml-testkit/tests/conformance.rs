//! All vendored vectors pass on both engines.

use std::path::Path;

use rml_testkit::conformance;

#[test]
fn vendored_vectors_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/vectors");
    let files = conformance::files(&folder).expect("the vectors are there");
    assert!(files.len() >= 71, "only {} vectors", files.len());
    let failures: Vec<String> = files
        .iter()
        .map(|f| conformance::check_file(f))
        .flat_map(|o| o.failures.into_iter().map(move |f| format!("{}: {f}", o.name)))
        .collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The runner itself notices what is wrong: each cell of a vector is changed in turn.
#[test]
fn wrong_vectors_fail() {
    let vector = |row: &str, errors: &str| {
        let text = format!(
            r#"{{"rml": "node main(x: int []) -> (o)\n  o = 0 fby x;", "main": "main", "cycles": 3, "closed": true,
            "inputs": {{"x": [1, null, 3]}}, "demand": {{}}, "expected": {{"o": {row}}}, "error_cycles": {errors},
            "error_origin_cycles": {errors}}}"#
        );
        conformance::check(&conformance::Vector::parse(&text).expect("well formed"))
    };
    assert_eq!(vector("[0, null, 1]", "[]"), []);
    for row in [
        "[1, null, 1]",
        "[0, 1, 1]",
        "[0, null, \"?\"]",
        "[0.0, null, 1]",
        "[null, null, 1]",
        "[\"bot\", null, 1]",
    ] {
        let failures = vector(row, "[]");
        assert_eq!(failures.len(), 2, "{row}: one for each engine: {failures:?}");
    }
    assert_eq!(vector("[0, null, 1]", "[1]").len(), 2, "an error was expected");
    let text = vector("[0, null, 2]", "[]").first().map(ToString::to_string);
    assert_eq!(text.as_deref(), Some("oracle: o at cycle 2: expected 2, got 1"));
}
