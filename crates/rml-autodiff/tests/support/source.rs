//! Programs for the tests, and inputs for them.
#![allow(dead_code, reason = "each test file uses a part")]

use rml_ir::normal::Module;
use rml_ir::{DType, Data, Type, Value};
use rml_testkit::Lcg;
use rml_testkit::gradients::InputRows;

/// Programs, with the node to differentiate.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    (include_str!("../programs/app.rml"), "app"),
    (include_str!("../programs/app.rml"), "app_pipe"),
    (include_str!("../programs/lstm.rml"), "layer"),
    (include_str!("../programs/lstm.rml"), "windows"),
    (include_str!("../programs/lstm.rml"), "batches"),
    (include_str!("../programs/lstm.rml"), "last"),
    (include_str!("../programs/clocks.rml"), "branches"),
    (include_str!("../programs/clocks.rml"), "backfill"),
    (include_str!("../programs/clocks.rml"), "initial"),
    (include_str!("../programs/clocks.rml"), "two_rates"),
    (include_str!("../programs/operators.rml"), "pointwise"),
    (include_str!("../programs/operators.rml"), "layout"),
    (include_str!("../programs/operators.rml"), "products"),
    (include_str!("../programs/operators.rml"), "reductions"),
    (include_str!("../programs/operators.rml"), "unused"),
    (include_str!("../programs/operators.rml"), "functions"),
    (include_str!("../programs/operators.rml"), "choices"),
    (include_str!("../programs/operators.rml"), "positions"),
    (include_str!("../programs/operators.rml"), "convolutions"),
    (include_str!("../programs/operators.rml"), "pooling"),
    (include_str!("../programs/operators.rml"), "contractions"),
    (include_str!("../programs/operators.rml"), "noise"),
];

/// Programs for every feature; in each of them the nodes `check_..` are differentiated.
pub(crate) const FEATURES: &[&str] = &[
    include_str!("../programs/features/windows.rml"),
    include_str!("../programs/features/both_ways.rml"),
    include_str!("../programs/features/sampled.rml"),
    include_str!("../programs/features/second.rml"),
    include_str!("../programs/features/parts.rml"),
];

/// The nodes of a program of [`FEATURES`] that are differentiated.
pub(crate) fn checked_nodes(text: &str) -> impl Iterator<Item = &str> {
    let nodes = text.lines().filter_map(|l| l.strip_prefix("node ")?.split('(').next());
    nodes.filter(|node| node.starts_with("check_"))
}

pub(crate) fn value(ty: &Type, r: &mut Lcg) -> Value {
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

/// Inputs present according to their declared clocks. The ends of windows are true in the last cycle.
pub(crate) fn inputs(module: &Module, cycles: usize, r: &mut Lcg) -> InputRows {
    let node = &module.nodes[module.root];
    let name = |v| node.vars[v].name.as_deref().expect("inputs are named").to_owned();
    let mut rows = InputRows::new();
    for input in node.inputs() {
        let ty = &node.vars[input.var].ty;
        let row = (0..cycles).map(|n| {
            let on = input.clock.is_none_or(|(cond, flag)| {
                rows[&name(cond)][n].as_ref().and_then(Value::as_bool) == Some(flag)
            });
            let is_last = n + 1 == cycles && name(input.var).ends_with("end");
            on.then(|| if is_last { Value::Bool(true) } else { value(ty, r) })
        });
        let row = row.collect();
        rows.insert(name(input.var), row);
    }
    rows
}
