//! Uniform random numbers with the bits of the reference: Philox4x32-10 in integers, and a single rounding at the end.

use rml_ir::Shape;

use super::text::{Elem, Ssa, Text, Ty};
use rml_ir::op::Compare;

const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u64; 2] = [0x9e37_79b9, 0xbb67_ae85];
/// 2^-53.
const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
/// The largest number below 1 in single precision.
const BELOW_ONE: f64 = 1.0 - 1.0 / 16_777_216.0;

/// The low and the high word of ints.
fn halves(t: &mut Text, x: &Ssa) -> [Ssa; 2] {
    let thirty_two = t.unsigned(32, &x.ty);
    let high = t.zip("shift_right_logical", x, &thirty_two);
    [t.convert(x, Elem::U32), t.convert(&high, Elem::U32)]
}

/// High and low word of a product.
fn wide(t: &mut Text, a: u64, b: &Ssa) -> [Ssa; 2] {
    let b = t.convert(b, Elem::U64);
    let a = t.unsigned(a, &b.ty);
    let product = t.zip("multiply", &a, &b);
    let [low, high] = halves(t, &product);
    [high, low]
}

/// The four words of each counter.
fn philox(t: &mut Text, counter: [Ssa; 4], key: [Ssa; 2]) -> [Ssa; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..10 {
        let [hi0, lo0] = wide(t, MULTIPLIERS[0], &c[0]);
        let [hi1, lo1] = wide(t, MULTIPLIERS[1], &c[2]);
        let first = t.zip("xor", &hi1, &c[1]);
        let third = t.zip("xor", &hi0, &c[3]);
        c = [t.zip("xor", &first, &k[0]), lo1, t.zip("xor", &third, &k[1]), lo0];
        let steps = KEY_STEPS.map(|step| t.unsigned(step, &k[0].ty));
        k = [t.zip("add", &k[0], &steps[0]), t.zip("add", &k[1], &steps[1])];
    }
    c
}

/// A number in `0.0..1.0` from two words, in double precision.
fn unit(t: &mut Text, low: &Ssa, high: &Ssa) -> Ssa {
    let (low, high) = (t.convert(low, Elem::U64), t.convert(high, Elem::U64));
    let (thirty_two, eleven) = (t.unsigned(32, &low.ty), t.unsigned(11, &low.ty));
    let high = t.zip("shift_left", &high, &thirty_two);
    let bits = t.zip("or", &low, &high);
    let bits = t.zip("shift_right_logical", &bits, &eleven);
    let whole = t.convert(&bits, Elem::F64);
    let step = t.splat(STEP, &whole.ty);
    t.zip("multiply", &whole, &step)
}

/// For each block of two numbers, a pair of uniform numbers in double precision.
fn pairs(t: &mut Text, args: &[&Ssa], blocks: usize) -> [Ssa; 2] {
    let blocks = Ty::new(Elem::U64, &[blocks]);
    let words = |t: &mut Text, x: &Ssa| {
        let x = t.op("bitcast_convert", &[x], x.ty.with(Elem::U64));
        let all = t.broadcast_in(&x, &[], blocks.dims());
        halves(t, &all)
    };
    let key = words(t, args[0]);
    let tick = match args.get(1) {
        Some(tick) => words(t, tick),
        None => [t.unsigned(0, &blocks.with(Elem::U32)), t.unsigned(0, &blocks.with(Elem::U32))],
    };
    let block = t.iota(&blocks, 0);
    let [b0, b1] = halves(t, &block);
    let [t0, t1] = tick;
    let [a, b, c, d] = philox(t, [b0, b1, t0, t1], key);
    [unit(t, &a, &b), unit(t, &c, &d)]
}

/// The numbers of pairs in order, cut to `n` elements.
fn laid(t: &mut Text, pair: &[Ssa; 2], n: usize) -> Ssa {
    let blocks = pair[0].dims()[0];
    let columns = [&pair[0], &pair[1]].map(|x| t.reshape(x, &[blocks, 1]));
    let pairs = t.concat(&columns, 1);
    let all = t.reshape(&pairs, &[2 * blocks]);
    t.slice_axis(&all, 0, 0, n, 1)
}

/// The draw of `(key, tick)`, or of a key at tick 0; with at least one number.
pub(super) fn uniform(t: &mut Text, args: &[&Ssa], shape: &Shape, num: Elem) -> Ssa {
    let pair = pairs(t, args, shape.len().div_ceil(2));
    let drawn = laid(t, &pair, shape.len());
    let rounded = t.convert(&drawn, num);
    let (one, below) = (t.compare_to(Compare::Ge, &rounded, 1.0), t.splat(BELOW_ONE, &rounded.ty));
    let inside = t.select(&one, &below, &rounded);
    t.reshape(&inside, shape.dims())
}

/// The normal draw, for devices whose functions are precise enough: the Box-Muller transformation of each pair.
pub(super) fn normal(t: &mut Text, args: &[&Ssa], shape: &Shape, num: Elem) -> Ssa {
    let [u, v] = pairs(t, args, shape.len().div_ceil(2));
    let (one, minus) = (t.splat(1.0, &u.ty), t.splat(-2.0, &u.ty));
    let rest = t.zip("subtract", &one, &u);
    let log = t.map("log", &rest);
    let square = t.zip("multiply", &minus, &log);
    let radius = t.map("sqrt", &square);
    let turn = t.splat(std::f64::consts::TAU, &v.ty);
    let angle = t.zip("multiply", &turn, &v);
    let pair = ["cosine", "sine"].map(|f| {
        let side = t.map(f, &angle);
        t.zip("multiply", &radius, &side)
    });
    let drawn = laid(t, &pair, shape.len());
    let rounded = t.convert(&drawn, num);
    t.reshape(&rounded, shape.dims())
}
