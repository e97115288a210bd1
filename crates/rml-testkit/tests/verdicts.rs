//! Compares the verdicts of `check` with the vectors. Clocks: if a vector has a synchronisation error on inputs that
//! respect their clocks, its program is not proved; if it has none, the program is not rejected. Causality: if a vector
//! runs to its end, its program is not rejected; the outputs of a bounded program are known as early as stated.

use std::path::Path;

use rml::analysis::{Clocks, Verdict, WaitKind};
use rml::ir::flat::Var;
use rml::{Options, Source};
use rml_ir::flat::ClockClasses;
use rml_testkit::conformance::{self, ConformanceVector, Expected};

/// Vectors of ill-clocked programs whose inputs do not show an error: the conditions in question have the same value in
/// all cycles.
const LUCKY: [&str; 2] = ["n0019", "r00142"];

/// Vectors of programs with a recurrence that waits forever, but whose inputs never make it present, or not twice.
const IDLE: [&str; 4] = ["n0013", "n0035", "n0041", "n0044"];

#[derive(Default, Debug)]
struct Counts {
    proved: usize,
    rejected: usize,
    dynamic: usize,
    /// The numbers of programs that are rejected for causality, and of those that are bounded, on inputs that respect
    /// their clocks.
    uncut: usize,
    bounded: usize,
    problems: Vec<String>,
}

/// Whether all inputs on the base clock are present in every cycle, and the other inputs are read on demand.
fn respects(vector: &ConformanceVector, analysis: &rml::Analysis) -> bool {
    let flat = &analysis.flat;
    flat.inputs.iter().all(|input| {
        let name = flat.vars[input.var].name.as_deref().unwrap_or_default();
        let row = vector.inputs.get(name);
        match analysis.clocks.clocks.of[input.var] == Clocks::BASE {
            true => row.is_some_and(|r| r.iter().all(|cell| !cell.is_null())),
            false => row.is_none(),
        }
    })
}

/// Compares the verdict on clocks with a vector.
fn judge_clocks(name: &str, vector: &ConformanceVector, analysis: &rml::Analysis, counts: &mut Counts) {
    let errs = !vector.error_cycles.is_empty();
    match &analysis.clocks.verdict {
        Verdict::Synchronous => {
            counts.proved += 1;
            if errs && is_plain(vector, analysis) {
                counts.problems.push(format!("{name}: proved, but errs"));
            }
        }
        Verdict::Rejected(found) => {
            counts.rejected += 1;
            if !errs && !LUCKY.contains(&name) {
                counts.problems.push(format!("{name}: rejected, but runs\n{found}"));
            }
        }
        Verdict::Dynamic(_) => counts.dynamic += 1,
    }
}

/// Whether the environment asks, in every cycle, for every stream that is not driven by another one.
fn asks_for_all(vector: &ConformanceVector, analysis: &rml::Analysis) -> bool {
    let Some(demand) = &vector.demand else { return true };
    let classes = ClockClasses::new(&analysis.flat);
    let is_asked = |v: &Var| {
        let name = analysis.flat.vars[*v].name.as_deref();
        name.and_then(|n| demand.get(n)).is_some_and(|cycles| cycles.iter().all(|asked| *asked))
    };
    let free = classes.ids().filter(|class| !classes.is_driven(*class));
    free.map(|class| classes.members(class)).all(|members| members.iter().any(is_asked))
}

/// Whether the environment gives all inputs on their clocks and asks for no particular variable.
fn is_plain(vector: &ConformanceVector, analysis: &rml::Analysis) -> bool {
    vector.demand.as_ref().is_none_or(|d| d.is_empty()) && respects(vector, analysis)
}

/// The first cycle in which an output is not known.
fn first_unknown(vector: &ConformanceVector, analysis: &rml::Analysis) -> Option<usize> {
    let outputs = analysis.flat.outputs.iter().filter_map(|v| analysis.flat.vars[*v].name.as_deref());
    let rows = outputs.filter_map(|name| vector.expected.get(name));
    rows.filter_map(|row| row.iter().position(|cell| *cell == Expected::Undetermined)).min()
}

/// Compares the verdict on causality with a vector without synchronisation errors.
fn judge_causality(name: &str, vector: &ConformanceVector, analysis: &rml::Analysis, counts: &mut Counts) {
    let Some(run) = analysis.run.as_ref().filter(|_| vector.error_cycles.is_empty()) else { return };
    let bound = &run.bounds.program;
    let unknown = first_unknown(vector, analysis);
    match bound.kind {
        WaitKind::Rejected => {
            counts.uncut += 1;
            if unknown.is_none() && vector.cycles > 0 && !IDLE.contains(&name) {
                let found: Vec<String> = run.causality.findings.iter().map(ToString::to_string).collect();
                counts.problems.push(format!("{name}: rejected, but runs\n{}", found.join("\n")));
            }
        }
        WaitKind::Bounded if asks_for_all(vector, analysis) && respects(vector, analysis) => {
            counts.bounded += 1;
            let wait = bound.look_ahead.and_then(|z| usize::try_from(z).ok()).expect("a bound");
            if unknown.is_some_and(|n| n + wait < vector.cycles) {
                counts.problems.push(format!("{name}: bounded by {wait}, but {unknown:?} is not known"));
            }
        }
        _ => {}
    }
}

fn judge(name: &str, text: &str, counts: &mut Counts) {
    let vector = ConformanceVector::parse(text).expect("a vector");
    let options = Options { node: Some(vector.main.clone()), ..Options::default() };
    let analysis = rml::analyse(&Source::text(name, &vector.rml), &options).expect("compiles");
    judge_clocks(name, &vector, &analysis, counts);
    judge_causality(name, &vector, &analysis, counts);
}

/// The counts over one folder of vectors.
fn of_folder(folder: &str) -> Counts {
    let mut counts = Counts::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
    for file in conformance::files(&folder).expect("the vectors exist") {
        let name = file.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        judge(&name, &std::fs::read_to_string(&file).expect("a file"), &mut counts);
    }
    counts
}

#[test]
fn verdicts_agree_with_the_vectors() {
    let counts = of_folder("vectors");
    assert!(counts.problems.is_empty(), "{counts:#?}");
    assert_eq!(counts.proved + counts.rejected + counts.dynamic, 73, "{counts:?}");
    assert!(counts.rejected >= 2 && counts.uncut >= 2 && counts.bounded >= 15, "{counts:?}");
}

#[test]
fn verdicts_agree_with_more_vectors() {
    for (folder, rejected) in [("more", 5), ("random", 5)] {
        let counts = of_folder(folder);
        assert!(counts.problems.is_empty(), "{folder}: {counts:#?}");
        assert!(counts.proved > 100 && counts.rejected >= rejected, "{folder}: {counts:?}");
    }
}
