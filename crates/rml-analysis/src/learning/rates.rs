//! The learning rates of a program: the numbers by which it scales the gradients that train its parameters.

use rml_base::Span;
use rml_ir::normal::{Callee, Module, Rhs, Var};
use rml_ir::op::{Binary, Op, Unary};

use super::Program;
use super::seeds::LOSS;
use super::view::{View, stream};

/// The places where the learning rates of a program are written: as the gradient of a loss, as a factor of a gradient
/// that enters an adjoint with parameters, and as the rate of an optimiser of the library.
///
/// Requires: N1 to N6.
pub fn learning_rates(module: &Module, library: &dyn Fn(Span) -> bool) -> Vec<Span> {
    let program = Program::new(module, library);
    let mut found: Vec<Span> = Vec::new();
    for (id, node) in module.nodes.iter_enumerated().filter(|(_, node)| !library(node.span)) {
        let view = View::new(&program, id);
        for eq in node.equations.ids() {
            if let Some(call) = view.adjoint(eq).filter(|call| !view.is_off(call)) {
                let is_loss = |output: Var| call.node.vars[output].name.as_deref() == Some(LOSS);
                let seeds =
                    call.seeds().filter(|(output, _)| is_loss(*output) || program.parameters[call.of]);
                found.extend(seeds.filter_map(|(_, seed)| factor(&view, seed)).map(|v| view.place(v)));
            }
            let Some((Callee::Node(callee), args)) = node.equations[eq].rhs.call() else { continue };
            let optimiser = &module.nodes[callee];
            let takes = library(optimiser.span) && stream(optimiser, "do").is_some();
            let rate = stream(optimiser, "rate").filter(|_| takes).and_then(|at| args.get(at));
            found.extend(rate.filter(|rate| view.number(**rate).is_some()).map(|rate| view.place(*rate)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The constant that a gradient is equal to, or is a multiple of.
fn factor(view: &View<'_>, mut v: Var) -> Option<Var> {
    let is_number = |v: Var| view.number(v).is_some_and(|number| number != 0.0);
    for _ in 0..view.node.equations.len() {
        if is_number(v) {
            return Some(v);
        }
        v = match view.definition(v)? {
            Rhs::When { value, .. } => *value,
            Rhs::Apply {
                op: Op::Unary(Unary::Neg) | Op::Copy | Op::Broadcast { .. } | Op::Reshape { .. },
                args,
                ..
            } => *args.first()?,
            Rhs::Apply { op: Op::Binary(Binary::Div), args, .. } => *args.first()?,
            Rhs::Apply { op: Op::Binary(Binary::Mul), args, .. } => {
                let [a, b] = args[..] else { return None };
                if is_number(b) || !is_number(a) { b } else { a }
            }
            Rhs::Const(_)
            | Rhs::Apply { .. }
            | Rhs::If { .. }
            | Rhs::Merge { .. }
            | Rhs::Fby { .. }
            | Rhs::FbyBack { .. }
            | Rhs::Post { .. }
            | Rhs::Param { .. }
            | Rhs::ParamUpdate { .. }
            | Rhs::Call { .. } => return None,
        };
    }
    None
}
