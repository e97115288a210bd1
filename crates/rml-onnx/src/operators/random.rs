//! Random numbers: Philox4x32-10 in integers. Uniform numbers have the bits of the reference; normal numbers are
//! computed with the functions of the runtime.

use crate::net::{Attr, Elem, Net, V, signed};

const MULTIPLIERS: [i64; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [i64; 2] = [0x9e37_79b9, 0xbb67_ae85];
/// 2^-53.
const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
/// The largest number below 1 in single precision.
const BELOW_ONE: f64 = 1.0 - 1.0 / 16_777_216.0;
const WORD: i64 = 1 << 32;

/// An integer operator applied to a value and a constant.
fn with(net: &mut Net, op: &str, x: &V, n: i64) -> V {
    let n = net.int(n);
    net.zip(op, x, &n)
}

/// The low and the high word of ints; words are non-negative ints.
fn halves(net: &mut Net, x: &V) -> [V; 2] {
    let low = with(net, "BitwiseAnd", x, WORD - 1);
    let rest = net.zip("Sub", x, &low);
    let high = with(net, "Div", &rest, WORD);
    [low, with(net, "BitwiseAnd", &high, WORD - 1)]
}

/// High and low word of a product of words. The full product would overflow, so `b` is split into parts of 16 bits.
fn wide(net: &mut Net, a: i64, b: &V) -> [V; 2] {
    let half = 1 << 16;
    let (low, high) = (with(net, "BitwiseAnd", b, half - 1), with(net, "Div", b, half));
    let (low, high) = (with(net, "Mul", &low, a), with(net, "Mul", &high, a));
    let carried = with(net, "Div", &low, half);
    let upper = net.zip("Add", &high, &carried);
    let shifted = with(net, "BitwiseAnd", &upper, half - 1);
    let shifted = with(net, "Mul", &shifted, half);
    let lowest = with(net, "BitwiseAnd", &low, half - 1);
    [with(net, "Div", &upper, half), net.zip("Add", &shifted, &lowest)]
}

/// The four words of each counter.
fn philox(net: &mut Net, counter: [V; 4], key: [V; 2]) -> [V; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..10 {
        let [hi0, lo0] = wide(net, MULTIPLIERS[0], &c[0]);
        let [hi1, lo1] = wide(net, MULTIPLIERS[1], &c[2]);
        let first = net.zip("BitwiseXor", &hi1, &c[1]);
        let third = net.zip("BitwiseXor", &hi0, &c[3]);
        c = [net.zip("BitwiseXor", &first, &k[0]), lo1, net.zip("BitwiseXor", &third, &k[1]), lo0];
        k = [0, 1].map(|i| {
            let next = with(net, "Add", &k[i], KEY_STEPS[i]);
            with(net, "BitwiseAnd", &next, WORD - 1)
        });
    }
    c
}

/// A number in `0.0..1.0` from two words, in double precision.
fn unit(net: &mut Net, low: &V, high: &V) -> V {
    let (low, high) = (with(net, "Div", low, 1 << 11), with(net, "Mul", high, 1 << 21));
    let bits = net.zip("Add", &low, &high);
    let whole = net.cast(&bits, Elem::F64);
    let step = net.scalar(STEP, Elem::F64);
    net.zip("Mul", &whole, &step)
}

/// For each block of two numbers, a pair of uniform numbers.
fn pairs(net: &mut Net, args: &[&V], blocks: usize) -> [V; 2] {
    let key = halves(net, args[0]);
    let tick = match args.get(1) {
        Some(tick) => halves(net, tick),
        None => [net.int(0), net.int(0)],
    };
    let block = net.ints((0..blocks).map(signed));
    let high = net.int(0);
    let [t0, t1] = tick;
    let [a, b, c, d] = philox(net, [block, high, t0, t1], key);
    [(a, b), (c, d)].map(|(low, high)| {
        let unit = unit(net, &low, &high);
        net.expand(&unit, &[blocks])
    })
}

/// The numbers of pairs in order, cut to the number of elements.
fn laid(net: &mut Net, pair: &[V; 2], dims: &[usize]) -> V {
    let (blocks, n) = (pair[0].len(), dims.iter().product::<usize>());
    let columns = [&pair[0], &pair[1]].map(|x| net.reshape(x, &[blocks, 1]));
    let all =
        net.node("Concat", &[&columns[0], &columns[1]], &[Attr::Int("axis", 1)], Elem::F64, &[blocks, 2]);
    let all = net.reshape(&all, &[2 * blocks]);
    let (zero, end) = (net.ints([0]), net.ints([signed(n)]));
    let drawn = net.node("Slice", &[&all, &zero, &end], &[], Elem::F64, &[n]);
    net.reshape(&drawn, dims)
}

/// The uniform draw of `(key, tick)`, or of a key at tick 0; with at least one number.
pub(super) fn uniform(net: &mut Net, args: &[&V], dims: &[usize], num: Elem) -> V {
    let pair = pairs(net, args, dims.iter().product::<usize>().div_ceil(2));
    let drawn = laid(net, &pair, dims);
    if num == Elem::F64 {
        return drawn;
    }
    let rounded = net.cast(&drawn, num);
    let (one, below) = (net.scalar(1.0, num), net.scalar(BELOW_ONE, num));
    let whole = net.compare("GreaterOrEqual", &rounded, &one);
    net.select(&whole, &below, &rounded)
}

/// The normal draw: the Box-Muller transformation of each pair.
pub(super) fn normal(net: &mut Net, args: &[&V], dims: &[usize], num: Elem) -> V {
    let [u, v] = pairs(net, args, dims.iter().product::<usize>().div_ceil(2));
    let (one, minus) = (net.scalar(1.0, Elem::F64), net.scalar(-2.0, Elem::F64));
    let turn = net.scalar(std::f64::consts::TAU, Elem::F64);
    let rest = net.zip("Sub", &one, &u);
    let log = net.map("Log", &rest);
    let square = net.zip("Mul", &minus, &log);
    let radius = net.map("Sqrt", &square);
    let angle = net.zip("Mul", &turn, &v);
    let pair = ["Cos", "Sin"].map(|f| {
        let side = net.map(f, &angle);
        net.zip("Mul", &radius, &side)
    });
    let drawn = laid(net, &pair, dims);
    net.cast(&drawn, num)
}
