//! Random programs, by plan and by simulator.

use std::collections::BTreeMap;

use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::plans::{Planned, compare};
use rml_testkit::verdicts::{overflowing, respecting};

#[test]
fn plans_of_random_programs_mean_the_same() {
    let (mut equal, mut failed, mut declined) = (0, 0, BTreeMap::<String, usize>::new());
    let (mut waited, mut done, mut known) = (0, 0, 0);
    for seed in 0..5000 {
        let mut r = Lcg(seed);
        let numbers = r.take(220);
        let (flat, _) = program(&numbers, 24, false);
        let clocks = rml_analysis::clocks(&flat).clocks;
        let inputs = respecting(&flat, &clocks, &mut r, 14);
        let inputs = if seed % 3 == 0 { overflowing(inputs, &mut r) } else { inputs };
        match compare(&flat, &inputs, &mut r) {
            Ok(Planned::Equal) => equal += 1,
            Ok(Planned::Waited(cycles, all)) => {
                (waited, done, known) = (waited + 1, done + cycles, known + all);
            }
            Ok(Planned::Failed) => failed += 1,
            Ok(Planned::Declined(why)) => *declined.entry(why).or_default() += 1,
            Ok(Planned::Stopped) => {}
            Err(why) => panic!("seed {seed}: {why}"),
        }
    }
    // Blocks that wait come about as far as the simulator, which may know outputs before it knows everything that may
    // fail.
    assert!(waited > 250 && done * 100 > known * 85, "{waited} wait; {done} of {known} cycles are done");
    assert!(
        equal + failed > 2000,
        "{equal} and {failed} of 5000 programs have a plan; declined: {declined:?}"
    );
    assert!(failed > 120, "{failed} programs fail");
}
