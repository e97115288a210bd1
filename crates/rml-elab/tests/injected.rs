//! Errors put into correct programs: one error gives exactly one finding, at its place, and two errors in different
//! equations give exactly two, whatever depends on them.

mod common;

use std::path::Path;

use bumpalo::Bump;
use common::{check_all, options};
use rml_base::{FileId, Sources, Span};
use rml_ir::typed::StaticValue;
use rml_syntax::ast::{Equation, ExprKind, StateDef};

/// Wrong right sides, with `@` for the correct one, and their codes. They have the correct element type, or none. The
/// last two may define several names.
const WRONG: [(&str, &str); 9] = [
    ("1 + true", "type-mismatch"),
    ("(@) when ([true, false] == [true, true, true])", "shape-mismatch"),
    ("(@) when 1", "condition-type"),
    ("nobody + 1.0", "unknown-name"),
    ("exp(1.0, 2.0)", "arity"),
    ("1.0 +", "syntax"),
    ("(@) when [true, false]", "condition-type"),
    ("no_such_node(1.0)", "unknown-name"),
    ("1.0 1.0", "syntax"),
];

/// A program, and the places of the right sides of its equations, with the numbers of names that they define.
struct Program {
    name: String,
    text: String,
    sides: Vec<(Span, usize)>,
}

/// The equation itself, or the equations of the states of an automaton.
fn with_sides<'a>(equation: &'a Equation<'a>) -> Vec<&'a Equation<'a>> {
    match equation.rhs.kind {
        ExprKind::Automaton(states) => {
            states.iter().flat_map(StateDef::equations).flat_map(with_sides).collect()
        }
        // An assertion has no equals sign before its condition.
        ExprKind::Assert { .. } => Vec::new(),
        _ => vec![equation],
    }
}

fn programs() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<_> = ["examples/paper", "examples", "std"]
        .iter()
        .flat_map(|dir| std::fs::read_dir(root.join(dir)).expect("directory"))
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "rml"))
        .collect();
    paths.sort();
    let programs = paths.into_iter().map(|path| {
        let text = std::fs::read_to_string(&path).expect("readable");
        let (bump, mut names) = (Bump::new(), lasso::Rodeo::new());
        let parsed = rml_syntax::parse(&bump, &mut names, FileId(0), &text);
        // Equations whose number of repetitions is set by a caller are checked in the call.
        let constants = !path.starts_with(root.join("std"));
        let equations = parsed.file.nodes().flat_map(|n| n.equations.iter());
        let equations = equations.filter(|e| constants || e.range.is_none());
        let sides = equations.flat_map(with_sides).map(|e| (e.rhs.span, e.lhs.len())).collect();
        Program { name: path.display().to_string(), text, sides }
    });
    programs.collect()
}

/// The codes and places of the errors of a text.
fn errors(text: &str) -> Vec<(String, usize)> {
    let mut sources = Sources::new();
    let main = sources.add("injected", text);
    let mut options = options();
    for name in ["batch", "d", "n"] {
        options.defaults.insert(name.to_owned(), StaticValue::Int(3));
    }
    let (_, found) = check_all(&mut sources, main, &options);
    let errors = found.iter().filter(|d| d.is_error());
    errors.map(|d| (d.code.name.to_owned(), d.span().map_or(0, |s| s.start as usize))).collect()
}

/// The text with wrong right sides in these equations, and the codes and lines that must be reported.
fn inject(program: &Program, at: &[(usize, usize)]) -> (String, Vec<(String, std::ops::Range<usize>)>) {
    let mut text = program.text.clone();
    let mut expected = Vec::new();
    let mut shift = 0_isize;
    for &(equation, kind) in at {
        let (span, names) = program.sides[equation];
        // A sampled expression cannot be a list of sizes.
        let side = &program.text[span.range()];
        let sizes = side.starts_with('[')
            || side.starts_with("shape(")
            || program.text[..span.range().start].ends_with('[');
        let (wrong, code) = match names {
            1 if sizes => WRONG[3],
            1 => WRONG[kind % WRONG.len()],
            _ => WRONG[7 + kind % 2],
        };
        let start = span.range().start.checked_add_signed(shift).expect("in the text");
        let end = span.range().end.checked_add_signed(shift).expect("in the text");
        // The span of an expression in parentheses does not include the parentheses.
        let semicolon = text[end..].find(';').map_or(end, |semicolon| end + semicolon);
        let end = text[end..semicolon].find(" for ").map_or(semicolon, |range| end + range);
        let open = text[..start].rfind('=').map_or(start, |equals| equals + 1);
        let wrong = wrong.replace('@', text[open..end].trim());
        text.replace_range(open..end, &format!(" {wrong}"));
        expected.push((code.to_owned(), open..open + wrong.len() + 2));
        shift +=
            isize::try_from(wrong.len() + 1).expect("short") - isize::try_from(end - open).expect("short");
    }
    (text, expected)
}

fn check(program: &Program, at: &[(usize, usize)]) {
    let (text, expected) = inject(program, at);
    let found = errors(&text);
    let fits = found.len() == expected.len()
        && found
            .iter()
            .zip(&expected)
            .all(|((code, at), (wanted, range))| code == wanted && range.contains(at));
    assert!(fits, "{} {at:?}: expected {expected:?}, found {found:?} in\n{text}", program.name);
}

#[test]
fn one_error_is_one_finding() {
    let mut checked = 0;
    for program in programs().iter().filter(|p| errors(&p.text).is_empty()) {
        for equation in 0..program.sides.len() {
            check(program, &[(equation, checked)]);
            checked += 1;
        }
    }
    assert!(checked > 200, "only {checked} equations");
}

#[test]
fn two_errors_are_two_findings() {
    let mut checked = 0;
    for program in programs().iter().filter(|p| errors(&p.text).is_empty()) {
        let count = program.sides.len();
        for first in (checked % 3..count.saturating_sub(1)).step_by(3) {
            let second = first + 1 + (7 * first + checked) % (count - 1 - first);
            let at = [(first, checked), (second, checked / 2)];
            // An unknown name is reported once.
            if inject(program, &at).0.matches("nobody").count() < 2 {
                check(program, &at);
            }
            checked += 1;
        }
    }
    assert!(checked > 80, "only {checked} pairs");
}
