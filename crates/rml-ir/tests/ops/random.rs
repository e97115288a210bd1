//! Draws: stable bits, the right distribution, and independence of seeds, paths and ticks.

use rml_ir::op::Distribution;
use rml_ir::random::{draw, draw_at, path_hash};
use rml_ir::{DType, Data, Precision, Type, Value};

use crate::support::elements;

const UNIFORM: Distribution = Distribution::Uniform { lo: -1.0, hi: 3.0 };
const NORMAL: Distribution = Distribution::Normal { mean: 2.0, std: 0.5 };

fn num(dims: &[usize]) -> Type {
    Type::new(DType::Num, dims)
}

fn drawn(dist: &Distribution, dims: &[usize], path: &str) -> Vec<f64> {
    elements(&draw(dist, &num(dims), Precision::F64, 7, path))
}

fn moments(xs: &[f64]) -> (f64, f64) {
    let n = xs.len() as f64;
    let mean = xs.iter().sum::<f64>() / n;
    (mean, xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

#[test]
fn the_hash_of_a_path_is_fnv_1a() {
    assert_eq!(path_hash(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(path_hash("a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(path_hash("foobar"), 0x8594_4171_f739_67e8);
}

/// Written down once: a change here changes every seeded run.
#[test]
fn bits_are_stable() {
    let found: Vec<u64> = [
        drawn(&UNIFORM, &[2], "lstm_0.kernel"),
        drawn(&NORMAL, &[2], "lstm_0.kernel"),
        drawn(&Distribution::GlorotUniform, &[1, 2], "lstm_0.kernel"),
        drawn(&Distribution::Orthogonal, &[2, 1], "lstm_0.kernel"),
    ]
    .concat()
    .into_iter()
    .map(f64::to_bits)
    .collect();
    assert_eq!(found, BITS, "{found:#018x?}");
}

const BITS: [u64; 8] = [
    0x3ff8_1a1e_fa6d_2bd4,
    0x3fc2_b4d5_ad02_9750,
    0x3ffd_71df_b94c_e732,
    0x4005_779c_9535_8051,
    0x3fd6_ea80_07ee_7815,
    0xbfe3_5210_7b78_1290,
    0xbfcd_2063_8408_0a57,
    0x3fef_2917_b1ee_5279,
];

#[test]
fn seeds_paths_and_ticks_are_independent() {
    let ty = num(&[64]);
    let base = draw_at(&UNIFORM, &ty, Precision::F64, 1, "a", 0);
    assert!(base.same(&draw(&UNIFORM, &ty, Precision::F64, 1, "a")));
    let others = [
        draw_at(&UNIFORM, &ty, Precision::F64, 2, "a", 0),
        draw_at(&UNIFORM, &ty, Precision::F64, 1, "b", 0),
        draw_at(&UNIFORM, &ty, Precision::F64, 1, "a", 1),
        draw_at(&UNIFORM, &ty, Precision::F64, 1, "a", 1 << 32),
    ];
    let all: Vec<Vec<f64>> = [&base].into_iter().chain(&others).map(elements).collect();
    for (i, a) in all.iter().enumerate() {
        for b in &all[..i] {
            assert!(a.iter().zip(b).all(|(a, b)| a != b));
        }
    }
}

#[test]
fn an_element_depends_on_its_position_only() {
    for dist in [UNIFORM, NORMAL] {
        let (short, long) = (drawn(&dist, &[5], "x"), drawn(&dist, &[3, 4], "x"));
        assert_eq!(short[..], long[..5]);
    }
}

#[test]
fn single_precision_is_the_double_one_rounded() {
    for dist in [UNIFORM, NORMAL, Distribution::Orthogonal] {
        let ty = num(&[8, 16]);
        let (double, single) =
            (draw(&dist, &ty, Precision::F64, 3, "x"), draw(&dist, &ty, Precision::F32, 3, "x"));
        assert!(double.to_precision(Precision::F32).same(&single));
    }
}

#[test]
fn uniform_fills_its_range() {
    let xs = drawn(&UNIFORM, &[100, 200], "u");
    assert!(xs.iter().all(|x| (-1.0..3.0).contains(x)));
    let (mean, variance) = moments(&xs);
    assert!((mean - 1.0).abs() < 0.05 && (variance - 16.0 / 12.0).abs() < 0.05, "{mean} {variance}");
}

#[test]
fn the_upper_bound_is_exclusive_in_single_precision_too() {
    // The range is so narrow that most draws round to its end.
    let narrow = Distribution::Uniform { lo: 1.0 - 1e-9, hi: 1.0 };
    let xs = elements(&draw(&narrow, &num(&[100]), Precision::F32, 1, "x"));
    assert!(xs.iter().all(|&x| x < 1.0));
    let point = Distribution::Uniform { lo: 2.0, hi: 2.0 };
    assert_eq!(drawn(&point, &[2], "x"), [2.0, 2.0]);
}

#[test]
fn normal_has_its_moments_and_no_correlation_of_neighbours() {
    let xs = drawn(&NORMAL, &[20_000], "n");
    let (mean, variance) = moments(&xs);
    assert!((mean - 2.0).abs() < 0.02 && (variance - 0.25).abs() < 0.01, "{mean} {variance}");
    let products: Vec<f64> = xs.chunks_exact(2).map(|p| (p[0] - mean) * (p[1] - mean)).collect();
    assert!(moments(&products).0.abs() < 0.01);
    let beyond = xs.iter().filter(|x| (*x - 2.0).abs() > 1.0).count();
    assert!((700..1_120).contains(&beyond), "{beyond} of 20000 beyond two deviations");
}

#[test]
fn glorot_limits_follow_the_last_two_dimensions() {
    for (dims, limit) in [
        (&[30, 50][..], (6.0_f64 / 80.0).sqrt()),
        (&[4, 30, 20], (6.0_f64 / 50.0).sqrt()),
        (&[600], (6.0_f64 / 1200.0).sqrt()),
    ] {
        let xs = drawn(&Distribution::GlorotUniform, dims, "g");
        let largest = xs.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert!(largest <= limit && largest > 0.95 * limit, "{dims:?}: {largest} of {limit}");
        assert!(moments(&xs).0.abs() < 0.1 * limit);
    }
}

/// The largest deviation of the rows of a row-major matrix from orthonormal ones.
fn deviation(xs: &[f64], columns: usize) -> f64 {
    let rows: Vec<&[f64]> = xs.chunks_exact(columns).collect();
    let mut worst: f64 = 0.0;
    for (i, a) in rows.iter().enumerate() {
        for (j, b) in rows.iter().enumerate() {
            let dot: f64 = a.iter().zip(*b).map(|(a, b)| a * b).sum();
            worst = worst.max((dot - f64::from(u8::from(i == j))).abs());
        }
    }
    worst
}

fn transposed(xs: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|j| xs.iter().skip(j).step_by(columns).copied()).collect()
}

#[test]
fn orthogonal_draws_are_orthonormal_on_the_shorter_side() {
    let square = drawn(&Distribution::Orthogonal, &[24, 24], "q");
    assert!(deviation(&square, 24) < 1e-14 && deviation(&transposed(&square, 24), 24) < 1e-14);
    let wide = drawn(&Distribution::Orthogonal, &[5, 40], "q");
    assert!(deviation(&wide, 40) < 1e-14);
    let tall = drawn(&Distribution::Orthogonal, &[40, 5], "q");
    assert!(deviation(&transposed(&tall, 5), 40) < 1e-14);
    let vector = drawn(&Distribution::Orthogonal, &[9], "q");
    assert!(deviation(&vector, 9) < 1e-14);
    let scalar = drawn(&Distribution::Orthogonal, &[], "q");
    assert!((scalar[0].abs() - 1.0).abs() < 1e-15);
}

#[test]
fn leading_dimensions_are_drawn_independently() {
    let xs = drawn(&Distribution::Orthogonal, &[2, 3, 4, 4], "q");
    let matrices: Vec<&[f64]> = xs.chunks_exact(16).collect();
    assert_eq!(matrices.len(), 6);
    for (i, a) in matrices.iter().enumerate() {
        assert!(deviation(a, 4) < 1e-14);
        assert!(matrices[..i].iter().all(|b| a != b));
    }
}

#[test]
fn orthogonal_signs_are_not_biased() {
    let positive =
        (0..400).filter(|i| drawn(&Distribution::Orthogonal, &[2, 2], &format!("q{i}"))[0] > 0.0).count();
    assert!((150..250).contains(&positive), "{positive} of 400");
}

#[test]
fn empty_draws_are_empty() {
    for dist in [UNIFORM, NORMAL, Distribution::GlorotUniform, Distribution::Orthogonal] {
        for dims in [&[0][..], &[0, 3], &[3, 0], &[0, 2, 2], &[0, 0]] {
            let value = draw(&dist, &num(dims), Precision::F32, 1, "x");
            assert_eq!(value.shape().dims(), dims);
        }
        let scalar = draw(&dist, &num(&[]), Precision::F32, 1, "x");
        assert!(matches!(scalar, Value::F32(x) if x.is_finite()));
        assert!(
            matches!(draw(&dist, &num(&[1]), Precision::F32, 1, "x").to_data(), Data::F32(v) if v.len() == 1)
        );
    }
}
