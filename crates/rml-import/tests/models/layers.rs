//! Layers without a state.

use rml_import::Options;

use super::support::{Attr, Net, close, nums};

/// A perceptron as PyTorch exports it.
fn perceptron() -> Net {
    Net::new(17)
        .input("x", &["batch", "2"])
        .tensor("fc1.weight", &[3, 2], &[1.0, 0.0, 0.0, 1.0, -1.0, -1.0])
        .tensor("fc1.bias", &[3], &[0.0, 0.5, 1.0])
        .tensor("fc2.weight", &[2, 3], &[1.0, 1.0, 0.0, 0.0, 0.0, 2.0])
        .tensor("fc2.bias", &[2], &[0.0, 0.0])
        .node("Gemm", "x fc1.weight fc1.bias", "/fc1/Gemm_output_0", &[("transB", Attr::Int(1))])
        .node("Relu", "/fc1/Gemm_output_0", "/relu/Relu_output_0", &[])
        .node("Gemm", "/relu/Relu_output_0 fc2.weight fc2.bias", "logits", &[("transB", Attr::Int(1))])
        .node("Softmax", "logits", "probs", &[("axis", Attr::Int(1))])
        .output("probs")
}

fn batch(n: usize) -> Options {
    Options { dims: [("batch".to_owned(), n)].into_iter().collect(), ..Options::default() }
}

#[test]
fn a_perceptron_reads_as_one() {
    let model = perceptron().import(&batch(1)).unwrap();
    let expected = "\
(* Imported from net.onnx, opset 17. *)

node main(x: num [1, 2]) -> (probs: num [1, 2])
  fc1_weight = param(zeros([2, 3]));
  fc1_bias = param(zeros([3]));
  fc2_weight = param(zeros([3, 2]));
  fc2_bias = param(zeros([2]));
  logits = matmul(relu(matmul(x, fc1_weight) + fc1_bias), fc2_weight) + fc2_bias;
  probs = softmax(logits);
";
    assert_eq!(model.program, expected);
}

#[test]
fn a_perceptron_computes_probabilities() {
    let model = perceptron().import(&batch(2)).unwrap();
    let mut running = super::support::Running::of(&model);
    let made = running.step(&[("x", nums(&[2, 2], &[1.0, 0.0, -1.0, -1.0]))]);
    // Of [1, 0]: hidden [1, 0.5, 0], logits [1.5, 0]. Of [-1, -1]: hidden [0, 0, 3], logits [0, 6].
    let p = |a: f64, b: f64| [a.exp() / (a.exp() + b.exp()), b.exp() / (a.exp() + b.exp())];
    close(&made["probs"], &[p(1.5, 0.0), p(0.0, 6.0)].concat());
}

/// A long constant that is used twice has a name and an equation.
#[test]
fn constants_are_written_once() {
    let places: Vec<i64> = (0..12).rev().collect();
    let net = Net::new(17).input("x", &["12"]).integers("p", &[12], &places);
    let net =
        net.node("Gather", "x p", "a", &[]).node("Gather", "a p", "b", &[]).node("Add", "a b", "y", &[]);
    let model = net.output("y").import(&Options::default()).unwrap();
    assert!(model.program.contains("  k = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];\n"), "{}", model.program);
    let x: Vec<f32> = (0_u8..12).map(f32::from).collect();
    let made = super::support::Running::of(&model).step(&[("x", nums(&[12], &x))]);
    close(&made["y"], &[11.0; 12]);
}

#[test]
fn open_dimensions_are_asked_for_by_name() {
    let error = perceptron().import(&Options::default()).unwrap_err().to_string();
    assert!(error.contains("import-refused") && error.contains("--dim batch=1"), "{error}");
}

#[test]
fn functions_have_the_values_of_the_format() {
    let x = || nums(&[3], &[-2.0, 0.0, 1.0]);
    let of = |op: &str, attrs: &[(&str, Attr<'_>)]| {
        Net::new(17).input("x", &["3"]).node(op, "x", "y", attrs).output("y").y(x())
    };
    close(&of("LeakyRelu", &[("alpha", Attr::Float(0.5))]), &[-1.0, 0.0, 1.0]);
    close(&of("Elu", &[]), &[(-2.0_f64).exp() - 1.0, 0.0, 1.0]);
    close(&of("HardSigmoid", &[]), &[0.1, 0.5, 0.7]);
    close(&of("HardSwish", &[]), &[-2.0 / 6.0, 0.0, 4.0 / 6.0]);
    close(&of("Softsign", &[]), &[-2.0 / 3.0, 0.0, 0.5]);
    close(&of("ThresholdedRelu", &[("alpha", Attr::Float(0.5))]), &[0.0, 0.0, 1.0]);
    close(&of("Atan", &[]), &[(-2.0_f64).atan(), 0.0, 1.0_f64.atan()]);
    close(&of("Sinh", &[]), &[(-2.0_f64).sinh(), 0.0, 1.0_f64.sinh()]);
    close(&of("Asinh", &[]), &[(-2.0_f64).asinh(), 0.0, 1.0_f64.asinh()]);
    close(&of("Celu", &[("alpha", Attr::Float(2.0))]), &[2.0 * ((-1.0_f64).exp() - 1.0), 0.0, 1.0]);
}

#[test]
fn powers_of_two_are_products() {
    let net =
        Net::new(17).input("x", &["2"]).tensor("two", &[], &[2.0]).node("Pow", "x two", "y", &[]).output("y");
    assert!(net.program().program.contains("y = x * x;"), "{}", net.program().program);
    close(&net.y(nums(&[2], &[-3.0, 0.5])), &[9.0, 0.25]);
}

#[test]
fn normalisations_divide_by_the_deviation() {
    let layer = Net::new(17)
        .input("x", &["1", "4"])
        .tensor("scale", &[4], &[1.0, 1.0, 2.0, 2.0])
        .tensor("bias", &[4], &[0.0, 1.0, 0.0, 0.0])
        .node("LayerNormalization", "x scale bias", "y", &[("epsilon", Attr::Float(0.0))])
        .output("y");
    // The mean of 1, 1, 3, 3 is 2, the deviation 1.
    close(&layer.y(nums(&[1, 4], &[1.0, 1.0, 3.0, 3.0])), &[-1.0, 0.0, 2.0, 2.0]);
    let batch = Net::new(17)
        .input("x", &["1", "2", "2"])
        .tensor("scale", &[2], &[1.0, 2.0])
        .tensor("bias", &[2], &[0.0, 1.0])
        .tensor("mean", &[2], &[1.0, 2.0])
        .tensor("var", &[2], &[4.0, 0.25])
        .node("BatchNormalization", "x scale bias mean var", "y", &[("epsilon", Attr::Float(0.0))])
        .output("y");
    close(&batch.y(nums(&[1, 2, 2], &[3.0, 5.0, 2.0, 3.0])), &[1.0, 2.0, 1.0, 5.0]);
}

#[test]
fn levels_stand_for_numbers() {
    // round([0.24, 9, -9] / 0.1) + 100 in 0 ..= 255, and back.
    let net = Net::new(17)
        .input("x", &["3"])
        .tensor("scale", &[], &[0.1])
        .node("Constant", "", "hundred", &[("value_int", Attr::Int(100))])
        .node("Cast", "hundred", "zero", &[("to", Attr::Int(2))])
        .node("QuantizeLinear", "x scale zero", "q", &[])
        .node("DequantizeLinear", "q scale zero", "y", &[])
        .output("y");
    close(&net.y(nums(&[3], &[0.24, 90.0, -90.0])), &[0.2, 15.5, -10.0]);
}

#[test]
fn contractions_take_dots_and_diagonals() {
    let net = |equation: &str| {
        Net::new(17)
            .input("x", &["2", "2"])
            .node("Einsum", "x", "y", &[("equation", Attr::Text(equation))])
            .output("y")
    };
    let x = || nums(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    close(&net("...ij->...ji").y(x()), &[1.0, 3.0, 2.0, 4.0]);
    close(&net("ii->i").y(x()), &[1.0, 4.0]);
    close(&net("ii").y(x()), &[5.0]);
}
