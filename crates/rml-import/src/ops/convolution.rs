//! Convolutions. The model has channels before the spatial axes, the language after them.

use rml_ir::Shape;
use rml_ir::op::{Conv, ConvAxis, Op};

use super::Table;
use super::layout::unsigned;
use crate::build::{Builder, Call, Val, inverse};
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[("Conv", convolution), ("ConvTranspose", transposed)];

/// The windows of an operator along its spatial axes.
pub(super) struct Windows {
    pub(super) size: Vec<usize>,
    pub(super) stride: Vec<usize>,
    pub(super) dilation: Vec<usize>,
    pub(super) lo: Vec<usize>,
    pub(super) hi: Vec<usize>,
}

/// One number for each spatial axis.
pub(super) fn each(call: &Call<'_>, name: &str, axes: usize) -> Res<Vec<usize>> {
    let Some(v) = call.ints(name) else { return Ok(vec![1; axes]) };
    if v.len() != axes || v.iter().any(|n| !(1..1 << 31).contains(n)) {
        return Err(Refusal::malformed(format!("`{name}` is {v:?}, and there are {axes} axes")));
    }
    v.into_iter().map(unsigned).collect()
}

impl Windows {
    /// The windows of a size over axes of those lengths.
    pub(super) fn of(call: &Call<'_>, lengths: &[usize], size: Vec<usize>) -> Res<Windows> {
        let n = lengths.len();
        if size.len() != n || size.contains(&0) {
            return Err(Refusal::malformed(format!("windows of {size:?} over {n} axes")));
        }
        let (stride, dilation) = (each(call, "strides", n)?, each(call, "dilations", n)?);
        let (lo, hi) = padding(call, lengths, &size, &stride, &dilation)?;
        Ok(Windows { size, stride, dilation, lo, hi })
    }
}

fn padding(
    call: &Call<'_>,
    lengths: &[usize],
    size: &[usize],
    stride: &[usize],
    dilation: &[usize],
) -> Res<(Vec<usize>, Vec<usize>)> {
    let n = lengths.len();
    let upper = match call.text("auto_pad", "NOTSET") {
        "SAME_UPPER" => true,
        "SAME_LOWER" => false,
        "VALID" => return Ok((vec![0; n], vec![0; n])),
        _ => {
            let pads = call.ints("pads").unwrap_or_else(|| vec![0; 2 * n]);
            if pads.len() != 2 * n || pads.iter().any(|p| !(0..1 << 31).contains(p)) {
                return Err(Refusal::malformed(format!("`pads` is {pads:?}, and there are {n} axes")));
            }
            let pads: Vec<usize> = pads.into_iter().map(unsigned).collect::<Res<_>>()?;
            return Ok((pads[..n].to_vec(), pads[n..].to_vec()));
        }
    };
    let (mut lo, mut hi) = (Vec::new(), Vec::new());
    for i in 0..n {
        let windows = lengths[i].div_ceil(stride[i]);
        let needed = windows.saturating_sub(1) * stride[i] + (size[i] - 1) * dilation[i] + 1;
        let total = needed.saturating_sub(lengths[i]);
        let (less, more) = (total / 2, total - total / 2);
        lo.push(if upper { less } else { more });
        hi.push(if upper { more } else { less });
    }
    Ok((lo, hi))
}

/// The order of axes with the channels last: `[batch, space.., channels]`.
pub(super) fn channels_last(rank: usize) -> Vec<usize> {
    [0].into_iter().chain(2..rank).chain([1]).collect()
}

/// The order of a kernel of the language: `[space.., channels, filters]` of `[filters, channels, space..]`.
fn kernel_order(rank: usize) -> Vec<usize> {
    (2..rank).chain([1, 0]).collect()
}

fn groups(call: &Call<'_>) -> Res<usize> {
    let groups = unsigned(call.int("group", 1))?;
    if groups == 0 { Err(Refusal::malformed("there are 0 groups")) } else { Ok(groups) }
}

fn convolution(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let made = convolved(b, call, call.arg(0)?, call.arg(1)?)?;
    Ok(vec![with_bias(b, made, call.opt(2))?])
}

/// Adds a number to each channel.
pub(super) fn with_bias(b: &mut Builder<'_>, x: Val, bias: Option<&Val>) -> Res<Val> {
    let Some(bias) = bias else { return Ok(x) };
    let bias = b.against(bias, 1, x.rank())?;
    b.add(&x, &bias)
}

/// The convolution of a batch with a kernel, without a bias.
pub(super) fn convolved(b: &mut Builder<'_>, call: &Call<'_>, x: &Val, w: &Val) -> Res<Val> {
    let (dims, kernel) = (x.dims(), w.dims());
    if dims.len() < 3 || kernel.len() != dims.len() {
        return Err(Refusal::malformed(format!("a kernel {} does not fit {}", w.ty(), x.ty())));
    }
    let windows = Windows::of(call, &dims[2..], kernel[2..].to_vec())?;
    let groups = groups(call)?;
    let order = channels_last(dims.len());
    let x = b.transpose(x, &order)?;
    let w = b.transpose(w, &kernel_order(dims.len()))?;
    let axis = |i: usize| ConvAxis {
        stride: windows.stride[i],
        lo: windows.lo[i],
        hi: windows.hi[i],
        dilation: windows.dilation[i],
    };
    let axes: Vec<ConvAxis> = (0..dims.len() - 2).map(axis).collect();
    let made = over_axes(b, &x, &w, &axes, groups)?;
    b.transpose(&made, &inverse(&order))
}

/// A convolution over any number of axes: with more than two, the sum over the positions of the first one.
fn over_axes(b: &mut Builder<'_>, x: &Val, w: &Val, axes: &[ConvAxis], groups: usize) -> Res<Val> {
    let Some((first, rest)) = axes.split_first().filter(|(_, rest)| rest.len() >= 2) else {
        return b.apply(Op::Conv(Conv { axes: axes.to_vec(), groups }), &[x, w], x.elem);
    };
    // The axis becomes one of the batch.
    let axis = x.rank() - 1 - axes.len();
    let size = w.dims()[0];
    let zero = b.num(0.0);
    let x = super::layout::filled(b, x, axis, first.lo, first.hi, &zero)?;
    let length = x.dims()[axis];
    let plain = ConvAxis { lo: 0, hi: 0, ..*first };
    let count = plain.windows(length, size).ok_or_else(|| Refusal::malformed("an axis is too short"))?;
    let mut sum: Option<Val> = None;
    for k in 0..size {
        let step = isize::try_from(first.stride).unwrap_or(1);
        let part = b.slice(&x, axis, k * first.dilation, count, step)?;
        let slab = b.at(w, 0, k)?;
        let made = over_axes(b, &part, &slab, rest, groups)?;
        sum = Some(match sum {
            Some(sum) => b.add(&sum, &made)?,
            None => made,
        });
    }
    sum.ok_or_else(|| Refusal::malformed("a kernel is empty"))
}

fn transposed(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, w) = (call.arg(0)?, call.arg(1)?);
    let (dims, kernel) = (x.dims(), w.dims());
    let n = dims.len().saturating_sub(2);
    if !(1..=2).contains(&n) || kernel.len() != dims.len() {
        return refuse(format!("it has {n} spatial axes; one or two can be imported"));
    }
    let groups = groups(call)?;
    let size = &kernel[2..];
    let (stride, dilation) = (each(call, "strides", n)?, each(call, "dilations", n)?);
    let extra = call.ints("output_padding").unwrap_or_else(|| vec![0; n]);
    let extra: Vec<usize> = extra.into_iter().map(unsigned).collect::<Res<_>>()?;
    if extra.len() != n {
        return Err(Refusal::malformed("`output_padding` is not one number for each axis"));
    }
    let full = |i: usize| (dims[i + 2] - 1) * stride[i] + extra[i] + (size[i] - 1) * dilation[i] + 1;
    let (lo, lengths) = transposed_padding(call, n, &full, &|i| dims[i + 2] * stride[i])?;
    // The convolution whose transpose this is goes from the result to the operand.
    let mut axes = Vec::new();
    for i in 0..n {
        let reach = (dims[i + 2] - 1) * stride[i] + (size[i] - 1) * dilation[i] + 1;
        let hi = reach.saturating_sub(lengths[i] + lo[i]);
        axes.push(ConvAxis { stride: stride[i], lo: lo[i], hi, dilation: dilation[i] });
    }
    let order = channels_last(dims.len());
    let shape: Vec<usize> = [dims[0]].into_iter().chain(lengths).chain([kernel[1] * groups]).collect();
    let x = b.transpose(x, &order)?;
    let w = b.transpose(w, &kernel_order(dims.len()))?;
    let op = Op::ConvTranspose { shape: Shape::new(&shape), conv: Conv { axes, groups } };
    let made = b.apply(op, &[&x, &w], x.elem)?;
    let made = b.transpose(&made, &inverse(&order))?;
    Ok(vec![with_bias(b, made, call.opt(2))?])
}

/// What is cut off before each axis of the result, and how long the axes are.
fn transposed_padding(
    call: &Call<'_>,
    n: usize,
    full: &dyn Fn(usize) -> usize,
    same: &dyn Fn(usize) -> usize,
) -> Res<(Vec<usize>, Vec<usize>)> {
    let auto = call.text("auto_pad", "NOTSET");
    let wanted = match (call.ints("output_shape"), auto) {
        (Some(shape), _) => {
            Some(shape.into_iter().rev().take(n).rev().map(unsigned).collect::<Res<Vec<usize>>>()?)
        }
        (None, "SAME_UPPER" | "SAME_LOWER") => Some((0..n).map(same).collect()),
        (None, _) => None,
    };
    if let Some(wanted) = wanted.filter(|w| w.len() == n) {
        let cut = |i: usize| full(i).saturating_sub(wanted[i]);
        let lo =
            (0..n).map(|i| if auto == "SAME_UPPER" { cut(i) / 2 } else { cut(i) - cut(i) / 2 }).collect();
        return Ok((lo, wanted));
    }
    let pads = call.ints("pads").unwrap_or_else(|| vec![0; 2 * n]);
    let pads: Vec<usize> = pads.into_iter().map(unsigned).collect::<Res<_>>()?;
    if pads.len() != 2 * n {
        return Err(Refusal::malformed("`pads` is not two numbers for each axis"));
    }
    let lengths: Option<Vec<usize>> = (0..n).map(|i| full(i).checked_sub(pads[i] + pads[i + n])).collect();
    let lengths = lengths.ok_or_else(|| Refusal::malformed("more is cut off than there is"))?;
    Ok((pads[..n].to_vec(), lengths))
}
