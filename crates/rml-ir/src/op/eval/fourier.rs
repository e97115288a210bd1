//! Discrete Fourier transforms of rows of numbers. One order on every machine.

use rml_kernels::Unary;

use super::CHECKED;
use super::view::{Elements, Float, View};
use crate::types::Shape;
use crate::value::{Data, Value};

/// A transform of `n` complex numbers, and room for them.
struct Transform<T> {
    /// `exp(±2 pi i k / n)`.
    factors: [Vec<T>; 2],
    /// The numbers, real and imaginary parts.
    parts: [Vec<T>; 2],
}

impl<T: Float> Transform<T> {
    fn new(n: usize, forward: bool) -> Self {
        let turn = T::rounded(std::f64::consts::TAU);
        let angles: Vec<T> = (0..n).map(|k| turn * T::from_count(k) / T::from_count(n)).collect();
        let of = |f| {
            let mut out = angles.clone();
            rml_kernels::unary_in_place(f, &mut out);
            out
        };
        let (cos, mut sin) = (of(Unary::Cos), of(Unary::Sin));
        if forward {
            sin.iter_mut().for_each(|x| *x = -*x);
        }
        Self { factors: [cos, sin], parts: [vec![T::ZERO; n], vec![T::ZERO; n]] }
    }

    /// The product of number `at` and factor `k`.
    fn product(&self, at: usize, k: usize) -> [T; 2] {
        let ([re, im], [cos, sin]) = (&self.parts, &self.factors);
        [re[at] * cos[k] - im[at] * sin[k], re[at] * sin[k] + im[at] * cos[k]]
    }

    fn run(&mut self) {
        match self.parts[0].len() {
            n if n.is_power_of_two() => self.halve(n),
            n => self.add_up(n),
        }
    }

    /// By halves: pairs, then pairs of pairs, and so on.
    fn halve(&mut self, n: usize) {
        let mut j = 0;
        for i in 1..n {
            let mut bit = n / 2;
            while j & bit != 0 {
                j ^= bit;
                bit /= 2;
            }
            j |= bit;
            if i < j {
                self.parts.iter_mut().for_each(|part| part.swap(i, j));
            }
        }
        let mut half = 1;
        while half < n {
            for start in (0..n).step_by(2 * half) {
                for k in 0..half {
                    let (a, b) = (start + k, start + k + half);
                    let turned = self.product(b, k * (n / (2 * half)));
                    for (part, x) in self.parts.iter_mut().zip(turned) {
                        part[b] = part[a] - x;
                        part[a] += x;
                    }
                }
            }
            half *= 2;
        }
    }

    /// Term by term.
    fn add_up(&mut self, n: usize) {
        let mut sums = [vec![T::ZERO; n], vec![T::ZERO; n]];
        for k in 0..n {
            for j in 0..n {
                let term = self.product(j, j * k % n);
                sums.iter_mut().zip(term).for_each(|(sum, x)| sum[k] += x);
            }
        }
        self.parts = sums;
    }
}

/// Whether a frequency is its own conjugate, so that it has no imaginary part.
fn is_real(k: usize, n: usize) -> bool {
    k == 0 || 2 * k == n
}

/// Frequencies 0 to `n / 2` of each row.
pub(super) fn rfft(x: &View<'_>) -> Value {
    fn all<T: Float>(n: usize, x: &[T]) -> Vec<T> {
        let mut transform = Transform::new(n, true);
        let mut out = Vec::with_capacity(x.len() / n * (n / 2 + 1) * 2);
        for row in x.chunks_exact(n) {
            transform.parts[0].copy_from_slice(row);
            transform.parts[1].fill(T::ZERO);
            transform.run();
            let [re, im] = &transform.parts;
            out.extend((0..=n / 2).flat_map(|k| [re[k], if is_real(k, n) { T::ZERO } else { im[k] }]));
        }
        out
    }
    let (n, before) = x.dims.split_last().expect(CHECKED);
    let data = match x.elements {
        Elements::F32(x) => Data::F32(all(*n, x)),
        Elements::F64(x) => Data::F64(all(*n, x)),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(before.iter().copied().chain([n / 2 + 1, 2]).collect(), data)
}

/// The `n` numbers of each row of frequencies.
pub(super) fn irfft(n: usize, y: &View<'_>) -> Value {
    fn all<T: Float>(n: usize, y: &[T]) -> Vec<T> {
        let mut transform = Transform::new(n, false);
        let width = (n / 2 + 1) * 2;
        let mut out = Vec::with_capacity(y.len() / width * n);
        for row in y.chunks_exact(width) {
            let [re, im] = &mut transform.parts;
            for k in 0..n {
                let at = k.min(n - k);
                re[k] = row[2 * at];
                im[k] = match is_real(k, n) {
                    true => T::ZERO,
                    false if k == at => row[2 * at + 1],
                    false => -row[2 * at + 1],
                };
            }
            transform.run();
            out.extend(transform.parts[0].iter().map(|x| *x / T::from_count(n)));
        }
        out
    }
    let before = &y.dims[..y.dims.len() - 2];
    let data = match y.elements {
        Elements::F32(y) => Data::F32(all(n, y)),
        Elements::F64(y) => Data::F64(all(n, y)),
        _ => unreachable!("{CHECKED}"),
    };
    let shape: Shape = before.iter().copied().chain([n]).collect();
    Value::new(shape, data)
}
