//! Literals without a point: which of them are nums, which are ints, and how they are written.

mod common;

use common::{accept, options, outputs};
use rml_elab::Options;
use rml_ir::typed::{ExprKind, StaticValue};

/// The types of the root's outputs.
fn types(text: &str) -> Vec<String> {
    outputs(&accept(text, &options()))
}

fn with(settings: &[(&str, StaticValue)]) -> Options {
    let mut options = options();
    options.set.extend(settings.iter().map(|(n, v)| ((*n).to_owned(), v.clone())));
    options
}

/// The types of outputs `o` and `p` with these equations, in each order of the equations.
fn of_equations(equations: &[&str]) -> Vec<String> {
    let text = |order: Vec<&str>| {
        format!(
            "node twice(k, x) -> (o) o = k * x;
             node scaled(k) -> (o) o = k;
             node main(x: num [], n: int [], v: num [2], c: bool []) -> (o, p) {}",
            order.join(" ")
        )
    };
    let found = types(&text(equations.to_vec()));
    for by in 1..equations.len() {
        let mut order = equations.to_vec();
        order.rotate_left(by);
        assert_eq!(types(&text(order.clone())), found, "{order:?}");
        order.reverse();
        assert_eq!(types(&text(order.clone())), found, "{order:?}");
    }
    found
}

#[test]
fn literals_without_a_point_are_nums_where_nums_are_asked_for() {
    let num = |equations: &[&str]| {
        let found = of_equations(equations);
        assert!(found.iter().all(|ty| ty.starts_with("num")), "{equations:?}: {found:?}");
    };
    num(&["o = 2 * x + 1;", "p = [1, 2] * v;"]);
    num(&["o = -1 - x;", "p = [[1, 2.5], [3, 4]];"]);
    num(&["k = 2;", "o = k * x;", "p = k;"]);
    num(&["o = if c then x else 0;", "p = merge c (x when c) 0;"]);
    num(&["o = 0 fby x;", "p = 1 fby back (p * x);"]);
    num(&["o = where(c, x, 0);", "p = concat(v, [1, 2]);"]);
    num(&["o = twice(2, x);", "p = scaled(1) + x;"]);
    num(&["o = uniform([2], -1, 1) * v;", "p = sqrt(2) + exp(1);"]);
    num(&["o, _, p = diff_twice(2, x, true, 1);"]);
    num(&["o = x / 2;", "p = 1 / x;"]);
    // If other equations make an operand a num, its quotients are those of nums.
    num(&["k = 7;", "o = k / 2;", "p = k * x;"]);
    num(&["o = 0 fby (o / 2 + x);", "p = sum([1, 2] * v) / 2;"]);
    num(&["o = x; p = to_num(7 / 2) * x;"]);
    assert_eq!(of_equations(&["o = x > 0;", "p = 1 == x;"]), ["bool []", "bool []"]);
}

#[test]
fn literals_without_a_point_are_ints_elsewhere() {
    let int = |equations: &[&str]| {
        let found = of_equations(equations);
        assert!(found.iter().all(|ty| ty.starts_with("int")), "{equations:?}: {found:?}");
    };
    int(&["o = 7 / 2;", "p = 2 * n + 1;"]);
    int(&["k = 7;", "o = k / 2;", "p = k * n;"]);
    int(&["o = 0 fby o + 1;", "p = if c then 1 else 2;"]);
    int(&["o = scaled(1);", "p = to_int(x) / 2;"]);
    int(&["o = 7 / 2 / 3;", "p = [1, 2] / 2;"]);
    int(&["size = 2;", "z = zeros([size]);", "o = size;", "p = size * 2;"]);
    assert_eq!(types("node main(x) -> (o) o = x + 1;"), ["int []"]);
    assert_eq!(types("node main(x) -> (o) o = x / 2;"), ["int []"]);
    assert_eq!(types("node main(x) -> (o: num []) o = x / 2;"), ["num []"]);
}

#[test]
fn a_node_takes_literals_by_instance() {
    let text = "node f(k, x) -> (o) o = k * x;
                node main(x: num [], n: int []) -> (a, b, c) a = f(2, x); b = f(2, n); c = f(2, 3);";
    assert_eq!(types(text), ["num []", "int []", "int []"]);
    let constant = |ty: &str| {
        let module =
            accept("node main(x: TY []) -> (o) o = [1, -2] * x;".replace("TY", ty).as_str(), &options());
        let root = &module.nodes[module.root];
        let found = root.exprs.iter().find_map(|e| match &e.kind {
            ExprKind::Const(k) => Some((k.ty.to_string(), k.text.as_deref().map(str::to_owned))),
            _ => None,
        });
        found.expect("the array")
    };
    assert_eq!(constant("num"), ("num [2]".to_owned(), Some("[1.0, -2.0]".to_owned())));
    assert_eq!(constant("int"), ("int [2]".to_owned(), Some("[1, -2]".to_owned())));
}

#[test]
fn settings_without_a_point_are_nums_where_nums_are_asked_for() {
    let text = "node main(rate, sizes, x: num [2]) -> (o, p) o = rate * x + uniform([2], 0.0, rate); p = zeros(sizes) + rate;";
    let sizes = StaticValue::Array(vec![StaticValue::Int(3)]);
    for rate in [StaticValue::Int(2), StaticValue::Num(2.0)] {
        let set = [("rate", rate), ("sizes", sizes.clone())];
        assert_eq!(outputs(&accept(text, &with(&set))), ["num [2]", "num [3]"]);
    }
}

#[test]
fn literals_are_exact() {
    let text = |i: &str| format!("node main(x: num []) -> (o) o = x + {i};");
    for exact in ["16777216", "16777218", "-33554432", "4611686018427387904", "0"] {
        accept(&text(exact), &options());
    }
    let double = Options { precision: rml_ir::Precision::F64, ..options() };
    accept(&text("16777217"), &double);
    accept(&text("9007199254740992"), &double);
}
