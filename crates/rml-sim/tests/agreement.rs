//! The simulator against the oracle on random programs: every cell, every kind of failure, open and closed traces,
//! windows, evaluation orders, and a run that is divided in two by saving and loading its states.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rml_ir::flat::{ClockClasses, Drawn, Rhs};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{Demand, InputCell, Options, Simulator};
use rml_testkit::flat::{random, run, run_with, text};

fn cases(n: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn clocked_programs(numbers in vec(any::<u32>(), 20..200), data in vec(any::<u32>(), 90), cycles in 0_usize..12, closed: bool) {
        let (flat, _) = random::program(&numbers, 25, false);
        let _ = run(&flat, &random::trace(&flat, &data, cycles, false), closed);
    }

    #[test]
    fn wild_programs(numbers in vec(any::<u32>(), 20..120), data in vec(any::<u32>(), 90), cycles in 0_usize..8, closed: bool) {
        let (flat, _) = random::program(&numbers, 12, true);
        let _ = run(&flat, &random::trace(&flat, &data, cycles, true), closed);
    }

    #[test]
    fn any_demand(numbers in vec(any::<u32>(), 20..120), asked in vec(any::<bool>(), 40), closed: bool) {
        let (flat, _) = random::program(&numbers, 12, false);
        let demand = flat.vars.ids().zip(asked.chunks(4)).map(|(v, c)| (v, c.to_vec())).collect();
        let nothing = vec![vec![InputCell::OnDemand(None); flat.inputs.len()]; 5];
        let _ = run_with(&flat, &nothing, closed, Demand::Given(demand));
    }

    #[test]
    fn every_order_gives_the_same_fixpoint(numbers in vec(any::<u32>(), 20..120), data in vec(any::<u32>(), 60), seed: u32) {
        let (flat, _) = random::program(&numbers, 12, true);
        let inputs = random::trace(&flat, &data, 6, true);
        let mut order: Vec<_> = flat.equations.ids().collect();
        let mut x = seed | 1;
        for i in (1..order.len()).rev() {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            order.swap(i, x as usize % (i + 1));
        }
        let first = oracle::run(&flat, &inputs, &OracleOptions { closed: true, ..OracleOptions::default() });
        let options = OracleOptions { closed: true, order: Some(order), ..OracleOptions::default() };
        let second = oracle::run(&flat, &inputs, &options);
        for v in flat.vars.ids() {
            prop_assert_eq!(text(&first.row(v)), text(&second.row(v)));
        }
    }

    #[test]
    fn a_run_cut_in_two_goes_on_as_one(numbers in vec(any::<u32>(), 20..160), data in vec(any::<u32>(), 90), cut in 0_usize..10) {
        let (flat, _) = random::program(&numbers, 20, false);
        let inputs = random::trace(&flat, &data, 10, false);
        cut_in_two(&flat, &inputs, cut);
    }
}

fn outputs(sim: &mut Simulator, cycles: &[Vec<InputCell>], closed: bool) -> Option<Vec<String>> {
    for cycle in cycles {
        sim.feed(cycle).ok()?;
    }
    sim.finish(closed).ok()?;
    Some(std::iter::from_fn(|| sim.next_output()).map(|r| text(&r.values)).collect())
}

fn cut_in_two(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], cut: usize) {
    let new = || Simulator::new(Arc::clone(flat), Options::default());
    let mut first = new();
    let Some(mut rows) = outputs(&mut first, &inputs[..cut], false) else { return };
    let Ok(states) = first.states() else { return };
    let mut second = new();
    for (key, value) in &states {
        second.set_state(key, value).unwrap();
    }
    // The second run reads a stream initialiser that was not read yet.
    let Some(more) = outputs(&mut second, &inputs[cut..], true) else { return };
    rows.extend(more);
    let Some(whole) = outputs(&mut new(), inputs, true) else { return };
    // The second run cannot provide outputs that the first part left undetermined; there must be no other difference.
    assert_eq!(rows, whole, "cut before cycle {cut}\n{}", rml_ir::flat::print(flat));
}

/// Whether a class without a driver contains a sampling or a merge by one of its own conditions.
fn has_free_circle(flat: &Drawn) -> bool {
    let classes = ClockClasses::new(flat);
    classes.drivers().iter().any(|d| classes.is_own(d) && !classes.is_driven(classes.of(d.var)))
}

/// The random programs are useful: many run without a failure, and many contain every kind of equation.
#[test]
fn the_generator_reaches_all_forms() {
    let mut seen = std::collections::BTreeMap::new();
    let (mut fine, mut failing, mut determined) = (0, 0, 0);
    let mut circles = 0;
    for seed in 0..300_u32 {
        let mut x = seed.wrapping_mul(747_796_405).wrapping_add(1);
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        };
        let numbers: Vec<u32> = (0..200).map(|_| next()).collect();
        let (flat, _) = random::program(&numbers, 25, seed % 2 == 0);
        for eq in flat.equations.iter() {
            let kind = match &eq.rhs {
                Rhs::Const(_) => "const",
                Rhs::Apply { .. } => "apply",
                Rhs::If { .. } => "if",
                Rhs::When { .. } => "when",
                Rhs::Merge { .. } => "merge",
                Rhs::Fby { window: Some(_), .. } => "fby in a window",
                Rhs::Fby { .. } => "fby",
                Rhs::FbyBack { window: Some(_), .. } => "fby back in a window",
                Rhs::FbyBack { .. } => "fby back",
                Rhs::Post { .. } => "post",
                Rhs::Param { .. } => "param",
            };
            *seen.entry(kind).or_insert(0) += 1;
        }
        circles += usize::from(has_free_circle(&flat));
        let sim = run(&flat, &random::trace(&flat, &numbers, 8, seed % 2 == 0), true);
        match (sim.failure(), sim.undetermined()) {
            (Some(_), _) => failing += 1,
            (None, None) => determined += 1,
            (None, Some(_)) => fine += 1,
        }
    }
    assert!(seen.len() >= 10 && seen.values().all(|&n| n > 20), "{seen:?}");
    assert!(circles > 10, "{circles}");
    assert!(failing > 20 && determined > 50 && fine > 20, "{failing} {determined} {fine}");
}
