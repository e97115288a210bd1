//! Code with pairs beside the same code without them.

use std::sync::Arc;

use rml_ir::Position;
use rml_plan::Plan;

use super::super::code::{Code, Kernel};
use super::super::stages::{compiled, lower};
use super::super::threads::Limits;
use super::super::{Machine, Ready};

/// Lines of operators, forward and backward: one alone takes what another gives, takes it twice, or at another tick;
/// two parts of a concatenation.
const LOOPS: &str = include_str!("loops.plan");

fn plan() -> Arc<Plan> {
    let plan = rml_plan::parse(LOOPS).expect("a plan");
    rml_plan::verify(&plan).expect("it is right");
    Arc::new(plan)
}

/// How many operators, pairs and copies run at a position.
fn kinds(code: &Code, p: Position) -> [usize; 3] {
    let units = code.units.iter().filter(|unit| unit.at.contains(p));
    let instrs: Vec<_> = units.flat_map(|unit| &code.instrs[unit.instrs.clone()]).collect();
    let count = |is: fn(&Kernel) -> bool| instrs.iter().filter(|instr| is(&instr.kernel)).count();
    [
        count(|kernel| matches!(kernel, Kernel::Point(..))),
        count(|kernel| matches!(kernel, Kernel::Pair(..))),
        count(|kernel| matches!(kernel, Kernel::Copy(..))),
    ]
}

/// Over all ticks, `t21` and `v` are a pair, and `t19` is a copy. Forward, `t4` takes `t3` twice; so pairs are `t2`
/// with `t3`, `t4` with `t5`, `t6` with `t7`, and `t8` is left. Backward they are `t10` with `t12`, and `half` with
/// `t14`, which are computed where they belong; repeated rows are no copies.
#[test]
fn operators_that_one_alone_takes_are_pairs_with_it() {
    let alone = lower(&plan()).unfused().0;
    let (code, _) = compiled(&plan());
    for p in [Position::First, Position::Middle, Position::Last, Position::Only] {
        assert_eq!(kinds(&alone, p), [17, 0, 1]);
        assert_eq!(kinds(&code, p), [5, 6, 1], "{p:?}");
    }
}

#[test]
fn pairs_in_windows_have_the_bits_of_their_operators() {
    let plan = plan();
    let mut machines = [lower(&plan).unfused().place().list(), compiled(&plan)].map(|compiled| {
        let ready = Ready::of(Arc::clone(&plan), compiled, (1, Limits::USUAL));
        Machine::<f32>::ready(&ready).expect("there is memory")
    });
    for (window, ticks) in [1, 2, 5, 1, 9, 3].into_iter().enumerate() {
        let x: Vec<f32> =
            (0..80 * ticks).map(|i| ((i + 7 * window) * 37 % 101) as f32 / 50.0 - 1.0).collect();
        let [wanted, found] = machines.each_mut().map(|machine| {
            machine.begin_window(ticks);
            machine.write(0, 0, &x);
            machine.window(ticks).expect("nothing fails");
            let places = (0..4).flat_map(|output| (0..ticks).map(move |t| (output, t)));
            let all = places.flat_map(|(output, t)| machine.read::<f32>(output, t).expect("it is available"));
            all.map(|y| y.to_bits()).collect::<Vec<u32>>()
        });
        assert_eq!(found, wanted, "window {window} of {ticks} ticks");
    }
}
