//! Automata compute the same as a small interpreter of states, and as programs without automata. Plans compute the same
//! as the simulator.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::flat::Drawn;
use rml_ir::{DType, Value};
use rml_sim::{InputCell, Options as SimOptions, Simulator, Status};
use rml_testkit::{Lcg, plans};

const CYCLES: usize = 40;

fn compiled(text: &str) -> Arc<Drawn> {
    let options = Options { precision: Precision::F64, node: Some("main".to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("program", text), &options);
    Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat())
}

/// The outputs of a run, cycle by cycle; plans must agree.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], text: &str) -> Vec<Vec<Option<f64>>> {
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    let ran = inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true));
    ran.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let number = |status: &Status| match status {
        Status::Value(Value::Int(value)) => Some(*value as f64),
        Status::Value(Value::Bool(value)) => Some(f64::from(u8::from(*value))),
        Status::Value(value) => Some(value.as_num().expect("a number")),
        Status::Absent => None,
        other => panic!("{other:?}\n{text}"),
    };
    let rows = std::iter::from_fn(|| sim.next_output());
    rows.map(|row| row.values.iter().map(number).collect()).collect()
}

/// Random inputs of a program; ints are small.
fn random(flat: &Drawn, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let mut cell = |t: usize, dtype: DType| {
        InputCell::Given(match dtype {
            DType::Bool => Value::Bool(r.chance(0.25) || t + 1 == CYCLES),
            DType::Int => Value::Int(r.below(4) as i64),
            DType::Num => Value::num(r.range(-1.0, 1.0), Precision::F64),
        })
    };
    let dtypes: Vec<DType> = flat.inputs.iter().map(|input| flat.vars[input.var].ty.dtype).collect();
    (0..CYCLES).map(|t| dtypes.iter().map(|dtype| cell(t, *dtype)).collect()).collect()
}

fn planned(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], r: &mut Lcg, text: &str) {
    match plans::compare(flat, inputs, r) {
        Ok(plans::Planned::Equal | plans::Planned::Waited(..)) => {}
        other => panic!("{other:?}\n{text}"),
    }
}

fn int(input: &InputCell) -> i64 {
    match input {
        InputCell::Given(Value::Int(value)) => *value,
        InputCell::Given(Value::Bool(value)) => i64::from(*value),
        other => panic!("{other:?}"),
    }
}

/// Counts up, counts down from a parameter, or keeps the value; uses all kinds of transitions.
const COUNTS: &str = "
node main(x: int [], c: bool [], d: bool []) -> (y, k)
  automaton
    state Up
      n = x + (0 fby n);
      y = n;
      k = 1;
      until n > 4 then Down(n);
      until c continue Hold;
    state Down(from = 7)
      m = from fby (m - 1);
      y = m;
      k = 2;
      unless d then Up;
      unless from > 7 continue Hold;
      until m < 3 continue Up;
      until c then Down;
    state Hold
      y = 100 + late(x);
      k = 3;
      unless d continue Down(from_outside);
      until c then Hold;
  end;
  from_outside = 5 + x;

node late(x) -> (o)
  o = 10 fby x;
";

/// The memory of the states of [`COUNTS`].
#[derive(Default)]
struct Counts {
    state: usize,
    restart: bool,
    from: i64,
    delays: [Option<i64>; 3],
}

impl Counts {
    fn enter(&mut self, (state, restart, from): (usize, bool, Option<i64>)) {
        (self.state, self.restart) = (state, restart);
        if let Some(from) = from {
            self.from = from;
        }
    }

    fn cycle(&mut self, x: i64, c: bool, d: bool) -> (i64, i64) {
        match self.state {
            1 if d => self.enter((0, true, None)),
            1 if self.from > 7 => self.enter((2, false, None)),
            2 if d => self.enter((1, false, Some(5 + x))),
            _ => {}
        }
        if self.restart {
            self.delays[self.state] = None;
        }
        let (state, delay) = (self.state, self.delays[self.state]);
        self.restart = false;
        let (y, next) = match state {
            0 => (x + delay.unwrap_or(0), x + delay.unwrap_or(0)),
            1 => {
                let m = delay.unwrap_or(self.from);
                (m, m - 1)
            }
            _ => (100 + delay.unwrap_or(10), x),
        };
        self.delays[state] = Some(next);
        match state {
            0 if y > 4 => self.enter((1, true, Some(y))),
            0 if c => self.enter((2, false, None)),
            1 if y < 3 => self.enter((0, false, None)),
            1 if c => self.enter((1, true, Some(7))),
            2 if c => self.enter((2, true, None)),
            _ => {}
        }
        (y, state as i64 + 1)
    }
}

#[test]
fn states_run_as_an_interpreter_runs_them() {
    let flat = compiled(COUNTS);
    let mut visited = [0; 4];
    for seed in 0..12 {
        let mut r = Lcg(seed);
        let inputs = random(&flat, &mut r);
        let mut machine = Counts { from: 7, ..Counts::default() };
        let expected: Vec<Vec<Option<f64>>> = inputs
            .iter()
            .map(|row| {
                let (y, k) = machine.cycle(int(&row[0]), int(&row[1]) == 1, int(&row[2]) == 1);
                visited[k as usize] += 1;
                vec![Some(y as f64), Some(k as f64)]
            })
            .collect();
        assert_eq!(outputs(&flat, &inputs, COUNTS), expected, "seed {seed}");
        planned(&flat, &inputs, &mut r, COUNTS);
    }
    assert!(visited[1..].iter().all(|count| *count > 20), "{visited:?}");
}

/// Checks that both programs compute the same, also by plan.
fn agree(automaton: &str, plain: &str) {
    let [a, b] = [automaton, plain].map(compiled);
    for seed in 0..4 {
        let mut r = Lcg(seed);
        let inputs = random(&a, &mut r);
        let [first, second] = [(&a, automaton), (&b, plain)].map(|(flat, text)| outputs(flat, &inputs, text));
        let near = |pair: (&Option<f64>, &Option<f64>)| match pair {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
            (a, b) => a == b,
        };
        let same = first.iter().flatten().zip(second.iter().flatten()).all(near);
        assert!(same, "seed {seed}: {first:?}\n{second:?}\n{automaton}\n{plain}");
        planned(&a, &inputs, &mut r, automaton);
    }
}

#[test]
fn automata_stand_in_states() {
    agree(
        "node main(x: num [], c: bool [], d: bool []) -> (y)
           automaton
             state Off
               y = 0.0;
               until c then On;
             state On
               automaton
                 state Low
                   z = x + (0.0 fby z);
                   until d continue High;
                 state High
                   z = 2.0 * x + (0.0 fby z);
                   until d continue Low;
               end;
               y = z;
               unless c then Off;
           end;",
        "node main(x: num [], c: bool [], d: bool []) -> (y)
           was = false fby (if runs then true else c);
           runs = was and not c;
           start = runs and not (false fby runs);
           y = merge runs (inner(x when runs, d when runs, start when runs)) (0.0 when not runs);
         node inner(x, d: bool [], r: bool []) -> (y)
           h = if r then false else (false fby (if d then not h else h));
           low = if r then 0.0 else (0.0 fby (if h then low else y));
           high = if r then 0.0 else (0.0 fby (if h then y else high));
           y = if h then 2.0 * x + high else x + low;",
    );
}

#[test]
fn gradients_pass_through_states() {
    agree(
        "node f(x: num [], c: bool []) -> (o: num [])
           automaton
             state A
               unread = x;
               o = x * x + (0.5 fby o);
               until c then B(x * o);
             state B(k = 1.0)
               unread = c;
               o = k * tanh(x);
               until c continue A;
           end;
         node main(x: num [], c: bool [], end: bool []) -> (o, dx)
           o, dx = diff_f(x, c, true, o) every (end or c);",
        "node f(x: num [], c: bool []) -> (o: num [])
           b = false fby (if c then not b else b);
           k = 1.0 fby (if c then (if b then k else x * o) else k);
           s = 0.5 fby l;
           l = if b then s else x * x + s;
           o = if b then k * tanh(x) else x * x + s;
         node main(x: num [], c: bool [], end: bool []) -> (o, dx)
           o, dx = diff_f(x, c, true, o) every (end or c);",
    );
}

#[test]
fn delays_with_clocks_of_their_own_restart_too() {
    let text = "
node slow(x: int [], c: bool []) -> (n)
  s = x when c;
  m = s + (0 fby m);
  n = merge c m (0 when not c);
node main(x: int [], c: bool [], d: bool []) -> (y)
  automaton
    state A
      y = slow(x, c);
      until d then A;
  end;
";
    let flat = compiled(text);
    let inputs = random(&flat, &mut Lcg(3));
    let (mut sum, mut expected) = (0, Vec::new());
    for row in &inputs {
        let [x, c, d] = [0, 1, 2].map(|i| int(&row[i]));
        sum += c * x;
        expected.push(vec![Some((c * sum) as f64)]);
        sum *= 1 - d;
    }
    assert_eq!(outputs(&flat, &inputs, text), expected);
}
