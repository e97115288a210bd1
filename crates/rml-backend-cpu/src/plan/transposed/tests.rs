//! Compares code that packs matrices in place with code that transposes them first.

use std::sync::Arc;

use super::super::stages::{compiled, lower};
use super::super::threads::Limits;
use super::super::{Machine, Ready};
use super::*;

/// Products of one row and of several, forward and backward, by a matrix transposed for them alone, and by one that
/// is an output, too; and over all ticks.
const STATES: &str = include_str!("states.plan");

/// In every window the parameter is another one.
#[test]
fn a_matrix_is_laid_out_from_where_it_lies_with_the_same_bits() {
    let plan = Arc::new(rml_plan::parse(STATES).expect("a plan"));
    rml_plan::verify(&plan).expect("it is right");
    let mut first = lower(&plan).unfused();
    rows::fuse(&mut first.0);
    let copies = |code: &Code| {
        let instrs = code.units.iter().flat_map(|unit| &code.instrs[unit.instrs.clone()]);
        instrs.filter(|instr| matches!(instr.kernel, Kernel::Copy(..))).count()
    };
    assert_eq!([copies(&first.0), copies(&compiled(&plan).0)], [3, 1]);
    let sharing = (2, Limits::NONE);
    let all = [
        (first.place().list(), (1, Limits::USUAL)),
        (compiled(&plan), (1, Limits::USUAL)),
        (compiled(&plan), sharing),
    ];
    let mut machines = all.map(|(compiled, threads)| {
        Machine::<f32>::ready(&Ready::of(Arc::clone(&plan), compiled, threads)).expect("there is memory")
    });
    for (window, ticks) in [2, 1, 5, 1, 9, 3].into_iter().enumerate() {
        let numbers = |n: usize| (0..n * ticks).map(|i| ((i + 7 * window) * 37 % 101) as f32 / 50.0 - 1.0);
        let (x, s): (Vec<f32>, Vec<f32>) = (numbers(120).collect(), numbers(40).collect());
        let [wanted, found, shared] = machines.each_mut().map(|machine| {
            machine.begin_window(ticks);
            machine.write(0, 0, &x);
            machine.write(1, 0, &s);
            machine.window(ticks).expect("nothing fails");
            let places = (0..4).flat_map(|output| (0..ticks).map(move |t| (output, t)));
            let all = places.flat_map(|(output, t)| machine.read::<f32>(output, t).expect("it is available"));
            all.map(|y| y.to_bits()).collect::<Vec<u32>>()
        });
        assert!(found == wanted && shared == wanted, "window {window} of {ticks} ticks");
    }
}
