//! Operators by their definitions, element by element: slow, and independent of the evaluation under test.
//!
//! All elements are computed in double precision; ints and truth values are represented as whole numbers.

use rml_ir::op::{AxisIndex, Einsum, Op, Reduction};
use rml_ir::{DType, Data, Value};

mod layout;
mod matrices;
mod pointwise;
mod sliding;

/// A tensor of elements of any type.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Array {
    pub(super) dtype: DType,
    pub(super) dims: Vec<usize>,
    pub(super) data: Vec<f64>,
}

impl Array {
    /// The elements of a value; `None` if an int is too large for a double.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let data = match value.to_data() {
            Data::Bool(v) => v.into_iter().map(|b| f64::from(u8::from(b))).collect(),
            Data::Int(v) if v.iter().any(|i| i.unsigned_abs() > 1 << 40) => return None,
            Data::Int(v) => v.into_iter().map(|i| i as f64).collect(),
            Data::F32(v) => v.into_iter().map(f64::from).collect(),
            Data::F64(v) => v,
        };
        Some(Self { dtype: value.dtype(), dims: value.shape().dims().to_vec(), data })
    }

    fn zeros(dtype: DType, dims: &[usize]) -> Self {
        Self { dtype, dims: dims.to_vec(), data: vec![0.0; dims.iter().product()] }
    }

    /// An array with the value of `f` at each position.
    fn each(dtype: DType, dims: &[usize], mut f: impl FnMut(&[usize]) -> f64) -> Self {
        Self { dtype, dims: dims.to_vec(), data: positions(dims).map(|at| f(&at)).collect() }
    }

    fn offset(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.dims).fold(0, |sum, (i, d)| sum * d + i)
    }

    fn at(&self, at: &[usize]) -> f64 {
        self.data[self.offset(at)]
    }

    /// The element that broadcasting puts at a position of a larger shape.
    fn spread(&self, at: &[usize]) -> f64 {
        let behind = &at[at.len() - self.dims.len()..];
        let own: Vec<usize> =
            behind.iter().zip(&self.dims).map(|(i, d)| if *d == 1 { 0 } else { *i }).collect();
        self.at(&own)
    }

    fn add(&mut self, at: &[usize], x: f64) {
        let offset = self.offset(at);
        self.data[offset] += x;
    }
}

/// All positions of a shape, row-major.
fn positions(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let dims = dims.to_vec();
    (0..dims.iter().product()).map(move |n: usize| {
        let mut rest = n;
        let mut at: Vec<usize> = dims.iter().rev().map(|d| (rest % d, rest /= d).0).collect();
        at.reverse();
        at
    })
}

/// The result of an operator; `None` if this module has no definition (random numbers), or if there is no result.
pub(super) fn apply(op: &Op, args: &[Array]) -> Option<Array> {
    let x = args.first()?;
    match op {
        Op::MatMul => Some(matmul(x, &args[1])),
        Op::Einsum(e) => Some(einsum(e, args)),
        Op::Conv(c) => Some(sliding::conv(c, x, &args[1])),
        Op::ConvTranspose { shape, conv } => Some(sliding::conv_transpose(conv, shape.dims(), x, &args[1])),
        Op::ConvKernel { shape, conv } => Some(sliding::conv_kernel(conv, shape.dims(), x, &args[1])),
        Op::MaxPool(p) => Some(sliding::pool(p, x, f64::NEG_INFINITY, pointwise::maximum)),
        Op::AvgPool(p) => {
            let size: usize = p.axes.iter().map(|a| a.size).product();
            let mut sums = sliding::pool(p, x, 0.0, |a, b| a + b);
            sums.data.iter_mut().for_each(|v| *v /= size as f64);
            Some(sums)
        }
        Op::Patches(p) => Some(sliding::patches(p, x)),
        Op::Unpatches { shape, pool } => Some(sliding::unpatches(pool, shape.dims(), x)),
        Op::Reduce(Reduction::Sum, axis) => Some(reduce(x, *axis, x.dtype, |v| v.iter().sum())),
        Op::Reduce(Reduction::Mean, axis) => {
            Some(reduce(x, *axis, x.dtype, |v| v.iter().sum::<f64>() / v.len() as f64))
        }
        Op::Reduce(Reduction::Prod, axis) => Some(reduce(x, *axis, x.dtype, |v| v.iter().product())),
        Op::Reduce(Reduction::LogSumExp, axis) => Some(reduce(x, *axis, x.dtype, |v| {
            let most = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shift = if most.is_finite() { most } else { 0.0 };
            v.iter().map(|x| (x - shift).exp()).sum::<f64>().ln() + shift
        })),
        Op::Reduce(Reduction::Max, axis) => Some(reduce(x, *axis, x.dtype, |v| v[first(v, |a, b| a > b)])),
        Op::Reduce(Reduction::Min, axis) => Some(reduce(x, *axis, x.dtype, |v| v[first(v, |a, b| a < b)])),
        Op::Reduce(Reduction::ArgMax, axis) => {
            Some(reduce(x, *axis, DType::Int, |v| first(v, |a, b| a > b) as f64))
        }
        Op::Reduce(Reduction::ArgMin, axis) => {
            Some(reduce(x, *axis, DType::Int, |v| first(v, |a, b| a < b) as f64))
        }
        Op::Reduce(Reduction::Any, axis) => {
            Some(reduce(x, *axis, DType::Bool, |v| f64::from(u8::from(v.contains(&1.0)))))
        }
        Op::Reduce(Reduction::All, axis) => {
            Some(reduce(x, *axis, DType::Bool, |v| f64::from(u8::from(!v.contains(&0.0)))))
        }
        Op::CumSum { axis, reverse } => Some(cumsum(x, *axis, *reverse)),
        Op::Sort { axis, descending }
        | Op::ArgSort { axis, descending }
        | Op::SortBy { axis, descending } => Some(sorted(op, args, *axis, *descending)),
        Op::Softmax | Op::LogSoftmax => Some(softmax(x, *op == Op::LogSoftmax)),
        Op::OneHot { classes } => {
            let dims = [&x.dims[..], &[*classes]].concat();
            Some(Array::each(DType::Num, &dims, |at| {
                let (class, row) = at.split_last().unwrap_or((&0, &[]));
                f64::from(u8::from(x.at(row) == *class as f64))
            }))
        }
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => None,
        Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => matrices::apply(op, args),
        _ => layout::apply(op, args).or_else(|| pointwise::apply(op, args)),
    }
}

/// The position of the first element that no other element beats; NaN beats every number.
fn first(v: &[f64], beats: impl Fn(f64, f64) -> bool) -> usize {
    let best = |best: usize, i: usize| {
        let better = !v[best].is_nan() && (v[i].is_nan() || beats(v[i], v[best]));
        if better { i } else { best }
    };
    (1..v.len()).fold(0, best)
}

/// Reduces one axis, or all elements.
fn reduce(x: &Array, axis: Option<usize>, dtype: DType, f: impl Fn(&[f64]) -> f64) -> Array {
    let Some(axis) = axis else {
        return Array { dtype, dims: Vec::new(), data: vec![f(&x.data)] };
    };
    let mut dims = x.dims.clone();
    let n = dims.remove(axis);
    Array::each(dtype, &dims, |at| f(&along(x, at, axis, n)))
}

/// The elements along an axis; `at` is the position without it.
fn along(x: &Array, at: &[usize], axis: usize, n: usize) -> Vec<f64> {
    let element = |i: usize| {
        let mut whole = at.to_vec();
        whole.insert(axis, i);
        x.at(&whole)
    };
    (0..n).map(element).collect()
}

fn cumsum(x: &Array, axis: usize, reverse: bool) -> Array {
    Array::each(x.dtype, &x.dims, |at| {
        let mut rest = at.to_vec();
        let i = rest.remove(axis);
        let line = along(x, &rest, axis, x.dims[axis]);
        if reverse { line[i..].iter().rev().sum() } else { line[..=i].iter().sum() }
    })
}

/// Sorts by insertion: an element moves in front of all elements that it precedes.
fn sorted(op: &Op, args: &[Array], axis: usize, descending: bool) -> Array {
    let (keys, x) = (&args[0], &args[args.len() - 1]);
    let positions = matches!(op, Op::ArgSort { .. });
    Array::each(if positions { DType::Int } else { x.dtype }, &x.dims, |at| {
        let mut rest = at.to_vec();
        let i = rest.remove(axis);
        let line = along(keys, &rest, axis, keys.dims[axis]);
        let precedes = |a: f64, b: f64| {
            if a.is_nan() || b.is_nan() {
                !a.is_nan()
            } else if descending {
                a > b
            } else {
                a < b
            }
        };
        let mut order: Vec<usize> = Vec::new();
        for (k, &key) in line.iter().enumerate() {
            let place = order.iter().rposition(|&other| !precedes(key, line[other]));
            order.insert(place.map_or(0, |p| p + 1), k);
        }
        if positions { order[i] as f64 } else { along(x, &rest, axis, x.dims[axis])[order[i]] }
    })
}

fn softmax(x: &Array, log: bool) -> Array {
    let axis = x.dims.len() - 1;
    Array::each(DType::Num, &x.dims, |at| {
        let line = along(x, &at[..axis], axis, x.dims[axis]);
        let top = line.iter().copied().fold(f64::NEG_INFINITY, pointwise::maximum);
        let sum: f64 = line.iter().map(|v| (v - top).exp()).sum();
        let here = x.at(at) - top;
        if log { here - sum.ln() } else { here.exp() / sum }
    })
}

fn matmul(a: &Array, b: &Array) -> Array {
    let (row, column) = (a.dims.len() == 1, b.dims.len() == 1);
    let matrix = |x: &Array, dims: Vec<usize>| Array { dims, ..x.clone() };
    let a = if row { matrix(a, vec![1, a.dims[0]]) } else { a.clone() };
    let b = if column { matrix(b, vec![b.dims[0], 1]) } else { b.clone() };
    let (ra, rb) = (a.dims.len(), b.dims.len());
    let (m, k, n) = (a.dims[ra - 2], a.dims[ra - 1], b.dims[rb - 1]);
    let stack = layout::broadcast_dims(&a.dims[..ra - 2], &b.dims[..rb - 2]);
    let within = |x: &Array, at: &[usize], i: usize, j: usize| {
        let own = &at[at.len() - (x.dims.len() - 2)..];
        let mut whole: Vec<usize> =
            own.iter().zip(&x.dims).map(|(i, d)| if *d == 1 { 0 } else { *i }).collect();
        whole.extend([i, j]);
        x.at(&whole)
    };
    let mut made = Array::each(DType::Num, &[&stack[..], &[m, n]].concat(), |at| {
        let (at, ij) = at.split_at(stack.len());
        (0..k).map(|l| within(&a, at, ij[0], l) * within(&b, at, l, ij[1])).sum()
    });
    if column {
        made.dims.remove(stack.len() + 1);
    }
    if row {
        made.dims.remove(stack.len());
    }
    made
}

fn einsum(e: &Einsum, args: &[Array]) -> Array {
    let mut labels: Vec<char> = e.result().to_vec();
    labels.extend(e.operands().iter().flatten());
    let mut seen = Vec::new();
    labels.retain(|l| !seen.contains(l) && (seen.push(*l), true).1);
    let size = |label: &char| {
        let operands = e.operands().iter().zip(args);
        let mut sizes = operands.flat_map(|(ls, a)| ls.iter().zip(&a.dims).filter(|(l, _)| *l == label));
        sizes.next().map_or(1, |(_, d)| *d)
    };
    let dims: Vec<usize> = labels.iter().map(size).collect();
    let mut made = Array::zeros(DType::Num, &dims[..e.result().len()]);
    for at in positions(&dims) {
        let place = |label: &char| labels.iter().position(|l| l == label).map_or(0, |i| at[i]);
        let factors = e.operands().iter().zip(args);
        let product = factors.map(|(ls, a)| a.at(&ls.iter().map(place).collect::<Vec<_>>())).product();
        made.add(&at[..e.result().len()], product);
    }
    made
}

/// The positions in the operand that an index entry selects along an axis.
fn places(item: AxisIndex) -> Vec<usize> {
    item.positions().collect()
}
