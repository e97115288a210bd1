//! Random recurrences with products of concatenations, as in textbooks: `matmul(concat(x, h, 1), w)`.

use crate::Lcg;

/// Cells of `$n` units on `x: num [rows, d]`, with a further input `a: num [rows, 1]`.
const ROWS: &[&str] = &[
    "h_next = tanh(matmul(concat(x, h, 1), param(glorot_uniform([d + $n, $n]))));",
    "h_next = tanh(matmul(concat(concat(x, a, 1), h, 1), param(glorot_uniform([d + 1 + $n, $n]))));",
    "h_next = tanh(matmul(concat(x, concat(h, a, 1), 1), param(glorot_uniform([d + 1 + $n, $n]))));",
    "h_next = tanh(matmul(concat(concat(x, h, 1), concat(h * h, a, 1), 1), param(glorot_uniform([d + 1 + 2 * $n, $n]))));",
    "h_next = tanh(matmul(concat(h, x, 1), param(glorot_uniform([d + $n, $n]))));",
    "xh = concat(x, h, 1);
  g = sigmoid(matmul(xh, param(glorot_uniform([d + $n, $n]))) + param(ones([$n])));
  h_next = g * h + (1.0 - g) * tanh(matmul(concat(x, g * h, 1), param(glorot_uniform([d + $n, $n]))));",
    "z = matmul(concat(x, h, 1), param(glorot_uniform([d + $n, 2 * $n]))) + param(zeros([2 * $n]));
  h_next = sigmoid(z[.., 0:$n]) * h + tanh(z[.., $n:2 * $n]);",
];

/// The same cells on columns, with `x: num [d, columns]` and `a: num [1, columns]`.
const COLUMNS: &[&str] = &[
    "h_next = tanh(matmul(param(glorot_uniform([$n, d + $n])), concat(x, h, 0)));",
    "h_next = tanh(matmul(param(glorot_uniform([$n, d + 1 + $n])), concat(concat(a, x, 0), h, 0)));",
    "h_next = tanh(matmul(param(glorot_uniform([$n, d + 1 + $n])), concat(concat(x, h, 0), a, 0)));",
];

/// A network of one or two layers: its forward path `net`, and `main`, which trains it and may compute the gradient of
/// its input. The inputs of both are `x`, `a` and `end`.
pub fn network(r: &mut Lcg) -> String {
    let (cells, shape, d) = if r.chance(0.6) { (ROWS, "[@, $]", 3) } else { (COLUMNS, "[$, @]", 3) };
    let shape = shape.replace('@', ["1", "2", "5"][r.below(3)]);
    let num = |size: &str| format!("num {}", shape.replace('$', size));
    let (mut text, mut body, mut last) = ("import std.layers;\n".to_owned(), String::new(), "x".to_owned());
    for i in 0..1 + r.below(2) {
        let n = (2 + r.below(3)).to_string();
        let cell = r.pick(cells).replace("$n", &n);
        let zeros = shape.replace('$', &n);
        text += &format!(
            "\nnode layer{i}(x: {}, a: {}) -> (h_next: {})\n  {cell}\n  h = zeros({zeros}) fby h_next;\n",
            num("d"),
            num("1"),
            num(&n)
        );
        body += &format!("  h{i} = layer{i}({last}, a) every end;\n");
        last = format!("h{i}");
    }
    let inputs = format!("x: {}, a: {}, end: bool []", num(&d.to_string()), num("1"));
    let (dx, wanted) = if r.chance(0.3) { ("dx", ", dx") } else { ("_", "") };
    let (bp, when) = if r.chance(0.5) { ("end", " when end") } else { ("true", "") };
    text + &format!(
        "
node net({inputs}) -> (o)
{body}  o = {last};

node main({inputs}) -> (loss{when}{wanted})
  o, {dx}, _ = diff_net(x, a, end, {bp}, do);
  do = (-0.1 * (o - 0.3)){when};
  loss = sum(do * do);
"
    )
}
