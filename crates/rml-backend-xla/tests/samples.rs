//! Every operator of the table against the reference, through the loaded library.

use std::path::PathBuf;
use std::sync::Arc;

use rml_backend::plugin::host::Library;
use rml_backend::{Backend, Function, Held, Options, Outcome};
use rml_ir::op::{Op, eval, samples};
use rml_ir::{DType, Data, Precision, Type, Value};

fn backend() -> Arc<dyn Backend> {
    let exe = std::env::current_exe().unwrap();
    let mut path: PathBuf = exe.parent().unwrap().parent().unwrap().into();
    path.push("librml_backend_xla.so");
    Library::open(&path).unwrap().backend(&Options::default()).unwrap()
}

/// Values of a type; `round` 0 is plain, 1 holds edges.
fn value(ty: &Type, precision: Precision, round: usize, at: usize) -> Value {
    let n = ty.shape.len();
    let edges = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.0, 1e30, -1e30, 0.5, 1.5, 2.5, -88.0, -20.0];
    let num = |i: usize| {
        let k = i * 7 + at * 3;
        if round == 0 { ((k * 37 % 101) as f64) / 17.0 - 2.5 } else { edges[(k + round * 5) % edges.len()] }
    };
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|i| (i + at + round) % 3 == 0).collect()),
        DType::Int if round == 0 => Data::Int((0..n).map(|i| ((i * 5 + at * 2) % 3) as i64).collect()),
        DType::Int => {
            let edges = [0, -1, 1, 7, -7, i64::MAX, i64::MIN, 3, -3, 1 << 40];
            Data::Int((0..n).map(|i| edges[(i * 3 + at * 7 + round) % edges.len()]).collect())
        }
        DType::Num => match precision {
            Precision::F32 => Data::F32((0..n).map(|i| num(i) as f32).collect()),
            Precision::F64 => Data::F64((0..n).map(num).collect()),
        },
    };
    Value::new(ty.shape.clone(), data)
}

fn distance(a: &Value, b: &Value) -> f64 {
    let num = |v: &Value| -> Vec<f64> {
        match v.to_data() {
            Data::Bool(v) => v.into_iter().map(|b| f64::from(u8::from(b))).collect(),
            Data::Int(v) => v.into_iter().map(|b| b as f64).collect(),
            Data::F32(v) => v.into_iter().map(f64::from).collect(),
            Data::F64(v) => v,
        }
    };
    if a.ty() != b.ty() {
        return f64::INFINITY;
    }
    let far = |(a, b): (f64, f64)| {
        if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else if a.is_nan() || b.is_nan() { f64::INFINITY } else { (a - b).abs() / b.abs().max(1.0) }
    };
    num(a).into_iter().zip(num(b)).map(far).fold(0.0, f64::max)
}

#[test]
fn every_operator_agrees_with_the_reference() {
    let backend = backend();
    println!("{:?}", backend.about());
    let mut failed = 0;
    for precision in [Precision::F32, Precision::F64] {
        for (op, types) in samples() {
            let mut f = Function::new("f", precision);
            let args: Vec<_> = types.iter().map(|ty| f.input(ty.clone(), Function::nowhere())).collect();
            let x = f.apply(op.clone(), args, Function::nowhere()).unwrap();
            f.results.push(x);
            let exe = match backend.prepare(&f) {
                Ok(exe) => exe,
                Err(e) => {
                    println!("REFUSED {op} {types:?}: {}", e.message);
                    failed += 1;
                    continue;
                }
            };
            for round in 0..8 {
                let values: Vec<Value> = types.iter().enumerate().map(|(i, ty)| value(ty, precision, round, i)).collect();
                let want = eval(&op, &values.iter().collect::<Vec<_>>(), precision);
                let got = exe.run(values.iter().cloned().map(Held::Host).collect());
                match (want, got) {
                    (Ok(want), Ok(Outcome::Done(got))) => {
                        let got = got[0].to_host().unwrap();
                        let tolerance = if precision == Precision::F32 { 2e-6 } else { 1e-14 };
                        let exact = matches!(op, Op::RandomUniform { .. } | Op::RandomNormal { .. }) || f.values[x].ty.dtype != DType::Num;
                        let far = distance(&got, &want);
                        if far > if exact { 0.0 } else { tolerance } {
                            println!("DIFF {op} {types:?} {precision} round {round}: {far:e}\n  args {values:?}\n  want {want:?}\n  got  {got:?}");
                            failed += 1;
                        }
                    }
                    (Err(_), Ok(Outcome::Suspect)) => {}
                    (Ok(_), Ok(Outcome::Suspect)) if round > 0 => {}
                    (want, got) => {
                        println!("ODD {op} {types:?} round {round}: {values:?} want {want:?} got {got:?}");
                        failed += 1;
                    }
                }
            }
        }
    }
    assert_eq!(failed, 0);
}
