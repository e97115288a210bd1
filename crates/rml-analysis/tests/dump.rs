//! The output of `rml dump --after analyse` is a program: when it is read back, it verifies, has the same clocks and
//! facts, and runs to the same cells.

use std::sync::Arc;

use rml::{Options, RunFacts, Source};
use rml_analysis::{Verdict, causality, clocks, facts, print_facts, verify_facts};
use rml_ir::flat::{self, Drawn, Flat, Var};
use rml_ir::{DType, Data, Type, Value, pass};
use rml_sim::{InputCell, Simulator, Status};
use rml_testkit::Lcg;
use rml_testkit::flat::text;

/// Examples and nodes: recurrences in both directions, nested windows, trained parameters, random initial values,
/// sampled clocks.
const EXAMPLES: [(&str, &str); 9] = [
    ("paper/app.rml", "train"),
    ("paper/backfill.rml", "merge_backfill"),
    ("paper/batchnorm.rml", "main"),
    ("paper/counter.rml", "counter"),
    ("paper/lstm.rml", "train"),
    ("paper/lstm_end.rml", "train"),
    ("paper/moe.rml", "main"),
    ("bidirectional.rml", "train"),
    ("nested.rml", "train"),
];

const CYCLES: usize = 9;

fn analysed(file: &str, node: &str) -> RunFacts {
    let source = Source::file(format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR")));
    let options = Options { node: Some(node.to_owned()), batch: None, ..Options::default() };
    let analysis = rml::analyse(&source, &options)
        .or_else(|_| rml::analyse(&source, &Options { batch: Some(2), ..options.clone() }))
        .unwrap_or_else(|e| panic!("{file} {node}: {e}"));
    analysis.run.unwrap_or_else(|| panic!("{file} {node}: its clocks do not fit"))
}

fn value(ty: &Type, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.below(3) == 0).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(2) as i64).collect()),
        DType::Num => Data::F32((0..n).map(|_| r.below(9) as f32 / 4.0 - 1.0).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

/// Inputs on their declared clocks; an input whose condition is computed is present where the program asks for it.
fn trace(flat: &Flat, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let mut cycle = || {
        let values: Vec<Value> = flat.inputs.iter().map(|i| value(&flat.vars[i.var].ty, r)).collect();
        let input = |(at, value): (usize, &Value)| {
            let Some((cond, positive)) = flat.inputs[at].clock else {
                return InputCell::Given(value.clone());
            };
            match flat.inputs.iter().position(|i| i.var == cond) {
                Some(gate) if values[gate].as_bool() != Some(positive) => InputCell::Absent,
                Some(_) => InputCell::Given(value.clone()),
                None => InputCell::OnDemand(Some(value.clone())),
            }
        };
        values.iter().enumerate().map(input).collect()
    };
    (0..CYCLES).map(|_| cycle()).collect()
}

/// All cells, by variable.
fn cells(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Vec<(Var, Vec<String>)> {
    let options = rml_sim::Options { record: true, ..rml_sim::Options::default() };
    let mut sim = Simulator::new(Arc::clone(flat), options);
    inputs.iter().for_each(|row| sim.feed(row).unwrap_or_else(|e| panic!("{e}")));
    sim.finish(true).unwrap_or_else(|e| panic!("{e}"));
    let cell = |v: Var, n: usize| sim.status(n as u64, v).unwrap().unwrap_or(Status::Bottom);
    flat.vars.ids().map(|v| (v, (0..inputs.len()).map(|n| text(&[cell(v, n)])).collect())).collect()
}

#[test]
fn a_dump_reads_back_and_runs_as_before() {
    let mut r = Lcg(7);
    let mut known = 0;
    for (file, node) in EXAMPLES {
        let run = analysed(file, node);
        // The program with its random constants drawn, so that it runs.
        let drawn = pass::draw((*run.flat).clone(), 0).unwrap_or_else(|e| panic!("{file} {node}: {e:?}"));
        let report = clocks(&drawn);
        assert_eq!(report.verdict, Verdict::Synchronous, "{file} {node}");
        let facts = facts(&drawn, &report.clocks, &causality(&drawn, &report.clocks));
        let dump = print_facts(&drawn, &report.clocks, &facts);
        let read = flat::parse(&dump).unwrap_or_else(|e| panic!("{file} {node}: {e}"));
        let read = Drawn::new(read).unwrap_or_else(|e| panic!("{file} {node}: {e:?}"));
        assert_eq!(flat::print(&read), flat::print(&drawn), "{file} {node}");
        let again = clocks(&read);
        assert_eq!(again.clocks, report.clocks, "{file} {node}");
        assert_eq!(verify_facts(&read, &again.clocks, &facts), Ok(()), "{file} {node}");
        let inputs = trace(&drawn, &mut r);
        let (before, after) = (cells(&Arc::new(drawn), &inputs), cells(&Arc::new(read), &inputs));
        assert_eq!(before, after, "{file} {node}");
        known += before.iter().flat_map(|(_, row)| row).filter(|cell| *cell != "bot" && *cell != "?").count();
    }
    assert!(known > 1000, "only {known} cells are known");
}
