//! Pooling.

use rml_ir::op::{AxisIndex, Binary, ConvAxis, Op, Pool, PoolAxis};

use super::Table;
use super::convolution::{Windows, channels_last};
use super::layout::{filled, unsigned};
use crate::build::{Builder, Call, Val, inverse};
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[("MaxPool", max_pool), ("AveragePool", average_pool), ("LpPool", lp_pool)];

/// The windows of a pooling, with more padding at the end where the last window may be cut.
fn windows(call: &Call<'_>, x: &Val) -> Res<Windows> {
    let lengths = x.dims().get(2..).unwrap_or_default().to_vec();
    let size = call.ints("kernel_shape").ok_or_else(|| Refusal::malformed("`kernel_shape` is missing"))?;
    let size: Vec<usize> = size.into_iter().map(unsigned).collect::<Res<_>>()?;
    if lengths.is_empty() || size.iter().any(|s| *s >= 1 << 20) {
        return Err(Refusal::malformed(format!("windows of {size:?} over {}", x.ty())));
    }
    let mut w = Windows::of(call, &lengths, size)?;
    if call.flag("ceil_mode", false) {
        for (i, length) in lengths.iter().enumerate() {
            let extent = (w.size[i] - 1) * w.dilation[i] + 1;
            let padded = length + w.lo[i] + w.hi[i];
            let rest = padded.checked_sub(extent).map_or(0, |r| r % w.stride[i]);
            // A window begins within the axis or the padding before it.
            let next = padded.saturating_sub(extent) - rest + w.stride[i];
            if rest > 0 && next < length + w.lo[i] {
                w.hi[i] += w.stride[i] - rest;
            }
        }
    }
    Ok(w)
}

/// The pooling of the language that windows are, if it is one.
fn pool(w: &Windows) -> Option<Pool> {
    let fits = w.size.len() <= 2
        && w.dilation.iter().all(|d| *d == 1)
        && (0..w.size.len()).all(|i| w.lo[i] < w.size[i] && w.hi[i] < w.size[i]);
    let axis = |i: usize| PoolAxis { size: w.size[i], stride: w.stride[i], lo: w.lo[i], hi: w.hi[i] };
    fits.then(|| Pool { axes: (0..w.size.len()).map(axis).collect() })
}

/// Combines the elements of each window: one slice for each of its places.
fn sliced(b: &mut Builder<'_>, x: &Val, w: &Windows, fill: f64, by: Binary) -> Res<Val> {
    let places: usize = w.size.iter().product();
    if places > 1024 {
        return refuse(format!("windows of {places} elements, with padding or dilation, are too large"));
    }
    let fill = b.num(fill);
    let mut x = x.clone();
    let mut counts = Vec::new();
    for i in 0..w.size.len() {
        x = filled(b, &x, i + 2, w.lo[i], w.hi[i], &fill)?;
        let axis = ConvAxis { stride: w.stride[i], lo: 0, hi: 0, dilation: w.dilation[i] };
        let count = axis.windows(x.dims()[i + 2], w.size[i]);
        counts.push(count.ok_or_else(|| Refusal::malformed("an axis is too short"))?);
    }
    let mut whole: Option<Val> = None;
    for place in 0..places {
        let mut items: Vec<AxisIndex> = x.dims().into_iter().map(AxisIndex::whole).collect();
        let mut rest = place;
        for i in (0..w.size.len()).rev() {
            let step = if counts[i] > 1 { isize::try_from(w.stride[i]).unwrap_or(1) } else { 1 };
            items[i + 2] = AxisIndex::Slice { start: rest % w.size[i] * w.dilation[i], len: counts[i], step };
            rest /= w.size[i];
        }
        let part = b.part(&x, &items)?;
        whole = Some(match whole {
            Some(whole) => b.binary(by, &whole, &part)?,
            None => part,
        });
    }
    whole.ok_or_else(|| Refusal::malformed("a window is empty"))
}

/// A pooling of the language, of channels that are last there.
fn pooled(b: &mut Builder<'_>, x: &Val, op: Op) -> Res<Val> {
    let order = channels_last(x.rank());
    let turned = b.transpose(x, &order)?;
    let made = b.apply(op, &[&turned], x.elem)?;
    b.transpose(&made, &inverse(&order))
}

fn max_pool(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    if call.wants(1) {
        return refuse("its second result, the positions of the largest elements, is asked for");
    }
    let original = call.arg(0)?;
    let x = b.convert(original, crate::elem::Elem::F32)?;
    let w = windows(call, &x)?;
    let made = match pool(&w) {
        Some(pool) => pooled(b, &x, Op::MaxPool(pool))?,
        None => sliced(b, &x, &w, f64::NEG_INFINITY, Binary::Maximum)?,
    };
    Ok(vec![super::pointwise::converted(b, &made, original.elem)?])
}

#[allow(clippy::cast_precision_loss, reason = "windows are small")]
fn average_pool(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let w = windows(call, x)?;
    let counted = x.dims()[2..].iter().max().copied().unwrap_or(0);
    if counted.saturating_mul(w.size.iter().max().copied().unwrap_or(0)) > 1 << 26 {
        return refuse("its windows are too large");
    }
    let places: f64 = w.size.iter().map(|s| *s as f64).product();
    let counts = counts(call, x, &w);
    let sums = match pool(&w) {
        Some(pool) => {
            let made = pooled(b, x, Op::AvgPool(pool))?;
            if counts.iter().flatten().all(|c| c.is_none()) {
                return Ok(vec![made]);
            }
            let n = b.num(places);
            b.mul(&made, &n)?
        }
        None => sliced(b, x, &w, 0.0, Binary::Add)?,
    };
    let mut total = b.num(1.0);
    for (i, counts) in counts.iter().enumerate() {
        let size = w.size[i] as f64;
        let line: Vec<f64> = counts.iter().map(|c| c.unwrap_or(size)).collect();
        let mut dims = vec![1; x.rank()];
        dims[i + 2] = line.len();
        let line = b.num_array(&dims, line);
        total = b.mul(&total, &line)?;
    }
    Ok(vec![b.div(&sums, &total)?])
}

/// For each axis how many elements of each window count; `None` where all do.
#[allow(clippy::cast_precision_loss, reason = "windows are small")]
fn counts(call: &Call<'_>, x: &Val, w: &Windows) -> Vec<Vec<Option<f64>>> {
    let pads_count = call.flag("count_include_pad", false);
    let dims = x.dims();
    let axis = |i: usize| {
        let length = dims[i + 2];
        let axis = ConvAxis { stride: w.stride[i], lo: w.lo[i], hi: w.hi[i], dilation: w.dilation[i] };
        // What `ceil_mode` adds at the end never counts.
        let declared = call.ints("pads").and_then(|p| p.get(i + w.size.len()).copied()).unwrap_or(0);
        let hi = w.hi[i].min(usize::try_from(declared).unwrap_or(0));
        let hi = if call.text("auto_pad", "NOTSET") == "NOTSET" { hi } else { w.hi[i] };
        let bounds = if pads_count { 0..w.lo[i] + length + hi } else { w.lo[i]..w.lo[i] + length };
        let count = |k: usize| {
            let within =
                (0..w.size[i]).filter(|p| bounds.contains(&(k * w.stride[i] + p * w.dilation[i]))).count();
            (within < w.size[i]).then_some(within as f64)
        };
        (0..axis.windows(length, w.size[i]).unwrap_or(0)).map(count).collect()
    };
    (0..w.size.len()).map(axis).collect()
}

fn lp_pool(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let w = windows(call, x)?;
    #[allow(clippy::cast_precision_loss, reason = "an exponent is small")]
    let p = b.num(call.int("p", 2) as f64);
    let size = b.unary(rml_ir::op::Unary::Abs, x)?;
    let power = b.binary(Binary::Pow, &size, &p)?;
    let sum = sliced(b, &power, &w, 0.0, Binary::Add)?;
    let one = b.num(1.0);
    let root = b.div(&one, &p)?;
    Ok(vec![b.binary(Binary::Pow, &sum, &root)?])
}
