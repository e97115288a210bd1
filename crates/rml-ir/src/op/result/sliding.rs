//! Convolutions, pooling and patches: `[b.., n.., c]` with one or two spatial axes `n..`.

use super::{Checked, element, refuse};
use crate::op::{Conv, Pool};
use crate::types::{DType, Shape, Type};

/// Batch dimensions, spatial dimensions and channels of an operand.
type Parts<'a> = (&'a [usize], &'a [usize], usize);

fn parts(operand: usize, ty: &Type, rank: usize) -> Checked<Parts<'_>> {
    element(operand, ty, &[DType::Num])?;
    let dims = ty.shape.dims();
    let axes = if rank == 1 { "length, channels" } else { "height, width, channels" };
    match dims.split_last() {
        Some((channels, rest)) if rest.len() >= rank => {
            let (batch, spatial) = rest.split_at(rest.len() - rank);
            Ok((batch, spatial, *channels))
        }
        _ => refuse(Some(operand), format!("num [batch.., {axes}]"), ty),
    }
}

fn shape(batch: &[usize], spatial: &[usize], last: &[usize]) -> Shape {
    batch.iter().chain(spatial).chain(last).copied().collect()
}

fn num(shape: Shape) -> Checked<Type> {
    Ok(Type { dtype: DType::Num, shape })
}

/// Spatial sizes, channels of a group and filters of a kernel.
fn kernel_parts(operand: usize, ty: &Type, rank: usize) -> Checked<(&[usize], usize, usize)> {
    element(operand, ty, &[DType::Num])?;
    match ty.shape.dims() {
        [sizes @ .., channels, filters] if sizes.len() == rank => Ok((sizes, *channels, *filters)),
        _ => {
            let axes = if rank == 1 { "width" } else { "height, width" };
            refuse(Some(operand), format!("a kernel num [{axes}, channels / groups, filters]"), ty)
        }
    }
}

/// The result of a convolution of `x` with a kernel of that type.
fn convolved(conv: &Conv, x: &Type, kernel: (usize, &Type)) -> Checked<Shape> {
    let rank = conv.axes.len();
    let (operand, kernel) = kernel;
    let (batch, spatial, channels) = parts(0, x, rank)?;
    let (sizes, own, filters) = kernel_parts(operand, kernel, rank)?;
    let groups = conv.groups;
    if groups == 0 || filters % groups != 0 || own.checked_mul(groups) != Some(channels) {
        let expected = format!(
            "{channels} channels in {groups} group{}: a kernel with {channels} / {groups} channels and a multiple \
             of {groups} filters",
            if groups == 1 { "" } else { "s" }
        );
        return refuse(Some(operand), expected, &kernel.shape);
    }
    let mut out = Vec::with_capacity(rank);
    for ((axis, &n), &size) in conv.axes.iter().zip(spatial).zip(sizes) {
        match axis.windows(n, size) {
            Some(windows) => out.push(windows),
            None if channels_first(spatial, channels) => return refuse(Some(0), CHANNELS_LAST, x),
            None => {
                let expected = "a kernel that is not empty and not longer than the padded operand, and strides and \
                                dilations of at least 1";
                return refuse(
                    Some(operand),
                    expected,
                    format!("a size of {size} for an axis of {n} with {axis}"),
                );
            }
        }
    }
    Ok(shape(batch, &out, &[filters]))
}

/// `x` with `kernel`.
pub(super) fn conv(conv: &Conv, x: &Type, kernel: &Type) -> Checked<Type> {
    convolved(conv, x, (1, kernel)).and_then(num)
}

/// The gradient of a convolution in an operand of that shape.
pub(super) fn conv_transpose(to: &Shape, conv: &Conv, d: &Type, kernel: &Type) -> Checked<Type> {
    element(0, d, &[DType::Num])?;
    let result = Type { dtype: DType::Num, shape: to.clone() };
    let from = convolved(conv, &result, (1, kernel))?;
    if d.shape != from {
        return refuse(Some(0), format!("the shape {from} that convolving {to} gives"), &d.shape);
    }
    Ok(result)
}

/// The gradient of a convolution in a kernel of that shape.
pub(super) fn conv_kernel(to: &Shape, conv: &Conv, x: &Type, d: &Type) -> Checked<Type> {
    element(1, d, &[DType::Num])?;
    let kernel = Type { dtype: DType::Num, shape: to.clone() };
    let from = convolved(conv, x, (0, &kernel))?;
    if d.shape != from {
        return refuse(
            Some(1),
            format!("the shape {from} that convolving {} with {to} gives", x.shape),
            &d.shape,
        );
    }
    Ok(kernel)
}

/// What an operand has to be whose channels are first.
const CHANNELS_LAST: &str = "[batch.., height, width, channels], with the channels last";

/// Whether the sizes look like `[channels, height, width]`, as PyTorch stores images.
fn channels_first(spatial: &[usize], channels: usize) -> bool {
    matches!(spatial, [first @ (1 | 3), height] if first < height && channels > 4)
}

/// How many windows each spatial axis has, of an operand with that many channels.
fn windows(
    operand: usize,
    pool: &Pool,
    x: &Type,
    (spatial, channels): (&[usize], usize),
) -> Checked<Vec<usize>> {
    let mut out = Vec::with_capacity(spatial.len());
    for (axis, &n) in pool.axes.iter().zip(spatial) {
        match axis.windows(n) {
            Some(windows) => out.push(windows),
            None if channels_first(spatial, channels) => return refuse(Some(operand), CHANNELS_LAST, x),
            None => {
                let expected = "windows that are not longer than the padded operand, each with an element of it: \
                                sizes and strides of at least 1, padding less than the size";
                return refuse(Some(operand), expected, format!("an axis of {n} and {axis}"));
            }
        }
    }
    Ok(out)
}

/// One number for each window and channel.
pub(super) fn pool(pool: &Pool, x: &Type) -> Checked<Type> {
    let (batch, spatial, channels) = parts(0, x, pool.axes.len())?;
    num(shape(batch, &windows(0, pool, x, (spatial, channels))?, &[channels]))
}

/// The windows of an operand of that shape.
fn patched(pool: &Pool, x: &Type) -> Checked<Shape> {
    let (batch, spatial, channels) = parts(0, x, pool.axes.len())?;
    let sizes: Vec<usize> = pool.axes.iter().map(|axis| axis.size).chain([channels]).collect();
    Ok(shape(batch, &windows(0, pool, x, (spatial, channels))?, &sizes))
}

/// The windows themselves.
pub(super) fn patches(pool: &Pool, x: &Type) -> Checked<Type> {
    patched(pool, x).and_then(num)
}

/// Windows added up.
pub(super) fn unpatches(to: &Shape, pool: &Pool, d: &Type) -> Checked<Type> {
    element(0, d, &[DType::Num])?;
    let result = Type { dtype: DType::Num, shape: to.clone() };
    let from = patched(pool, &result)?;
    if d.shape != from {
        return refuse(Some(0), format!("the shape {from} of the windows of {to}"), &d.shape);
    }
    Ok(result)
}
