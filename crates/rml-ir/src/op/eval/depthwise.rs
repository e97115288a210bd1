//! Convolutions with one channel and one filter a group: all channels of a window are computed side by side. The bits
//! are those of one product for each group.

use std::marker::PhantomData;

use rml_kernels::{Task, run};

use super::view::Float;

/// Where the elements of windows are in an example.
pub(super) struct Places {
    /// How many elements a window has.
    pub(super) taps: usize,
    pub(super) channels: usize,
    /// For each element of each window its position; none where there is padding.
    pub(super) at: Vec<Option<u32>>,
}

/// What is computed of two operands.
pub(super) trait Part {
    /// The result of one example.
    fn example<T: Float>(places: &Places, a: &[T], b: &[T], out: &mut [T]);
}

/// A convolution, of an example and the kernel.
pub(super) struct Forward;

/// The gradient in an example, of that of the result and the kernel.
pub(super) struct Operand;

/// The gradient in the kernel, of an example and the gradient of the result.
pub(super) struct Kernel;

impl Places {
    pub(super) fn run<P: Part, T: Float>(&self, _: P, a: &[T], b: &[T], out: &mut [T]) {
        run(Example::<P, T> { places: self, a, b, out, part: PhantomData });
    }

    /// The windows, with the positions of their elements.
    fn windows(&self) -> impl Iterator<Item = &[Option<u32>]> {
        self.at.chunks_exact(self.taps.max(1))
    }

    fn row<'x, T>(&self, x: &'x [T], i: usize) -> &'x [T] {
        &x[i * self.channels..][..self.channels]
    }
}

struct Example<'a, P, T> {
    places: &'a Places,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    part: PhantomData<P>,
}

impl<P: Part, T: Float> Task for Example<'_, P, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        P::example(self.places, self.a, self.b, self.out);
    }
}

/// Adds products, each with one rounding.
#[inline(always)]
fn add_products<T: Float>(a: &[T], b: &[T], out: &mut [T]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a.mul_add(*b, *out);
    }
}

/// The same for padding, which is 0.
#[inline(always)]
fn add_zeros<T: Float>(b: &[T], out: &mut [T]) {
    for (out, b) in out.iter_mut().zip(b) {
        *out = T::ZERO.mul_add(*b, *out);
    }
}

impl Part for Forward {
    #[inline(always)]
    fn example<T: Float>(places: &Places, x: &[T], kernel: &[T], out: &mut [T]) {
        for (window, out) in places.windows().zip(out.chunks_exact_mut(places.channels)) {
            out.fill(T::ZERO);
            for (tap, at) in window.iter().enumerate() {
                let kernel = places.row(kernel, tap);
                match at {
                    Some(at) => add_products(places.row(x, *at as usize), kernel, out),
                    None => add_zeros(kernel, out),
                }
            }
            // As where groups are added: no zero is negative.
            out.iter_mut().for_each(|x| *x += T::ZERO);
        }
    }
}

impl Part for Operand {
    #[inline(always)]
    fn example<T: Float>(places: &Places, d: &[T], kernel: &[T], out: &mut [T]) {
        let channels = places.channels;
        for (window, d) in places.windows().zip(d.chunks_exact(channels)) {
            for (tap, at) in window.iter().enumerate() {
                let (Some(at), kernel) = (at, places.row(kernel, tap)) else { continue };
                let out = &mut out[*at as usize * channels..][..channels];
                for ((out, d), kernel) in out.iter_mut().zip(d).zip(kernel) {
                    *out += d.mul_add(*kernel, T::ZERO);
                }
            }
        }
    }
}

impl Part for Kernel {
    #[inline(always)]
    fn example<T: Float>(places: &Places, x: &[T], d: &[T], out: &mut [T]) {
        let channels = places.channels;
        let mut sums = vec![T::ZERO; out.len()];
        for (window, d) in places.windows().zip(d.chunks_exact(channels)) {
            for (at, sums) in window.iter().zip(sums.chunks_exact_mut(channels)) {
                match at {
                    Some(at) => add_products(places.row(x, *at as usize), d, sums),
                    None => add_zeros(d, sums),
                }
            }
        }
        out.iter_mut().zip(&sums).for_each(|(out, sum)| *out += *sum);
    }
}

#[cfg(test)]
mod tests {
    use crate::Precision;
    use crate::op::{Conv, ConvAxis, Op, eval};
    use crate::types::Shape;
    use crate::value::{Data, Value};

    const GROUPS: usize = 19;

    /// A tensor whose last axis is the groups, or one of them.
    fn tensor(dims: &[usize], seed: usize, group: Option<usize>) -> Value {
        let shape = [dims, &[group.map_or(GROUPS, |_| 1)]].concat();
        let number = |i: usize, c: usize| {
            let n = ((i * GROUPS + c) * 7919 + seed * 104_729) % 1009;
            if n < 20 { -0.0 } else { n as f32 / 300.0 - 1.7 }
        };
        let columns: Vec<usize> = group.map_or_else(|| (0..GROUPS).collect(), |c| vec![c]);
        let all = (0..dims.iter().product()).flat_map(|i| columns.iter().map(move |c| number(i, *c)));
        Value::new(Shape::new(&shape), Data::F32(all.collect()))
    }

    fn bits(x: &Value) -> Vec<u32> {
        let Data::F32(all) = x.to_data() else { panic!("{x:?}") };
        all.iter().map(|x| x.to_bits()).collect()
    }

    /// Channels side by side have the bits of one convolution each: the result and both gradients, with padding,
    /// strides and dilation.
    #[test]
    fn channels_have_the_bits_of_their_own_convolutions() {
        let axes = [
            ConvAxis { stride: 2, lo: 1, hi: 2, dilation: 1 },
            ConvAxis { stride: 1, lo: 2, hi: 0, dilation: 2 },
        ];
        let (x, kernel) = ([2, 7, 6], [3, 2, 1]);
        let of = |group: Option<usize>| {
            let conv = Conv { axes: axes.to_vec(), groups: if group.is_some() { 1 } else { GROUPS } };
            let (x, kernel) = (tensor(&x, 1, group), tensor(&kernel, 2, group));
            let run = |op: Op, a: &Value, b: &Value| eval(&op, &[a, b], Precision::F32).unwrap();
            let y = run(Op::Conv(conv.clone()), &x, &kernel);
            let d = tensor(&y.shape().dims()[..3], 3, group);
            let operand = Op::ConvTranspose { shape: x.shape(), conv: conv.clone() };
            let of_kernel = Op::ConvKernel { shape: kernel.shape(), conv };
            [bits(&y), bits(&run(operand, &d, &kernel)), bits(&run(of_kernel, &x, &d))]
        };
        let together = of(None);
        for group in 0..GROUPS {
            for (all, own) in together.iter().zip(of(Some(group))) {
                let column: Vec<u32> = all.iter().skip(group).step_by(GROUPS).copied().collect();
                assert_eq!(column, own, "group {group}");
            }
        }
    }
}
