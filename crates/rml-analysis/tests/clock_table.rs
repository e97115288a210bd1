//! The verifier of the table of clocks: damaged tables are refused, invariant by invariant. (In debug builds, each
//! inferred table is verified as well, so these tests need not check that correct tables are accepted.)

use rml_analysis::{ClockData, ClockId, Clocks, Verdict, clocks, verify_clocks};
use rml_base::EntityId;
use rml_ir::flat::{Flat, Rhs, Var, parse};
use rml_ir::op::Op;

/// Programs as flat text: samplings, merges, windows and delays, with equal streams that occur twice.
const PROGRAMS: &[&str] = &[
    "flat f64 \"main\"
     input v0
     input v1
     output v6
     var v0 bool [] \"c\"
     var v1 int [] \"x\"
     var v2 int []
     var v3 bool []
     var v4 int []
     var v5 int []
     var v6 int []
     var v7 int []
     var v8 int []
     var v9 bool []
     const k0 int [] = 7
     const k1 int [] = 8
     window w0 end v0
     v2 = when v1 v0
     v3 = apply not (v0)
     v4 = when v1 v3
     v5 = fby k0 v2 in w0
     v6 = merge v0 v5 v4
     v7 = fby k0 v2 in w0
     v8 = fby k1 v2 in w0
     v9 = apply and (v0, v3)",
    "flat f64 \"main\"
     input v0
     input v1
     input v2
     output v8
     var v0 bool [] \"a\"
     var v1 bool [] \"b\"
     var v2 int [] \"x\"
     var v3 bool []
     var v4 bool []
     var v5 int []
     var v6 bool []
     var v7 int []
     var v8 int []
     var v9 int []
     const k0 int [] = 0
     v3 = apply and (v0, v1)
     v4 = when v1 v0
     v5 = when v2 v3
     v6 = apply and (v1, v0)
     v7 = when v2 v6
     v8 = apply add (v5, v7)
     v9 = fby_back k0 v2",
    // Recurrences that are equal by induction, and others that differ in one property each: the initial value, the
    // window, the delayed value, the direction, and whether they are loaded.
    "flat f64 \"main\"
     input v0
     input v1
     input v2
     output v3
     state \"p\" eq8 parameter
     var v0 bool [] \"a\"
     var v1 bool [] \"b\"
     var v2 int [] \"x\"
     var v3 int []
     var v4 int []
     var v5 int []
     var v6 int []
     var v7 int []
     var v8 int []
     var v9 int []
     var v10 int []
     var v11 int []
     var v12 int []
     var v13 int []
     const k0 int [] = 0
     const k1 int [] = 1
     window w0 end v0
     window w1 end v1
     v3 = fby k0 v4 in w0
     v4 = apply add (v3, v2)
     v5 = fby k0 v6 in w0
     v6 = apply add (v5, v2)
     v7 = fby k1 v4 in w0
     v8 = fby k0 v4 in w1
     v9 = fby k0 v2 in w0
     v10 = fby_back k0 v4 in w0
     v11 = fby k0 v11
     v12 = const k0
     v13 = post v4 in w0",
    // Conditions that are hardly ever true, and clocks sampled by them.
    RARE,
];

/// Two conjunctions of conditions, one of which implies the other, and values sampled by them.
const RARE: &str = "flat f64 \"main\"
     input v0
     input v1
     input v2
     input v3
     input v4
     input v5
     input v6
     input v7
     input v8
     input v20
     output v18
     output v19
     var v0 bool []
     var v1 bool []
     var v2 bool []
     var v3 bool []
     var v4 bool []
     var v5 bool []
     var v6 bool []
     var v7 bool []
     var v8 bool []
     var v9 bool []
     var v10 bool []
     var v11 bool []
     var v12 bool []
     var v13 bool []
     var v14 bool []
     var v15 bool []
     var v16 bool []
     var v17 bool []
     var v18 bool []
     var v19 bool []
     var v20 int [] \"x\"
     var v21 bool []
     const k0 bool [] = false
     v9 = apply and (v0, v1)
     v10 = apply and (v2, v3)
     v11 = apply and (v4, v5)
     v12 = apply and (v6, v7)
     v13 = apply and (v9, v10)
     v14 = apply and (v11, v12)
     v15 = apply and (v13, v14)
     v16 = apply and (v15, v8)
     v17 = const k0
     v18 = when v0 v15
     v19 = when v0 v16
     v21 = apply and (v17, v0)";

struct Case {
    flat: Flat,
    clocks: Clocks,
}

fn cases() -> Vec<Case> {
    let of = |text: &&str| {
        let flat = parse(text).unwrap_or_else(|e| panic!("{e}"));
        let report = clocks(&flat);
        assert_eq!(report.verdict, Verdict::Synchronous);
        Case { flat, clocks: report.clocks }
    };
    PROGRAMS.iter().map(of).collect()
}

/// Checks that every damaged table is refused because of the invariant that the damage breaks.
#[track_caller]
fn refused(invariant: &str, at_least: usize, damage: fn(&Case) -> Vec<Clocks>) {
    let mut count = 0;
    for (i, case) in cases().iter().enumerate() {
        assert_eq!(verify_clocks(&case.flat, &case.clocks, true), Ok(()), "program {i}");
        for (j, damaged) in damage(case).into_iter().enumerate() {
            let found = verify_clocks(&case.flat, &damaged, true).err().unwrap_or_default();
            let named = format!("{invariant}: ");
            assert!(
                found.iter().any(|line| line.starts_with(&named)),
                "program {i}, damage {j} of {invariant} is accepted, or for another reason: {found:?}\n{damaged:?}"
            );
            count += 1;
        }
    }
    assert!(count >= at_least, "only {count} tables were damaged");
}

fn changed(case: &Case, change: impl FnOnce(&mut Clocks)) -> Clocks {
    let mut clocks = case.clocks.clone();
    change(&mut clocks);
    clocks
}

#[test]
fn k1_every_variable_has_a_clock() {
    refused("K1", 4, |case| {
        let behind = ClockId::from_index(case.clocks.clocks.len());
        vec![
            changed(case, |c| c.of[Var(0)] = behind),
            changed(case, |c| c.of = c.of.iter().copied().take(1).collect()),
        ]
    });
}

#[test]
fn k2_one_clock_has_one_id() {
    refused("K2", 3, |case| {
        let ids = case.clocks.clocks.ids();
        ids.map(|ck| {
            changed(case, |c| c.clocks = c.clocks.iter().copied().chain([case.clocks.clocks[ck]]).collect())
        })
        .collect()
    });
}

/// If the variable of an equation is put on another clock, the equation no longer fits.
#[test]
fn k2_equations_have_the_clocks_that_they_ask_for() {
    refused("K2", 20, |case| {
        let mut all = Vec::new();
        for v in case.flat.equations.iter().map(|e| e.lhs) {
            for ck in case.clocks.clocks.ids().filter(|ck| *ck != case.clocks.of[v]) {
                // The variable is the only one in its class, so only its clock is wrong; conditions of other clocks are
                // not changed.
                let is_condition =
                    case.clocks.clocks.iter().any(|d| matches!(d, ClockData::On { cond, .. } if *cond == v));
                let is_first = case.clocks.same.iter_enumerated().any(|(u, first)| u != v && *first == v);
                if !is_condition && !is_first {
                    all.push(changed(case, |c| {
                        c.of[v] = ck;
                        c.same[v] = v;
                    }));
                }
            }
        }
        all
    });
}

#[test]
fn k2_a_clock_is_sampled_by_the_condition_that_is_said() {
    refused("K2", 3, |case| {
        let on = |ck: &ClockId| matches!(case.clocks.clocks[*ck], ClockData::On { .. });
        let flip = |ck: ClockId| {
            changed(case, |c| {
                if let ClockData::On { positive, .. } = &mut c.clocks[ck] {
                    *positive = !*positive;
                }
            })
        };
        // If two clocks have the same condition, the changed clock is equal to the other one.
        case.clocks.clocks.ids().filter(on).map(flip).collect()
    });
}

/// The ticks of a clock can be read from the condition that samples it.
#[test]
fn k2_a_clock_is_not_sampled_by_another_condition() {
    refused("K2", 15, |case| {
        let is_condition = |v: &Var| case.flat.vars[*v].ty == rml_ir::Type::condition();
        let mut all = Vec::new();
        for (ck, data) in case.clocks.clocks.iter_enumerated() {
            let ClockData::On { parent, cond, positive } = *data else { continue };
            let others = case.flat.vars.ids().filter(is_condition);
            for other in others.filter(|v| case.clocks.of[*v] == parent && !case.clocks.are_same(*v, cond)) {
                let cond = case.clocks.same[other];
                all.push(changed(case, |c| c.clocks[ck] = ClockData::On { parent, cond, positive }));
            }
        }
        all
    });
}

#[test]
fn k2_clocks_that_tick_together_are_one() {
    // The clock of a conjunction again, as a sampling of a sampling.
    refused("K2", 1, |case| {
        let together = |v: Var, u: Var| case.clocks.of[v] == case.clocks.of[u];
        let mut all = Vec::new();
        for (eq, outer) in case.flat.equations.iter_enumerated() {
            let Rhs::When { value, .. } = outer.rhs else { continue };
            let of = case.flat.equations.iter().find(|e| {
                let is_both = |args: &[Var]| args.contains(&value);
                matches!(&e.rhs, Rhs::Apply { op: Op::And, args } if is_both(args)) && together(e.lhs, value)
            });
            let lhs = case.flat.equations[eq].lhs;
            if of.is_some() && case.flat.vars[lhs].ty == rml_ir::Type::condition() {
                let (parent, cond) = (case.clocks.of[lhs], case.clocks.same[lhs]);
                let twin = ClockData::On { parent, cond, positive: true };
                all.push(changed(case, |c| c.clocks = c.clocks.iter().copied().chain([twin]).collect()));
            }
        }
        all
    });
}

#[test]
fn k3_parents_stand_before_their_children_and_carry_the_condition() {
    refused("K3", 6, |case| {
        let mut all = Vec::new();
        for (ck, data) in case.clocks.clocks.iter_enumerated() {
            let ClockData::On { parent, cond, positive } = *data else { continue };
            let mut put = |parent, cond| {
                all.push(changed(case, |c| c.clocks[ck] = ClockData::On { parent, cond, positive }))
            };
            put(ck, cond);
            let number = case.flat.inputs.last().expect("an input").var;
            put(parent, number);
            put(parent, Var::from_index(case.flat.vars.len()));
        }
        all
    });
}

#[test]
fn k3_one_condition_stands_for_its_equals() {
    refused("K3", 1, |case| {
        let mut all = Vec::new();
        for (ck, data) in case.clocks.clocks.iter_enumerated() {
            let ClockData::On { parent, cond, positive } = *data else { continue };
            for v in case.flat.vars.ids().filter(|v| *v != cond && case.clocks.are_same(*v, cond)) {
                all.push(changed(case, |c| c.clocks[ck] = ClockData::On { parent, cond: v, positive }));
            }
        }
        all
    });
}

#[test]
fn k4_the_base_clock_comes_first() {
    refused("K4", 2, |case| vec![changed(case, |c| c.clocks[Clocks::BASE] = ClockData::Unknown)]);
}

#[test]
fn k5_what_is_said_to_be_the_same_is() {
    refused("K5", 20, |case| {
        let mut all = Vec::new();
        for v in case.flat.vars.ids() {
            for u in case.flat.vars.ids().filter(|u| case.clocks.same[*u] != case.clocks.same[v]) {
                // Each claim is made separately; if others are the same as v, they are claimed to be the same as u,
                // too.
                let first = u.min(v).min(case.clocks.same[u]).min(case.clocks.same[v]);
                let (a, b) = (case.clocks.same[u], case.clocks.same[v]);
                all.push(changed(case, |c| {
                    for s in c.same.iter_mut().filter(|s| **s == a || **s == b) {
                        *s = first;
                    }
                }));
            }
        }
        all
    });
}

#[test]
fn k5_what_is_the_same_by_induction_is_accepted() {
    let cases = cases();
    let same = |case: &Case, a: u32, b: u32| case.clocks.are_same(Var(a), Var(b));
    let recurrences = &cases[2];
    assert!(same(recurrences, 3, 5) && same(recurrences, 4, 6));
    // The parameter is zero until another value is loaded.
    assert!(!same(recurrences, 11, 12));
    let rare = &cases[3];
    assert!(!same(rare, 15, 16) && !same(rare, 15, 17) && same(rare, 17, 21));
}
