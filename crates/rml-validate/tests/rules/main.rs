//! The validator names the rule that a plan breaks.

use rml::{Options, Source};
use rml_ir::flat::Var;
use rml_ir::op::{Op, Unary};
use rml_ir::{Positions, Precision, Value};
use rml_plan::{Atom, Ends, Lifetime, Plan, Region, Rule, Tape, Tick};
use rml_schedule::{Fed, Proved, proved};
use rml_validate::{Claim, Witness, validate};

mod ends;
mod failing;
mod products;
mod recurrences;

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
    let Proved { mut plan, mut witness, .. } = proved(flat, Fed::Windows).unwrap();
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
    refused("P1", |plan, _| {
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
    refused("V5", |_, witness| witness.tapes.iter_mut().for_each(|claim| *claim = Claim::Whole(Var(0))));
}

/// What one operator makes of equal operands is computed once, if it is present at the same ticks; what only looks
/// alike is not read instead.
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
    refused_of(text, "V5", |plan, _| exchanged(plan, &Op::Unary(Unary::Exp)));
    refused_of(text, "V5", |plan, _| exchanged(plan, &Op::Unary(Unary::Tanh)));
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
fn p1_p3_order() {
    refused("P3", |plan, _| plan.regions.reverse());
    refused("P1", |plan, _| {
        plan.regions.pop();
    });
    refused("P1", |plan, _| {
        let region = plan.regions[0].clone();
        plan.regions.push(region);
    });
}

/// A value that waits for the next cycle in which a condition holds, and what is added up of it.
const WAITS: &str = "\
node main(x: num [], c: bool []) -> (y, s)
  z = if c then x else post z;
  y = z + merge c (post (x when c)) (0.0 when not c);
  s = (0.0 fby s) + y;
";

#[test]
fn p9_a_block_that_waits_may_end_anywhere() {
    refused_of(WAITS, "P4", |plan, _| plan.waits = false);
    refused_of(WAITS, "P9", |plan, _| plan.ends = Ends::Given(vec![(1, true)]));
    refused_of(WAITS, "P9", |plan, _| plan.tapes[Tape(0)].ahead = 1);
    // The last tick of a block is the last one of nothing.
    let backward = |plan: &Plan| {
        let looped = |r: &&Region| matches!(r, Region::Loop { backward: true, .. });
        plan.regions.iter().find(looped).expect("a loop backward").parts()[0].tape
    };
    refused_of(WAITS, "P9", |plan, _| {
        let tape = backward(plan);
        let mut last = plan.tapes[tape].cases[0].clone();
        last.at = last.at.and(Positions::ENDS);
        plan.tapes[tape].cases.iter_mut().for_each(|case| case.at = case.at.and(Positions::BEFORE_END));
        plan.tapes[tape].cases.push(last);
    });
    refused_of(WAITS, "P9", |plan, _| {
        let tape = backward(plan);
        plan.outputs[0].cases[0].2 = Atom::Tape(tape, Tick::Last);
    });
    // What is after the block is not known, so nothing that is delayed from there continues to the next one.
    refused_of(WAITS, "V7", |plan, _| {
        let local = plan.registers.iter_mut().find(|r| r.kind == Lifetime::Local).expect("what waits");
        local.kind = Lifetime::Hidden;
    });
}

/// What is learned from a cycle two cycles later, when more has been learned.
const PIPE: &str = "\
node main(x: num []) -> (y, w)
  w = 1.0 fby (w + (0.0 fby (0.0 fby (0.1 * g))));
  y = w * x;
  g = post y;
";

#[test]
fn p9_what_stays_behind_needs_no_later_tick() {
    // Every value that is read a tick later than it was leads back to the same tick.
    refused_of(PIPE, "P9", |plan, _| {
        let rules = plan.tapes.iter_mut().flat_map(|t| &mut t.cases).map(|c| &mut c.rule);
        rules.for_each(|rule| {
            rule.for_each_operand_mut(|atom| {
                if let Atom::Tape(_, tick) = atom {
                    *tick = if *tick == Tick::Before { Tick::After } else { *tick };
                }
            });
        });
    });
}

/// An output that waits for two cycles, and what it is added up with.
const AHEAD: &str = "\
node main(x: num []) -> (y, s)
  y = x + post (post x);
  s = (0.0 fby s) + y;
";

#[test]
fn p7_what_looks_ahead_is_filled_as_far_as_it_is_read() {
    let tape = |plan: &mut Plan, ahead: u32, to: u32| {
        plan.tapes.iter_mut().find(|t| t.ahead == ahead).expect("such a tape").ahead = to;
    };
    for (ahead, to) in [(2, 1), (2, 3), (1, 0), (1, 2), (0, 1)] {
        refused_of(AHEAD, "P7", |plan, _| tape(plan, ahead, to));
    }
    refused_of(AHEAD, "V2", |plan, _| plan.ends = Ends::Given(vec![(0, true)]));
    // What is put out or committed is that of the last tick that is done.
    refused_of(AHEAD, "P7", |plan, _| {
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

/// Parameters on a sampled clock, which are held over a window and change after it.
const HELD: &str = "\
node net(x, c: bool []) -> (o when c)
  y = x when c;
  o = y * param(0.5) + param(0.25);

node main(x: num [], c: bool [], end: bool []) -> (o when c)
  o, _ = diff_net(x, c, true when c, 0.1 * o) every end;
";

#[test]
fn parameters_on_sampled_clocks_are_held() {
    let states = |plan: &Plan| {
        let is_state = |(_, r): &(_, &rml_plan::Register)| matches!(r.kind, Lifetime::State { .. });
        let found: Vec<_> = plan.registers.iter_enumerated().filter(is_state).map(|(id, _)| id).collect();
        <[rml_plan::Reg; 2]>::try_from(found).expect("two parameters")
    };
    refused_of(HELD, "V5", |plan, _| {
        let [a, b] = states(plan);
        rules(plan).for_each(|rule| match rule {
            Rule::Read { register, .. } if *register == a => *register = b,
            Rule::Read { register, .. } if *register == b => *register = a,
            _ => {}
        });
    });
    refused_of(HELD, "V5", |plan, _| {
        let k = plan.consts.push(Value::F32(0.75));
        rules(plan).for_each(|rule| {
            if let Rule::Read { init: Some(init), .. } = rule {
                *init = Atom::Const(k);
            }
        });
    });
    // What is written in turn is not what it was when the window began.
    refused_of(HELD, "V7", |plan, _| {
        let writes = std::mem::take(&mut plan.commits);
        let parts = plan.regions.iter().flat_map(Region::parts).copied().collect();
        plan.regions = vec![Region::Loop { backward: false, by: Vec::new(), parts, writes }];
    });
    refused_of(HELD, "V7", |plan, _| {
        plan.commits.pop();
    });
    refused_of(HELD, "V7", |plan, _| plan.commits.iter_mut().for_each(|w| w.when.truncate(1)));
}

/// A recurrence over sequences that stand one after the other in a window, and one over the window.
const SEQUENCES: &str = "\
node cell(x) -> (h)
  h = tanh(param(0.5) * (0.0 fby h) + x);

node both(x: num [], seq_end: bool []) -> (h, g)
  h = cell(x) every seq_end;
  g = cell(h);

node main(x: num [], seq_end, other, end: bool []) -> (h, g, n)
  h, g = both(x, seq_end) every end;
  n = not other;
";

#[test]
fn p8_sequences() {
    fn loops(plan: &mut Plan) -> Vec<(&mut bool, &mut Vec<Tape>)> {
        let loops = plan.regions.iter_mut().filter_map(|r| match r {
            Region::Loop { backward, by, .. } => Some((backward, by)),
            Region::Over(_) => None,
        });
        loops.collect()
    }
    let tape = |plan: &Plan, name: &str| {
        let found = plan.tapes.iter_enumerated().find(|(_, t)| t.name.as_deref() == Some(name));
        found.expect("it has that name").0
    };
    // A recurrence that continues, a condition that cuts nothing, and one that is not in the plan.
    refused_of(SEQUENCES, "P8", |plan, _| {
        let seq_end = tape(plan, "seq_end");
        *loops(plan)[1].1 = vec![seq_end];
    });
    for name in ["other", "x"] {
        refused_of(SEQUENCES, "P8", |plan, _| {
            let other = tape(plan, name);
            *loops(plan)[0].1 = vec![other];
        });
    }
    refused_of(SEQUENCES, "P2", |plan, _| loops(plan)[0].1.push(Tape(99)));
    // The other way, ends stand between other ticks.
    refused_of(SEQUENCES, "P8", |plan, _| *loops(plan)[0].0 = true);
    // An end that is not looked at, and one that comes too late.
    refused_of(SEQUENCES, "P8", |plan, _| {
        rules(plan).for_each(|rule| {
            if let Rule::Restart { ends, .. } = rule {
                ends.clear();
            }
        });
    });
    refused_of(SEQUENCES, "P8", |plan, _| {
        rules(plan).for_each(|rule| {
            if let Rule::Restart { ends, .. } = rule {
                ends.iter_mut().for_each(|end| {
                    if let Atom::Tape(_, tick) = end {
                        *tick = Tick::Now;
                    }
                });
            }
        });
    });
    refused_of(SEQUENCES, "P8", |plan, _| {
        let looped = plan.regions.iter().position(|r| matches!(r, Region::Loop { .. })).expect("a loop");
        plan.regions.swap(0, looped);
    });
}

/// The gradient of a recurrence over sequences, whose loss is that of their last ticks.
const LOSSES: &str = "\
node cell(x) -> (h)
  h = tanh(param(0.5) * (0.0 fby h) + x);

node each(x: num [], seq_end: bool []) -> (h)
  h = cell(x) every seq_end;

node main(x: num [], seq_end, end: bool []) -> (h)
  h, _, _ = diff_each(x, seq_end, seq_end, 0.1 * (h when seq_end)) every end;
";

#[test]
fn v6_sums_of_what_is_there_where_a_condition_holds() {
    let term = |plan: &mut Plan, change: fn(&mut rml_plan::Term)| {
        let terms = rules(plan).find_map(|rule| match rule {
            Rule::Sum { terms, .. } if !terms[0].when.is_empty() => Some(terms),
            _ => None,
        });
        terms.expect("a sum with a condition").iter_mut().for_each(change);
    };
    refused_of(LOSSES, "V6", |plan, _| term(plan, |term| term.when.clear()));
    refused_of(LOSSES, "V6", |plan, _| term(plan, |term| term.when[0].value = !term.when[0].value));
    refused_of(LOSSES, "V6", |plan, _| term(plan, |term| term.when.push(term.when[0])));
    // Zeros that are left out may not change the sign of a sum.
    refused_of(LOSSES, "V6", |plan, _| {
        let start = rules(plan).find_map(|rule| match rule {
            Rule::Sum { init: Some(Atom::Const(k)), terms, .. } if !terms[0].when.is_empty() => Some(*k),
            _ => None,
        });
        plan.consts[start.expect("a sum with a condition")] = Value::F32(-0.0);
    });
}
