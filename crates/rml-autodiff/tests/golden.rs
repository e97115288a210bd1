//! The text of synthesised nodes: it reads like the paper's own, mended.

mod support;

use rml_autodiff::differentiate_node;
use rml_elab::Root;
use rml_ir::surface;
use support::source::normal;

const APP: &str = include_str!("programs/app.rml");
const LSTM: &str = include_str!("programs/lstm.rml");
const CLOCKS: &str = include_str!("programs/clocks.rml");

/// The text of the adjoint of `node` and of those it calls.
fn diff(text: &str, node: &str) -> String {
    let module = normal(text, Root::Diff(node.into())).unwrap_or_else(|e| panic!("{e}"));
    let root = module.root;
    let made = differentiate_node(module, root).unwrap_or_else(|e| panic!("{e}"));
    surface::print_nodes(&made.module, &made.synthesised, Some(made.adjoint))
}

#[track_caller]
fn expect(text: &str, node: &str, expected: &str) {
    let found = diff(text, node);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

const DENSE_AND_MULTIPLY: &str = "
node diff_dense(i, bp, do) -> (o, di)
  b = diff_param(0.0, bp, db);
  k = diff_param(1.0, bp, dk);
  o = k * i + b;
  di = (k when bp) * do;
  dk = (i when bp) * do;
  db = do;

node diff_multiply(i, bp, do) -> (o, di)
  o = i * i;
  di = do * 2.0 * (i when bp);
";

#[test]
fn app() {
    let app = "
node diff_app(i: num [], bp: bool [], do: num [] when bp) -> (o, di)
  x, di = diff_dense(i, bp, dx);
  o, dx = diff_multiply(x, bp, do);
";
    expect(APP, "app", &format!("{DENSE_AND_MULTIPLY}{app}"));
}

#[test]
fn app_pipe() {
    let app_pipe = "
node diff_app_pipe(i: num [], bp: bool [], do: num [] when bp) -> (o, bpi, di)
  x, di = diff_dense(i, bpi, dx);
  y = 0.0 fby x;
  o, dy = diff_multiply(y, bp, do);
  bpi = false fby back bp;
  dx = (0.0 fby back (merge bp dy 0.0)) when bpi;
";
    expect(APP, "app_pipe", &format!("{DENSE_AND_MULTIPLY}{app_pipe}"));
}

/// Compares with `tests/golden/<name>.rml`; `RML_BLESS=1` writes it.
#[track_caller]
fn expect_file(text: &str, node: &str, name: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let found = diff(text, node);
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(found, expected, "\n{found}");
}

#[test]
fn lstm() {
    expect_file(LSTM, "layer", "lstm.rml");
}

#[test]
fn branches() {
    expect_file(CLOCKS, "branches", "branches.rml");
}

#[test]
fn backfill() {
    expect_file(CLOCKS, "backfill", "backfill.rml");
}

#[test]
fn two_rates() {
    expect_file(CLOCKS, "two_rates", "two_rates.rml");
}

#[test]
fn gradients_under_one_condition_are_completed_together_and_idle_results_have_no_name() {
    let text = "
node two(x, y) -> (a, b)
  a = x * y;
  b = x + y;
node f(x: num [], y: num []) -> (o)
  a, _ = two(x, y);
  o = (0.0 fby (a * x)) + a * x * x;
";
    let expected = "
node diff_two(x, y, bp, da, db) -> (a, b, dx, dy)
  a = x * y;
  b = x + y;
  dx = (y when bp) * da + db;
  dy = (x when bp) * da + db;

node diff_f(x: num [], y: num [], bp: bool [], do: num [] when bp) -> (o, bpx, dx, bpy, dy)
  a, _, t1, dy = diff_two(x, y, bpx, da, 0.0 when bpx);
  t2 = a * x;
  o = (0.0 fby a * x) + t2 * x;
  t3 = false fby back bp;
  bpx = bp or t3;
  t4 = (0.0 fby back (merge bp do 0.0)) when t3;
  t5 = (x when bp) * do;
  dx = t1 + merge (t3 when bpx) ((a when t3) * t4) 0.0 + merge (bp when bpx) ((a when bp) * t5 + (t2 when bp) * do) 0.0;
  da = (merge (t3 when bpx) ((x when t3) * t4) 0.0) + merge (bp when bpx) ((x when bp) * t5) 0.0;
  bpy = bpx;
";
    expect(text, "f", expected);
}
