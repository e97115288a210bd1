//! Clocks of programs: which programs are accepted, with which clocks, and which are rejected, at which place and why.

use rml_analysis::Verdict;
use rml_base::codes;
use rml_driver::{Analysis, Options, Source};

fn analysis(text: &str) -> Analysis {
    rml_driver::analyse(&Source::text("test", text), &Options::default()).expect("compiles")
}

/// The clock of a named variable.
fn clock(analysis: &Analysis, name: &str) -> String {
    let named = |d: &rml_ir::flat::VarData| d.name.as_deref() == Some(name);
    let var = analysis.flat.vars.iter_enumerated().find(|(_, d)| named(d)).expect("a variable").0;
    let clocks = &analysis.clocks.clocks;
    clocks.text(&analysis.flat, clocks.of[var])
}

fn accepts(text: &str, clocks: &[(&str, &str)]) {
    let found = analysis(text);
    assert_eq!(found.clocks.verdict, Verdict::Synchronous, "{text}");
    for (name, expected) in clocks {
        assert_eq!(clock(&found, name), *expected, "{name} in {text}");
    }
}

/// Checks that a program is rejected with these findings: the marked text, and a part of the message.
fn rejects(text: &str, expected: &[(&str, &str)]) {
    let found = analysis(text);
    let Verdict::Rejected(list) = &found.clocks.verdict else { panic!("{:?}: {text}", found.clocks.verdict) };
    let shown: Vec<(&str, String)> =
        list.iter().map(|d| (&text[d.span().expect("a place").range()], d.to_string())).collect();
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for ((place, said), (at, part)) in shown.iter().zip(expected) {
        let labels: Vec<&str> = list.iter().flat_map(|d| &d.labels).map(|l| l.message.as_str()).collect();
        assert_eq!(place, at, "{said}");
        assert!(said.contains(part) || labels.iter().any(|l| l.contains(part)), "{said}\n{labels:#?}");
    }
    assert!(list.iter().all(|d| d.code == codes::analysis::CLOCK_MISMATCH));
}

fn is_dynamic(text: &str) {
    let found = analysis(text);
    let Verdict::Dynamic(list) = &found.clocks.verdict else { panic!("{:?}: {text}", found.clocks.verdict) };
    assert!(list.iter().all(|d| d.code == codes::analysis::CLOCK_DYNAMIC && !d.is_error()));
}

#[test]
fn sampling_merging_and_delays() {
    accepts(
        "node main(x: int [], c: bool [], d: bool []) -> (o, p, q)
           o = (0 fby x) when c;
           p = o when (d when c);
           q = merge c (o + (1 fby back o)) 7;",
        &[("o", "base on c"), ("p", "base on c on (d when c)"), ("q", "base")],
    );
    accepts("node main(x: int [], c: bool []) -> (o) o = if c then x else (post o);", &[("o", "base")]);
}

#[test]
fn declared_and_inferred_inputs() {
    accepts(
        "node main(y: int [] when not c, c: bool []) -> (o) o = y + 1;",
        &[("y", "base on not c"), ("o", "base on not c")],
    );
    accepts(
        "node main(y: int [], z: int [], c: bool []) -> (o) o = merge c y z;",
        &[("y", "base on c"), ("z", "base on not c"), ("o", "base")],
    );
    accepts(
        "node main(x: int [], y: int [], c: bool []) -> (o) o = (x when c) + y;",
        &[("y", "base on c"), ("x", "base")],
    );
}

#[test]
fn instances_have_clocks_of_their_own() {
    accepts(
        "node f(x) -> (o) o = x + (0 fby o);
         node main(x: int [], c: bool []) -> (a, b) a = f(x); b = f(x when c);",
        &[("a", "base"), ("b", "base on c"), ("f_1.o", "base on c")],
    );
}

#[test]
fn conditions_are_compared_by_meaning() {
    accepts("node main(x: int [], c: bool []) -> (o) o = (x when c) + (x when not not c);", &[]);
    accepts(
        "node main(x: int [], c: bool [], d: bool []) -> (o)
           o = (x when c when (d when c)) + (x when (d and c));",
        &[],
    );
    accepts(
        "node main(x: int []) -> (o) o = (x when (x > 3)) + (x when (3 < x)) + (x when not (x <= 3));",
        &[],
    );
    accepts("node main(x: int []) -> (o) o = x + (x when true);", &[("o", "base")]);
    // Equal through a recurrence.
    accepts(
        "node main(x: int []) -> (o)
           a = false fby not a;
           b = false fby not b;
           o = (x when a) + (x when b);",
        &[],
    );
    // The output of a backfill is used as a condition twice.
    accepts(
        "node back(i, bp) -> (o) o = merge bp (i when bp) ((post o) when not bp);
         node main(i: bool [], bp: bool [], x: int []) -> (o)
           c = back(i, bp);
           o = merge c (x when back(i, bp)) 0;",
        &[],
    );
}

#[test]
fn what_nothing_drives_ticks_always() {
    accepts("node main() -> (o) o = 0 fby u; u = o + 1;", &[("o", "base")]);
}

#[test]
fn a_window_may_end_on_any_clock() {
    accepts(
        "node sum(x) -> (o) o = x + (0 fby o);
         node main(x: int [], c: bool [], end: bool []) -> (o)
           o = sum(x when c) every end;",
        &[("o", "base on c")],
    );
}

#[test]
fn operands_on_different_clocks_are_rejected() {
    rejects(
        "node main(x: int [], c: bool []) -> (o) o = x + (x when c);",
        &[("o = x + (x when c);", "`x` is on `base`, `x when c` on `base on c`")],
    );
    rejects(
        "node main(x: int [], y: int [], c: bool [], d: bool []) -> (o) o = (x when c) + (y when d);",
        &[("o = (x when c) + (y when d);", "`base on d`")],
    );
}

#[test]
fn a_branch_off_its_clock_is_rejected() {
    rejects(
        "node main(x: int [], c: bool []) -> (o) o = merge c x (x when not c);",
        &[("o = merge c x (x when not c);", "write `x when c`")],
    );
}

#[test]
fn a_named_constant_has_one_clock() {
    rejects(
        "node main(x: int [], c: bool []) -> (a, b)
           k = 1;
           a = x + k;
           b = (x when c) + k;",
        &[("b = (x when c) + k;", "a named constant has one clock")],
    );
    accepts("node main(x: int [], c: bool []) -> (a, b) a = x + 1; b = (x when c) + 1;", &[]);
}

#[test]
fn declared_clocks_are_held_against_uses() {
    rejects(
        "node main(x: int [], y: int [] when c, c: bool []) -> (o, p) p = if c then x else 0; o = x * y;",
        &[("o = x * y;", "is declared to be on `base on c`")],
    );
}

/// The figure "gdescent" of the paper as printed: the products of gradients and unsampled values are an erratum (the
/// first one of its programs).
#[test]
fn the_papers_unsampled_products_are_rejected() {
    rejects(
        "node diff_dense(i, k, bp, do) -> (o, di, dk)
           o = k * i;
           di = k * do;
           dk = i * do;
         node main(i: num [], bp: bool []) -> (o)
           o, di, dk = diff_dense(i, 0.0 fby i, bp, do);
           do = (o when bp) - 1.0;",
        &[("di = k * do;", "sample `k`: `k when bp`"), ("dk = i * do;", "sample `i`: `i when bp`")],
    );
}

#[test]
fn only_independent_disagreements_are_told() {
    rejects(
        "node main(x: int [], c: bool []) -> (o)
           a = x + (x when c);
           b = a + 1;
           o = b + x;",
        &[("a = x + (x when c);", "`base on c`")],
    );
}

#[test]
fn what_cannot_be_decided_is_dynamic() {
    // NaN is neither above nor below 0.
    is_dynamic("node main(x: num []) -> (o) o = merge (x > 0.0) (x when (x > 0.0)) (x when (x <= 0.0));");
    // A square is never negative, but the analysis does not know that.
    is_dynamic("node main(x: num []) -> (o) o = x + (x when (x * x >= 0.0));");
}

/// An input may differ between two cycles, so conditions in different cycles have nothing in common.
#[test]
fn an_input_in_two_cycles_decides_two_conditions() {
    rejects(
        "node main(x: num [], c: bool []) -> (o)
           n = post c;
           a = x when n;
           o = merge c a (0.0 when not c);",
        &[("o = merge c a (0.0 when not c);", "`base on n`")],
    );
    rejects(
        "node main(x: num [], c: bool []) -> (o)
           d = false fby c;
           o = merge d (x when c) (0.0 when not d);",
        &[("o = merge d (x when c) (0.0 when not d);", "`base on c`")],
    );
    rejects(
        "node main(x: num [], y: num []) -> (o)
           d = x < (0.0 fby x);
           o = y + (y when d);",
        &[("o = y + (y when d);", "`base on d`")],
    );
}

/// Reads of seemingly different cycles may read the same one: the first two programs run without errors for all inputs.
#[test]
fn an_input_that_may_be_read_in_one_cycle_decides_nothing_twice() {
    // One read ahead and one back.
    is_dynamic(
        "node main(x: num [], c: bool []) -> (o)
           n = post (false fby c);
           o = merge c (x when n) (0.0 when not n);",
    );
    // The window ends wherever the delay would read `true`.
    is_dynamic(
        "node f(c: bool []) -> (o) o = false fby c;
         node main(x: num [], c: bool []) -> (o)
           d = f(c) every c;
           o = x + (x when not d);",
    );
    // The delay counts cycles of `c`, so the previous one may be any earlier cycle.
    is_dynamic(
        "node main(x: num [], c: bool [], e: bool []) -> (o)
           y = x when c;
           d = true fby (e when c);
           o = (y when d) + (y when (e when c));",
    );
}

#[test]
fn every_example_is_proved() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut analysed = 0;
    for folder in [root.clone(), root.join("paper")] {
        let mut files: Vec<_> =
            std::fs::read_dir(folder).expect("examples").flatten().map(|f| f.path()).collect();
        files.sort();
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rml")) {
            let found = rml_driver::analyse_all(&Source::file(file), &Options::default());
            assert!(!found.is_empty(), "{}: nothing could be analysed", file.display());
            for analysis in found {
                let at = format!("{}: {}", file.display(), analysis.flat.name);
                assert_eq!(analysis.clocks.verdict, Verdict::Synchronous, "{at}");
                analysed += 1;
            }
        }
    }
    assert!(analysed > 30, "{analysed}");
}

/// A literal condition of an adjoint has the clock of the outputs, whatever this clock is.
#[test]
fn a_literal_condition_of_an_adjoint() {
    let node = "node f(y: num []) -> (o: num [])\n  o = 1.0 fby y;\n";
    let call = "  o, bpy, dy = diff_f(y, true, do);\n  do = 0.1 * o;\n";
    accepts(
        &format!("{node}node main(x: num [], c: bool []) -> (o, dy)\n  y = x when c;\n{call}"),
        &[("o", "base on c"), ("bpy", "base on c")],
    );
}

#[test]
fn a_batch_counts_for_the_nodes_that_take_it() {
    let text = "node f(x: num [batch, d]) -> (y) y = x; node g(x: num []) -> (y) y = x;";
    let found = rml_driver::analyse_all(
        &Source::text("test", text),
        &Options { batch: Some(4), ..Options::default() },
    );
    let assumed: Vec<Vec<&str>> =
        found.iter().map(|a| a.assumed.iter().map(|(name, _)| name.as_str()).collect()).collect();
    assert_eq!(assumed, [vec!["d"], vec![]]);
    assert!(found[0].types(false).contains("num [4, "));
}

#[test]
fn declared_clocks_of_outputs_are_checked() {
    rejects(
        "node main(x: num [], c: bool []) -> (o: num [] when c) o = x;",
        &[("when c", "`o` is declared `when c`, but it is present on `base`")],
    );
    accepts(
        "node main(x: num [], c: bool []) -> (o: num [] when c) o = x when not not c;",
        &[("o", "base on c")],
    );
    accepts(
        "node main(x: num [], c: bool []) -> (o: num [] when not d, d: bool []) o = x when c; d = not c;",
        &[],
    );
    is_dynamic("node main(x: num []) -> (o: num [] when c, c: bool []) o = x; c = x * x >= 0.0;");
}

#[test]
fn declared_clocks_of_callees_are_checked() {
    // Errors that only follow from the wrong argument are not reported.
    rejects(
        "node g(x: num [] when c, c: bool []) -> (o) o = merge c x 0.0;
         node main(c: bool []) -> (o) o = g(if c then 1.0 else 2.0, c);",
        &[("o = g(if c then 1.0 else 2.0, c);", "`x` is declared `when c`, but it is present on `base`")],
    );
    accepts(
        "node g(x: num [] when c, c: bool []) -> (o: num [] when c) o = x + 1.0;
         node main(x: num [], c: bool []) -> (o) o = g(x when c, c) + (x when c);",
        &[("o", "base on c")],
    );
    rejects(
        "node g(x: num [], c: bool []) -> (o: num [] when c) o = x;
         node main(x: num [], c: bool []) -> (o) o = g(x, c) + (x when c);",
        &[("when c", "`o` is declared `when c`, but it is present on `base`")],
    );
}
