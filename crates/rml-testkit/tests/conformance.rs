//! All vendored vectors pass on both engines. `backends.rs` runs them on backends.

use std::path::Path;

use rml_testkit::conformance;

/// The minimum numbers of vectors in `vectors`, `random` and `more` that have a plan.
const PLANNED: [usize; 3] = [34, 10, 112];

fn passes(folder: &str, at_least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
    let files = conformance::files(&folder).expect("the vectors exist");
    assert!(files.len() >= at_least, "only {} vectors", files.len());
    let failures: Vec<String> = files
        .iter()
        .map(|f| conformance::check_file(f, None))
        .flat_map(|o| o.failures.into_iter().map(move |f| format!("{}: {f}", o.name)))
        .collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn vendored_vectors_pass() {
    passes("vectors", 73);
}

#[test]
fn random_programs_pass() {
    passes("random", 140);
}

/// Each vector tests one subject: operators, tensors, instances, sampling, delays, open traces, inputs on demand,
/// windows, errors, or cyclic waits.
#[test]
fn further_programs_pass() {
    passes("more", 200);
}

/// The runner detects wrong cells: each cell of a vector is changed in turn.
#[test]
fn wrong_vectors_fail() {
    let vector = |row: &str, errors: &str| {
        let text = format!(
            r#"{{"rml": "node main(x: int []) -> (o)\n  o = 0 fby x;", "main": "main", "cycles": 3, "closed": true,
            "inputs": {{"x": [1, null, 3]}}, "demand": {{}}, "expected": {{"o": {row}}}, "error_cycles": {errors},
            "error_origin_cycles": {errors}}}"#
        );
        conformance::check(&conformance::ConformanceVector::parse(&text).expect("well formed"), None)
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

/// A demand can contain only named variables. In this vector, the reference could only have asked for one of its
/// temporaries.
#[test]
fn an_incomplete_demand_is_completed() {
    let vector = |demand: &str, row: &str| {
        let text = format!(
            r#"{{"rml": "node main() -> (o)\n  o = 1 when (true fby false);", "main": "main", "cycles": 3,
            {demand} "expected": {{"o": {row}}}}}"#
        );
        conformance::check(&conformance::ConformanceVector::parse(&text).expect("well formed"), None)
    };
    for demand in ["", "\"demand\": {},", "\"demand\": {\"_t1\": [true, true, true]},"] {
        assert_eq!(vector(demand, "[1, null, null]"), [], "{demand}");
        assert!(!vector(demand, "[1, 1, null]").is_empty(), "{demand}");
    }
    assert_eq!(vector("\"demand\": {},", "[\"bot\", \"bot\", \"bot\"]"), []);
    assert!(!vector("", "[\"bot\", \"bot\", \"bot\"]").is_empty());
}

#[test]
fn broken_vectors_are_failures() {
    let folder = std::env::temp_dir().join(format!("rml-vectors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [
        ("syntax", r#"{"rml": "node main(", "main": "main", "cycles": 0}"#),
        ("json", "{"),
        ("input", r#"{"rml": "node main(x: int [])->(o) o = x;", "main": "main", "cycles": 1}"#),
        (
            "type",
            r#"{"rml": "node main(x: int [])->(o) o = x;", "main": "main", "cycles": 1, "inputs": {"x": [1.5]}}"#,
        ),
        (
            "unknown",
            r#"{"rml": "node main(x: int [])->(o) o = x;", "main": "main", "cycles": 1, "inputs": {"x": [1], "y": [1]}}"#,
        ),
        (
            "variable",
            r#"{"rml": "node main(x: int [])->(o) o = x;", "main": "main", "cycles": 1, "inputs": {"x": [1]}, "inner": {"f_0.y": [1]}}"#,
        ),
        ("node", r#"{"rml": "node main()->(o) o = 1;", "main": "other", "cycles": 1}"#),
    ] {
        let file = folder.join(name).with_extension("json");
        std::fs::write(&file, text).expect("a file");
        let outcome = conformance::check_file(&file, None);
        assert!(!outcome.failures.is_empty(), "{name}");
        assert!(
            outcome.failures.iter().all(|f| !f.to_string().contains("panicked")),
            "{name}: {:?}",
            outcome.failures
        );
    }
    assert_eq!(conformance::files(&folder).expect("a folder").len(), 7);
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Every vector with a plan gives the expected outputs, and enough vectors have a plan.
#[test]
fn vectors_pass_by_plan() {
    let folders = ["vectors", "random", "more"].map(|folder| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
        let outcomes: Vec<_> = conformance::files(&folder)
            .expect("the vectors exist")
            .iter()
            .map(|f| conformance::check_file_on(f, conformance::VectorRunner::Plan))
            .collect();
        let failures: Vec<String> = outcomes
            .iter()
            .flat_map(|o| o.failures.iter().map(move |f| format!("{}: {f}", o.name)))
            .collect();
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
        outcomes.iter().filter(|o| o.planned).count()
    });
    for (planned, at_least) in folders.into_iter().zip(PLANNED) {
        assert!(planned >= at_least, "{folders:?}");
    }
}

/// A plan with another value is detected.
#[test]
fn wrong_vectors_fail_by_plan() {
    let text = r#"{"rml": "node main(x: int []) -> (o)\n  o = 0 fby x;", "main": "main", "cycles": 3, "closed": true,
        "inputs": {"x": [1, 2, 3]}, "expected": {"o": [0, 1, WANTED]}}"#;
    let check = |wanted: &str| {
        let vector =
            conformance::ConformanceVector::parse(&text.replace("WANTED", wanted)).expect("well formed");
        conformance::check_on(&vector, conformance::VectorRunner::Plan)
    };
    assert_eq!(check("2"), (vec![], true));
    let (failures, planned) = check("3");
    assert_eq!((failures.len(), planned), (1, true));
    assert_eq!(failures[0].to_string(), "plan: o at cycle 2: expected 3, got 2");
}
