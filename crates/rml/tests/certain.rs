//! Synchronisation errors that do not depend on an input: which of them `check` rejects, and the message.

use rml::analysis::Verdict;
use rml::{Analysis, End, Feed, Options, Session, Source, codes};

fn analysis(text: &str) -> Analysis {
    rml::analyse(&Source::text("test", text), &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Programs that fail in every run, the cycle of the failure, the marked equation, and a part of the message.
const REJECTED: &[(&str, u64, &str, &str)] = &[
    (
        "node main(x: int []) -> (o) c = false fby not c; o = x + (x when c);",
        0,
        "o = x + (x when c);",
        "they differ where `c` is false",
    ),
    (
        "node main(x: int []) -> (o) c = true fby not c; o = x + (x when c);",
        1,
        "o = x + (x when c);",
        "sample `x`: `x when c`",
    ),
    (
        "node main(x: int []) -> (o) n = 0 fby n + 1; o = x + (x when (n < 40));",
        40,
        "o = x + (x when (n < 40));",
        "every run of 41 cycles or more",
    ),
    // The operands have separate clocks.
    (
        "node main(x: int []) -> (o) a = true fby not a; b = true fby (true fby not b); o = (x when a) + (x when b);",
        1,
        "o = (x when a) + (x when b);",
        "`base on b`",
    ),
    // An input whose presence is demanded on two clocks cannot satisfy both.
    (
        "node main(y: int []) -> (p, q) a = true fby not a; b = true fby true fby not b; p = y + (1 when a); q = y + (2 when b);",
        1,
        "q = y + (2 when b);",
        "they differ where `a` is false and `b` is true",
    ),
    // A declared input on a clock that does not depend on any input.
    (
        "node main(y: int [] when c) -> (o, c: bool []) c = true fby not c; d = true fby d and (true fby not d); o = y + (1 when d);",
        1,
        "o = y + (1 when d);",
        "`base on d`",
    ),
    // Errors in a branch of a merge, in an instance, through windows of three cycles, and because of later cycles.
    (
        "node main(x: int []) -> (o) c = false fby not c; n = 0 fby n + 1; e = c or (n == 2); o = merge c (x when c) (x when not e);",
        2,
        "o = merge c (x when c) (x when not e);",
        "is not present exactly where `c` is false",
    ),
    (
        "node f(x, c) -> (o) o = x + (x when c); node main(x: int []) -> (o) n = 0 fby n + 1; o = f(x, n != 5);",
        5,
        "o = x + (x when c);",
        "in the instance `f_0`",
    ),
    (
        "node count() -> (n) n = 0 fby n + 1; node main(x: int []) -> (o) t = 0 fby (if t == 2 then 0 else t + 1); n = count() every (t == 2); o = x + (x when (n < 2));",
        2,
        "o = x + (x when (n < 2));",
        "they differ",
    ),
    (
        "node main(x: int []) -> (o) n = 0 fby n + 1; o = x + (x when ((post n) < 7));",
        6,
        "o = x + (x when ((post n) < 7));",
        "every run of 8 cycles or more",
    ),
    // The error does not depend on the value of the parameter.
    (
        "node main(x: num []) -> (o) k = param(0.5); c = false fby not c; o = k * x + (x when c);",
        0,
        "o = k * x + (x when c);",
        "they differ where `c` is false",
    ),
    // Declared clocks, which the simulator does not check.
    (
        "node main(x: int []) -> (o: int [] when c, c: bool []) o = x; n = 0 fby n + 1; c = n < 3;",
        3,
        "when c",
        "is declared `when c`, but it is present on `base`",
    ),
];

#[test]
fn what_no_input_can_avoid_is_rejected() {
    for (text, cycle, place, part) in REJECTED {
        let found = analysis(text);
        let Verdict::Rejected(list) = &found.clocks.verdict else {
            panic!("{:?}: {text}", found.clocks.verdict)
        };
        assert_eq!(list.0.len(), 1, "{list}");
        let error = &list.0[0];
        assert_eq!(error.code, codes::analysis::CLOCK_MISMATCH);
        assert_eq!(&text[error.span().expect("a place").range()], *place, "{text}\n{error}");
        let when = format!("this happens in cycle {cycle} for all inputs");
        assert!(error.notes.iter().any(|n| n.contains(&when)), "{text}\n{error}");
        let mut said = error.labels.iter().map(|l| &l.message).chain(&error.notes).chain(&error.help);
        assert!(error.message.contains(part) || said.any(|s| s.contains(part)), "{text}\n{error}");
    }
}

/// Programs that run with some inputs, parameters or draws, or that fail only after a few cycles.
const DYNAMIC: &[&str] = &[
    // The error occurs after the cycles that are tried.
    "node main(x: int []) -> (o) n = 0 fby n + 1; o = x + (x when (n < 100));",
    // The conditions are always the same, but the analysis does not know that.
    "node main(x: int []) -> (o) a = true fby not a; n = 0 fby n + 1; o = (x when a) + (x when (mod(n, 2) == 0));",
    // The error depends on an input, a parameter, a draw, or a state that depends on an input.
    "node main(x: num []) -> (o) o = x + (x when (x * x >= 0.0));",
    "node main(x: num []) -> (o) k = param(0.5); o = x + (x when (k > 0.0));",
    "node main(x: num []) -> (o) k = param(normal([], 0.0, 1.0)); o = x + (x when (k > 0.0));",
    "node main(x: num []) -> (o) r = random_uniform([]); o = x + (x when (r >= 0.0));",
    "node main(x: num []) -> (o) s = (x * x) + (0.0 fby s); c = true fby (s >= 0.0); o = x + (x when c);",
    // An input whose clock is inferred from its use is present on every clock where it is needed.
    "node main(y: int []) -> (o) a = true fby not a; n = 0 fby n + 1; o = merge a y (7 when (mod(n, 2) == 1));",
    // No output depends on the error, so no run finds it.
    "node main(x: int []) -> (o) n = 0 fby n + 1; e = x + (x when (n < 3)); o = x;",
    // A claim that happens to be true.
    "node main(x: int []) -> (o: int [] when c, c: bool []) o = x; n = 0 fby n + 1; c = n >= 0;",
];

#[test]
fn what_may_run_is_not_rejected() {
    for text in DYNAMIC {
        let found = analysis(text);
        assert!(matches!(found.clocks.verdict, Verdict::Dynamic(_)), "{:?}\n{text}", found.clocks.verdict);
    }
}

/// A run that ends before the error is still possible.
#[test]
fn a_shorter_run_is_not_refused() {
    let text = "node main(x: int []) -> (o) n = 0 fby n + 1; o = x + (x when (n < 5));";
    assert!(matches!(analysis(text).clocks.verdict, Verdict::Rejected(_)));
    let program = rml::compile(&Source::text("test", text), &Options::default()).expect("compiles");
    let run = |cycles| {
        let mut session = Session::new(&program);
        let fed: Result<Vec<_>, _> = (0..cycles).map(|_| session.step([("x", Feed::from(1_i64))])).collect();
        fed.and_then(|_| session.finish(End::Closed))
    };
    assert!(run(5).is_ok());
    assert!(run(6).is_err());
}
