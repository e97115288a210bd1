//! Floating-point numbers of 16 bits, which occur in files but not in programs.

/// A format of 16 bits: a sign, an exponent, and a fraction.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// The number of bits of the fraction.
    fraction: u32,
    /// The exponent of the smallest normal number.
    least: i32,
}

/// Half precision (IEEE 754 binary16): 5 bits of exponent.
pub const F16: Half = Half { fraction: 10, least: -14 };
/// The upper half of single precision: 8 bits of exponent.
pub const BF16: Half = Half { fraction: 7, least: -126 };

impl Half {
    /// The bits of infinity: an exponent of ones.
    fn infinity(self) -> u16 {
        0x7fff & !self.fraction_mask()
    }

    fn fraction_mask(self) -> u16 {
        (1 << self.fraction) - 1
    }

    /// The exact value of these bits. Every NaN becomes the same NaN, with its sign.
    #[allow(clippy::cast_possible_truncation, reason = "single precision has every number of 16 bits")]
    pub fn to_f32(self, bits: u16) -> f32 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let fraction = f64::from(bits & self.fraction_mask());
        let exponent = i32::from((bits & self.infinity()) >> self.fraction);
        let unit = self.least - self.fraction.cast_signed();
        let magnitude = match exponent {
            _ if bits & self.infinity() == self.infinity() => {
                if fraction == 0.0 {
                    f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            0 => fraction * power(unit),
            e => (power(self.fraction.cast_signed()) + fraction) * power(e - 1 + unit),
        };
        (sign * magnitude) as f32
    }

    /// The bits of the nearest number; of two equally near numbers, the one with an even fraction. A number that is too
    /// large becomes infinity.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers below 2^16")]
    pub fn nearest(self, x: f64) -> u16 {
        let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
        if x.is_nan() {
            return sign | self.infinity() | 1 << (self.fraction - 1);
        }
        let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(self.least);
        if exponent > 127 {
            return sign | self.infinity();
        }
        // Between two powers of two, the numbers of the format are whole multiples of one unit.
        let units = x.abs() * power(self.fraction.cast_signed() - exponent);
        let bits = units.round_ties_even() as u32 + (((exponent - self.least) as u32) << self.fraction);
        sign | bits.min(self.infinity().into()) as u16
    }
}

/// A power of two that is a normal number in double precision.
fn power(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).cast_unsigned()) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard() {
        for (bits, x) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0001, 2_f32.powi(-24)),
            (0x03ff, 1023.0 * 2_f32.powi(-24)),
            (0x7bff, 65504.0),
            (0xfc00, f32::NEG_INFINITY),
            (0x3555, 0.333_251_95),
        ] {
            assert_eq!(F16.to_f32(bits), x, "{bits:#x}");
        }
        for bits in 0..=u16::MAX {
            let (found, expected) = (BF16.to_f32(bits), f32::from_bits(u32::from(bits) << 16));
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn every_number_reads_back() {
        for format in [F16, BF16] {
            for bits in 0..=u16::MAX {
                let x = format.to_f32(bits);
                let back = format.nearest(x.into());
                assert!(back == bits || x.is_nan() && format.to_f32(back).is_nan(), "{format:?} {bits:#x}");
            }
        }
    }

    /// The middle between two neighbours is rounded to the even one, and other numbers to the nearer one.
    #[test]
    fn what_lies_between_goes_to_the_nearest() {
        for format in [F16, BF16] {
            for low in 0..format.infinity() - 1 {
                let (a, b) = (f64::from(format.to_f32(low)), f64::from(format.to_f32(low + 1)));
                let middle = f64::midpoint(a, b);
                let even = low + (low & 1);
                for (x, expected) in [(middle, even), (middle.next_down(), low), (middle.next_up(), low + 1)]
                {
                    assert_eq!(format.nearest(x), expected, "{format:?} {x:e}");
                    assert_eq!(format.nearest(-x), expected | 0x8000, "{format:?} {x:e}");
                }
            }
        }
    }

    #[test]
    fn what_is_too_large_becomes_infinity() {
        for (format, largest) in [(F16, 65504.0), (BF16, 3.389_531_389_251_535_5e38)] {
            let top = format.infinity() - 1;
            assert_eq!(format.nearest(largest), top);
            // From half a unit above the largest number on, numbers are rounded to infinity, which is even.
            let unit = largest - f64::from(format.to_f32(top - 1));
            assert_eq!(format.nearest((largest + unit / 2.0).next_down()), top);
            for x in [largest + unit / 2.0, 1e300, f64::INFINITY] {
                assert_eq!(format.nearest(x), format.infinity());
                assert_eq!(format.nearest(-x), format.infinity() | 0x8000);
            }
        }
    }
}
