//! typed → normal.

use rml_ir::normal::{print, verify};
use rml_ir::op::{Binary, Op, Unary};
use rml_ir::pass::normalize;
use rml_ir::typed::{Callee, ExprKind, NodeId};
use rml_ir::{Type, Value};

use crate::support::{TypedNode, num, typed_module};

/// `node <name>(x) -> (y)  y = -x;`
fn negation(name: &str) -> TypedNode {
    let mut f = TypedNode::new(name);
    let x = f.input("x", &num());
    let y = f.output("y", &num());
    let x = f.read(x);
    let neg = f.apply(Op::Unary(Unary::Neg), vec![x], &num());
    f.equation(&[Some(y)], neg);
    f
}

/// The equations of the root, as printed, without remarks.
fn root_equations(nodes: Vec<TypedNode>) -> Vec<String> {
    let module = normalize(&typed_module(nodes));
    assert_eq!(verify(&module), Ok(()));
    let text = print(&module);
    let root = text.split("\nnode ").last().unwrap_or_default();
    let lines = root.lines().filter(|l| l.contains("  # eq"));
    lines.filter_map(|l| l.split("  # ").next()).map(|l| l.trim().to_owned()).collect()
}

#[test]
fn operands_stand_before_their_reader() {
    // o = -(1.0 fby x) + 1.0;
    let mut main = TypedNode::new("main");
    let x = main.input("x", &num());
    let o = main.output("o", &num());
    let (one, next) = (main.literal(Value::F32(1.0)), main.read(x));
    let fby = main.expr(ExprKind::Fby { init: one, next }, &num());
    let neg = main.apply(Op::Unary(Unary::Neg), vec![fby], &num());
    let one = main.literal(Value::F32(1.0));
    let sum = main.apply(Op::Binary(Binary::Add), vec![neg, one], &num());
    main.equation(&[Some(o)], sum);
    let expected = ["v3 = fby k0 v0", "v2 = apply neg (v3)", "v4 = const k1", "v1 = apply add (v2, v4)"];
    assert_eq!(root_equations(vec![main]), expected, "every literal has a constant of its own");
}

#[test]
fn initialisers_that_are_no_constants_are_streams() {
    // o = -1.0 fby x;  p = x fby back x;  c = 1.0;  q = c;
    let mut main = TypedNode::new("main");
    let x = main.input("x", &num());
    let [o, p, c, q] = ["o", "p", "c", "q"].map(|name| main.output(name, &num()));
    let one = main.literal(Value::F32(1.0));
    let init = main.apply(Op::Unary(Unary::Neg), vec![one], &num());
    let next = main.read(x);
    let fby = main.expr(ExprKind::Fby { init, next }, &num());
    main.equation(&[Some(o)], fby);
    let (init, next) = (main.read(x), main.read(x));
    let back = main.expr(ExprKind::FbyBack { init, next }, &num());
    main.equation(&[Some(p)], back);
    let one = main.literal(Value::F32(1.0));
    main.equation(&[Some(c)], one);
    let read = main.read(c);
    main.equation(&[Some(q)], read);
    let expected = [
        "v6 = const k0",
        "v5 = apply neg (v6)",
        "v1 = fby v5 v0",
        "v2 = fby_back v0 v0",
        "v3 = const k1",
        "v4 = apply copy (v3)",
    ];
    assert_eq!(root_equations(vec![main]), expected);
}

#[test]
fn instances_are_numbered_before_their_arguments() {
    // o = f(f(x));  p = g(f(x));  _ = f(x);
    let mut main = TypedNode::new("main");
    let x = main.input("x", &num());
    let (o, p) = (main.output("o", &num()), main.output("p", &num()));
    let [f, g] = [0, 1].map(|n| Callee::Node(NodeId(n)));
    for (result, outer) in [(o, f), (p, g)] {
        let arg = main.read(x);
        let inner = main.call(f, vec![arg], &num());
        let call = main.call(outer, vec![inner], &num());
        main.equation(&[Some(result)], call);
    }
    let arg = main.read(x);
    let call = main.call(f, vec![arg], &num());
    main.equation(&[None], call);
    let expected = [
        "v3 = call n0 \"f_1\" (v0)",
        "v1 = call n0 \"f_0\" (v3)",
        "v4 = call n0 \"f_2\" (v0)",
        "v2 = call n1 \"g_0\" (v4)",
        "v5 = call n0 \"f_3\" (v0)",
    ];
    assert_eq!(root_equations(vec![negation("f"), negation("g"), main]), expected);
}

#[test]
fn adjoints_are_instances_of_their_own_name() {
    // o, _, dx = diff_f(x, c, x);  _, .. = diff_diff_f(x, c, x, c, x, x);
    let mut main = TypedNode::new("main");
    let x = main.input("x", &num());
    let c = main.input("c", &Type::condition());
    let (o, dx) = (main.output("o", &num()), main.output("dx", &num()));
    let args = vec![main.read(x), main.read(c), main.read(x)];
    let diff = main.call(Callee::Diff { node: NodeId(0), order: 1 }, args, &num());
    main.equation(&[Some(o), None, Some(dx)], diff);
    let args = vec![x, c, x, c, x, x].into_iter().map(|v| main.read(v)).collect();
    let diff = main.call(Callee::Diff { node: NodeId(0), order: 2 }, args, &num());
    main.equation(&[None; 6], diff);
    let expected = [
        "v2, v4, v3 = diff n0 1 \"diff_f_0\" (v0, v1, v0)",
        "v5, v6, v7, v8, v9, v10 = diff n0 2 \"diff_diff_f_0\" (v0, v1, v0, v1, v0, v0)",
    ];
    assert_eq!(root_equations(vec![negation("f"), main]), expected);
}

/// `node diff_param(init, bp, do) -> (o)  o = init fby do;`, with a mistyped `bp` if asked for.
fn optimiser(bp: &Type) -> TypedNode {
    let mut f = TypedNode::new("diff_param");
    let init = f.input("init", &num());
    f.input("bp", bp);
    let d = f.input("do", &num());
    let o = f.output("o", &num());
    let (init, next) = (f.read(init), f.read(d));
    let fby = f.expr(ExprKind::Fby { init, next }, &num());
    f.equation(&[Some(o)], fby);
    f
}

#[test]
fn calls_of_diff_param_update_parameters() {
    for (bp, expected) in [
        (Type::condition(), "v2 = param_update v3 v1 v0 by n0 \"diff_param_0\""),
        (num(), "v2 = call n0 \"diff_param_0\" (v3, v1, v0)"),
    ] {
        let mut main = TypedNode::new("main");
        let x = main.input("x", &num());
        let c = main.input("c", &bp);
        let k = main.output("k", &num());
        let args = vec![main.literal(Value::F32(1.0)), main.read(c), main.read(x)];
        let call = main.call(Callee::Node(NodeId(0)), args, &num());
        main.equation(&[Some(k)], call);
        assert_eq!(root_equations(vec![optimiser(&bp), main]), ["v3 = const k0", expected]);
    }
}
