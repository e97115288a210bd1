//! A loss that is passed to an adjoint in the place of its gradient.

use rml_base::{Diagnostic, Span};
use rml_ir::DType;

use super::Emitter;
use crate::hir::{Call, Equation, ExprId, ExprKind, Local, Order};
use crate::text;

/// The name of losses.
const LOSS: &str = "loss";

/// A loss, and the call of the adjoint that computes its gradient.
pub(super) struct Loss {
    span: Span,
    /// The call of the adjoint of the loss, and the name of the gradient in it.
    adjoint: Option<(String, String)>,
}

impl Loss {
    /// Completes the error about the shape of a gradient.
    pub(super) fn told(self, d: Diagnostic) -> Diagnostic {
        let d = d.label(self.span, "the loss").note("this is the loss itself, not its gradient");
        match self.adjoint {
            Some((call, gradient)) => d
                .help(format!("write `{call}`, and pass `{gradient}` in place of the loss"))
                .note("-0.1 is minus the learning rate"),
            None => d.help(
                "put the loss into a node `cost(..) -> (loss)`: `diff_cost(.., true, -0.1)` gives the gradient, where -0.1 is minus the learning rate",
            ),
        }
    }
}

/// The loss, if an argument of an adjoint is one or a multiple of one.
pub(super) fn of(emitter: &Emitter<'_, '_>, arg: ExprId) -> Option<Loss> {
    let node = emitter.node;
    let mut at = vec![arg];
    while let Some(expr) = at.pop() {
        let local = match node.exprs[expr].kind {
            ExprKind::Local(local) => local,
            ExprKind::Unary(_, a) => {
                at.push(a);
                continue;
            }
            ExprKind::Binary(_, a, b) => {
                at.extend([b, a]);
                continue;
            }
            _ => continue, // Other expressions are not multiples of a loss.
        };
        let is_first = |equation: &&Equation| equation.lhs.first().is_some_and(|(v, _)| *v == Some(local));
        let Some(equation) = node.equations.iter().find(is_first) else { continue };
        let call = match &node.exprs[equation.rhs].kind {
            ExprKind::Call(call) if call.order == Order::NONE => Some(&**call),
            _ => None,
        };
        let own = |call: &Call| {
            let callee = &emitter.typed.tree.program.nodes[call.callee];
            callee.outputs.first().is_some_and(|output| &**callee.name_of(*output) == LOSS)
        };
        if &**node.name_of(local) == LOSS || call.is_some_and(own) {
            let adjoint = call.and_then(|call| adjoint(emitter, (equation, call), local, arg));
            return Some(Loss { span: equation.span, adjoint });
        }
    }
    None
}

/// The text of the call of the adjoint in place of the call of the loss, and the name of the gradient for the network
/// that receives `seed`.
fn adjoint(
    emitter: &Emitter<'_, '_>,
    (equation, call): (&Equation, &Call),
    loss: Local,
    seed: ExprId,
) -> Option<(String, String)> {
    let node = emitter.node;
    let child = *emitter.typed.tree.instances[emitter.id].calls.get(&equation.rhs)?;
    let callee = emitter.typed.tree.node(child);
    let receives = |e: &&Equation| node.as_call(e.rhs).is_some_and(|call| call.args.contains(&seed));
    let network = node.equations.iter().find(receives)?;
    let is_output = |arg: ExprId| match node.exprs[arg].kind {
        ExprKind::Local(local) => network.lhs.iter().any(|(v, _)| *v == Some(local)),
        _ => false,
    };
    let mut left = vec![node.name_of(loss).to_string()];
    let mut gradient = None;
    for (formal, arg) in callee.formals.iter().zip(&call.args) {
        if !emitter.typed.tree.is_stream(child, *formal) || emitter.typed.dtype(child, *formal) != DType::Num
        {
            continue;
        }
        let name = format!("d{}", text::short(node, *arg)?);
        let is_new = is_output(*arg) && gradient.is_none();
        left.push(if is_new { name.clone() } else { "_".to_owned() });
        gradient = gradient.or_else(|| is_new.then_some(name));
    }
    let args: Option<Vec<String>> = call.args.iter().map(|arg| text::short(node, *arg)).collect();
    let text = format!("{} = diff_{}({}, true, -0.1);", left.join(", "), callee.name, args?.join(", "));
    Some((text, gradient?))
}
