//! Random numbers as functions of a key and a tick.

use super::CHECKED;
use crate::op::{Distribution, Op};
use crate::random::{Random, draw_from};
use crate::types::{DType, Precision, Type};
use crate::value::Value;

/// The draw of a key at a tick; that of tick 0 where none is given.
pub(super) fn draw(op: &Op, args: &[&Value], precision: Precision) -> Value {
    let int = |i: usize| args.get(i).map(|v| v.as_int().expect(CHECKED));
    let (dist, shape) = match op {
        Op::RandomUniform { shape } => (Distribution::Uniform { lo: 0.0, hi: 1.0 }, shape),
        Op::RandomNormal { shape } => (Distribution::Normal { mean: 0.0, std: 1.0 }, shape),
        _ => unreachable!("{CHECKED}"),
    };
    let random = Random::keyed(int(0).unwrap_or(0), int(1).unwrap_or(0).cast_unsigned());
    draw_from(&dist, &Type { dtype: DType::Num, shape: shape.clone() }, precision, &random)
}

/// What an operator draws for a key at a tick, by position; of rounded numbers, uniform ones stay below 1.
pub(super) fn fill<T: PartialOrd>(
    op: &Op,
    (key, tick): (i64, i64),
    out: &mut [T],
    (round, below): (impl Fn(f64) -> T, impl Fn(T, f64) -> T),
) {
    let random = Random::keyed(key, tick.cast_unsigned());
    let normal = matches!(op, Op::RandomNormal { .. });
    let bound = if normal { f64::INFINITY } else { 1.0 };
    for (block, out) in (0..).zip(out.chunks_mut(2)) {
        let pair = if normal { random.normals(block).map(|x| 0.0 + x) } else { random.uniforms(block) };
        for (out, x) in out.iter_mut().zip(pair) {
            *out = below(round(x), bound);
        }
    }
}
