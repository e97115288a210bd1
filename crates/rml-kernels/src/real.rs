//! The two floating-point types, with the constants and polynomials of the elementary functions.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

#[cfg(target_arch = "x86_64")]
use crate::vector::{Avx2, Avx512, Square};
use crate::vector::{Plain, Vector};

/// `c0 + x (c1 + x (c2 + ..))`, each step fused.
macro_rules! horner {
    ($x:expr; $last:expr) => { $last };
    ($x:expr; $c:expr, $($rest:expr),+ $(,)?) => { horner!($x; $($rest),+).mul_add($x, $c) };
}

/// A polynomial as a function, and its coefficients from the constant on.
macro_rules! polynomial {
    ($t:ident $name:ident $coefficients:ident; $($c:expr),+ $(,)?) => {
        const $coefficients: &'static [$t] = &[$($c),+];
        #[inline(always)]
        fn $name(x: $t) -> $t {
            horner!(x; $($c),+)
        }
    };
}

/// What the kernels need of a number. Methods are branch-free and inlined into the loops that use them.
pub trait KernelNumber:
    Copy
    + Default
    + Debug
    + Send
    + Sync
    + 'static
    + PartialOrd
    + AddAssign
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Vectors of any machine.
    type Plain: Vector<Self>;
    /// Vectors of 512 bits.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Square<Self>;
    /// Vectors of 256 bits.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Self>;
    const ZERO: Self;
    const ONE: Self;
    const TWO: Self;
    const HALF: Self;
    const INFINITY: Self;
    const NAN: Self;
    const SMALLEST_NORMAL: Self;
    /// The least number whose unit in the last place is a normal number: `flush` makes zeros of what is smaller.
    const NEGLIGIBLE: Self;
    const LOG2_E: Self;
    /// Added to a small number, it rounds it to an integer, which then stands in the low bits.
    const MAGIC: Self;
    const LN2_HI: Self;
    const LN2_LO: Self;
    /// The logarithm of 2 with so few bits that multiples by exponents are exact, and the rest.
    const LN2_SHORT: Self;
    const LN2_SHORT_LO: Self;
    /// `exp` is infinite at and above this.
    const EXP_MAX: Self;
    /// `exp` rounds to 0 at and below this.
    const EXP_MIN: Self;
    /// `expm1` rounds to -1 at and below this.
    const EXPM1_MIN: Self;
    /// `tanh` rounds to 1 at and above this.
    const TANH_ONE: Self;
    /// `1 + x` is `x` from here on.
    const BIG: Self;
    /// `exp(x) - 1` and `log(1 + x)` round to `x` where its magnitude is below.
    const TINY: Self;
    /// A power of 2 that makes subnormal numbers normal, and its exponent.
    const RAISE: Self;
    const RAISED: Self;
    const TWO_OVER_PI: Self;
    const HALF_PI: [Self; 3];
    /// Where the reduction of sine and cosine ends.
    const FAR: Self;
    const SQRT_HALF: Self;
    const ERFC_CENTRE: Self;
    const ERFC_MAX: Self;
    const ERF_NEAR: Self;
    const GELU_MAX: Self;

    fn mul_add(self, a: Self, b: Self) -> Self;
    fn is_nan(self) -> bool;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn with_sign_of(self, sign: Self) -> Self;
    /// Itself above 0, else 0. By bits: a choice between the two becomes an instruction on arm64 that gives NaN for a
    /// signalling NaN.
    fn positive_part(self) -> Self;
    /// `2^n` for the integer in the low bits, if that is a normal number.
    fn power_of_two(t: Self) -> Self;
    /// Two normal numbers whose product is `2^n` for the integer in the low bits.
    fn powers_of_two(t: Self) -> (Self, Self);
    /// A normal number as `m 2^k` with `m` between the square roots of 1/2 and 2.
    fn split(self) -> (Self, Self);
    fn is_odd(self) -> bool;
    fn negated_if_second_bit(self, t: Self) -> Self;
    /// `(exp(r) - 1 - r) / r^2` for `|r| <= log(2) / 2`.
    fn exp_rest(r: Self) -> Self;
    /// `(log((1 + s) / (1 - s)) / s - 2) / z` for `z = s^2`, `|s| < 0.172`.
    fn log_rest(z: Self) -> Self;
    /// `erf(x) / x - 1` for `z = x^2 <= 0.56`.
    fn erf_rest(z: Self) -> Self;
    /// `erfc(z) exp(z^2) (1 + 2 z)` for `t = (z - c) / (z + c)`, where `c` is the centre.
    fn erfc_scaled(t: Self) -> Self;
    /// `(sin(r) / r - 1) / z` for `z = r^2`, `|r| <= pi / 4`.
    fn sin_rest(z: Self) -> Self;
    /// `(cos(r) - 1 + z / 2) / z^2`.
    fn cos_rest(z: Self) -> Self;
    const EXP_REST: &'static [Self];
    const LOG_REST: &'static [Self];
    const ERF_REST: &'static [Self];
    const ERFC_SCALED: &'static [Self];
    const SIN_REST: &'static [Self];
    const COS_REST: &'static [Self];
    /// Sine and cosine beyond `FAR`, one number at a time.
    fn far_sin(self) -> Self;
    fn far_cos(self) -> Self;
}

/// The constants of the functions by name, and the coefficients of their polynomials from the constant on: for code
/// that computes the same elsewhere.
pub fn constants<T: KernelNumber>() -> Vec<(&'static str, Vec<T>)> {
    macro_rules! all {
        ($($one:ident)*; $($many:ident)*) => {
            vec![$((stringify!($one), vec![T::$one]),)* $((stringify!($many), T::$many.to_vec()),)*]
        };
    }
    all! {
        SMALLEST_NORMAL NEGLIGIBLE LOG2_E MAGIC LN2_HI LN2_LO LN2_SHORT LN2_SHORT_LO EXP_MAX EXP_MIN EXPM1_MIN TANH_ONE BIG TINY RAISE RAISED
        TWO_OVER_PI FAR SQRT_HALF ERFC_CENTRE ERFC_MAX ERF_NEAR GELU_MAX;
        HALF_PI EXP_REST LOG_REST ERF_REST ERFC_SCALED SIN_REST COS_REST
    }
}

macro_rules! arithmetic {
    ($t:ident, $bits:ident, $exponent:expr, $bias:expr) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const TWO: Self = 2.0;
        const HALF: Self = 0.5;
        const INFINITY: Self = $t::INFINITY;
        const NAN: Self = $t::NAN;
        const SMALLEST_NORMAL: Self = $t::MIN_POSITIVE;
        const NEGLIGIBLE: Self = $t::MIN_POSITIVE / $t::EPSILON;
        const LOG2_E: Self = std::$t::consts::LOG2_E;
        const TWO_OVER_PI: Self = std::$t::consts::FRAC_2_PI;
        const SQRT_HALF: Self = std::$t::consts::FRAC_1_SQRT_2;
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            $t::mul_add(self, a, b)
        }
        #[inline(always)]
        fn is_nan(self) -> bool {
            $t::is_nan(self)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            $t::abs(self)
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            $t::sqrt(self)
        }
        #[inline(always)]
        fn floor(self) -> Self {
            $t::floor(self)
        }
        #[inline(always)]
        fn ceil(self) -> Self {
            $t::ceil(self)
        }
        #[inline(always)]
        fn round(self) -> Self {
            $t::round_ties_even(self)
        }
        #[inline(always)]
        fn with_sign_of(self, sign: Self) -> Self {
            let mask = (-0.0 as $t).to_bits();
            $t::from_bits(self.to_bits() & !mask | sign.to_bits() & mask)
        }
        #[inline(always)]
        fn positive_part(self) -> Self {
            let bits = self.to_bits();
            let (is_negative, is_number) = (bits >> ($bits::BITS - 1), $bits::from(!self.is_nan()));
            $t::from_bits(bits & !is_negative.wrapping_neg() & is_number.wrapping_neg())
        }
        #[inline(always)]
        fn power_of_two(t: Self) -> Self {
            $t::from_bits((t.to_bits() << $exponent).wrapping_add($bias << $exponent))
        }
        #[inline(always)]
        fn powers_of_two(t: Self) -> (Self, Self) {
            // Twice the bias is added first, so that the shift may be one without sign.
            let n = t.to_bits().wrapping_sub(Self::MAGIC.to_bits()).wrapping_add(2 * $bias);
            let half = n >> 1;
            ($t::from_bits(half << $exponent), $t::from_bits(n.wrapping_sub(half) << $exponent))
        }
        #[inline(always)]
        fn split(self) -> (Self, Self) {
            let one = Self::ONE.to_bits();
            let shifted = self.to_bits().wrapping_add(one.wrapping_sub(Self::SQRT_HALF.to_bits()));
            let k = shifted >> $exponent;
            let m = (shifted & ((1 << $exponent) - 1)).wrapping_add(Self::SQRT_HALF.to_bits());
            // 2^e + k, e being the number of bits of the fraction, less 2^e + bias.
            let base = ($bias + $exponent) << $exponent;
            let k = $t::from_bits(k | base) - ($t::from_bits(base) + $bias as $t);
            ($t::from_bits(m), k)
        }
        #[inline(always)]
        fn is_odd(self) -> bool {
            self.to_bits() & 1 != 0
        }
        #[inline(always)]
        fn negated_if_second_bit(self, t: Self) -> Self {
            $t::from_bits(self.to_bits() ^ (t.to_bits() & 2) << ($bits::BITS - 2))
        }
    };
}

impl KernelNumber for f32 {
    type Plain = Plain<f32>;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = Avx512<std::arch::x86_64::__m512>;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = Avx2<std::arch::x86_64::__m256>;
    arithmetic!(f32, u32, 23, 127);
    const MAGIC: f32 = 12_582_912.0;
    const LN2_HI: f32 = std::f32::consts::LN_2;
    const LN2_LO: f32 = -1.904_654_2e-9;
    const LN2_SHORT: f32 = 0.693_138_1;
    const LN2_SHORT_LO: f32 = 9.058_001e-6;
    const EXP_MAX: f32 = 89.0;
    const EXP_MIN: f32 = -104.0;
    const EXPM1_MIN: f32 = -18.0;
    const TANH_ONE: f32 = 9.5;
    const BIG: f32 = 1e18;
    const TINY: f32 = 1.490_116_1e-8;
    const RAISE: f32 = 33_554_432.0;
    const RAISED: f32 = 25.0;
    const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
    const FAR: f32 = 1e5;
    const ERFC_CENTRE: f32 = 2.0;
    const ERFC_MAX: f32 = 10.0;
    const ERF_NEAR: f32 = 0.7;
    const GELU_MAX: f32 = 14.8;

    polynomial!(f32 exp_rest EXP_REST; 0.5, 0.166_665_76, 0.041_666_552, 0.008_363_293, 0.001_392_632_6);
    polynomial!(f32 log_rest LOG_REST; 0.666_666_7, 0.400_001_23, 0.285_508_07, 0.233_308_3);
    polynomial!(f32 erf_rest ERF_REST; 0.128_379_17, -0.376_126_2, 0.112_833_865, -0.026_835_114, 0.005_115_332, -0.000_675_648);
    polynomial!(f32 erfc_scaled ERFC_SCALED; 1.276_978_4, -0.092_763_81, -0.166_030_48, 0.164_050_88, -0.054_218_438, -0.008_029_784, 0.008_712_785, 0.001_250_621, -0.001_430_149_9, -0.000_401_834_52, 0.000_177_807_87, 8.383_818e-5);
    polynomial!(f32 sin_rest SIN_REST; -0.166_666_64, 0.008_332_741, -0.000_195_863_77);
    polynomial!(f32 cos_rest COS_REST; 0.041_666_664, -0.001_388_829_6, 2.454_642_5e-5);
    fn far_sin(self) -> f32 {
        libm::sinf(self)
    }
    fn far_cos(self) -> f32 {
        libm::cosf(self)
    }
}

impl KernelNumber for f64 {
    type Plain = Plain<f64>;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = Avx512<std::arch::x86_64::__m512d>;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = Avx2<std::arch::x86_64::__m256d>;
    arithmetic!(f64, u64, 52, 1023);
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const LN2_HI: f64 = std::f64::consts::LN_2;
    const LN2_LO: f64 = 2.319_046_813_846_299_6e-17;
    const LN2_SHORT: f64 = 6.931_471_803_691_238e-1;
    const LN2_SHORT_LO: f64 = 1.908_214_929_270_587_7e-10;
    const EXP_MAX: f64 = 710.0;
    const EXP_MIN: f64 = -746.0;
    const EXPM1_MIN: f64 = -38.0;
    const TANH_ONE: f64 = 19.5;
    const BIG: f64 = 1e100;
    const TINY: f64 = 2.775_557_561_562_891_4e-17;
    const RAISE: f64 = 18_014_398_509_481_984.0;
    const RAISED: f64 = 54.0;
    const HALF_PI: [f64; 3] =
        [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
    const FAR: f64 = 1_048_576.0;
    const ERFC_CENTRE: f64 = 4.0;
    const ERFC_MAX: f64 = 27.5;
    const ERF_NEAR: f64 = 0.7;
    const GELU_MAX: f64 = 38.9;

    polynomial!(f64 exp_rest EXP_REST; 0.500_000_000_000_000_1, 0.166_666_666_666_666_69, 0.041_666_666_666_623_48, 0.008_333_333_333_330_011, 0.001_388_888_891_753_829_6, 0.000_198_412_698_633_032_23, 2.480_152_079_257_269_4e-5, 2.755_726_807_289_01e-6, 2.762_032_742_826_824e-7, 2.510_056_927_581_368_3e-8);
    polynomial!(f64 log_rest LOG_REST; 0.666_666_666_666_667, 0.399_999_999_998_993_1, 0.285_714_286_260_633_8, 0.222_222_111_204_492_95, 0.181_828_901_703_141_3, 0.153_316_868_686_340_76, 0.146_168_789_190_753_2);
    polynomial!(f64 erf_rest ERF_REST; 0.128_379_167_095_512_6, -0.376_126_389_031_837_15, 0.112_837_916_709_525_96, -0.026_866_170_644_428_485, 0.005_223_977_615_420_539, -0.000_854_832_618_875_975_2, 0.000_120_552_895_675_417_06, -1.492_419_630_556_961_7e-5, 1.643_068_417_974_155e-6, -1.594_006_685_466_171_7e-7, 1.147_249_970_109_469_1e-8);
    polynomial!(f64 erfc_scaled ERFC_SCALED; 1.232_995_118_625_552_6, -0.139_621_116_840_562_53, 0.015_379_652_102_620_116, 0.068_097_054_254_692_91, -0.101_039_066_036_329_95, 0.093_732_834_998_338_01, -0.066_330_365_811_531_34, 0.037_167_515_537_800_08, -0.016_197_734_067_246_76, 0.005_031_969_972_928_771, -0.000_757_773_212_874_817_7, -0.000_199_256_646_438_601_74, 0.000_150_621_301_192_656_76, -2.439_949_585_858_488_3e-5, -1.122_086_288_605_371_3e-5, 5.710_759_853_356_509e-6, 2.915_548_765_332_71e-7, -8.277_774_152_040_894e-7, 7.715_610_529_040_176e-8, 1.133_482_034_667_308_6e-7, -1.919_005_251_607_08e-8, -1.668_808_712_810_771_3e-8, 1.700_277_034_344_755_7e-9, 2.137_056_431_008_382e-9, 3.008_082_939_955_346e-10);
    polynomial!(f64 sin_rest SIN_REST; -0.166_666_666_666_666_66, 0.008_333_333_333_330_877, -0.000_198_412_698_366_493_43, 2.755_731_604_606_330_8e-6, -2.505_112_010_708_436_3e-8, 1.591_728_615_717_649e-10);
    polynomial!(f64 cos_rest COS_REST; 0.041_666_666_666_666_664, -0.001_388_888_888_888_735_2, 2.480_158_729_869_735_7e-5, -2.755_731_723_639_114_4e-7, 2.087_613_892_529_428_7e-9, -1.138_210_496_445_363_4e-11);
    fn far_sin(self) -> f64 {
        libm::sin(self)
    }
    fn far_cos(self) -> f64 {
        libm::cos(self)
    }
}
