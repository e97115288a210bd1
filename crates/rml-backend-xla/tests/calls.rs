//! Effects of calls besides computing: buffers that are kept or donated, results that are arguments, draws, suspected
//! errors, memory.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rml_backend::plugin::host::Library;
use rml_backend::{Backend, Executable, Function, Held, Options, Outcome, Val, reference};
use rml_base::codes::backend as codes;
use rml_ir::op::{Binary, Op, Reduction};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

/// The library that cargo built beside this test.
fn library() -> &'static Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        Library::open(&test.with_file_name("librml_backend_xla.so")).unwrap()
    })
}

fn backend() -> Arc<dyn Backend> {
    library().backend(&Options::default()).unwrap()
}

const NOWHERE: fn() -> rml_base::Span = Function::nowhere;

fn num(dims: &[usize]) -> Type {
    Type::new(DType::Num, dims)
}

fn vector(items: &[f32]) -> Value {
    Value::new(Shape::new(&[items.len()]), Data::F32(items.to_vec()))
}

fn apply(f: &mut Function, op: Op, args: &[Val]) -> Val {
    f.apply(op, args.to_vec(), NOWHERE()).unwrap()
}

/// `x + y` and `x * y`.
fn arithmetic(ty: &Type) -> Function {
    let mut f = Function::new("arithmetic", Precision::F32);
    let (x, y) = (f.input(ty.clone(), NOWHERE()), f.input(ty.clone(), NOWHERE()));
    f.results = vec![
        apply(&mut f, Op::Binary(Binary::Add), &[x, y]),
        apply(&mut f, Op::Binary(Binary::Mul), &[x, y]),
    ];
    f
}

fn run(executable: &dyn Executable, args: Vec<Held>) -> Vec<Held> {
    match executable.run(args).unwrap() {
        Outcome::Done(results) => results,
        Outcome::Suspect => panic!("nothing here is suspect"),
    }
}

fn same(held: &Held, value: &Value) {
    let found = held.to_host().unwrap();
    assert!(found.same(value), "{found:?} instead of {value:?}");
}

#[test]
fn results_stay_on_the_device_and_are_arguments_again() {
    let backend = backend();
    let executable = backend.prepare(&arithmetic(&num(&[2]))).unwrap();
    let x = Held::Device(backend.upload(&vector(&[1.0, 2.0])).unwrap());
    let first = run(&*executable, vec![x.clone(), vector(&[3.0, 4.0]).into()]);
    assert!(first.iter().all(|r| matches!(r, Held::Device(_))));
    let second = run(&*executable, first);
    same(&second[0], &vector(&[7.0, 14.0]));
    same(&second[1], &vector(&[12.0, 48.0]));
    same(&x, &vector(&[1.0, 2.0]));
}

#[test]
fn results_that_need_no_computing_are_passed_on() {
    let backend = backend();
    let mut f = Function::new("f", Precision::F64);
    let (x, none) = (f.input(num(&[2]), NOWHERE()), f.input(num(&[0, 3]), NOWHERE()));
    let c = f.constant(&Value::Int(5), NOWHERE());
    let total = apply(&mut f, Op::Reduce(Reduction::Sum, None), &[none]);
    let twice = apply(&mut f, Op::Concat { axis: 0 }, &[none, none]);
    f.results = vec![x, c, none, total, twice, total];
    let args =
        [vector(&[1.0, f32::NAN]).to_precision(Precision::F64), Value::zeros(&num(&[0, 3]), Precision::F64)];
    let expected = reference::evaluate(&f, &args).unwrap();
    let executable = backend.prepare(&f).unwrap();
    let uploaded = args.iter().map(|v| Held::Device(backend.upload(v).unwrap())).collect();
    let on_host = args.iter().cloned().map(Held::Host).collect();
    for args in [uploaded, on_host] {
        let results = run(&*executable, args);
        assert_eq!(results.len(), expected.len());
        results.iter().zip(&expected).for_each(|(r, e)| same(r, e));
    }
}

#[test]
fn large_constants_are_what_they_are() {
    let backend = backend();
    let items: Vec<f32> = (0..3000_u16).map(|i| f32::from(i) / 7.0).collect();
    let mut f = Function::new("f", Precision::F32);
    let x = f.input(num(&[3000]), NOWHERE());
    let c = f.constant(&vector(&items), NOWHERE());
    f.results = vec![apply(&mut f, Op::Binary(Binary::Maximum), &[x, c])];
    let executable = backend.prepare(&f).unwrap();
    let results = run(&*executable, vec![vector(&[0.0; 3000]).into()]);
    same(&results[0], &vector(&items));
}

#[test]
fn draws_depend_on_what_the_function_computes() {
    let backend = backend();
    let int = Type::scalar(DType::Int);
    let mut f = Function::new("f", Precision::F32);
    let (key, tick) = (f.input(int.clone(), NOWHERE()), f.input(int, NOWHERE()));
    let seven = f.constant(&Value::Int(7), NOWHERE());
    let other = apply(&mut f, Op::Binary(Binary::Mul), &[key, seven]);
    let shape = Shape::new(&[3, 5]);
    let normal = apply(&mut f, Op::RandomNormal { shape: shape.clone() }, &[other, tick]);
    let uniform = apply(&mut f, Op::RandomUniform { shape }, &[other, tick]);
    let sum = apply(&mut f, Op::Binary(Binary::Add), &[normal, uniform]);
    f.results = vec![normal, uniform, sum];
    let executable = backend.prepare(&f).unwrap();
    let args = [Value::Int(-123_456_789), Value::Int(i64::MAX)];
    let held = args.iter().map(|v| Held::Device(backend.upload(v).unwrap())).collect();
    let expected = reference::evaluate(&f, &args).unwrap();
    run(&*executable, held).iter().zip(&expected).for_each(|(r, e)| same(r, e));
    let overflows = vec![Value::Int(i64::MAX).into(), Value::Int(0).into()];
    assert!(matches!(executable.run(overflows).unwrap(), Outcome::Suspect));
}

#[test]
fn suspicion_covers_values_that_nobody_needs() {
    let backend = backend();
    let int = Type::new(DType::Int, &[2]);
    let mut f = Function::new("f", Precision::F32);
    let x = f.input(int, NOWHERE());
    let table = f.constant(&vector(&[1.0, 2.0, 3.0]), NOWHERE());
    apply(&mut f, Op::Binary(Binary::Mul), &[x, x]);
    apply(&mut f, Op::Gather { axis: 0 }, &[table, x]);
    f.results = vec![apply(&mut f, Op::Convert(DType::Num), &[x])];
    let executable = backend.prepare(&f).unwrap();
    let suspect = |a: i64, b: i64| {
        let value = Value::new(Shape::new(&[2]), Data::Int(vec![a, b]));
        matches!(executable.run(vec![value.into()]).unwrap(), Outcome::Suspect)
    };
    assert!(!suspect(0, 2));
    assert!(suspect(0, 3));
    assert!(suspect(-1, 0));
    assert!(suspect(i64::MAX, 0));
}

#[test]
fn devices_that_are_not_there_are_named() {
    for device in ["tpu:0", "cuda:x", "cuda:7"] {
        let refused =
            library().backend(&Options { device: device.to_owned(), ..Options::default() }).unwrap_err();
        assert_eq!(refused.code, codes::NO_DEVICE);
        assert!(refused.message.contains(device) && refused.message.contains("cpu"), "{}", refused.message);
        assert!(!refused.message.contains('\n'));
    }
}

/// Tests that measure memory run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resident memory in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
}

/// How much memory grows over this many calls; the first tenth does not count.
fn growth(f: &Function, calls: usize) -> usize {
    let backend = backend();
    let executable = backend.prepare(f).unwrap();
    let args: Vec<Value> = f.inputs().map(|(_, def)| Value::zeros(&def.ty, f.precision)).collect();
    let mut before = 0;
    for i in 0..calls {
        if i == calls / 10 {
            before = resident();
        }
        let results = run(&*executable, args.iter().cloned().map(Held::Host).collect());
        let again = run(&*executable, results);
        again[0].to_host().unwrap();
    }
    resident().saturating_sub(before)
}

#[test]
fn calls_leave_no_memory_behind() {
    let _alone = alone();
    // A leak of one tensor of 4 MiB per call would be 720 MiB; a leak of a scalar's buffer object (some 200 bytes)
    // would be 2 MB for each of its four buffers.
    assert!(growth(&arithmetic(&num(&[1 << 20])), 200) < 64 << 20);
    assert!(growth(&arithmetic(&num(&[])), 10_000) < 4 << 20);
}

#[test]
#[ignore = "takes a minute"]
fn a_hundred_thousand_calls_leave_no_memory_behind() {
    let _alone = alone();
    assert!(growth(&arithmetic(&num(&[64])), 100_000) < 8 << 20);
}
