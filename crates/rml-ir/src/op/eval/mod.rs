//! Reference evaluation of every operator: operands to one fresh value.
//!
//! Written to be read, and quick where a simulator needs it: scalars are computed inline, without allocation
//! ([`scalar`]); tensors go through borrowed [`view`]s, one file for each family of operators. All results
//! are deterministic, and the same on every machine: functions, sums and products of nums are the kernels of
//! `rml-kernels`, whose results do not depend on what else is computed beside them. Nothing here is
//! threaded or planned.

use std::fmt;

use rml_base::memory::{self, Shortage};

use super::{Binary, Op};
use crate::types::Precision;
use crate::value::Value;

mod depthwise;
mod einsum;
mod fourier;
mod gather;
mod layout;
mod linear;
mod logsumexp;
mod matrices;
mod need;
mod pointwise;
mod random;
mod reduce;
mod scalar;
pub mod slices;
mod sliding;
mod sort;
mod strided;
mod view;

pub use linear::product_onto;
pub use need::need;
pub use reduce::Around;
pub use slices::{Number, negligible};
pub use sliding::Convolution;
use view::View;

/// Why an operator has no result although its operands have the right types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// An integer result does not fit 64 bits.
    IntegerOverflow,
    /// A position is outside of its axis.
    PositionOutside {
        /// The position.
        index: i64,
        /// How long the axis is.
        size: usize,
    },
    /// It would take more memory than is allowed.
    Memory(Shortage),
}

impl From<Shortage> for EvalError {
    fn from(shortage: Shortage) -> Self {
        EvalError::Memory(shortage)
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::IntegerOverflow => f.write_str("an integer result does not fit 64 bits"),
            EvalError::PositionOutside { index, size } => {
                write!(f, "position {index} is outside of an axis of size {size}")
            }
            EvalError::Memory(shortage) => shortage.fmt(f),
        }
    }
}

impl std::error::Error for EvalError {}

/// Evaluates `op`; operands have types that [`result_type`](super::result_type) accepts, and their numbers
/// are stored in `precision`.
///
/// # Errors
/// If an integer result does not fit 64 bits, if a position is outside of its axis, or if the evaluation would take
/// more memory than is allowed.
///
/// # Panics
/// If `result_type` does not accept the operands.
pub fn eval(op: &Op, args: &[&Value], precision: Precision) -> Result<Value, EvalError> {
    // What is not scalar stays out of line, so that the quick path has a small frame.
    let quick = match args {
        [x] => scalar::unary(op, x, precision),
        [a, b] => scalar::binary(op, a, b),
        _ => None,
    };
    match quick {
        Some(result) => result,
        None => general(op, args, precision),
    }
}

/// Whatever is not on the quick path, if there is memory for it.
#[inline(never)]
fn general(op: &Op, args: &[&Value], precision: Precision) -> Result<Value, EvalError> {
    memory::ask(need(op, args, precision))?;
    match args {
        _ if matches!(op, Op::RandomUniform { .. } | Op::RandomNormal { .. }) => {
            Ok(random::draw(op, args, precision))
        }
        [x] => unary(op, x, precision),
        [a, b] => binary(op, a, b),
        _ => several(op, args),
    }
}

fn unary(op: &Op, x: &Value, precision: Precision) -> Result<Value, EvalError> {
    let view = View::of(x);
    match op {
        Op::Copy | Op::StopGradient => Ok(x.clone()),
        Op::Unary(_) | Op::Convert(_) | Op::Not => pointwise::unary(op, &view, precision),
        Op::Reshape { shape } | Op::Broadcast { shape } if shape.dims() == view.dims => Ok(x.clone()),
        Op::Transpose { perm } => Ok(layout::transpose(perm, &view)),
        Op::Reshape { shape } => Ok(layout::reshape(shape, x)),
        Op::Broadcast { shape } => Ok(layout::broadcast(shape, &view)),
        Op::Index { items } => Ok(layout::index(items, &view)),
        Op::Unindex { shape, items } => Ok(layout::unindex(shape, items, &view)),
        Op::SumTo { shape } => reduce::sum_to(shape, x),
        Op::Reduce(by, axis) => reduce::reduce(*by, *axis, &view),
        Op::CumSum { axis, reverse } => reduce::cumsum(*axis, *reverse, &view),
        Op::Sort { axis, descending } => Ok(sort::sort_by(*axis, *descending, &view, &view)),
        Op::ArgSort { axis, descending } => Ok(sort::positions(*axis, *descending, &view)),
        Op::MaxPool(pool) => Ok(sliding::max_pool(pool, &view)),
        Op::AvgPool(pool) => Ok(sliding::avg_pool(pool, &view)),
        Op::Patches(pool) => Ok(sliding::patches(pool, &view)),
        Op::Unpatches { shape, pool } => Ok(sliding::unpatches(shape, pool, &view)),
        Op::Softmax => Ok(reduce::softmax(&view, false)),
        Op::LogSoftmax => Ok(reduce::softmax(&view, true)),
        Op::OneHot { classes } => Ok(layout::one_hot(*classes, &view, precision)),
        Op::Concat { .. } | Op::Stack { .. } => several(op, &[x]),
        Op::Einsum(labels) => Ok(einsum::einsum(labels, &[&view])),
        Op::Cholesky => Ok(matrices::cholesky(&view)),
        Op::Rfft => Ok(fourier::rfft(&view)),
        Op::Irfft { n } => Ok(fourier::irfft(*n, &view)),
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or | Op::MatMul | Op::Pick | Op::Conv(_) => {
            unreachable!("an operator of two operands")
        }
        Op::ConvTranspose { .. } | Op::ConvKernel { .. } => unreachable!("an operator of two operands"),
        Op::Gather { .. } | Op::ScatterAdd { .. } | Op::SortBy { .. } | Op::Solve => {
            unreachable!("an operator of two operands")
        }
        Op::Clip | Op::Where => unreachable!("an operator of three operands"),
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => unreachable!("an operator of a key and a tick"),
    }
}

fn binary(op: &Op, a: &Value, b: &Value) -> Result<Value, EvalError> {
    let (left, right) = (View::of(a), View::of(b));
    match op {
        Op::Einsum(labels) => Ok(einsum::einsum(labels, &[&left, &right])),
        Op::MatMul => Ok(linear::matmul(&left, &right)),
        Op::Solve => Ok(matrices::solve(&left, &right)),
        Op::Conv(conv) => Ok(sliding::conv(conv, &left, &right)),
        Op::ConvTranspose { shape, conv } => Ok(sliding::conv_transpose(shape, conv, &left, &right)),
        Op::ConvKernel { shape, conv } => Ok(sliding::conv_kernel(shape, conv, &left, &right)),
        Op::Gather { axis } => gather::gather(*axis, &left, &right),
        Op::ScatterAdd { shape, axis } => gather::scatter_add(shape, *axis, &left, &right),
        Op::Pick => gather::pick(&left, &right),
        Op::SortBy { axis, descending } => Ok(sort::sort_by(*axis, *descending, &left, &right)),
        Op::Concat { .. } | Op::Stack { .. } => several(op, &[a, b]),
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or => pointwise::binary(op, &left, &right),
        Op::Copy | Op::StopGradient | Op::Not | Op::Unary(_) | Op::Convert(_) => unreachable!("{CHECKED}"),
        Op::Clip | Op::Where | Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => {
            unreachable!("{CHECKED}")
        }
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. } => {
            unreachable!("{CHECKED}")
        }
        Op::Index { .. } | Op::Unindex { .. } | Op::Reduce(..) | Op::CumSum { .. } | Op::Softmax => {
            unreachable!("{CHECKED}")
        }
        Op::Rfft | Op::Irfft { .. } => unreachable!("{CHECKED}"),
        Op::LogSoftmax | Op::OneHot { .. } | Op::Sort { .. } | Op::ArgSort { .. } | Op::Cholesky => {
            unreachable!("{CHECKED}")
        }
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => unreachable!("{CHECKED}"),
    }
}

fn several(op: &Op, args: &[&Value]) -> Result<Value, EvalError> {
    match (op, args) {
        (Op::Concat { axis }, _) => Ok(layout::concat(*axis, args)),
        (Op::Stack { axis }, _) => Ok(layout::stack(*axis, args)),
        (Op::Where, [cond, a, b]) => Ok(layout::choose(cond, a, b)),
        (Op::Clip, [x, lo, hi]) => {
            let above = pointwise::binary(&Op::Binary(Binary::Maximum), &View::of(x), &View::of(lo))?;
            pointwise::binary(&Op::Binary(Binary::Minimum), &View::of(&above), &View::of(hi))
        }
        _ => unreachable!("an operator of one or two operands"),
    }
}

/// The message of a panic that only operands of a wrong type can cause.
const CHECKED: &str = "operands have types that `result_type` accepts";
