//! The text of synthesised nodes, which is close to the listings of the paper.

mod support;

use rml_autodiff::differentiate_node;
use rml_elab::Root;
use rml_ir::surface;
use rml_testkit::gradients::normal;

const APP: &str = include_str!("programs/app.rml");
const LSTM: &str = include_str!("programs/lstm.rml");
const PARTS: &str = include_str!("programs/features/parts.rml");
const CLOCKS: &str = include_str!("programs/clocks.rml");

/// The text of the adjoint of `node` and of the nodes that it calls.
fn diff(text: &str, node: &str) -> String {
    let module = normal(text, Root::Diff(node.into())).unwrap_or_else(|e| panic!("{e}"));
    let root = module.root;
    let made = differentiate_node(module, root).unwrap_or_else(|e| panic!("{e}"));
    surface::print_nodes(&made.module, &made.synthesised, Some(made.adjoint), &made.origins)
}

/// Compares with `tests/golden/<name>.rml`; with `RML_BLESS=1`, writes that file.
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

/// Slices that cover a variable become one `concat`, and need not be printed; otherwise the entries are printed as
/// written.
#[test]
fn gates() {
    expect_file(PARTS, "check_gates", "gates.rml");
    assert!(diff(PARTS, "check_positions").contains("dx = stack(1, "));
    let gap = diff(PARTS, "check_gap");
    assert!(
        gap.contains("dx = unindex(shape(x), ") && gap.contains(", :2)") && gap.contains(", 3:)"),
        "{gap}"
    );
    assert!(diff(PARTS, "check_overlapping").contains(", ::-1, :3)"));
}

/// The shape of an operand without a name is written in terms of named variables.
#[test]
fn unnamed_operand() {
    let text = "node cell(units, h, x) -> (o)\n  o = matmul(x, param(normal([3, units], 0.0, 1.0))) + matmul(h, k);\n  \
                k = param(normal([units, units], 0.0, 1.0));\n\
                node check_cell(h: num [4], x: num [2, 3]) -> (o) o = cell(4, h, x);\n";
    let found = diff(text, "check_cell");
    assert!(found.contains("sum_to([shape(k)[1]], "), "{found}");
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
fn app() {
    expect_file(APP, "app", "app.rml");
}

#[test]
fn app_pipe() {
    expect_file(APP, "app_pipe", "app_pipe.rml");
}

/// The paper's bidirectional layer: adjoints that the program defines, together with derived ones.
#[test]
fn lstm_bi() {
    expect_file(include_str!("../../../examples/paper/lstm_end.rml"), "main", "lstm_bi.rml");
}

#[test]
fn experts() {
    expect_file(include_str!("../../../examples/paper/moe.rml"), "main", "experts.rml");
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
    expect_file(text, "f", "grouped.rml");
}

/// Callers find a gradient by the name of its input, even if an inner variable has the same name.
#[test]
fn gradients_of_inputs_keep_their_names() {
    let text = "node main(y: num [2], c: bool [], b: bool []) -> (loss)
  e = b when c;
  u = y when c when e;
  loss = merge c (merge e sum(u) 0.0) 0.0;
";
    let printed = diff(text, "main");
    assert!(printed.contains("-> (loss, bpy, dy)"), "{printed}");
}
