//! Branches, loops and functions.

use prost::Message as _;
use rml_import::proto::{FunctionProto, ModelProto, OperatorSetIdProto};
use rml_import::{Fixed, Options};

use super::support::{Attr, Net, Running, close, import, nums, ramp};

/// `y = x + 1` where the rate is 16000, else `x + x`.
fn choice() -> Net {
    let then = Net::new(17).tensor("one", &[], &[1.0]).node("Add", "x one", "t", &[]).output("t");
    let other = Net::new(17).node("Add", "x x", "e", &[]).output("e");
    let branches = [("then_branch", Attr::Graph(&then)), ("else_branch", Attr::Graph(&other))];
    Net::new(17)
        .input("x", &["2"])
        .ints("rate", &[])
        .integers("wideband", &[], &[16000])
        .node("Equal", "rate wideband", "wide", &[])
        .node("If", "wide", "y", &branches)
        .output("y")
}

#[test]
fn a_fixed_input_decides_a_branch() {
    for (rate, expected) in [(16000.0, [1.0, 2.0]), (8000.0, [0.0, 2.0])] {
        let fixed = [("rate".to_owned(), Fixed(vec![rate]))].into_iter().collect();
        let model = choice().import(&Options { fixed, ..Options::default() }).unwrap();
        assert!(!model.program.contains("if"), "{}", model.program);
        close(&Running::of(&model).step(&[("x", ramp(&[2], 1.0))])["y"], &expected);
    }
}

#[test]
fn a_branch_that_is_not_known_is_chosen_when_it_runs() {
    let mut running = Running::of(&choice().program());
    let x = || ramp(&[2], 1.0);
    close(&running.step(&[("x", x()), ("rate", rml::Value::Int(16000))])["y"], &[1.0, 2.0]);
    close(&running.step(&[("x", x()), ("rate", rml::Value::Int(8000))])["y"], &[0.0, 2.0]);
}

#[test]
fn a_scan_is_a_node_along_an_axis() {
    let body = Net::new(17)
        .input("sum_in", &["2"])
        .input("row", &["2"])
        .node("Add", "sum_in row", "sum_out", &[])
        .node("Mul", "sum_out factor", "scaled", &[])
        .output("sum_out")
        .output("scaled");
    let net = Net::new(17)
        .input("x", &["3", "2"])
        .tensor("start", &[2], &[0.0, 10.0])
        .tensor("factor", &[], &[2.0])
        .node(
            "Scan",
            "start x",
            "total y",
            &[("num_scan_inputs", Attr::Int(1)), ("body", Attr::Graph(&body))],
        )
        .output("total")
        .output("y");
    let made = net.run(&[("x", ramp(&[3, 2], 1.0))]);
    // Rows [0, 1], [2, 3], [4, 5].
    close(&made["total"], &[6.0, 19.0]);
    close(&made["y"], &[0.0, 22.0, 4.0, 28.0, 12.0, 38.0]);
}

#[test]
fn a_loop_runs_as_often_as_is_known() {
    let body = Net::new(17)
        .ints("i", &[])
        .input("go", &[])
        .input("a_in", &["2"])
        .node("Identity", "go", "go_on", &[])
        .node("Add", "a_in x", "a_out", &[])
        .output("go_on")
        .output("a_out");
    let net = Net::new(17)
        .input("x", &["2"])
        .integers("three", &[], &[3])
        .tensor("start", &[2], &[0.0, 1.0])
        .node("Loop", "three - start", "y", &[("body", Attr::Graph(&body))])
        .output("y");
    close(&net.y(nums(&[2], &[1.0, 2.0])), &[3.0, 7.0]);
}

#[test]
fn functions_are_inlined_with_their_attributes() {
    let inner = Net::new(17).node("LeakyRelu", "a", "b", &[]);
    let mut node = inner.graph.node[0].clone();
    node.attribute.push(rml_import::proto::AttributeProto {
        name: "alpha".into(),
        ref_attr_name: "slope".into(),
        r#type: 1,
        ..Default::default()
    });
    let function = FunctionProto {
        name: "Bent".into(),
        domain: "own".into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: vec![node],
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
        ..FunctionProto::default()
    };
    let mut net =
        Net::new(17).input("x", &["2"]).node("Bent", "x", "y", &[("slope", Attr::Float(0.25))]).output("y");
    net.graph.node[0].domain = "own".into();
    let mut model = ModelProto::decode(net.bytes().as_slice()).unwrap();
    model.functions.push(function);
    let model = import(model.encode_to_vec(), &Options::default()).unwrap();
    close(&Running::of(&model).step(&[("x", nums(&[2], &[-4.0, 4.0]))])["y"], &[-1.0, 4.0]);
}
