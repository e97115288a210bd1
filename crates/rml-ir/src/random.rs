//! Counter-based randomness: every draw is a pure function of (seed, path, tick, position) (DRAW-1, DRAW-2), so it is
//! the same on every backend, in every schedule and after every resume.
//!
//! The generator is Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3"). Its
//! 64-bit key is the [FNV-1a](path_hash) hash of the path, exclusive-or the mixed seed; its 128-bit counter
//! is the tick (high half) and the number of the block (low half). One block of four words gives two numbers
//! in `0..1` with 53 bits each. Everything is computed in double precision, with `libm`'s portable functions,
//! and rounded once at the end: the bits do not depend on the machine.

use crate::op::Distribution;
use crate::types::{DType, Precision, Type};
use crate::value::{Data, Value};

mod orthogonal;
mod philox;

/// The generator for one place in a program at one tick.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    key: [u32; 2],
    tick: u64,
}

impl Random {
    /// The generator for the instance at `path` in a run with that seed, at that tick of its clock.
    pub fn new(seed: u64, path: &str, tick: u64) -> Random {
        let key = path_hash(path) ^ mix(seed);
        Random { key: halves(key), tick }
    }

    /// The generator for a key, at that tick.
    pub fn keyed(key: i64, tick: u64) -> Random {
        Random { key: halves(key.cast_unsigned()), tick }
    }

    /// The key, for [`keyed`](Self::keyed).
    pub fn key(&self) -> i64 {
        let [low, high] = self.key.map(u64::from);
        (low | high << 32).cast_signed()
    }

    /// The words of block `block`.
    fn words(&self, block: u64) -> [u32; 4] {
        let ([b0, b1], [t0, t1]) = (halves(block), halves(self.tick));
        philox::philox4x32_10([b0, b1, t0, t1], self.key)
    }

    /// Numbers `2 block` and `2 block + 1` of this generator, each uniform over the multiples of 2^-53 in `0.0..1.0`.
    fn uniforms(&self, block: u64) -> [f64; 2] {
        numbers(self.words(block))
    }

    /// Fills a row with the numbers of this generator from those of a block on, uniform in `0.0..1.0`.
    pub(crate) fn fill_uniform(&self, block: u64, out: &mut [f64]) {
        rml_kernels::run(Uniforms { random: *self, block, out });
    }

    /// Numbers `2 block` and `2 block + 1` of this generator, standard normal (Box and Muller's transformation of one
    /// block; not of the same draw as [`uniforms`](Self::uniforms)).
    pub(crate) fn normals(&self, block: u64) -> [f64; 2] {
        let [u, v] = self.uniforms(block);
        let radius = (-2.0 * libm::log(1.0 - u)).sqrt();
        let angle = std::f64::consts::TAU * v;
        [radius * libm::cos(angle), radius * libm::sin(angle)]
    }

    /// Number `i` of this generator, uniform in `0.0..1.0`.
    pub fn uniform(&self, i: u64) -> f64 {
        self.uniforms(i / 2)[usize::from(i % 2 == 1)]
    }

    /// Number `i` of this generator, standard normal.
    pub fn normal(&self, i: u64) -> f64 {
        self.normals(i / 2)[usize::from(i % 2 == 1)]
    }
}

/// The two numbers that the words of a block are.
#[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
#[inline(always)]
fn numbers(words: [u32; 4]) -> [f64; 2] {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    let [a, b, c, d] = words.map(u64::from);
    [(a | b << 32) >> 11, (c | d << 32) >> 11].map(|bits| bits as f64 * STEP)
}

/// Uniform numbers of a generator from a block on: blocks side by side, so that they are computed by vectors.
struct Uniforms<'a> {
    random: Random,
    block: u64,
    out: &'a mut [f64],
}

/// Blocks side by side.
const BESIDE: usize = 8;

impl rml_kernels::Task for Uniforms<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Uniforms { random, block, out } = self;
        let ticks = halves(random.tick);
        for (first, out) in (block..).step_by(BESIDE).zip(out.chunks_mut(2 * BESIDE)) {
            let blocks: [[u32; 2]; BESIDE] = std::array::from_fn(|i| halves(first + i as u64));
            let [low, high] = [0, 1].map(|half| blocks.map(|halves| halves[half]));
            let counters = [low, high, [ticks[0]; BESIDE], [ticks[1]; BESIDE]];
            let words = philox::side_by_side(counters, random.key);
            let all: [[f64; 2]; BESIDE] = std::array::from_fn(|i| numbers(words.map(|words| words[i])));
            out.copy_from_slice(&all.as_flattened()[..out.len()]);
        }
    }
}

#[inline(always)]
fn halves(x: u64) -> [u32; 2] {
    #[allow(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    [x as u32, (x >> 32) as u32]
}

/// The 64-bit FNV-1a hash of the path's bytes. Stable: checkpoints and recorded runs rely on it.
pub fn path_hash(path: &str) -> u64 {
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A bijection that spreads seeds over the keys (the finaliser of SplitMix64), so that seeds 1, 2, 3 differ
/// in many bits.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Draws the initial value of type `ty` (num; `int []` for a key) for the instance at `path`: the draw of tick 0.
pub fn draw(dist: &Distribution, ty: &Type, precision: Precision, seed: u64, path: &str) -> Value {
    draw_at(dist, ty, precision, seed, path, 0)
}

/// Draws a value of type `ty` (num) for the instance at `path` at a tick of its clock.
///
/// # Panics
/// If `ty` is not a num type.
pub fn draw_at(
    dist: &Distribution,
    ty: &Type,
    precision: Precision,
    seed: u64,
    path: &str,
    tick: u64,
) -> Value {
    draw_from(dist, ty, precision, &Random::new(seed, path, tick))
}

/// How many bytes of work an element of a draw takes, beside the element itself.
pub(crate) const DRAWN: u64 = size_of::<f64>() as u64;

/// How many bytes drawing a value of that type takes at most, the value included.
pub fn draw_bytes(dist: &Distribution, ty: &Type, precision: Precision) -> u64 {
    // Orthogonal vectors are collected, and then put into the order of the matrix.
    let work = if *dist == Distribution::Orthogonal { 3 * DRAWN } else { DRAWN };
    let doubles = Type { dtype: DType::Num, shape: ty.shape.clone() }.bytes(Precision::F64);
    ty.bytes(precision).saturating_add(doubles.saturating_mul(work / DRAWN))
}

/// Draws a value of type `ty` (num; `int []` for a key) from a generator.
///
/// # Panics
/// If `ty` is another type.
pub fn draw_from(dist: &Distribution, ty: &Type, precision: Precision, random: &Random) -> Value {
    let is_key = *dist == Distribution::Key && *ty == Type::scalar(DType::Int);
    assert!(is_key || ty.dtype == DType::Num, "distributions are over num, keys are ints");
    let dims = ty.shape.dims();
    let numbers = |f: &dyn Fn(u64) -> f64| (0..ty.shape.len() as u64).map(f).collect();
    let (drawn, below): (Vec<f64>, f64) = match *dist {
        Distribution::Uniform { lo, hi } => {
            let below = if lo < hi { hi } else { f64::INFINITY };
            (numbers(&|i| lo + (hi - lo) * random.uniform(i)), below)
        }
        Distribution::GlorotUniform => {
            let limit = glorot_limit(dims);
            (numbers(&|i| limit * (2.0 * random.uniform(i) - 1.0)), limit)
        }
        Distribution::Normal { mean, std } => (numbers(&|i| mean + std * random.normal(i)), f64::INFINITY),
        Distribution::Orthogonal => (orthogonal::draw(dims, random), f64::INFINITY),
        Distribution::Key => return Value::Int(random.key()),
    };
    #[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
    let data = match precision {
        Precision::F32 => Data::F32(drawn.into_iter().map(|x| below_f32(x as f32, below)).collect()),
        Precision::F64 => Data::F64(drawn.into_iter().map(|x| below_f64(x, below)).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

/// `sqrt(6 / (fan_in + fan_out))`.
#[allow(clippy::cast_precision_loss, reason = "dimensions are far below 2^53")]
fn glorot_limit(dims: &[usize]) -> f64 {
    let fans = match *dims {
        [] => 2,
        [n] => 2 * n,
        [.., a, b] => a + b,
    };
    (6.0 / fans as f64).sqrt()
}

/// `x`, or the next number below where rounding has reached the exclusive bound.
pub(crate) fn below_f32(x: f32, bound: f64) -> f32 {
    if f64::from(x) >= bound { x.next_down() } else { x }
}

/// Likewise, in double precision.
pub(crate) fn below_f64(x: f64, bound: f64) -> f64 {
    if x >= bound { x.next_down() } else { x }
}
