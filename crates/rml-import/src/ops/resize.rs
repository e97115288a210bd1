//! Images in other sizes: along each axis a repetition, or a product with a matrix of weights.

use rml_ir::op::Op;

use super::Table;
use super::layout::{last_axis, unsigned};
use super::statics::rounded;
use crate::build::{Builder, Call, Val};
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[("Resize", resize), ("Upsample", resize)];

/// How positions of the result are found in the operand.
struct Rule {
    nearest: bool,
    cubic: Option<f64>,
    coordinates: String,
    rounding: String,
    antialias: bool,
    outside: bool,
    fill: f64,
}

/// What happens to an axis.
struct Axis {
    length: usize,
    result: usize,
    scale: f64,
    roi: (f64, f64),
}

fn resize(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let old = call.node.op == "Upsample" || call.opset < 11;
    let rule = Rule {
        nearest: call.text("mode", "nearest") == "nearest",
        cubic: (call.text("mode", "nearest") == "cubic").then(|| call.float("cubic_coeff_a", -0.75)),
        coordinates: call
            .text("coordinate_transformation_mode", if old { "asymmetric" } else { "half_pixel" })
            .to_owned(),
        rounding: call.text("nearest_mode", if old { "floor" } else { "round_prefer_floor" }).to_owned(),
        antialias: call.flag("antialias", false),
        outside: call.flag("exclude_outside", false),
        fill: call.float("extrapolation_value", 0.0),
    };
    let axes = axes(call, x, old)?;
    let mut x = x.clone();
    for (axis, how) in axes.iter().enumerate() {
        x = along(b, &x, axis, how, &rule)?;
    }
    Ok(vec![x])
}

/// The sizes and scales of all axes.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as the format defines it")]
fn axes(call: &Call<'_>, x: &Val, old: bool) -> Res<Vec<Axis>> {
    let dims = x.dims();
    let chosen: Vec<usize> = match call.ints("axes") {
        Some(axes) => axes.iter().map(|a| call.axis(*a, dims.len())).collect::<Res<_>>()?,
        None => (0..dims.len()).collect(),
    };
    let scales = match call.floats("scales") {
        Some(scales) => Some(scales),
        None => call.known_nums(if old { 1 } else { 2 }, "scales")?.filter(|s| !s.is_empty()),
    };
    let sizes = if old { None } else { call.known_ints(3, "sizes")?.filter(|s| !s.is_empty()) };
    // Other modes do not read it.
    let crops = !old && call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    let roi = if crops { call.known_nums(1, "roi")? } else { None };
    let roi = roi.filter(|r| r.len() == 2 * chosen.len());
    let mut axes: Vec<Axis> =
        dims.iter().map(|d| Axis { length: *d, result: *d, scale: 1.0, roi: (0.0, 1.0) }).collect();
    let bad = || Refusal::malformed("its sizes are not one for each axis");
    let policy = call.text("keep_aspect_ratio_policy", "stretch");
    let ratio = sizes.as_ref().map(|sizes| {
        let each = sizes.iter().zip(&chosen).map(|(s, a)| *s as f64 / dims[*a] as f64);
        if policy == "not_larger" { each.fold(f64::INFINITY, f64::min) } else { each.fold(0.0, f64::max) }
    });
    for (k, &axis) in chosen.iter().enumerate() {
        let length = dims[axis];
        let how = &mut axes[axis];
        match (&sizes, &scales) {
            (Some(sizes), _) => {
                how.result = unsigned(*sizes.get(k).ok_or_else(bad)?)?;
                how.scale = how.result as f64 / length as f64;
                if let (Some(ratio), true) = (ratio, policy != "stretch") {
                    how.scale = ratio;
                    how.result = (ratio * length as f64).round() as usize;
                }
            }
            (None, Some(scales)) => {
                how.scale = *scales.get(k).ok_or_else(bad)?;
                let stretch = roi.as_ref().map_or(1.0, |r| r[k + chosen.len()] - r[k]);
                how.result = (length as f64 * how.scale * stretch).floor() as usize;
            }
            (None, None) => return Err(Refusal::malformed("it has neither sizes nor scales")),
        }
        if let Some(roi) = &roi {
            how.roi = (roi[k], roi[k + chosen.len()]);
        }
        if how.result > 1 << 16 {
            return refuse(format!("an axis is to become {} long", how.result));
        }
    }
    Ok(axes)
}

#[allow(clippy::cast_precision_loss, reason = "positions in an image")]
impl Axis {
    /// Where a position of the result is in the operand.
    fn position(&self, k: usize, rule: &Rule) -> Res<f64> {
        let (x, length, result) = (k as f64, self.length as f64, self.result as f64);
        let span = self.scale * length;
        Ok(match rule.coordinates.as_str() {
            "asymmetric" => x / self.scale,
            "half_pixel" => (x + 0.5) / self.scale - 0.5,
            "pytorch_half_pixel" if self.result > 1 => (x + 0.5) / self.scale - 0.5,
            "pytorch_half_pixel" => 0.0,
            "half_pixel_symmetric" => {
                let adjustment = result / span;
                length / 2.0 * (1.0 - adjustment) + (x + 0.5) / self.scale - 0.5
            }
            "align_corners" if span > 1.0 => x * (length - 1.0) / (span - 1.0),
            "align_corners" => 0.0,
            "tf_crop_and_resize" => {
                let (start, end) = self.roi;
                if self.result > 1 {
                    start * (length - 1.0) + x * (end - start) * (length - 1.0) / (result - 1.0)
                } else {
                    0.5 * (start + end) * (length - 1.0)
                }
            }
            "tf_half_pixel_for_nn" => (x + 0.5) / self.scale,
            other => return refuse(format!("`coordinate_transformation_mode` is {other}")),
        })
    }
}

fn along(b: &mut Builder<'_>, x: &Val, axis: usize, how: &Axis, rule: &Rule) -> Res<Val> {
    let crops = rule.coordinates == "tf_crop_and_resize";
    if how.length == how.result && (how.scale - 1.0).abs() < 1e-9 && (!crops || how.roi == (0.0, 1.0)) {
        return Ok(x.clone());
    }
    if how.length == 0 || how.result == 0 {
        return refuse("an axis has no element");
    }
    if how.length.saturating_mul(how.result) > 1 << 24 {
        return refuse(format!("an axis of {} is to become {} long", how.length, how.result));
    }
    if rule.nearest && !crops {
        return nearest(b, x, axis, how, rule);
    }
    let mut weights = vec![0.0; how.length * how.result];
    let mut outside = Vec::new();
    for k in 0..how.result {
        let at = how.position(k, rule)?;
        #[allow(clippy::cast_precision_loss, reason = "positions in an image")]
        let is_outside = crops && (at < 0.0 || at > (how.length - 1) as f64);
        outside.push(f64::from(u8::from(is_outside)));
        if !is_outside {
            for (place, weight) in spread(at, how, rule)? {
                weights[place * how.result + k] += weight;
            }
        }
    }
    let matrix = b.num_array(&[how.length, how.result], weights.iter().map(|w| rounded(b, *w)).collect());
    let (turned, back) = last_axis(b, x, axis)?;
    let mut made = b.apply(Op::MatMul, &[&turned, &matrix], x.elem)?;
    if outside.iter().any(|o| *o > 0.0) && rule.fill != 0.0 {
        let fill = b.num_array(&[how.result], outside.iter().map(|o| o * rule.fill).collect());
        made = b.add(&made, &fill)?;
    }
    b.transpose(&made, &back)
}

/// The elements nearest to each position.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "positions in an image")]
fn nearest(b: &mut Builder<'_>, x: &Val, axis: usize, how: &Axis, rule: &Rule) -> Res<Val> {
    let mut places = Vec::new();
    for k in 0..how.result {
        let at = how.position(k, rule)?;
        let place = match rule.rounding.as_str() {
            "floor" => at.floor(),
            "ceil" => at.ceil(),
            "round_prefer_ceil" => (at + 0.5).floor(),
            _ => (at - 0.5).ceil(),
        };
        places.push(place.clamp(0.0, (how.length - 1) as f64) as i64);
    }
    // A whole number of repetitions is a broadcast.
    let times = how.result / how.length;
    let whole = how.result == times * how.length;
    if whole && places.iter().enumerate().all(|(k, p)| usize::try_from(*p) == Ok(k / times)) {
        let (base, order) = b.base(x);
        let at = order[axis];
        let dims = base.dims();
        let (mut wide, mut many, mut joined) = (dims.clone(), dims.clone(), dims);
        wide.insert(at + 1, 1);
        many.insert(at + 1, times);
        joined[at] *= times;
        let wide = b.reshape(&base, &wide)?;
        let many = b.broadcast(&wide, &many)?;
        let made = b.reshape(&many, &joined)?;
        return b.transpose(&made, &order);
    }
    let (base, order) = b.base(x);
    let places = b.int_array(places);
    let made = b.apply(Op::Gather { axis: order[axis] }, &[&base, &places], x.elem)?;
    b.transpose(&made, &order)
}

/// The elements that a position is made of, with their weights.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "positions in an image")]
fn spread(at: f64, how: &Axis, rule: &Rule) -> Res<Vec<(usize, f64)>> {
    // When an image shrinks without aliasing, the kernel is as wide as what becomes one element.
    let stretch = if rule.antialias { how.scale.min(1.0) } else { 1.0 };
    if rule.nearest {
        return Ok(vec![((at - 0.5).ceil().clamp(0.0, (how.length - 1) as f64) as usize, 1.0)]);
    }
    let reach = if rule.cubic.is_some() { 2.0 } else { 1.0 } / stretch;
    let kernel = |t: f64| {
        let t = t.abs() * stretch;
        match rule.cubic {
            None => (1.0 - t).max(0.0),
            Some(a) if t <= 1.0 => ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0,
            Some(a) if t < 2.0 => ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a,
            Some(_) => 0.0,
        }
    };
    let last = (how.length - 1) as i64;
    let mut found = Vec::new();
    let first = (at - reach).floor() as i64;
    for place in first..=(at + reach).ceil() as i64 {
        let weight = kernel(place as f64 - at);
        let inside = (0..=last).contains(&place);
        if weight != 0.0 && (inside || !rule.outside) {
            found.push((place.clamp(0, last) as usize, weight));
        }
    }
    let total: f64 = found.iter().map(|(_, w)| w).sum();
    if rule.antialias || rule.outside {
        found.iter_mut().for_each(|(_, w)| *w /= total);
    }
    Ok(found)
}
