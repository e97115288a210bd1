//! Result types: what each operator makes of the types of its operands, and a text for what does not fit.
//!
//! Rules are strict (TYPE-3, TYPE-5): element types are never converted, and shapes broadcast
//! only by NumPy's rule.

use std::fmt;

use super::text::List;
use super::{Binary, Op, Reduction, Unary};
use crate::types::{DType, Shape, Type};

mod linear;
mod parts;
mod sliding;

use parts::check_items;
pub(super) use parts::picked;

/// The most elements a value may have.
pub const MAX_ELEMENTS: usize = 1 << 31;

/// Why operands do not fit an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeError {
    /// What the operator expects.
    pub expected: String,
    /// What it was given.
    pub found: String,
    /// Which operand is to blame, if one is.
    pub operand: Option<usize>,
}

impl TypeError {
    /// The same, the operand to blame renumbered.
    fn operand_at(mut self, f: impl Fn(usize) -> usize) -> Self {
        self.operand = self.operand.map(f);
        self
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl std::error::Error for TypeError {}

type Checked<T> = Result<T, TypeError>;

fn refuse<T>(operand: Option<usize>, expected: impl Into<String>, found: impl fmt::Display) -> Checked<T> {
    Err(TypeError { expected: expected.into(), found: found.to_string(), operand })
}

/// The type of `op` applied to operands of those types.
///
/// # Errors
/// If the operands, or the attributes of `op` together with them, do not fit, or the result has more than
/// [`MAX_ELEMENTS`] elements.
pub fn result_type(op: &Op, args: &[Type]) -> Result<Type, TypeError> {
    let ty = match op {
        Op::Binary(f) => {
            let [a, b] = operands(args)?;
            pointwise(a, b, binary_takes(*f), None)
        }
        Op::Compare(by) => {
            let [a, b] = operands(args)?;
            pointwise(a, b, by.takes(), Some(DType::Bool))
        }
        Op::And | Op::Or => {
            let [a, b] = operands(args)?;
            pointwise(a, b, &[DType::Bool], None)
        }
        Op::Clip => {
            let [x, lo, hi] = operands(args)?;
            let both = pointwise(x, lo, ARITHMETIC, None)?;
            pointwise(&both, hi, ARITHMETIC, None).map_err(|e| e.operand_at(|i| i + i))
        }
        Op::Where => {
            let [cond, a, b] = operands(args)?;
            choose(cond, a, b)
        }
        Op::MatMul => {
            let [a, b] = operands(args)?;
            linear::matmul(a, b)
        }
        Op::Cholesky => {
            let [a] = operands(args)?;
            linear::square(a)?;
            Ok(a.clone())
        }
        Op::Solve => {
            let [a, b] = operands(args)?;
            linear::solve(a, b)
        }
        Op::Rfft => {
            let [x] = operands(args)?;
            linear::rfft(x)
        }
        Op::Irfft { n } => {
            let [y] = operands(args)?;
            linear::irfft(*n, y)
        }
        Op::Einsum(labels) => linear::einsum(labels, args),
        Op::Conv(conv) => {
            let [x, kernel] = operands(args)?;
            sliding::conv(conv, x, kernel)
        }
        Op::ConvTranspose { shape, conv } => {
            let [d, kernel] = operands(args)?;
            sliding::conv_transpose(shape, conv, d, kernel)
        }
        Op::ConvKernel { shape, conv } => {
            let [x, d] = operands(args)?;
            sliding::conv_kernel(shape, conv, x, d)
        }
        Op::Gather { axis } => {
            let [x, i] = operands(args)?;
            parts::gather(*axis, x, i)
        }
        Op::ScatterAdd { shape, axis } => {
            let [i, d] = operands(args)?;
            parts::scatter_add(shape, *axis, i, d)
        }
        Op::Pick => {
            let [x, i] = operands(args)?;
            parts::pick(x, i)
        }
        Op::SortBy { axis, .. } => {
            let [keys, x] = operands(args)?;
            sort_by(*axis, keys, x)
        }
        Op::RandomUniform { shape } | Op::RandomNormal { shape } => random(shape, args),
        Op::Concat { axis } => concat(*axis, args),
        Op::Stack { axis } => stack(*axis, args),
        Op::Copy | Op::StopGradient | Op::Not | Op::Unary(_) | Op::Convert(_) | Op::Reduce(..) => {
            one(op, args)
        }
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => one(op, args),
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. } => one(op, args),
        Op::Index { .. } | Op::Unindex { .. } | Op::CumSum { .. } | Op::OneHot { .. } => one(op, args),
        Op::Sort { .. } | Op::ArgSort { .. } | Op::Softmax | Op::LogSoftmax => one(op, args),
    }?;
    match ty.shape.extent() {
        Some(n) if n <= MAX_ELEMENTS => Ok(ty),
        _ => refuse(None, format!("a result of at most {MAX_ELEMENTS} elements"), ty),
    }
}

const ARITHMETIC: &[DType] = &[DType::Int, DType::Num];

/// The element types of a function of one operand.
pub const fn unary_takes(f: Unary) -> &'static [DType] {
    match f {
        Unary::Neg | Unary::Abs | Unary::Sign => ARITHMETIC,
        Unary::Exp | Unary::Expm1 | Unary::Log | Unary::Log1p | Unary::Sqrt | Unary::Sin => &[DType::Num],
        Unary::Cos | Unary::Erf | Unary::Gelu | Unary::Softplus | Unary::Sigmoid => &[DType::Num],
        Unary::Tanh | Unary::Relu | Unary::Flush | Unary::Floor | Unary::Ceil | Unary::Round => &[DType::Num],
    }
}

/// The element types of a function of two operands.
pub const fn binary_takes(f: Binary) -> &'static [DType] {
    match f {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod => ARITHMETIC,
        Binary::Minimum | Binary::Maximum => ARITHMETIC,
        Binary::Pow | Binary::Atan2 | Binary::LogAddExp => &[DType::Num],
    }
}

/// Operators of one operand.
fn one(op: &Op, args: &[Type]) -> Checked<Type> {
    let [x] = operands(args)?;
    let map = |from: &[DType], to: DType| {
        element(0, x, from)?;
        Ok(Type { dtype: to, shape: x.shape.clone() })
    };
    match op {
        Op::Copy | Op::StopGradient => Ok(x.clone()),
        Op::Unary(f) => map(unary_takes(*f), x.dtype),
        Op::Not => map(&[DType::Bool], DType::Bool),
        Op::Convert(DType::Num) => map(&[DType::Bool, DType::Int], DType::Num),
        Op::Convert(DType::Int) => map(&[DType::Bool, DType::Num], DType::Int),
        Op::Convert(DType::Bool) => map(ARITHMETIC, DType::Bool),
        Op::Softmax | Op::LogSoftmax => {
            if x.shape.is_scalar() {
                return refuse(Some(0), "at least one dimension (the last axis is normalised)", x);
            }
            map(&[DType::Num], DType::Num)
        }
        Op::OneHot { classes } => {
            element(0, x, &[DType::Int])?;
            Ok(Type { dtype: DType::Num, shape: x.shape.dims().iter().copied().chain([*classes]).collect() })
        }
        Op::Transpose { perm } => transpose(perm, x),
        Op::Reshape { shape } => {
            if x.shape.checked_len() != shape.checked_len() {
                return refuse(Some(0), format!("as many elements as {shape} has"), x);
            }
            Ok(Type { dtype: x.dtype, shape: shape.clone() })
        }
        Op::Broadcast { shape } => {
            if x.shape.broadcast(shape).as_ref() != Some(shape) {
                return refuse(Some(0), format!("a shape that broadcasts to {shape}"), &x.shape);
            }
            Ok(Type { dtype: x.dtype, shape: shape.clone() })
        }
        Op::SumTo { shape } => {
            element(0, x, ARITHMETIC)?;
            if shape.broadcast(&x.shape).as_ref() != Some(&x.shape) {
                return refuse(Some(0), format!("a shape that {shape} broadcasts to"), &x.shape);
            }
            Ok(Type { dtype: x.dtype, shape: shape.clone() })
        }
        Op::Index { items } => {
            check_items(items, &x.shape, || format!("an operand that the index [{}] fits", List(items)))?;
            Ok(Type { dtype: x.dtype, shape: picked(items) })
        }
        Op::Unindex { shape, items } => {
            check_items(items, shape, || format!("an index that fits the shape {shape}"))?;
            let from = picked(items);
            if x.shape != from {
                return refuse(Some(0), format!("the shape {from} that the index picks"), &x.shape);
            }
            Ok(Type { dtype: x.dtype, shape: shape.clone() })
        }
        Op::MaxPool(pool) | Op::AvgPool(pool) => sliding::pool(pool, x),
        Op::Patches(pool) => sliding::patches(pool, x),
        Op::Unpatches { shape, pool } => sliding::unpatches(shape, pool, x),
        Op::Reduce(by, axis) => reduce(*by, *axis, x),
        Op::CumSum { axis, .. } | Op::Sort { axis, .. } | Op::ArgSort { axis, .. } => {
            if *axis >= x.shape.rank() {
                return refuse(Some(0), format!("an operand with an axis {axis}"), x);
            }
            map(ARITHMETIC, if let Op::ArgSort { .. } = op { DType::Int } else { x.dtype })
        }
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or | Op::Clip | Op::Where => unreachable!("{SEVERAL}"),
        Op::MatMul | Op::Einsum(_) | Op::Conv(_) | Op::ConvTranspose { .. } => unreachable!("{SEVERAL}"),
        Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => unreachable!("{SEVERAL}"),
        Op::ConvKernel { .. } | Op::Gather { .. } | Op::ScatterAdd { .. } => unreachable!("{SEVERAL}"),
        Op::Pick | Op::SortBy { .. } | Op::Concat { .. } | Op::Stack { .. } => unreachable!("{SEVERAL}"),
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => unreachable!("{SEVERAL}"),
    }
}

const SEVERAL: &str = "an operator that does not take one operand alone";

/// The operands, if there are `N`.
fn operands<const N: usize>(args: &[Type]) -> Checked<&[Type; N]> {
    match args.try_into() {
        Ok(args) => Ok(args),
        Err(_) => refuse(None, format!("{N} operand{}", if N == 1 { "" } else { "s" }), args.len()),
    }
}

/// Checks the element type of an operand.
fn element(operand: usize, ty: &Type, allowed: &[DType]) -> Checked<()> {
    if allowed.contains(&ty.dtype) {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(DType::to_string).collect();
    refuse(Some(operand), names.join(" or "), ty)
}

fn pointwise(a: &Type, b: &Type, allowed: &[DType], result: Option<DType>) -> Checked<Type> {
    element(0, a, allowed)?;
    element(1, b, allowed)?;
    if a.dtype != b.dtype {
        let expected = format!("operands of one element type (here {})", a.dtype);
        return refuse(Some(1), expected, format!("{} and {}", a.dtype, b.dtype));
    }
    match a.shape.broadcast(&b.shape) {
        Some(shape) => Ok(Type { dtype: result.unwrap_or(a.dtype), shape }),
        None => {
            let expected = "shapes whose dimensions, aligned on the right, are equal, 1 or missing";
            refuse(None, expected, format!("{} and {}", a.shape, b.shape))
        }
    }
}

fn concat(axis: usize, args: &[Type]) -> Checked<Type> {
    let Some(first) = args.first() else { return refuse(None, "at least one operand", "none") };
    if axis >= first.shape.rank() {
        return refuse(Some(0), format!("an operand with an axis {axis}"), first);
    }
    let mut dims = first.shape.dims().to_vec();
    for (i, ty) in args.iter().enumerate().skip(1) {
        let other = ty.shape.dims();
        let fits = ty.dtype == first.dtype
            && other.len() == dims.len()
            && dims.iter().zip(other).enumerate().all(|(k, (a, b))| k == axis || a == b);
        if !fits {
            let expected = format!("{first}, except for the length of axis {axis}");
            return refuse(Some(i), expected, ty);
        }
        dims[axis] = match dims[axis].checked_add(other[axis]) {
            Some(n) => n,
            None => return refuse(None, format!("at most {MAX_ELEMENTS} elements"), "more"),
        };
    }
    Ok(Type { dtype: first.dtype, shape: Shape::new(&dims) })
}

fn stack(axis: usize, args: &[Type]) -> Checked<Type> {
    let Some(first) = args.first() else { return refuse(None, "at least one element", "none") };
    if let Some(i) = args.iter().position(|ty| ty != first) {
        return refuse(Some(i), format!("{first}, the type of the first element"), &args[i]);
    }
    let mut dims = first.shape.dims().to_vec();
    if axis > dims.len() {
        return refuse(Some(0), format!("an operand of at least {axis} dimensions"), first);
    }
    dims.insert(axis, args.len());
    Ok(Type { dtype: first.dtype, shape: Shape::new(&dims) })
}

/// A key and a tick; before inlining, a key.
fn random(shape: &Shape, args: &[Type]) -> Checked<Type> {
    if !matches!(args.len(), 1 | 2) {
        return refuse(None, "a key, or a key and a tick", args.len());
    }
    let int = Type::scalar(DType::Int);
    if let Some(i) = args.iter().position(|ty| *ty != int) {
        return refuse(Some(i), &*int.to_string(), &args[i]);
    }
    Ok(Type { dtype: DType::Num, shape: shape.clone() })
}

fn choose(cond: &Type, a: &Type, b: &Type) -> Checked<Type> {
    element(0, cond, &[DType::Bool])?;
    let chosen =
        pointwise(a, b, &[DType::Bool, DType::Int, DType::Num], None).map_err(|e| e.operand_at(|i| i + 1))?;
    let mask = Type { dtype: chosen.dtype, shape: cond.shape.clone() };
    pointwise(&mask, &chosen, &[chosen.dtype], None)
}

fn transpose(perm: &[usize], x: &Type) -> Checked<Type> {
    let mut seen = perm.to_vec();
    seen.sort_unstable();
    if !seen.iter().copied().eq(0..perm.len()) {
        return refuse(None, format!("a permutation of 0..{}", perm.len()), format!("{perm:?}"));
    }
    if perm.len() != x.shape.rank() {
        return refuse(Some(0), format!("{} dimensions", perm.len()), x);
    }
    Ok(Type { dtype: x.dtype, shape: perm.iter().map(|&i| x.shape.dims()[i]).collect() })
}

fn sort_by(axis: usize, keys: &Type, x: &Type) -> Checked<Type> {
    element(0, keys, ARITHMETIC)?;
    if axis >= keys.shape.rank() {
        return refuse(Some(0), format!("an operand with an axis {axis}"), keys);
    }
    if keys.shape != x.shape {
        return refuse(Some(1), format!("the shape {} of the keys", keys.shape), x);
    }
    Ok(x.clone())
}

fn reduce(by: Reduction, axis: Option<usize>, x: &Type) -> Checked<Type> {
    element(0, x, by.takes())?;
    let dims = x.shape.dims();
    let (reduced, shape) = match axis {
        None => (!x.shape.is_empty(), Shape::scalar()),
        Some(axis) if axis < dims.len() => {
            let kept = dims.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &d)| d);
            (dims[axis] > 0, kept.collect())
        }
        Some(axis) => return refuse(Some(0), format!("an operand with an axis {axis}"), x),
    };
    if !by.has_neutral() && !reduced {
        return refuse(Some(0), "at least one element to choose from", x);
    }
    Ok(Type { dtype: by.gives(x.dtype), shape })
}
