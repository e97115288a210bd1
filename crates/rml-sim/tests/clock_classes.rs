//! The variables that are present together, and those among them that are asked for.

use rml_ir::flat::{ClockClasses, Init, Rhs, Var};
use rml_ir::op::{Binary, Compare, Op};
use rml_testkit::flat::{BOOL, Builder, INT};

fn together(b: &Builder, vars: &[Var]) -> bool {
    let classes = ClockClasses::new(&b.flat);
    vars.windows(2).all(|w| classes.of(w[0]) == classes.of(w[1]))
}

#[test]
fn operators_choices_delays_and_parameters_share_a_clock() {
    let mut b = Builder::new();
    let (x, y, c) = (b.input("x", INT), b.input("y", INT), b.input("c", BOOL));
    let sum = b.apply(Op::Binary(Binary::Add), &[x, y]);
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
    let sum = b.apply(Op::Binary(Binary::Add), &[one, two]);
    let other = b.lit(3);
    let tied = b.lit(4);
    let _ = b.apply(Op::Binary(Binary::Add), &[x, tied]);
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

/// `n`, `m = n when c` and `o = merge d n 7`, where `c` is in the class of `n` and `d` in that of `m`.
fn circle() -> (Builder, [Var; 5]) {
    let mut b = Builder::new();
    let (n, k) = (b.scalar("n", INT), b.lit(1));
    let next = b.apply(Op::Binary(Binary::Add), &[n, k]);
    b.define(n, Rhs::Fby { init: Init::Stream(k), next, window: None });
    let c = b.apply(Op::Compare(Compare::Ge), &[n, k]);
    let m = b.when(n, c);
    let least = b.lit(0);
    let d = b.apply(Op::Compare(Compare::Ge), &[m, least]);
    let other = b.lit(7);
    let o = b.merge(d, n, other);
    b.output(o);
    (b, [n, m, o, c, other])
}

#[test]
fn classes_that_drive_each_other_are_one_and_free() {
    let (mut b, [n, m, o, c, other]) = circle();
    let classes = ClockClasses::new(&b.flat);
    assert!(together(&b, &[n, m, o, c]) && classes.of(n) != classes.of(other));
    assert!(classes.is_driven(classes.of(other)));
    assert_eq!(classes.free_representatives(), [n]);
    let x = b.input("x", INT);
    let _ = b.apply(Op::Binary(Binary::Add), &[x, m]);
    let classes = ClockClasses::new(&b.flat);
    assert!(classes.is_driven(classes.of(n)), "an input drives both");
}

#[test]
fn what_is_driven_by_a_circle_is_no_part_of_it() {
    let (mut b, [n, m, _, _, _]) = circle();
    let (least, c) = (b.lit(2), b.scalar("c2", BOOL));
    b.define(c, Rhs::Apply { op: Op::Compare(Compare::Gt), args: vec![m, least] });
    let sampled = b.when(m, c);
    let classes = ClockClasses::new(&b.flat);
    assert!(classes.of(sampled) != classes.of(m) && classes.is_driven(classes.of(sampled)));
    assert_eq!(classes.free_representatives(), [n]);
}

#[test]
fn a_circle_runs_in_every_cycle() {
    let (b, [n, ..]) = circle();
    let flat = b.build();
    let sim = rml_testkit::flat::run(&flat, &vec![Vec::new(); 3], true);
    let row: Vec<_> = (0..3).map(|cycle| sim.status(cycle, n).unwrap().unwrap()).collect();
    assert_eq!(rml_testkit::flat::text(&row), "1 2 3");
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
