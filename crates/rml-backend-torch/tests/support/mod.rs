//! Functions and backends for tests.
#![allow(dead_code, reason = "each test uses a part")]

use std::sync::Arc;

use rml_backend::{Backend, Function, Held, Options, Outcome};
use rml_ir::op::Op;
use rml_ir::{Precision, Type, Value};

/// libtorch on the cpu, with two threads.
pub(crate) fn torch() -> Arc<dyn Backend> {
    rml_backend_torch::open(&Options { threads: Some(2), ..Options::default() }).expect("the cpu opens")
}

/// A function with one operator and inputs of these types.
pub(crate) fn apply(op: Op, types: &[Type], precision: Precision) -> Function {
    let mut f = Function::new("f", precision);
    let args = types.iter().map(|ty| f.input(ty.clone(), Function::nowhere())).collect();
    let result = f.apply(op, args, Function::nowhere()).expect("operands fit");
    f.results = vec![result];
    f
}

/// The results of a call, on the host; `None` if the backend suspects an error.
pub(crate) fn call(backend: &dyn Backend, f: &Function, args: Vec<Held>) -> Option<Vec<Value>> {
    match backend.prepare(f).expect("prepared").run(args).expect("it runs") {
        Outcome::Done(results) => Some(results.iter().map(|r| r.to_host().expect("a copy")).collect()),
        Outcome::Suspect => None,
    }
}
