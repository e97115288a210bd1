//! Instances of every operator with operand types that fit: the ground of gradient checks, round trips and
//! backend suites.

use super::result::{binary_takes, unary_takes};
use super::{AxisIndex, Binary, Compare, Conv, ConvAxis, Einsum, Op, Pool, PoolAxis, Reduction, Unary};
use crate::types::{DType, Shape, Type};
use crate::value::{Data, Value};

const BOOL: DType = DType::Bool;
const INT: DType = DType::Int;
const NUM: DType = DType::Num;

const fn at(i: usize) -> AxisIndex {
    AxisIndex::At(i)
}

const fn slice(start: usize, len: usize, step: isize) -> AxisIndex {
    AxisIndex::Slice { start, len, step }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims)
}

/// A convolution with those strides, paddings and dilations.
fn conv(axes: &[(usize, usize, usize, usize)], groups: usize) -> Conv {
    let axis = |&(stride, lo, hi, dilation): &_| ConvAxis { stride, lo, hi, dilation };
    Conv { axes: axes.iter().map(axis).collect(), groups }
}

/// Windows of those sizes, strides and paddings.
fn pool(axes: &[(usize, usize, usize, usize)]) -> Pool {
    Pool { axes: axes.iter().map(|&(size, stride, lo, hi)| PoolAxis { size, stride, lo, hi }).collect() }
}

fn einsum(labels: &str) -> Op {
    Op::Einsum(Einsum::parse(labels).expect("labels"))
}

const PLAIN: (usize, usize, usize, usize) = (1, 0, 0, 1);

/// Defines `listed` from one section for each operator, `Op => (instance, operand dtype and dims..);..`. The match in
/// `section` is exhaustive, so that a new operator does not compile before it has a section, and a section holds at
/// least one instance. Of the families the members are listed by themselves.
macro_rules! samples {
    (families: $($family:ident)+; $($name:ident => $(($op:expr $(, $dtype:ident $dims:expr)+);)+)+) => {
        fn listed() -> Vec<(Op, Vec<Type>)> {
            vec![$($(($op, vec![$(Type::new($dtype, &$dims)),+]),)+)+]
        }

        /// The section that an operator's instances must stand in; of a family, its name.
        #[cfg(test)]
        fn section(op: &Op) -> &'static str {
            match op {
                $(Op::$family(..) => stringify!($family),)+
                $(Op::$name { .. } => stringify!($name),)+
            }
        }

        /// The section of each sample, in the order of `listed`.
        #[cfg(test)]
        fn sections() -> Vec<&'static str> {
            vec![$($({ let _ = $op; stringify!($name) },)+)+]
        }
    };
}

/// Every operator at least once, each with the types of its operands.
pub fn samples() -> Vec<(Op, Vec<Type>)> {
    let pointwise = functions().chain(of_pairs()).chain(comparisons()).chain(conversions());
    pointwise.chain(listed()).chain(folds()).collect()
}

/// Operators of one operand of those shapes, for all types that they take.
fn functions() -> impl Iterator<Item = (Op, Vec<Type>)> {
    let shapes: [&[usize]; 3] = [&[], &[2, 3], &[5]];
    let of = move |f: Unary, dtype| shapes.map(|dims| (Op::Unary(f), vec![Type::new(dtype, dims)]));
    Unary::ALL.iter().flat_map(move |f| unary_takes(*f).iter().flat_map(move |dtype| of(*f, *dtype)))
}

/// Shapes of two operands that broadcast.
const PAIRS: [[&[usize]; 2]; 8] = [
    [&[], &[]],
    [&[2, 3], &[2, 3]],
    [&[2, 3], &[3]],
    [&[2, 1], &[1, 3]],
    [&[], &[2, 3]],
    [&[2, 3], &[]],
    [&[4, 1, 3], &[2, 1]],
    [&[0, 3], &[3]],
];

fn of_pairs() -> impl Iterator<Item = (Op, Vec<Type>)> {
    let of = |f: Binary, dtype| {
        PAIRS.map(|pair| (Op::Binary(f), pair.map(|dims| Type::new(dtype, dims)).to_vec()))
    };
    Binary::ALL.iter().flat_map(move |f| binary_takes(*f).iter().flat_map(move |dtype| of(*f, *dtype)))
}

fn comparisons() -> impl Iterator<Item = (Op, Vec<Type>)> {
    let of = |by: Compare, dtype| {
        [PAIRS[0], PAIRS[1], PAIRS[2]]
            .map(|pair| (Op::Compare(by), pair.map(|dims| Type::new(dtype, dims)).to_vec()))
    };
    Compare::ALL.into_iter().flat_map(move |by| by.takes().iter().flat_map(move |dtype| of(by, *dtype)))
}

fn conversions() -> impl Iterator<Item = (Op, Vec<Type>)> {
    let all = [BOOL, INT, NUM];
    let pairs = all
        .into_iter()
        .flat_map(move |to| all.into_iter().filter(move |from| *from != to).map(move |from| (from, to)));
    pairs.flat_map(|(from, to)| [&[][..], &[3]].map(|dims| (Op::Convert(to), vec![Type::new(from, dims)])))
}

/// Folds of all elements and of each axis; of no elements where they have a number as result.
fn folds() -> impl Iterator<Item = (Op, Vec<Type>)> {
    let cases: [(Option<usize>, &[usize]); 7] = [
        (None, &[]),
        (None, &[2, 3]),
        (Some(0), &[2, 3]),
        (Some(1), &[2, 3, 4]),
        (Some(2), &[2, 3, 4]),
        (Some(0), &[0, 3]),
        (Some(1), &[2, 0]),
    ];
    let kinds = Reduction::ALL.into_iter().flat_map(|by| by.takes().iter().map(move |dtype| (by, *dtype)));
    let all = kinds.flat_map(move |(by, dtype)| cases.map(|(axis, dims)| (by, dtype, axis, dims)));
    // The mean of nothing is NaN, and the logarithm of a sum of nothing infinite: no gradient can be compared with
    // them.
    let fits = |by: Reduction| by.has_neutral() && !matches!(by, Reduction::Mean | Reduction::LogSumExp);
    let fit = all.filter(move |(by, _, _, dims)| fits(*by) || !dims.contains(&0));
    fit.map(|(by, dtype, axis, dims)| (Op::Reduce(by, axis), vec![Type::new(dtype, dims)]))
}

samples! {
    families: Unary Binary Compare Convert Reduce;
    Copy => (Op::Copy, NUM []); (Op::Copy, BOOL [2]); (Op::Copy, INT [2, 3]);
    StopGradient => (Op::StopGradient, NUM [2, 3]);
    Not => (Op::Not, BOOL []); (Op::Not, BOOL [3]);
    Clip =>
        (Op::Clip, NUM [], NUM [], NUM []); (Op::Clip, NUM [2, 3], NUM [], NUM [3]);
        (Op::Clip, NUM [2, 1], NUM [3], NUM []); (Op::Clip, INT [4], INT [], INT []);
    Where =>
        (Op::Where, BOOL [], NUM [], NUM []); (Op::Where, BOOL [2, 3], NUM [2, 3], NUM []);
        (Op::Where, BOOL [3], NUM [2, 1], NUM [3]); (Op::Where, BOOL [2], INT [2], INT []);
        (Op::Where, BOOL [2], BOOL [2], BOOL [2]);
    And => (Op::And, BOOL [], BOOL []); (Op::And, BOOL [2, 3], BOOL [3]);
    Or => (Op::Or, BOOL [], BOOL []); (Op::Or, BOOL [2, 3], BOOL [3]);
    MatMul =>
        (Op::MatMul, NUM [3], NUM [3]); (Op::MatMul, NUM [3], NUM [3, 4]); (Op::MatMul, NUM [2, 3], NUM [3]);
        (Op::MatMul, NUM [2, 3], NUM [3, 4]); (Op::MatMul, NUM [2, 5, 3], NUM [3, 4]);
        (Op::MatMul, NUM [2, 5, 3], NUM [3]); (Op::MatMul, NUM [1, 1], NUM [1, 1]);
        (Op::MatMul, NUM [2, 0], NUM [0, 3]); (Op::MatMul, NUM [2, 4, 3], NUM [2, 3, 5]);
        (Op::MatMul, NUM [4, 3], NUM [2, 3, 5]); (Op::MatMul, NUM [3], NUM [2, 3, 5]);
        (Op::MatMul, NUM [2, 1, 4, 3], NUM [5, 3, 2]); (Op::MatMul, NUM [0, 4, 3], NUM [1, 3, 2]);
    Einsum =>
        (einsum("ij->ji"), NUM [2, 3]); (einsum("ijk->j"), NUM [2, 3, 4]); (einsum("ij->"), NUM [2, 3]);
        (einsum("->"), NUM []); (einsum("i,i->"), NUM [3], NUM [3]); (einsum("i,j->ji"), NUM [2], NUM [3]);
        (einsum("bij,bjk->bik"), NUM [2, 3, 4], NUM [2, 4, 2]);
        (einsum("bqhd,bkhd->bhqk"), NUM [2, 3, 2, 2], NUM [2, 2, 2, 2]);
        (einsum("xiy,izj->jy"), NUM [2, 3, 2], NUM [3, 2, 2]); (einsum("ij,->j"), NUM [2, 3], NUM []);
        (einsum("ij,jk->ik"), NUM [2, 0], NUM [0, 3]);
    Conv =>
        (Op::Conv(conv(&[PLAIN], 1)), NUM [4, 1], NUM [2, 1, 1]);
        (Op::Conv(conv(&[(2, 1, 0, 2)], 2)), NUM [2, 6, 4], NUM [3, 2, 4]);
        (Op::Conv(conv(&[PLAIN, PLAIN], 1)), NUM [4, 3, 2], NUM [2, 2, 2, 3]);
        (Op::Conv(conv(&[(2, 1, 2, 1), (1, 0, 1, 2)], 1)), NUM [2, 3, 4, 2], NUM [2, 2, 2, 3]);
        (Op::Conv(conv(&[PLAIN], 1)), NUM [0, 4, 1], NUM [2, 1, 3]);
        (Op::Conv(conv(&[PLAIN], 1)), NUM [4, 0], NUM [2, 0, 3]);
    ConvTranspose =>
        (Op::ConvTranspose { shape: shape(&[4, 1]), conv: conv(&[PLAIN], 1) }, NUM [3, 1], NUM [2, 1, 1]);
        (Op::ConvTranspose { shape: shape(&[2, 6, 4]), conv: conv(&[(2, 1, 0, 2)], 2) }, NUM [2, 2, 4], NUM [3, 2, 4]);
        (Op::ConvTranspose { shape: shape(&[2, 3, 4, 2]), conv: conv(&[(2, 1, 2, 1), (1, 0, 1, 2)], 1) },
            NUM [2, 3, 3, 3], NUM [2, 2, 2, 3]);
    ConvKernel =>
        (Op::ConvKernel { shape: shape(&[2, 1, 1]), conv: conv(&[PLAIN], 1) }, NUM [4, 1], NUM [3, 1]);
        (Op::ConvKernel { shape: shape(&[3, 2, 4]), conv: conv(&[(2, 1, 0, 2)], 2) }, NUM [2, 6, 4], NUM [2, 2, 4]);
        (Op::ConvKernel { shape: shape(&[2, 2, 2, 3]), conv: conv(&[(2, 1, 2, 1), (1, 0, 1, 2)], 1) },
            NUM [2, 3, 4, 2], NUM [2, 3, 3, 3]);
    MaxPool =>
        (Op::MaxPool(pool(&[(2, 2, 0, 0)])), NUM [4, 2]); (Op::MaxPool(pool(&[(3, 2, 1, 2)])), NUM [2, 5, 2]);
        (Op::MaxPool(pool(&[(2, 1, 0, 0), (2, 2, 1, 0)])), NUM [2, 3, 4, 2]);
        (Op::MaxPool(pool(&[(2, 2, 0, 0)])), NUM [0, 4, 2]);
    AvgPool =>
        (Op::AvgPool(pool(&[(2, 2, 0, 0)])), NUM [4, 2]); (Op::AvgPool(pool(&[(3, 2, 1, 2)])), NUM [2, 5, 2]);
        (Op::AvgPool(pool(&[(2, 1, 0, 0), (2, 2, 1, 0)])), NUM [2, 3, 4, 2]);
    Patches =>
        (Op::Patches(pool(&[(2, 2, 0, 0)])), NUM [4, 2]); (Op::Patches(pool(&[(3, 2, 1, 2)])), NUM [2, 5, 2]);
        (Op::Patches(pool(&[(2, 1, 0, 0), (2, 2, 1, 0)])), NUM [2, 3, 4, 2]);
    Unpatches =>
        (Op::Unpatches { shape: shape(&[4, 2]), pool: pool(&[(2, 1, 0, 0)]) }, NUM [3, 2, 2]);
        (Op::Unpatches { shape: shape(&[2, 5, 2]), pool: pool(&[(3, 2, 1, 2)]) }, NUM [2, 3, 3, 2]);
        (Op::Unpatches { shape: shape(&[3, 4, 2]), pool: pool(&[(2, 1, 0, 0), (2, 2, 1, 0)]) },
            NUM [2, 2, 2, 2, 2]);
    Transpose =>
        (Op::Transpose { perm: vec![1, 0] }, NUM [2, 3]);
        (Op::Transpose { perm: vec![2, 0, 1] }, NUM [2, 3, 4]);
        (Op::Transpose { perm: vec![0] }, INT [3]); (Op::Transpose { perm: vec![] }, NUM []);
    Reshape =>
        (Op::Reshape { shape: shape(&[3, 2]) }, NUM [2, 3]); (Op::Reshape { shape: shape(&[]) }, NUM [1, 1]);
        (Op::Reshape { shape: shape(&[1, 1]) }, NUM []); (Op::Reshape { shape: shape(&[6]) }, INT [2, 3]);
    Broadcast =>
        (Op::Broadcast { shape: shape(&[2, 3]) }, NUM []); (Op::Broadcast { shape: shape(&[2, 3]) }, NUM [3]);
        (Op::Broadcast { shape: shape(&[2, 3]) }, NUM [2, 1]);
        (Op::Broadcast { shape: shape(&[4, 2, 3]) }, NUM [1, 2, 1]);
        (Op::Broadcast { shape: shape(&[2, 3]) }, NUM [2, 3]);
        (Op::Broadcast { shape: shape(&[4]) }, BOOL []);
    SumTo =>
        (Op::SumTo { shape: shape(&[]) }, NUM [2, 3]); (Op::SumTo { shape: shape(&[3]) }, NUM [2, 3]);
        (Op::SumTo { shape: shape(&[2, 1]) }, NUM [2, 3]);
        (Op::SumTo { shape: shape(&[1, 2, 1]) }, NUM [4, 2, 3]);
        (Op::SumTo { shape: shape(&[2, 3]) }, NUM [2, 3]); (Op::SumTo { shape: shape(&[3]) }, INT [2, 3]);
    Concat =>
        (Op::Concat { axis: 0 }, NUM [2], NUM [3]);
        (Op::Concat { axis: 1 }, NUM [2, 3], NUM [2, 1], NUM [2, 2]);
        (Op::Concat { axis: 0 }, NUM [2, 3], NUM [1, 3]); (Op::Concat { axis: 0 }, NUM [2]);
        (Op::Concat { axis: 0 }, INT [0], INT [2]);
    Stack =>
        (Op::Stack { axis: 0 }, NUM [], NUM [], NUM []); (Op::Stack { axis: 0 }, NUM [2, 3], NUM [2, 3]);
        (Op::Stack { axis: 0 }, INT []); (Op::Stack { axis: 1 }, NUM [2, 3], NUM [2, 3]);
        (Op::Stack { axis: 2 }, NUM [2, 3], NUM [2, 3], NUM [2, 3]); (Op::Stack { axis: 1 }, INT [0], INT [0]);
    Index =>
        (Op::Index { items: vec![at(1)] }, NUM [3]);
        (Op::Index { items: vec![at(1), slice(0, 3, 1)] }, NUM [2, 3]);
        (Op::Index { items: vec![slice(0, 2, 2), at(1)] }, NUM [4, 3]);
        (Op::Index { items: vec![slice(1, 2, 1), slice(0, 3, 1)] }, NUM [4, 3]);
        (Op::Index { items: vec![slice(0, 2, 1), slice(1, 2, 2)] }, NUM [2, 4]);
        (Op::Index { items: vec![slice(2, 0, 1)] }, INT [2]); (Op::Index { items: vec![] }, NUM []);
        (Op::Index { items: vec![slice(2, 3, -1)] }, NUM [3]);
        (Op::Index { items: vec![slice(4, 2, -2), slice(2, 3, -1)] }, NUM [5, 3]);
        (Op::Index { items: vec![slice(1, 2, -1), at(1), slice(0, 2, 1)] }, INT [2, 3, 2]);
    Unindex =>
        (Op::Unindex { shape: shape(&[3]), items: vec![at(1)] }, NUM []);
        (Op::Unindex { shape: shape(&[4, 3]), items: vec![slice(0, 2, 2), at(1)] }, NUM [2]);
        (Op::Unindex { shape: shape(&[2, 4]), items: vec![slice(0, 2, 1), slice(1, 2, 2)] }, NUM [2, 2]);
        (Op::Unindex { shape: shape(&[2]), items: vec![slice(2, 0, 1)] }, INT [0]);
        (Op::Unindex { shape: shape(&[3]), items: vec![slice(2, 3, -1)] }, NUM [3]);
        (Op::Unindex { shape: shape(&[5, 3]), items: vec![slice(4, 2, -2), slice(2, 3, -1)] }, NUM [2, 3]);
    Gather =>
        (Op::Gather { axis: 0 }, NUM [3], INT []); (Op::Gather { axis: 0 }, NUM [3, 2], INT [4]);
        (Op::Gather { axis: 1 }, NUM [2, 3, 2], INT [2, 2]); (Op::Gather { axis: 1 }, INT [2, 3], INT [2]);
        (Op::Gather { axis: 0 }, NUM [3, 2], INT [0]);
    ScatterAdd =>
        (Op::ScatterAdd { shape: shape(&[3]), axis: 0 }, INT [], NUM []);
        (Op::ScatterAdd { shape: shape(&[3, 2]), axis: 0 }, INT [4], NUM [4, 2]);
        (Op::ScatterAdd { shape: shape(&[2, 3, 2]), axis: 1 }, INT [2, 2], NUM [2, 2, 2, 2]);
        (Op::ScatterAdd { shape: shape(&[3]), axis: 0 }, INT [4], INT [4]);
    Pick =>
        (Op::Pick, NUM [3], INT []); (Op::Pick, NUM [4, 3], INT [4]); (Op::Pick, NUM [2, 2, 3], INT [2, 2]);
        (Op::Pick, INT [4, 3], INT [4]);
    CumSum =>
        (Op::CumSum { axis: 0, reverse: false }, NUM [4]); (Op::CumSum { axis: 0, reverse: true }, NUM [4]);
        (Op::CumSum { axis: 1, reverse: false }, NUM [2, 3, 2]); (Op::CumSum { axis: 0, reverse: true }, INT [3, 2]);
        (Op::CumSum { axis: 1, reverse: true }, NUM [2, 0]);
    Sort =>
        (Op::Sort { axis: 0, descending: false }, NUM [5]); (Op::Sort { axis: 1, descending: true }, NUM [2, 3, 2]);
        (Op::Sort { axis: 0, descending: true }, INT [4, 2]); (Op::Sort { axis: 1, descending: false }, NUM [2, 0]);
    ArgSort =>
        (Op::ArgSort { axis: 0, descending: true }, NUM [5]); (Op::ArgSort { axis: 1, descending: false }, NUM [2, 3, 2]);
        (Op::ArgSort { axis: 1, descending: true }, INT [2, 4]); (Op::ArgSort { axis: 0, descending: false }, INT [0]);
    SortBy =>
        (Op::SortBy { axis: 0, descending: false }, NUM [5], NUM [5]);
        (Op::SortBy { axis: 1, descending: true }, NUM [2, 3, 2], NUM [2, 3, 2]);
        (Op::SortBy { axis: 1, descending: false }, INT [2, 4], NUM [2, 4]);
        (Op::SortBy { axis: 0, descending: true }, NUM [4, 2], BOOL [4, 2]);
        (Op::SortBy { axis: 0, descending: false }, INT [0], INT [0]);
    Cholesky => (Op::Cholesky, NUM [3, 3]); (Op::Cholesky, NUM [2, 2, 2]); (Op::Cholesky, NUM [0, 0]);
    Solve =>
        (Op::Solve, NUM [3, 3], NUM [3]); (Op::Solve, NUM [3, 3], NUM [3, 2]); (Op::Solve, NUM [2, 2, 2], NUM [2, 2]);
        (Op::Solve, NUM [2, 3, 3], NUM [2, 3, 2]); (Op::Solve, NUM [2, 2], NUM [2, 2]); (Op::Solve, NUM [2, 2], NUM [2, 0]);
    Rfft => (Op::Rfft, NUM [4]); (Op::Rfft, NUM [2, 3]); (Op::Rfft, NUM [1]); (Op::Rfft, NUM [2, 6]); (Op::Rfft, NUM [0, 2]);
    Irfft =>
        (Op::Irfft { n: 4 }, NUM [3, 2]); (Op::Irfft { n: 3 }, NUM [2, 2, 2]); (Op::Irfft { n: 1 }, NUM [1, 2]);
        (Op::Irfft { n: 5 }, NUM [3, 2]); (Op::Irfft { n: 2 }, NUM [2, 2]);
    RandomUniform =>
        (Op::RandomUniform { shape: shape(&[]) }, INT [], INT []); (Op::RandomUniform { shape: shape(&[2, 3]) }, INT [], INT []);
        (Op::RandomUniform { shape: shape(&[0]) }, INT []);
    RandomNormal =>
        (Op::RandomNormal { shape: shape(&[]) }, INT [], INT []); (Op::RandomNormal { shape: shape(&[3]) }, INT [], INT []);
        (Op::RandomNormal { shape: shape(&[3]) }, INT []);
    Softmax => (Op::Softmax, NUM [4]); (Op::Softmax, NUM [2, 3]); (Op::Softmax, NUM [2, 2, 3]);
    LogSoftmax => (Op::LogSoftmax, NUM [4]); (Op::LogSoftmax, NUM [2, 3]); (Op::LogSoftmax, NUM [2, 2, 3]);
    OneHot => (Op::OneHot { classes: 4 }, INT []); (Op::OneHot { classes: 3 }, INT [2]);
}

/// A random operand (of numbers of magnitude 2 at most) for which the operator has a result that a small change does
/// not change much: to one element of each row of a square matrix, more is added than the others make up. Other
/// operands stay.
pub fn conditioned(op: &Op, operand: usize, value: &Value) -> Value {
    let place = match (op, operand) {
        (Op::Cholesky, 0) => |row: usize, _: usize| row,
        // Not on the diagonal, so that rows are exchanged.
        (Op::Solve, 0) => |row: usize, n: usize| (row + 1) % n,
        _ => return value.clone(),
    };
    let shape = value.shape();
    let n = shape.dims().last().copied().unwrap_or(0);
    let at = |i: usize| i % n.max(1) == place(i / n.max(1) % n.max(1), n);
    #[allow(clippy::cast_precision_loss, reason = "a count of elements")]
    let more = (2 * n + 1) as f64;
    let shifted = |(i, x): (usize, f64)| if at(i) { x + more } else { x };
    #[allow(clippy::cast_possible_truncation, reason = "single precision is meant")]
    let data = match value.to_data() {
        Data::F32(v) => {
            Data::F32(v.into_iter().map(f64::from).enumerate().map(|x| shifted(x) as f32).collect())
        }
        Data::F64(v) => Data::F64(v.into_iter().enumerate().map(shifted).collect()),
        other => other,
    };
    Value::new(shape, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::result_type;

    #[test]
    fn every_sample_stands_in_its_section_and_has_a_type() {
        for ((op, _), name) in listed().iter().zip(sections()) {
            assert_eq!(section(op), name, "{op} stands in a wrong section");
        }
        for (op, args) in &samples() {
            if let Err(e) = result_type(op, args) {
                panic!("{op} of {args:?}: {e}");
            }
        }
    }

    #[test]
    fn every_sample_reads_back() {
        for (op, _) in samples() {
            assert_eq!(Op::parse(&op.to_string()), Ok(op.clone()), "{op}");
            assert!(!op.to_string().contains(['(', ')', '\n']), "{op}");
        }
    }
}
