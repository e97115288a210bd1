use std::collections::BTreeSet;
use std::fmt::Write;

use rml_ir::flat::parse;

use super::*;
use crate::clocks::{constraint, infer};

fn inferred(flat: &Flat) -> Inferred {
    infer::infer(flat, &constraint::constraints(flat), &BTreeSet::new())
}

/// The number of visits to values, clocks and delays while the delays of a program are separated and the constant ones
/// are found.
fn visits(text: &str) -> usize {
    let flat = parse(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let (inferred, structure) = (inferred(&flat), Structure::new(&flat));
    let mut separation = Separation::new(&flat, &inferred, &structure, Steady::new(&flat, &structure));
    assert!(separation.blocks().count > 0);
    separation.settle();
    separation.visits
}

/// A program with variables `v0` to `vN`. The first one is the input, and the last one the output.
fn program(equations: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = equations.collect();
    let mut text = format!("flat f32 \"main\"\ninput v0\noutput v{}\n", lines.len());
    for v in 0..=lines.len() {
        let _ = writeln!(text, "var v{v} num [] \"x{v}\"");
    }
    text.push_str("const k0 num [] = 0.0 as \"0.0\"\n");
    for (i, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "v{} = {line}", i + 1);
    }
    text
}

/// A chain of delays.
fn line(n: usize) -> String {
    program((0..n).map(|v| format!("fby k0 v{v}")))
}

/// A chain of delays, and the delayed sum of all their values.
fn filter(n: usize) -> String {
    let line = (0..n).map(|v| format!("fby k0 v{v}"));
    let sums = (0..n).map(move |i| format!("apply add (v{}, v{})", n + i, i));
    program(line.chain(sums).chain([format!("fby k0 v{}", 2 * n)]))
}

/// A chain of delays of a constant.
fn constants(n: usize) -> String {
    program(["const k0".to_owned()].into_iter().chain((1..n).map(|v| format!("fby k0 v{v}"))))
}

/// States that read each other in a row.
fn states(n: usize) -> String {
    program((0..n).flat_map(|i| {
        let (delay, sum) = (2 * i + 1, 2 * i + 2);
        [format!("fby k0 v{sum}"), format!("apply add (v{delay}, v{})", 2 * i)]
    }))
}

#[test]
fn a_chain_takes_no_pass_for_each_link() {
    for family in [line, filter, constants, states] {
        let [once, twice] = [1000, 2000].map(|n| visits(&family(n)));
        assert!(twice < once * 5 / 2, "{once} visits, then {twice}:\n{}", family(5));
        assert!(once < 40_000, "{once} visits:\n{}", family(5));
    }
}

#[test]
fn a_long_line_is_separated() {
    for text in [line(500), filter(500), states(500)] {
        let flat = parse(&text).unwrap();
        let values = values(&flat, &inferred(&flat));
        let labels: BTreeSet<Label> = values.labels.iter().copied().collect();
        assert_eq!(labels.len(), flat.vars.len(), "{}", filter(5));
    }
}

#[test]
fn twins_stay_together() {
    // Each delay occurs twice, and so does the sum.
    let twins = (0..100).flat_map(|i: usize| [(2 * i).saturating_sub(1); 2].map(|v| format!("fby k0 v{v}")));
    let flat =
        parse(&program(twins.chain(["apply add (v199, v199)", "apply add (v200, v199)"].map(str::to_owned))))
            .unwrap();
    let values = values(&flat, &inferred(&flat));
    let labels: BTreeSet<Label> = values.labels.iter().copied().collect();
    assert_eq!(labels.len(), 1 + 100 + 1);
}

#[test]
fn all_links_of_a_constant_are_constant() {
    let flat = parse(&constants(500)).unwrap();
    let values = values(&flat, &inferred(&flat));
    assert_eq!(values.labels.iter().skip(1).collect::<BTreeSet<_>>().len(), 1);
}

/// The constant comes after the operator that is applied to it, and 0 * 0 is computed from a delay of it.
#[test]
fn an_operator_on_a_delay_of_a_constant_is_constant() {
    let text = "flat f32 \"\"\nvar v0 int []\nvar v1 int []\nvar v2 int []\nvar v3 int []\nvar v4 int []\nconst k0 int [] = 2\n\
                v0 = post v3\nv1 = apply mul (v0, v0)\nv2 = post v1\nv3 = const k0\nv4 = apply add (v3, v3)\n";
    let flat = parse(text).unwrap();
    let values = values(&flat, &inferred(&flat));
    let labels: Vec<Label> = values.labels.iter().copied().collect();
    assert_eq!((labels[0], labels[1]), (labels[3], labels[2]));
    assert!(labels[1] == labels[4] && labels[0] != labels[1]);
    crate::clocks(&flat);
}
