//! `check` reports all independent errors of a program at once, and no error that only follows from another one.

mod support;

use serde_json::Value;
use support::Folder;

/// Programs with the codes of all their errors, in the order of their places.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "node main(x: num [3], y: num [4]) -> (a, b) a = x + y; b = a + a + true;",
        "shape-mismatch type-mismatch",
    ),
    ("node main(x: num [3], y: num [4]) -> (a, b) a = x + y; b = matmul(a, a) + a[7];", "shape-mismatch"),
    ("node main(x: num [3]) -> (a, b) a = x[5]; b = x[9];", "shape-mismatch shape-mismatch"),
    ("node f(x) -> (o) o = zz; node main(x: num []) -> (o) o = f(x) + w;", "unknown-name unknown-name"),
    ("node f(x) -> (o) o = x + true; node main(x: num []) -> (o) a = f(x); o = f(a) + a;", "type-mismatch"),
    ("node f(x) -> (o) o = y; node main(x: num []) -> (o, d) o, d = diff_f(x, true, 1.0);", "unknown-name"),
    ("node f(x) -> (o) o = zz; node g(x: num []) -> (o) o = x + true;", "unknown-name type-mismatch"),
    ("node f(x) -> (o) o = zz; node g(x: num []) -> (o) o = f(x) + 1;", "unknown-name"),
    ("node f(x) -> (o) o = f(x); node main(x: num []) -> (o) o = x + true;", "recursive-node type-mismatch"),
    (
        "node f(x) -> (o) o = g(x); node g(x) -> (o) o = f(x); node m(x: num []) -> (o) o = g(x);",
        "recursive-node",
    ),
    (
        "node f(x) -> (a, b) a = x; node main(x: num []) -> (o, p) o, _ = f(x); p = q;",
        "undefined-output unknown-name",
    ),
    (
        "node f(x) -> (o) o = 2.0 * x; node diff_f(x, bp, do) -> (o, dx) o = zz; dx = do; \
      node main(x: num []) -> (o, d) o, d = diff_f(x, true, 1.0);",
        "unknown-name",
    ),
    (
        "node f(x: num [], c: bool [], d: bool []) -> (o, p) o = (x when c) + (x when d); p = (x when c) * (x when not c); \
      node g(x: num [3]) -> (o) o = x + true;",
        "clock-mismatch clock-mismatch type-mismatch",
    ),
    (
        "node f(x: num []) -> (o) o = nobody; node g(x: num [], c: bool []) -> (o) o = (x when c) + x;",
        "unknown-name clock-mismatch",
    ),
    (
        "node f(x, c) -> (o) a = (x when c) + x; o = a * a + (x when c); \
      node g(x: num [], c: bool []) -> (o, p) o = f(x, c); p = f(1.0 + x, not c); \
      node h(x: num [], c: bool []) -> (o) o = f(x, c);",
        "clock-mismatch",
    ),
    (
        "node add(x, y) -> (o) o = x + y; node inner(x, y) -> (o) o = add(x, y); \
      node g(x: num [], c: bool []) -> (o, p) o = inner(x when c, x); p = inner(x, x when not c); \
      node h(x: num [], c: bool []) -> (o) o = inner(x, x when c);",
        "clock-mismatch",
    ),
    (
        "node f(x: num []) -> (o) a = b + x; b = a * x; o = a; node g(x: num [], c: bool []) -> (o) o = (x when c) + x; \
      node h(x: num []) -> (o) o = x + (post o); node m(x: num [3]) -> (o) o = x + true;",
        "instantaneous-cycle clock-mismatch uncut-recurrence type-mismatch",
    ),
    (
        "node f(x) -> (o) a = b + x; b = a * x; o = a; \
      node g(x: num []) -> (o, p) o = f(x); p = f(1.0 + x); node h(x: num []) -> (o) o = f(x);",
        "instantaneous-cycle",
    ),
    ("node f(x -> (o) o = x; node main(x: num []) -> (o) o = f(x) +;", "syntax syntax"),
    ("import std.nothing; node main(x: num [8]) -> (o) o = dense(4, x);", "import-not-found"),
];

#[test]
fn independent_errors_are_reported_together() {
    for (text, expected) in PROGRAMS {
        let run = Folder::new().file("p.rml", text).rml("check p.rml --message-format json");
        assert_eq!(run.code, Some(1), "{text}");
        let codes = run.err.lines().filter_map(|line| {
            let finding: Value = serde_json::from_str(line).ok()?;
            Some(finding["code"].as_str()?.to_owned())
        });
        assert_eq!(codes.collect::<Vec<_>>().join(" "), *expected, "{text}\n{}", run.err);
    }
}

#[test]
fn an_error_that_several_calls_make_names_them_all() {
    let text = "node add(x, y) -> (o)\n  o = x + y;\n\
        node inner(x, y) -> (o)\n  o = add(x, y);\n\
        node g(x: num [], c: bool []) -> (o, p)\n  o = inner(x when c, x);\n  p = inner(x, x when not c);\n\
        node h(x: num [], c: bool []) -> (o)\n  o = inner(x, x when c) - 1.0;\n";
    let run = Folder::new().file("p.rml", text).rml("check p.rml --message-format json");
    let finding: Value = serde_json::from_str(run.err.lines().next().expect("a finding")).expect("JSON");
    let spans = finding["spans"].as_array().expect("spans");
    assert_eq!(spans[0]["line"], 2, "{}", run.err);
    let calls = spans.iter().filter(|s| s["label"] == "called here with both clocks");
    assert_eq!(calls.map(|s| s["line"].as_u64()).collect::<Vec<_>>(), [Some(6), Some(7), Some(9)]);
}
