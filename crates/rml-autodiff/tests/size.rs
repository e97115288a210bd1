//! Large nodes take time proportional to their size.

mod support;

use std::time::Duration;

use rml_autodiff::differentiate_node;
use rml_ir::normal::{NodeId, Rhs};
use rml_ir::op::{Binary, Op, Unary};
use rml_ir::{DType, Type, surface};
use support::{NodeBuilder, module};

/// The processor time of this thread, if the system provides it; it does not include the work of other programs.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(told.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// Checks the time; quadratic work would take minutes.
#[track_caller]
fn within(start: Duration) {
    let took = processor_time() - start;
    assert!(took.as_secs() < 30, "{took:?}");
}

#[test]
fn long_chains_and_many_branches() {
    let num = || Type::scalar(DType::Num);
    for branches in [false, true] {
        let mut f = NodeBuilder::new("f");
        let (mut x, c) = (f.input("x", num()), f.input("c", Type::condition()));
        let first = x;
        for i in 0..3000 {
            let name = if i % 7 == 0 { String::new() } else { format!("x{i}") };
            let v = f.var(&name, num());
            match i % 3 {
                0 => f.apply(v, Op::Unary(Unary::Tanh), &[x]),
                1 if branches => f.eq(&[v], Rhs::If { cond: c, then: x, other: first }),
                _ => f.apply(v, Op::Binary(Binary::Mul), &[x, first]),
            }
            x = v;
        }
        f.0.outputs.push(x);
        let start = processor_time();
        let made = differentiate_node(module(vec![f.0]), NodeId(0)).unwrap_or_else(|e| panic!("{e}"));
        let text = surface::print_node(&made.module, made.adjoint);
        assert!(text.len() > 1000);
        within(start);
    }
}

#[test]
fn equations_against_the_flow() {
    let num = || Type::scalar(DType::Num);
    let mut f = NodeBuilder::new("f");
    let mut vars = vec![f.input("x", num())];
    vars.extend((0..8000).map(|_| f.var("", num())));
    for pair in vars.windows(2).rev() {
        f.apply(pair[1], Op::Unary(Unary::Tanh), &[pair[0]]);
    }
    f.0.outputs.extend(vars.last());
    let start = processor_time();
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).unwrap_or_else(|e| panic!("{e}"));
    assert!(made.module.nodes[made.adjoint].equations.len() > 16_000);
    within(start);
}

#[test]
fn delays_and_branches_with_one_common_operand() {
    let num = || Type::scalar(DType::Num);
    let mut f = NodeBuilder::new("f");
    let (first, c) = (f.input("x", num()), f.input("c", Type::condition()));
    let (mut x, mut y) = (first, first);
    for i in 0..1_500 {
        let mut var =
            |part: &str| f.var(&if i % 2 == 0 { format!("{part}{i}") } else { String::new() }, num());
        let (a, b, d, e) = (var("a"), var("b"), var("d"), var("e"));
        let init = f.num(0.0);
        f.apply(a, Op::Binary(Binary::Mul), &[x, y]);
        f.apply(b, Op::Unary(Unary::Tanh), &[a]);
        f.eq(&[d], Rhs::If { cond: c, then: b, other: first });
        f.eq(&[e], if i % 4 == 0 { Rhs::Fby { init, next: d } } else { Rhs::Post { next: d } });
        (x, y) = (e, a);
    }
    f.0.outputs.push(x);
    let start = processor_time();
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).unwrap_or_else(|e| panic!("{e}"));
    assert!(made.module.nodes[made.adjoint].equations.len() > 12_000);
    within(start);
}

/// Each variable is used twice: directly, and through a variable that comes later in the table.
#[test]
fn a_chain_of_variables_that_are_used_twice() {
    let num = || Type::scalar(DType::Num);
    let mut f = NodeBuilder::new("f");
    let mut chain = vec![f.input("x", num())];
    chain.extend((0..12_000).map(|i| f.var(&format!("x{i}"), num())));
    for pair in chain.windows(2) {
        let half = f.var("", num());
        f.apply(half, Op::Unary(Unary::Tanh), &[pair[0]]);
        f.apply(pair[1], Op::Binary(Binary::Mul), &[half, pair[0]]);
    }
    f.0.outputs.extend(chain.last());
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).unwrap_or_else(|e| panic!("{e}"));
    assert!(made.module.nodes[made.adjoint].equations.len() > 48_000);
}
