//! Deeply nested and very long texts: everything within the limit works, everything beyond it is reported, and a small
//! stack is sufficient for every text.

mod common;

use common::parse_text;
use rml_syntax::{MAX_NESTING, format};

/// Runs `test` on a stack smaller than the 2 MiB that a thread has by default.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(test).expect("a thread");
    thread.join().expect("the test passes");
}

fn node(rhs: &str) -> String {
    format!("node f(x) -> (o) o = {rhs}; p = x;")
}

/// `before^n x after^n`
fn nested(before: &str, after: &str, n: usize) -> String {
    node(&format!("{}x{}", before.repeat(n), after.repeat(n)))
}

/// Constructs that nest, with a depth that is within the limit.
const NESTS: [(&str, &str, usize); 16] = [
    ("(", ")", 127),
    ("f(", ")", 127),
    ("[", "]", 127),
    ("x[", "]", 127),
    ("- ", "", 127),
    ("not ", "", 127),
    ("post ", "", 127),
    ("1 fby ", "", 127),
    ("1 fby back ", "", 127),
    ("if x then x else ", "", 127),
    ("if ", " then x else x", 127),
    ("x + (", ")", 127),
    ("merge x x ", "", 127),
    ("merge ", " x x", 127),
    ("merge x f(", ") x", 127),
    ("x when (", ")", 127),
];

/// Constructs that form a long chain to the left.
const CHAINS: [&str; 7] = [" + x", " and x", " == x", " when x", "[x]", " every x", " along x"];

#[test]
fn up_to_the_limit() {
    on_small_stack(|| {
        for (before, after, n) in NESTS {
            let text = nested(before, after, n);
            let (_, diagnostics) = parse_text(&text);
            assert!(diagnostics.is_empty(), "{before}: {diagnostics:#?}");
            let formatted = format(&text).expect("a program");
            assert!(format(&formatted).as_ref() == Ok(&formatted), "{before}");
            assert!(formatted.lines().all(common::is_narrow), "{before}\n{formatted}");
        }
        for link in CHAINS {
            let text = nested("", link, MAX_NESTING - 1);
            let (_, diagnostics) = parse_text(&text);
            assert!(diagnostics.is_empty(), "{link}: {diagnostics:#?}");
            let formatted = format(&text).expect("a program");
            assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "{link}");
            assert!(formatted.lines().all(common::is_narrow), "{link}\n{formatted}");
        }
    });
}

/// Names that leave little or no space on a line are printed on lines of their own.
#[test]
fn long_names_at_any_depth() {
    on_small_stack(|| {
        for width in [1, 30, 49, 50, 51, 90, 97, 98, 99, 100, 101, 130] {
            let name = "n".repeat(width);
            for (before, after, n) in NESTS {
                for n in [1, 7, 25, n] {
                    let text = nested(before, after, n).replace('x', &name);
                    let formatted = format(&text).expect("a program");
                    assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "{before} {width}");
                    assert!(formatted.lines().all(common::is_narrow), "{before} {width}\n{formatted}");
                }
            }
        }
    });
}

#[test]
fn beyond_the_limit() {
    on_small_stack(|| {
        let chains = CHAINS.map(|link| ("", link, 0));
        for (before, after, _) in NESTS.into_iter().chain(chains) {
            for n in [MAX_NESTING + 1, 10_000] {
                let text = nested(before, after, n);
                let (dump, diagnostics) = parse_text(&text);
                let codes: Vec<_> = diagnostics.iter().map(|d| d.code.name).collect();
                assert_eq!(codes, ["nesting-limit"], "{before} {after} {n}");
                assert!(dump.ends_with("(= (o) (error))\n  (= (p) x))\n"), "{before} {after} {n}");
            }
        }
    });
}

#[test]
fn unclosed() {
    on_small_stack(|| {
        for (before, ..) in NESTS {
            for n in [10, 10_000] {
                let text = format!("node f(x) -> (o) o = {}", before.repeat(n));
                let (_, diagnostics) = parse_text(&text);
                assert_eq!(diagnostics.len(), 1, "{before} {n}");
            }
        }
        for text in ["(*", "node ", "import ", "node f(", "node f(x: num [", "\"", "x,", "é"] {
            let (_, diagnostics) = parse_text(&text.repeat(10_000));
            assert!(!diagnostics.is_empty() && diagnostics.len() <= 101, "{text}");
        }
    });
}
