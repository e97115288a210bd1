//! Repeated blocks.

use rml::{ExportOptions, Source};
use rml_import::{ModelProgram, Options};

use super::support::{Attr, Net, Running, close, nums, ramp};

fn residual() -> ModelProgram {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/residual.onnx");
    let bytes = std::fs::read(path).expect("an example");
    let options = Options { dims: [("batch".to_owned(), 1)].into_iter().collect(), ..Options::default() };
    let model = rml_import::import(bytes, "residual.onnx", &|_, _, _| panic!("no other file"), &options);
    model.unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn layers_one_after_the_other_are_a_family() {
    let expected = "\
(* Imported from residual.onnx, opset 17. *)

node layers(x: num [1, 16]) -> (add: num [1, 16])
  sub = x - mean(x, 1, true);
  norm_weight = param(zeros([16]));
  mul_1 = sub / sqrt(mean(sub * sub, 1, true) + 1e-5) * norm_weight;
  norm_bias = param(zeros([16]));
  linear_weight = param(zeros([16, 16]));
  linear_bias = param(zeros([16]));
  add = x + relu(matmul(mul_1 + norm_bias, linear_weight) + linear_bias);

node main(x: num [1, 8]) -> (probs: num [1, 4])
  inner_weight = param(zeros([8, 16]));
  inner_bias = param(zeros([16]));
  h[0] = matmul(x, inner_weight) + inner_bias;
  h[k + 1] = layers(h[k]) for k < 4;
  outer_weight = param(zeros([16, 4]));
  outer_bias = param(zeros([4]));
  probs = softmax(matmul(h[4], outer_weight) + outer_bias);
";
    let model = residual();
    assert_eq!(model.program, expected);
    // by ONNX Runtime 1.32
    let made = Running::of(&model).step(&[("x", ramp(&[1, 8], 0.125))]);
    close(&made["probs"], &[0.799_667_95, 0.080_766_14, 0.046_475_753, 0.073_090_196]);
}

#[test]
fn each_call_has_the_weights_of_its_layer() {
    let model = residual();
    for k in 0..4 {
        let line = format!("\"h[{}].layers_0.norm_bias\" = \"layers.{k}.norm.bias\"\n", k + 1);
        assert!(model.mapping_text.contains(&line), "{}", model.mapping_text);
    }
    let source = Source::text("model.rml", model.program.as_str());
    let options = rml::Options { node: Some("main".into()), ..rml::Options::default() };
    let imported = rml::import_params(&source, &options, &model.tensors, &model.mapping);
    let checkpoint = imported.unwrap_or_else(|e| panic!("{e}")).checkpoint;
    let back = rml::export_params(&source, &options, &checkpoint, &model.mapping, &ExportOptions::default());
    let back = back.unwrap_or_else(|e| panic!("{e}")).tensors;
    assert_eq!(back.len(), 4 + 4 * 4);
    assert!(model.tensors.tensors.iter().all(|(name, tensor)| back[name].same(tensor)));
}

/// `x -> tanh(scale * x) * w + b`, without names that say anything.
fn layer(net: Net, k: usize, x: &str, scale: f32) -> Net {
    let (w, b) = ([0.5 + k as f32, -1.0, 0.25], [0.125, k as f32, 1.0]);
    net.tensor(&format!("s{k}"), &[], &[scale])
        .tensor(&format!("w{k}"), &[3], &w)
        .tensor(&format!("b{k}"), &[3], &b)
        .node("Mul", &format!("{x} s{k}"), &format!("p{k}"), &[])
        .node("Tanh", &format!("p{k}"), &format!("q{k}"), &[])
        .node("Mul", &format!("q{k} w{k}"), &format!("r{k}"), &[])
        .node("Add", &format!("r{k} b{k}"), &format!("y{k}"), &[])
}

/// What the layer computes.
fn by_hand(k: usize, x: &[f64], scale: f64) -> Vec<f64> {
    let (w, b) = ([0.5 + k as f64, -1.0, 0.25], [0.125, k as f64, 1.0]);
    x.iter().zip(w.iter().zip(b)).map(|(x, (w, b))| (scale * x).tanh() * w + b).collect()
}

const X: [f64; 3] = [0.5, -0.25, 2.0];

fn x() -> rml::Value {
    nums(&[3], &X.map(|x| x as f32))
}

#[test]
fn numbers_that_differ_are_arguments() {
    let mut net = Net::new(17).input("x", &["3"]);
    for (k, scale) in [0.5, 0.75, 0.5, 0.25].into_iter().enumerate() {
        net = layer(net, k, "x", scale).output(&format!("y{k}"));
    }
    let model = net.program();
    assert_eq!(model.program.matches("tanh(").count(), 1, "{}", model.program);
    assert_eq!(model.program.matches(" = block(x, 0.5);").count(), 2, "{}", model.program);
    let made = Running::of(&model).step(&[("x", x())]);
    for (k, scale) in [0.5, 0.75, 0.5, 0.25].into_iter().enumerate() {
        close(&made[&format!("y{k}")], &by_hand(k, &X, scale));
    }
}

#[test]
fn results_inside_a_chain_can_be_outputs() {
    let mut net = Net::new(17).input("x", &["3"]);
    for k in 0..4 {
        net = layer(net, k, &if k == 0 { "x".to_owned() } else { format!("y{}", k - 1) }, 0.5);
    }
    let model = net.output("y1").output("y3").program();
    assert!(
        model.program.contains("  h[0] = x;\n  h[k + 1] = block(h[k]) for k < 4;\n"),
        "{}",
        model.program
    );
    let made = Running::of(&model).step(&[("x", x())]);
    let second = by_hand(1, &by_hand(0, &X, 0.5), 0.5);
    close(&made["y1"], &second);
    close(&made["y3"], &by_hand(3, &by_hand(2, &second, 0.5), 0.5));
}

/// A weight that two blocks have in common is one parameter, which the node that calls them has.
#[test]
fn weights_in_common_are_arguments() {
    let mut net = Net::new(17).input("x", &["3"]);
    for k in 0..5 {
        net = layer(net, k, "x", 0.5).output(&format!("y{k}"));
    }
    for node in &mut net.graph.node {
        for name in node.input.iter_mut().filter(|name| name.starts_with('w')) {
            *name = "w0".into();
        }
    }
    let model = net.program();
    assert!(model.program.contains(" = block(x, w0);"), "{}", model.program);
    assert_eq!(model.tensors.tensors.len(), 6);
    let made = Running::of(&model).step(&[("x", x())]);
    let shared: Vec<f64> = by_hand(0, &X, 0.5).iter().zip([0.125, 0.0, 1.0]).map(|(y, b)| y - b).collect();
    close(&made["y2"], &[shared[0] + 0.125, shared[1] + 2.0, shared[2] + 1.0]);
}

/// What is repeated too little to be worth a node is written out.
#[test]
fn two_short_blocks_are_written_out() {
    let mut net = Net::new(17).input("x", &["3"]);
    for k in 0..2 {
        net = net.tensor(&format!("w{k}"), &[3], &[1.0, 2.0, 3.0]);
        net = net.node("Mul", &format!("x w{k}"), &format!("y{k}"), &[]).output(&format!("y{k}"));
    }
    assert_eq!(net.program().program.matches("node ").count(), 1);
}

/// Layers of one kind and size are one node, whatever the axis of time is.
#[test]
fn recurrent_layers_share_a_node() {
    let weights: Vec<f32> = (0..24).map(|i| i as f32 * 0.05 - 0.5).collect();
    let mut net = Net::new(14).input("x", &["3", "1", "2"]);
    let mut before = "x".to_owned();
    for k in 0..2 {
        let hidden = [("hidden_size", Attr::Int(2))];
        net = net
            .tensor(&format!("w{k}"), &[1, 2, 2], &weights[4 * k..4 * k + 4])
            .tensor(&format!("r{k}"), &[1, 2, 2], &weights[12 + 4 * k..16 + 4 * k])
            .node("RNN", &format!("{before} w{k} r{k}"), &format!("- h{k}"), &hidden);
        net.graph.node.last_mut().expect("a node").output[0] = format!("s{k}");
        net = net.integers(&format!("axes{k}"), &[1], &[1]);
        net = net.node("Squeeze", &format!("s{k} axes{k}"), &format!("y{k}"), &[]);
        before = format!("y{k}");
    }
    let model = net.output("y1").program();
    assert_eq!(model.program.matches("\nnode ").count(), 2, "{}", model.program);
    assert!(model.mapping_text.contains("rnn_1.kernel\" = { tensor = \"w1\""), "{}", model.mapping_text);
    let made = Running::of(&model).step(&[("x", ramp(&[3, 1, 2], 0.25))]);
    let cell = |k: usize, x: &[f64], h: &[f64]| -> Vec<f64> {
        let (w, r) = (&weights[4 * k..], &weights[12 + 4 * k..]);
        let sum = |i: usize| -> f64 {
            (0..2).map(|j| f64::from(w[2 * i + j]) * x[j] + f64::from(r[2 * i + j]) * h[j]).sum()
        };
        (0..2).map(|i| sum(i).tanh()).collect()
    };
    let (mut first, mut second, mut expected) = (vec![0.0; 2], vec![0.0; 2], Vec::new());
    for t in 0..3 {
        first = cell(0, &[0.5 * f64::from(t), 0.5 * f64::from(t) + 0.25], &first);
        second = cell(1, &first, &second);
        expected.extend(second.clone());
    }
    close(&made["y1"], &expected);
}
