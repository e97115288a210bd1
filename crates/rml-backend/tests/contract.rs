//! The contract's treatment of a backend that refuses, fails or suspects.

use std::sync::Arc;

use rml_backend::{
    About, Backend, Buffer, Executable, Failure, Function, Held, Outcome, Prepared, RunError, Val,
};
use rml_base::codes::backend as codes;
use rml_base::{FileId, Span};
use rml_ir::op::{Binary, EvalError, Op};
use rml_ir::{DType, Precision, Type, Value};

/// A backend whose calls all end in the same way.
#[derive(Clone, Debug)]
enum Mock {
    Refuses(Val),
    Fails(Failure),
    Suspects,
}

impl Backend for Mock {
    fn about(&self) -> About {
        About { name: "mock".into(), version: "1".into(), device: "cpu".into(), devices: Vec::new() }
    }

    fn prepare(&self, _: &Function) -> Result<Box<dyn Executable>, Failure> {
        match self {
            Mock::Refuses(at) => Err(Failure::refusal(*at, "no such operator here")),
            _ => Ok(Box::new(self.clone())),
        }
    }

    fn upload(&self, _: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Err(Failure::new(codes::BACKEND_MEMORY, "no memory is left").help("stack fewer windows: `--batch`"))
    }
}

impl Executable for Mock {
    fn run(&self, _: Vec<Held>) -> Result<Outcome, Failure> {
        match self {
            Mock::Fails(failure) => Err(failure.clone()),
            _ => Ok(Outcome::Suspect),
        }
    }
}

/// `x + 1, (x + 1) * y` over ints; the span of the product is 10..15.
fn function() -> Arc<Function> {
    let int = Type::scalar(DType::Int);
    let span = Span::new(FileId(0), 10, 15);
    let mut f = Function::new("f", Precision::F32);
    let (x, y) = (f.input(int.clone(), Function::nowhere()), f.input(int, Function::nowhere()));
    let one = f.constant(&Value::Int(1), Function::nowhere());
    let sum = f.apply(Op::Binary(Binary::Add), vec![x, one], Function::nowhere()).unwrap();
    let product = f.apply(Op::Binary(Binary::Mul), vec![sum, y], span).unwrap();
    f.results = vec![sum, product];
    Arc::new(f)
}

fn args(x: i64, y: i64) -> Vec<Held> {
    vec![Value::Int(x).into(), Value::Int(y).into()]
}

#[test]
fn a_refusal_names_operator_and_place() {
    let refused = Prepared::new(&Mock::Refuses(Val(4)), function()).unwrap_err();
    assert_eq!(refused.code, codes::BACKEND_REFUSES);
    assert_eq!(refused.span(), Some(Span::new(FileId(0), 10, 15)));
    assert!(refused.labels[0].message.contains("`mul`"), "{refused}");
}

#[test]
fn a_failed_call_names_the_function() {
    let failing = Prepared::new(&Mock::Fails(Failure::call("the device is gone")), function()).unwrap();
    let Err(RunError::Failed(report)) = failing.run(args(1, 2)) else { panic!("the call fails") };
    assert_eq!(report.code, codes::BACKEND_FAILED);
    assert!(report.notes[0].contains("function f"), "{report}");
    let no_memory = Mock::Suspects.upload(&Value::Int(1)).unwrap_err().diagnostic();
    assert_eq!((no_memory.code, no_memory.help.len()), (codes::BACKEND_MEMORY, 1));
}

#[test]
fn what_is_suspect_is_computed_by_the_reference() {
    let prepared = Prepared::new(&Mock::Suspects, function()).unwrap();
    let results = prepared.run(args(4, -3)).unwrap();
    let ints: Vec<_> = results.iter().map(|r| r.to_host().unwrap().as_int()).collect();
    assert_eq!(ints, [Some(5), Some(-15)]);
    let Err(RunError::Stop(stop)) = prepared.run(args(i64::MAX / 2, 3)) else { panic!("it does not fit") };
    assert_eq!((stop.at, stop.error), (Val(4), EvalError::IntegerOverflow));
}

#[cfg(feature = "load")]
#[test]
fn a_library_that_is_missing_or_something_else_is_refused() {
    use rml_backend::plugin::host::Library;
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in ["no-such-library.so", "Cargo.toml"] {
        let failure = Library::open(&here.join(path)).unwrap_err();
        assert_eq!(failure.code, codes::BACKEND_NOT_INSTALLED);
        assert!(failure.message.contains(path), "{}", failure.message);
    }
}
