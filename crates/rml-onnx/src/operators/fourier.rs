//! Fourier transforms of the last axis.

use rml_ir::{Data, Shape, Value};

use super::layout::{reverse, slice};
use crate::net::{Attr, Elem, Net, V};

/// Whether ONNX Runtime's `DFT` has the precision of the numbers: for lengths that are not powers of two, it computes
/// in single precision.
fn is_exact(n: usize, elem: Elem) -> bool {
    elem == Elem::F32 || n.is_power_of_two()
}

/// The value at a place of the wave with frequency `k` over `n` places: its real and imaginary part.
#[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn wave(k: usize, place: usize, n: usize) -> [f64; 2] {
    let angle = std::f64::consts::TAU * (k * place % n) as f64 / n as f64;
    [angle.cos(), if counts(k, n) { -angle.sin() } else { 0.0 }]
}

/// Whether the imaginary part of a frequency is used.
fn counts(k: usize, n: usize) -> bool {
    k != 0 && 2 * k != n
}

/// The product of rows of `from` numbers with a matrix.
fn product(net: &mut Net, x: &V, [from, to]: [usize; 2], matrix: Vec<f64>, dims: &[usize]) -> V {
    let rows = x.len() / from;
    let matrix = net.value(&Value::new(Shape::new(&[from, to]), Data::F64(matrix)));
    let x = net.reshape(x, &[rows, from]);
    let made = net.node("MatMul", &[&x, &matrix], &[], x.elem, &[rows, to]);
    net.reshape(&made, dims)
}

/// The transform of rows of complex numbers `[rows, n, 2]`, or of real numbers `[rows, n, 1]`.
fn transform(net: &mut Net, x: &V, inverse: bool, half: bool, dims: &[usize]) -> V {
    let attrs = [
        Attr::Int("axis", 1),
        Attr::Int("inverse", i64::from(inverse)),
        Attr::Int("onesided", i64::from(half)),
    ];
    net.node("DFT", &[x], &attrs, x.elem, dims)
}

/// The frequencies, with their parts along a new last axis.
pub(super) fn rfft(net: &mut Net, x: &V, dims: &[usize]) -> V {
    let n = x.dims[x.dims.len() - 1];
    if !is_exact(n, x.elem) {
        let matrix = (0..n).flat_map(|j| (0..=n / 2).flat_map(move |k| wave(k, j, n))).collect();
        return product(net, x, [n, (n / 2 + 1) * 2], matrix, dims);
    }
    let rows = x.len() / n;
    let numbers = net.reshape(x, &[rows, n, 1]);
    let made = transform(net, &numbers, false, true, &[rows, n / 2 + 1, 2]);
    net.reshape(&made, dims)
}

/// The inverse transform: the conjugate frequencies follow the others, in reverse order.
pub(super) fn irfft(net: &mut Net, n: usize, y: &V, dims: &[usize]) -> V {
    if !is_exact(n, y.elem) {
        #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
        let share = |k: usize| if counts(k, n) { 2.0 } else { 1.0 } / n as f64;
        let row = |k: usize, part: usize| (0..n).map(move |j| share(k) * wave(k, j, n)[part]);
        let matrix = (0..=n / 2).flat_map(|k| row(k, 0).chain(row(k, 1))).collect();
        return product(net, y, [(n / 2 + 1) * 2, n], matrix, dims);
    }
    let (half, count) = (n / 2 + 1, dims.iter().product::<usize>());
    let rows = count / n;
    let pairs = net.reshape(y, &[rows, half, 2]);
    // Unused parts are set to 0.
    let kept = (0..half).flat_map(|k| [true, counts(k, n)]).collect();
    let kept = net.value(&Value::new(Shape::new(&[half, 2]), Data::Bool(kept)));
    let zero = net.scalar(0.0, y.elem);
    let pairs = net.select(&kept, &pairs, &zero);
    let others = n - half;
    let all = if others == 0 {
        pairs
    } else {
        let kept = slice(net, &pairs, &[(1, 1, 1 + others, 1)], &[rows, others, 2]);
        let turned = reverse(net, &kept, &[1]);
        let signs = [1.0, -1.0].map(|x| net.splat(x, y.elem, &[1]));
        let signs = super::layout::concat(net, 0, &[&signs[0], &signs[1]], &[2]);
        let conjugates = net.zip("Mul", &turned, &signs);
        super::layout::concat(net, 1, &[&pairs, &conjugates], &[rows, n, 2])
    };
    let made = transform(net, &all, true, false, &[rows, n, 2]);
    let real = slice(net, &made, &[(2, 0, 1, 1)], &[rows, n, 1]);
    net.reshape(&real, dims)
}
