//! The stated bytes of windowed programs against those that the simulator stores, on the paper's training programs and
//! the examples: no window stores more bytes than stated, and the stated bytes are the sum over the variables that are
//! present in a run.

use std::ops::Range;
use std::sync::Arc;

use rml::sim::{InputCell, Options, Simulator, Status};
use rml::{DType, Data, RunFacts, Source, Type, Value};
use rml_analysis::{WaitKind, size};
use rml_ir::flat::{Drawn, Flat, Rhs, Var};
use rml_ir::pass;

/// The lengths of the windows in the trace.
const WINDOWS: [usize; 5] = [4, 1, 2, 7, 3];

fn analysed(file: &str, node: &str) -> RunFacts {
    let source = Source::file(format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR")));
    let options = rml::Options { node: Some(node.to_owned()), batch: None, ..rml::Options::default() };
    let analysis = rml::analyse(&source, &options)
        .or_else(|_| rml::analyse(&source, &rml::Options { batch: Some(2), ..options.clone() }))
        .unwrap_or_else(|e| panic!("{e}"));
    // The same program with its initial values, so that it runs.
    let mut run = analysis.run.expect("its clocks fit");
    run.flat = Arc::new(pass::draw((*run.flat).clone(), 0).unwrap_or_else(|e| panic!("{e:?}")).into_inner());
    run
}

/// A value of that type: conditions as given, labels 0 and 1, small numbers.
fn value(ty: &Type, bit: bool) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool(vec![bit; n]),
        DType::Int => Data::Int((0..n).map(|i| i64::from(i % 2 == 0)).collect()),
        DType::Num => Data::F32((0..n).map(|i| if i % 3 == 0 { 0.25 } else { -0.5 }).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

/// The inputs of a cycle: the condition that ends the windows is true in the last cycle of each window and false in
/// others. Other conditions are true there, too, and in every other cycle. All other inputs are present on their
/// clocks.
fn inputs(run: &RunFacts, cycle: u64, last: bool) -> Vec<InputCell> {
    let flat = &run.flat;
    let end = run.bounds.program.window.as_deref();
    let is_end = |v: Var| flat.vars[v].name.as_deref() == end;
    let is_given = flat.inputs.iter().any(|i| is_end(i.var));
    let bit = |v: Var| last || is_given && !is_end(v) && cycle % 2 == 1;
    let input = |i: &rml_ir::flat::Input| {
        let present = i.clock.is_none_or(|(cond, positive)| positive == bit(cond));
        if present { InputCell::Given(value(&flat.vars[i.var].ty, bit(i.var))) } else { InputCell::Absent }
    };
    flat.inputs.iter().map(input).collect()
}

fn is_constant(flat: &Flat, v: Var) -> bool {
    flat.equations.iter().any(|e| e.lhs == v && matches!(e.rhs, Rhs::Const(_)))
}

/// The bytes of all values of a cycle that has run.
fn held(run: &RunFacts, sim: &Simulator, cycle: u64) -> u64 {
    let is_held = |v: &Var| {
        !is_constant(&run.flat, *v) && matches!(sim.status(cycle, *v).unwrap(), Some(Status::Value(_)))
    };
    run.flat.vars.ids().filter(is_held).map(|v| size(&run.flat.vars[v].ty, run.flat.precision)).sum()
}

/// For each window: the stated bytes, and the bytes of the values that are stored when its last cycle has run. The last
/// cycle of the previous window may still be stored, if one of its values waits for one more cycle.
fn windows(run: &RunFacts) -> (Simulator, Vec<(u64, u64)>) {
    let bytes = run.bounds.bytes;
    let (each, once) = (bytes.per_cycle.expect("it is windowed"), bytes.once.expect("by one condition"));
    let options = Options { record: true, ..Options::default() };
    let mut sim = Simulator::new(Arc::new(Drawn::new(Flat::clone(&run.flat)).expect("it is drawn")), options);
    let mut all = Vec::new();
    for length in WINDOWS {
        let first = sim.cycles();
        let mut oldest = first;
        for n in 1..=length {
            oldest = sim.cycles() - sim.open_cycles();
            assert!(
                oldest + 1 >= first && oldest <= first,
                "cycle {oldest} is the first of those that are held"
            );
            assert!(sim.stats().live_bytes <= each * sim.open_cycles());
            sim.feed(&inputs(run, sim.cycles(), n == length)).unwrap_or_else(|e| panic!("{e}"));
        }
        let end = sim.cycles();
        let stated = (end - oldest) * (each - once) + (first - oldest + 1) * once;
        all.push((stated, (oldest..end).map(|m| held(run, &sim, m)).sum()));
    }
    (sim, all)
}

/// The bytes of a cycle according to a run: those of the variables that are present in some cycle, and among these the
/// bytes of the variables that are present in at most one cycle of each window.
fn shown(run: &RunFacts, sim: &Simulator) -> (u64, u64) {
    let ends = WINDOWS.iter().scan(0, |end, n| {
        *end += *n as u64;
        Some((*end - *n as u64)..*end)
    });
    let windows: Vec<Range<u64>> = ends.collect();
    let (mut each, mut once) = (0, 0);
    for v in run.flat.vars.ids().filter(|v| !is_constant(&run.flat, *v)) {
        let present = |m: &u64| matches!(sim.status(*m, v).unwrap(), Some(Status::Value(_)));
        let most = windows.iter().map(|w| w.clone().filter(present).count()).max().unwrap_or(0);
        let bytes = size(&run.flat.vars[v].ty, run.flat.precision);
        each += if most > 0 { bytes } else { 0 };
        once += if most == 1 { bytes } else { 0 };
    }
    (each, once)
}

/// Windowed programs.
const PROGRAMS: &[(&str, &str)] = &[
    ("paper/lstm.rml", "train"),
    ("paper/lstm_end.rml", "main"),
    ("paper/lstm_end.rml", "train"),
    ("paper/batchnorm.rml", "main"),
    ("batchnorm.rml", "train"),
    ("bidirectional.rml", "train"),
    ("characters.rml", "train"),
    ("digits.rml", "train"),
    ("digits_gru.rml", "train"),
    ("forecast.rml", "train"),
    ("nested.rml", "train"),
    ("pipeline.rml", "train"),
];

/// Programs for which the stated bytes exceed those of a run, and the reason.
const LOOSE: &[(&str, &str)] = &[
    (
        "paper/lstm.rml",
        "that the gradient of an initial state is sampled in the first cycle only takes two conditions to prove",
    ),
    ("batchnorm.rml", "moving averages have a branch for batches without samples, which no window is"),
];

#[test]
fn windows_hold_what_is_stated() {
    let mut wrong = Vec::new();
    for (file, node) in PROGRAMS {
        let run = analysed(file, node);
        assert_eq!(run.bounds.program.kind, WaitKind::Windowed, "{file} {node}");
        let (sim, all) = windows(&run);
        let stated = (run.bounds.bytes.per_cycle.unwrap(), run.bounds.bytes.once.unwrap());
        let shown = shown(&run, &sim);
        let is_loose = LOOSE.iter().any(|(loose, _)| loose == file);
        if (stated != shown) != is_loose || all.iter().any(|(stated, found)| found > stated) {
            wrong.push(format!("{file} {node}: stated {stated:?}, shown {shown:?}, windows {all:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
