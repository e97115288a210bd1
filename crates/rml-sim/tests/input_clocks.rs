//! Inputs against declared clocks whose conditions the program computes (ENV-3).

use std::sync::Arc;

use rml_base::codes;
use rml_ir::flat::{Drawn, Rhs};
use rml_ir::op::{Compare, Op};
use rml_ir::{DType, Value};
use rml_sim::{InputCell, Options, Simulator};
use rml_testkit::flat::Builder;

/// An input `x when c` where `c` is computed as `n > 1`, and `o = 0 fby x`.
fn with_computed_clock() -> Arc<Drawn> {
    let mut b = Builder::new();
    let (n, x) = (b.input("n", DType::Int), b.input("x", DType::Int));
    let one = b.lit(1);
    let c = b.scalar("c", DType::Bool);
    b.define(c, Rhs::Apply { op: Op::Compare(Compare::Gt), args: vec![n, one] });
    b.flat.inputs[1].clock = Some((c, true));
    let o = b.fby(0, x);
    b.output(o);
    b.output(c);
    b.build()
}

#[test]
fn inputs_are_checked_against_conditions_that_the_program_computes() {
    let int = |i: i64| InputCell::Given(Value::Int(i));
    let found = |cycles: &[[InputCell; 2]]| {
        let mut sim = Simulator::new(with_computed_clock(), Options::default());
        let codes = cycles.iter().map(|cycle| sim.feed(cycle).err().map(|d| (d.code, d.notes)));
        codes.flatten().next()
    };
    let error = |note: &str| Some((codes::sim::INPUT_CLOCK, vec![note.to_owned()]));
    let (absent, nothing) = (InputCell::Absent, InputCell::OnDemand(None));
    let offer = InputCell::OnDemand(Some(Value::Int(4)));
    assert_eq!(found(&[[int(1), absent.clone()], [int(2), int(3)], [absent.clone(), absent.clone()]]), None);
    assert_eq!(found(&[[int(1), int(3)]]), error("expected absent, since `c` is false"));
    assert_eq!(found(&[[absent.clone(), int(3)]]), error("expected absent, since `c` is absent"));
    assert_eq!(found(&[[int(2), absent]]), error("expected present, since `c` is true"));
    // Nothing asks for `x`, but its clock requires a value.
    assert_eq!(found(&[[int(2), nothing.clone()]]), error("expected present, since `c` is true"));
    assert_eq!(found(&[[int(1), nothing], [int(1), offer.clone()], [int(2), offer]]), None);
}
