//! Weights: each under its name, and back.

use rml::{ExportOptions, Source};

use super::support::{Attr, Net};

fn net() -> Net {
    let ramp: Vec<f32> = (0..96).map(|i| i as f32 * 0.01).collect();
    Net::new(14)
        .input("x", &["2", "1", "2", "2"])
        .tensor("conv.weight", &[2, 2, 2, 2], &ramp[..16])
        .tensor("conv.bias", &[2], &[0.1, 0.2])
        .tensor("lstm.w", &[2, 4, 2], &ramp[16..32])
        .tensor("lstm.r", &[2, 4, 1], &ramp[32..40])
        .tensor("lstm.b", &[2, 8], &ramp[40..56])
        .integers("shape", &[3], &[4, 1, 2])
        .node("Conv", "in conv.weight conv.bias", "c", &[("pads", Attr::Ints(&[0, 0, 1, 0]))])
        .node("Reshape", "c shape", "s", &[])
        .node(
            "LSTM",
            "s lstm.w lstm.r lstm.b",
            "y",
            &[("hidden_size", Attr::Int(1)), ("direction", Attr::Text("bidirectional"))],
        )
        .output("y")
}

/// The net, whose convolution has two channels.
fn with_channels() -> Net {
    let mut net = net();
    let before = Net::new(14).node("Concat", "x x", "in", &[("axis", Attr::Int(1))]);
    net.graph.node.insert(0, before.graph.node[0].clone());
    net
}

#[test]
fn an_export_gives_the_tensors_back() {
    let model = with_channels().program();
    let source = Source::text("model.rml", model.program.as_str());
    let options = rml::Options { node: Some("main".into()), ..rml::Options::default() };
    let imported =
        rml::import_params(&source, &options, &model.tensors, &model.mapping).unwrap_or_else(|e| {
            panic!("{e}\n{}\n{}", model.program, model.mapping_text);
        });
    let back = rml::export_params(
        &source,
        &options,
        &imported.checkpoint,
        &model.mapping,
        &ExportOptions::default(),
    );
    let back = back.unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = model.tensors.tensors.keys().map(String::as_str).collect();
    assert_eq!(names, ["conv.weight", "conv.bias", "lstm.w", "lstm.r", "lstm.b"]);
    for (name, tensor) in &model.tensors.tensors {
        assert!(back.tensors[name].same(tensor), "{name}");
    }
}

#[test]
fn a_weight_that_is_used_twice_is_one_parameter() {
    let net = Net::new(14)
        .input("x", &["1", "2"])
        .tensor("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0])
        .node("MatMul", "x w", "a", &[])
        .node("Transpose", "w", "t", &[])
        .node("MatMul", "a t", "y", &[])
        .output("y");
    let model = net.program();
    assert_eq!(model.program.matches("param(").count(), 1, "{}", model.program);
    // [1, 1] by the matrix is [4, 6], and by its transpose [4 + 12, 12 + 24].
    super::support::close(&net.y(super::support::nums(&[1, 2], &[1.0, 1.0])), &[16.0, 36.0]);
}

#[test]
fn weights_that_nothing_needs_are_left_out() {
    let net = Net::new(14)
        .input("x", &["2"])
        .tensor("w", &[2], &[1.0, 2.0])
        .tensor("spare", &[2], &[1.0, 2.0])
        .node("Mul", "x spare", "unused", &[])
        .node("Mul", "x w", "y", &[])
        .output("y");
    assert_eq!(net.program().tensors.tensors.len(), 1);
    super::support::close(&net.y(super::support::nums(&[2], &[3.0, 3.0])), &[3.0, 6.0]);
}
