//! The verifier of plans refuses a plan in which an invariant does not hold.

use rml::{Options, Source};
use rml_ir::{DType, Position, Positions, Type};
use rml_plan::{Atom, Case, Const, Ends, Plan, Reg, Region, Rule, Tape, Tick, Write, verify};
use rml_schedule::{Fed, schedule};

/// A recurrence over sequences that stand one after the other in a window, and one over the window.
const SEQUENCES: &str = "\
node cell(x) -> (h)
  h = tanh(param(0.5) * (0.0 fby h) + x);

node both(x: num [], seq_end: bool []) -> (h, g)
  h = cell(x) every seq_end;
  g = cell(h);

node main(x: num [], seq_end, end: bool []) -> (h, g)
  h, g = both(x, seq_end) every end;
";

/// A running sum, the gradient of a recurrence in a window, and a counter on a clock that data decide.
const PROGRAM: &str = "\
node cell(x) -> (h)
  h = tanh(param(0.5) * (0.0 fby h) + x);

node main(x: num [], c: bool [], end: bool []) -> (h, n when c)
  h, _ = diff_cell(x, true, 0.1 * h) every end;
  n = (0 fby n) + (1 when c);
";

/// A sum from each tick to the end of its window, which the program finds.
const EPISODE: &str = "\
node back(r) -> (s)
  s = r + (0.0 fby back s);

node main(r: num []) -> (s)
  x = 0.0 fby (if end then 0.0 else x + r);
  end = x > 3.0;
  s = back(r) every end;
";

/// An output that waits for two cycles, and what it is added up with.
const AHEAD: &str = "\
node main(x: num []) -> (y, s)
  y = x + post (post x);
  s = (0.0 fby s) + y;
";

fn plan(text: &str) -> Plan {
    let program = rml::compile(&Source::text("main", text), &Options::default()).unwrap();
    let flat = program.flat();
    schedule(flat, Fed::Windows).unwrap()
}

fn refused(invariant: &str, damage: impl FnOnce(&mut Plan)) {
    refused_of(PROGRAM, invariant, damage);
}

/// Damages the plan of a program, and expects the verifier to name the invariant.
fn refused_of(text: &str, invariant: &str, damage: impl FnOnce(&mut Plan)) {
    let mut plan = plan(text);
    assert_eq!(verify(&plan), Ok(()));
    damage(&mut plan);
    let found = verify(&plan).expect_err(invariant);
    assert!(found.iter().any(|f| f.starts_with(invariant)), "{invariant}: {found:#?}");
}

/// The loop of the network.
fn the_loop(plan: &mut Plan, backward: bool) -> (&mut bool, &mut Vec<rml_plan::Part>, &mut Vec<Write>) {
    let region = plan
        .regions
        .iter_mut()
        .find(|r| matches!(r, Region::Loop { backward: b, parts, .. } if *b == backward && parts.len() > 2));
    let Some(Region::Loop { backward, parts, writes, .. }) = region else { panic!("there is no such loop") };
    (backward, parts, writes)
}

#[test]
fn p1_each_tape_is_filled_once() {
    refused("P1", |plan| {
        the_loop(plan, false).1.pop();
    });
    refused("P1", |plan| {
        let part = the_loop(plan, false).1[0];
        plan.regions.push(Region::Over(vec![part]));
    });
    refused("P1", |plan| {
        let tape = plan.tapes.iter_mut().find(|t| !t.cases.is_empty()).unwrap();
        let case = tape.cases[0].clone();
        tape.cases.push(case);
    });
}

#[test]
fn p2_operands_have_the_types_of_the_rule() {
    refused("P2", |plan| {
        let tape = plan.tapes.iter_mut().find(|t| t.ty.is_num() && t.ty.shape.is_scalar()).unwrap();
        tape.ty = Type { dtype: DType::Int, ..tape.ty.clone() };
    });
    refused("P2", |plan| {
        let applied = plan.tapes.iter_mut().flat_map(|t| &mut t.cases);
        let args = applied
            .filter_map(|c| if let Rule::Apply { args, .. } = &mut c.rule { Some(args) } else { None });
        args.last().unwrap().pop();
    });
}

#[test]
fn p3_a_part_reads_what_is_there() {
    refused("P3", |plan| the_loop(plan, false).1.reverse());
    refused("P3", |plan| *the_loop(plan, true).0 = false);
    refused("P3", |plan| *the_loop(plan, false).0 = true);
    refused("P3", |plan| plan.regions.reverse());
}

#[test]
fn p4_nothing_lies_beyond_the_window() {
    for (tick, edge) in [(Tick::Before, Positions::STARTS), (Tick::After, Positions::ENDS)] {
        refused("P4", |plan| {
            let reads = |a: &Atom| matches!(a, Atom::Tape(_, t) if *t == tick);
            let mut cases = plan.tapes.iter_mut().flat_map(|t| &mut t.cases);
            let case = cases.find(|c| c.rule.operands().iter().any(reads)).unwrap();
            case.at = case.at.or(edge);
        });
    }
}

#[test]
fn p5_registers_are_read_and_written_in_one_place() {
    refused("P5", |plan| {
        let write = plan.commits[0].clone();
        the_loop(plan, false).2.push(write);
    });
}

#[test]
fn p6_the_end_is_found_before_it_is_known() {
    fn head(plan: &mut Plan) -> &mut usize {
        let Ends::Found { head, .. } = &mut plan.ends else { panic!("the program finds the end") };
        head
    }
    refused_of(EPISODE, "P6", |plan| *head(plan) = 0);
    refused_of(EPISODE, "P6", |plan| *head(plan) += 5);
    refused_of(EPISODE, "P6", |plan| plan.regions.insert(0, Region::Over(Vec::new())));
    refused_of(EPISODE, "P6", |plan| {
        let tape = plan.regions[0].parts()[0].tape;
        let case = plan.tapes[tape].cases.iter_mut().find(|c| c.at.contains(Position::Last)).unwrap();
        case.at = case.at.without(Position::Last);
        let other = Case { at: Positions::NONE.with(Position::Last), ..case.clone() };
        plan.tapes[tape].cases.push(Case { rule: Rule::Copy(Atom::Const(Const(0))), ..other });
    });
}

#[test]
fn p7_what_is_read_ahead_is_filled_as_far() {
    let ahead = |plan: &mut Plan, change: fn(u32) -> u32| {
        let tape = plan.tapes.iter_mut().find(|t| t.ahead == 2).expect("the input");
        tape.ahead = change(tape.ahead);
    };
    refused_of(AHEAD, "P7", |plan| ahead(plan, |n| n - 1));
    refused_of(AHEAD, "P7", |plan| {
        plan.tapes.iter_mut().find(|t| t.ahead == 1).expect("what is one tick ahead").ahead = 3;
    });
    refused_of(AHEAD, "P7", |plan| plan.ends = Ends::Given(vec![(0, true)]));
    refused_of(AHEAD, "P7", |plan| {
        let case = plan.tapes.iter_mut().flat_map(|t| &mut t.cases).find(|c| c.at.contains(Position::Last));
        let case = case.expect("a case");
        case.at = case.at.without(Position::Last);
    });
    refused_of(AHEAD, "P7", |plan| {
        let region = plan.regions.iter_mut().find_map(|r| match r {
            Region::Loop { backward, .. } => Some(backward),
            Region::Over(_) => None,
        });
        *region.expect("the sum") = true;
    });
    refused_of(AHEAD, "P7", |plan| {
        if let (_, _, Atom::Tape(_, tick)) = &mut plan.outputs[0].cases[0] {
            *tick = Tick::After;
        }
    });
}

#[test]
fn p8_sequences_need_nothing_of_each_other() {
    fn loops(plan: &mut Plan) -> Vec<&mut Vec<Tape>> {
        let loops = plan.regions.iter_mut().filter_map(|r| match r {
            Region::Loop { by, .. } => Some(by),
            Region::Over(_) => None,
        });
        loops.collect()
    }
    let tape = |plan: &Plan, name: &str| {
        let found = plan.tapes.iter_enumerated().find(|(_, t)| t.name.as_deref() == Some(name));
        found.expect("it has that name").0
    };
    let mut plan = plan(SEQUENCES);
    let seq_end = tape(&plan, "seq_end");
    let by: Vec<Vec<Tape>> = loops(&mut plan).into_iter().map(|by| by.clone()).collect();
    assert_eq!(by, [vec![seq_end], Vec::new()]);
    // The other recurrence continues; another condition cuts nothing; a number is none.
    refused_of(SEQUENCES, "P8", |plan| *loops(plan)[1] = vec![seq_end]);
    refused_of(SEQUENCES, "P8", |plan| {
        let x = tape(plan, "x");
        loops(plan)[0].push(x);
    });
    refused_of(SEQUENCES, "P8", |plan| {
        plan.tapes.iter_mut().flat_map(|t| &mut t.cases).for_each(|case| {
            if let Rule::Restart { ends, .. } = &mut case.rule {
                ends.clear();
            }
        });
    });
    // What ends sequences is known before them, and at each tick.
    refused_of(SEQUENCES, "P8", |plan| {
        let looped = plan.regions.iter().position(|r| matches!(r, Region::Loop { .. })).expect("a loop");
        plan.regions.swap(0, looped);
    });
    refused_of(SEQUENCES, "P8", |plan| {
        let case = &mut plan.tapes[seq_end].cases[0];
        case.at = case.at.without(Position::Middle);
    });
    // Nothing is written in turn.
    refused_of(SEQUENCES, "P8", |plan| {
        let value = Atom::Tape(seq_end, Tick::Now);
        let write =
            Write { register: Reg(0), at: Positions::ALL, when: Vec::new(), unless: Vec::new(), value };
        for region in &mut plan.regions {
            if let Region::Loop { writes, .. } = region {
                writes.push(write.clone());
            }
        }
    });
}

#[test]
fn p2_products_that_go_on() {
    let text = include_str!("products/cell.rml");
    let damage = |change: fn(&mut Atom, &mut [Atom; 2])| {
        refused_of(text, "P2", |plan| {
            let rules = plan.tapes.iter_mut().flat_map(|tape| &mut tape.cases).map(|case| &mut case.rule);
            for rule in rules {
                if let Rule::Product { start, args } = rule {
                    change(start, args);
                }
            }
        });
    };
    damage(|start, args| *start = args[1]);
    damage(|_, args| args.swap(0, 1));
}
