//! Random programs with structure compute the same as the plain programs next to them: values, gradients, and learned
//! parameters.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::Value;
use rml_ir::flat::Drawn;
use rml_sim::{InputCell, Options as SimOptions, Simulator, Status};
use rml_testkit::{Lcg, plans, structured};

const CYCLES: usize = 7;

fn compiled(text: &str) -> Arc<Drawn> {
    let options =
        Options { precision: Precision::F64, node: Some("caller".to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("program", text), &options);
    Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat())
}

/// The outputs of a run, cycle by cycle; a gradient may be absent.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], text: &str) -> Vec<Option<f64>> {
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    let ran = inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true));
    ran.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let number = |status: &Status| match status {
        Status::Value(value) => Some(value.as_num().expect("a number")),
        Status::Absent => None,
        other => panic!("{other:?}\n{text}"),
    };
    let rows = std::iter::from_fn(|| sim.next_output());
    let all: Vec<Option<f64>> =
        rows.flat_map(|row| row.values.iter().map(number).collect::<Vec<_>>()).collect();
    assert_eq!(all.len(), 2 * CYCLES, "{text}");
    all
}

#[test]
fn structure_means_what_is_written_out() {
    let mut learned = 0;
    for seed in 0..150 {
        let mut r = Lcg(seed);
        let (first, second) = structured::programs(&mut r);
        let cycle = |r: &mut Lcg, t: usize| {
            let num = |x: f64| InputCell::Given(Value::num(x, Precision::F64));
            let (x, c, m) = (r.range(-1.0, 1.0), r.chance(0.3), r.below(9));
            let m = i64::try_from(m).expect("small");
            let (d, end) = (r.range(-1.0, 1.0), t + 1 == CYCLES || r.chance(0.3));
            let [c, end] = [c, end].map(|b| InputCell::Given(Value::Bool(b)));
            vec![num(x), c, InputCell::Given(Value::Int(m)), num(d), end]
        };
        let inputs: Vec<Vec<InputCell>> = (0..CYCLES).map(|t| cycle(&mut r, t)).collect();
        let [a, b] = [&first, &second].map(|text| outputs(&compiled(text), &inputs, text));
        let near = |pair: (&Option<f64>, &Option<f64>)| match pair {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
            (a, b) => a == b,
        };
        assert!(a.iter().zip(&b).all(near), "seed {seed}: {a:?}\n{b:?}\n{first}\n{second}");
        learned += usize::from(
            first.contains("step(") && a.iter().skip(1).step_by(2).any(|dx| dx.is_some_and(|dx| dx != 0.0)),
        );
    }
    assert!(learned > 50, "only {learned} programs have parameters and gradients");
}

/// Restarts around automata, in states, and within each other: no value waits, so a plan computes them.
#[test]
fn restarts_of_automata_have_plans() {
    let text = "
node count(x: int []) -> (n: int [])
  n = x + (0 fby n);
node mid(r: bool []) -> (a: int [])
  a = count(1) restart r;
node machine(c: bool [], r: bool []) -> (a: int [])
  automaton
    state L
      a = mid(r) restart c;
      until a == 3 then M;
    state M
      automaton
        state P
          a = 10 * count(1);
          until c then Q;
        state Q
          a = -count(1);
          unless c continue P;
          unless count(1) > 2 then P;
      end;
      until a == -3 then L;
  end;
node main(c: bool [], r: bool [], s: bool []) -> (a: int [])
  a = machine(c, r) restart s;";
    let options = Options { node: Some("main".to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("program", text), &options).unwrap_or_else(|e| panic!("{e}"));
    let row = |cycle: &str| -> Vec<InputCell> {
        "crs".chars().map(|name| InputCell::Given(Value::Bool(cycle.contains(name)))).collect()
    };
    // L counts, and r and c restart it; M counts by 10 until c, then down until the third cycle; s restarts the machine
    let cycles = ["", "", "r", "", "c", "", "", "", "", "c", "", "", "", "c", "", "c", "", "", "", "s"];
    let expected = [1, 2, 1, 2, 1, 2, 3, 10, 20, 30, -1, -2, 10, 20, -1, 30, -1, -2, 10, 1];
    let rows: Vec<Vec<InputCell>> = cycles.iter().map(|cycle| row(cycle)).collect();
    let mut sim = Simulator::new(Arc::clone(program.flat()), SimOptions::default());
    rows.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true)).unwrap();
    let found: Vec<i64> = std::iter::from_fn(|| sim.next_output())
        .map(|row| match &row.values[0] {
            Status::Value(Value::Int(a)) => *a,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, expected);
    match plans::compare(program.flat(), &rows, &mut Lcg(1)) {
        Ok(plans::Planned::Equal) => {}
        other => panic!("{other:?}"),
    }
}
