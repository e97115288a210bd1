//! How much memory an evaluation takes, from the shapes alone: asked for before anything is allocated.
//!
//! A bound from above on what is allocated at once beside the operands: the result and whatever the evaluation works
//! with. A dimension of 0 counts as 1 everywhere, so that the bound also covers loops that find no element. Numbers
//! saturate.

use smallvec::SmallVec;

use crate::op::result::picked;
use crate::op::{Conv, Op, Pool, Reduction};
use crate::types::{DType, Precision, Shape};
use crate::value::Value;

/// Elements, or bytes, as many as fit.
fn product(factors: impl IntoIterator<Item = usize>) -> u64 {
    factors.into_iter().fold(1, |n, d| n.saturating_mul(d.max(1) as u64))
}

/// An operand's dimensions.
fn dims(x: &Value) -> &[usize] {
    if let Value::Tensor(t) = x { t.shape().dims() } else { &[] }
}

fn extent(x: &Value) -> u64 {
    product(dims(x).iter().copied())
}

/// The bytes of a value of that shape.
fn of_shape(shape: &Shape, size: u64) -> u64 {
    product(shape.dims().iter().copied()).saturating_mul(size)
}

/// The bytes of one element of an operand.
fn size(x: &Value) -> u64 {
    x.dtype().size(x.precision()) as u64
}

fn bytes(x: &Value) -> u64 {
    extent(x).saturating_mul(size(x))
}

/// The extent of what the operands broadcast to.
fn broadcast(args: &[&Value]) -> u64 {
    let longest: usize = args.iter().map(|x| dims(x).len()).max().unwrap_or(0);
    let at = |x: &Value, i: usize| (i + dims(x).len()).checked_sub(longest).map_or(1, |k| dims(x)[k]);
    product((0..longest).map(|i| args.iter().map(|x| at(x, i)).max().unwrap_or(1)))
}

/// The bytes of a list of positions, which is collected without knowing how long it becomes.
fn positions(i: &Value) -> u64 {
    extent(i).saturating_mul(3 * size_of::<usize>() as u64)
}

/// Without the axis, or without any.
fn reduced(x: &Value, axis: Option<usize>) -> u64 {
    match axis {
        None => 1,
        Some(axis) => product(dims(x).iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &d)| d)),
    }
}

/// The bytes of a sum to `shape`: one axis is summed after the other, so that at most two sums exist at once.
fn summed(x: &Value, shape: &Shape) -> u64 {
    let mut dims: SmallVec<[usize; 8]> = SmallVec::from_slice(dims(x));
    let missing = dims.len().saturating_sub(shape.rank());
    let (mut last, mut most) = (0_u64, 0_u64);
    for axis in 0..dims.len() {
        let wanted = axis.checked_sub(missing).map_or(1, |i| shape.dims()[i]);
        if dims[axis] != wanted {
            dims[axis] = 1;
            let sum = product(dims.iter().copied()).saturating_mul(size(x));
            most = most.max(sum.saturating_add(last));
            last = sum;
        }
    }
    // If only axes of size 1 are left out, the elements are copied.
    if last == 0 { bytes(x) } else { most }
}

/// How many bytes [evaluating](super::eval) `op` takes at most at once, beside its operands.
pub fn need(op: &Op, args: &[&Value], precision: Precision) -> u64 {
    let [x, ..] = args else { return 0 };
    let num = DType::Num.size(precision) as u64;
    match op {
        Op::Copy | Op::StopGradient => 0,
        // The same tensor is shared.
        Op::Reshape { shape } | Op::Broadcast { shape } | Op::SumTo { shape } if shape.dims() == dims(x) => 0,
        Op::Unary(_) | Op::Not | Op::Transpose { .. } | Op::CumSum { .. } => bytes(x),
        Op::Softmax | Op::LogSoftmax => bytes(x),
        Op::Convert(DType::Num) => extent(x).saturating_mul(num),
        Op::Convert(DType::Int) => positions(x),
        Op::Convert(DType::Bool) => extent(x),
        Op::Binary(_) => broadcast(args).saturating_mul(size(x)),
        Op::And | Op::Or | Op::Compare(_) => broadcast(args),
        // A result in between.
        Op::Clip => broadcast(args).saturating_mul(2 * size(x)),
        // The operands are repeated to the shape of the result.
        Op::Where => broadcast(args).saturating_mul(args.get(1).map_or(0, |a| 1 + 3 * size(a))),
        Op::MatMul => matmul(args, num).saturating_add(blocks(sum_of_bytes(args))),
        Op::Cholesky => bytes(x),
        // The result; factors, both parts, and copies of them, of one transform.
        Op::Rfft => {
            let n = product([dims(x).last().copied().unwrap_or(1)]);
            bytes(x).saturating_mul(4).saturating_add(n.saturating_mul(6 * num))
        }
        Op::Irfft { n } => bytes(x).saturating_mul(2).saturating_add((*n as u64).saturating_mul(6 * num)),
        // The result, and one matrix.
        Op::Solve => {
            let n = product([dims(x).last().copied().unwrap_or(1)]);
            let matrix = n.saturating_mul(n).saturating_mul(num);
            args.get(1).map_or(0, |b| bytes(b)).saturating_add(matrix)
        }
        Op::Einsum(labels) => {
            let size_of = |label: &char| {
                let places = args.iter().zip(labels.operands());
                let mut sizes =
                    places.filter_map(|(x, own)| Some(dims(x)[own.iter().position(|l| l == label)?]));
                sizes.next().unwrap_or(1)
            };
            let result = product(labels.result().iter().map(size_of)).saturating_mul(num);
            // Each operand is copied, copied again to be summed, summed and reordered; the product is copied when it is
            // reordered.
            sum_of_bytes(args).saturating_mul(4).saturating_add(result.saturating_mul(3))
        }
        Op::Conv(conv) => convolution(conv, dims(x), args.get(1).map_or(&[], |k| dims(k)), args, num),
        Op::ConvTranspose { shape, conv } => {
            convolution(conv, shape.dims(), args.get(1).map_or(&[], |k| dims(k)), args, num)
        }
        Op::ConvKernel { shape, conv } => convolution(conv, dims(x), shape.dims(), args, num),
        Op::MaxPool(pool) | Op::AvgPool(pool) => pooled(pool, dims(x), 1).saturating_mul(2 * num),
        // The windows are collected without knowing how many elements they have.
        Op::Patches(pool) => pooled(pool, dims(x), taps(pool)).saturating_mul(4 * num),
        Op::Unpatches { shape, .. } => of_shape(shape, num),
        Op::Broadcast { shape } | Op::Unindex { shape, .. } => of_shape(shape, size(x)),
        Op::SumTo { shape } => summed(x, shape),
        Op::Concat { .. } | Op::Stack { .. } => sum_of_bytes(args),
        Op::Reshape { .. } => bytes(x),
        Op::Index { items } => of_shape(&picked(items), size(x)),
        Op::Gather { axis } => {
            let Some(i) = args.get(1) else { return 0 };
            let picked = reduced(x, Some(*axis)).saturating_mul(extent(i)).saturating_mul(size(x));
            picked.saturating_add(positions(i))
        }
        Op::ScatterAdd { shape, .. } => {
            let Some(d) = args.get(1) else { return 0 };
            of_shape(shape, size(d)).saturating_add(positions(x))
        }
        Op::Pick => args.get(1).map_or(0, |i| positions(i).saturating_add(extent(i).saturating_mul(size(x)))),
        Op::Reduce(by, axis) => {
            let results = reduced(x, *axis);
            match by {
                Reduction::Sum | Reduction::Prod | Reduction::LogSumExp | Reduction::Max | Reduction::Min => {
                    results.saturating_mul(size(x))
                }
                // The sums, then the quotients.
                Reduction::Mean => results.saturating_mul(2 * size(x)),
                // A pair of element and position each, then the positions.
                Reduction::ArgMax | Reduction::ArgMin => results.saturating_mul(24),
                Reduction::Any | Reduction::All => results,
            }
        }
        // The order of one line, and what a stable sort of it works with, beside the result.
        Op::Sort { axis, .. } | Op::ArgSort { axis, .. } | Op::SortBy { axis, .. } => {
            let line = product([dims(x).get(*axis).copied().unwrap_or(1)]);
            let element = args.get(1).map_or_else(|| size(x).max(8), |x| size(x));
            let sorted = line.saturating_mul(2 * size_of::<usize>() as u64).saturating_add(4096);
            extent(x).saturating_mul(element).saturating_add(sorted)
        }
        Op::RandomUniform { shape } | Op::RandomNormal { shape } => {
            of_shape(shape, crate::random::DRAWN + num)
        }
        Op::OneHot { classes } => extent(x).saturating_mul(product([*classes])).saturating_mul(num),
    }
}

/// The bytes that the matrix product repacks of operands of that many bytes: blocks, so no more than a constant.
fn blocks(operands: u64) -> u64 {
    operands.min(4 << 20)
}

fn sum_of_bytes(args: &[&Value]) -> u64 {
    args.iter().fold(0, |n, x| n.saturating_add(bytes(x)))
}

fn matmul(args: &[&Value], num: u64) -> u64 {
    let [a, b] = args else { return 0 };
    let (a, b) = (dims(a), dims(b));
    let rows = &a[..a.len().saturating_sub(1)];
    let [stack @ .., _, columns] = b else { return product(rows.iter().copied()).saturating_mul(num) };
    let (m, own) = rows.split_last().map_or((1, &[][..]), |(m, own)| (*m, own));
    let stack = Shape::new(own).broadcast(&Shape::new(stack)).unwrap_or_default();
    product(stack.dims().iter().copied().chain([m, *columns])).saturating_mul(num)
}

/// A convolution or one of its transposes: the result, the windows of an example and their transpose, a product, and
/// copies of the operands by groups.
fn convolution(conv: &Conv, x: &[usize], kernel: &[usize], args: &[&Value], num: u64) -> u64 {
    let rank = conv.axes.len();
    let ([sizes @ .., channels, filters], Some(first)) = (kernel, x.len().checked_sub(rank + 1)) else {
        return 0;
    };
    let spatial = &x[first..first + rank];
    let along = conv.axes.iter().zip(spatial.iter().zip(sizes));
    let windows: SmallVec<[usize; 2]> =
        along.map(|(axis, (&n, &size))| axis.windows(n, size).unwrap_or(usize::MAX)).collect();
    let (windows, depth) = (product(windows), product(sizes.iter().copied().chain([*channels])));
    let filters = filters.max(&1);
    let of_group = (filters / conv.groups.max(1)).max(1) as u64;
    let batch = product(x[..first].iter().copied());
    let convolved = batch.saturating_mul(windows).saturating_mul(*filters as u64);
    let inputs = product(x.iter().copied());
    let kernels = depth.saturating_mul(*filters as u64);
    let result = convolved.max(inputs).max(kernels);
    let rows = windows.saturating_mul(depth).saturating_mul(2);
    let products = windows.saturating_mul(of_group).saturating_add(depth.saturating_mul(of_group));
    let elements = result.saturating_add(rows).saturating_add(products);
    let multiplied = rows.saturating_add(products).saturating_mul(num);
    let operands = sum_of_bytes(args).saturating_mul(2);
    elements.saturating_mul(num).saturating_add(blocks(multiplied)).saturating_add(operands)
}

/// The elements of a window.
fn taps(pool: &Pool) -> usize {
    usize::try_from(product(pool.axes.iter().map(|axis| axis.size))).unwrap_or(usize::MAX)
}

/// The number of elements of a result that has that many for each window and channel.
fn pooled(pool: &Pool, x: &[usize], each: usize) -> u64 {
    let rank = pool.axes.len();
    let Some(first) = x.len().checked_sub(rank + 1) else { return 0 };
    let windows = pool.axes.iter().zip(&x[first..]).map(|(axis, &n)| axis.windows(n).unwrap_or(usize::MAX));
    let batch = x[..first].iter().copied();
    product(batch.chain(windows).chain([x[x.len() - 1], each]))
}
