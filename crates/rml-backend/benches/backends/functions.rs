//! The functions that are timed.

use rml_backend::{Function, Val};
use rml_ir::op::{AxisIndex, Binary, Op, Unary};
use rml_ir::{DType, Precision, Type, Value};

/// A function whose first results have the types of its first inputs.
pub(crate) struct Case {
    /// The kind of work.
    pub(crate) group: &'static str,
    /// The size of the work.
    pub(crate) size: String,
    pub(crate) function: Function,
    pub(crate) args: Vec<Value>,
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [&[][..], &[64], &[4096], &[1 << 20]].into_iter().map(add).collect();
    cases.extend([64, 256, 1024].map(matmul));
    cases.extend([(16, 64), (28, 128)].map(|(inputs, units)| lstm(32, inputs, units)));
    cases
}

fn num(dims: &[usize]) -> Type {
    Type::new(DType::Num, dims)
}

/// A value of shape `dims` whose elements are all `x`.
fn filled(dims: &[usize], x: f64) -> Value {
    Value::filled(&num(dims), x, Precision::F32)
}

fn apply(f: &mut Function, op: Op, args: &[Val]) -> Val {
    f.apply(op, args.to_vec(), Function::nowhere()).expect("operands of these types fit")
}

/// `x + y`.
fn add(dims: &[usize]) -> Case {
    let mut f = Function::new("add", Precision::F32);
    let (x, y) = (f.input(num(dims), Function::nowhere()), f.input(num(dims), Function::nowhere()));
    let sum = apply(&mut f, Op::Binary(Binary::Add), &[x, y]);
    f.results = vec![sum];
    let size = dims.first().copied().unwrap_or(1).to_string();
    Case { group: "add", size, function: f, args: vec![filled(dims, 0.0), filled(dims, 1e-3)] }
}

/// `x @ y` of square matrices; `y` computes means, so the elements do not change.
#[allow(clippy::cast_precision_loss, reason = "sizes are small")]
fn matmul(n: usize) -> Case {
    let dims = [n, n];
    let mut f = Function::new("matmul", Precision::F32);
    let (x, y) = (f.input(num(&dims), Function::nowhere()), f.input(num(&dims), Function::nowhere()));
    let product = apply(&mut f, Op::MatMul, &[x, y]);
    f.results = vec![product];
    let args = vec![filled(&dims, 0.5), filled(&dims, 1.0 / n as f64)];
    Case { group: "matmul", size: n.to_string(), function: f, args }
}

/// The step of an LSTM: `(h, c, x, weights, recurrent weights, bias) -> (h, c)`.
fn lstm(batch: usize, inputs: usize, units: usize) -> Case {
    let state = [batch, units];
    let shapes: [&[usize]; 6] =
        [&state, &state, &[batch, inputs], &[inputs, 4 * units], &[units, 4 * units], &[4 * units]];
    let mut f = Function::new("lstm", Precision::F32);
    let given: Vec<Val> = shapes.iter().map(|dims| f.input(num(dims), Function::nowhere())).collect();
    let [h, c, x, w, u, b] = given[..] else { unreachable!("six inputs") };
    let from_input = apply(&mut f, Op::MatMul, &[x, w]);
    let from_state = apply(&mut f, Op::MatMul, &[h, u]);
    let sum = apply(&mut f, Op::Binary(Binary::Add), &[from_input, from_state]);
    let all = apply(&mut f, Op::Binary(Binary::Add), &[sum, b]);
    let gate = |f: &mut Function, i: usize, op: Op| {
        let columns = AxisIndex::Slice { start: i * units, len: units, step: 1 };
        let part = apply(f, Op::Index { items: vec![AxisIndex::whole(batch), columns] }, &[all]);
        apply(f, op, &[part])
    };
    let (input, forget) =
        (gate(&mut f, 0, Op::Unary(Unary::Sigmoid)), gate(&mut f, 1, Op::Unary(Unary::Sigmoid)));
    let (candidate, output) =
        (gate(&mut f, 2, Op::Unary(Unary::Tanh)), gate(&mut f, 3, Op::Unary(Unary::Sigmoid)));
    let kept = apply(&mut f, Op::Binary(Binary::Mul), &[forget, c]);
    let added = apply(&mut f, Op::Binary(Binary::Mul), &[input, candidate]);
    let next = apply(&mut f, Op::Binary(Binary::Add), &[kept, added]);
    let squashed = apply(&mut f, Op::Unary(Unary::Tanh), &[next]);
    let shown = apply(&mut f, Op::Binary(Binary::Mul), &[output, squashed]);
    f.results = vec![shown, next];
    let args = shapes.iter().map(|dims| filled(dims, 0.01)).collect();
    Case { group: "lstm", size: format!("{inputs}-{units}"), function: f, args }
}

/// A chain of `operators` operators, and a constant that makes the function a new one.
pub(crate) fn chain(operators: usize, constant: f64) -> Function {
    let mut f = Function::new("chain", Precision::F32);
    let mut x = f.input(num(&[32, 64]), Function::nowhere());
    let y = f.constant(&Value::F64(constant), Function::nowhere());
    for i in 0..operators {
        x = match i % 3 {
            0 => apply(&mut f, Op::Binary(Binary::Add), &[x, y]),
            1 => apply(&mut f, Op::Unary(Unary::Tanh), &[x]),
            _ => apply(&mut f, Op::Binary(Binary::Mul), &[x, x]),
        };
    }
    f.results = vec![x];
    f
}
