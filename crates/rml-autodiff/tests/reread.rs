//! Printed adjoints are programs: they elaborate again, and have the same results.

mod support;

use rml_autodiff::{differentiate, differentiate_node};
use rml_elab::Root;
use rml_ir::{Data, Value, surface};
use rml_sim::Status;
use rml_testkit::Lcg;
use rml_testkit::gradients::{normal, run};
use support::flat;
use support::source::{FEATURES, PROGRAMS, checked_nodes, inputs};

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
    let features = FEATURES.iter().flat_map(|text| checked_nodes(text).map(move |node| (*text, node)));
    for (text, node) in PROGRAMS.iter().copied().chain(features) {
        let module = normal(text, Root::Diff(node.into())).unwrap_or_else(|e| panic!("{node}: {e}"));
        let root = module.root;
        let made = differentiate_node(module, root).unwrap_or_else(|e| panic!("{node}: {e}"));
        let printed = surface::print_nodes(&made.module, &made.needed, Some(made.adjoint), &made.origins);
        let again = normal(&printed, Root::Run(format!("diff_{node}")))
            .unwrap_or_else(|e| panic!("{node}: {e}\n{printed}"));
        let again = differentiate(again).unwrap_or_else(|e| panic!("{node}: {e}"));
        let cycles = 7;
        let rows = inputs(&made.module, cycles, &mut Lcg(5));
        let (a, b) = (run(flat(&made.module), &rows, cycles), run(flat(&again), &rows, cycles));
        let root = &made.module.nodes[made.adjoint];
        for &o in &root.outputs {
            let name = root.vars[o].name.as_deref().expect("outputs are named");
            let equal = a[name].iter().zip(&b[name]).all(|(a, b)| same(a, b));
            assert!(equal, "{node}: {name}\n{:?}\n{:?}\n{printed}", a[name], b[name]);
        }
    }
}
