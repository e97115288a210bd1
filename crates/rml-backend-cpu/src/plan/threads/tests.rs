use std::sync::Arc;

use rml_ir::{DType, Value};
use rml_plan::Plan;

use super::*;
use crate::plan::{Machine, compiled};

/// A classifier in training: an LSTM of 4 units on 9 rows of 3 numbers.
const LSTM: &str = include_str!("lstm.plan");

fn read() -> Arc<Plan> {
    Arc::new(rml_plan::parse(LSTM).expect("a plan"))
}

fn team(threads: usize) -> (Listed, Placement, Team) {
    let (mut code, mut placement) = compiled(&read());
    let team = Team::new(&mut code, &mut placement, (threads, Limits::NONE)).expect("there is work to share");
    (code, placement, team)
}

#[test]
fn rows_ticks_and_sums_of_an_lstm_are_shared() {
    let (code, placement, Team { shards, work, .. }) = team(3);
    let loops: Vec<Option<usize>> = work.loops.iter().flatten().map(|job| job.rows).collect();
    assert_eq!(loops, [Some(9); 2]);
    // The projection of all inputs, and the gradients of the three parameters of the cell.
    let count = |is: fn(&Job) -> bool| work.units.iter().flatten().filter(|job| is(job)).count();
    assert!(count(|job| job.by_ticks) >= 1 && count(|job| job.rows.is_some()) > 5);
    assert_eq!(count(|job| job.group.is_some()), 3);
    let k = work.loops.iter().position(Option::is_some).expect("a loop");
    assert!(shards.iter().all(|shard| shard.code.passes[k].units == code.passes[k].units));
    // Of a batch of nine, each has three; what is needed in one tick alone is at places of its own.
    let own = shards[1].placement.rooms.iter().zip(&shards[2].placement.rooms).filter(|(a, b)| a != b);
    let one_tick = placement.within.iter().filter(|within| within.is_some()).count();
    assert!(one_tick > 5);
    assert_eq!(own.count(), one_tick);
}

/// Wrong cuts are found: rows that begin one too early, and places of one tick that threads share.
#[test]
fn parts_that_overlap_are_found() {
    let (code, placement, mut team) = team(2);
    assert_eq!(disjoint::check(&code, &placement, &team.shards, &team.work), Ok(()));
    let placed = team.shards[1].placement.clone();
    team.shards[1].placement = team.shards[0].placement.clone();
    assert!(disjoint::check(&code, &placement, &team.shards, &team.work).is_err());
    team.shards[1].placement = placed;
    let (mut mutants, mut found) = (0, 0);
    for pass in code.passes.iter().filter(|pass| !pass.over) {
        for i in code.units[pass.units.clone()].iter().flat_map(|unit| unit.instrs.clone()) {
            let arg = team.shards[1].code.instrs[i].out;
            let slot = team.shards[1].code.refs[arg].slot;
            // A place of its own has room after it.
            if !code.slot(slot).per_tick {
                continue;
            }
            let row = code.slot(slot).width / 9;
            team.shards[1].code.code_mut().refs[arg].offset -= row;
            mutants += 1;
            found += usize::from(disjoint::check(&code, &placement, &team.shards, &team.work).is_err());
            team.shards[1].code.code_mut().refs[arg].offset += row;
        }
    }
    assert!(mutants > 8, "{mutants}");
    assert_eq!(found, mutants);
}

/// Sets the inputs of a window, and runs it.
fn window(machine: &mut Machine<f32>, ticks: usize, scale: f32) {
    let plan = read();
    for (i, (_, ty)) in plan.inputs.iter().enumerate() {
        for t in 0..ticks {
            let n = ty.shape.len();
            let value = match ty.dtype {
                DType::Num => {
                    let x = (0..n).map(|j| scale * (((t * 31 + j * 17) % 29) as f32 / 8.0 - 1.7));
                    Value::new(ty.shape.clone(), rml_ir::Data::F32(x.collect()))
                }
                DType::Int => {
                    let y = (0..n).map(|j| (j * 7 % 10) as i64);
                    Value::new(ty.shape.clone(), rml_ir::Data::Int(y.collect()))
                }
                DType::Bool => Value::Bool(t + 1 == ticks),
            };
            machine.set_input(i, ticks, t, &value);
        }
    }
    assert_eq!(machine.window(ticks), Ok(ticks));
}

#[test]
fn parameters_have_the_bits_of_one_thread() {
    let of = |threads| {
        let mut machine = Machine::<f32>::sharing_all(read(), threads).expect("memory");
        for ticks in [4, 1, 2, 7, 3, 4] {
            window(&mut machine, ticks, 1.0);
        }
        (0..read().registers.len()).map(|r| machine.register(r).expect("it is set")).collect::<Vec<_>>()
    };
    let one = of(1);
    for threads in [2, 3, 4, 5, 9, 1000] {
        assert!(of(threads).iter().zip(&one).all(|(a, b)| a.same(b)), "{threads} threads");
    }
}

#[test]
fn small_windows_start_no_threads() {
    let (mut code, mut placement) = compiled(&read());
    let (k, pass) = code.passes.iter().enumerate().find(|(_, pass)| !pass.over).expect("a loop");
    let cost: f64 = code.units[pass.units.clone()].iter().map(|unit| cost::unit(&code, unit)).sum();
    let mut team = Team::new(&mut code, &mut placement, (2, Limits::USUAL)).expect("long windows are shared");
    let long = (Limits::USUAL.window / cost) as usize + 1;
    for (ticks, is_awake) in [(3, false), (long, true), (4, false)] {
        team.bind(ticks);
        assert_eq!(team.is_awake, is_awake, "{ticks} ticks of {cost} ns in loop {k}");
    }
    assert!(team.pool.is_some());
}
