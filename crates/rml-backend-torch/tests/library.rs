//! The library, opened as a program opens it.

mod support;

use std::path::PathBuf;

use rml_backend::plugin::host::Library;
use rml_backend::{Held, Options};
use rml_base::codes::backend as codes;
use rml_ir::op::{Op, Unary};
use rml_ir::{DType, Precision, Type, Value};
use support::{apply, call};

/// The library that cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let name = "librml_backend_torch.so";
    let found = test.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.expect("the library is built with its tests")
}

#[test]
fn a_function_runs_through_the_library() {
    let library = Library::open(&library()).unwrap();
    let torch = library.backend(&Options { threads: Some(1), ..Options::default() }).unwrap();
    assert_eq!(torch.about().name, "torch");
    let ty = Type::new(DType::Num, &[2, 3]);
    let f = apply(Op::Unary(Unary::Exp), std::slice::from_ref(&ty), Precision::F64);
    let x = Value::zeros(&ty, Precision::F64);
    let on_device = Held::Device(torch.upload(&x).unwrap());
    for x in [x.into(), on_device] {
        let found = call(&*torch, &f, vec![x]).unwrap();
        assert!(found[0].same(&Value::filled(&ty, 1.0, Precision::F64)), "{found:?}");
    }
    let failure =
        library.backend(&Options { device: "cuda:99".to_owned(), ..Options::default() }).unwrap_err();
    assert_eq!(failure.code, codes::NO_DEVICE);
    assert!(failure.message.contains("cpu"), "{}", failure.message);
}
