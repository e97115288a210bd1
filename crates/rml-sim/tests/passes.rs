//! The passes on flat programs preserve the outputs (FIX-6), cycle by cycle, and a parameter under windows is updated
//! once per window.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rml_ir::flat::{self, Drawn};
use rml_ir::normal::{self, Differentiated};
use rml_ir::pass::InputSteps;
use rml_ir::{Data, Value, pass};
use rml_sim::oracle::{self, FixedPoint, OracleOptions};
use rml_sim::{InputCell, Status};
use rml_testkit::flat::{check_passes, random};

fn run(flat: &Drawn, inputs: &[Vec<InputCell>], closed: bool) -> FixedPoint {
    oracle::run(flat, inputs, &OracleOptions { closed, ..OracleOptions::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_print_and_read_back(numbers in vec(any::<u32>(), 20..200), wild: bool) {
        let (flat, _) = random::program(&numbers, 25, wild);
        let text = flat::print(&flat);
        let back = flat::parse(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(flat::print(&back), text);
    }

    #[test]
    fn every_pass_keeps_every_cell(
        numbers in vec(any::<u32>(), 20..200),
        data in vec(any::<u32>(), 90),
        cycles in 0_usize..10,
        closed: bool,
        wild: bool,
        seed: u64,
    ) {
        let size = if wild { 12 } else { 25 };
        let (flat, _) = random::program(&numbers, size, wild);
        let inputs = random::trace(&flat, &data, cycles, wild);
        check_passes(&flat, &inputs, closed, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_program_that_begins_with_values_is_one_that_has_loaded_them(
        numbers in vec(any::<u32>(), 20..200),
        data in vec(any::<u32>(), 90),
        cycles in 0_usize..10,
        closed: bool,
        wild: bool,
    ) {
        let (flat, _) = random::program(&numbers, if wild { 12 } else { 25 }, wild);
        let inputs = random::trace(&flat, &data, cycles, wild);
        // Every other state is loaded.
        let value = |id: flat::Eq| Value::filled(&flat.vars[flat.equations[id].lhs].ty, 1.0, flat.precision);
        let loaded: Vec<_> = flat.states.iter().step_by(2).map(|(key, s)| (key, s.equation)).collect();
        let states = loaded.iter().map(|(_, id)| (*id, value(*id))).collect();
        let options = OracleOptions { closed, states, ..OracleOptions::default() };
        let expected = oracle::run(&flat, &inputs, &options);
        let values = loaded.into_iter().map(|(key, id)| (key.clone(), value(id))).collect();
        let begun = pass::begin_with(flat::Flat::clone(&flat), &values);
        let found = run(&Drawn::new(begun).expect("values alone"), &inputs, closed);
        for v in flat.vars.ids() {
            let same = expected.row(v).iter().zip(&found.row(v)).all(|(e, f)| f.same(e));
            prop_assert!(same, "{v}: {:?} {:?}\n{}", expected.row(v), found.row(v), flat::print(&flat));
        }
    }

    #[test]
    fn a_program_that_prepares_its_inputs_is_one_that_gets_prepared_ones(
        numbers in vec(any::<u32>(), 20..200),
        data in vec(any::<u32>(), 90),
        cycles in 0_usize..10,
        closed: bool,
    ) {
        let (flat, _) = random::program(&numbers, 25, false);
        let inputs = random::trace(&flat, &data, cycles, false);
        let steps = InputSteps { fill: Some(&[2.0]), scale: Some((&[1.5], &[0.25])) };
        let value = |value: &Value| match value.to_data() {
            Data::F32(v) => Data::F32(v.iter().map(|x| (if x.is_nan() { 2.0 } else { *x } - 1.5) / 0.25).collect()),
            Data::F64(v) => Data::F64(v.iter().map(|x| (if x.is_nan() { 2.0 } else { *x } - 1.5) / 0.25).collect()),
            data => data,
        };
        let value = |given: &Value| Value::new(given.shape(), value(given));
        let cell = |cell: &InputCell| match cell {
            InputCell::Given(given) => InputCell::Given(value(given)),
            InputCell::OnDemand(given) => InputCell::OnDemand(given.as_ref().map(value)),
            InputCell::Absent => InputCell::Absent,
        };
        let prepared = |cells: &Vec<InputCell>| cells.iter().map(cell).collect();
        let ready: Vec<Vec<InputCell>> = inputs.iter().map(prepared).collect();
        let expected = run(&flat, &ready, closed);
        let preparing = pass::prepare_inputs(Drawn::clone(&flat), &vec![steps; flat.inputs.len()]);
        let found = run(&preparing, &inputs, closed);
        for v in flat.vars.ids() {
            let same = expected.row(v).iter().zip(&found.row(v)).all(|(e, f)| f.same(e));
            prop_assert!(same, "{v}: {:?} {:?}\n{}", expected.row(v), found.row(v), flat::print(&flat));
        }
    }
}

/// `o = k * x` with `k` trained by plain gradient descent, called with `every end` if `every` says so.
fn scale(every: &str) -> Drawn {
    let text = format!(
        r#"normal f64 root n2
node n0 "diff_param"
  formal v0
  formal v1
  formal v2
  output v3
  var v0 num [] "init"
  var v1 bool [] "bp"
  var v2 num [] "do"
  var v3 num [] "o"
  var v4 num [] "o1"
  var v5 num []
  var v6 num []
  const k0 num [] = 0.0
  v6 = const k0
  v5 = merge v1 v2 v6
  v3 = fby v0 v4
  v4 = apply add (v3, v5)
node n1 "diff_scale"
  formal v0
  formal v1
  formal v2
  output v3
  var v0 num [] "x"
  var v1 bool [] "bp"
  var v2 num [] "do"
  var v3 num [] "o"
  var v4 num [] "k"
  var v5 num []
  var v6 num []
  var v7 num [] "dk"
  const k0 num [] = 1.0
  v5 = const k0
  v4 = param_update v5 v1 v7 by n0
  v3 = apply mul (v4, v0)
  v6 = when v0 v1
  v7 = apply mul (v2, v6)
node n2 "main"
  formal v0
  formal v1
  formal v2
  formal v3
  output v4
  var v0 num [] "x"
  var v1 bool [] "bp"
  var v2 num [] "do"
  var v3 bool [] "end"
  var v4 num [] "o"
  v4 = call n1 "diff_scale_0" (v0, v1, v2){every}
"#
    );
    let module = normal::parse(&text).expect("the text is well formed");
    let module = Differentiated::new(module).expect("no adjoint is called by name");
    let flat = pass::inline(&module).expect("it can be inlined");
    pass::draw(pass::lower(flat, pass::Keep::Needed), 0).expect("memory for the draws")
}

/// `x`, the gradient if there is one, and `end`; `None` for a cycle in which nothing is present.
type Cycle = Option<(f64, Option<f64>, bool)>;

fn row(flat: &Drawn, cycles: &[Cycle], closed: bool) -> Vec<Option<f64>> {
    let num = |x: f64| InputCell::Given(Value::F64(x));
    let inputs: Vec<Vec<InputCell>> = cycles
        .iter()
        .map(|cycle| match cycle {
            None => vec![InputCell::Absent; 4],
            Some((x, d, end)) => vec![
                num(*x),
                InputCell::Given(Value::Bool(d.is_some())),
                d.map_or(InputCell::Absent, num),
                InputCell::Given(Value::Bool(*end)),
            ],
        })
        .collect();
    let trace = run(flat, &inputs, closed);
    assert!(trace.failures.is_empty() && trace.error_cycles().is_empty());
    let number = |s: Status| s.value().and_then(Value::as_num);
    trace.row(flat.outputs[0]).into_iter().map(number).collect()
}

const CYCLES: [Cycle; 8] = [
    Some((1.0, None, false)),
    None,
    Some((2.0, Some(10.0), false)),
    Some((3.0, Some(100.0), true)),
    Some((1.0, None, true)),
    Some((1.0, Some(1000.0), false)),
    None,
    Some((1.0, None, false)),
];

#[test]
fn a_parameter_under_windows_is_updated_once_a_window() {
    // 1; then 1 + 2 * 10 + 3 * 100 after the first window; nothing comes from the second; the third has not ended.
    let expected = [1.0, 2.0, 3.0, 321.0, 321.0, 321.0];
    let flat = scale(" every v3");
    for closed in [false, true] {
        let present: Vec<f64> = row(&flat, &CYCLES, closed).into_iter().flatten().collect();
        assert_eq!(present, expected, "closed: {closed}");
    }
    // A fourth window starts from the sum of the third.
    let mut longer = CYCLES.to_vec();
    longer.extend([Some((1.0, None, true)), Some((1.0, None, false))]);
    assert_eq!(row(&flat, &longer, false).last(), Some(&Some(1321.0)));
}

#[test]
fn a_parameter_outside_windows_is_updated_every_cycle() {
    let present: Vec<f64> = row(&scale(""), &CYCLES, false).into_iter().flatten().collect();
    assert_eq!(present, [1.0, 2.0, 63.0, 321.0, 321.0, 1321.0]);
}
