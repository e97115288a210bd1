//! The text of synthesised nodes.

mod support;

use rml_autodiff::differentiate_node;
use rml_elab::Root;
use rml_ir::surface;
use support::source::normal;

/// The text of the adjoint of `node` and of those it calls.
fn diff(text: &str, node: &str) -> String {
    let module = normal(text, Root::Diff(node.into())).unwrap_or_else(|e| panic!("{e}"));
    let root = module.root;
    let made = differentiate_node(module, root).unwrap_or_else(|e| panic!("{e}"));
    surface::print_nodes(&made.module, &made.synthesised, Some(made.adjoint))
}

const APP: &str = "
node dense(i) -> (o)
  b = param(0.0);
  k = param(1.0);
  o = k * i + b;
node multiply(i) -> (o)
  o = i * i;
node app(i) -> (o)
  x = dense(i);
  o = multiply(x);
node app_pipe(i) -> (o)
  x = dense(i);
  y = 0.0 fby x;
  o = multiply(y);
";

const LSTM: &str = "
node dense1(units, sizex, x) -> (o)
  shape = [units, sizex];
  kernel = param(glorot_uniform(shape));
  bias = param(zeros([units]));
  o = matmul(kernel, x) + bias;
node lstm_cell(units, sizex, h, c, x) -> (h_next, c_next)
  zr = reshape([4, units], dense1(4 * units, units + sizex, concat(x, h)));
  c_next = sigmoid(zr[0]) * c + sigmoid(zr[1]) * tanh(zr[3]);
  h_next = sigmoid(zr[2]) * tanh(c_next);
node lstm(units, sizex, x) -> (h_next)
  h_next, c_next = lstm_cell(units, sizex, h, c, x);
  h = param(orthogonal([units])) fby h_next;
  c = param(orthogonal([units])) fby c_next;
node layer(x: num [3]) -> (o)
  o = lstm(2, 3, x);
";

#[test]
fn app() {
    println!("{}", diff(APP, "app"));
}

#[test]
fn app_pipe() {
    println!("{}", diff(APP, "app_pipe"));
}

#[test]
fn lstm() {
    println!("{}", diff(LSTM, "layer"));
}
#[test]
fn show() {
    for (text, node) in [
        (include_str!("programs/clocks.rml"), "branches"),
        (include_str!("programs/clocks.rml"), "backfill"),
        (include_str!("programs/clocks.rml"), "initial"),
        (include_str!("programs/clocks.rml"), "two_rates"),
        (include_str!("programs/operators.rml"), "pointwise"),
        (include_str!("programs/operators.rml"), "layout"),
        (include_str!("programs/operators.rml"), "products"),
        (include_str!("programs/operators.rml"), "reductions"),
        (include_str!("programs/operators.rml"), "unused"),
        (include_str!("programs/lstm.rml"), "layer"),
        (include_str!("programs/lstm.rml"), "batches"),
    ] {
        println!("{}", diff(text, node));
    }
}
