//! Compares compiled programs with the reference for plans: the same outputs, registers and failures, bit by bit, for
//! operators, examples, conformance vectors and random programs, in windows of 1, 2, 3 and 7 ticks. Every other program
//! runs in three parts that share all work that can be shared, on threads or in turn, in changing order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rml::{Options as Compile, Source};
use rml_ir::Precision;
use rml_native::Native;
use rml_plan::{Ends, Plan, Region};
use rml_schedule::{Fed, proved};
use rml_testkit::Lcg;
use rml_testkit::conformance::{ConformanceVector, files, program};

mod windows;

/// How many programs of each kind are compiled; each takes a fraction of a second. `RML_NATIVE_PROGRAMS` overrides the
/// number.
fn most() -> usize {
    std::env::var("RML_NATIVE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

/// The number of comparisons.
#[derive(Default, Debug)]
struct Coverage {
    programs: usize,
    windows: usize,
    failed: usize,
    /// The total ticks of windows whose ends the programs find.
    found_ticks: usize,
    /// The number of programs that find the ends of their windows, look ahead, or run over sequences.
    found: usize,
    ahead: usize,
    by: usize,
    /// The number of programs that threads share.
    shared: usize,
}

impl Coverage {
    /// Compares a compiled plan with the reference, if it is compiled. Plans of rare kinds are counted separately.
    fn compare(&mut self, name: &str, plan: Plan, r: &mut Lcg) {
        let is_by = |region: &Region| matches!(region, Region::Loop { by, .. } if !by.is_empty());
        let by = plan.regions.iter().any(is_by);
        let finds = matches!(plan.ends, Ends::Found { .. });
        let is_enough = match (finds, by) {
            (false, false) => self.programs - self.found - self.by >= most(),
            (true, _) => self.found >= most() / 3,
            (false, true) => self.by >= most() / 3,
        };
        if is_enough || Native::text(&plan).is_err() {
            return;
        }
        let native = Native::open(&rml_backend::Options::default()).expect("a C compiler");
        let native = native.sharing_all(self.programs.is_multiple_of(4));
        let plan = Arc::new(plan);
        let threads = [3, 1][self.programs % 2];
        self.shared += usize::from(threads > 1 && native.shares(&plan, threads));
        match windows::run((&native, threads), &plan, r) {
            Ok(ran) => {
                self.programs += 1;
                self.windows += ran.windows;
                self.failed += ran.failed;
                self.found += usize::from(finds);
                self.found_ticks += if finds { ran.ticks } else { 0 };
                self.ahead += usize::from(plan.ahead() > 0);
                self.by += usize::from(!finds && by);
            }
            Err(why) => panic!("{name}: {why}\n{}", rml_plan::print(&plan)),
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn operators_are_equal() {
    let mut coverage = Coverage::default();
    for precision in [Precision::F32, Precision::F64] {
        for (i, samples) in rml_ir::op::samples().chunks(12).enumerate() {
            let plan = rml_testkit::samples::operators(samples, precision);
            coverage.compare(&format!("operators {i} in {precision:?}"), plan, &mut Lcg(3));
        }
    }
    assert!(coverage.windows >= 100, "{coverage:?}");
}

#[test]
fn examples_are_equal() {
    let mut coverage = Coverage::default();
    let mut all = Vec::new();
    for folder in ["examples", "examples/paper"] {
        let files = std::fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path());
        all.extend(files.filter(|file| file.extension().is_some_and(|e| e == "rml")));
    }
    all.sort();
    for file in all {
        for analysis in rml::analyse_all(&Source::file(&file), &Compile::default()) {
            let node = analysis.node().to_owned();
            let defaults: indexmap::IndexMap<_, _> = analysis.assumed.iter().cloned().collect();
            let options = Compile { node: Some(node.clone()), defaults, ..Compile::default() };
            let Ok(program) = rml::compile(&Source::file(&file), &options) else { continue };
            let Ok(proved) = proved(program.flat(), Fed::Windows) else { continue };
            let name = format!("{} {node}", file.file_stem().unwrap().to_string_lossy());
            coverage.compare(&name, proved.plan, &mut Lcg(7));
        }
    }
    assert!(coverage.programs >= 40 && coverage.found_ticks >= 50 && coverage.shared >= 15, "{coverage:?}");
}

#[test]
fn vectors_are_equal() {
    let mut coverage = Coverage::default();
    for part in ["vectors", "more", "random"] {
        for file in files(&root().join("tests/conformance").join(part)).unwrap() {
            let vector = ConformanceVector::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let Ok((flat, _)) = program(&vector) else { continue };
            let Ok(proved) = proved(&flat, Fed::Blocks) else { continue };
            coverage.compare(&file.to_string_lossy(), proved.plan, &mut Lcg(5));
        }
    }
    assert!(coverage.programs >= 40, "{coverage:?}");
}

#[test]
fn random_programs_are_equal() {
    let mut coverage = Coverage::default();
    for seed in 0..10 * most() as u64 {
        let (flat, _) = rml_testkit::flat::random::program(&Lcg(seed).take(220), 24, false);
        let fed = if seed % 2 == 0 { Fed::Windows } else { Fed::Blocks };
        let Ok(proved) = proved(&flat, fed) else { continue };
        coverage.compare(&format!("random program {seed}"), proved.plan, &mut Lcg(seed));
    }
    let kinds = [coverage.found, coverage.ahead, coverage.by];
    assert!(kinds.iter().all(|kind| *kind >= 1), "{coverage:?}");
    assert!(coverage.programs >= 40 && coverage.failed >= 1, "{coverage:?}");
}

/// A plan with sums over ticks of rows added at positions, some of which are equal, and some out of range.
const AT_POSITIONS: &str = "plan \"added\" f32 until end
in end: bool []
in i: int [6]
in x: num [6, 3]
parameter r0: num [N, 3] \"table\"
const k0: num [N, 3] = fill 0.0
const k1: num [N, 3] = fill 0.25
over i: int [6] = in i
over x: num [6, 3] = in x
over at first s: num [N, 3] = k0 + sum last to first of scatter_add{[N, 3]; axis=0}(i, x)
over at first w: num [N, 3] = r0 or k1
over at first n: num [N, 3] = add(w, s)
commit r0 at first = n
out at first y: num [N, 3] = s
";

#[test]
fn sums_at_positions_are_equal() {
    let mut coverage = Coverage::default();
    for rows in ["3", "4"] {
        let plan = rml_plan::parse(&AT_POSITIONS.replace('N', rows)).unwrap();
        assert_eq!(rml_plan::verify(&plan), Ok(()));
        for seed in 0..5 {
            coverage.compare("sums at positions", plan.clone(), &mut Lcg(seed));
        }
    }
    assert!(coverage.failed >= 5 && coverage.windows >= coverage.failed + 20, "{coverage:?}");
}
