//! Functions are strict, including `and` and `or`; only `if` and `merge` choose. All ways to compute a program agree on
//! the known values: the program simplified and reduced to its outputs, the program with all its variables, and both as
//! tensor functions.

mod support;

use std::sync::Arc;

use rml::{Cell, Columns, End, Engine, Format, Options, RunOptions};
use rml_backend_cpu::Cpu;
use support::source;

/// Inputs `d` and `x`, the equations, and the row of `o` in closed and open traces of three cycles: `?` is not known,
/// `_` is absent.
const PROGRAMS: &[(&str, &str, &str)] = &[
    // A value that depends on itself stays unknown, with any constant as the other operand.
    ("v = false and v; o = if v then 1 else 2;", "? ? ?", "? ? ?"),
    ("v = v and false; o = if v then 1 else 2;", "? ? ?", "? ? ?"),
    ("v = true or v; o = if v then 1 else 2;", "? ? ?", "? ? ?"),
    ("v = d or (w and false); w = not v; o = to_int(v);", "? ? ?", "? ? ?"),
    ("b = false; v = if b then d else (post v) and b; o = if v then 1 else 2;", "? ? ?", "? ? ?"),
    ("v = not (v or true); o = if v then 1 else 2;", "? ? ?", "? ? ?"),
    ("v = if v then false else false; o = to_int(v);", "? ? ?", "? ? ?"),
    ("v = merge v false (false when not v); o = to_int(v);", "? ? ?", "? ? ?"),
    ("v = false and v; o = x when (true or v);", "? ? ?", "? ? ?"),
    ("v = true or v; o = x when v;", "? ? ?", "? ? ?"),
    ("v = true or v; o = merge v x (0 when not v);", "? ? ?", "? ? ?"),
    ("v = false and v; w = false fby v; o = to_int(w);", "0 ? ?", "0 ? ?"),
    ("v = false and v; o = count(x) every v;", "1 ? ?", "1 ? ?"),
    // A value that depends on a later cycle waits for it, with any constant as the other operand.
    ("o = to_int(false and (post d));", "0 0 ?", "0 0 ?"),
    ("o = to_int((post d) or true);", "1 1 ?", "1 1 ?"),
    ("v = false fby back (false and d); o = to_int(v);", "0 0 0", "0 0 ?"),
    ("v = d and (false fby back v); o = to_int(v);", "0 0 0", "? ? ?"),
    ("v = true or (false fby back v); o = to_int(v);", "1 1 1", "? ? ?"),
    // A choice needs only the chosen value.
    ("v = false and v; o = if true then x else to_int(v);", "5 6 7", "5 6 7"),
    ("v = if true then true else v; o = to_int(v);", "1 1 1", "1 1 1"),
    ("v = if true then true else (false fby back v); o = to_int(v);", "1 1 1", "1 1 1"),
    ("c = true; v = false and v; o = merge c x (to_int(v) when not c);", "5 6 7", "5 6 7"),
    // Constants are still simplified if no unknown value is involved.
    ("v = false and d; o = merge v (x when v) (0 when not v);", "0 0 0", "0 0 0"),
    ("v = false fby (false and v); o = if v then 1 else 2;", "2 2 2", "2 2 2"),
    ("o = x when (d or true);", "5 6 7", "5 6 7"),
];

fn program(equations: &str) -> String {
    format!(
        "node count(x) -> (n) n = (0 fby n) + 1;\nnode main(d: bool [], x: int []) -> (o: int []) {equations}\n"
    )
}

fn row(text: &str, all_vars: bool, end: End, backend: bool) -> String {
    let options = Options { all_vars, ..Options::default() };
    let program = rml::compile(&source(text), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let inputs = r#"{"d": [true, false, true], "x": [5, 6, 7]}"#;
    let inputs = Columns::parse(inputs.as_bytes(), Format::Json, "inputs").expect("a table");
    let engine = if backend { Engine::simulator_on(Arc::new(Cpu)) } else { Engine::simulator() };
    let run = RunOptions { end, all_vars, engine, ..RunOptions::default() };
    let trace = rml::run(&program, &inputs, &run).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let cell = |cell: &Cell| match cell {
        Cell::Absent => "_".to_owned(),
        Cell::Unknown => "?".to_owned(),
        Cell::Value(value) => value.as_int().expect("an int").to_string(),
    };
    trace.values["o"].iter().map(cell).collect::<Vec<_>>().join(" ")
}

#[test]
fn all_ways_of_running_know_the_same() {
    for (equations, closed, open) in PROGRAMS {
        let text = program(equations);
        for (end, expected) in [(End::Closed, closed), (End::Open, open)] {
            for (all_vars, backend) in [(false, false), (false, true), (true, false), (true, true)] {
                let found = row(&text, all_vars, end, backend);
                assert_eq!(found, **expected, "{equations} ({end:?}, all: {all_vars}, functions: {backend})");
            }
        }
    }
}

/// `check` rejects a value that depends on itself within one cycle, with any constant as the other operand.
#[test]
fn the_analysis_is_strict_too() {
    let code = |equations: &str| {
        let found = rml::check(&source(&program(equations)), &Options::default()).1;
        found.into_iter().find(|d| d.is_error()).map(|d| d.code.name)
    };
    assert_eq!(code("v = false and v; o = if v then 1 else 2;"), Some("instantaneous-cycle"));
    assert_eq!(code("v = true or v; o = to_int(v);"), Some("instantaneous-cycle"));
    let post = "b = false; v = if b then d else (post v) and b; o = if v then 1 else 2;";
    assert_eq!(code(post), Some("uncut-recurrence"));
    assert_eq!(code("v = if true then true else v; o = to_int(v);"), None);
}
