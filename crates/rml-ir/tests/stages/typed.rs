//! The typed stage: text form and invariants.

use rml_ir::op::{Binary, Op};
use rml_ir::typed::{Callee, ExprId, ExprKind, Module, NodeId, Var, print, verify};
use rml_ir::{DType, Type, Value};

use crate::support::{TypedNode, assert_only, num, typed_module};

/// `node f(x) -> (y)  y = 1.0 fby x + x;  node main(c, x) -> (o)  o = f(x) when c;  _ = diff_f(x, c, x);`
fn sample() -> Module {
    let mut f = TypedNode::new("f");
    let x = f.input("x", &num());
    let y = f.output("y", &num());
    let one = f.literal(Value::F32(1.0));
    let (a, b) = (f.read(x), f.read(x));
    let sum = f.apply(Op::Binary(Binary::Add), vec![a, b], &num());
    let fby = f.expr(ExprKind::Fby { init: one, next: sum }, &num());
    f.equation(&[Some(y)], fby);

    let mut main = TypedNode::new("main");
    let c = main.input("c", &Type::condition());
    let x = main.input("x", &num());
    let o = main.output("o", &num());
    let arg = main.read(x);
    let value = main.call(Callee::Node(NodeId(0)), vec![arg], &num());
    let cond = main.read(c);
    let when = main.expr(ExprKind::When { value, cond }, &num());
    main.equation(&[Some(o)], when);
    let args = vec![main.read(x), main.read(c), main.read(x)];
    let diff = main.call(Callee::Diff { node: NodeId(0), order: 1 }, args, &num());
    main.equation(&[None, None, None], diff);
    typed_module(vec![f, main])
}

#[test]
fn prints_nested_expressions() {
    let module = sample();
    assert_eq!(verify(&module), Ok(()));
    let text = print(&module);
    for line in [
        "typed f32 root n1",
        "  v1 = fby(1.0, add(v0, v0))  # y",
        "  v2 = when(call n0(v1), v0)  # o",
        "  _, _, _ = call diff n0^1(v1, v0, v1)",
    ] {
        assert!(text.lines().any(|l| l == line), "`{line}` is not in\n{text}");
    }
}

#[track_caller]
fn broken(rule: &str, change: impl FnOnce(&mut Module)) {
    let mut module = sample();
    change(&mut module);
    assert_only(verify(&module), rule);
}

#[test]
fn t1_single_definition() {
    broken("T1", |m| m.nodes[NodeId(0)].equations[0].lhs[0] = Some(Var(0)));
    broken("T1", |m| m.nodes[NodeId(0)].outputs[0] = Var(9));
}

#[test]
fn t2_types_of_expressions() {
    broken("T2", |m| m.nodes[NodeId(0)].exprs[ExprId(0)].ty = Type::new(DType::Num, &[2]));
    broken("T2", |m| {
        let one = &mut m.nodes[NodeId(0)].exprs[ExprId(0)];
        if let ExprKind::Const(c) = &mut one.kind {
            c.ty = Type::scalar(DType::Int);
        }
    });
    broken("T2", |m| m.nodes[NodeId(0)].equations[0].lhs.push(None));
}

#[test]
fn t3_conditions_are_bool() {
    broken("T3", |m| {
        if let ExprKind::When { cond, .. } = &m.nodes[NodeId(1)].exprs[ExprId(3)].kind {
            let cond = *cond;
            m.nodes[NodeId(1)].exprs[cond].kind = ExprKind::Var(Var(1));
            m.nodes[NodeId(1)].exprs[cond].ty = num();
        }
    });
}

#[test]
fn t4_calls_fit_their_callee() {
    broken("T4", |m| {
        let call = m.nodes[NodeId(1)].equations[1].rhs;
        if let ExprKind::Call { callee, .. } = &mut m.nodes[NodeId(1)].exprs[call].kind {
            *callee = Callee::Diff { node: NodeId(0), order: 2 };
        }
    });
    broken("T4", |m| m.nodes[NodeId(1)].equations[1].lhs.truncate(2));
    broken("T4", |m| m.root = NodeId(5));
}

#[test]
fn t5_callees_stand_before_callers() {
    let mut module = sample();
    let call = module.nodes[NodeId(1)].equations[1].rhs;
    if let ExprKind::Call { callee, .. } = &mut module.nodes[NodeId(1)].exprs[call].kind {
        *callee = Callee::Node(NodeId(1));
    }
    let found = verify(&module).expect_err("main calls itself");
    assert!(found.iter().any(|l| l.starts_with("T5: ")), "{found:?}");
}

#[test]
fn t6_expressions_form_a_tree() {
    broken("T6", |m| {
        if let ExprKind::Apply { args, .. } = &mut m.nodes[NodeId(0)].exprs[ExprId(3)].kind {
            args[1] = args[0];
        }
    });
    broken("T6", |m| m.nodes[NodeId(0)].equations[0].rhs = ExprId(99));
}
