//! The clock calculus against the vectors: a program whose vector shows a synchronisation error on inputs that respect their clocks is
//! not proved, and one whose vector shows none is not rejected.

use std::path::Path;

use rml::analysis::{Clocks, Verdict};
use rml::{Options, Source};
use rml_testkit::conformance::{self, Vector};

/// Vectors of ill-clocked programs whose inputs happen not to show it: the conditions in question have one value throughout.
const LUCKY: [&str; 2] = ["n0019", "r00142"];

#[derive(Default, Debug)]
struct Counts {
    proved: usize,
    rejected: usize,
    dynamic: usize,
    problems: Vec<String>,
}

/// Whether all inputs on the base clock are present in every cycle, and the others are read where the program asks for them.
fn respects(vector: &Vector, analysis: &rml::Analysis) -> bool {
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

fn judge(name: &str, text: &str, counts: &mut Counts) {
    let vector = Vector::parse(text).expect("a vector");
    let options = Options { node: Some(vector.main.clone()), ..Options::default() };
    let analysis = rml::analyse(&Source::text(name, &vector.rml), &options).expect("compiles");
    let errs = !vector.error_cycles.is_empty();
    let asks_nothing_else = vector.demand.as_ref().is_none_or(|d| d.is_empty());
    match &analysis.clocks.verdict {
        Verdict::Synchronous => {
            counts.proved += 1;
            if errs && asks_nothing_else && respects(&vector, &analysis) {
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

#[test]
fn verdicts_agree_with_the_vectors() {
    let mut counts = Counts::default();
    for folder in ["vectors", "more", "random"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
        for file in conformance::files(&folder).expect("the vectors are there") {
            let name = file.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            judge(&name, &std::fs::read_to_string(&file).expect("a file"), &mut counts);
        }
    }
    assert!(counts.problems.is_empty(), "{counts:#?}");
    assert!(counts.proved > 250 && counts.rejected >= 20, "{counts:?}");
}
