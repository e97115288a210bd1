//! Nests against the reference of plans: the same outputs, registers, done ticks and failures, bit by bit, over the
//! examples, the conformance vectors, all operators and random programs, in windows of 1, 2, 3 and 5 ticks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rml::{Options as Compile, Source};
use rml_ir::Precision;
use rml_nest::{Home, NestProgram, Order, Work};
use rml_plan::Plan;
use rml_schedule::{Fed, proved};
use rml_testkit::Lcg;
use rml_testkit::conformance::{ConformanceVector, files, program};

mod windows;

use windows::{Ran, run};

/// How many random programs there are.
const PROGRAMS: u64 = 600;

/// Up to how many elements at a tick all symbolic windows are compared.
const SMALL: usize = 400;

/// What was compared.
#[derive(Default, Debug)]
struct Coverage {
    programs: usize,
    windows: usize,
    failed: usize,
    /// How many programs have each kind of thing.
    kinds: BTreeMap<&'static str, usize>,
    /// The operators that are calls.
    calls: BTreeSet<String>,
    /// Programs of which not a single window ran.
    idle: Vec<String>,
    /// How many nests there are, and how many when they are fused.
    nests: [usize; 2],
    /// How many symbolic windows were compared.
    symbolic: usize,
}

impl Coverage {
    /// Compares the nests of a plan with it.
    fn compare(&mut self, name: &str, plan: Plan, r: &mut Lcg) {
        let program = rml_nest::lower(&plan);
        let text = rml_nest::print(&program);
        if let Err(found) = rml_nest::verify(&program) {
            panic!("{name}: {found:#?}\n{}\n{text}", rml_plan::print(&plan));
        }
        let read = rml_nest::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"));
        assert_eq!(rml_nest::verify(&read), Ok(()), "{name}: {text}");
        assert_eq!(rml_nest::print(&read), text, "{name}");
        self.count(&plan, &program);
        let fused = Arc::new(self.fuse(name, &program));
        let (plan, program) = (Arc::new(plan), Arc::new(program));
        if let Err(why) = run(&plan, &fused, &mut r.clone()) {
            panic!("{name}, fused: {why}\n{text}\n{}", rml_nest::print(&fused));
        }
        let Ran { windows, failed } = run(&plan, &program, r)
            .unwrap_or_else(|why| panic!("{name}: {why}\n{}\n{text}", rml_plan::print(&plan)));
        self.programs += 1;
        self.windows += windows;
        self.failed += failed;
        if windows == 0 {
            self.idle.push(name.to_owned());
        }
    }

    /// The fused nests of a program, which do the same.
    fn fuse(&mut self, name: &str, program: &NestProgram) -> NestProgram {
        let fused = rml_nest::fuse(program);
        let text = rml_nest::print(&fused);
        assert_eq!(rml_nest::verify(&fused), Ok(()), "{name}: {text}");
        let again = rml_nest::print(&rml_nest::fuse(&rml_nest::parse(&text).unwrap()));
        assert_eq!(again, text, "{name} is fused further");
        // Of larger ones, fusion itself compares some windows wherever passes are verified.
        let elements = program.slots.iter().filter(|slot| matches!(slot.home, Home::Tick { .. }));
        if elements.map(|slot| slot.ty.shape.len()).sum::<usize>() <= SMALL {
            match rml_nest::check(program, &fused) {
                Ok(extent) => self.symbolic += extent.windows,
                Err(why) => panic!("{name}: {why}\n{}\n{text}", rml_nest::print(program)),
            }
        }
        let nests = |program: &NestProgram| {
            let stages = program.nodes.iter().flat_map(|node| &node.stages);
            stages.filter(|stage| matches!(stage.work, Work::Nest(_))).count()
        };
        let counts = [nests(program), nests(&fused)];
        assert!(counts[1] <= counts[0], "{name}: {text}");
        self.nests.iter_mut().zip(counts).for_each(|(all, own)| *all += own);
        fused
    }

    fn count(&mut self, plan: &Plan, program: &NestProgram) {
        let nodes = || program.nodes.iter();
        let sources = || nodes().flat_map(|node| &node.stages).flat_map(|stage| stage.sources());
        let kinds = [
            ("f64", program.precision == Precision::F64),
            ("forward", nodes().any(|node| node.order == Order::Forward)),
            ("backward", nodes().any(|node| node.order == Order::Backward)),
            ("by", nodes().any(|node| !node.by.is_empty())),
            (
                "sums",
                plan.tapes
                    .iter()
                    .flat_map(|t| &t.cases)
                    .any(|c| matches!(c.rule, rml_plan::Rule::Sum { .. })),
            ),
            ("given ends", matches!(program.ends, rml_nest::Ends::Given(_))),
            ("found ends", matches!(program.ends, rml_nest::Ends::Found { .. })),
            ("waits", program.waits),
            ("ahead", program.ahead > 0),
            ("writes", nodes().any(|node| !node.writes.is_empty())),
            ("commits", !program.commits.is_empty()),
            ("guards", nodes().flat_map(|node| &node.stages).any(|stage| !stage.when.is_empty())),
            ("tests", sources().flatten().any(|variant| !variant.any.is_empty())),
            ("variants", sources().any(|source| source.len() > 1)),
            ("may fail", nodes().flat_map(|node| &node.stages).any(|stage| stage.may_fail)),
            ("registers", program.slots.iter().any(|slot| matches!(slot.home, Home::Register { .. }))),
            (
                "products",
                plan.tapes
                    .iter()
                    .flat_map(|t| &t.cases)
                    .any(|c| matches!(c.rule, rml_plan::Rule::Product { .. })),
            ),
        ];
        for (kind, holds) in kinds {
            *self.kinds.entry(kind).or_default() += usize::from(holds);
        }
        for stage in nodes().flat_map(|node| &node.stages) {
            if let Work::Call(call) = &stage.work {
                self.calls.insert(call.op.name().to_owned());
            }
        }
    }
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The operators that are calls; `gather` is one where it has no elements. The list may only get shorter.
const CALLS: &[&str] = &[
    "argsort",
    "avg_pool1d",
    "avg_pool2d",
    "cholesky",
    "conv1d",
    "conv1d_kernel",
    "conv1d_transpose",
    "conv2d",
    "conv2d_kernel",
    "conv2d_transpose",
    "cumsum",
    "einsum",
    "gather",
    "irfft",
    "log_softmax",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "patches1d",
    "patches2d",
    "random_normal",
    "random_uniform",
    "rfft",
    "scatter_add",
    "softmax",
    "solve",
    "sort",
    "sort_by",
    "unpatches1d",
    "unpatches2d",
];

#[test]
fn nests_of_all_operators_are_equal() {
    let mut coverage = Coverage::default();
    for precision in [Precision::F32, Precision::F64] {
        for sample in rml_ir::op::samples() {
            let name = format!("{} in {precision:?}", sample.0);
            let plan = rml_testkit::samples::operators(&[sample], precision);
            coverage.compare(&name, plan, &mut Lcg(3));
        }
    }
    assert_eq!(coverage.idle, Vec::<String>::new());
    assert!(coverage.symbolic >= 1000, "{coverage:#?}");
    assert_eq!(coverage.calls.iter().map(String::as_str).collect::<Vec<_>>(), CALLS);
}

/// Examples whose windows are longer than the cycles that are tried: only that no end is found is compared. The list
/// may only get shorter.
const LATE: &[&str] = &[
    "cartpole evaluate in F32",
    "cartpole_batchnorm evaluate in F32",
    "cartpole_lstm evaluate in F32",
    "pendulum evaluate in F32",
];

#[test]
fn nests_of_examples_are_equal() {
    let mut coverage = Coverage::default();
    // Large ones run in one precision.
    let mut large = 0;
    for folder in ["examples", "examples/paper"] {
        for file in std::fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path()) {
            if file.extension().is_none_or(|e| e != "rml") {
                continue;
            }
            for analysis in rml::analyse_all(&Source::file(&file), &Compile::default()) {
                let node = analysis.node().to_owned();
                let defaults: indexmap::IndexMap<_, _> = analysis.assumed.iter().cloned().collect();
                for precision in [Precision::F32, Precision::F64] {
                    let options = Compile {
                        node: Some(node.clone()),
                        defaults: defaults.clone(),
                        precision,
                        ..Compile::default()
                    };
                    let Ok(program) = rml::compile(&Source::file(&file), &options) else { continue };
                    let Ok(proved) = proved(program.flat(), Fed::Windows) else { continue };
                    if precision == Precision::F64 && windows::elements(&proved.plan) > windows::ELEMENTS {
                        large += 1;
                        continue;
                    }
                    let name =
                        format!("{} {node} in {precision:?}", file.file_stem().unwrap().to_string_lossy());
                    coverage.compare(&name, proved.plan, &mut Lcg(7));
                }
            }
        }
    }
    assert!(coverage.programs >= 120 && coverage.programs + large >= 186, "{large} large: {coverage:#?}");
    coverage.idle.sort();
    assert_eq!(coverage.idle, LATE);
}

#[test]
fn nests_of_vectors_are_equal() {
    let mut coverage = Coverage::default();
    for part in ["vectors", "more", "random"] {
        for file in files(&root().join("tests/conformance").join(part)).unwrap() {
            let vector = ConformanceVector::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let Ok((flat, _)) = program(&vector) else { continue };
            for fed in [Fed::Windows, Fed::Blocks] {
                let Ok(proved) = proved(&flat, fed) else { continue };
                let name = format!("{} {fed:?}", file.file_stem().unwrap().to_string_lossy());
                coverage.compare(&name, proved.plan, &mut Lcg(5));
            }
        }
    }
    assert!(coverage.programs >= 600, "{coverage:#?}");
    assert_eq!(coverage.idle, Vec::<String>::new());
}

#[test]
fn nests_of_random_programs_are_equal() {
    let mut coverage = Coverage::default();
    for seed in 0..PROGRAMS {
        let (flat, _) = rml_testkit::flat::random::program(&Lcg(seed).take(220), 24, false);
        let fed = if seed % 2 == 0 { Fed::Windows } else { Fed::Blocks };
        let Ok(proved) = proved(&flat, fed) else { continue };
        coverage.compare(&format!("random program {seed}"), proved.plan, &mut Lcg(seed));
    }
    for seed in 0..40 {
        let text = rml_testkit::joined::network(&mut Lcg(seed));
        let options = Compile { node: Some("main".to_owned()), ..Compile::default() };
        let program = rml::compile(&Source::text("main", text), &options).unwrap();
        let Ok(proved) = proved(program.flat(), Fed::Windows) else { continue };
        coverage.compare(&format!("over concatenations {seed}"), proved.plan, &mut Lcg(seed));
    }
    assert!(coverage.programs >= 340 && coverage.failed >= 20, "{coverage:#?}");
    assert!(coverage.symbolic >= 2000, "{coverage:#?}");
    assert!(coverage.nests[1] * 2 < coverage.nests[0] * 3, "{coverage:#?}");
    assert!(coverage.idle.len() <= 1, "{:?} never end a window", coverage.idle);
    for (kind, n) in &coverage.kinds {
        assert!(*n >= 3 || *kind == "f64", "only {n} programs have {kind}");
    }
}
