//! Cycles that are taken back have no effect: random programs are fed, failing cycles are taken back, and the rest is
//! compared with a run without these cycles.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use rml_backend_cpu::Cpu;
use rml_ir::flat::Drawn;
use rml_sim::{InputCell, Options, Simulator, Tensors};
use rml_testkit::flat::{random, text};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn failed_cycles_leave_no_trace(
        numbers in vec(any::<u32>(), 20..160), data in vec(any::<u32>(), 120), wild: bool, on_backend: bool, often in 1_usize..4
    ) {
        let (flat, _) = random::program(&numbers, 16, wild);
        without_trace(&flat, &random::trace(&flat, &data, 10, wild), on_backend, often);
    }
}

fn simulator(flat: &Arc<Drawn>, on_backend: bool) -> Simulator {
    let tensors = if on_backend { Tensors::On(Arc::new(Cpu)) } else { Tensors::Reference };
    Simulator::new(Arc::clone(flat), Options { tensors, ..Options::default() })
}

fn fetched(sim: &mut Simulator) -> Vec<String> {
    std::iter::from_fn(|| sim.next_output())
        .map(|row| format!("{} {}", row.cycle, text(&row.values)))
        .collect()
}

/// The states, or none if they cannot be read now.
fn states(sim: &Simulator) -> Option<Vec<String>> {
    let states = sim.states().ok()?;
    Some(states.iter().map(|(key, value)| format!("{key} {value:?}")).collect())
}

/// Every `often`-th cycle that is fed is also taken back and fed again.
fn without_trace(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], on_backend: bool, often: usize) {
    let mut sim = simulator(flat, on_backend);
    let (mut open, mut rows, mut accepted) = (VecDeque::new(), Vec::new(), Vec::new());
    for (n, cycle) in inputs.iter().enumerate() {
        let fed = sim.feed(cycle);
        if fed.is_ok() {
            rows.extend(fetched(&mut sim));
            accepted.push(cycle);
            open.push_back(cycle);
            let complete = open.len() - usize::try_from(sim.open_cycles()).unwrap();
            open.drain(..complete);
        }
        if sim.has_failed() || n % often == 0 {
            assert_eq!(sim.take_back() + open.len() as u64, accepted.len() as u64);
            open.iter().for_each(|cycle| sim.feed(cycle).expect("it was fed before"));
            assert_eq!(fetched(&mut sim), [""; 0], "what was fetched does not come again");
        }
    }
    let mut plain = simulator(flat, on_backend);
    accepted.iter().for_each(|cycle| plain.feed(cycle).expect("it was accepted"));
    let program = || rml_ir::flat::print(flat);
    assert_eq!((sim.cycles(), sim.open_cycles()), (plain.cycles(), plain.open_cycles()), "{}", program());
    assert_eq!(states(&sim), states(&plain), "{}", program());
    let ends = [&mut sim, &mut plain].map(|sim| sim.finish(true).map_err(|d| d.to_string()));
    assert_eq!(ends[0], ends[1], "{}", program());
    rows.extend(fetched(&mut sim));
    assert_eq!(rows, fetched(&mut plain), "{}", program());
}
