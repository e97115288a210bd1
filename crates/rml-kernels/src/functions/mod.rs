//! Functions of one and of two numbers, element by element.

pub(crate) mod formulas;
mod pairs;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "rounding is meant")]
mod tests;

pub(crate) use pairs::binary_on;

use std::marker::PhantomData;

use crate::isa::{Isa, Task};
use crate::real::KernelNumber;

/// Elements that are computed together; the rest of a slice is padded to as many.
const BLOCK: usize = 16;

/// A function at one point.
trait Function<T> {
    fn apply(x: T) -> T;
    /// Whether `apply` does not hold at `x`; then `far` does.
    #[inline(always)]
    fn is_far(_x: T) -> bool {
        false
    }
    #[inline(always)]
    fn far(x: T) -> T {
        Self::apply(x)
    }
    const HAS_FAR: bool = false;
    /// Whether the function is quick enough that padding the rest of a slice costs more than computing it one by one.
    const LIGHT: bool = false;
}

#[inline(always)]
fn block<T: KernelNumber, F: Function<T>>(x: &[T; BLOCK], out: &mut [T; BLOCK]) {
    // By index, since iterators over two slices are not always inlined into a task.
    let mut y = [T::ZERO; BLOCK];
    for j in 0..BLOCK {
        y[j] = F::apply(x[j]);
    }
    *out = y;
    if F::HAS_FAR {
        let mut far = false;
        for x in x {
            far |= F::is_far(*x);
        }
        if far {
            for (out, x) in out.iter_mut().zip(x) {
                if F::is_far(*x) {
                    *out = F::far(*x);
                }
            }
        }
    }
}

/// `out = f(x)`.
struct Each<'a, T, F> {
    x: &'a [T],
    out: &'a mut [T],
    f: PhantomData<F>,
}

impl<T: KernelNumber, F: Function<T>> Task for Each<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Each { x, out, .. } = self;
        if F::LIGHT {
            for (out, x) in out.iter_mut().zip(x) {
                *out = F::apply(*x);
            }
            return;
        }
        let (blocks, rest) = x.as_chunks::<BLOCK>();
        let (outs, out_rest) = out.as_chunks_mut::<BLOCK>();
        let (mut padded, mut last) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        if !rest.is_empty() {
            padded[..rest.len()].copy_from_slice(rest);
        }
        // One loop with the padded block after the others, so that there is one copy of the code.
        let all = blocks.len() + usize::from(!rest.is_empty());
        for i in 0..all {
            let (x, out) = if i < blocks.len() { (&blocks[i], &mut outs[i]) } else { (&padded, &mut last) };
            block::<T, F>(x, out);
        }
        if !rest.is_empty() {
            out_rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// `f(x)` of one number.
struct One<T, F> {
    x: T,
    f: PhantomData<F>,
}

impl<T: KernelNumber, F: Function<T>> Task for One<T, F> {
    type Output = T;
    #[inline(always)]
    fn run(self) -> T {
        if F::is_far(self.x) { F::far(self.x) } else { F::apply(self.x) }
    }
}

/// `1 / (1 + exp(-x))`, element by element, compiled with the task that it is inlined into.
#[inline(always)]
pub(crate) fn sigmoid_within<T: KernelNumber>(x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len(), "as many results as operands");
    Each::<T, points::Sigmoid> { x, out, f: PhantomData }.run();
}

/// The hyperbolic tangent, element by element, compiled with the task that it is inlined into.
#[inline(always)]
pub(crate) fn tanh_within<T: KernelNumber>(x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len(), "as many results as operands");
    Each::<T, points::Tanh> { x, out, f: PhantomData }.run();
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $text:literal, $light:literal, $x:ident => $y:expr
       $(, far $is_far:expr, $far:expr)?;)*) => {
        /// A function of one number.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Unary {
            $($(#[$doc])* $name,)*
        }

        impl Unary {
            /// All of them.
            pub const ALL: &[Unary] = &[$(Unary::$name),*];

            /// The name: `exp`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Unary::$name => $text,)*
                }
            }
        }

        mod points {
            $(pub(super) struct $name;)*
        }

        $(impl<T: KernelNumber> Function<T> for points::$name {
            const LIGHT: bool = $light;
            #[inline(always)]
            fn apply($x: T) -> T {
                $y
            }
            $(const HAS_FAR: bool = true;
            #[inline(always)]
            fn is_far($x: T) -> bool {
                $is_far
            }
            #[inline(always)]
            fn far($x: T) -> T {
                $far
            })?
        })*

        pub(crate) fn unary_on<T: KernelNumber>(isa: Isa, f: Unary, x: &[T], out: &mut [T]) {
            assert_eq!(x.len(), out.len(), "as many results as operands");
            match f {
                $(Unary::$name => isa.run(Each::<T, points::$name> { x, out, f: PhantomData }),)*
            }
        }

        pub(crate) fn unary_one_on<T: KernelNumber>(isa: Isa, f: Unary, x: T) -> T {
            // Wider vectors do nothing for one number.
            let isa = isa.narrow();
            match f {
                $(Unary::$name => isa.run(One::<T, points::$name> { x, f: PhantomData }),)*
            }
        }
    };
}

unary! {
    /// `-x`.
    Neg "neg", true, x => -x;
    /// The absolute value.
    Abs "abs", true, x => x.abs();
    /// -1, 0, 1 or NaN.
    Sign "sign", true, x => formulas::sign(x);
    /// The square root, rounded to nearest.
    Sqrt "sqrt", true, x => x.sqrt();
    /// `x` where it is above 0, else 0.
    Relu "relu", true, x => formulas::relu(x);
    /// `x`, and 0 where its magnitude is below `NEGLIGIBLE`.
    Flush "flush", true, x => formulas::flush(x);
    /// The largest integer that is at most `x`.
    Floor "floor", true, x => x.floor();
    /// The smallest integer that is at least `x`.
    Ceil "ceil", true, x => x.ceil();
    /// The nearest integer; halves go to the even one.
    Round "round", true, x => x.round();
    /// The exponential function.
    Exp "exp", false, x => formulas::exp(x);
    /// `exp(x) - 1`.
    Expm1 "expm1", false, x => formulas::expm1(x);
    /// The natural logarithm.
    Log "log", false, x => formulas::log(x);
    /// `log(1 + x)`.
    Log1p "log1p", false, x => formulas::log1p(x);
    /// The sine.
    Sin "sin", false, x => formulas::sin(x), far x.abs() > T::FAR || x.is_nan(), x.far_sin();
    /// The cosine.
    Cos "cos", false, x => formulas::cos(x), far x.abs() > T::FAR || x.is_nan(), x.far_cos();
    /// The error function.
    Erf "erf", false, x => formulas::erf(x);
    /// `x / 2 (1 + erf(x / sqrt 2))`.
    Gelu "gelu", false, x => formulas::gelu(x);
    /// `log(1 + exp(x))`.
    Softplus "softplus", false, x => formulas::softplus(x);
    /// `1 / (1 + exp(-x))`.
    Sigmoid "sigmoid", false, x => formulas::sigmoid(x);
    /// The hyperbolic tangent.
    Tanh "tanh", false, x => formulas::tanh(x);
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// A function of two numbers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Binary {
            $($(#[$doc])* $name,)*
        }

        impl Binary {
            /// All of them.
            pub const ALL: &[Binary] = &[$(Binary::$name),*];

            /// The name: `add`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Binary::$name => $text,)*
                }
            }
        }
    };
}

binary! {
    /// `a + b`.
    Add "add";
    /// `a - b`.
    Sub "sub";
    /// `a b`.
    Mul "mul";
    /// `a / b`.
    Div "div";
    /// The remainder of `a / b`, with the sign of `b`; NaN for a divisor of 0.
    Mod "mod";
    /// `a` to the power of `b`.
    Pow "pow";
    /// The angle of the point with the ordinate `a` and the abscissa `b`, from -pi to pi.
    Atan2 "atan2";
    /// `log(exp(a) + exp(b))`.
    LogAddExp "logaddexp";
    /// The smaller one; NaN wins.
    Minimum "minimum";
    /// The larger one; NaN wins.
    Maximum "maximum";
}
