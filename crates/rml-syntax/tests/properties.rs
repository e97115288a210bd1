//! Properties of parser and formatter on random texts: nothing panics, and the formatter keeps meaning and comments and
//! does not change its own output.

mod common;

use common::{comments, dump_of, parse_text};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rml_syntax::format;

/// A random expression, printed with the necessary parentheses and some unnecessary ones.
#[derive(Clone, Debug)]
enum E {
    Leaf(&'static str),
    Redundant(Box<E>),
    Binary(usize, Box<E>, Box<E>),
    Prefix(&'static str, Box<E>),
    If(Box<E>, Box<E>, Box<E>),
    Fby(bool, Box<E>, Box<E>),
    Sampled(&'static str, Box<E>, Box<E>),
    Merge(Box<E>, Box<E>, Box<E>),
    Call(&'static str, Vec<E>),
    Array(bool, Vec<E>),
    Index(Box<E>, Vec<(u8, E)>),
}

const OPERATORS: [(&str, usize); 12] = [
    ("or", 2),
    ("and", 3),
    ("==", 4),
    ("!=", 4),
    ("<", 4),
    ("<=", 4),
    (">", 4),
    (">=", 4),
    ("+", 5),
    ("-", 5),
    ("*", 6),
    ("/", 6),
];

impl E {
    fn level(&self) -> usize {
        match self {
            E::If(..) => 0,
            E::Fby(..) => 1,
            E::Binary(op, ..) => OPERATORS[*op].1,
            E::Sampled(..) => 7,
            E::Prefix(..) => 8,
            E::Index(..) => 9,
            E::Merge(..) => 10,
            E::Leaf(_) | E::Redundant(_) | E::Call(..) | E::Array(..) => 11,
        }
    }

    /// Whether the expression could be read differently after another operand of `merge`.
    fn misread(&self) -> bool {
        match self {
            E::Array(..) | E::Leaf("every") | E::Call("every", _) => true,
            E::Index(base, _) => base.misread(),
            _ => false,
        }
    }

    fn put_at(&self, level: usize, out: &mut Vec<&'static str>) {
        if self.level() >= level {
            self.put(out);
        } else {
            out.push("(");
            self.put(out);
            out.push(")");
        }
    }

    fn put(&self, out: &mut Vec<&'static str>) {
        match self {
            E::Leaf(text) => out.push(text),
            E::Redundant(e) => {
                out.push("(");
                e.put(out);
                out.push(")");
            }
            E::Binary(op, a, b) => {
                let (text, level) = OPERATORS[*op];
                a.put_at(level, out);
                out.push(text);
                b.put_at(level + 1, out);
            }
            E::Prefix(op, e) => {
                out.push(op);
                e.put_at(8, out);
            }
            E::If(c, a, b) => {
                for (word, e) in [("if", c), ("then", a), ("else", b)] {
                    out.push(word);
                    e.put(out);
                }
            }
            E::Fby(back, a, b) => {
                a.put_at(2, out);
                out.push("fby");
                out.extend(back.then_some("back"));
                let mut next = Vec::new();
                b.put(&mut next);
                // A name `back` with a suffix would be read as `fby back`.
                let parentheses = next.len() > 1 && next.first() == Some(&"back");
                out.extend(parentheses.then_some("("));
                out.extend(next);
                out.extend(parentheses.then_some(")"));
            }
            E::Sampled(op, a, b) => {
                a.put_at(7, out);
                out.push(op);
                b.put_at(8, out);
            }
            E::Merge(c, a, b) => {
                out.push("merge");
                for (i, e) in [c, a, b].into_iter().enumerate() {
                    e.put_at(if i > 0 && e.misread() { 12 } else { 9 }, out);
                }
            }
            E::Call(name, args) => {
                out.extend([name, "("]);
                E::put_list(args, out);
                out.push(")");
            }
            E::Array(splice, items) => {
                out.push("[");
                out.extend(splice.then_some("dims.. ,").into_iter().flat_map(str::split_whitespace));
                E::put_list(items, out);
                out.push("]");
            }
            E::Index(base, indices) => {
                base.put_at(if matches!(**base, E::Merge(..)) { 11 } else { 9 }, out);
                out.push("[");
                for (i, (form, e)) in indices.iter().enumerate() {
                    out.extend((i > 0).then_some(","));
                    match form {
                        0 => e.put(out),
                        1 => out.push(".."),
                        2 => out.push(":"),
                        3 => {
                            out.push(":");
                            e.put(out);
                        }
                        _ => {
                            e.put(out);
                            out.push(":");
                            e.put(out);
                            out.push(":");
                            e.put(out);
                        }
                    }
                }
                out.push("]");
            }
        }
    }

    fn put_list(items: &[E], out: &mut Vec<&'static str>) {
        for (i, e) in items.iter().enumerate() {
            out.extend((i > 0).then_some(","));
            e.put(out);
        }
    }
}

/// A strategy for expressions of at most `depth` levels and about `size` parts.
fn expression(depth: u32, size: u32) -> impl Strategy<Value = E> {
    let names = prop::sample::select(vec!["x", "do", "back", "every", "end", "bp", "long_variable_name"]);
    let leaf = prop_oneof![
        3 => names.clone().prop_map(E::Leaf),
        1 => prop::sample::select(vec!["1", "2.5", "1e-3", "true", "false"]).prop_map(E::Leaf),
    ];
    leaf.prop_recursive(depth, size, 4, move |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            1 => boxed().prop_map(E::Redundant),
            4 => (0..OPERATORS.len(), boxed(), boxed()).prop_map(|(op, a, b)| E::Binary(op, a, b)),
            2 => (prop::sample::select(vec!["-", "not", "post"]), boxed()).prop_map(|(op, e)| E::Prefix(op, e)),
            1 => (boxed(), boxed(), boxed()).prop_map(|(c, a, b)| E::If(c, a, b)),
            2 => (any::<bool>(), boxed(), boxed()).prop_map(|(k, a, b)| E::Fby(k, a, b)),
            2 => (prop::sample::select(vec!["when", "every"]), boxed(), boxed())
                .prop_map(|(op, a, b)| E::Sampled(op, a, b)),
            2 => (boxed(), boxed(), boxed()).prop_map(|(c, a, b)| E::Merge(c, a, b)),
            2 => (names.clone(), prop::collection::vec(inner.clone(), 0..4))
                .prop_map(|(f, args)| E::Call(f, args)),
            1 => (any::<bool>(), prop::collection::vec(inner.clone(), 0..9)).prop_map(|(s, es)| E::Array(s, es)),
            1 => (boxed(), prop::collection::vec((0..5u8, inner.clone()), 1..3))
                .prop_map(|(b, is)| E::Index(b, is)),
        ]
    })
}

/// A strategy for nodes with a few equations, as tokens.
fn program() -> impl Strategy<Value = Vec<&'static str>> {
    let heads = prop::sample::select(vec![
        "node f ( ) -> ( o )",
        "const a = - 1 ; private const b = [ 2 , a ] ; node f ( g : node , x ) -> ( o )",
        "import std . layers ( a , b as c ) ; import \"x.rml\" as x ; private node f ( a , b : num [ ] ) -> ( o : int [ dims.. , 2 * n ] when b )",
        "node ext ( a ) -> ( b ) node f ( a : bool [ ] when not b , a_rather_long_name_for_an_input : num [ batch , units ] , another_long_name ) -> ( )",
    ]);
    let lhs = prop::sample::select(vec![
        "o",
        "_ , o : num [ 3 ] , y",
        "x : int [ ]",
        "h [ k + 1 ]",
        "h [ 0 ] : num [ 3 ] , _",
    ]);
    let range = prop::sample::select(vec!["", "", "for k < n", "for 2 * a <= k < f ( 3 ) + 1"]);
    (heads, prop::collection::vec((lhs, expression(5, 48), range), 0..5)).prop_map(|(head, equations)| {
        let mut out: Vec<&'static str> = head.split_whitespace().collect();
        for (lhs, e, range) in &equations {
            out.extend(lhs.split_whitespace());
            out.push("=");
            e.put(&mut out);
            out.extend(range.split_whitespace());
            out.push(";");
        }
        out
    })
}

const BLANKS: [&str; 4] = [" ", "\n", "\n\n\n", "\n  "];
const COMMENTS: [&str; 7] = [
    " (* c *) ",
    " -- line\n",
    "\n-- own line \n",
    "\n   (* own line *)\n",
    " (* two\n   lines *) ",
    "(* a *)(* (* nested *) *)",
    "\n\n  -- spaced\n\n",
];

/// The tokens with blanks and comments between them.
fn with_layout(tokens: &[&str], layout: &[u8]) -> String {
    let mut text = String::new();
    for (i, token) in tokens.iter().enumerate() {
        let choice = layout.get(i % layout.len().max(1)).copied().unwrap_or(0) as usize;
        text.push_str(match choice {
            0..=3 => BLANKS[choice],
            4..=10 => COMMENTS[choice - 4],
            _ => " ",
        });
        text.push_str(token);
    }
    text
}

fn check_format(text: &str) -> Result<(), TestCaseError> {
    let once = format(text).map_err(|d| TestCaseError::fail(format!("{text}\n{d:#?}")))?;
    let twice = format(&once).map_err(|d| TestCaseError::fail(format!("formatted:\n{once}\n{d:#?}")))?;
    prop_assert_eq!(dump_of(text), dump_of(&once), "meaning of\n{}\nformatted:\n{}", text, once);
    prop_assert_eq!(comments(text), comments(&once), "comments of\n{}\nformatted:\n{}", text, once);
    prop_assert_eq!(&once, &twice, "not idempotent on\n{}", text);
    prop_assert!(once.lines().all(|l| l.trim_end() == l), "blanks at the end of a line:\n{}", once);
    let without_comments = comments(text).is_empty();
    prop_assert!(!without_comments || once.lines().all(common::is_narrow), "too wide a line:\n{}", once);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(20), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_keeps_meaning(tokens in program(), layout in prop::collection::vec(0..60u8, 1..40)) {
        let text = with_layout(&tokens, &layout);
        let (_, diagnostics) = parse_text(&text);
        // Two `merge`s directly inside each other may be ambiguous; no other error is allowed.
        prop_assume!(diagnostics.iter().all(|d| d.code.name != "merge-operands"));
        prop_assert!(diagnostics.is_empty(), "{}\n{:#?}", text, diagnostics);
        check_format(&text)?;
    }

    #[test]
    fn deep_expressions_fit(e in expression(40, 120), times in 1..4_usize) {
        let mut e = e;
        for _ in 1..times {
            e = E::Call("f", vec![E::Prefix("-", Box::new(e.clone())), E::Index(Box::new(E::Leaf("x")), vec![(0, e)])]);
        }
        let mut tokens: Vec<&str> = "node f ( x ) -> ( o ) o =".split_whitespace().collect();
        e.put(&mut tokens);
        tokens.push(";");
        let text = tokens.join(" ");
        prop_assume!(parse_text(&text).1.is_empty());
        check_format(&text)?;
    }

    #[test]
    fn any_text_parses_or_is_reported(text in "\\PC{0,80}|[ -~\n]{0,120}") {
        check_any(&text)?;
    }

    #[test]
    fn token_soups(words in prop::collection::vec(prop::sample::select(vec![
        "node", "when", "merge", "fby", "post", "if", "then", "else", "not", "and", "true", "f", "x", "_", "back",
        "every", "import", "as", "private", "const", "for", "num", "->", "==", "<", "..", "+", "-", "*", "/", "=", "=", "(", "(", ")", ")", ",", ";", ";",
        ":", "[", "]", ".", "1", "2.5", "3..", "1e", "\"s\"", "\"", "(*", "*)", "--", "\n", "{", "é", "&&",
    ]), 0..60)) {
        check_any(&words.join(" "))?;
        check_any(&words.concat())?;
    }

    #[test]
    fn damaged_programs(tokens in program(), at in any::<prop::sample::Index>(), kind in 0..3u8) {
        let mut tokens = tokens;
        let i = at.index(tokens.len());
        match kind {
            0 => { tokens.remove(i); }
            1 => tokens.insert(i, tokens[i]),
            _ => tokens.truncate(i),
        }
        check_any(&tokens.join(" "))?;
    }
}

fn check_any(text: &str) -> Result<(), TestCaseError> {
    let (dump, diagnostics) = parse_text(text);
    for d in &diagnostics {
        for label in &d.labels {
            prop_assert!(text.get(label.span.range()).is_some(), "{:?} outside of the text {:?}", d, text);
        }
        prop_assert!(!d.labels.is_empty(), "{:?} points nowhere", d);
    }
    if diagnostics.is_empty() {
        prop_assert!(!dump.contains("(error)"), "an error without a report in {:?}", text);
        check_format(text)?;
    } else {
        prop_assert!(format(text).is_err());
    }
    Ok(())
}
