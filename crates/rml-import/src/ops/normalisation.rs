//! Normalisations and softmax.

use rml_ir::op::{Binary, Compare, Op, Reduction, Unary};

use super::Table;
use super::formula::formula;
use super::layout::{last_axis, unsigned};
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[
    ("Softmax", |b, c| soft(b, c, Op::Softmax)),
    ("LogSoftmax", |b, c| soft(b, c, Op::LogSoftmax)),
    ("Hardmax", hardmax),
    ("BatchNormalization", batch),
    ("InstanceNormalization", instance),
    ("LayerNormalization", layer),
    ("SkipLayerNormalization", skip_layer),
    ("GroupNormalization", group),
    ("RMSNormalization", rms),
    ("MeanVarianceNormalization", mean_variance),
    ("LpNormalization", lp),
    ("LRN", local_response),
];

/// A function of the last axis, for another one.
fn soft(b: &mut Builder<'_>, call: &Call<'_>, op: Op) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    if x.rank() == 0 {
        return refuse("its operand is a scalar");
    }
    let old = call.opset < 13;
    let axis = call.axis(call.int("axis", if old { 1 } else { -1 }), x.rank())?;
    if old && axis + 1 < x.rank() {
        // Before version 13 all axes from that one on are one.
        let dims = x.dims();
        let flat = b.reshape(x, &[dims[..axis].iter().product(), dims[axis..].iter().product()])?;
        let made = b.apply(op, &[&flat], x.elem)?;
        return Ok(vec![b.reshape(&made, &dims)?]);
    }
    let (turned, back) = last_axis(b, x, axis)?;
    let made = b.apply(op, &[&turned], x.elem)?;
    Ok(vec![b.transpose(&made, &back)?])
}

fn hardmax(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.axis(call.int("axis", if call.opset < 13 { 1 } else { -1 }), x.rank())?;
    if call.opset < 13 && axis + 1 < x.rank() {
        return refuse("it is of several axes");
    }
    let (turned, back) = last_axis(b, x, axis)?;
    let at = b.fold(Reduction::ArgMax, &turned, &[x.rank() - 1], false)?;
    let hot = b.apply(Op::OneHot { classes: x.dims()[axis] }, &[&at], Elem::F32)?;
    Ok(vec![b.transpose(&hot, &back)?])
}

/// `(x - mean) / sqrt(variance + epsilon)`
fn standardised(b: &mut Builder<'_>, x: &Val, mean: &Val, variance: &Val, epsilon: f64) -> Res<Val> {
    formula(b, [x, mean, variance], |[x, mean, variance]| (x - mean) / (variance + epsilon).sqrt())
}

/// What a value is over axes: its mean, the value without it, and its variance.
fn moments(b: &mut Builder<'_>, x: &Val, axes: &[usize]) -> Res<[Val; 3]> {
    let mean = b.fold(Reduction::Mean, x, axes, true)?;
    let centred = b.sub(x, &mean)?;
    let square = b.mul(&centred, &centred)?;
    let variance = b.fold(Reduction::Mean, &square, axes, true)?;
    Ok([mean, centred, variance])
}

/// The same as `standardised` with the mean and variance of the value itself over axes.
fn normalised(b: &mut Builder<'_>, x: &Val, axes: &[usize], epsilon: f64) -> Res<Val> {
    let [_, centred, variance] = moments(b, x, axes)?;
    formula(b, [&centred, &variance], |[centred, variance]| centred / (variance + epsilon).sqrt())
}

/// The axes from the one that the attribute `axis` names.
fn from_axis(call: &Call<'_>, x: &Val) -> Res<Vec<usize>> {
    Ok((call.axis(call.int("axis", -1), x.rank())?..x.rank()).collect())
}

fn scaled(b: &mut Builder<'_>, x: &Val, scale: Option<&Val>, bias: Option<&Val>) -> Res<Val> {
    let x = match scale {
        Some(scale) => b.mul(x, scale)?,
        None => x.clone(),
    };
    match bias {
        Some(bias) => b.add(&x, bias),
        None => Ok(x),
    }
}

fn batch(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    if call.flag("training_mode", false) || call.wants(1) {
        return refuse("it is to compute the statistics of the batch, as in a training");
    }
    let of = |b: &mut Builder<'_>, i: usize| b.against(call.arg(i)?, 1, x.rank());
    let (mean, variance) = (of(b, 3)?, of(b, 4)?);
    let made = standardised(b, x, &mean, &variance, call.float("epsilon", 1e-5))?;
    let (scale, bias) = (of(b, 1)?, of(b, 2)?);
    Ok(vec![scaled(b, &made, Some(&scale), Some(&bias))?])
}

fn instance(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axes: Vec<usize> = (2..x.rank()).collect();
    let made = normalised(b, x, &axes, call.float("epsilon", 1e-5))?;
    let (scale, bias) = (b.against(call.arg(1)?, 1, x.rank())?, b.against(call.arg(2)?, 1, x.rank())?);
    Ok(vec![scaled(b, &made, Some(&scale), Some(&bias))?])
}

fn layer(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let epsilon = call.float("epsilon", 1e-5);
    let [mean, centred, variance] = moments(b, x, &from_axis(call, x)?)?;
    let made = formula(b, [&centred, &variance], |[x, variance]| x / (variance + epsilon).sqrt())?;
    let mut results = vec![scaled(b, &made, call.opt(1), call.opt(2))?];
    if call.results() > 1 {
        results.extend([mean, formula(b, [&variance], |[variance]| 1.0 / (variance + epsilon).sqrt())?]);
    }
    Ok(results)
}

fn skip_layer(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let mut sum = b.add(call.arg(0)?, call.arg(1)?)?;
    if let Some(bias) = call.opt(4) {
        sum = b.add(&sum, bias)?;
    }
    let made = normalised(b, &sum, &[sum.rank().saturating_sub(1)], call.float("epsilon", 1e-12))?;
    let made = scaled(b, &made, call.opt(2), call.opt(3))?;
    // The second and third results are statistics for a training.
    Ok(vec![made, b.num(0.0), b.num(0.0), sum])
}

fn group(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let groups = unsigned(call.int("num_groups", 1))?;
    let dims = x.dims();
    if dims.len() < 2 || groups == 0 || !dims[1].is_multiple_of(groups) {
        return Err(Refusal::malformed(format!("{groups} groups do not fit {}", x.ty())));
    }
    let apart: Vec<usize> =
        [dims[0], groups, dims[1] / groups].into_iter().chain(dims[2..].iter().copied()).collect();
    let wide = b.reshape(x, &apart)?;
    let axes: Vec<usize> = (2..apart.len()).collect();
    let made = normalised(b, &wide, &axes, call.float("epsilon", 1e-5))?;
    let old = call.arg(1)?.len() == groups && groups != dims[1];
    let made = if old { made } else { b.reshape(&made, &dims)? };
    let rank = made.rank();
    let (scale, bias) = (b.against(call.arg(1)?, 1, rank)?, b.against(call.arg(2)?, 1, rank)?);
    let made = scaled(b, &made, Some(&scale), Some(&bias))?;
    Ok(vec![b.reshape(&made, &dims)?])
}

fn rms(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let square = b.mul(x, x)?;
    let mean = b.fold(Reduction::Mean, &square, &from_axis(call, x)?, true)?;
    let epsilon = call.float("epsilon", 1e-5);
    let made = formula(b, [x, &mean], |[x, mean]| x / (mean + epsilon).sqrt())?;
    Ok(vec![scaled(b, &made, call.opt(1), None)?])
}

fn mean_variance(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axes = call.axes(&call.ints("axes").unwrap_or_else(|| vec![0, 2, 3]), x.rank())?;
    let [_, centred, variance] = moments(b, x, &axes)?;
    Ok(vec![formula(b, [&centred, &variance], |[x, variance]| x / (variance.sqrt() + 1e-9))?])
}

fn lp(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.axis(call.int("axis", -1), x.rank())?;
    let norm = match call.int("p", 2) {
        1 => {
            let size = b.unary(Unary::Abs, x)?;
            b.fold(Reduction::Sum, &size, &[axis], true)?
        }
        2 => {
            let square = b.mul(x, x)?;
            let sum = b.fold(Reduction::Sum, &square, &[axis], true)?;
            b.unary(Unary::Sqrt, &sum)?
        }
        other => return refuse(format!("`p` is {other}")),
    };
    Ok(vec![formula(b, [x, &norm], |[x, norm]| {
        x / norm.is(Compare::Eq, norm.num(0.0)).choose(norm.num(1.0), norm)
    })?])
}

/// `x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta`
#[allow(clippy::cast_precision_loss, reason = "a window is small")]
fn local_response(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let size = unsigned(call.int("size", 1))?;
    let channels = *x.dims().get(1).ok_or_else(|| Refusal::malformed("the operand has no channels"))?;
    if size == 0 || size > 256 {
        return refuse(format!("`size` is {size}"));
    }
    let square = b.mul(x, x)?;
    let zero = b.num(0.0);
    let before = (size - 1) / 2;
    let wide = super::layout::filled(b, &square, 1, before, size - 1 - before, &zero)?;
    let mut sum = b.range(&wide, 1, 0, channels)?;
    for k in 1..size {
        let part = b.range(&wide, 1, k, channels)?;
        sum = b.add(&sum, &part)?;
    }
    let (alpha, bias) = (call.float("alpha", 1e-4) / size as f64, call.float("bias", 1.0));
    let beta = call.float("beta", 0.75);
    Ok(vec![formula(b, [x, &sum], |[x, sum]| x / (bias + alpha * sum).with(Binary::Pow, sum.num(beta)))?])
}
