//! Windows within those of a plan.

use rml_plan::{Atom, Lifetime, Plan, Region, Rule, Tick, Write};
use rml_validate::Claim;

use super::{refused_of, rules};

/// Windows side by side, which are open when a block ends, and a delay of which the facts know all.
const BESIDE: &str = "\
node count(x: int []) -> (n, z)
  n = (0 fby n) + x;
  z = 0 fby 0;

node main(x: int [], a: bool [], b: bool []) -> (n, z, m)
  n, z = count(x) every a;
  m, _ = count(x) every b;
";

#[test]
fn v7_delays_in_open_windows() {
    // The first one is that of `z`, which nothing reads.
    refused_of(BESIDE, "V7", |plan, witness| {
        plan.registers = plan.registers.iter().skip(1).cloned().collect();
        witness.registers = witness.registers.iter().skip(1).copied().collect();
        plan.commits.retain(|w| w.register.0 > 0);
        plan.commits.iter_mut().for_each(|w| w.register.0 -= 1);
        rules(plan).for_each(|rule| {
            if let Rule::Read { register, .. } = rule {
                register.0 -= 1;
            }
        });
        assert_eq!((plan.registers.len(), plan.commits.len()), (2, 2));
    });
    refused_of(BESIDE, "V7", |plan, _| plan.commits.iter_mut().for_each(|w| w.unless.clear()));
    refused_of(BESIDE, "V7", |plan, _| plan.registers.iter_mut().for_each(|r| r.kind = Lifetime::Local));
}

/// Counters forward and backward on a clock that data decide, in windows whose ends are on another one.
const SAMPLED: &str = "\
node count(x: int []) -> (n, b)
  n = x + (0 fby n);
  b = x + (0 fby back b);

node both(x: int [], c, d, e: bool []) -> (n when c, b when c)
  n, b = count(x when c) every (e when d);

node main(x: int [], c, d, e, end: bool []) -> (n when c, b when c)
  n, b = both(x, c, d, e) every end;
";

/// Changes what loops that go that way write.
fn written(plan: &mut Plan, way: bool, change: impl Fn(&mut Write)) {
    for region in &mut plan.regions {
        if let Region::Loop { backward, writes, .. } = region
            && *backward == way
        {
            assert!(writes.iter().any(|w| !w.unless.is_empty()));
            writes.iter_mut().for_each(&change);
        }
    }
}

#[test]
fn v7_delays_on_sampled_clocks_start_anew_where_windows_end() {
    for way in [false, true] {
        refused_of(SAMPLED, "V7", |plan, _| written(plan, way, |w| w.unless.clear()));
        // A loop forward comes to an end when it has done with that tick, a loop backward when it has done with the one
        // after it.
        refused_of(SAMPLED, "V7", |plan, _| {
            written(plan, way, |w| {
                for end in &mut w.unless {
                    if let Atom::Tape(tape, tick) = *end {
                        *end = Atom::Tape(tape, if tick == Tick::Now { Tick::Before } else { Tick::Now });
                    }
                }
            });
        });
        // It restarts where it is not active, too.
        refused_of(SAMPLED, "V7", |plan, _| {
            written(plan, way, |w| w.at = w.at.without(rml_ir::Position::Middle));
        });
    }
}

#[test]
fn v5_what_tells_of_an_end_is_false_where_that_is_absent() {
    let select = |plan: &mut Plan, change: fn(&mut Atom, &mut Atom, &mut Atom)| {
        let mut found = 0;
        for rule in rules(plan) {
            if let Rule::Select { cond, then, other } = rule
                && matches!(other, Atom::Const(_))
            {
                change(cond, then, other);
                found += 1;
            }
        }
        assert!(found > 0);
    };
    refused_of(SAMPLED, "V5", |plan, _| select(plan, |_, then, other| std::mem::swap(then, other)));
    refused_of(SAMPLED, "V5", |plan, _| select(plan, |cond, then, _| *cond = *then));
    refused_of(SAMPLED, "V5", |plan, _| select(plan, |cond, then, _| *then = *cond));
    refused_of(SAMPLED, "V5", |plan, _| select(plan, |_, then, other| *other = *then));
    let told = |claims: &mut rml_base::IndexVec<_, Claim>, change: fn(rml_ir::flat::Var, usize) -> Claim| {
        for claim in claims.iter_mut() {
            if let Claim::Holds(end, depth) = *claim {
                *claim = change(end, depth);
            }
        }
    };
    refused_of(SAMPLED, "V5", |_, witness| {
        told(&mut witness.tapes, |end, depth| Claim::Holds(end, depth + 1))
    });
    refused_of(SAMPLED, "V4", |_, witness| told(&mut witness.tapes, |end, _| Claim::Whole(end)));
}
