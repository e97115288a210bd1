//! Functions of two numbers, with a shorter operand repeated.

use std::marker::PhantomData;

use super::{Binary, formulas};
use crate::isa::{Isa, Task};
use crate::real::KernelNumber;

trait Function<T> {
    fn apply(a: T, b: T) -> T;
}

/// A number with the functions that each precision computes by itself.
pub(crate) trait Power: KernelNumber {
    fn pow(self, y: Self) -> Self;
    /// The angle of the point with the ordinate `self` and the abscissa `x`.
    fn atan2(self, x: Self) -> Self;
    /// The exact remainder of `self / y`, with the sign of `self`.
    fn remainder(self, y: Self) -> Self;
}

impl Power for f32 {
    #[inline(always)]
    fn remainder(self, y: f32) -> f32 {
        libm::fmodf(self, y)
    }
    #[inline(always)]
    fn pow(self, y: f32) -> f32 {
        formulas::pow(self, y)
    }
    #[inline(always)]
    fn atan2(self, x: f32) -> f32 {
        libm::atan2f(self, x)
    }
}

impl Power for f64 {
    #[inline(always)]
    fn remainder(self, y: f64) -> f64 {
        libm::fmod(self, y)
    }
    #[inline(always)]
    fn pow(self, y: f64) -> f64 {
        if y == 2.0 { self * self } else { libm::pow(self, y) }
    }
    #[inline(always)]
    fn atan2(self, x: f64) -> f64 {
        libm::atan2(self, x)
    }
}

/// The remainder of `a / b` with the sign of `b`, also where it is 0.
#[inline(always)]
fn modulo<T: Power>(a: T, b: T) -> T {
    let r = a.remainder(b);
    if r == T::ZERO {
        T::ZERO.with_sign_of(b)
    } else if (r < T::ZERO) == (b < T::ZERO) {
        r
    } else {
        r + b
    }
}

macro_rules! pairs {
    ($($name:ident, $a:ident, $b:ident => $y:expr;)*) => {
        $(struct $name;
        impl<T: Power> Function<T> for $name {
            #[inline(always)]
            fn apply($a: T, $b: T) -> T {
                $y
            }
        })*

        pub(crate) fn binary_on<T: Power>(isa: Isa, f: Binary, a: &[T], b: &[T], out: &mut [T]) {
            match f {
                $(Binary::$name => isa.run(Zip::<T, $name> { a, b, out, f: PhantomData }),)*
            }
        }
    };
}

pairs! {
    Add, a, b => a + b;
    Sub, a, b => a - b;
    Mul, a, b => a * b;
    Div, a, b => a / b;
    Mod, a, b => modulo(a, b);
    Pow, a, b => a.pow(b);
    Atan2, a, b => a.atan2(b);
    LogAddExp, a, b => formulas::logaddexp(a, b);
    Minimum, a, b => formulas::least(a, b);
    Maximum, a, b => formulas::greatest(a, b);
}

/// `out = f(a, b)`.
struct Zip<'a, T, F> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    f: PhantomData<F>,
}

#[inline(always)]
fn zip<T: KernelNumber, F: Function<T>>(a: &[T], b: &[T], out: &mut [T]) {
    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out = F::apply(*a, *b);
    }
}

impl<T: Power, F: Function<T>> Task for Zip<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Zip { a, b, out, .. } = self;
        if out.is_empty() {
            return;
        }
        if a.len() == out.len() && b.len() == out.len() {
            return zip::<T, F>(a, b, out);
        }
        match (a, b) {
            (&[a], &[b]) => out.fill(F::apply(a, b)),
            (&[a], _) if b.len() == out.len() => {
                for (out, b) in out.iter_mut().zip(b) {
                    *out = F::apply(a, *b);
                }
            }
            (_, &[b]) if a.len() == out.len() => {
                for (out, a) in out.iter_mut().zip(a) {
                    *out = F::apply(*a, b);
                }
            }
            _ if b.len() == out.len() => {
                for (out, b) in out.chunks_exact_mut(a.len()).zip(b.chunks_exact(a.len())) {
                    zip::<T, F>(a, b, out);
                }
            }
            _ if a.len() == out.len() => {
                for (out, a) in out.chunks_exact_mut(b.len()).zip(a.chunks_exact(b.len())) {
                    zip::<T, F>(a, b, out);
                }
            }
            _ => {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = F::apply(a[i % a.len()], b[i % b.len()]);
                }
            }
        }
    }
}
