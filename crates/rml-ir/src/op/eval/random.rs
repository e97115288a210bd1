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
