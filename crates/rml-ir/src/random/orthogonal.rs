//! Random matrices with orthonormal rows or columns.

use super::Random;

/// Orthonormal draws, row-major: for each leading index a matrix whose shorter side is orthonormal (rows if
/// it has no more rows than columns, else columns); a vector has norm 1, a scalar is 1 or -1.
///
/// Standard normal vectors are orthogonalised one after the other (Gram and Schmidt), which is the QR factor
/// with a positive diagonal of R: the distribution is uniform over such matrices, and signs are fixed.
pub(super) fn draw(dims: &[usize], random: &Random) -> Vec<f64> {
    let (matrices, rows, columns) = match *dims {
        [] => (1, 1, 1),
        [n] => (1, 1, n),
        [ref leading @ .., rows, columns] => (leading.iter().product(), rows, columns),
    };
    let (count, length) = (rows.min(columns), rows.max(columns));
    let mut out = Vec::with_capacity(matrices * rows * columns);
    let mut next = 0;
    for _ in 0..matrices {
        let frame = frame(count, length, random, &mut next);
        if rows <= columns {
            out.extend(frame);
        } else {
            (0..rows).for_each(|i| out.extend((0..columns).map(|j| frame[j * length + i])));
        }
    }
    out
}

/// `count` orthonormal vectors of that length, one after the other; `count <= length`. `next` numbers the
/// normal draws.
fn frame(count: usize, length: usize, random: &Random, next: &mut u64) -> Vec<f64> {
    let mut frame: Vec<f64> = Vec::with_capacity(count * length);
    while frame.len() < count * length {
        let mut v: Vec<f64> = (*next..*next + length as u64).map(|i| random.normal(i)).collect();
        *next += length as u64;
        let drawn = dot(&v, &v).sqrt();
        // Twice is enough: the second pass removes what rounding left after the first.
        for _ in 0..2 {
            for u in frame.chunks_exact(length) {
                let along = dot(u, &v);
                v.iter_mut().zip(u).for_each(|(v, u)| *v -= along * u);
            }
        }
        let norm = dot(&v, &v).sqrt();
        // A draw almost inside the span of the others has no direction of its own: take the next one.
        if norm > 1e-8 * drawn {
            frame.extend(v.iter().map(|x| x / norm));
        }
    }
    frame
}

/// The scalar product, in four interleaved partial sums (a fixed order that a compiler may vectorise).
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a4.zip(b4) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
