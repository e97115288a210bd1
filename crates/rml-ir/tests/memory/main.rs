//! Evaluation takes no more memory than it asks for.

mod ffi;

use ffi::peak_of;
use rml_ir::op::{
    AxisIndex, Binary, Compare, Conv, ConvAxis, Einsum, EvalError, Op, Pool, PoolAxis, Reduction, Unary,
    eval, need, samples,
};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

/// Lists of shapes, the block that shares a tensor, buffers of the matrix product for small operands.
const SMALL: u64 = 16 << 10;

/// Ints are 0, so that they are positions of every axis.
fn values(types: &[Type], precision: Precision) -> Vec<Value> {
    let value = |ty: &Type| match ty.dtype {
        DType::Int => Value::zeros(ty, precision),
        DType::Bool | DType::Num => Value::filled(ty, 0.5, precision),
    };
    types.iter().map(value).collect()
}

/// Evaluates, and compares what it took with what it asks for.
fn check(op: &Op, types: &[Type], precision: Precision) {
    let values = values(types, precision);
    let args: Vec<&Value> = values.iter().collect();
    let asked = need(op, &args, precision);
    let (result, taken) = peak_of(|| eval(op, &args, precision));
    assert!(result.is_ok(), "{op} of {types:?}");
    assert!(taken <= asked + SMALL, "{op} of {types:?} in {precision}: asked for {asked}, took {taken}");
    assert!(
        asked <= 8 * (taken + SMALL),
        "{op} of {types:?} in {precision}: asked for {asked}, took {taken}"
    );
}

#[test]
fn every_operator_asks_for_what_it_takes() {
    for (op, types) in samples() {
        for precision in [Precision::F32, Precision::F64] {
            check(&op, &types, precision);
        }
    }
}

fn num(dims: &[usize]) -> Type {
    Type::new(DType::Num, dims)
}

fn int(dims: &[usize]) -> Type {
    Type::new(DType::Int, dims)
}

/// Instances of megabytes, where nothing is small.
fn large() -> Vec<(Op, Vec<Type>)> {
    let conv = |axes: usize, lo: usize, groups: usize| Conv {
        axes: vec![ConvAxis { lo, ..ConvAxis::PLAIN }; axes],
        groups,
    };
    let pool = Pool { axes: vec![PoolAxis { size: 3, stride: 1, lo: 1, hi: 1 }; 2] };
    let einsum = |labels: &str| Op::Einsum(Einsum::parse(labels).expect("labels"));
    let image = num(&[2, 64, 64, 16]);
    let half = vec![AxisIndex::Slice { start: 0, len: 300, step: 2 }, AxisIndex::whole(400)];
    vec![
        (Op::Unary(Unary::Tanh), vec![num(&[600, 400])]),
        (Op::Convert(DType::Int), vec![num(&[600, 400])]),
        (Op::Convert(DType::Bool), vec![int(&[600, 400])]),
        (Op::Binary(Binary::Add), vec![num(&[600, 1]), num(&[400])]),
        (Op::Compare(Compare::Lt), vec![num(&[600, 400]), num(&[])]),
        (Op::Clip, vec![num(&[600, 400]), num(&[]), num(&[400])]),
        (Op::Where, vec![Type::new(DType::Bool, &[600, 1]), num(&[400]), num(&[])]),
        (Op::MatMul, vec![num(&[600, 20]), num(&[20, 400])]),
        (Op::MatMul, vec![num(&[5, 1, 200, 20]), num(&[7, 20, 40])]),
        (einsum("i,j->ij"), vec![num(&[600]), num(&[400])]),
        (einsum("bij,bjk->kbi"), vec![num(&[5, 100, 30]), num(&[5, 30, 100])]),
        (einsum("ijk->ji"), vec![num(&[60, 50, 40])]),
        (Op::Conv(conv(1, 100_000, 1)), vec![num(&[1, 4, 2]), num(&[3, 2, 1])]),
        (Op::Conv(conv(2, 1, 4)), vec![image.clone(), num(&[3, 3, 4, 8])]),
        (
            Op::ConvTranspose { shape: image.shape.clone(), conv: conv(2, 0, 1) },
            vec![num(&[2, 62, 62, 8]), num(&[3, 3, 16, 8])],
        ),
        (
            Op::ConvKernel { shape: Shape::new(&[3, 3, 16, 8]), conv: conv(2, 0, 1) },
            vec![image.clone(), num(&[2, 62, 62, 8])],
        ),
        (Op::MaxPool(pool.clone()), vec![image.clone()]),
        (Op::AvgPool(pool.clone()), vec![image.clone()]),
        (Op::Patches(pool.clone()), vec![image.clone()]),
        (Op::Unpatches { shape: image.shape.clone(), pool }, vec![num(&[2, 64, 64, 3, 3, 16])]),
        (Op::Transpose { perm: vec![1, 0] }, vec![num(&[600, 400])]),
        (Op::Reshape { shape: Shape::new(&[400, 600]) }, vec![num(&[600, 400])]),
        (Op::Broadcast { shape: Shape::new(&[600, 400]) }, vec![num(&[400])]),
        (Op::SumTo { shape: Shape::new(&[1, 400]) }, vec![num(&[3, 600, 400])]),
        (Op::Concat { axis: 1 }, vec![num(&[600, 200]), num(&[600, 300])]),
        (Op::Stack { axis: 1 }, vec![num(&[600, 200]), num(&[600, 200])]),
        (Op::Index { items: half.clone() }, vec![num(&[600, 400])]),
        (Op::Unindex { shape: Shape::new(&[600, 400]), items: half }, vec![num(&[300, 400])]),
        (Op::Gather { axis: 0 }, vec![num(&[6, 40]), int(&[10_000])]),
        (Op::ScatterAdd { shape: Shape::new(&[600, 40]), axis: 0 }, vec![int(&[10_000]), num(&[10_000, 40])]),
        (Op::Pick, vec![num(&[100_000, 3]), int(&[100_000])]),
        (Op::Reduce(Reduction::Mean, Some(0)), vec![num(&[3, 100_000])]),
        (Op::Reduce(Reduction::ArgMax, Some(0)), vec![num(&[3, 100_000])]),
        (Op::Reduce(Reduction::All, Some(0)), vec![Type::new(DType::Bool, &[3, 100_000])]),
        (Op::CumSum { axis: 1, reverse: true }, vec![num(&[600, 400])]),
        (Op::Sort { axis: 1, descending: true }, vec![num(&[600, 400])]),
        (Op::ArgSort { axis: 0, descending: false }, vec![num(&[100_000])]),
        (Op::SortBy { axis: 0, descending: false }, vec![num(&[600, 400]), num(&[600, 400])]),
        (Op::Cholesky, vec![num(&[200, 200])]),
        (Op::Rfft, vec![num(&[40, 1024])]),
        (Op::Rfft, vec![num(&[401])]),
        (Op::Irfft { n: 1024 }, vec![num(&[40, 513, 2])]),
        (Op::Solve, vec![num(&[10, 60, 60]), num(&[10, 60, 7])]),
        (Op::RandomNormal { shape: Shape::new(&[600, 400]) }, vec![int(&[]), int(&[])]),
        (Op::LogSoftmax, vec![num(&[600, 400])]),
        (Op::OneHot { classes: 100_000 }, vec![int(&[3])]),
    ]
}

#[test]
fn large_operands_too() {
    for (op, types) in large() {
        for precision in [Precision::F32, Precision::F64] {
            check(&op, &types, precision);
        }
    }
}

/// Operators that copy parts or nothing ask for exactly the bytes of their copies.
#[test]
fn what_is_not_copied_is_not_asked_for() {
    let x = num(&[600, 400]);
    let shape = |dims: &[usize]| Shape::new(dims);
    let rows = |len: usize| AxisIndex::Slice { start: 1, len, step: 1 };
    let cases: Vec<(Op, u64)> = vec![
        (Op::Copy, 0),
        (Op::Reshape { shape: shape(&[600, 400]) }, 0),
        (Op::Broadcast { shape: shape(&[600, 400]) }, 0),
        (Op::SumTo { shape: shape(&[600, 400]) }, 0),
        (Op::Reshape { shape: shape(&[400, 600]) }, 240_000),
        (Op::Broadcast { shape: shape(&[2, 600, 400]) }, 480_000),
        (Op::Index { items: vec![AxisIndex::At(3), AxisIndex::At(5)] }, 1),
        (Op::Index { items: vec![rows(20), AxisIndex::At(5)] }, 20),
        (Op::Index { items: vec![rows(300), AxisIndex::whole(400)] }, 120_000),
        // First over one axis, then over the other.
        (Op::SumTo { shape: shape(&[1, 1]) }, 401),
        (Op::SumTo { shape: shape(&[600, 1]) }, 600),
        (Op::Reduce(Reduction::Sum, Some(1)), 600),
    ];
    for (op, elements) in cases {
        let values = values(std::slice::from_ref(&x), Precision::F64);
        let asked = need(&op, &[&values[0]], Precision::F64);
        assert_eq!(asked, 8 * elements, "{op}");
        check(&op, std::slice::from_ref(&x), Precision::F64);
    }
    // Without an axis of size 1, the elements are copied.
    let column = num(&[1, 400]);
    let to_vector = Op::SumTo { shape: shape(&[400]) };
    assert_eq!(
        need(&to_vector, &[&values(std::slice::from_ref(&column), Precision::F64)[0]], Precision::F64),
        3200
    );
    check(&to_vector, &[column], Precision::F64);
}

/// One test for everything that sets the limit of the process.
#[test]
fn what_is_beyond_the_limit_is_refused_before_it_is_allocated() {
    let position = Value::new(Shape::new(&[1]), Data::Int(vec![3]));
    let vector = Value::zeros(&num(&[30_000]), Precision::F32);
    let nothing = Value::zeros(&num(&[0, 1, 4]), Precision::F32);
    let huge = 1 << 40;
    let padded = ConvAxis { lo: 1_000_000_000_000, ..ConvAxis::PLAIN };
    let (x, kernel) =
        (Value::zeros(&num(&[1, 4, 1]), Precision::F32), Value::zeros(&num(&[3, 1, 1]), Precision::F32));
    let cases: [(Op, Vec<&Value>); 5] = [
        (Op::OneHot { classes: huge }, vec![&position]),
        (Op::RandomUniform { shape: Shape::new(&[huge]) }, vec![&Value::Int(1), &Value::Int(2)]),
        (Op::Conv(Conv { axes: vec![padded], groups: 1 }), vec![&x, &kernel]),
        (Op::Broadcast { shape: Shape::new(&[0, huge, 4]) }, vec![&nothing]),
        (Op::Broadcast { shape: Shape::new(&[huge, huge, 30_000]) }, vec![&vector]),
    ];
    rml_base::memory::set_limit(64 << 30);
    for (op, args) in &cases {
        let (result, taken) = peak_of(|| eval(op, args, Precision::F32));
        assert!(matches!(result, Err(EvalError::Memory(_))), "{op}");
        assert!(taken < SMALL, "{op} took {taken}");
    }
    rml_base::memory::set_limit(u64::MAX - 1);
}
