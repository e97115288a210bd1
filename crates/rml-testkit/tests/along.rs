//! A call along an axis computes, in one cycle, the same bits as its node in a closed trace whose cycles are the
//! entries. Gradients have the bits of those in a window, and of those of a program unrolled by hand.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::flat::Drawn;
use rml_ir::op::Op;
use rml_ir::{DType, Data, Shape, Type, Value};
use rml_sim::{InputCell, Options as SimOptions, Simulator, Status};
use rml_testkit::{Lcg, plans};

/// The number of entries of an axis.
const ENTRIES: usize = 5;

fn compiled(text: &str) -> Arc<Drawn> {
    let options = Options { precision: Precision::F64, node: Some("main".to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("program", text), &options);
    Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat())
}

/// The values of all outputs of a closed trace, cycle by cycle.
fn outputs(flat: &Arc<Drawn>, rows: &[Vec<Value>], text: &str) -> Vec<Vec<Value>> {
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    let given = |row: &Vec<Value>| row.iter().cloned().map(InputCell::Given).collect::<Vec<_>>();
    let ran = rows.iter().try_for_each(|row| sim.feed(&given(row))).and_then(|()| sim.finish(true));
    ran.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let value = |status: &Status| match status {
        Status::Value(value) => value.clone(),
        other => panic!("{other:?}\n{text}"),
    };
    let rows = std::iter::from_fn(|| sim.next_output());
    rows.map(|row| row.values.iter().map(value).collect()).collect()
}

/// The shape and the bits of a value.
type Bits = (Vec<usize>, Vec<u64>);

fn bits(value: &Value) -> Bits {
    let all = match value {
        Value::Bool(b) => vec![u64::from(*b)],
        Value::Int(i) => vec![i.cast_unsigned()],
        Value::F64(x) => vec![x.to_bits()],
        Value::F32(x) => vec![u64::from(x.to_bits())],
        Value::Tensor(tensor) => match tensor.data() {
            Data::Bool(all) => all.iter().map(|b| u64::from(*b)).collect(),
            Data::Int(all) => all.iter().map(|i| i.cast_unsigned()).collect(),
            Data::F64(all) => all.iter().map(|x| x.to_bits()).collect(),
            Data::F32(all) => all.iter().map(|x| u64::from(x.to_bits())).collect(),
        },
    };
    (value.shape().dims().to_vec(), all)
}

fn all_bits(rows: &[Vec<Value>]) -> Vec<Vec<Bits>> {
    rows.iter().map(|row| row.iter().map(bits).collect()).collect()
}

fn random(ty: &Type, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.4)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(3) as i64).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-1.0, 1.0)).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

/// Entry `k` of a value along its first axis.
fn entry(value: &Value, k: usize) -> Value {
    let mut items: Vec<rml_ir::op::AxisIndex> =
        value.shape().dims().iter().map(|size| rml_ir::op::AxisIndex::whole(*size)).collect();
    items[0] = rml_ir::op::AxisIndex::At(k);
    rml_ir::op::eval(&Op::Index { items }, &[value], Precision::F64).expect("an entry")
}

fn types(flat: &Drawn) -> Vec<Type> {
    flat.inputs.iter().map(|input| flat.vars[input.var].ty.clone()).collect()
}

/// The inputs of every node `f`: for one entry, and for all entries of an axis.
const HEADS: [&str; 2] = [
    "(x: num [3], c: bool [], d: bool [], m: int [])",
    "(x: num [5, 3], c: bool [5], d: bool [5], m: int [5])",
];

/// Compares `f` over the cycles of a trace with `f` along an axis, in both directions, in two cycles.
fn agree(name: &str, nodes: &str, results: &str) {
    let [entries, axis] = HEADS;
    let by_cycles = format!("{nodes}\nnode main{entries} -> ({results})\n  {results} = f(x, c, d, m);\n");
    let cycles = compiled(&by_cycles);
    for (word, back) in [("along 0", false), ("along back 0", true)] {
        let text = format!("{nodes}\nnode main{axis} -> ({results})\n  {results} = f(x, c, d, m) {word};\n");
        let along = compiled(&text);
        for seed in 0..6 {
            let mut r = Lcg(seed);
            let rows: Vec<Vec<Value>> =
                (0..2).map(|_| types(&along).iter().map(|ty| random(ty, &mut r)).collect()).collect();
            let found = outputs(&along, &rows, &text);
            for (row, found) in rows.iter().zip(found) {
                let order: Vec<usize> = match back {
                    false => (0..ENTRIES).collect(),
                    true => (0..ENTRIES).rev().collect(),
                };
                let fed: Vec<Vec<Value>> =
                    order.iter().map(|k| row.iter().map(|value| entry(value, *k)).collect()).collect();
                for (turn, expected) in outputs(&cycles, &fed, &by_cycles).into_iter().enumerate() {
                    let found: Vec<Bits> =
                        found.iter().map(|value| bits(&entry(value, order[turn]))).collect();
                    let expected: Vec<Bits> = expected.iter().map(bits).collect();
                    assert_eq!(found, expected, "{name}, {word}, entry {}\n{text}", order[turn]);
                }
            }
            let given: Vec<Vec<InputCell>> =
                rows.iter().map(|row| row.iter().cloned().map(InputCell::Given).collect()).collect();
            match plans::compare(&along, &given, &mut r) {
                Ok(plans::Planned::Equal | plans::Planned::Waited(..)) => {}
                other => panic!("{name}: {other:?}\n{text}"),
            }
        }
    }
}

const F: &str = "node f(x: num [3], c: bool [], d: bool [], m: int [])";

#[test]
fn delays_in_both_directions() {
    agree("a sum", &format!("{F} -> (o)\n  o = x + (zeros([3]) fby o);"), "o");
    agree("backward", &format!("{F} -> (o)\n  o = x + (1.5 * x fby back o);"), "o");
    agree(
        "both, and initial values that are streams",
        &format!(
            "{F} -> (o, n)\n  o = x + (x[0] fby back (2.0 * x)) * (x fby (o + 1.0));\n  n = m fby (m + n);"
        ),
        "o, n",
    );
    agree("a map", &format!("{F} -> (o, p)\n  o = tanh(x);\n  p = c and d;"), "o, p");
    agree("delays of delays", &format!("{F} -> (o)\n  o = 0.0 fby (1.0 fby (x fby x));"), "o");
    agree("what is not read", &format!("{F} -> (o)\n  o = x;\n  s = x + (zeros([3]) fby s);"), "o");
    agree("an initial value with a state", &format!("{COUNT}{F} -> (o)\n  o = count(x) fby x;"), "o");
}

/// Nodes that sum their inputs.
const COUNT: &str = "
node count(x) -> (o)
  o = x + (zeros_like(x) fby o);

node both(x) -> (o)
  o = count(x) - (x fby back o);
";

#[test]
fn instances_inside() {
    agree("two instances", &format!("{COUNT}{F} -> (o)\n  o = count(x) * count(both(x));"), "o");
    agree(
        "windows",
        &format!("{COUNT}{F} -> (o, n)\n  o = both(x) every c;\n  n = count(m) every d;"),
        "o, n",
    );
    agree(
        "windows in windows",
        &format!("{COUNT}node g(x, d) -> (o)\n  o = both(x) every d;\n{F} -> (o)\n  o = g(x, d) every c;"),
        "o",
    );
    agree(
        "restart",
        &format!("{COUNT}{F} -> (o, n)\n  o = count(x) restart c;\n  n = both(m) restart d;"),
        "o, n",
    );
    agree(
        "a family",
        &format!("{COUNT}{F} -> (o)\n  h[0] = x;\n  h[k + 1] = count(h[k]) for k < 3;\n  o = h[3];"),
        "o",
    );
    agree(
        "a record",
        &format!(
            "record s = (a: num [3], b: int []);\n{F} -> (o, n)\n  t = s(zeros([3]), 1) fby s(x + t.a, m + t.b);\n  \
             o = t.a;\n  n = t.b;"
        ),
        "o, n",
    );
}

#[test]
fn clocks_inside() {
    agree(
        "a delay that is sampled",
        &format!(
            "{F} -> (o)\n  s = x when c;\n  t = s + (zeros([3]) fby t);\n  o = merge c t (x when not c);"
        ),
        "o",
    );
    agree(
        "sampled twice, backward",
        &format!(
            "{F} -> (o)\n  e = d when c;\n  s = (x when c) when not e;\n  t = s - (s fby back t);\n  \
             u = merge e ((x when c) when e) t;\n  o = merge c u (x when not c);"
        ),
        "o",
    );
    agree(
        "an instance that is sampled",
        &format!("{COUNT}{F} -> (o)\n  t = both(x when c);\n  o = merge c t (x when not c);"),
        "o",
    );
    agree(
        "a sampled instance in windows",
        &format!("{COUNT}{F} -> (o)\n  t = both(x when c) every d;\n  o = merge c t (x when not c);"),
        "o",
    );
    agree(
        "windows that end where something is present",
        &format!("{COUNT}{F} -> (o)\n  e = d when c;\n  o = both(x) every e;"),
        "o",
    );
    agree(
        "a sampled instance that restarts",
        &format!(
            "{COUNT}{F} -> (o)\n  t = count(x when c) restart (d when c);\n  o = merge c t (x when not c);"
        ),
        "o",
    );
    agree(
        "an input with a declared clock",
        &format!(
            "node g(c: bool [], x: num [3] when c) -> (o)\n  s = x + (zeros([3]) fby s);\n  \
             o = merge c s (zeros([3]));\n{F} -> (o, n)\n  o = g(c, x when c);\n  n = g(not d, x when not d);"
        ),
        "o, n",
    );
    agree(
        "a result with a declared clock",
        &format!(
            "node g(x: num [3], c: bool []) -> (s: num [3] when c)\n  s = x when c;\n{F} -> (o)\n  s = g(x, c);\n  \
             t = s + (zeros([3]) fby t);\n  o = merge c t (x when not c);"
        ),
        "o",
    );
    agree(
        "cases",
        &format!(
            "enum kind = Low, Middle, High;\n{COUNT}{F} -> (o)\n  p = gather([Low, Middle, High], m);\n  \
             o = match p (Low -> count(x), Middle -> zeros([3]) fby x, High -> both(x) + 1.0);"
        ),
        "o",
    );
    agree(
        "an automaton",
        &format!(
            "{COUNT}{F} -> (o, n)\n  automaton\n    state Up\n      o = count(x);\n      n = 1 + (0 fby n);\n      \
             until c then Down;\n    state Down\n      o = zeros([3]) - x + (x fby o);\n      n = -1;\n      \
             unless d continue Up;\n  end;"
        ),
        "o, n",
    );
}

#[test]
fn parameters_and_constants() {
    agree(
        "parameters",
        &format!(
            "{F} -> (o)\n  k = param([1.0, 2.0, 3.0]);\n  o = tanh(x * k + param(0.5) * (zeros([3]) fby o));"
        ),
        "o",
    );
    agree("an LSTM", &format!("import std.layers;\n{F} -> (o)\n  o = dense(2, lstm(4, x));"), "o");
    agree(
        "a shared instance inside",
        &format!(
            "import std.layers;\n{F} -> (o)\n  share u = dense(3, _);\n  \
             o = u(u(x)) + sum(u.params) * (zeros([3]) fby o);"
        ),
        "o",
    );
}

#[test]
fn each_entry_draws_random_streams_of_its_own() {
    let text = "
node noise(x: num []) -> (o)
  o = x + random_uniform([]) + (0.0 fby (0.0 * o));
node twice(x: num []) -> (o)
  o = noise(x);
node main(x: num [5]) -> (o: num [5])
  o = twice(x) along 0;";
    let zeros = Value::new(Shape::new(&[ENTRIES]), Data::F64(vec![0.0; ENTRIES]));
    let found = outputs(&compiled(text), &[vec![zeros.clone()], vec![zeros]], text);
    let mut drawn: Vec<Bits> =
        found.iter().flat_map(|row| (0..ENTRIES).map(|k| bits(&entry(&row[0], k)))).collect();
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 2 * ENTRIES, "{found:?}");
}

#[test]
fn along_in_along() {
    let nodes = "
node row(x: num []) -> (o)
  k = param(0.75);
  o = tanh(k * x + (0.1 fby o));

node rows(x: num [4]) -> (o: num [4])
  o = row(x) along 0 + 0.5 * (zeros([4]) fby o);
";
    let text = format!("{nodes}node main(x: num [5, 4]) -> (o)\n  o = rows(x) along 0;\n");
    let by_cycles = format!("{nodes}node main(x: num [4]) -> (o)\n  o = rows(x);\n");
    let (along, cycles) = (compiled(&text), compiled(&by_cycles));
    let x = random(&types(&along)[0], &mut Lcg(3));
    let found = outputs(&along, &[vec![x.clone()]], &text);
    let rows: Vec<Vec<Value>> = (0..ENTRIES).map(|k| vec![entry(&x, k)]).collect();
    for (k, expected) in outputs(&cycles, &rows, &by_cycles).into_iter().enumerate() {
        assert_eq!(bits(&entry(&found[0][0], k)), bits(&expected[0]));
    }
}

/// The optimiser and the nodes that are trained; the optimiser has a state.
const TRAINING: &str = "
node diff_param(init, bp, do) -> (o)
  o = init fby o + v;
  v = 0.5 * (zeros_like(init) fby v) + merge bp do (zeros_like(init));

node step(x: num [3]) -> (o: num [3])
  k = param([0.5, -0.25, 0.125]);
  o = tanh(k * x + 0.3 * (zeros([3]) fby o));

node stepped(k: num [3], s: num [3], x: num [3]) -> (o: num [3])
  o = tanh(k * x + 0.3 * s);
";

fn trained(text: &str, rows: &[Vec<Value>]) -> Vec<Vec<Value>> {
    outputs(&compiled(text), rows, text)
}

/// The gradients and updates of a scan, of a fold, and of two scans that share parameters.
#[test]
fn gradients_are_those_of_a_program_that_is_unrolled_by_hand() {
    let calls = "
  s0 = stepped(k, zeros([3]), x[0]);
  s1 = stepped(k, s0, x[1]);
  s2 = stepped(k, s1, x[2]);
  t1 = stepped(k, stepped(k, zeros([3]), x[2]), x[1]);";
    let programs = [
        ("o = step(x) along 0", "o = stack(0, s0, s1, s2)"),
        ("y = step(x) along 0;\n  o = stack(0, y[-1], 2.0 * y[-1], y[-1])", "o = stack(0, s2, 2.0 * s2, s2)"),
        ("o = stack(0, (step(x) along back 0)[1], x[0], x[0])", "o = stack(0, t1, x[0], x[0])"),
    ];
    for (along, plain) in programs {
        let caller = "
node main(x: num [3, 3], do: num [3, 3]) -> (o, dx)
  o, dx = diff_net(x, true, do);
";
        let along = format!("{TRAINING}node net(x: num [3, 3]) -> (o)\n  {along};\n{caller}");
        let plain = format!(
            "{TRAINING}node net(x: num [3, 3]) -> (o){calls}\n  {plain};\n  k = param([0.5, -0.25, 0.125]);\n{caller}"
        );
        let mut r = Lcg(11);
        let ty = Type { dtype: DType::Num, shape: Shape::new(&[3, 3]) };
        let rows: Vec<Vec<Value>> = (0..6).map(|_| vec![random(&ty, &mut r), random(&ty, &mut r)]).collect();
        assert_eq!(all_bits(&trained(&along, &rows)), all_bits(&trained(&plain, &rows)), "{along}\n{plain}");
    }
}

/// A node learns the same along an axis as in windows with the same number of cycles.
#[test]
fn gradients_are_those_of_windows() {
    let nodes = format!(
        "import std.layers;\n{TRAINING}
node net(x: num [3]) -> (o: num [3])
  o = step(lstm(3, x)) + dense(3, lstm_back(2, x));
"
    );
    let along = format!(
        "{nodes}
node nets(x: num [5, 3]) -> (o)
  o = net(x) along 0;

node main(x: num [5, 3], do: num [5, 3]) -> (o, dx)
  o, dx = diff_nets(x, true, do);
"
    );
    let cycles = format!(
        "{nodes}
node nets(x: num [3]) -> (o)
  o = net(x);

node main(x: num [3], do: num [3], end: bool []) -> (o, dx)
  o, dx = diff_nets(x, true, do) every end;
"
    );
    let mut r = Lcg(5);
    let ty = Type { dtype: DType::Num, shape: Shape::new(&[5, 3]) };
    let rows: Vec<Vec<Value>> = (0..4).map(|_| vec![random(&ty, &mut r), random(&ty, &mut r)]).collect();
    let single: Vec<Vec<Value>> = rows
        .iter()
        .flat_map(|row| {
            (0..ENTRIES).map(|k| {
                let end = Value::Bool(k + 1 == ENTRIES);
                row.iter().map(|value| entry(value, k)).chain([end]).collect()
            })
        })
        .collect();
    let found = trained(&along, &rows);
    let expected = trained(&cycles, &single);
    let numbers = |value: &Value| match value {
        Value::Tensor(t) => match t.data() {
            Data::F64(all) => all.to_vec(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    for (t, row) in found.iter().enumerate() {
        for k in 0..ENTRIES {
            for (a, b) in row.iter().zip(&expected[t * ENTRIES + k]) {
                let (a, b) = (numbers(&entry(a, k)), numbers(b));
                assert_eq!(a.len(), 3);
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
                assert!(a.iter().zip(&b).all(near), "cycle {t}, entry {k}: {a:?} {b:?}");
            }
        }
    }
    assert_ne!(bits(&found[0][0]), bits(&found[3][0]));
}

/// If only one entry is read, results that only other entries need are not computed.
#[test]
fn a_fold_computes_no_other_results() {
    let nodes = "
node f(x: num [3]) -> (o: num [2], n: num [])
  s = x + (zeros([3]) fby s);
  o = exp(s[0:2]);
  n = sum(s);
";
    let flat =
        compiled(&format!("{nodes}node main(x: num [9, 3]) -> (o)\n  y, _ = f(x) along 0;\n  o = y[-1];\n"));
    let text = rml_ir::flat::print(&flat);
    assert_eq!(text.matches("exp").count(), 1, "{text}");
    assert!(!text.contains("stack"), "{text}");
    assert!(!text.contains("fby"), "{text}");
}

/// A batch: the axis is not the first one, and some arguments have no such axis.
#[test]
fn other_axes() {
    let nodes = "
node f(gain: num [], x: num [2, 3], y: num [3]) -> (o: num [2, 3], n: num [2])
  o = gain * x + y + (zeros([2, 3]) fby o);
  n = sum(o, 1);
";
    let text = |equations: &str| {
        format!("{nodes}node main(x: num [2, 4, 3], y: num [4, 3]) -> (o, n)\n{equations}\n")
    };
    let [first, second, third] = [
        "  o, n = f(0.5, x, y) along (_, 1, 0);",
        "  o, m = f(0.5, x, transpose(y, [1, 0])) along (_, -2, -1);\n  n = transpose(m, [1, 0]);",
        "  p, q = f(0.5, x[:, ::-1], y[::-1]) along back (_, 1, 0);\n  o = p[:, ::-1];\n  n = q[:, ::-1];",
    ]
    .map(text);
    let mut r = Lcg(2);
    let row: Vec<Value> = types(&compiled(&first)).iter().map(|ty| random(ty, &mut r)).collect();
    let expected = outputs(&compiled(&first), std::slice::from_ref(&row), &first);
    assert_eq!(expected[0][0].shape().dims(), [2, 4, 3]);
    assert_eq!(expected[0][1].shape().dims(), [2, 4]);
    for text in [second, third] {
        let found = outputs(&compiled(&text), std::slice::from_ref(&row), &text);
        assert_eq!(all_bits(&found), all_bits(&expected), "{text}");
    }
}
