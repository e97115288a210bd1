//! Printed adjoints are programs: they elaborate again, and compute the same.

mod support;

use indexmap::IndexMap;
use rml_autodiff::{differentiate, differentiate_node};
use rml_elab::Root;
use rml_ir::normal::Module;
use rml_ir::{DType, Data, Type, Value, surface};
use rml_sim::Status;
use support::source::normal;
use support::{Random, flat, run};

/// Programs with the node to differentiate.
const PROGRAMS: &[(&str, &str)] = &[
    (include_str!("programs/app.rml"), "app"),
    (include_str!("programs/app.rml"), "app_pipe"),
    (include_str!("programs/lstm.rml"), "layer"),
    (include_str!("programs/lstm.rml"), "windows"),
    (include_str!("programs/lstm.rml"), "batches"),
    (include_str!("programs/clocks.rml"), "branches"),
    (include_str!("programs/clocks.rml"), "backfill"),
    (include_str!("programs/clocks.rml"), "initial"),
    (include_str!("programs/clocks.rml"), "two_rates"),
    (include_str!("programs/operators.rml"), "pointwise"),
    (include_str!("programs/operators.rml"), "layout"),
    (include_str!("programs/operators.rml"), "products"),
    (include_str!("programs/operators.rml"), "reductions"),
    (include_str!("programs/operators.rml"), "unused"),
];

fn value(ty: &Type, r: &mut Random) -> Value {
    let n = ty.shape.len();
    Value::new(
        ty.shape.clone(),
        match ty.dtype {
            DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
            DType::Int => Data::Int((0..n).map(|_| r.below(3) as i64).collect()),
            DType::Num => Data::F64((0..n).map(|_| r.range(0.2, 1.5)).collect()),
        },
    )
}

/// Inputs present according to their declared clocks.
fn inputs(module: &Module, cycles: usize, r: &mut Random) -> IndexMap<String, Vec<Option<Value>>> {
    let node = &module.nodes[module.root];
    let name = |v| node.vars[v].name.as_deref().expect("inputs are named").to_owned();
    let mut rows: IndexMap<String, Vec<Option<Value>>> = IndexMap::new();
    for input in node.inputs() {
        let ty = &node.vars[input.var].ty;
        let row = (0..cycles).map(|n| {
            let on = input.clock.is_none_or(|(cond, flag)| {
                rows[&name(cond)][n].as_ref().and_then(Value::as_bool) == Some(flag)
            });
            on.then(|| value(ty, r))
        });
        let row = row.collect();
        rows.insert(name(input.var), row);
    }
    rows
}

fn same(a: &Status, b: &Status) -> bool {
    let close = |a: &Value, b: &Value| match (a.to_data(), b.to_data()) {
        (Data::F64(a), Data::F64(b)) => a
            .iter()
            .zip(&b)
            .all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs()) || (a.is_nan() && b.is_nan())),
        _ => a.same(b),
    };
    match (a.value(), b.value()) {
        (Some(a), Some(b)) => a.ty() == b.ty() && close(a, b),
        _ => a.same(b),
    }
}

#[test]
fn printed_adjoints_mean_the_same() {
    for &(text, node) in PROGRAMS {
        let module = normal(text, Root::Diff(node.into())).unwrap_or_else(|e| panic!("{node}: {e}"));
        let root = module.root;
        let made = differentiate_node(module, root).unwrap_or_else(|e| panic!("{node}: {e}"));
        let printed: Vec<_> = made.called.iter().chain(&made.synthesised).copied().collect();
        let printed = surface::print_nodes(&made.module, &printed, Some(made.adjoint));
        let again = normal(&printed, Root::Run(format!("diff_{node}")))
            .unwrap_or_else(|e| panic!("{node}: {e}\n{printed}"));
        let again = differentiate(again).unwrap_or_else(|e| panic!("{node}: {e}"));
        let cycles = 7;
        let rows = inputs(&made.module, cycles, &mut Random(5));
        let (a, b) = (run(flat(&made.module), &rows, cycles), run(flat(&again), &rows, cycles));
        let root = &made.module.nodes[made.adjoint];
        for &o in &root.outputs {
            let name = root.vars[o].name.as_deref().expect("outputs are named");
            let equal = a[name].iter().zip(&b[name]).all(|(a, b)| same(a, b));
            assert!(equal, "{node}: {name}\n{:?}\n{:?}\n{printed}", a[name], b[name]);
        }
    }
}
