//! The nodes of the library against finite differences, for their inputs and parameters.

mod support;

use support::check::{Case, check};

const TIME: &str = include_str!("../../../std/time.rml");
const LAYERS: &str = include_str!("../../../std/layers.rml");
const NORMALISATION: &str = include_str!("../../../std/normalisation.rml");
const ATTENTION: &str = include_str!("../../../std/attention.rml");
const EXPERTS: &str = include_str!("../../../std/experts.rml");
const LEARNING: &str = include_str!("../../../std/learning.rml");
const LOSSES: &str = include_str!("../../../std/losses.rml");
const STRUCTURE: &str = include_str!("../../../std/structure.rml");
const STATISTICS: &str = include_str!("../../../std/statistics.rml");

/// Checks a node `tried` that calls nodes of some modules.
fn gradients(modules: &[&str], tried: &str) {
    let lines = modules.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with("import "));
    let text = lines.fold(String::new(), |text, line| text + line + "\n") + tried;
    check(&Case { text: &text, node: "tried", cycles: 5, seed: 3 })
        .unwrap_or_else(|e| panic!("{e}\n{tried}"));
}

#[test]
fn layers() {
    for call in ["dense(2, x)", "mlp([3, 2, 2], x)", "residual(2, x)", "rnn(2, x)", "lstm(2, x)", "gru(2, x)"]
    {
        gradients(&[LAYERS], &format!("node tried(x: num [2, 3]) -> (y)\n  y = {call};\n"));
    }
    // The layers are wide enough that each has an active unit in each row.
    gradients(&[LAYERS], "node tried(x: num [2, 3]) -> (y)\n  y = perceptron([8, 8, 8, 2], x);\n");
    gradients(&[LAYERS], "node tried(x: num [3]) -> (y)\n  y = causal_conv1d(2, 3, x);\n");
    gradients(&[LAYERS], "node tried(x: num [2, 1]) -> (y)\n  y = causal_conv1d(2, 1, x);\n");
}

#[test]
fn nodes_of_nodes() {
    for call in [
        "repeat(gru(3, _), 3, x)",
        "repeat(skip(rnn(3, _), _), 2, x)",
        "sum(ensemble(dense(2, _), 3, x), 0)",
        "mixture(perceptron([3, 2], _), 3, 0.2, x[0])",
    ] {
        let tried = format!("node tried(x: num [2, 3]) -> (y)\n  y = {call};\n");
        gradients(&[LAYERS, STRUCTURE, EXPERTS], &tried);
    }
}

#[test]
fn products_of_logarithms() {
    let tried = "node tried(x: num [2, 3], b: num [3, 2]) -> (y)\n  y = logmatmulexp(x, b);\n";
    gradients(&[STATISTICS], tried);
}

#[test]
fn layers_for_images_and_numbers() {
    gradients(&[LAYERS], "node tried(x: num [4, 4, 2]) -> (y)\n  y = convolution(2, 3, 2, 1, x);\n");
    let tried = "node tried(x: num [2], i: bool [2]) -> (y)\n  y = x[0] * embedding(2, 2, to_int(i));\n";
    gradients(&[LAYERS], tried);
}

#[test]
fn layers_whose_rows_start_anew() {
    for call in ["h, c = lstm_from(2, h0, h0, on, x);\n  y = h + c", "y = gru_from(2, h0, on, x)"] {
        let (inputs, equations) = ("x: num [2, 3], h0: num [2, 2], on: bool [2]", call);
        gradients(&[LAYERS], &format!("node tried({inputs}) -> (y)\n  {equations};\n"));
        let net = format!("node net({inputs}) -> (y)\n  {equations};\n");
        gradients(
            &[LAYERS],
            &format!("{net}node tried({inputs}, end: bool []) -> (y)\n  y = net(x, h0, on) every end;\n"),
        );
    }
}

#[test]
fn learning_by_reinforcement() {
    for (inputs, call) in [
        ("x: num [2]", "standardised(x)"),
        ("x: num [2, 3], i: bool [2]", "categorical_log(x, to_int(i))"),
        ("x: num [2, 3]", "categorical_entropy(x)"),
        ("x: num [2, 3], s: num [2, 3], a: num [2, 3]", "gaussian_log(x, s, a)"),
        ("x: num [2, 3]", "gaussian_entropy(x)"),
        ("p: num [2], h: num [2], w: num [2]", "policy_loss(0.1, p, h, w)"),
        ("p: num [2], b: num [2], h: num [2], w: num [2]", "proximal_loss(0.2, 0.1, p, b, h, w)"),
        ("r: num [2], t: bool [2], q: num [2, 3]", "q_target(0.9, r, t, q)"),
    ] {
        gradients(&[LEARNING], &format!("node tried({inputs}) -> (y)\n  y = {call};\n"));
    }
    for (inputs, call) in [
        ("x: num [2], e: bool [2], v: num [2]", "next_values(x, e, v)"),
        ("r: num [2], t: bool [2], e: bool [2], x: num [2]", "discounted_returns(0.9, r, t, e, x)"),
        (
            "r: num [2], t: bool [2], e: bool [2], v: num [2], x: num [2]",
            "generalised_advantages(0.9, 0.9, r, t, e, v, x)",
        ),
    ] {
        let tried = format!("node tried({inputs}, end: bool []) -> (y)\n  y = {call} every end;\n");
        gradients(&[LEARNING], &tried);
    }
}

#[test]
fn dropout() {
    let tried = "node tried(x: num [3], on: bool []) -> (y)\n  y = dense(2, dropout(0.4, x, on));\n";
    gradients(&[LAYERS], tried);
}

#[test]
fn layers_in_both_directions() {
    for call in ["bi_lstm(2, x)", "bi_gru(2, x)"] {
        let tried = format!("node tried(x: num [3], end: bool []) -> (y)\n  y = {call} every end;\n");
        gradients(&[LAYERS], &tried);
    }
}

#[test]
fn a_convolution_over_time_with_a_stride() {
    let tried = "node tried(x: num [2], c: bool []) -> (y when c)\n  y = causal_conv1d(2, 3, x) when c;\n";
    gradients(&[LAYERS], tried);
}

#[test]
fn layer_normalisation() {
    // In a single text, its private update of the moving averages would apply to all parameters.
    let text = NORMALISATION.replace("node diff_param(", "node update(");
    gradients(&[&text], "node tried(x: num [2, 3]) -> (y)\n  y = layer_norm(x);\n");
    gradients(&[&text], "node tried(x: num [2, 3]) -> (y)\n  y = layer_norm_eps(0.00001, x);\n");
}

#[test]
fn attention() {
    gradients(&[TIME, ATTENTION], "node tried(x: num [2, 3]) -> (y)\n  y = sliding_attention(4, 2, 3, x);\n");
    gradients(&[TIME, ATTENTION], "node tried(x: num [3, 2]) -> (y)\n  y = self_attention(4, 2, x);\n");
    gradients(&[TIME, ATTENTION], "node tried(x: num [2, 3, 1]) -> (y)\n  y = self_attention(2, 2, x);\n");
    let pool = "node tried(x: num [3], end: bool []) -> (y)\n  y = attention_pool(x) every end;\n";
    gradients(&[TIME, ATTENTION], pool);
}

#[test]
fn experts() {
    let tried = "node tried(x: num [3]) -> (y)\n  y = mixture_of_experts(2, 2, 0.2, x);\n";
    gradients(&[EXPERTS], tried);
    gradients(&[EXPERTS], "node tried(x: num [3]) -> (y)\n  y = mixture_of_memories(2, 0.2, x);\n");
}

#[test]
fn losses_and_statistics() {
    for call in ["mse(a, b)", "mae(a, b)", "huber(0.5, a, b)"] {
        gradients(&[LOSSES], &format!("node tried(a: num [2, 3], b: num [2, 3]) -> (l)\n  l = {call};\n"));
    }
    for call in ["bce_with_logits(a, b)", "hinge(a, b)", "weighted_bce_with_logits(3.0, a, b)"] {
        gradients(&[LOSSES], &format!("node tried(a: num [3], b: bool [3]) -> (l)\n  l = {call};\n"));
    }
    for call in [
        "weighted_cross_entropy([1.0, 4.0], a, to_int(t))",
        "weighted_cross_entropy(exp(a[0]), a, to_int(t))",
        "smoothed_cross_entropy(0.2, a, to_int(t))",
        "focal_loss(2.0, a, to_int(t))",
        "focal_loss(0.5, a, to_int(t))",
    ] {
        gradients(&[LOSSES], &format!("node tried(a: num [3, 2], t: bool [3]) -> (l)\n  l = {call};\n"));
    }
    for call in ["triplet(2.0, a, b, c)", "contrastive(3.0, a, b, t)", "info_nce(0.5, a, b)"] {
        let inputs = "a: num [2, 3], b: num [2, 3], c: num [2, 3], t: bool [2]";
        gradients(&[LOSSES], &format!("node tried({inputs}) -> (l)\n  l = {call} + 0.0 * sum(c);\n"));
    }
    let tried = "node tried(x: num [2, 3], e: bool []) -> (l when e)\n  l = ctc(x, [[1], [0]], e) every e;\n";
    gradients(&[LOSSES], tried);
    gradients(&[STATISTICS], "node tried(x: num [2]) -> (m, v)\n  m, v = running_var(x);\n");
    gradients(&[STATISTICS], "node tried(x: num [2, 3]) -> (y)\n  y, i = top_k(2, x);\n");
    gradients(
        &[STATISTICS],
        "node tried(x: num [2]) -> (m, e)\n  m = running_mean(x);\n  e = ema(0.9, x);\n",
    );
}
