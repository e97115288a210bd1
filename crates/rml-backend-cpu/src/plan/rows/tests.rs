//! Code with sums of rows beside the same code without them.

use std::sync::Arc;

use rml_ir::{Data, Position, Value};
use rml_plan::Plan;

use super::super::code::Kernel;
use super::super::listed::{Entry, Listed};
use super::super::stages::{compiled, lower};
use super::super::threads::Limits;
use super::super::{Machine, Ready};
use super::Summand;

/// An LSTM of 5 units and a dense layer of 4 on 3 numbers.
const STREAM: &str = include_str!("stream.plan");

fn plan() -> Arc<Plan> {
    let plan = rml_plan::parse(STREAM).expect("a plan");
    rml_plan::verify(&plan).expect("it is right");
    Arc::new(plan)
}

/// How many products each sum has that runs at a position.
fn sums(code: &Listed, p: Position) -> Vec<usize> {
    let entries = code.lists.iter().flat_map(|lists| &lists.at[p.index()]);
    let instrs = entries.flat_map(|entry| match entry {
        Entry::Unit(unit) => &code.instrs[code.units[*unit].instrs.clone()],
        _ => &[],
    });
    let products = instrs.filter_map(|instr| match &instr.kernel {
        Kernel::Rows(summands) => Some(summands.iter().filter(|s| **s != Summand::Row).count()),
        Kernel::Product(..) => Some(0),
        _ => None,
    });
    products.collect()
}

/// In a window of one tick both products of the cell are one sum. In longer ones the product with the inputs is one of
/// all ticks.
#[test]
fn products_of_rows_that_are_added_are_one_instruction() {
    let (code, _) = compiled(&plan());
    assert_eq!(sums(&code, Position::Only), [2, 1]);
    for p in [Position::First, Position::Middle, Position::Last] {
        assert_eq!(sums(&code, p), [1]);
    }
}

fn number(i: usize) -> f32 {
    (i * 37 % 101) as f32 / 50.0 - 1.0
}

#[test]
fn sums_of_rows_have_the_bits_of_their_additions() {
    let plan = plan();
    let mut machines = [compiled(&plan), lower(&plan).unfused().place().list()].map(|compiled| {
        let ready = Ready::of(Arc::clone(&plan), compiled, (1, Limits::USUAL));
        Machine::<f32>::ready(&ready).expect("there is memory")
    });
    for (i, register) in plan.registers.iter().enumerate() {
        let shape = &register.ty.shape;
        let data = Data::F32((0..shape.len()).map(|at| number(at * 3 + i) / 2.0).collect());
        machines.iter_mut().for_each(|m| m.set_register(i, &Value::new(shape.clone(), data.clone())));
    }
    for (window, ticks) in [1, 1, 1, 2, 5, 1, 3, 9, 1, 1].into_iter().enumerate() {
        let x: Vec<f32> = (0..3 * ticks).map(|i| number(i + 7 * window)).collect();
        let [one, other] = machines.each_mut().map(|machine| {
            machine.begin_window(ticks);
            machine.write(0, 0, &x);
            machine.window(ticks).expect("nothing fails");
            let ticks = (0..ticks).flat_map(|t| machine.read::<f32>(0, t).expect("it is available"));
            ticks.map(|y| y.to_bits()).collect::<Vec<u32>>()
        });
        assert_eq!(one, other, "window {window} of {ticks} ticks");
    }
}
