//! Random programs with structure mean what the plain programs mean that are written beside them: values, gradients,
//! and what is learned from them.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::Value;
use rml_ir::flat::Drawn;
use rml_sim::{Input, Options as SimOptions, Simulator, Status};
use rml_testkit::{Random, structured};

const CYCLES: usize = 7;

fn compiled(text: &str) -> Arc<Drawn> {
    let options =
        Options { precision: Precision::F64, node: Some("caller".to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("program", text), &options);
    Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat())
}

/// The outputs of a run, cycle by cycle; a gradient may be absent.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<Input>], text: &str) -> Vec<Option<f64>> {
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
        let mut r = Random(seed);
        let (first, second) = structured::programs(&mut r);
        let cycle = |r: &mut Random, t: usize| {
            let num = |x: f64| Input::Given(Value::num(x, Precision::F64));
            let (x, c, m) = (r.range(-1.0, 1.0), r.chance(0.3), r.below(9));
            let m = i64::try_from(m).expect("small");
            let (d, end) = (r.range(-1.0, 1.0), t + 1 == CYCLES || r.chance(0.3));
            let [c, end] = [c, end].map(|b| Input::Given(Value::Bool(b)));
            vec![num(x), c, Input::Given(Value::Int(m)), num(d), end]
        };
        let inputs: Vec<Vec<Input>> = (0..CYCLES).map(|t| cycle(&mut r, t)).collect();
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
