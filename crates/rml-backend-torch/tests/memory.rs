//! Memory: calls leak nothing, and a small result does not keep a large tensor alive.

mod support;

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rml_backend::{Executable, Function, Held, Outcome};
use rml_ir::op::{AxisIndex, Binary, Op};
use rml_ir::{DType, Precision, Type, Value};
use support::torch;

/// Tests that measure run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// The resident memory of this process, in MiB.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = pages.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    (pages * 4096) >> 20
}

/// Whether this process returns each large block of memory to the system when it is freed. If not, runs this test in a
/// process that does: otherwise the allocator may place a small tensor in the freed memory of a large one, so that the
/// next large tensor cannot use it.
fn gives_back(test: &str) -> bool {
    const VARIABLE: &str = "MALLOC_MMAP_THRESHOLD_";
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("this test");
    let again =
        Command::new(program).args([test, "--exact"]).env(VARIABLE, "262144").output().expect("it starts");
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
    false
}

/// Ints and nums, views, positions, constants and random numbers.
fn function() -> Function {
    let mut f = Function::new("f", Precision::F32);
    let nowhere = Function::nowhere();
    let x = f.input(Type::new(DType::Num, &[64, 4]), nowhere);
    let i = f.input(Type::scalar(DType::Int), nowhere);
    let one = f.constant(&Value::Int(1), nowhere);
    let next = f.apply(Op::Binary(Binary::Add), vec![i, one], nowhere).unwrap();
    let row = f.apply(Op::Gather { axis: 0 }, vec![x, i], nowhere).unwrap();
    let noise = f.apply(Op::RandomUniform { shape: row_shape() }, vec![one, next], nowhere).unwrap();
    let sum = f.apply(Op::Binary(Binary::Add), vec![row, noise], nowhere).unwrap();
    let column =
        f.apply(Op::Index { items: vec![AxisIndex::whole(64), AxisIndex::At(1)] }, vec![x], nowhere).unwrap();
    f.results = vec![sum, next, column];
    f
}

fn row_shape() -> rml_ir::Shape {
    rml_ir::Shape::new(&[4])
}

#[test]
fn a_hundred_thousand_calls_leave_nothing_behind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let torch = torch();
    let executable = torch.prepare(&function()).unwrap();
    let x = Value::filled(&Type::new(DType::Num, &[64, 4]), 1.5, Precision::F32);
    let resident_x = Held::Device(torch.upload(&x).unwrap());
    let run = |i: i64| {
        let x = if i % 2 == 0 { resident_x.clone() } else { x.clone().into() };
        // Every eleventh position is out of range.
        let outcome = executable.run(vec![x, Value::Int(i % 11 * 7).into()]).unwrap();
        assert_eq!(matches!(outcome, Outcome::Suspect), i % 11 * 7 > 63);
    };
    (0..5_000).for_each(run);
    let before = resident();
    (0..100_000).for_each(run);
    let grown = resident().saturating_sub(before);
    // A leak of one tensor of 1 KiB per call would be 100 MiB.
    assert!(grown < 16, "{grown} MiB more");
}

#[test]
fn a_part_does_not_keep_the_whole() {
    if !gives_back("a_part_does_not_keep_the_whole") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let torch = torch();
    let whole = Type::new(DType::Num, &[1024, 1024]);
    let mut f = Function::new("f", Precision::F32);
    let nowhere = Function::nowhere();
    let x = f.input(whole.clone(), nowhere);
    let twice = f.apply(Op::Binary(Binary::Add), vec![x, x], nowhere).unwrap();
    let items = vec![AxisIndex::At(5), AxisIndex::whole(1024)];
    let row = f.apply(Op::Index { items }, vec![twice], nowhere).unwrap();
    f.results =
        vec![f.apply(Op::Reshape { shape: rml_ir::Shape::new(&[32, 32]) }, vec![row], nowhere).unwrap()];
    let executable = torch.prepare(&f).unwrap();
    let x = Held::Device(torch.upload(&Value::filled(&whole, 1.0, Precision::F32)).unwrap());
    keeps_little(&*executable, &[x]);
}

/// A routine in which the rows of a loop, and the slices that a function cuts from them, are views until the routine
/// ends.
const ROUTINE: &str = "routine f32 \"part\"
s0 input num [1024, 1024]
s1 input num [1024]
call (s0) {
function f32 \"twice\"
x0 input num [1024, 1024]
x1 num [1024, 1024] = add (x0, x0)
result x1
}
loop 2 forward carried (s1) rows (s2 at 5) whole () {
function f32 \"row\"
x0 input num [1024]
x1 input num [1024]
result x1
}
call (s3) {
function f32 \"again\"
x0 input num [1024]
x1 num [32, 32] = reshape{[32, 32]} (x0)
result x1
}
result s4
";

#[test]
fn a_row_of_a_routine_does_not_keep_the_whole() {
    if !gives_back("a_row_of_a_routine_does_not_keep_the_whole") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let torch = torch();
    let routine = rml_backend::routine::parse(ROUTINE).unwrap();
    rml_backend::routine::verify(&routine).unwrap();
    let executable = torch.prepare_routine(&routine).unwrap();
    let [whole, row] = [&[1024, 1024][..], &[1024]].map(|dims| {
        let value = Value::filled(&Type::new(DType::Num, dims), 1.0, Precision::F32);
        Held::Device(torch.upload(&value).unwrap())
    });
    keeps_little(&*executable, &[whole, row]);
}

/// Checks that the results of a hundred calls take less than a MiB each on average.
fn keeps_little(executable: &dyn Executable, args: &[Held]) {
    let call = || match executable.run(args.to_vec()).unwrap() {
        Outcome::Done(results) => results,
        Outcome::Suspect => panic!("there are no ints"),
    };
    let warm = call();
    let before = resident();
    let kept: Vec<Vec<Held>> = (0..100).map(|_| call()).collect();
    // The whole tensor has 4 MiB, the part 4 KiB.
    let grown = resident().saturating_sub(before);
    assert!(grown < 100, "{grown} MiB more");
    assert!(kept.iter().all(|results| results[0].ty() == warm[0].ty()));
}
