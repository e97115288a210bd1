//! The Kahn semantics: the appendix's transformers and its example, and the common properties with the synchronous
//! semantics.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rml_ir::Value;
use rml_ir::flat::{Drawn, Flat, Init, Rhs, State, Var};
use rml_ir::op::{Binary, Op};
use rml_sim::kahn::{self, Stop, Streams};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{InputCell, Status};
use rml_testkit::flat::{BOOL, Builder, INT, columns, random, text};

/// The sequences of the columns `1 2 3`, `t f`.
fn sequences(texts: &[&str]) -> Vec<Vec<Value>> {
    let given = |input: InputCell| if let InputCell::Given(v) = input { Some(v) } else { None };
    texts
        .iter()
        .map(|t| columns(&[t]).into_iter().filter_map(|mut row| given(row.remove(0))).collect())
        .collect()
}

fn run(flat: &Drawn, inputs: &[&str], limit: usize) -> Streams {
    kahn::run(flat, &sequences(inputs), limit).expect("no failure")
}

/// A sequence as text, with its end: `1 2 .` ends with the inputs, `1 2 ..` continues, `1 2 !` waits for itself.
fn shown(streams: &Streams, v: Var) -> String {
    let stream = &streams.streams[v];
    let values: Vec<Status> = stream.values.iter().cloned().map(Status::Value).collect();
    let stop = match stream.stop {
        Stop::Inputs => ".",
        Stop::Limit => "..",
        Stop::Deadlock => "!",
    };
    format!("{} {stop}", text(&values)).trim_start().to_owned()
}

/// `o = merge bp (i when bp) ((post o) when not bp)`.
fn backfill() -> (Arc<Drawn>, [Var; 4]) {
    let mut b = Builder::new();
    let (i, bp) = (b.input("i", INT), b.input("bp", BOOL));
    let o = b.scalar("o", INT);
    let sampled = b.when(i, bp);
    let post = b.post(o);
    let late = b.when_not(post, bp);
    b.define(o, Rhs::Merge { cond: bp, on_true: sampled, on_false: late });
    b.output(o);
    (b.build(), [sampled, post, late, o])
}

#[test]
fn backfill_waits_for_itself() {
    let (flat, [sampled, post, late, o]) = backfill();
    let found = run(&flat, &["0 1 2 3 4 5", "f f t t f t"], 10);
    assert_eq!(shown(&found, sampled), "2 3 5 .");
    for v in [post, late, o] {
        assert_eq!(shown(&found, v), "!");
    }
    let [circle] = &found.deadlocks[..] else { panic!("{:?}", found.deadlocks) };
    let steps: Vec<_> = circle.iter().map(|w| (w.var, w.element, w.on, w.on_element)).collect();
    let start = steps.iter().position(|s| s.0 == o).expect("the output is in the circle");
    let from_o: Vec<_> = steps[start..].iter().chain(&steps[..start]).copied().collect();
    assert_eq!(from_o, [(o, 0, late, 0), (late, 0, post, 0), (post, 0, o, 1)]);
}

#[test]
fn backfill_begins_where_nothing_is_asked_of_the_future() {
    let (flat, [_, post, _, o]) = backfill();
    let found = run(&flat, &["7 8 9", "t t f"], 10);
    assert_eq!(shown(&found, o), "7 8 !");
    assert_eq!(shown(&found, post), "8 !");
}

#[test]
fn a_counter_counts() {
    let mut b = Builder::new();
    let u = b.scalar("u", INT);
    let o = b.fby(0, u);
    let one = b.lit(1);
    b.define(u, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![o, one] });
    b.output(o);
    let found = run(&b.build(), &[], 4);
    assert_eq!(shown(&found, o), "0 1 2 3 ..");
    assert!(found.deadlocks.is_empty());
}

#[test]
fn the_transformers_are_those_of_the_appendix() {
    let mut b = Builder::new();
    let (x, y, c) = (b.input("x", INT), b.input("y", INT), b.input("c", BOOL));
    let sum = b.apply(Op::Binary(Binary::Add), &[x, y]);
    let when = b.when(x, c);
    let merge = b.merge(c, x, y);
    let choice = b.choice(c, x, y);
    let fby = b.fby(9, x);
    let stream = b.scalar("s", INT);
    b.define(stream, Rhs::Fby { init: Init::Stream(y), next: x, window: None });
    let (post, back) = (b.post(x), b.back(9, x));
    b.output(sum);
    let flat = b.build();
    let found = run(&flat, &["1 2 3", "10 20", "t f f t"], 9);
    let expected = [
        (sum, "11 22 ."),
        (when, "1 ."),
        (merge, "1 10 20 2 ."),
        (choice, "1 20 ."),
        (fby, "9 1 2 3 ."),
        (stream, "10 1 2 3 ."),
        (post, "2 3 ."),
        (back, "2 3 ."),
    ];
    for (v, expected) in expected {
        assert_eq!(shown(&found, v), expected);
    }
    let nothing = run(&flat, &["", "", ""], 9);
    assert_eq!((shown(&nothing, fby), shown(&nothing, stream)), ("9 .".to_owned(), ".".to_owned()));
}

/// `post e` is `e when (false fby true)`.
#[test]
fn post_is_sampling() {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let (post, yes) = (b.post(x), b.lit(true));
    let rest = b.fby(false, yes);
    let sampled = b.when(x, rest);
    b.output(post);
    let found = run(&b.build(), &["1 2 3"], 9);
    assert_eq!(shown(&found, post), "2 3 .");
    assert_eq!(shown(&found, sampled), "2 3 .");
}

#[test]
fn what_waits_for_a_circle_waits_for_ever() {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let (a, c) = (b.scalar("a", INT), b.scalar("c", INT));
    b.define(a, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![c, x] });
    b.define(c, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![a, x] });
    let after = b.apply(Op::Binary(Binary::Add), &[x, a]);
    b.output(after);
    let found = run(&b.build(), &["1 2"], 9);
    assert_eq!(shown(&found, after), "!");
    assert_eq!(found.deadlocks.len(), 1);
    assert_eq!(found.deadlocks[0].len(), 2);
}

#[test]
fn overflow_is_found() {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let o = b.apply(Op::Binary(Binary::Mul), &[x, x]);
    b.output(o);
    let failure = kahn::run(&b.build(), &sequences(&["1 9000000000000"]), 9).expect_err("an overflow");
    assert_eq!(failure.element, 1);
}

/// The program without windows, which have no counterpart.
fn without_windows(flat: &Drawn) -> Drawn {
    let mut flat = Flat::clone(flat);
    for equation in flat.equations.iter_mut() {
        if let Rhs::Fby { window, .. } | Rhs::FbyBack { window, .. } | Rhs::Post { window, .. } =
            &mut equation.rhs
        {
            *window = None;
        }
    }
    flat.states.clear();
    for (equation, eq) in flat.equations.iter_enumerated() {
        if matches!(eq.rhs, Rhs::Fby { .. }) {
            flat.states.insert(equation.to_string().into(), State { equation, parameter: false });
        }
    }
    Drawn::new(flat).expect("it has its states")
}

/// The values of a row up to the first cell that is not determined.
fn determined(row: &[Status]) -> Vec<Value> {
    row.iter().take_while(|s| s.is_determined()).filter_map(|s| s.value().cloned()).collect()
}

fn agree(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.same(b))
}

/// Checks that elements known in both semantics are the same; returns the number of comparisons.
fn compare(flat: &Drawn, inputs: &[Vec<InputCell>]) -> usize {
    let trace = oracle::run(flat, inputs, &OracleOptions::default());
    if !trace.error_cycles().is_empty() || !trace.failures.is_empty() {
        return 0;
    }
    let sequences: Vec<Vec<Value>> = flat.inputs.iter().map(|i| determined(&trace.row(i.var))).collect();
    let Ok(found) = kahn::run(flat, &sequences, inputs.len() + flat.equations.len() + 1) else { return 0 };
    let mut compared = 0;
    for v in flat.vars.ids() {
        let (kahn, row) = (&found.streams[v].values, determined(&trace.row(v)));
        assert!(agree(kahn, &row), "{v}: {kahn:?} but {row:?}\n{}", rml_ir::flat::print(flat));
        compared += kahn.len().min(row.len());
    }
    compared
}

/// Checks that more input never removes an element.
fn prefix_gives_prefix(flat: &Drawn, sequences: &[Vec<Value>], cut: usize) {
    let shorter: Vec<Vec<Value>> = sequences.iter().map(|s| s[..cut.min(s.len())].to_vec()).collect();
    let limit = 40;
    let (Ok(less), Ok(more)) = (kahn::run(flat, &shorter, limit), kahn::run(flat, sequences, limit)) else {
        return;
    };
    for v in flat.vars.ids() {
        let (less, more) = (&less.streams[v].values, &more.streams[v].values);
        assert!(less.len() <= more.len() && agree(less, more), "{v}: {less:?} {more:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_semantics_agree_where_both_know(numbers in vec(any::<u32>(), 20..200), data in vec(any::<u32>(), 90)) {
        let (flat, _) = random::program(&numbers, 25, false);
        let flat = without_windows(&flat);
        let _ = compare(&flat, &random::trace(&flat, &data, 8, false));
    }

    #[test]
    fn streams_only_grow(numbers in vec(any::<u32>(), 20..200), data in vec(-2_i64..7, 24), cut in 0_usize..8) {
        let (flat, _) = random::program(&numbers, 25, true);
        let flat = without_windows(&flat);
        let value = |v: Var, x: i64| if flat.vars[v].ty.dtype == BOOL { Value::Bool(x % 2 == 0) } else { Value::Int(x) };
        let sequences: Vec<Vec<Value>> =
            flat.inputs.iter().zip(data.chunks(8)).map(|(i, d)| d.iter().map(|&x| value(i.var, x)).collect()).collect();
        prefix_gives_prefix(&flat, &sequences, cut);
    }
}

/// The comparison is useful: most programs are compared.
#[test]
fn most_programs_are_compared() {
    let mut compared = 0;
    for seed in 0..100_u32 {
        let mut x = seed.wrapping_mul(747_796_405).wrapping_add(1);
        let numbers: Vec<u32> = (0..200)
            .map(|_| {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                x >> 7
            })
            .collect();
        let (flat, _) = random::program(&numbers, 25, false);
        let flat = without_windows(&flat);
        compared += usize::from(compare(&flat, &random::trace(&flat, &numbers, 8, false)) > 20);
    }
    assert!(compared > 40, "{compared}");
}
