//! Files that are no models, or ask for too much: an error, and quickly.

use std::panic::AssertUnwindSafe;

use prost::Message as _;
use rml_import::Options;
use rml_import::proto::{FunctionProto, ModelProto, TensorProto};

use super::support::{Attr, Net, import};

#[track_caller]
fn refused(net: &Net, with: &[&str]) {
    let error = net.import(&Options::default()).expect_err("an error").to_string();
    assert!(with.iter().all(|text| error.contains(text)), "{error}");
}

#[test]
fn bytes_that_are_no_model_are_refused() {
    for bytes in [&b""[..], b"no model", b"\x3a\xff\xff\xff\xff\x0f", &[0x08; 9]] {
        let error = import(bytes.to_vec(), &Options::default()).expect_err("an error").to_string();
        assert!(error.contains("malformed-model"), "{error}");
    }
}

/// Whatever byte of a model is changed, or where it ends: it is imported or refused.
#[test]
fn damaged_models_never_panic() {
    let net = Net::new(17)
        .input("x", &["1", "2", "4", "4"])
        .tensor("w", &[3, 2, 3, 3], &[0.1; 54])
        .integers("starts", &[1], &[1])
        .integers("ends", &[1], &[3])
        .node("Conv", "x w", "c", &[("pads", Attr::Ints(&[1, 1, 1, 1])), ("strides", Attr::Ints(&[2, 1]))])
        .node("Slice", "c starts ends", "s", &[])
        .node("MaxPool", "c", "p", &[("kernel_shape", Attr::Ints(&[2, 2]))])
        .node("Softmax", "p", "y", &[("axis", Attr::Int(1))])
        .output("y");
    let bytes = net.bytes();
    let mut imported = 0;
    let mut check = |bytes: Vec<u8>, what: &str| {
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| import(bytes, &Options::default()).is_ok()));
        imported += usize::from(made.unwrap_or_else(|_| panic!("a panic: {what}")));
    };
    for at in 0..bytes.len() {
        check(bytes[..at].to_vec(), &format!("cut at {at}"));
        for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 0x10, bytes[at].wrapping_add(1)] {
            let mut changed = bytes.clone();
            changed[at] = value;
            check(changed, &format!("{value:#x} at {at}"));
        }
    }
    assert!(imported > 0);
}

#[test]
fn sizes_that_no_memory_has_are_refused() {
    let huge = i64::MAX / 4;
    let expand = Net::new(17)
        .input("x", &["1"])
        .integers("shape", &[2], &[huge, huge])
        .node("Expand", "x shape", "y", &[])
        .output("y");
    refused(&expand, &["Expand", "computes `y`"]);
    let constant =
        Net::new(17).integers("shape", &[1], &[huge]).node("ConstantOfShape", "shape", "y", &[]).output("y");
    refused(&constant, &["ConstantOfShape"]);
    let mut tensor = Net::new(17).node("Identity", "w", "y", &[]).output("y");
    let dims = vec![1 << 40, 1 << 40];
    tensor.graph.initializer.push(TensorProto {
        name: "w".into(),
        dims,
        data_type: 1,
        ..TensorProto::default()
    });
    refused(&tensor, &["malformed-model", "`w`", "too many elements"]);
    let range = Net::new(17)
        .integers("start", &[], &[0])
        .integers("limit", &[], &[huge])
        .integers("delta", &[], &[1])
        .node("Range", "start limit delta", "y", &[])
        .output("y");
    refused(&range, &["Range", "too long"]);
}

#[test]
fn folding_has_a_budget() {
    // Each step doubles a constant: 2^40 elements at the end.
    let mut net = Net::new(17).integers("a0", &[1], &[1]);
    for k in 0..40 {
        net = net.node("Concat", &format!("a{k} a{k}"), &format!("a{}", k + 1), &[("axis", Attr::Int(0))]);
    }
    let error = net.node("Identity", "a40", "y", &[]).output("y").import(&Options::default());
    assert!(error.is_err());
}

/// Functions that call the next one twice: 2^40 calls at the end.
#[test]
fn calls_of_functions_have_a_budget() {
    let functions = (0..40).map(|k| {
        let next = if k == 39 { "Identity".to_owned() } else { format!("F{}", k + 1) };
        let mut net = Net::new(17).node(&next, "a", "b", &[]).node(&next, "b", "c", &[]);
        if k < 39 {
            net.graph.node.iter_mut().for_each(|n| n.domain = "own".into());
        }
        FunctionProto {
            name: format!("F{k}"),
            domain: "own".into(),
            input: vec!["a".into()],
            output: vec!["c".into()],
            node: net.graph.node,
            ..FunctionProto::default()
        }
    });
    let mut net = Net::new(17).input("x", &["2"]).node("F0", "x", "y", &[]).output("y");
    net.graph.node[0].domain = "own".into();
    let mut model = ModelProto::decode(net.bytes().as_slice()).unwrap();
    model.functions = functions.collect();
    let error = import(model.encode_to_vec(), &Options::default()).expect_err("an error").to_string();
    assert!(error.contains("nodes are to be run"), "{error}");
}

#[test]
fn inputs_that_no_memory_has_are_refused() {
    let long = Net::new(17).input("x", &["1000000000000", "2"]).node("Identity", "x", "y", &[]).output("y");
    refused(&long, &["`x`", "too large"]);
    let time = Net::new(17)
        .input("x", &["1000000", "1", "1"])
        .tensor("w", &[1, 1, 1], &[1.0])
        .node("RNN", "x w w", "y", &[("hidden_size", Attr::Int(1))])
        .output("y");
    refused(&time, &["RNN", "1000000 steps"]);
}

#[test]
fn what_cannot_be_imported_has_a_name_and_a_place() {
    let odd = Net::new(17).input("x", &["2"]).node("Sigmod", "x", "y", &[]).output("y");
    refused(&odd, &["import-refused", "`Sigmod`", "node `/y/Sigmod`, that computes `y`", "it has `Sigmoid`"]);
    let unknown = Net::new(17).input("x", &["2"]).node("Add", "x z", "y", &[]).output("y");
    refused(&unknown, &["`z` is read"]);
    let shape =
        Net::new(17).input("x", &["2"]).ints("s", &["1"]).node("Reshape", "x s", "y", &[]).output("y");
    refused(&shape, &["Reshape", "depends on the values of inputs", "--set"]);
    let itself = Net::new(17).input("x", &["2"]).node("Add", "x y", "y", &[]).output("y");
    refused(&itself, &["`y` is read"]);
}
