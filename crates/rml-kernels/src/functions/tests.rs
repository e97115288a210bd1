//! Errors of the elementary functions, and the same bits on every path.

use super::{Binary, Unary, binary_on, unary_on, unary_one_on};
use crate::isa::Isa;
use crate::real::KernelNumber;

/// The function in double precision, from `libm`; what is negligible is so for `T`.
fn exact<T: KernelNumber + Into<f64>>(f: Unary, x: f64) -> f64 {
    match f {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sign => (f64::from(x > 0.0) - f64::from(x < 0.0)) + if x.is_nan() { x } else { 0.0 },
        Unary::Sqrt => libm::sqrt(x),
        Unary::Relu => x.max(0.0),
        Unary::Flush if x.abs() < T::NEGLIGIBLE.into() => 0.0,
        Unary::Flush => x,
        Unary::Floor => libm::floor(x),
        Unary::Ceil => libm::ceil(x),
        Unary::Round => libm::rint(x),
        Unary::Exp => libm::exp(x),
        Unary::Expm1 => libm::expm1(x),
        Unary::Log => libm::log(x),
        Unary::Log1p => libm::log1p(x),
        Unary::Sin => libm::sin(x),
        Unary::Cos => libm::cos(x),
        Unary::Erf => libm::erf(x),
        Unary::Gelu if x == f64::NEG_INFINITY => 0.0,
        Unary::Gelu => gelu(x),
        Unary::Softplus if x.is_nan() => x,
        Unary::Softplus => x.max(0.0) + libm::log1p(libm::exp(-x.abs())),
        Unary::Sigmoid if x < 0.0 => libm::exp(x) / (1.0 + libm::exp(x)),
        Unary::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
        Unary::Tanh => libm::tanh(x),
    }
}

/// With what rounding takes from `x / sqrt 2`, which the tail of `erfc` makes larger.
fn gelu(x: f64) -> f64 {
    const LOW: f64 = -4.833_646_656_726_457e-17;
    let z = -x * std::f64::consts::FRAC_1_SQRT_2;
    let off = (-x).mul_add(std::f64::consts::FRAC_1_SQRT_2, -z) - x * LOW;
    let slope = -std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-z * z);
    let off = if off.is_finite() { slope * off } else { 0.0 };
    0.5 * x * (libm::erfc(z) + off)
}

/// Units in the last place that a function may be off by, as `docs/numerics.md` states, in single and in double
/// precision.
fn bound(f: Unary) -> (f64, f64) {
    match f {
        Unary::Neg | Unary::Abs | Unary::Sign | Unary::Relu | Unary::Flush => (0.0, 0.0),
        Unary::Floor | Unary::Ceil | Unary::Round => (0.0, 0.0),
        Unary::Sqrt => (0.5, 0.5),
        Unary::Exp | Unary::Log => (1.0, 1.0),
        Unary::Expm1 | Unary::Log1p | Unary::Sin | Unary::Cos | Unary::Erf => (1.5, 2.0),
        Unary::Softplus => (1.5, 2.0),
        Unary::Sigmoid => (2.5, 2.5),
        Unary::Tanh => (2.5, 4.0),
        Unary::Gelu => (4.0, 6.0),
    }
}

macro_rules! ulps {
    ($name:ident, $t:ident) => {
        /// How many units in the last place of `exact` are between the two; infinite if only one of them is a number.
        fn $name(got: $t, exact: f64) -> f64 {
            let nearest = exact as $t;
            if got.is_nan() || exact.is_nan() {
                return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
            }
            if got == nearest {
                let unit = f64::from(nearest.abs().next_up()) - f64::from(nearest.abs());
                let off = (f64::from(got) - exact).abs() / unit;
                return if off.is_nan() { 0.0 } else { off };
            }
            if got.is_infinite() || nearest.is_infinite() {
                return f64::INFINITY;
            }
            let unit = f64::from(nearest.abs().next_up()) - f64::from(nearest.abs());
            (f64::from(got) - exact).abs() / unit
        }
    };
}
ulps!(ulps_single, f32);
ulps!(ulps_double, f64);

/// The largest error in single precision over every `step`th number from `first` on, and where.
fn worst_single(f: Unary, first: usize, step: usize) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut bits = (0..=u32::MAX).skip(first).step_by(step);
    loop {
        x.clear();
        x.extend(bits.by_ref().take(4096).map(f32::from_bits));
        if x.is_empty() {
            return worst;
        }
        y.resize(x.len(), 0.0);
        unary_on(Isa::best(), f, &x, &mut y);
        for (x, y) in x.iter().zip(&y) {
            let off = ulps_single(*y, exact::<f32>(f, f64::from(*x)));
            if off > worst.0 {
                worst = (off, *x);
            }
        }
    }
}

#[test]
fn errors_in_single_precision() {
    for &f in Unary::ALL {
        let (off, x) = worst_single(f, 0, 9973);
        assert!(off <= bound(f).0, "{f:?} is {off} ulp off at {x:e}");
    }
}

/// The same over all numbers: minutes.
#[test]
#[ignore = "minutes"]
fn errors_in_single_precision_over_all_numbers() {
    for &f in Unary::ALL {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = std::thread::scope(|s| {
            let parts: Vec<_> = (0..threads).map(|i| s.spawn(move || worst_single(f, i, threads))).collect();
            parts.into_iter().map(|p| p.join().expect("no panic")).collect::<Vec<_>>()
        });
        let (off, x) = parts.into_iter().fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        assert!(off <= bound(f).0, "{f:?} is {off} ulp off at {x:e}");
    }
}

/// Numbers of all magnitudes and, more of them, near 1.
fn doubles() -> Vec<f64> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11 << 11 | state >> 53
    };
    let mut x: Vec<f64> = (0..40_000).map(|_| f64::from_bits(next())).collect();
    for scale in [1e-3, 0.5, 2.0, 10.0, 40.0, 800.0] {
        x.extend((0..40_000).map(|_| (next() as f64 / 2_f64.powi(63) - 1.0) * scale));
    }
    x
}

#[test]
fn errors_in_double_precision() {
    let x = doubles();
    let mut y = vec![0.0; x.len()];
    for &f in Unary::ALL {
        unary_on(Isa::best(), f, &x, &mut y);
        let off = x.iter().zip(&y).map(|(x, y)| (ulps_double(*y, exact::<f64>(f, *x)), *x));
        let off = off.filter(|(_, x)| f != Unary::Gelu || *x > -30.0);
        let (off, x) = off.fold((0.0, 0.0), |worst, off| if off.0 > worst.0 { off } else { worst });
        assert!(off <= bound(f).1, "{f:?} is {off} ulp off at {x:e}");
    }
}

const EDGES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e-45,
    -1e-40,
    1e-38,
    5e-324,
    1e-310,
    -2.2e-308,
    88.72,
    88.73,
    -103.9,
    -104.1,
    -87.4,
    709.78,
    709.79,
    -745.1,
    -745.2,
    3.4e38,
    -3.4e38,
    1.7e308,
    1e5,
    1.1e5,
    -1e7,
    1e22,
    9.01,
    -20.0,
];

macro_rules! bits {
    ($name:ident, $t:ident) => {
        /// All paths, all places of a slice and all lengths give the same bits.
        #[test]
        fn $name() {
            let mut numbers: Vec<$t> = EDGES.iter().map(|x| *x as $t).collect();
            numbers.extend(doubles().iter().step_by(701).map(|x| *x as $t));
            let same = |a: $t, b: $t| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            for &f in Unary::ALL {
                let expected: Vec<$t> = numbers.iter().map(|x| unary_one_on(Isa::Portable, f, *x)).collect();
                for isa in Isa::available() {
                    let one = |x: &$t| unary_one_on(isa, f, *x);
                    assert!(
                        numbers.iter().map(one).zip(&expected).all(|(a, b)| same(a, *b)),
                        "{f:?} {isa:?}"
                    );
                    for (from, len) in (0..40).map(|i| (i % 17, i)).chain([(0, numbers.len())]) {
                        let mut out = vec![0.5; len + 2];
                        unary_on(
                            isa,
                            f,
                            &numbers[from..][..len.min(numbers.len() - from)],
                            &mut out[1..=len],
                        );
                        assert!(out[0] == 0.5 && out[len + 1] == 0.5);
                        for (i, (got, wanted)) in out[1..=len].iter().zip(&expected[from..]).enumerate() {
                            assert!(
                                same(*got, *wanted),
                                "{f:?} {isa:?} of {}: {got} {wanted}",
                                numbers[from + i]
                            );
                        }
                    }
                }
            }
            for &f in Binary::ALL {
                let mut expected = vec![0.0; numbers.len() * EDGES.len()];
                let mut found = expected.clone();
                let repeated: Vec<$t> = EDGES.iter().flat_map(|x| vec![*x as $t; numbers.len()]).collect();
                binary_on(Isa::Portable, f, &numbers, &repeated, &mut expected);
                for isa in Isa::available() {
                    for (out, y) in found.chunks_mut(numbers.len()).zip(EDGES) {
                        binary_on(isa, f, &numbers, &[*y as $t], out);
                    }
                    assert!(found.iter().zip(&expected).all(|(a, b)| same(*a, *b)), "{f:?} {isa:?}");
                }
            }
        }
    };
}
bits!(bits_in_single_precision, f32);
bits!(bits_in_double_precision, f64);

/// At edges, results are those of `libm`, also the sign of zero.
#[test]
fn edges() {
    for &f in Unary::ALL {
        for &x in EDGES {
            let single = unary_one_on(Isa::best(), f, x as f32);
            let wanted = exact::<f32>(f, f64::from(x as f32));
            assert!(ulps_single(single, wanted) < 8.0, "{f:?} of {x}: {single} {wanted}");
            let double = unary_one_on(Isa::best(), f, x);
            assert!(
                ulps_double(double, exact::<f64>(f, x)) < 64.0,
                "{f:?} of {x}: {double} {}",
                exact::<f64>(f, x)
            );
            if x == 0.0 && !matches!(f, Unary::Relu | Unary::Sign | Unary::Flush) {
                assert_eq!(double.is_sign_negative(), exact::<f64>(f, x).is_sign_negative(), "{f:?} of {x}");
                assert_eq!(single.is_sign_negative(), exact::<f64>(f, x).is_sign_negative(), "{f:?} of {x}");
            }
        }
    }
}

/// In single precision, powers are off by hardly more than rounding; at edges they are those of `libm`.
#[test]
fn powers() {
    let mut out = [0.0];
    let numbers = doubles();
    let random = numbers.iter().zip(numbers.iter().rev()).map(|(a, b)| (a.abs() as f32, *b as f32 / 8.0));
    let edges = EDGES.iter().flat_map(|a| {
        EDGES.iter().chain(&[2.0, 3.0, -3.0, 0.5, 16_777_217.0]).map(|b| (*a as f32, *b as f32))
    });
    for (a, b) in random.chain(edges) {
        binary_on(Isa::best(), Binary::Pow, &[a], &[b], &mut out);
        let wanted = libm::pow(f64::from(a), f64::from(b));
        let off = ulps_single(out[0], wanted);
        assert!(off <= 0.501, "{a:e} to the power of {b:e}: {:e} {wanted:e} {off}", out[0]);
        assert!(wanted != 0.0 || out[0].is_sign_negative() == wanted.is_sign_negative(), "{a} {b}");
    }
}

macro_rules! border {
    ($name:ident, $t:ident, $least:expr) => {
        /// `flush` keeps numbers from its border on, to the bit, and makes all below it the zero without sign.
        #[test]
        fn $name() {
            let least: $t = $least;
            let below =
                [least.next_down(), $t::MIN_POSITIVE, $t::MIN_POSITIVE.next_down(), $t::from_bits(1), 0.0];
            let kept = [least, least.next_up(), 1.0, $t::MAX, $t::INFINITY, $t::NAN];
            for isa in Isa::available() {
                for sign in [1.0, -1.0] {
                    for (all, keeps) in [(&below[..], false), (&kept[..], true)] {
                        let x: Vec<$t> = all.iter().cycle().take(37).map(|x| sign * x).collect();
                        let mut y = vec![1.0; x.len()];
                        unary_on(isa, Unary::Flush, &x, &mut y);
                        for (x, y) in x.iter().zip(&y) {
                            let wanted = if keeps { *x } else { 0.0 };
                            assert_eq!(y.to_bits(), wanted.to_bits(), "{x:e} on {isa:?}");
                            assert_eq!(unary_one_on(isa, Unary::Flush, *x).to_bits(), wanted.to_bits());
                        }
                    }
                }
            }
        }
    };
}
border!(the_border_in_single_precision, f32, f32::from_bits(24 << 23));
border!(the_border_in_double_precision, f64, f64::from_bits(53 << 52));
