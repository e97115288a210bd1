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

/// The number that an operator draws for a key at a tick, by position. Uniform numbers stay below 1 when they are
/// rounded.
pub(super) fn fill<T: PartialOrd>(
    op: &Op,
    (key, tick): (i64, i64),
    out: &mut [T],
    (round, below): (impl Fn(f64) -> T, impl Fn(T, f64) -> T),
) {
    const TOGETHER: usize = 64;
    let random = Random::keyed(key, tick.cast_unsigned());
    if matches!(op, Op::RandomNormal { .. }) {
        for (block, out) in (0..).zip(out.chunks_mut(2)) {
            let pair = random.normals(block).map(|x| 0.0 + x);
            out.iter_mut().zip(pair).for_each(|(out, x)| *out = below(round(x), f64::INFINITY));
        }
        return;
    }
    let mut numbers = [0.0; TOGETHER];
    for (first, out) in (0..).step_by(TOGETHER / 2).zip(out.chunks_mut(TOGETHER)) {
        let numbers = &mut numbers[..out.len()];
        random.fill_uniform(first, numbers);
        out.iter_mut().zip(numbers).for_each(|(out, x)| *out = below(round(*x), 1.0));
    }
}
