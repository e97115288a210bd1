//! Windows that end in the cycle before a condition holds: the form without later cycles means the same, and has a plan
//! without.

use std::sync::Arc;

use rml::{Options as Compile, Source, compile};
use rml_analysis::clocks;
use rml_ir::flat::Drawn;
use rml_ir::pass::lower_drawn;
use rml_plan::Ends;
use rml_schedule::{Fed, restarts, schedule};
use rml_sim::{InputCell, Options, Simulator};
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::verdicts::respecting;

const PROGRAMS: [&str; 6] = [
    "node sum(x: int []) -> (y) y = x + (0 fby y);
node main(x: int [], r: bool []) -> (y) y = sum(x) every (false fby back r);",
    "node sum(x: int []) -> (y) y = x + (0 fby y);
node main(x: int [], r, e: bool []) -> (y, n) y = sum(x) every ((false fby back r) or e); n = sum(y) every (not (post r));",
    // A first value that is a stream; a window within another one.
    "node from(x: int []) -> (y) y = x + (x fby y);
node both(x: int [], e: bool []) -> (y, z) y = from(x) every e; z = 1 fby y;
node main(x: int [], r, e: bool []) -> (y, z) y, z = both(x, e) every (false fby back r);",
    "node both(x: int [], r: bool []) -> (y, z) y = x + (0 fby z); z = y + (1 fby x);
node main(x: int [], r: bool []) -> (y, z) y, z = both(x, r) every (if r then false fby back r else x > 3);",
    "node sum(x: int []) -> (y) y = x + (0 fby y);
node main(x: int []) -> (y, k) k = 0 fby y; y = sum(x) every ((0 fby back x) > 4);",
    "node sum(x: int []) -> (y) y = x + (0 fby y);
node main(x: int [], r: bool []) -> (y) y = sum(sum(x) every (false fby back r)) every (false fby back (not r));",
];

/// The outputs of a closed trace, a line for each cycle.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Result<Vec<String>, String> {
    let options = Options { record: true, ..Options::default() };
    let mut sim = Simulator::new(Arc::clone(flat), options);
    let ran = inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true));
    ran.map_err(|error| error.to_string())?;
    let cell = |t: usize, v| format!("{:?}", sim.status(t as u64, v).expect("on the host"));
    let row = |t| flat.outputs.iter().map(|v| cell(t, *v)).collect::<Vec<_>>().join(" ");
    Ok((0..inputs.len()).map(row).collect())
}

#[test]
fn restarts_need_no_later_cycle() {
    for text in PROGRAMS {
        let compiled = compile(&Source::text("main", text), &Compile::default()).expect("it compiles");
        let flat = compiled.flat();
        let other = Arc::new(restarts(flat, &clocks(flat).clocks).expect(text));
        let plan = schedule(&other, Fed::Blocks).expect(text);
        assert_eq!((plan.waits, plan.ahead(), plan.ends), (false, 0, Ends::Nothing), "{text}");
        for seed in 0..50 {
            let inputs = respecting(flat, &clocks(flat).clocks, &mut Lcg(seed), 25);
            assert_eq!(outputs(&other, &inputs), outputs(flat, &inputs), "seed {seed}: {text}");
        }
    }
}

#[test]
fn restarts_of_random_programs_mean_the_same() {
    let (mut found, mut ran) = (0, 0);
    for seed in 0..5000 {
        let mut r = Lcg(seed);
        let (flat, _) = program(&r.take(220), 24, false);
        let flat = Arc::new(lower_drawn((*flat).clone()));
        let clocks = clocks(&flat).clocks;
        let Some(other) = restarts(&flat, &clocks).map(Arc::new) else { continue };
        // A condition that needs its own restart has an order in the first cycle alone.
        if schedule(&other, Fed::Blocks).map_or(true, |plan| plan.waits) {
            continue;
        }
        found += 1;
        let inputs = respecting(&flat, &clocks, &mut r, 14);
        if let (Ok(found), Ok(wanted)) = (outputs(&other, &inputs), outputs(&flat, &inputs)) {
            ran += 1;
            let text = rml_ir::flat::print(&flat);
            assert_eq!(found, wanted, "seed {seed}: {text}");
        }
    }
    assert!(ran > 10, "{ran} of {found} programs ran");
}
