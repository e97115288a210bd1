//! Cases that the common suite of backends does not cover: devices, copies, suspected errors, failures of libtorch.

mod support;

use rml_backend::{Backend, Function, Held, Options, Outcome, Val};
use rml_backend_cpu::Cpu;
use rml_base::codes::backend as codes;
use rml_ir::op::{Binary, Einsum, Op, Reduction, Unary};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};
use support::{apply, call, torch};

fn ints(values: &[i64]) -> Value {
    Value::new(Shape::new(&[values.len()]), Data::Int(values.to_vec()))
}

fn open(device: &str) -> Result<(), rml_backend::Failure> {
    rml_backend_torch::open(&Options { device: device.to_owned(), ..Options::default() }).map(|_| ())
}

#[test]
fn devices_that_are_missing_are_told_with_those_that_are_there() {
    for device in ["cuda:99", "tpu", "cuda:", "cuda:-1", "CPU", ""] {
        let failure = open(device).unwrap_err();
        assert_eq!(failure.code, codes::NO_DEVICE, "{device}");
        assert!(failure.message.contains(&format!("`{device}`")), "{}", failure.message);
        assert!(failure.message.contains("it finds cpu") && failure.help.is_some(), "{failure:?}");
    }
    assert_eq!(open("cpu"), Ok(()));
}

#[test]
fn it_says_what_it_is() {
    let about = torch().about();
    assert_eq!((about.name.as_str(), about.device.as_str()), ("torch", "cpu"));
    assert!(about.version.starts_with("libtorch 2.") && about.devices[0] == "cpu", "{about:?}");
}

/// The bits of a value's elements.
fn bits(value: &Value) -> Vec<u64> {
    match value.to_data() {
        Data::Bool(v) => v.into_iter().map(u64::from).collect(),
        Data::Int(v) => v.into_iter().map(i64::cast_unsigned).collect(),
        Data::F32(v) => v.into_iter().map(|x| u64::from(x.to_bits())).collect(),
        Data::F64(v) => v.into_iter().map(f64::to_bits).collect(),
    }
}

#[test]
fn copies_keep_all_bits() {
    let singles = [0x7fc0_1234, 0xffa0_0001, 0x8000_0000, 1, 0x7f80_0000].map(f32::from_bits).to_vec();
    let doubles = [0x7ff8_0000_0000_1234, 0xfff4_0000_0000_0001, 1 << 63, 1].map(f64::from_bits).to_vec();
    let values = [
        Value::new(Shape::new(&[5, 1]), Data::F32(singles.clone())),
        Value::new(Shape::new(&[2, 2]), Data::F64(doubles.clone())),
        Value::F32(singles[0]),
        Value::F64(doubles[1]),
        ints(&[i64::MIN, -1, i64::MAX]),
        Value::Int(i64::MIN),
        Value::new(Shape::new(&[2]), Data::Bool(vec![true, false])),
        Value::Bool(true),
        Value::new(Shape::new(&[3, 0, 2]), Data::F32(Vec::new())),
    ];
    for value in values {
        let buffer = torch().upload(&value).unwrap();
        assert_eq!((buffer.ty(), buffer.precision()), (&value.ty(), value.precision()));
        let back = buffer.download().unwrap();
        assert_eq!(back.ty(), value.ty());
        assert_eq!(bits(&back), bits(&value));
    }
}

#[test]
fn arguments_stay_as_they_are_and_may_be_results() {
    let torch = torch();
    let x = ints(&[3, 1, 2]);
    let held = Held::Device(torch.upload(&x).unwrap());
    let mut f = apply(Op::Unary(Unary::Neg), &[x.ty()], Precision::F32);
    f.results = vec![Val(0), Val(1), Val(1), Val(0)];
    let results = call(&*torch, &f, vec![held.clone()]).unwrap();
    let minus = ints(&[-3, -1, -2]);
    for (found, wanted) in results.iter().zip([&x, &minus, &minus, &x]) {
        assert!(found.same(wanted), "{found:?} for {wanted:?}");
    }
    assert!(held.to_host().unwrap().same(&x));
}

/// Numbers between -1 and 1.
fn numbers(dims: &[usize], seed: u32) -> Value {
    let n: usize = dims.iter().product();
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f64::from(state) / f64::from(1_u32 << 31) - 1.0) as f32
    };
    Value::new(Shape::new(dims), Data::F32((0..n).map(|_| next()).collect()))
}

/// The dimensions of an operand, and the permutation by which it is transposed first, if any.
type Operand<'a> = (&'a [usize], Option<&'a [usize]>);

/// The product of two operands.
fn product(op: &Op, [a, b]: [Operand<'_>; 2]) -> (Function, Vec<Value>) {
    let mut f = Function::new("product", Precision::F32);
    let given = vec![numbers(a.0, 1), numbers(b.0, 2)];
    let inputs: Vec<Val> = given.iter().map(|x| f.input(x.ty(), Function::nowhere())).collect();
    let mut args = Vec::new();
    for (x, perm) in inputs.into_iter().zip([a.1, b.1]) {
        let turn = perm.map(|perm| Op::Transpose { perm: perm.to_vec() });
        args.push(turn.map_or(x, |turn| f.apply(turn, vec![x], Function::nowhere()).unwrap()));
    }
    f.results = vec![f.apply(op.clone(), args, Function::nowhere()).unwrap()];
    (f, given)
}

#[test]
fn large_products_take_operands_as_they_lie() {
    let turned: Option<&[usize]> = Some(&[1, 0]);
    let over_all = Op::Einsum(Einsum::parse("tki,tkj->ij").unwrap());
    let cases: [(Op, [Operand<'_>; 2]); 7] = [
        (Op::MatMul, [(&[130, 257], None), (&[257, 129], None)]),
        (Op::MatMul, [(&[257, 130], turned), (&[257, 129], None)]),
        (Op::MatMul, [(&[130, 257], None), (&[129, 257], turned)]),
        (Op::MatMul, [(&[257, 130], turned), (&[129, 257], turned)]),
        (Op::MatMul, [(&[5, 26, 257], None), (&[257, 129], None)]),
        (Op::MatMul, [(&[26, 257, 5], Some(&[2, 0, 1])), (&[257, 129], None)]),
        (over_all, [(&[7, 37, 130], None), (&[7, 37, 129], None)]),
    ];
    let cpu = Cpu::open(&Options::default()).unwrap();
    for (op, operands) in cases {
        let (f, given) = product(&op, operands);
        let held = |given: &[Value]| given.iter().cloned().map(Held::from).collect();
        let results = [call(&*torch(), &f, held(&given)), call(&cpu, &f, held(&given))];
        let [found, wanted] = results.map(|results| results.unwrap().remove(0));
        assert_eq!(found.ty(), wanted.ty(), "{op}");
        let (Data::F32(found), Data::F32(wanted)) = (found.to_data(), wanted.to_data()) else {
            panic!("numbers")
        };
        let far = found.iter().zip(&wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        assert!(far < 1e-4, "{op} of {operands:?}: {far}");
    }
}

#[test]
fn only_what_may_not_fit_is_suspect() {
    let torch = torch();
    let of = |op: Op, args: &[&Value]| {
        let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
        let args = args.iter().map(|&v| Held::from(v.clone())).collect();
        call(&*torch, &apply(op, &types, Precision::F32), args).map(|results| results[0].clone())
    };
    let (big, small) = (ints(&[i64::MAX, 1]), ints(&[1 << 60, -5]));
    for op in [Op::Binary(Binary::Add), Op::Binary(Binary::Mul), Op::Binary(Binary::Sub)] {
        assert!(of(op.clone(), &[&big, &small]).is_none(), "{op}");
    }
    assert!(of(Op::Binary(Binary::Add), &[&small, &small]).unwrap().same(&ints(&[1 << 61, -10])));
    assert!(of(Op::Reduce(Reduction::Sum, None), &[&ints(&[i64::MAX, i64::MIN])]).is_none());
    assert!(of(Op::Reduce(Reduction::Sum, None), &[&small]).unwrap().same(&Value::Int((1 << 60) - 5)));
    assert!(of(Op::Binary(Binary::Div), &[&ints(&[i64::MIN, 7]), &ints(&[-1, 0])]).is_none());
    assert!(
        of(Op::Binary(Binary::Div), &[&ints(&[i64::MAX, 7]), &ints(&[-1, 0])])
            .unwrap()
            .same(&ints(&[-i64::MAX, 0]))
    );
    // Remainders are never too large.
    assert!(
        of(Op::Binary(Binary::Mod), &[&ints(&[i64::MIN, 7]), &ints(&[-1, 0])]).unwrap().same(&ints(&[0, 7]))
    );
    let rows = ints(&[10, 20, 30]);
    let gather = |at: &[i64]| of(Op::Gather { axis: 0 }, &[&rows, &ints(at)]);
    assert!(gather(&[2, 0]).unwrap().same(&ints(&[30, 10])));
    assert!(gather(&[2, 3]).is_none() && gather(&[-1]).is_none() && gather(&[i64::MIN]).is_none());
    assert!(of(Op::Convert(DType::Int), &[&Value::F32(f32::NAN)]).is_none());
    assert!(of(Op::Convert(DType::Int), &[&Value::F32(-2.9)]).unwrap().same(&Value::Int(-2)));
}

#[test]
fn the_first_among_equals_is_found_in_large_tensors() {
    let (rows, n) = (7, 40_000);
    let x = Type::new(DType::Num, &[rows, n]);
    // 2 at many positions, starting from 3000, 3001, ..
    let at = |i: usize| if i % n >= 3000 + i / n && (i % n - i / n).is_multiple_of(1000) { 2.0 } else { 1.0 };
    let value = Value::new(x.shape.clone(), Data::F64((0..rows * n).map(at).collect()));
    for (op, axis) in
        [(Op::Reduce(Reduction::ArgMax, Some(1)), 3000), (Op::Reduce(Reduction::ArgMax, None), 3000)]
    {
        let wanted = match op {
            Op::Reduce(Reduction::ArgMax, Some(_)) => ints(&(0..7).map(|row| axis + row).collect::<Vec<_>>()),
            _ => Value::Int(axis),
        };
        let f = apply(op, std::slice::from_ref(&x), Precision::F64);
        let found = call(&*torch(), &f, vec![value.clone().into()]).unwrap();
        assert!(found[0].same(&wanted), "{found:?}");
    }
}

#[test]
fn random_numbers_take_ticks_that_are_computed() {
    let int = Type::scalar(DType::Int);
    let mut f = apply(Op::Binary(Binary::Add), &[int.clone(), int], Precision::F32);
    let draw = Op::RandomNormal { shape: Shape::new(&[4]) };
    let drawn = f.apply(draw.clone(), vec![Val(0), Val(2)], rml_backend::Function::nowhere()).unwrap();
    f.results = vec![drawn];
    let (key, one) = (Value::Int(-77), Value::Int(1));
    let wanted = rml_ir::op::eval(&draw, &[&key, &Value::Int(-76)], Precision::F32).unwrap();
    let torch = torch();
    let on_device = Held::Device(torch.upload(&key).unwrap());
    for key in [Held::from(key.clone()), on_device] {
        let found = call(&*torch, &f, vec![key, one.clone().into()]).unwrap();
        assert_eq!(bits(&found[0]), bits(&wanted));
    }
}

#[test]
fn an_exception_is_a_failure_of_one_line_that_names_the_operator() {
    let ty = Type::new(DType::Num, &[2, 2]);
    let f = apply(Op::MatMul, &[ty.clone(), ty], Precision::F32);
    let executable = torch().prepare(&f).unwrap();
    // Arguments of another type than the function's, which the contract forbids.
    let wrong = Value::zeros(&Type::new(DType::Num, &[3, 3]), Precision::F32);
    let right = Value::zeros(&Type::new(DType::Num, &[2, 2]), Precision::F32);
    let failure = executable.run(vec![wrong.into(), right.clone().into()]).unwrap_err();
    assert_eq!((failure.code, failure.at), (codes::BACKEND_FAILED, Some(Val(2))));
    assert!(failure.message.starts_with("libtorch: ") && !failure.message.contains('\n'), "{failure:?}");
    assert!(matches!(executable.run(vec![right.clone().into(), right.into()]), Ok(Outcome::Done(_))));
}

#[test]
fn buffers_of_other_backends_are_refused() {
    let ty = Type::scalar(DType::Num);
    let executable = torch().prepare(&apply(Op::Unary(Unary::Exp), &[ty], Precision::F32)).unwrap();
    let cpu = Cpu::open(&Options::default()).unwrap();
    let foreign = Held::Device(cpu.upload(&Value::F32(1.0)).unwrap());
    let failure = executable.run(vec![foreign]).unwrap_err();
    assert!(failure.message.contains("another backend"), "{}", failure.message);
}
