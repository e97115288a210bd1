//! The text of synthesised nodes.

mod support;

use rml_autodiff::differentiate_node;
use rml_ir::normal::{Callee, NodeId, Rhs};
use rml_ir::op::Op;
use rml_ir::{DType, Type, Value, surface};
use support::{NodeBuilder, module};

#[test]
fn app() {
    let num = || Type::scalar(DType::Num);
    let mut dp = NodeBuilder::new("diff_param");
    let (init, bp, d) = (dp.input("init", num()), dp.input("bp", Type::condition()), dp.input("do", num()));
    let _ = (bp, d);
    let o = dp.var("o", num());
    dp.apply(o, Op::Copy, &[init]);
    dp.0.outputs.push(o);

    let mut dense = NodeBuilder::new("dense");
    let i = dense.input("i", num());
    let (b0, b) = (dense.var("", num()), dense.var("b", num()));
    let k = dense.constant(Value::F64(0.0));
    dense.eq(&[b0], Rhs::Const(k));
    dense.eq(&[b], Rhs::Param { init: b0 });
    let (k0, k) = (dense.var("", num()), dense.var("k", num()));
    let one = dense.constant(Value::F64(1.0));
    dense.eq(&[k0], Rhs::Const(one));
    dense.eq(&[k], Rhs::Param { init: k0 });
    let (t, o) = (dense.var("", num()), dense.var("o", num()));
    dense.apply(t, Op::Mul, &[k, i]);
    dense.apply(o, Op::Add, &[t, b]);
    dense.0.outputs.push(o);

    let mut multiply = NodeBuilder::new("multiply");
    let i = multiply.input("i", num());
    let o = multiply.var("o", num());
    multiply.apply(o, Op::Mul, &[i, i]);
    multiply.0.outputs.push(o);

    let call = |n: u32, name: &str, arg| Rhs::Call {
        callee: Callee::Node(NodeId(n)),
        args: vec![arg],
        every: None,
        instance: name.into(),
        statics: Vec::new(),
    };
    let mut app = NodeBuilder::new("app_pipe");
    let i = app.input("i", num());
    let (x, y, o) = (app.var("x", num()), app.var("y", num()), app.var("o", num()));
    app.eq(&[x], call(1, "dense_0", i));
    let init = app.num(0.0);
    app.eq(&[y], Rhs::Fby { init, next: x });
    app.eq(&[o], call(2, "multiply_0", y));
    app.0.outputs.push(o);
    let mut m = module(vec![dp.0, dense.0, multiply.0, app.0]);
    m.optimisers.insert(num(), NodeId(0));
    let made = differentiate_node(m, NodeId(3)).expect("differentiable");
    println!("{}", surface::print_nodes(&made.module, &made.synthesised, None));
}
