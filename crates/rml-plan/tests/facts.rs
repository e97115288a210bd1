//! What a plan reads, and what follows from it.

use rml_base::EntityId;
use rml_plan::{Plan, Reader, Start, Tape, Tick, parse, verify};

/// A parameter, values of it and of an input, a recurrence, a register that its loop writes, and a sum.
const PLAN: &str = "\
plan \"main\" f32 until end
in x: num [2]
in c: bool []
in end: bool []
parameter r0: num [2] \"w\"
state r1: num [2] \"s\"
carried r2: num [2]
carried r3: num [2]
const k0: num [2] = fill 0.5
const k1: num [2] = fill 0.25
over x: num [2] = in x
over c: bool [] = in c
over w: num [2] = r0 or k0
over w2: num [2] = mul(w, w)
over w3: num [2] = exp(w2) when c
over w4: num [] = sum(w2) when c
over early: num [2] = x[first]
over y: num [2] = add(w2, x)
over at first s0: num [2] = r1 or k0
over at first two: num [2] = r2 or k0
over at last other: num [2] = r2 or k1
loop forward {
   r: num [2] = r3 or k0
   at behind first h: num [2] = add(y, h[t-1])
   at first h: num [2] = add(y, s0)
   write r3 = h when c
}
over at last all: num [2] = k0 + sum first to last of y
over up: num [2] = add(all[last], early)
commit r1 at last = h
out at last up: num [2] = up
";

fn plan() -> Plan {
    let plan = parse(PLAN).expect("a plan");
    assert_eq!(verify(&plan), Ok(()));
    plan
}

fn tape(plan: &Plan, name: &str) -> Tape {
    let found = plan.tapes.iter_enumerated().find(|(_, data)| data.name.as_deref() == Some(name));
    found.expect("a tape of that name").0
}

#[test]
fn every_reader_is_named() {
    let plan = plan();
    let readers = |name: &str| {
        let read = plan.reads().filter(|read| read.atom.tape() == Some(tape(&plan, name)));
        read.map(|read| read.by).collect::<Vec<_>>()
    };
    let of = |name: &str| tape(&plan, name);
    let register = |i: usize| rml_plan::Reg::from_index(i);
    assert_eq!(readers("c"), [Reader::Guard(of("w3")), Reader::Guard(of("w4")), Reader::Write(register(3))]);
    assert_eq!(readers("y"), [Reader::Rule(of("h")), Reader::Rule(of("h")), Reader::Term(of("all"))]);
    assert_eq!(
        readers("h"),
        [Reader::Rule(of("h")), Reader::Write(register(3)), Reader::Commit(register(1))]
    );
    assert_eq!(readers("up"), [Reader::Output]);
    let own = plan.reads().find(|read| read.atom.tape() == Some(of("h"))).expect("the recurrence");
    assert_eq!(own.atom, rml_plan::Atom::Tape(of("h"), Tick::Before));
}

#[test]
fn what_is_the_same_at_all_ticks_is_found_over_all_of_them() {
    let plan = plan();
    let steady = plan.steady();
    let names: Vec<&str> = plan
        .tapes
        .iter_enumerated()
        .filter(|(id, _)| steady[*id])
        .filter_map(|(_, data)| data.name.as_deref())
        .collect();
    // Not what an input or a recurrence is, what a loop reads, or what is dear and may be needed nowhere.
    assert_eq!(names, ["w", "w2", "w3", "early", "s0", "two", "other", "all", "up"]);
}

#[test]
fn registers_start_with_one_constant_or_vary() {
    let plan = plan();
    let values = plan.starts();
    assert_eq!(values.as_slice()[1], Start::Const(rml_plan::Const(0)));
    assert_eq!(values.as_slice()[2], Start::Varies);
    let loops = plan.loops_of_registers();
    let looped: Vec<bool> = loops.iter().map(Option::is_some).collect();
    assert_eq!(looped, [false, false, false, true]);
}
