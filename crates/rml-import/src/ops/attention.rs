//! Attention, and the rotation of its operands by their positions.

use rml_ir::op::{Compare, Op, Reduction, Unary};

use super::Table;
use super::layout::{filled, unsigned};
use super::matrix::product;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[("Attention", attention), ("RotaryEmbedding", rotary)];

/// `[batch, length, heads * size]` as `[batch, heads, length, size]`.
fn heads(b: &mut Builder<'_>, x: &Val, count: i64) -> Res<Val> {
    let dims = x.dims();
    let (&[batch, length, width], heads) = (dims.as_slice(), unsigned(count)?) else { return Ok(x.clone()) };
    if heads == 0 || !width.is_multiple_of(heads) {
        return Err(Refusal::malformed(format!("{heads} heads do not fit {}", x.ty())));
    }
    let apart = b.reshape(x, &[batch, length, heads, width / heads])?;
    b.transpose(&apart, &[0, 2, 1, 3])
}

/// Each head repeated, for as many heads of queries.
fn repeated(b: &mut Builder<'_>, x: &Val, heads: usize) -> Res<Val> {
    let d = x.dims();
    if d[1] == heads || d[1] == 0 {
        return Ok(x.clone());
    }
    let wide = b.reshape(x, &[d[0], d[1], 1, d[2], d[3]])?;
    let many = b.broadcast(&wide, &[d[0], d[1], heads / d[1], d[2], d[3]])?;
    b.reshape(&many, &[d[0], heads, d[2], d[3]])
}

fn attention(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    if call.opt(6).is_some() {
        return refuse("it has lengths of sequences that are padded");
    }
    let flat = call.arg(0)?.rank() == 3;
    let (of_q, of_k) = (call.int("q_num_heads", 1), call.int("kv_num_heads", 1));
    let q = heads(b, call.arg(0)?, of_q)?;
    let mut present = Vec::new();
    for (new, past) in [(1, 4), (2, 5)] {
        let own = heads(b, call.arg(new)?, of_k)?;
        present.push(match call.opt(past) {
            Some(past) => b.concat(&[past.clone(), own], 2)?,
            None => own,
        });
    }
    if q.rank() != 4 || present.iter().any(|v| v.rank() != 4) {
        return Err(Refusal::malformed("its operands have neither three nor four axes"));
    }
    let count = q.dims()[1];
    let (k, v) = (repeated(b, &present[0], count)?, repeated(b, &present[1], count)?);
    #[allow(clippy::cast_precision_loss, reason = "a head is small")]
    let default = 1.0 / (q.dims()[3] as f64).sqrt();
    let scale = if call.attr("scale").is_some() { call.float("scale", 1.0) } else { default };
    let root = b.num(scale.sqrt());
    let turned = b.transpose(&k, &[0, 1, 3, 2])?;
    let (left, right) = (b.mul(&q, &root)?, b.mul(&turned, &root)?);
    let raw = product(b, &left, &right)?;
    let capped = capped(b, &raw, call.float("softcap", 0.0))?;
    let bias = bias(b, call, (q.dims()[2], k.dims()[2]))?;
    let biased = match &bias {
        Some(bias) => b.add(&capped, bias)?,
        None => capped.clone(),
    };
    let weights = weights(b, &biased, bias.as_ref())?;
    let mut result = product(b, &weights, &v)?;
    if flat {
        let back = b.transpose(&result, &[0, 2, 1, 3])?;
        let d = back.dims();
        result = b.reshape(&back, &[d[0], d[1], d[2] * d[3]])?;
    }
    let seen = match call.int("qk_matmul_output_mode", 0) {
        0 if call.opset < 24 => raw,
        0 | 1 => capped,
        2 => biased,
        _ => weights,
    };
    Ok([vec![result], present, vec![seen]].concat())
}

/// `cap tanh(x / cap)`
fn capped(b: &mut Builder<'_>, x: &Val, cap: f64) -> Res<Val> {
    if cap <= 0.0 {
        return Ok(x.clone());
    }
    let cap = b.num(cap);
    let inner = b.div(x, &cap)?;
    let tanh = b.unary(Unary::Tanh, &inner)?;
    b.mul(&tanh, &cap)
}

/// What is added to each pair of a query and a key: minus infinity where they do not see each other.
fn bias(b: &mut Builder<'_>, call: &Call<'_>, (queries, keys): (usize, usize)) -> Res<Option<Val>> {
    let (zero, never) = (b.num(0.0), b.num(f64::NEG_INFINITY));
    let mut bias = None;
    if let Some(mask) = call.opt(3) {
        let mask = if mask.elem == Elem::Bool { b.choose(mask, &zero, &never)? } else { mask.clone() };
        let last = mask.rank().saturating_sub(1);
        let missing = keys.saturating_sub(mask.dims().get(last).copied().unwrap_or(keys));
        bias = Some(if missing > 0 { filled(b, &mask, last, 0, missing, &never)? } else { mask });
    }
    let past = call.opt(4).map_or(0, |past| past.dims().get(2).copied().unwrap_or(0));
    let (left, right) = (call.int("left_window_size", -1), call.int("right_window_size", -1));
    let right = if call.flag("is_causal", false) { 0 } else { right };
    if left < 0 && right < 0 {
        return Ok(bias);
    }
    if queries.saturating_mul(keys) > 1 << 22 {
        return refuse("its mask is too large");
    }
    let distance = |i: usize, j: usize| i64::try_from(i + past).unwrap_or(0) - i64::try_from(j).unwrap_or(0);
    let sees = |d: i64| (left < 0 || d <= left) && (right < 0 || -d <= right);
    let pairs = (0..queries).flat_map(|i| (0..keys).map(move |j| (i, j)));
    let near = pairs.map(|(i, j)| if sees(distance(i, j)) { 0.0 } else { f64::NEG_INFINITY }).collect();
    let near = b.num_array(&[queries, keys], near);
    Ok(Some(match bias {
        Some(bias) => b.add(&bias, &near)?,
        None => near,
    }))
}

/// The softmax over keys; zeros for a query that sees none.
fn weights(b: &mut Builder<'_>, biased: &Val, bias: Option<&Val>) -> Res<Val> {
    let made = b.apply(Op::Softmax, &[biased], biased.elem)?;
    let Some(bias) = bias else { return Ok(made) };
    let (zero, never) = (b.num(0.0), b.num(f64::NEG_INFINITY));
    let most = b.fold(Reduction::Max, bias, &[bias.rank() - 1], true)?;
    let none = b.compare(Compare::Eq, &most, &never)?;
    if none.known().and_then(crate::tensor::ints).is_some_and(|v| v.iter().all(|x| *x == 0)) {
        return Ok(made);
    }
    b.choose(&none, &zero, &made)
}

/// Pairs of elements turned by an angle that depends on the position.
fn rotary(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let original = call.arg(0)?;
    let x = heads(b, original, call.int("num_heads", 1))?;
    let x = b.transpose(&x, &[0, 2, 1, 3])?;
    let dims = x.dims();
    let size = dims[3];
    let turned = match unsigned(call.int("rotary_embedding_dim", 0))? {
        0 => size,
        n => n.min(size),
    };
    let mut angles = Vec::new();
    for i in [1, 2] {
        let table = call.arg(i)?;
        let found = match call.opt(3) {
            Some(at) => b.apply(Op::Gather { axis: 0 }, &[table, at], table.elem)?,
            None => table.clone(),
        };
        let d = found.dims();
        angles.push(b.reshape(&found, &[d[0], d[1], 1, d[2]])?);
    }
    let (rest, own) = (b.range(&x, 3, turned, size - turned)?, b.range(&x, 3, 0, turned)?);
    let interleaved = call.flag("interleaved", false);
    let half = turned / 2;
    let part = |b: &mut Builder<'_>, k: usize| {
        let (start, step) = if interleaved { (k, 2) } else { (k * half, 1) };
        b.slice(&own, 3, start, half, step)
    };
    let (p, q) = (part(b, 0)?, part(b, 1)?);
    let (pc, qs) = (b.mul(&angles[0], &p)?, b.mul(&angles[1], &q)?);
    let (ps, qc) = (b.mul(&angles[1], &p)?, b.mul(&angles[0], &q)?);
    let (real, imaginary) = (b.sub(&pc, &qs)?, b.add(&ps, &qc)?);
    let made = if interleaved {
        let d = real.dims();
        let wide = [d[0], d[1], d[2], d[3], 1];
        let (real, imaginary) = (b.reshape(&real, &wide)?, b.reshape(&imaginary, &wide)?);
        let pairs = b.concat(&[real, imaginary], 4)?;
        b.reshape(&pairs, &[d[0], d[1], d[2], turned])?
    } else {
        b.concat(&[real, imaginary], 3)?
    };
    let whole = if turned < size { b.concat(&[made, rest], 3)? } else { made };
    Ok(vec![if original.rank() == 3 {
        b.reshape(&whole, &original.dims())?
    } else {
        b.transpose(&whole, &[0, 2, 1, 3])?
    }])
}
