//! Small programs, transcribed by hand, with the traces that the semantics defines. Each run compares both engines.

use std::sync::Arc;

use rml_base::codes;
use rml_ir::flat::{Init, Rhs};
use rml_ir::op::{Binary, Op};
use rml_ir::{Type, Value};
use rml_sim::{Demand, InputCell, Options, Simulator};
use rml_testkit::flat::{BOOL, Builder, INT, NUM, columns, rows, run, run_with, sim_row, text};

/// `o = merge bp (i when bp) ((post o) when not bp)`
fn backfill(b: &mut Builder) -> [rml_ir::flat::Var; 3] {
    let (i, bp) = (b.input("i", INT), b.input("bp", BOOL));
    let o = b.scalar("o", INT);
    let taken = b.when(i, bp);
    let later = b.post(o);
    let left = b.when_not(later, bp);
    b.define(o, Rhs::Merge { cond: bp, on_true: taken, on_false: left });
    b.output(o);
    [i, bp, o]
}

#[test]
fn backfill_brings_values_back() {
    let mut b = Builder::new();
    let [_, _, o] = backfill(&mut b);
    let flat = b.build();
    assert_eq!(rows(&flat, &["1 2 3 4 5", "f f t f t"], true, &[o]), ["3 3 3 5 5"]);
    assert_eq!(rows(&flat, &["1 2 3 4 5", "f f t f f"], true, &[o]), ["3 3 3 ? ?"]);
    assert_eq!(rows(&flat, &["1 _ 3 _ 5", "f _ t _ t"], false, &[o]), ["3 _ 3 _ 5"]);
}

#[test]
fn counter_counts_because_its_clock_is_free() {
    let mut b = Builder::new();
    let o = b.scalar("o", INT);
    let one = b.lit(1);
    let sum = b.apply(Op::Binary(Binary::Add), &[o, one]);
    let init = b.init(0);
    b.define(o, Rhs::Fby { init, next: sum, window: None });
    b.output(o);
    let flat = b.build();
    let cycles = vec![Vec::new(); 4];
    assert_eq!(text(&sim_row(&run(&flat, &cycles, false), o)), "0 1 2 3");
    let asked = [(o, vec![true, false, true])].into_iter().collect();
    let sim = run_with(&flat, &cycles, false, Demand::Given(asked));
    assert_eq!(text(&sim_row(&sim, o)), "0 bot ? bot", "cycle 1 could still be present");
}

#[test]
fn delays_count_the_cycles_of_their_own_clock() {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let (before, last, after) = (b.fby(0, x), b.back(9, x), b.post(x));
    let flat = b.build();
    let vars = [before, last, after];
    assert_eq!(
        rows(&flat, &["1 _ 2 _ _ 3 _"], true, &vars),
        ["0 _ 1 _ _ 2 _", "2 _ 3 _ _ 9 _", "2 _ 3 _ _ ? _"]
    );
    assert_eq!(rows(&flat, &["1 _ 2 _ _ 3 _"], false, &vars[1..2]), ["2 _ 3 _ _ ? _"]);
    assert_eq!(rows(&flat, &[""], true, &vars), ["", "", ""]);
}

#[test]
fn stream_initialisers_are_read_once() {
    let mut b = Builder::new();
    let (i, x) = (b.input("i", INT), b.input("x", INT));
    let (o, p) = (b.scalar("o", INT), b.scalar("p", INT));
    b.define(o, Rhs::Fby { init: Init::Stream(i), next: x, window: None });
    b.define(p, Rhs::FbyBack { init: Init::Stream(i), next: x, window: None });
    let flat = b.build();
    assert_eq!(rows(&flat, &["_ 7 8 9", "_ 1 2 3"], true, &[o, p]), ["_ 7 1 2", "_ 2 3 9"]);
}

#[test]
fn lazy_choice_needs_the_selected_branch_only() {
    // o = if c then 0 else post o
    let mut b = Builder::new();
    let c = b.input("c", BOOL);
    let o = b.scalar("o", INT);
    let (zero, later) = (b.lit(0), b.post(o));
    b.define(o, Rhs::If { cond: c, then: zero, other: later });
    let flat = b.build();
    assert_eq!(rows(&flat, &["f f t t f"], true, &[o]), ["0 0 0 0 ?"]);
}

#[test]
fn windows_are_closed_traces_of_their_own() {
    let mut b = Builder::new();
    let (x, end) = (b.input("x", INT), b.input("end", BOOL));
    let w = b.window(end, None);
    let (down, up) = (b.fby_in(0, x, w), b.back_in(9, x, w));
    let post = b.scalar("post", INT);
    b.define(post, Rhs::Post { next: x, window: Some(w) });
    let flat = b.build();
    let expected = ["0 1 2 0 0 5", "2 3 9 9 6 9", "2 3 ? ? 6 ?"];
    assert_eq!(rows(&flat, &["1 2 3 4 5 6", "f f t t f f"], true, &[down, up, post]), expected);
    let open = ["0 1 2 0 0 5", "2 3 9 9 6 ?", "2 3 ? ? 6 ?"];
    assert_eq!(rows(&flat, &["1 2 3 4 5 6", "f f t t f f"], false, &[down, up, post]), open);
}

#[test]
fn an_end_where_the_delay_is_absent_still_cuts() {
    let mut b = Builder::new();
    let (x, end) = (b.input("x", INT), b.input("end", BOOL));
    let w = b.window(end, None);
    let (down, up) = (b.fby_in(0, x, w), b.back_in(9, x, w));
    let flat = b.build();
    let inputs = ["1 _ _ 2 _ 3", "f t f f _ f"];
    assert_eq!(rows(&flat, &inputs, false, &[down, up]), ["0 _ _ 0 _ 2", "9 _ _ 3 _ ?"]);
}

#[test]
fn inner_windows_end_with_the_outer_ones() {
    let mut b = Builder::new();
    let (x, outer, inner) = (b.input("x", INT), b.input("outer", BOOL), b.input("inner", BOOL));
    let w = b.window(outer, None);
    let v = b.window(inner, Some(w));
    let (in_outer, in_inner, up) = (b.fby_in(0, x, w), b.fby_in(0, x, v), b.back_in(9, x, v));
    let flat = b.build();
    let inputs = ["1 2 3 4 5 6", "f f f t f f", "f t f f f t"];
    let expected = ["0 1 2 3 0 5", "0 1 0 3 0 5", "2 9 4 9 6 9"];
    assert_eq!(rows(&flat, &inputs, false, &[in_outer, in_inner, up]), expected);
}

#[test]
fn an_unknown_end_makes_the_delay_wait() {
    // The end is the next value of e, so it is known one cycle late.
    let mut b = Builder::new();
    let (x, e) = (b.input("x", INT), b.input("e", BOOL));
    let end = b.post(e);
    let w = b.window(end, None);
    let (down, up) = (b.fby_in(0, x, w), b.back_in(9, x, w));
    let flat = b.build();
    assert_eq!(rows(&flat, &["1 2 3 4", "f f t f"], false, &[down, up]), ["0 1 0 3", "2 9 4 ?"]);
}

#[test]
fn inputs_on_demand_are_read_where_the_program_is_present() {
    // v = merge c y 0; o = (0 fby o) + v
    let mut b = Builder::new();
    let (c, y) = (b.input("c", BOOL), b.input("y", INT));
    let zero = b.lit(0);
    let v = b.merge(c, y, zero);
    let o = b.scalar("o", INT);
    let before = b.fby(0, o);
    b.define(o, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![before, v] });
    let flat = b.build();
    let expected = ["1 _ _ 4", "1 0 0 4", "1 1 1 5"];
    assert_eq!(rows(&flat, &["t f f t", "@1 @2 @3 @4"], true, &[y, v, o]), expected);
    assert_eq!(rows(&flat, &["f t", "@_ @_"], true, &[y, v]), ["_ error", "0 error"]);
}

#[test]
fn a_parameter_is_its_initial_value_unless_one_is_loaded() {
    let mut b = Builder::new();
    let x = b.input("x", NUM);
    let two = b.lit(2.0);
    let k = b.scalar("k", NUM);
    b.define(k, Rhs::Param { init: two });
    let o = b.apply(Op::Binary(Binary::Mul), &[k, x]);
    b.output(o);
    let flat = b.build();
    assert_eq!(rows(&flat, &["1.0 _ 3.0"], true, &[k, o]), ["2.0 _ 2.0", "2.0 _ 6.0"]);
    let mut sim = Simulator::new(Arc::clone(&flat), Options::default());
    let (key, _) = flat.states.first().unwrap();
    assert_eq!(sim.states().unwrap()[key].as_num(), Some(2.0));
    sim.set_state(key, &Value::F32(5.0)).unwrap();
    sim.feed(&columns(&["3.0"])[0]).unwrap();
    assert_eq!(text(&sim.next_output().unwrap().values), "15.0");
    assert_eq!(sim.states().unwrap()[key].as_num(), Some(5.0));
    assert_eq!(sim.set_state("k", &Value::F64(1.0)).unwrap_err().code, codes::sim::STATE_VALUE);
    assert_eq!(sim.set_state(key, &Value::Int(1)).unwrap_err().code, codes::sim::STATE_VALUE);
}

#[test]
fn merge_with_both_branches_present_is_an_error_at_its_cycle() {
    let mut b = Builder::new();
    let (c, y, z) = (b.input("c", BOOL), b.input("y", INT), b.input("z", INT));
    let x = b.merge(c, y, z);
    b.name(x, "x");
    b.output(x);
    let flat = b.build();
    let inputs = ["t f t", "1 _ 3", "9 2 _"];
    assert_eq!(
        rows(&flat, &inputs, true, &[c, y, z, x]),
        ["error f t", "error _ 3", "error 2 _", "error 2 3"]
    );

    let mut sim = Simulator::new(Arc::clone(&flat), Options::default());
    let report = sim.feed(&columns(&inputs)[0]).unwrap_err();
    assert_eq!(report.code, codes::sim::SYNC_ERROR);
    assert_eq!(report.message, "`z` is both present and absent in cycle 0");
    let labels: Vec<&str> = report.labels.iter().map(|l| l.message.as_str()).collect();
    assert_eq!(labels, ["the input `z` is present in cycle 0", "`z` is absent here, since `c` is true"]);
    assert_eq!(sim.feed(&columns(&inputs)[1]).unwrap_err(), report, "it stays stopped");
    assert!(sim.next_output().is_none());
}

#[test]
fn operands_on_two_clocks_are_shown_with_the_equation_between() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", INT), b.input("y", INT));
    let o = b.apply(Op::Binary(Binary::Add), &[x, y]);
    b.output(o);
    let flat = b.build();
    let sim = run(&flat, &columns(&["1 2 3", "1 _ 3"]), true);
    let failure = sim.failure().unwrap();
    assert_eq!((failure.cycle, failure.equation.map(|e| e.0)), (1, Some(0)));
    assert_eq!(failure.report.message, "`x` is present and `y` is absent in cycle 1");
    assert_eq!(failure.report.labels[0].span, flat.equations.iter().next().unwrap().span);
    assert_eq!(failure.report.labels[0].message, "`x` and `y` have to be present in the same cycles");
    assert_eq!(failure.report.labels.len(), 3);
}

#[test]
fn parts_of_expressions_are_called_by_their_place() {
    // o = (x + x) * y
    let mut b = Builder::new();
    let (x, y) = (b.input("x", INT), b.input("y", INT));
    let sum = b.apply(Op::Binary(Binary::Add), &[x, x]);
    let o = b.apply(Op::Binary(Binary::Mul), &[sum, y]);
    b.output(o);
    let flat = b.build();
    let report = run(&flat, &columns(&["1", "_"]), true).failure().unwrap().report;
    assert_eq!(report.labels[0].message, "`x` and the result have to be present in the same cycles");
    assert_eq!(report.labels[1].message, "an operand and `y` have to be present in the same cycles");
    let overflow = run(&flat, &columns(&["4000000000000000000", "2"]), true).failure().unwrap().report;
    assert_eq!(overflow.notes, ["operand 1 is 8000000000000000000", "`y` is 2"]);
}

#[test]
fn long_absences_cost_linear_time() {
    // The sampling of x becomes known from the end of the trace backward, so walks meet their absent cycles in both
    // orders.
    let mut b = Builder::new();
    let (x, first, end) = (b.input("x", INT), b.input("first", BOOL), b.input("end", BOOL));
    let known = b.scalar("known", BOOL);
    let (no, later) = (b.lit(false), b.post(known));
    b.define(known, Rhs::If { cond: end, then: no, other: later });
    let taken = b.apply(Op::Or, &[known, first]);
    let y = b.when(x, taken);
    let (before, after) = (b.fby(0, y), b.back(9, y));
    b.output(before);
    b.output(after);
    let mut sim = Simulator::new(b.build(), Options::default());
    let cycles = 100_000;
    let flag = |b| InputCell::Given(Value::Bool(b));
    for n in 0..cycles {
        sim.feed(&[InputCell::Given(Value::Int(n)), flag(n % 40_000 == 0), flag(n == cycles - 1)]).unwrap();
    }
    sim.finish(true).unwrap();
    let present: Vec<String> = std::iter::from_fn(|| sim.next_output())
        .filter(|r| r.cycle % 40_000 == 0)
        .map(|r| text(&r.values))
        .collect();
    assert_eq!(present, ["0 40000", "0 80000", "40000 9"]);
    let stats = sim.stats();
    assert!(stats.activations < 20 * 100_000, "{stats:?}");
}

#[test]
fn the_outputs_before_an_error_can_be_read() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", INT), b.input("y", INT));
    let o = b.apply(Op::Binary(Binary::Add), &[x, y]);
    b.output(o);
    let mut sim = Simulator::new(b.build(), Options::default());
    let inputs = columns(&["1 2 3", "1 _ 3"]);
    sim.feed(&inputs[0]).unwrap();
    assert!(sim.feed(&inputs[1]).is_err());
    assert_eq!(text(&sim.next_output().unwrap().values), "2");
    assert!(sim.next_output().is_none());
    assert!(sim.finish(true).is_err());
}

#[test]
fn errors_come_through_delays_but_are_reported_where_they_arise() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", INT), b.input("y", INT));
    let o = b.apply(Op::Binary(Binary::Add), &[x, y]);
    let (d, p) = (b.fby(0, o), b.post(o));
    let flat = b.build();
    let inputs = ["1 2 _ 3 4", "1 2 _ _ 4"];
    let everywhere = "error error _ error error";
    assert_eq!(rows(&flat, &inputs, true, &[o, d, p]), [everywhere; 3]);
    let sim = run(&flat, &columns(&inputs), true);
    assert_eq!(sim.failure().unwrap().cycle, 3);
}

#[test]
fn an_instantaneous_cycle_is_a_deadlock() {
    // a = (0 fby b) + x; b = (0 fby back a) + x
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let (p, q) = (b.scalar("p", INT), b.scalar("q", INT));
    let (fp, bq) = (b.fby(0, q), b.back(0, p));
    b.define(p, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![fp, x] });
    b.define(q, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![bq, x] });
    b.output(p);
    b.output(q);
    let sim = run(&b.build(), &columns(&["1 2 3"]), true);
    assert_eq!(text(&sim_row(&sim, p)), "1 ? ?");
    let why = sim.undetermined().unwrap();
    assert_eq!(why.report.code, codes::sim::DEADLOCK);
    assert!(!why.waits_for_future);
    assert!(why.report.message.contains("depends on itself"), "{}", why.report);
    assert_eq!(why.report.labels.len(), 4, "{:?}", why.report);
    assert_eq!(why.cells.len(), 4);
    assert!(why.cyclic);
    let labels: Vec<&str> = why.report.labels.iter().map(|l| l.message.as_str()).collect();
    let expected = [
        "the value of `q` in cycle 0 waits for the value of `p` in cycle 1",
        "by way of this",
        "the value of `p` in cycle 1 waits for the value of `q` in cycle 0",
        "by way of this",
    ];
    assert_eq!(labels, expected);
}

#[test]
fn undetermined_cells_say_what_they_wait_for() {
    let mut b = Builder::new();
    let [_, _, o] = backfill(&mut b);
    let flat = b.build();
    let inputs = columns(&["1 2 3", "t f f"]);
    let open = run(&flat, &inputs, false).undetermined().unwrap();
    assert_eq!(open.cells, [(1, o), (2, o)]);
    assert!(open.waits_for_future);
    let closed = run(&flat, &inputs, true).undetermined().unwrap();
    assert!(!closed.waits_for_future);
    assert!(closed.report.message.contains("would follow the last active cycle"), "{}", closed.report);
    assert!(run(&flat, &columns(&["1 2", "f t"]), true).undetermined().is_none());
}

#[test]
fn too_many_open_cycles_are_refused() {
    let mut b = Builder::new();
    backfill(&mut b);
    let mut sim = Simulator::new(b.build(), Options { max_open_cycles: Some(3), ..Options::default() });
    let cycles = columns(&["1 2 3 4", "f f f f"]);
    for cycle in &cycles[..3] {
        sim.feed(cycle).unwrap();
    }
    let report = sim.feed(&cycles[3]).unwrap_err();
    assert_eq!(report.code, codes::sim::LOOK_AHEAD_LIMIT);
    assert!(!report.labels.is_empty());
    assert_eq!(sim.states().unwrap_err().code, codes::sim::STATE_TIME);
}

#[test]
fn integer_overflow_stops_the_simulation() {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let o = b.apply(Op::Binary(Binary::Mul), &[x, x]);
    b.name(o, "o");
    b.output(o);
    let flat = b.build();
    let inputs = columns(&["3 4000000000 5"]);
    let sim = run(&flat, &inputs, true);
    assert_eq!(text(&sim_row(&sim, o)), "9 ? 25");
    let failure = sim.failure().unwrap();
    assert_eq!((failure.cycle, failure.report.code), (1, codes::sim::INTEGER_OVERFLOW));
    assert_eq!(failure.report.notes, ["`x` is 4000000000"]);
}

#[test]
fn positions_outside_of_their_axis_stop_the_simulation() {
    let mut b = Builder::new();
    let (x, i) = (b.input("x", INT), b.input("i", INT));
    let table = b.apply(Op::Stack { axis: 0 }, &[x, x]);
    let o = b.apply(Op::Gather { axis: 0 }, &[table, i]);
    b.output(o);
    let flat = b.build();
    for (positions, cycle, found) in
        [("0 1 2", 2, 2), ("1 -1 0", 1, -1), ("-9223372036854775808 0 0", 0, i64::MIN)]
    {
        let sim = run(&flat, &columns(&["7 8 9", positions]), true);
        let failure = sim.failure().unwrap();
        assert_eq!((failure.cycle, failure.report.code), (cycle, codes::sim::POSITION_OUTSIDE));
        assert_eq!(
            failure.report.notes,
            [format!("expected a position of at least 0 and less than 2, found {found}")]
        );
    }
}

#[test]
fn inputs_are_checked() {
    let mut b = Builder::new();
    let (end, y) = (b.input("end", BOOL), b.input("y", INT));
    b.flat.inputs[1].clock = Some((end, true));
    b.output(y);
    let mut sim = Simulator::new(b.build(), Options::default());
    let mut code = |cycle: &[InputCell]| sim.feed(cycle).unwrap_err().code;
    let (t, one) = (InputCell::Given(Value::Bool(true)), InputCell::Given(Value::Int(1)));
    assert_eq!(code(std::slice::from_ref(&t)), codes::sim::INPUT_VALUE);
    assert_eq!(code(&[t.clone(), t.clone()]), codes::sim::INPUT_VALUE);
    let vector = Value::zeros(&Type::new(INT, &[2]), rml_ir::Precision::F64);
    assert_eq!(code(&[t.clone(), InputCell::Given(vector)]), codes::sim::INPUT_VALUE);
    assert_eq!(code(&[t.clone(), InputCell::Absent]), codes::sim::INPUT_CLOCK);
    assert_eq!(code(&[InputCell::Given(Value::Bool(false)), one.clone()]), codes::sim::INPUT_CLOCK);
    sim.feed(&[t, one]).unwrap();
    sim.finish(true).unwrap();
    assert_eq!(sim.feed(&[]).unwrap_err().code, codes::sim::TRACE_ENDED);
}

#[test]
fn memory_is_bounded_by_the_look_ahead() {
    let mut b = Builder::new();
    backfill(&mut b);
    let x = b.input("x", INT);
    let sum = b.scalar("sum", INT);
    let before = b.fby(0, sum);
    b.define(sum, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![before, x] });
    b.output(sum);
    let mut sim = Simulator::new(b.build(), Options::default());
    for n in 0..1000_i64 {
        let end = InputCell::Given(Value::Bool(n % 10 == 9));
        sim.feed(&[InputCell::Given(Value::Int(n)), end, InputCell::Given(Value::Int(1))]).unwrap();
        while let Some(row) = sim.next_output() {
            let c = i64::try_from(row.cycle).unwrap();
            assert_eq!(text(&row.values), format!("{} {}", c / 10 * 10 + 9, c + 1));
        }
    }
    // One more than a window: the last `post` is never used, but it waits for the next cycle.
    assert_eq!((sim.stats().max_open_cycles, sim.open_cycles()), (11, 1));
    assert!(sim.stats().live_values <= 11);
    assert_eq!(sim.states().unwrap().values().next().and_then(Value::as_int), Some(1000));
}

#[test]
fn a_post_at_the_end_of_its_window_does_not_hold_up_the_stream() {
    // o = merge end (x when end) ((post o + 1) when not end), in windows by end: the value after the last cycle is
    // never used.
    let mut b = Builder::new();
    let (x, end) = (b.input("x", INT), b.input("end", BOOL));
    let w = b.window(end, None);
    let (o, later) = (b.scalar("o", INT), b.scalar("later", INT));
    b.define(later, Rhs::Post { next: o, window: Some(w) });
    let one = b.lit(1);
    let more = b.apply(Op::Binary(Binary::Add), &[later, one]);
    let (taken, left) = (b.when(x, end), b.when_not(more, end));
    b.define(o, Rhs::Merge { cond: end, on_true: taken, on_false: left });
    b.output(o);
    let flat = b.build();
    let inputs = ["1 2 3 4 5 6", "f f t f t t"];
    assert_eq!(rows(&flat, &inputs, true, &[o, later, more]), ["5 4 3 6 5 6", "4 3 ? 5 ? ?", "5 4 ? 6 ? ?"]);

    let mut sim = Simulator::new(flat, Options::default());
    for n in 0..1000_i64 {
        let end = InputCell::Given(Value::Bool(n % 10 == 9));
        sim.feed(&[InputCell::Given(Value::Int(n)), end]).unwrap();
        let released = std::iter::from_fn(|| sim.next_output()).count();
        assert_eq!(released, if n % 10 == 9 { 10 } else { 0 });
    }
    assert_eq!((sim.stats().max_open_cycles, sim.open_cycles(), sim.stats().live_values), (10, 0, 0));
    assert!(sim.states().unwrap().is_empty());
}

#[test]
fn states_are_saved_where_no_window_is_open() {
    let mut b = Builder::new();
    let (x, end) = (b.input("x", INT), b.input("end", BOOL));
    let w = b.window(end, None);
    let inside = b.fby_in(0, x, w);
    let outside = b.fby(5, x);
    b.output(inside);
    b.output(outside);
    let mut sim = Simulator::new(b.build(), Options::default());
    let cycles = columns(&["1 2 3", "f t f"]);
    let saved =
        |sim: &Simulator| sim.states().map(|s| s.values().filter_map(Value::as_int).collect::<Vec<_>>());
    assert_eq!(saved(&sim).unwrap(), [5], "before the first activation it is the initial value");
    sim.feed(&cycles[0]).unwrap();
    let report = saved(&sim).unwrap_err();
    assert_eq!((report.code, report.labels.len()), (codes::sim::STATE_TIME, 1));
    sim.feed(&cycles[1]).unwrap();
    assert_eq!(saved(&sim).unwrap(), [2]);
}
