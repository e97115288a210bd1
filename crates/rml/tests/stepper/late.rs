//! Programs that look ahead: outputs come late, and have the same values as in a session.

use rml::{Engine, Feed, Session, Stepper, tensor};

use super::ffi::allocations_in;
use super::{numbers, program};

/// A layer forward in time, and a layer backward in time through the next two cycles.
const BOTH_WAYS: &str = "
import std.layers;
node main(x: num [3]) -> (y: num [2], n: int [])
  f = lstm(4, x);
  a = dense(4, x);
  b = tanh(a + 0.5 * post tanh(a + 0.5 * post tanh(a)));
  y = dense(2, concat(f, b));
  n = 0 fby n + 1;
";

/// The outputs of each cycle, by the simulator.
fn wanted(text: &str, cycles: usize) -> Vec<Vec<f64>> {
    let program = program(text);
    let mut session = Session::on(&program, &Engine::simulator()).unwrap();
    let rows = (0..cycles).flat_map(|t| {
        let x: Feed = tensor(&[3], numbers(3, t)).unwrap().into();
        session.step([("x", x)]).unwrap()
    });
    rows.map(|row| row.nums("y").unwrap()).collect()
}

#[test]
fn outputs_come_as_late_as_they_have_to() {
    const CYCLES: usize = 60;
    let wanted = wanted(BOTH_WAYS, CYCLES);
    assert_eq!(wanted.len(), CYCLES - 2);
    let program = program(BOTH_WAYS);
    let steppers = [1, 2, 3, 5, 20].map(|block| (block, Stepper::windows(&program).unwrap()));
    for (block, mut stepper) in steppers.into_iter().chain([(1, Stepper::stream(&program).unwrap())]) {
        assert_eq!(stepper.latency(), 2);
        let x = stepper.input::<f32>("x").unwrap();
        let (y, n) = (stepper.output::<f32>("y").unwrap(), stepper.output::<i64>("n").unwrap());
        stepper.window(block).unwrap();
        for from in (0..CYCLES).step_by(block) {
            let data: Vec<f32> = (from..from + block).flat_map(|t| numbers(3, t)).collect();
            stepper.write(x, &data);
            stepper.step().unwrap();
            for t in 0..block {
                let found: Option<Vec<f64>> =
                    stepper.read_at(y, t).map(|y| y.iter().map(|y| f64::from(*y)).collect());
                let cycle = (from + t).checked_sub(2);
                assert_eq!(found.as_ref(), cycle.map(|cycle| &wanted[cycle]), "blocks of {block}, at {from}");
                assert_eq!(stepper.read_at(n, t).map(|n| n[0]), cycle.map(|cycle| cycle as i64));
            }
        }
    }
}

/// Blocks may differ in length; the cycles that wait are kept.
#[test]
fn blocks_of_any_length_follow_each_other() {
    let wanted = wanted(BOTH_WAYS, 40);
    let program = program(BOTH_WAYS);
    let mut stepper = Stepper::windows(&program).unwrap();
    let (x, y) = (stepper.input::<f32>("x").unwrap(), stepper.output::<f32>("y").unwrap());
    let (mut from, mut found) = (0, Vec::new());
    for block in [1, 4, 1, 1, 7, 2, 1, 20] {
        stepper.window(block).unwrap();
        for t in 0..block {
            stepper.write_at(x, t, &numbers(3, from + t));
        }
        stepper.step().unwrap();
        found.extend((0..block).filter_map(|t| stepper.read_at(y, t)).map(<[f32]>::to_vec));
        from += block;
    }
    let found: Vec<Vec<f64>> = found.iter().map(|y| y.iter().map(|y| f64::from(*y)).collect()).collect();
    assert_eq!(found, wanted[..from - 2]);
}

#[test]
fn nothing_is_allocated_for_what_waits() {
    let program = program(BOTH_WAYS);
    for block in [1, 64] {
        let mut stepper = Stepper::windows(&program).unwrap();
        let x = stepper.input::<f32>("x").unwrap();
        stepper.window(block).unwrap();
        let data: Vec<f32> = (0..block).flat_map(|t| numbers(3, t)).collect();
        let mut step = || {
            stepper.write(x, &data);
            stepper.step().unwrap();
        };
        (0..5).for_each(|_| step());
        assert_eq!(allocations_in(|| (0..10).for_each(|_| step())), 0, "blocks of {block}");
    }
}

/// A step that fails has no effect: the waiting cycles continue with the next step.
#[test]
fn a_step_that_fails_can_be_taken_again() {
    let program = program("node main(x: int []) -> (y) y = (0 fby y) + x * (post x);");
    let mut stepper = Stepper::stream(&program).unwrap();
    let (x, y) = (stepper.input::<i64>("x").unwrap(), stepper.output::<i64>("y").unwrap());
    let mut step = |value: i64| {
        stepper.write(x, &[value]);
        stepper.step().map(|()| stepper.read(y).map(|y| y[0]))
    };
    assert_eq!(step(3).unwrap(), None);
    assert_eq!(step(5).unwrap(), Some(15));
    assert_eq!(step(i64::MAX).unwrap_err().code().unwrap().to_string(), "integer-overflow");
    assert_eq!(step(2).unwrap(), Some(25));
}
