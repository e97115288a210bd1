//! Quantised graphs: integers that stand for numbers, `scale (q - zero point)`.

use rml_ir::op::{Binary, Op, Reduction, Unary};

use super::Table;
use super::convolution::{convolved, with_bias};
use super::matrix::product;
use super::pointwise::converted;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[
    ("QuantizeLinear", quantize),
    ("DequantizeLinear", dequantize),
    ("DynamicQuantizeLinear", dynamic),
    ("MatMulInteger", matmul_integer),
    ("ConvInteger", conv_integer),
    ("QLinearMatMul", qlinear_matmul),
    ("QLinearConv", qlinear_conv),
    ("QLinearAdd", |b, c| qlinear_binary(b, c, Binary::Add)),
    ("QLinearMul", |b, c| qlinear_binary(b, c, Binary::Mul)),
];

/// A scale or zero point against the axis of a value that it belongs to.
fn aligned(b: &mut Builder<'_>, call: &Call<'_>, x: &Val, of: &Val) -> Res<Val> {
    let block = call.int("block_size", 0);
    if block != 0 {
        return blocked(b, call, x, of, block);
    }
    if of.len() == 1 {
        return b.reshape(of, &[]);
    }
    let axis = call.axis(call.int("axis", 1), x.rank())?;
    b.against(of, axis, x.rank())
}

/// A number, or one for each entry of an axis of values of `rank` axes.
fn each(b: &mut Builder<'_>, x: &Val, axis: usize, rank: usize) -> Res<Val> {
    if x.len() == 1 { b.reshape(x, &[]) } else { b.against(x, axis, rank) }
}

/// One number for each block along an axis.
fn blocked(b: &mut Builder<'_>, call: &Call<'_>, x: &Val, of: &Val, block: i64) -> Res<Val> {
    let axis = call.axis(call.int("axis", 1), x.rank())?;
    let (block, length) = (super::layout::unsigned(block)?, x.dims()[axis]);
    if of.rank() != x.rank() || block == 0 || of.dims()[axis] * block < length {
        return Err(Refusal::malformed("the scales are not one for each block"));
    }
    let (ticks, block) = (b.ticks(length)?, b.int(i64::try_from(block).unwrap_or(i64::MAX)));
    let at = b.div(&ticks, &block)?;
    b.apply(Op::Gather { axis }, &[of, &at], of.elem)
}

/// `clamp(round(x / scale) + zero point)`
fn quantized(b: &mut Builder<'_>, x: &Val, scale: &Val, zero: Option<&Val>, elem: Elem) -> Res<Val> {
    let ratio = b.div(x, scale)?;
    let mut level = b.unary(Unary::Round, &ratio)?;
    if let Some(zero) = zero {
        let zero = b.convert(zero, Elem::F32)?;
        level = b.add(&level, &zero)?;
    }
    let (lo, hi) = elem.range();
    #[allow(clippy::cast_precision_loss, reason = "the bounds of 16 bits are exact")]
    let (lo, hi) = (b.num(lo as f64), b.num(hi as f64));
    let level = b.pointwise(Op::Clip, &[&level, &lo, &hi], level.elem)?;
    b.convert(&level, elem)
}

/// `scale (q - zero point)`
fn dequantized(b: &mut Builder<'_>, x: &Val, scale: &Val, zero: Option<&Val>) -> Res<Val> {
    let mut level = b.convert(x, Elem::F32)?;
    if let Some(zero) =
        zero.filter(|z| z.known().and_then(crate::tensor::ints).is_none_or(|v| v.iter().any(|i| *i != 0)))
    {
        let zero = b.convert(zero, Elem::F32)?;
        level = b.sub(&level, &zero)?;
    }
    b.mul(&level, scale)
}

fn quantize(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let elem = match (call.opt(2), call.int("output_dtype", 0)) {
        (Some(zero), _) => zero.elem,
        (None, 0) => Elem::Unsigned(8),
        (None, code) => Elem::of(i32::try_from(code).unwrap_or(-1)).map_err(Refusal::new)?,
    };
    if elem.is_num() {
        return refuse("its result is in numbers of 8 bits");
    }
    let scale = aligned(b, call, x, call.arg(1)?)?;
    let zero = call.opt(2).map(|z| aligned(b, call, x, z)).transpose()?;
    let x = b.convert(x, Elem::F32)?;
    Ok(vec![quantized(b, &x, &scale, zero.as_ref(), elem)?])
}

fn dequantize(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let scale = aligned(b, call, x, call.arg(1)?)?;
    let zero = call.opt(2).map(|z| aligned(b, call, x, z)).transpose()?;
    Ok(vec![dequantized(b, x, &scale, zero.as_ref())?])
}

/// The range of the values decides the scale.
fn dynamic(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axes: Vec<usize> = (0..x.rank()).collect();
    let (lo, hi) = (b.fold(Reduction::Min, x, &axes, false)?, b.fold(Reduction::Max, x, &axes, false)?);
    let (zero, most) = (b.num(0.0), b.num(255.0));
    let (lo, hi) = (b.binary(Binary::Minimum, &lo, &zero)?, b.binary(Binary::Maximum, &hi, &zero)?);
    let width = b.sub(&hi, &lo)?;
    let scale = b.div(&width, &most)?;
    let ratio = b.div(&lo, &scale)?;
    let minus = b.unary(Unary::Neg, &ratio)?;
    let clipped = b.pointwise(Op::Clip, &[&minus, &zero, &most], x.elem)?;
    let point = b.unary(Unary::Round, &clipped)?;
    let point = b.convert(&point, Elem::Unsigned(8))?;
    let quantized = quantized(b, x, &scale, Some(&point), Elem::Unsigned(8))?;
    Ok(vec![quantized, scale, point])
}

/// Levels without their zero point, as numbers. That of a matrix may be one for each row or column.
fn levels(b: &mut Builder<'_>, x: &Val, zero: Option<&Val>, rows: bool) -> Res<Val> {
    let level = b.convert(x, Elem::F32)?;
    let Some(zero) = zero else { return Ok(level) };
    let zero = b.convert(zero, Elem::F32)?;
    let zero = match zero.rank() {
        1 if zero.len() == 1 => b.reshape(&zero, &[])?,
        1 if rows => b.reshape(&zero, &[zero.len(), 1])?,
        _ => zero,
    };
    b.sub(&level, &zero)
}

fn matmul_integer(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = levels(b, call.arg(0)?, call.opt(2), true)?;
    let y = levels(b, call.arg(1)?, call.opt(3), false)?;
    let made = product(b, &x, &y)?;
    Ok(vec![converted(b, &made, Elem::Int(32))?])
}

fn conv_integer(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = levels(b, call.arg(0)?, call.opt(2), true)?;
    let w = kernel_levels(b, call.arg(1)?, call.opt(3))?;
    let made = convolved(b, call, &x, &w)?;
    Ok(vec![converted(b, &made, Elem::Int(32))?])
}

/// The levels of a kernel, whose zero point may be one for each filter.
fn kernel_levels(b: &mut Builder<'_>, w: &Val, zero: Option<&Val>) -> Res<Val> {
    let zero = zero.map(|zero| each(b, zero, 0, w.rank())).transpose()?;
    levels(b, w, zero.as_ref(), false)
}

fn qlinear_matmul(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let column = |b: &mut Builder<'_>, i: usize| {
        let val = call.arg(i)?;
        if val.rank() == 1 && val.len() > 1 { b.reshape(val, &[val.len(), 1]) } else { Ok(val.clone()) }
    };
    let (x, y) = (levels(b, call.arg(0)?, call.opt(2), true)?, levels(b, call.arg(3)?, call.opt(5), false)?);
    let made = product(b, &x, &y)?;
    let (p, q) = (column(b, 1)?, call.arg(4)?.clone());
    let made = b.mul(&made, &p)?;
    let made = b.mul(&made, &q)?;
    let zero = call.arg(7)?;
    Ok(vec![quantized(b, &made, call.arg(6)?, Some(zero), zero.elem)?])
}

fn qlinear_conv(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = levels(b, call.arg(0)?, call.opt(2), true)?;
    let w = kernel_levels(b, call.arg(3)?, call.opt(5))?;
    let made = convolved(b, call, &x, &w)?;
    let bias = call.opt(8).map(|bias| b.convert(bias, Elem::F32)).transpose()?;
    let made = with_bias(b, made, bias.as_ref())?;
    let scale = each(b, call.arg(4)?, 1, made.rank())?;
    let of_x = b.reshape(call.arg(1)?, &[])?;
    let both = b.mul(&of_x, &scale)?;
    let made = b.mul(&made, &both)?;
    let zero = call.arg(7)?;
    Ok(vec![quantized(b, &made, call.arg(6)?, Some(zero), zero.elem)?])
}

fn qlinear_binary(b: &mut Builder<'_>, call: &Call<'_>, f: Binary) -> Res<Vec<Val>> {
    let x = dequantized(b, call.arg(0)?, call.arg(1)?, call.opt(2))?;
    let y = dequantized(b, call.arg(3)?, call.arg(4)?, call.opt(5))?;
    let made = b.binary(f, &x, &y)?;
    let elem = call.opt(7).map_or(call.arg(0)?.elem, |z| z.elem);
    Ok(vec![quantized(b, &made, call.arg(6)?, call.opt(7), elem)?])
}
