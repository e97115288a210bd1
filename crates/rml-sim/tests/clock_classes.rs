//! Which variables are present together, and which of them are asked for.

use rml_ir::flat::{ClockClasses, Init, Rhs, Var};
use rml_ir::op::Op;
use rml_testkit::flat::{BOOL, Builder, INT};

fn together(b: &Builder, vars: &[Var]) -> bool {
    let classes = ClockClasses::new(&b.flat);
    vars.windows(2).all(|w| classes.of(w[0]) == classes.of(w[1]))
}

#[test]
fn operators_choices_delays_and_parameters_share_a_clock() {
    let mut b = Builder::new();
    let (x, y, c) = (b.input("x", INT), b.input("y", INT), b.input("c", BOOL));
    let sum = b.apply(Op::Add, &[x, y]);
    assert!(together(&b, &[x, y, sum]) && !together(&b, &[x, c]));
    let choice = b.choice(c, x, x);
    assert!(together(&b, &[x, c, choice]));
    let (i, o, p, q, k) =
        (b.input("i", INT), b.scalar("o", INT), b.scalar("p", INT), b.scalar("q", INT), b.scalar("k", INT));
    let end = b.input("end", BOOL);
    let window = Some(b.window(end, None));
    b.define(o, Rhs::Fby { init: Init::Stream(i), next: x, window });
    assert!(together(&b, &[i, o, x]) && !together(&b, &[o, end]), "a window end has its own clock");
    b.define(p, Rhs::Post { next: x, window });
    b.define(q, Rhs::FbyBack { init: Init::Stream(i), next: x, window });
    b.define(k, Rhs::Param { init: x });
    assert!(together(&b, &[x, p, q, k]));
}

#[test]
fn sampling_and_merging_decide_other_clocks() {
    let mut b = Builder::new();
    let (x, c) = (b.input("x", INT), b.input("c", BOOL));
    let (y, z) = (b.when(x, c), b.lit(0));
    let o = b.merge(c, y, z);
    let classes = ClockClasses::new(&b.flat);
    assert!(together(&b, &[x, c, o]));
    assert!(classes.of(y) != classes.of(x) && classes.of(z) != classes.of(y));
    assert!([x, y, z].into_iter().all(|v| classes.is_driven(classes.of(v))));
    assert!(classes.free_representatives().is_empty());
}

#[test]
fn each_free_class_is_asked_for_once() {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let (one, two) = (b.lit(1), b.lit(2));
    let sum = b.apply(Op::Add, &[one, two]);
    let other = b.lit(3);
    let tied = b.lit(4);
    let _ = b.apply(Op::Add, &[x, tied]);
    let classes = ClockClasses::new(&b.flat);
    assert_eq!(classes.free_representatives(), [one, other]);
    assert_eq!(classes.members(classes.of(sum)), [one, two, sum]);
    assert!(!classes.is_driven(classes.of(other)) && classes.is_driven(classes.of(tied)));
}

#[test]
fn a_class_that_only_samples_itself_is_free() {
    let mut b = Builder::new();
    let c = b.lit(true);
    let (counted, k, other) = (b.scalar("counted", INT), b.scalar("k", INT), b.lit(7));
    let sampled = b.when(counted, c);
    let next = b.merge(c, sampled, other);
    b.define(counted, Rhs::Fby { init: Init::Stream(k), next, window: None });
    b.define(k, Rhs::Apply { op: Op::Copy, args: vec![sampled] });
    let classes = ClockClasses::new(&b.flat);
    assert!(together(&b, &[c, counted, sampled, next]));
    assert!(!classes.is_driven(classes.of(counted)) && classes.is_driven(classes.of(other)));
    let outside = b.input("outside", BOOL);
    let _ = b.apply(Op::And, &[outside, c]);
    let classes = ClockClasses::new(&b.flat);
    assert!(classes.is_driven(classes.of(counted)), "an input drives it");
}

#[test]
fn the_order_of_equations_has_no_meaning() {
    let build = |reverse: bool| {
        let mut b = Builder::new();
        let x = b.input("x", INT);
        let vars: Vec<Var> = (0..6).map(|_| b.scalar("", INT)).collect();
        let mut order: Vec<usize> = (0..5).collect();
        if reverse {
            order.reverse();
        }
        for i in order {
            b.define(vars[i], Rhs::Apply { op: Op::Copy, args: vec![vars[i + 1]] });
        }
        b.define(vars[5], Rhs::Apply { op: Op::Copy, args: vec![x] });
        let classes = ClockClasses::new(&b.flat);
        b.flat.vars.ids().map(|v| classes.of(v)).collect::<Vec<_>>()
    };
    assert_eq!(build(false), build(true));
}
