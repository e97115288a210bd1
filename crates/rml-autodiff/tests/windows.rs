//! The effect of windows on training: state is carried from one window to the next without its gradient (ADJ-13), and
//! optimisers tick once per window (PARAM-5).

mod support;

use indexmap::IndexMap;
use rml_elab::Root;
use rml_ir::normal::Module;
use rml_ir::{Value, pass};
use rml_sim::Status;
use rml_testkit::Lcg;
use rml_testkit::gradients::{InputRows, normal_with, run};
use support::check::{Case, RECORDER, check, wrapped};
use support::source::inputs;

type Table = IndexMap<String, Vec<Status>>;

fn bools(row: &[bool]) -> Vec<Option<Value>> {
    row.iter().map(|&x| Some(Value::Bool(x))).collect()
}

/// Runs the adjoint of `node` on its own inputs, some of which are given.
fn trained(text: &str, node: &str, prelude: &'static str, given: &InputRows, cycles: usize) -> Table {
    let module: Module =
        normal_with(text, Root::Diff(node.into()), prelude).unwrap_or_else(|e| panic!("{e}"));
    let module = wrapped(&module, true).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = inputs(&module, cycles, &mut Lcg(3));
    rows.extend(given.iter().map(|(name, row)| (name.clone(), row.clone())));
    let flat = pass::inline(&module).unwrap_or_else(|e| panic!("{e}"));
    let flat = pass::draw(pass::lower(flat, pass::Keep::All), 1).expect("memory for the draws");
    run(flat, &rows, cycles)
}

const CARRIED: &str = "
node cell(x: num [2], h0: num [2]) -> (o: num [2])
  k = param(ones([2]));
  o = tanh(k * x + h);
  h = h0 fby o * k;

node check_chunk(x: num [2], h0: num [2], end: bool []) -> (o: num [2])
  o = cell(x, h0) every end;

node check_carried(x: num [2], end: bool []) -> (o: num [2])
  o = cell(x, stop_gradient(before)) every end;
  before = zeros([2]) fby o;
";

#[test]
fn a_state_is_carried_over_windows_and_its_gradient_is_cut() {
    let mut given = InputRows::new();
    given.insert("end".into(), bools(&[false, false, true, false, true, false, false, true]));
    let mut r = Lcg(9);
    let mut cell = || {
        let data = (0..2).map(|_| r.range(-1.0, 1.0)).collect();
        Some(Value::new(rml_ir::Shape::new(&[2]), rml_ir::Data::F64(data)))
    };
    given.insert("x".into(), (0..8).map(|_| cell()).collect());
    given.insert("do".into(), (0..8).map(|_| cell()).collect());
    given.insert("bp".into(), bools(&[true; 8]));
    let carried = trained(CARRIED, "check_carried", RECORDER, &given, 8);
    let before = &carried["diff_check_carried_0.before"];
    assert!(before[3].value().is_some_and(|v| v.same(carried["o"][2].value().expect("present"))));
    // The state is now an input, which removes the effect of earlier windows.
    given.insert("h0".into(), before.iter().map(|s| s.value().cloned()).collect());
    let chunk = trained(CARRIED, "check_chunk", RECORDER, &given, 8);
    for name in ["o", "bpx", "dx"] {
        assert!(carried[name].iter().zip(&chunk[name]).all(|(a, b)| a.same(b)), "{name}");
    }
    let total = |table: &Table| {
        let (_, row) = table.iter().find(|(name, _)| name.ends_with(".total")).expect("recorded");
        row.iter().rev().find_map(|s| s.value().cloned()).expect("trained")
    };
    assert!(total(&carried).same(&total(&chunk)));
    check(&Case { text: CARRIED, node: "check_chunk", cycles: 8, seed: 4 }).unwrap_or_else(|e| panic!("{e}"));
}

/// Counts its ticks (on the clock of `bp`; an independent count would continue in every cycle) and its updates.
const COUNTER: &str = "node diff_param(init, bp, do) -> (o)
  o = init fby o + merge bp do 0.0;
  ticks = (if bp then 1 else 1) + (0 fby ticks);
  updates = (0 fby updates) + (if bp then 1 else 0);
";

const WINDOWS: &str = "
node scaled(x: num []) -> (o: num [])
  k = param(1.0);
  o = k * x + 0.5 * (0.0 fby o);

node simple(x: num [], end: bool []) -> (o: num [])
  o = scaled(x) every end;

node inner(x: num [], seq_end: bool []) -> (o: num [])
  o = scaled(x) every seq_end;

node nested(x: num [], seq_end: bool [], end: bool []) -> (o: num [])
  o = inner(x, seq_end) every end;

node sometimes(x: num [], c: bool []) -> (o: num [])
  o = merge c scaled(x when c) 0.0;

node sampled(x: num [], c: bool [], end: bool []) -> (o: num [])
  o = sometimes(x, c) every end;
";

/// The last values of the counters of the only parameter.
fn counted(node: &str, given: &InputRows) -> (i64, i64) {
    let table = trained(WINDOWS, node, COUNTER, given, 8);
    let last = |name: &str| {
        let (_, row) = table.iter().find(|(key, _)| key.ends_with(name)).expect("counted");
        row.iter().rev().find_map(|s| s.value()).and_then(Value::as_int).expect("ticks")
    };
    (last(".ticks"), last(".updates"))
}

#[test]
fn an_optimiser_ticks_once_in_each_outermost_window_and_updates_where_a_gradient_came() {
    let mut given = InputRows::new();
    given.insert("end".into(), bools(&[false, false, true, true, false, false, false, true]));
    given.insert("seq_end".into(), bools(&[true, false, true, false, true, false, true, false]));
    // No gradient comes in the second window.
    let bp = [false, true, true, false, true, false, false, true];
    given.insert("bp".into(), bools(&bp));
    given.insert("do".into(), bp.iter().map(|&on| on.then_some(Value::F64(0.1))).collect());
    assert_eq!(counted("simple", &given), (3, 2));
    assert_eq!(counted("nested", &given), (3, 2));
    // The parameter is read only in the first and the third window, and its last use there is not trained.
    given.insert("c".into(), bools(&[true, false, true, false, false, true, false, false]));
    assert_eq!(counted("sampled", &given), (2, 1));
    let with_bp = |bp: [bool; 8]| {
        let mut given = given.clone();
        given.insert("bp".into(), bools(&bp));
        given.insert("do".into(), bp.iter().map(|&on| on.then_some(Value::F64(0.1))).collect());
        given
    };
    assert_eq!(counted("sampled", &with_bp([true; 8])), (2, 2));
    assert_eq!(counted("simple", &with_bp([false; 8])), (3, 0));
}
