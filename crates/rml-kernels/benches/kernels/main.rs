//! Speed of the kernels: `cargo bench -p rml-kernels`; arguments choose groups (`functions`, `products`).
#![allow(clippy::print_stdout, reason = "it is a program that prints a table")]
#![allow(clippy::cast_precision_loss, reason = "sizes are small")]

mod ffi;

use std::hint::black_box;
use std::time::Instant;

use rml_kernels::{Matrix, MatrixMut, Packed, Task, Unary, product, product_packed, unary};

/// Nanoseconds that `f` takes: the shortest of many rounds.
fn time(mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut calls = 0_u32;
    while start.elapsed().as_micros() < 3000 {
        f();
        calls += 1;
    }
    let mut best = f64::INFINITY;
    for _ in 0..25 {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(calls));
    }
    best
}

/// Independent chains of fused multiplications and additions, in registers: what products are measured by.
struct Chains<'a>(&'a mut [f32; CHAINS], u32);

/// Ten vectors of 512 bits.
const CHAINS: usize = 160;

impl Task for Chains<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (steps, mut sums) = (self.1, *self.0);
        let (factor, term) = black_box((0.999_f32, 0.5_f32));
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = sum.mul_add(factor, term);
            }
        }
        *self.0 = sums;
    }
}

fn peak() -> f64 {
    let mut sums = [1.0_f32; CHAINS];
    let steps = 1000;
    let ns = time(|| rml_kernels::run(Chains(black_box(&mut sums), steps)));
    f64::from(steps) * CHAINS as f64 * 2.0 / ns
}

/// A function of the standard library, in both precisions.
type Scalar = (fn(f32) -> f32, fn(f64) -> f64);

fn functions() {
    println!("functions, ns for 16 numbers: f32, f64, and f32 and f64 of the standard library");
    for f in Unary::ALL {
        let x: Vec<f32> = (0..1024_u16).map(|i| f32::from(i) / 100.0 - 5.0 + 0.003).collect();
        let y: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let mut out = (vec![0.0; x.len()], vec![0.0; y.len()]);
        let single = time(|| unary(*f, black_box(&x), black_box(&mut out.0)));
        let double = time(|| unary(*f, black_box(&y), black_box(&mut out.1)));
        print!("{:10} {:7.2} {:7.2}", format!("{f:?}"), single / 64.0, double / 64.0);
        let scalar: Option<Scalar> = match f {
            Unary::Exp => Some((f32::exp, f64::exp)),
            Unary::Expm1 => Some((f32::exp_m1, f64::exp_m1)),
            Unary::Log => Some((f32::ln, f64::ln)),
            Unary::Log1p => Some((f32::ln_1p, f64::ln_1p)),
            Unary::Tanh => Some((f32::tanh, f64::tanh)),
            Unary::Sin => Some((f32::sin, f64::sin)),
            _ => None,
        };
        if let Some((a, b)) = scalar {
            let single = time(|| black_box(&x).iter().zip(&mut out.0).for_each(|(x, o)| *o = a(*x)));
            let double = time(|| black_box(&y).iter().zip(&mut out.1).for_each(|(x, o)| *o = b(*x)));
            print!(" {:7.2} {:7.2}", single / 64.0, double / 64.0);
        }
        println!();
    }
}

/// `(m, k, n)`, and whether the left operand is transposed.
const SHAPES: &[(usize, usize, usize, bool)] = &[
    (32, 128, 512, false),
    (32, 256, 1024, false),
    (32, 1024, 256, false),
    (1, 64, 256, false),
    (896, 28, 512, false),
    (156, 896, 512, true),
    (64, 64, 256, false),
    (512, 72, 256, false),
    (2, 64, 256, false),
    (4, 64, 256, false),
    (8, 64, 256, false),
    (33, 65, 257, false),
    (4, 8, 16, false),
    (1, 16, 4, false),
    (256, 64, 1, false),
];

fn products() {
    let peak = peak();
    println!("peak of one thread: {peak:.1} GFLOP/s in single precision");
    println!(
        "products, GFLOP/s: m,k,n; this, % of peak, packed, % of peak; matrixmultiply; f64: this, matrixmultiply"
    );
    for &(m, k, n, transposed) in SHAPES {
        let flops = 2.0 * (m * k * n) as f64;
        let fill =
            |len: usize| (0..len).map(|i| ((i * 7919) % 1000) as f32 / 1000.0 - 0.5).collect::<Vec<f32>>();
        let (a, b, mut c) = (fill(m * k), fill(k * n), vec![0.0_f32; m * n]);
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let (a64, b64, mut c64) = (wide(&a), wide(&b), vec![0.0_f64; m * n]);
        let left = if transposed { Matrix::new(k, m, &a).transposed() } else { Matrix::new(m, k, &a) };
        let left64 = if transposed { Matrix::new(k, m, &a64).transposed() } else { Matrix::new(m, k, &a64) };
        let right = Matrix::new(k, n, &b);
        let own = flops / time(|| product(black_box(left), right, false, MatrixMut::new(m, n, &mut c)));
        let packed = Packed::new(right);
        let prepacked =
            flops / time(|| product_packed(black_box(left), &packed, false, MatrixMut::new(m, n, &mut c)));
        let size = (m, k, n);
        let other = flops / time(|| ffi::single(size, transposed, black_box(&a), &b, &mut c));
        let right64 = Matrix::new(k, n, &b64);
        let own64 =
            flops / time(|| product(black_box(left64), right64, false, MatrixMut::new(m, n, &mut c64)));
        let other64 = flops / time(|| ffi::double(size, transposed, black_box(&a64), &b64, &mut c64));
        println!(
            "{m:4},{k:4},{n:4}{} {own:7.1} {:3.0}% {prepacked:7.1} {:3.0}% {other:7.1} {own64:7.1} {other64:7.1}",
            if transposed { "T" } else { " " },
            own / peak * 100.0,
            prepacked / peak * 100.0,
        );
    }
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let all = chosen.is_empty();
    if all || chosen.iter().any(|c| c == "functions") {
        functions();
    }
    if all || chosen.iter().any(|c| c == "products") {
        products();
    }
}
