use std::fmt::Write;
use std::sync::Arc;

use rml_ir::op::Number;
use rml_ir::{DType, Precision, Value};
use rml_plan::{Plan, Reg, parse, verify};

use crate::plan::threads::Limits;
use crate::plan::{Machine, Ready, compiled};
use rml_plan::pack;

/// The training of eight scalar states, each of which reads the one before; states far from the output have no gradient
/// at the end of a window.
const CHAIN: &str = include_str!("chain.plan");

fn read(text: &str) -> Arc<Plan> {
    let plan = parse(text).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    verify(&plan).unwrap_or_else(|why| panic!("{why:#?}\n{text}"));
    Arc::new(plan)
}

/// How many vectors a plan has.
fn vectors(plan: &Plan) -> usize {
    plan.tapes.iter().filter(|tape| !tape.ty.shape.is_scalar()).count()
}

/// A packed plan is right, and gives the bits of the plan, window after window.
fn same(plan: &Arc<Plan>) {
    let packed = pack(Arc::clone(plan));
    verify(&packed).unwrap_or_else(|why| panic!("{why:#?}"));
    match plan.precision {
        Precision::F32 => same_bits::<f32>(plan),
        Precision::F64 => same_bits::<f64>(plan),
    }
}

fn same_bits<N: Number>(plan: &Arc<Plan>) {
    let mut machines = [
        Machine::<N>::ready(&Ready::of(Arc::clone(plan), compiled(plan), (1, Limits::USUAL))),
        Machine::<N>::new(Arc::clone(plan)),
    ]
    .map(Result::unwrap);
    for (window, ticks) in [3, 1, 2, 20, 4].into_iter().enumerate() {
        for machine in &mut machines {
            for (i, (_, ty)) in plan.inputs.iter().enumerate() {
                for t in 0..ticks {
                    let x = ((window * 37 + i * 11 + t * 7) % 23) as f64 / 8.0 - 1.3;
                    let value = match ty.dtype {
                        DType::Num => Value::num(x, plan.precision),
                        DType::Int => Value::Int(i64::from(x > 0.0)),
                        DType::Bool => Value::Bool(x > 0.0),
                    };
                    machine.set_input(i, ticks, t, &value);
                }
            }
            machine.window(ticks).expect("it has a result");
        }
        let [one, other] = &machines;
        for i in 0..plan.outputs.len() {
            for t in 0..ticks {
                is_same(one.output(i, t), other.output(i, t));
            }
        }
        for Reg(r) in plan.registers.ids() {
            is_same(one.register(r as usize), other.register(r as usize));
        }
    }
}

fn is_same(one: Option<Value>, other: Option<Value>) {
    match (one, other) {
        (Some(one), Some(other)) => assert!(one.same(&other), "{one:?} {other:?}"),
        (one, other) => assert!(one.is_none() && other.is_none(), "{one:?} {other:?}"),
    }
}

#[test]
fn states_that_read_each_other_are_lanes() {
    let plan = read(CHAIN);
    let packed = pack(Arc::clone(&plan));
    let loops =
        |plan: &Plan| plan.regions.iter().filter(|r| matches!(r, rml_plan::Region::Loop { .. })).count();
    assert!(loops(&plan) > 20, "{}", loops(&plan));
    assert_eq!((loops(&packed), vectors(&packed) > 20), (2, true), "{}", rml_plan::print(&packed));
    same(&plan);
    same(&read(&CHAIN.replacen("f32", "f64", 1)));
}

/// Which operands differ from lane to lane, and which are no lanes.
#[test]
fn random_equations_give_the_same_bits_as_lanes() {
    let mut packed = 0;
    for seed in 0..60 {
        let plan = read(&text(&mut Random(seed * 2 + 1)));
        packed += usize::from(vectors(&pack(Arc::clone(&plan))) > 0);
        same(&plan);
    }
    assert!(packed > 20, "{packed}");
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A plan of many states that are computed alike, but for some; each is a loop of its own, forward and then backward.
fn text(r: &mut Random) -> String {
    let (n, far) = (4 + r.below(20), r.below(4));
    let (mut text, mut parameters) =
        (String::from("plan \"random\" f32 until end\nin end: bool []\nin u: num []\n"), String::new());
    let _ = writeln!(parameters, "over u: num [] = in u");
    let (function, operator, guarded, sums) =
        (["tanh", "exp", "neg"][r.below(3)], ["add", "mul", "minimum"][r.below(3)], r.one_in(3), r.one_in(2));
    let odd: Vec<bool> = (0..n).map(|_| r.one_in(20)).collect();
    // Parameters are read at the first tick, or at all of them.
    let (first, seen) = if r.one_in(2) { (" at first", "[first]") } else { ("", "") };
    for i in 0..n {
        let _ = writeln!(text, "parameter r{i}: num [] \"a{i}\"");
        let _ = writeln!(parameters, "over{first} a{i}: num [] = r{i} or 0.{}", i + 1);
    }
    let mut body = String::new();
    let other = |i: usize, name: char, tick: &str| {
        if i >= far { format!("{name}{}[{tick}]", i - far) } else { "u".to_owned() }
    };
    for (i, odd) in odd.iter().enumerate() {
        let operator = if *odd { "sub" } else { operator };
        let when = if guarded { " when g" } else { "" };
        let _ = writeln!(
            body,
            "loop forward {{
   at behind first p{i}: num [] = mul(a{i}{seen}, s{i}[t-1])
   at first p{i}: num [] = mul(a{i}, 0.5)
   at behind first q{i}: num [] = {operator}(p{i}, {})
   at first q{i}: num [] = {operator}(p{i}, u)
   f{i}: num [] = {function}(q{i})
   s{i}: num [] = add(f{i}, 0.{})
}}",
            other(i, 's', "t-1"),
            r.below(3) + 1
        );
        let _ = writeln!(
            body,
            "over c{i}: bool [] = lt(s{i}, {}.0)\nover g{i}: num [] = mul(s{i}, f{i}){}",
            r.below(2),
            when.replace('g', &format!("c{i}"))
        );
    }
    for (i, odd) in odd.iter().enumerate() {
        let _ = writeln!(
            body,
            "loop backward {{
   at before last e{i}: num [] = if c{i} then g{i} else d{i}[t+1]
   at last e{i}: num [] = if c{i} then g{i} else 0.0
   at before last d{i}: num [] = add(e{i}, {})
   at last d{i}: num [] = add(e{i}, 0.0)
}}",
            other(i, 'd', "t+1")
        );
        let term = if *odd { "mul(d0, d0)".to_owned() } else { format!("mul(s{i}, d{i})") };
        if sums {
            let _ = writeln!(body, "over at first m{i}: num [] = 0.0 + sum last to first of {term}");
        } else {
            let _ = writeln!(body, "over m{i}: num [] = {term}");
        }
        let _ = writeln!(body, "over at first b{i}: num [] = mul(m{i}, 0.01)");
    }
    text + &parameters
        + &body
        + &(0..n).map(|i| format!("commit r{i} at first = b{i}\n")).collect::<String>()
        + "out s: num [] = s3\nout d: num [] = d1\n"
}
