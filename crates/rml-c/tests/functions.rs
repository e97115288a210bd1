//! The elementary functions in C, compared with those of `rml_kernels`: the same bits for every compiler and processor.

mod support;

use support::Close;

use rml_ir::op::{Op, Reduction, Unary};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};
use rml_testkit::{Lcg, samples};

const FUNCTIONS: &[Op] = &[
    Op::Unary(Unary::Exp),
    Op::Unary(Unary::Expm1),
    Op::Unary(Unary::Log),
    Op::Unary(Unary::Log1p),
    Op::Unary(Unary::Sqrt),
    Op::Unary(Unary::Sin),
    Op::Unary(Unary::Cos),
    Op::Unary(Unary::Erf),
    Op::Unary(Unary::Sigmoid),
    Op::Unary(Unary::Tanh),
    Op::Unary(Unary::Relu),
    Op::Unary(Unary::Flush),
    Op::Unary(Unary::Gelu),
    Op::Unary(Unary::Softplus),
    Op::Unary(Unary::Floor),
    Op::Unary(Unary::Ceil),
    Op::Unary(Unary::Round),
    Op::Unary(Unary::Abs),
    Op::Unary(Unary::Sign),
    Op::Softmax,
    Op::Reduce(Reduction::Sum, None),
];

const N: usize = 2000;

/// Numbers of all magnitudes for functions of this crate; sines of large numbers come from `math.h`, so these are
/// limited.
fn numbers(precision: Precision, r: &mut Lcg) -> Value {
    let odd = [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e-42, 1e-310, 88.0, 88.9, 89.5, -103.5, -104.5, 709.9,
        -745.5,
    ];
    let mut one = |i: usize| match i % 4 {
        _ if i < odd.len() => odd[i],
        0 => r.range(-1.0, 1.0) * f64::exp2(r.range(-140.0, 16.0).floor()),
        1 => r.range(-100.0, 100.0),
        _ => r.range(-3.0, 3.0),
    };
    let shape: Shape = [N].into_iter().collect();
    Value::new(shape, Data::F64((0..N).map(&mut one).collect())).to_precision(precision)
}

#[test]
fn functions_have_the_same_bits_in_c() {
    let mut r = Lcg(5);
    for precision in [Precision::F32, Precision::F64] {
        let ty = Type { dtype: DType::Num, shape: [N].into_iter().collect() };
        let all: Vec<_> = FUNCTIONS.iter().map(|op| (op.clone(), vec![ty.clone()])).collect();
        let plan = samples::operators(&all, precision);
        let column: Vec<_> = (0..2).map(|_| Some(numbers(precision, &mut r))).collect();
        let columns = vec![column; FUNCTIONS.len()];
        let compared = support::compare_in(&support::builds(), &plan, &columns, (2, 1), Close::Bits);
        assert_eq!(compared.map_err(|why| why[..why.len().min(3000)].to_owned()), Ok(2));
    }
}
