//! The validator names the rule that a plan breaks.

use rml::{Options, Source};
use rml_ir::Precision;
use rml_ir::op::Op;
use rml_plan::{Atom, Ends, Plan, Region, Rule, Tick};
use rml_schedule::{Fed, witnessed};
use rml_validate::{Witness, validate};

/// The gradient of a recurrence in a window, and a counter on a clock that data decide.
const PROGRAM: &str = "\
node cell(x) -> (h)
  h = tanh(param(0.5) * (0.0 fby h) + x);

node main(x: num [], c: bool [], end: bool []) -> (h, n when c)
  h, _ = diff_cell(x, true, 0.1 * h) every end;
  n = (0 fby n) + (1 when c);
";

/// Damages a plan or what is claimed of it, and expects the validator to name the rule.
fn refused(rule: &str, damage: impl FnOnce(&mut Plan, &mut Witness)) {
    refused_of(PROGRAM, rule, damage);
}

fn refused_of(text: &str, rule: &str, damage: impl FnOnce(&mut Plan, &mut Witness)) {
    let program = rml::compile(&Source::text("main", text), &Options::default()).unwrap();
    let flat = program.flat();
    let clocks = rml_analysis::clocks(flat).clocks;
    let facts = rml_analysis::facts(flat, &clocks, &rml_analysis::causality(flat, &clocks));
    let (mut plan, mut witness) = witnessed(flat, Fed::Windows).unwrap();
    assert_eq!(validate(flat, &clocks, &facts, &plan, &witness), Ok(()));
    damage(&mut plan, &mut witness);
    let found = validate(flat, &clocks, &facts, &plan, &witness).expect_err(rule);
    assert!(found.iter().any(|f| f.starts_with(rule)), "{rule}: {found:#?}");
}

fn rules(plan: &mut Plan) -> impl Iterator<Item = &mut Rule> {
    plan.tapes.iter_mut().flat_map(|t| &mut t.cases).map(|c| &mut c.rule)
}

#[test]
fn v1_ports() {
    refused("V1", |plan, _| plan.inputs.swap(1, 2));
    refused("V1", |plan, _| plan.outputs[0].name = "other".into());
    refused("V1", |plan, _| {
        plan.precision = match plan.precision {
            Precision::F32 => Precision::F64,
            Precision::F64 => Precision::F32,
        };
    });
}

#[test]
fn v2_window() {
    refused("V2", |plan, _| plan.ends = Ends::Given(vec![(1, true)]));
    refused("V2", |plan, _| plan.ends = Ends::Given(vec![(2, false)]));
}

#[test]
fn v3_claims() {
    refused("V3", |_, witness| {
        witness.tapes = witness.tapes.iter().skip(1).copied().collect();
    });
    refused("V3", |plan, _| {
        let tape = plan.tapes.iter_mut().find(|t| !t.cases.is_empty()).unwrap();
        let case = tape.cases[0].clone();
        tape.cases.push(case);
    });
}

#[test]
fn v4_presence() {
    let guarded = |plan: &mut Plan, change: fn(&mut rml_plan::Case)| {
        change(plan.tapes.iter_mut().flat_map(|t| &mut t.cases).find(|c| !c.when.is_empty()).unwrap());
    };
    refused("V4", |plan, _| guarded(plan, |case| case.when.clear()));
    refused("V4", |plan, _| guarded(plan, |case| case.when[0].value = !case.when[0].value));
    refused("V4", |plan, _| plan.outputs[1].cases.clear());
}

#[test]
fn v5_values() {
    // What is read at the tick before may not be read at the same tick, and not at the first one.
    for tick in [Tick::Now, Tick::First] {
        refused("V5", |plan, _| {
            let mut delayed = None;
            rules(plan).for_each(|rule| {
                rule.for_each_operand_mut(|a| {
                    if let Atom::Tape(_, t @ Tick::Before) = a {
                        *t = tick;
                        delayed = Some(());
                    }
                });
            });
            delayed.unwrap();
        });
    }
    refused("V5", |_, witness| witness.tapes.iter_mut().for_each(|v| v.0 = 0));
}

/// What one operator makes of equal operands is computed once, if it is present at the same ticks; what only looks alike is not read
/// instead.
#[test]
fn v5_twins() {
    let text = "\
node main(x, y: num [], c, d: bool []) -> (a, b, e, g when c, h when d)
  a = exp(x - y) + 1.0;
  b = exp(x - y) * 2.0;
  e = exp(y - x) - 1.0;
  g = tanh(x when c) / 2.0;
  h = tanh(x when d) / 4.0;
";
    // Of the two tapes with that operator, one is read instead of the other one.
    let exchanged = |plan: &mut Plan, op: &Op| {
        let of = plan.tapes.iter_enumerated().filter(|(_, t)| {
            t.cases.iter().all(|c| matches!(&c.rule, Rule::Apply { op: own, .. } if own == op))
        });
        let [one, other] = of.map(|(tape, _)| tape).collect::<Vec<_>>()[..] else {
            panic!("there are two of {op:?}")
        };
        rules(plan).for_each(|rule| {
            rule.for_each_operand_mut(|atom| {
                if *atom == Atom::Tape(one, Tick::Now) {
                    *atom = Atom::Tape(other, Tick::Now);
                }
            });
        });
    };
    refused_of(text, "V5", |plan, _| exchanged(plan, &Op::Exp));
    refused_of(text, "V5", |plan, _| exchanged(plan, &Op::Tanh));
}

#[test]
fn v6_sums() {
    let sum = |plan: &mut Plan, change: fn(&mut bool, &mut Vec<rml_plan::Term>)| {
        let Some(Rule::Sum { backward, terms, .. }) = rules(plan).find(|r| matches!(r, Rule::Sum { .. }))
        else {
            panic!("there is no sum")
        };
        change(backward, terms);
    };
    refused("V6", |plan, _| sum(plan, |backward, _| *backward = !*backward));
    refused("V6", |plan, _| sum(plan, |_, terms| terms[0].args.reverse()));
    refused("V6", |plan, _| {
        sum(plan, |_, terms| {
            terms.pop();
        });
    });
}

#[test]
fn v7_registers() {
    refused("V7", |plan, _| {
        plan.commits.pop();
    });
    refused("V7", |plan, _| {
        let writes = plan.regions.iter_mut().find_map(|region| match region {
            Region::Loop { writes, .. } if !writes.is_empty() => Some(writes),
            _ => None,
        });
        writes.unwrap().clear();
    });
    refused("V7", |plan, witness| {
        plan.registers = plan.registers.iter().take(1).cloned().collect();
        witness.registers = witness.registers.iter().take(1).copied().collect();
        plan.commits.retain(|w| w.register.0 == 0);
        for region in &mut plan.regions {
            if let Region::Loop { writes, .. } = region {
                writes.retain(|w| w.register.0 == 0);
            }
        }
        rules(plan).for_each(|rule| {
            if let Rule::Read { register, .. } = rule {
                register.0 = 0;
            }
        });
    });
}

#[test]
fn v8_order() {
    refused("V8", |plan, _| plan.regions.reverse());
    refused("V8", |plan, _| {
        plan.regions.pop();
    });
    refused("V8", |plan, _| {
        let region = plan.regions[0].clone();
        plan.regions.push(region);
    });
}

/// An output that waits for two cycles, and what it is added up with.
const AHEAD: &str = "\
node main(x: num []) -> (y, s)
  y = x + post (post x);
  s = (0.0 fby s) + y;
";

#[test]
fn v8_what_looks_ahead_is_filled_as_far_as_it_is_read() {
    let tape = |plan: &mut Plan, ahead: u32, to: u32| {
        plan.tapes.iter_mut().find(|t| t.ahead == ahead).expect("such a tape").ahead = to;
    };
    for (ahead, to) in [(2, 1), (2, 3), (1, 0), (1, 2), (0, 1)] {
        refused_of(AHEAD, "V8", |plan, _| tape(plan, ahead, to));
    }
    refused_of(AHEAD, "V2", |plan, _| plan.ends = Ends::Given(vec![(0, true)]));
    // What is put out or committed is that of the last tick that is done.
    refused_of(AHEAD, "V8", |plan, _| {
        if let (_, _, Atom::Tape(_, tick)) = &mut plan.outputs[0].cases[0] {
            *tick = Tick::After;
        }
    });
    refused_of(AHEAD, "V7", |plan, _| {
        if let Atom::Tape(_, tick) = &mut plan.commits[0].value {
            *tick = Tick::After;
        }
    });
}
