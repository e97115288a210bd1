//! Operators whose results are known when a model is imported.

use rml_ir::Value;

use super::Table;
use super::layout::unsigned;
use super::pointwise::converted;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::model::Attr;
use crate::refuse::{Refusal, Res, refuse};
use crate::tensor::{ints, nums, of_nums};

pub(super) const TABLE: Table = &[
    ("Constant", constant),
    ("ConstantOfShape", constant_of_shape),
    ("Range", range),
    ("EyeLike", eye),
    ("NonZero", non_zero),
    ("HannWindow", |b, c| window(b, c, &[0.5, 0.5])),
    ("HammingWindow", |b, c| window(b, c, &[25.0 / 46.0, 21.0 / 46.0])),
    ("BlackmanWindow", |b, c| window(b, c, &[0.42, 0.5, 0.08])),
];

fn constant(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let name = call.node.outputs.first().map_or("constant", String::as_str).to_owned();
    let Some((key, attr)) = call.node.attrs.first_key_value() else {
        return Err(Refusal::malformed("it has no value"));
    };
    Ok(vec![match attr {
        Attr::Tensor(t) => b.tensor(&name, t.elem, t.value.clone(), 17),
        Attr::Float(x) => b.num(f64::from(*x)),
        Attr::Int(i) => b.int(*i),
        Attr::Ints(v) => b.int_array(v.clone()),
        Attr::Floats(v) => b.num_array(&[v.len()], v.iter().map(|x| f64::from(*x)).collect()),
        Attr::Text(_) | Attr::Texts(_) | Attr::Graph(_) | Attr::Of(_) | Attr::Other => {
            return refuse(format!("its value is `{key}`, which is no tensor of numbers"));
        }
    }])
}

fn constant_of_shape(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let dims = call.known_ints(0, "shape")?.unwrap_or_default();
    let dims: Vec<usize> = dims.into_iter().map(unsigned).collect::<Res<_>>()?;
    let one = match call.tensor("value") {
        Some(t) => Val::constant(t.elem, t.value.to_precision(b.precision)),
        None => b.num(0.0),
    };
    let one = b.reshape(&one, &[])?;
    Ok(vec![b.broadcast(&one, &dims)?])
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as the format defines it")]
fn range(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let mut bounds = Vec::new();
    for (i, what) in ["start", "limit", "delta"].iter().enumerate() {
        let found = call.known_nums(i, what)?.and_then(|v| v.first().copied());
        bounds.push(found.ok_or_else(|| Refusal::malformed(format!("its {what} is missing")))?);
    }
    let count = ((bounds[1] - bounds[0]) / bounds[2]).ceil().max(0.0);
    if !count.is_finite() || count > 4e6 {
        return refuse("it is too long");
    }
    let elem = call.arg(0)?.elem;
    let all: Vec<f64> = (0..count as i64).map(|i| bounds[0] + i as f64 * bounds[2]).collect();
    if elem.is_num() {
        return Ok(vec![b.num_array(&[all.len()], all).with_elem(elem)]);
    }
    Ok(vec![b.int_array(all.into_iter().map(|x| x as i64).collect()).with_elem(elem)])
}

fn eye(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let [rows, columns] = x.dims()[..] else { return Err(Refusal::malformed("the operand is no matrix")) };
    let elem = match call.attr("dtype") {
        Some(_) => Elem::of(i32::try_from(call.int("dtype", 1)).unwrap_or(-1)).map_err(Refusal::new)?,
        None => x.elem,
    };
    if rows.saturating_mul(columns) > 1 << 22 {
        return refuse("it is too large");
    }
    let (k, columns_) = (call.int("k", 0), i64::try_from(columns).unwrap_or(0));
    let on = |r: i64, c: i64| f64::from(u8::from(c - r == k));
    let all: Vec<f64> =
        (0..i64::try_from(rows).unwrap_or(0)).flat_map(|r| (0..columns_).map(move |c| on(r, c))).collect();
    let matrix = b.num_array(&[rows, columns], all);
    Ok(vec![converted(b, &matrix, elem)?])
}

fn non_zero(_: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let Some(value) = x.known() else {
        return refuse("how many elements are not zero depends on the values of inputs");
    };
    let (dims, all) = (x.dims(), nums(value));
    let places: Vec<usize> = all.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i).collect();
    let mut rows = Vec::new();
    for axis in 0..dims.len() {
        let step: usize = dims[axis + 1..].iter().product();
        let at = |p: &usize| i64::try_from(p / step % dims[axis]).unwrap_or(0);
        rows.extend(places.iter().map(at));
    }
    Ok(vec![Val::constant(Elem::I64, crate::tensor::of_ints(&[dims.len(), places.len()], rows))])
}

/// A window of cosines: `a0 - a1 cos(x) + a2 cos(2 x)`.
#[allow(clippy::cast_precision_loss, reason = "a window is short")]
fn window(b: &mut Builder<'_>, call: &Call<'_>, weights: &[f64]) -> Res<Vec<Val>> {
    let size = call.known_ints(0, "size")?.and_then(|v| v.first().copied()).unwrap_or(0);
    if !(1..1 << 20).contains(&size) {
        return refuse(format!("its size is {size}"));
    }
    let period = if call.flag("periodic", true) { size } else { size - 1 };
    let at = |k: i64| {
        let x = std::f64::consts::TAU * k as f64 / period as f64;
        let term = |(i, a): (usize, &f64)| a * (i as f64 * x).cos() * if i % 2 == 1 { -1.0 } else { 1.0 };
        weights.iter().enumerate().map(term).sum::<f64>()
    };
    let line: Vec<f64> = (0..size).map(at).collect();
    Ok(vec![b.num_array(&[line.len()], line)])
}

/// The value of a scalar, or an array of one element, that is known.
pub(super) fn scalar(val: &Val) -> Option<f64> {
    val.known().filter(|_| val.len() == 1).map(|v| nums(v)[0])
}

/// Whether a truth value is known.
pub(super) fn truth(val: &Val) -> Option<bool> {
    let value: &Value = val.known()?;
    ints(value).and_then(|v| v.first().map(|x| *x != 0))
}

/// A number rounded to the precision of the program.
pub(super) fn rounded(b: &Builder<'_>, x: f64) -> f64 {
    nums(&of_nums(&[], vec![x], b.precision))[0]
}
