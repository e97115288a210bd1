//! Random networks in training: the plan and the simulator give the same losses, window after window, for any window
//! lengths.

#[path = "support/networks.rs"]
mod networks;
mod support;

use networks::network;
use rml::{Columns, Elements, Engine, Options, Precision, RunOptions, codes};
use rml_testkit::Lcg;
use support::{column, source};

/// The number of networks, and the number of training windows of each.
const NETWORKS: usize = 24;
const WINDOWS: usize = 100;

/// Windows of up to five cycles.
fn data(r: &mut Lcg) -> Columns {
    let mut ends = Vec::new();
    for _ in 0..WINDOWS {
        ends.extend(vec![false; r.below(5)]);
        ends.push(true);
    }
    let cycles = ends.len();
    let mut numbers = |n: usize| Elements::F64((0..n).map(|_| r.range(-1.0, 1.0)).collect());
    let (x, y) = (numbers(2 * cycles), numbers(cycles));
    let mut columns = Columns::default();
    columns.columns.insert("x".into(), column(&[cycles, 2], x));
    columns.columns.insert("y".into(), column(&[cycles], y));
    columns.columns.insert("end".into(), column(&[cycles], Elements::Bool(ends)));
    columns
}

/// The losses of all cycles; `None` if the engine declines.
fn losses(text: &str, data: &Columns, engine: Engine) -> Option<Vec<f64>> {
    let options = Options { node: Some("train".into()), precision: Precision::F64, ..Options::default() };
    let program = rml::compile(&source(text), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let trace = match rml::run(&program, data, &RunOptions { engine, ..RunOptions::default() }) {
        Err(error) if error.code() == Some(codes::backend::ENGINE_DECLINES) => return None,
        found => found.unwrap_or_else(|e| panic!("{e}\n{text}")),
    };
    assert!(trace.error.is_none(), "{:?}\n{text}", trace.error);
    let number = |cell: &rml::Cell| match cell {
        rml::Cell::Value(v) => v.as_num().expect("a number"),
        other => panic!("{other:?}\n{text}"),
    };
    Some(trace.values["loss"].iter().map(number).collect())
}

#[test]
fn random_networks_learn_the_same_by_plan_and_by_simulator() {
    let mut planned = 0;
    for seed in 0..NETWORKS as u64 {
        let mut r = Lcg(seed);
        let (text, data) = (network(&mut r), data(&mut r));
        let Some(plan) = losses(&text, &data, Engine::plan()) else { continue };
        let simulator = losses(&text, &data, Engine::simulator()).expect("it runs every program");
        planned += 1;
        assert_eq!(plan.len(), simulator.len());
        for (cycle, (a, b)) in plan.iter().zip(&simulator).enumerate() {
            assert!(
                (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                "seed {seed}, cycle {cycle}: {a} and {b}\n{text}"
            );
        }
    }
    assert!(planned >= 20, "only {planned} of {NETWORKS} networks have a plan");
}
