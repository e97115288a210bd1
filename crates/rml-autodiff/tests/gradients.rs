//! Programs from source text against finite differences.

mod support;

use rml_autodiff::{differentiate, differentiate_node};
use rml_elab::Root;
use rml_ir::normal::Module;
use rml_ir::{Data, Value};
use rml_sim::Status;
use support::source::{FROZEN, PROGRAMS, Rows, inputs, normal_with};
use support::{Random, flat, run};

const CYCLES: usize = 4;

fn numbers(v: &Value) -> Vec<f64> {
    match v.to_data() {
        Data::F64(v) => v,
        _ => Vec::new(),
    }
}

/// The sum over all cycles and outputs of seed times value.
fn loss(module: &Module, rows: &Rows, seeds: &Rows) -> f64 {
    let table = run(flat(module), rows, CYCLES);
    let mut sum = 0.0;
    for (o, seed) in seeds {
        for (status, seed) in table[o].iter().zip(seed) {
            if let (Some(v), Some(seed)) = (status.value(), seed) {
                sum += numbers(v).iter().zip(numbers(seed)).map(|(v, d)| v * d).sum::<f64>();
            }
        }
    }
    sum
}

fn check(text: &str, node: &str) {
    let module = normal_with(text, Root::Diff(node.into()), FROZEN).unwrap_or_else(|e| panic!("{node}: {e}"));
    let forward = differentiate(module.clone()).unwrap_or_else(|e| panic!("{node}: {e}"));
    let made = differentiate_node(module, forward.root).unwrap_or_else(|e| panic!("{node}: {e}"));
    let mut r = Random(11);
    let rows = inputs(&made.module, CYCLES, &mut r);
    let root = &forward.nodes[forward.root];
    let name = |v| root.vars[v].name.as_deref().expect("interfaces are named");
    let seeds: Rows =
        root.outputs.iter().map(|&o| (name(o).to_owned(), rows[&format!("d{}", name(o))].clone())).collect();
    let given: Rows = root.inputs().map(|i| (name(i.var).to_owned(), rows[name(i.var)].clone())).collect();
    let table = run(flat(&made.module), &rows, CYCLES);
    let h = 1e-6;
    for x in root.inputs().map(|i| i.var).filter(|&x| root.vars[x].ty.is_num()) {
        let d = &table[&format!("d{}", name(x))];
        for n in 0..CYCLES {
            assert!(d[n].is_determined(), "{node}: d{} at {n} is {:?}", name(x), d[n]);
            let len = root.vars[x].ty.shape.len();
            let found = match &d[n] {
                Status::Value(v) => numbers(v),
                _ => vec![0.0; len],
            };
            for k in 0..len {
                let moved = |h: f64| {
                    let mut rows = given.clone();
                    let cell = rows[name(x)][n].as_mut().expect("inputs without clock are present");
                    let mut data = numbers(cell);
                    data[k] += h;
                    *cell = Value::new(cell.shape(), Data::F64(data));
                    loss(&forward, &rows, &seeds)
                };
                let expected = (moved(h) - moved(-h)) / (2.0 * h);
                let error = (found[k] - expected).abs() / (1.0 + expected.abs());
                let x = name(x);
                assert!(error < 1e-6, "{node}: d{x}[{k}] at {n} is {}, by differences {expected}", found[k]);
            }
        }
    }
}

#[test]
fn programs_agree_with_finite_differences() {
    for &(text, node) in PROGRAMS {
        check(text, node);
    }
}
