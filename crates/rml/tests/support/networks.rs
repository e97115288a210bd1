//! Random recurrent networks in training.

#![allow(unreachable_pub, reason = "each test file uses it")]

use rml_testkit::Lcg;

const OPTIMISERS: &[&str] = &[
    "",
    "import std.optimisers;\nnode diff_param(init, bp, do) -> (o) o = momentum(0.5, init, bp, do);\n",
    "import std.optimisers;\nnode diff_param(init, bp, do) -> (o) o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);\n",
];

/// A layer over `$`, and its number of features per unit; `None` if the layer keeps the number of features.
const LAYERS: &[(&str, Option<usize>)] = &[
    ("lstm(UNITS, $)", Some(1)),
    ("lstm_back(UNITS, $)", Some(1)),
    ("gru(UNITS, $)", Some(1)),
    ("gru_back(UNITS, $)", Some(1)),
    ("rnn(UNITS, $)", Some(1)),
    ("bi_gru(UNITS, $)", Some(2)),
    ("tanh(dense(UNITS, $))", Some(1)),
    ("residual(UNITS, $)", None),
    ("$ * sigmoid($)", None),
    ("tanh($ - 0.5 * (0.0 * $ fby $))", None),
];

/// A training program for a network of one to three layers, with an optimiser.
pub fn network(r: &mut Lcg) -> String {
    let (mut body, mut last) = (String::new(), "x".to_owned());
    for i in 0..1 + r.below(3) {
        let (layer, _) = r.pick(LAYERS);
        let layer = layer.replace('$', &last).replace("UNITS", &(1 + r.below(3)).to_string());
        last = format!("h{i}");
        body += &format!("  {last} = {layer};\n");
    }
    let optimiser = r.pick(OPTIMISERS);
    format!(
        "import std.layers;\n{optimiser}\nnode net(x: num [2]) -> (o: num [])\n{body}  o = sum(dense(1, {last}));\n
node train(x: num [2], y: num [], end: bool []) -> (loss: num [])
  o, _ = diff_net(x, true, do) every end;
  do = -0.02 * (o - y);
  loss = (o - y) * (o - y);
"
    )
}
