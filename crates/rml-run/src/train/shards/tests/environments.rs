//! Shards of nodes that make their own data: each has an environment of its own.

use super::*;
use crate::rollout::{Reach, Rollout};

const STEPS: usize = 3;

fn family(name: &str) -> Family {
    let options = Options {
        node: Some("train".to_owned()),
        trained: true,
        gradients: true,
        seed: 5,
        ..Options::default()
    };
    ok(Family::new(&example(name), options, Engine::auto()))
}

fn setup(shards: usize) -> Setup {
    let position = crate::checkpoint::tests::position();
    Setup { batch: shards, shards, node: "train".to_owned(), ..position.setup }
}

/// The program in one piece.
fn whole(name: &str) -> Outcome {
    let mut family = family(name);
    let program = ok(family.program(1)).clone();
    let mut rollout = ok(Rollout::open(&program, &Engine::auto(), 1000));
    let mut averages = Averages::new(&program);
    for _ in 0..STEPS {
        let stretch = ok(rollout.advance(Reach { windows: 1, cycles: u64::MAX }));
        averages.add(&stretch.outputs, 1).expect("on the host");
    }
    (ok(rollout.session().states()), averages.metrics(), averages.gradients())
}

/// With shards, those of this process in an order that begins at `turn`. Also returns how many cycles ran.
fn sharded(name: &str, shards: usize, turn: usize, options: &TrainOptions) -> (Outcome, usize) {
    let (mut family, setup) = (family(name), setup(shards));
    let mut averages = Averages::new(ok(family.program(setup.shard())));
    let mut run = ok(Shards::on_its_own(&mut family, &setup, 1000, options));
    let mut cycles = 0;
    for _ in 0..STEPS {
        let here = run.here.clone();
        let order = here.clone().map(|i| here.start + (i - here.start + turn) % here.len());
        cycles += ok(run.step_in(order, &mut averages, &mut |_, _| Ok(())));
    }
    ((ok(run.states()), averages.metrics(), averages.gradients()), cycles)
}

/// What each of these ranks finds.
fn distributed(name: &str, shards: usize, ranks: usize) -> Vec<(Outcome, usize)> {
    let run = |group| {
        let options = TrainOptions { ranks: Some(Ranks::new(group)), ..TrainOptions::default() };
        sharded(name, shards, 0, &options)
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = Threads::group(ranks).into_iter().map(|g| scope.spawn(|| run(g))).collect();
        all.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    })
}

/// SHARD-4 of environments: windows of 32 cycles and of whole episodes, by policy gradients and by Q-learning with a
/// memory of transitions.
#[test]
fn both_parts_together_are_a_program_that_makes_its_data() {
    for name in ["cartpole", "cartpole_lstm", "cartpole_batchnorm", "catch_dqn", "pendulum"] {
        same_bits(name, (&whole(name), &sharded(name, 1, 0, &TrainOptions::default()).0));
    }
}

/// SHARD-1 and SHARD-4: each shard has states and draws of its own, and the order and the ranks do not matter.
#[test]
fn environments_are_shards() {
    for (name, shards) in [("cartpole", 4), ("catch_dqn", 3)] {
        let (found, cycles) = sharded(name, shards, 0, &TrainOptions::default());
        same_bits("another order", (&found, &sharded(name, shards, 1, &TrainOptions::default()).0));
        for ranks in 2..=shards {
            for (other, others) in distributed(name, shards, ranks) {
                same_bits(&format!("{name}, {ranks} ranks"), (&found, &other));
                assert_eq!(cycles, others, "{name}, {ranks} ranks");
            }
        }
        let own = |shard: usize| {
            let states = found.0.iter().filter(|(key, _)| key.starts_with(&shard_key(shard, "")));
            states.map(|(key, value)| (key.splitn(3, '.').last(), value)).collect::<Vec<_>>()
        };
        assert!(!own(1).is_empty() && own(1).len() == own(2).len(), "{name}");
        let differs = own(1).iter().zip(own(2)).any(|(a, b)| a.0 == b.0 && !a.1.same_bits(b.1));
        assert!(differs, "{name}: two shards make the same data");
    }
}
