//! Jobs of `cargo xtask bench` that run no network: single kernels, and the compiler.

use std::hint::black_box;
use std::time::Instant;

use rml::{Options, PlanShape, Source, check_report};
use rml_kernels::{Matrix, MatrixMut, Packed, Unary, product_packed, unary};

use crate::training::{chain, numbers};
use crate::turns::Turns;

/// A product of matrices whose right operand is packed.
pub(crate) fn product([m, k, n]: [usize; 3], mut turns: Turns) {
    let (a, b, mut c) = (numbers(m * k), numbers(k * n), vec![0.0; m * n]);
    let packed = Packed::new(Matrix::new(k, n, &b));
    turns.all(None, || {
        let start = Instant::now();
        product_packed(black_box(Matrix::new(m, k, &a)), &packed, false, MatrixMut::new(m, n, &mut c));
        start.elapsed()
    });
}

/// A function of many numbers.
pub(crate) fn function(n: usize, mut turns: Turns) {
    let (x, mut y) = (numbers(n), vec![0.0; n]);
    turns.all(None, || {
        let start = Instant::now();
        unary(Unary::Tanh, black_box(&x), black_box(&mut y));
        start.elapsed()
    });
}

/// Compiles a recurrence of `n` numbers and its gradient, from text to plan.
pub(crate) fn compile(n: usize, mut turns: Turns) {
    let source = Source::text("bench.rml", chain(n));
    turns.all(None, || {
        let start = Instant::now();
        let report = check_report(&source, &Options::default());
        for run in report.analyses.iter().filter_map(|a| a.run.as_ref()) {
            drop(black_box(PlanShape::new(run)));
        }
        start.elapsed()
    });
}
