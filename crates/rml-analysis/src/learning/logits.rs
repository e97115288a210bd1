//! Losses of the library that are given probabilities instead of logits.

use rml_base::codes::analysis::NOT_LOGITS;
use rml_base::{Diagnostic, Span};
use rml_ir::normal::{Callee, Rhs, Var};
use rml_ir::op::{Op, Unary};

use super::Program;
use super::seeds::LOSS;
use super::view::{View, stream};

/// The input of a loss that takes the softmax or the sigmoid itself.
const LOGITS: &str = "logits";
/// How deep the operator that gives an argument is searched for.
const DEPTH: usize = 32;

/// The findings in a node.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let finding = |equation: &rml_ir::normal::Equation| {
        let Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, .. }, args, .. } = &equation.rhs
        else {
            return None;
        };
        let callee = &program.module.nodes[*id];
        let is_loss = callee.outputs.iter().any(|o| callee.vars[*o].name.as_deref() == Some(LOSS));
        let arg = args[stream(callee, LOGITS).filter(|_| is_loss && (program.library)(callee.span))?];
        let (op, at) = made_by(program, view, arg, DEPTH)?;
        let what = format!("`{}` takes logits, and gets the {op} of them", callee.name);
        Some(
            Diagnostic::warning(NOT_LOGITS, what)
                .label(equation.span, format!("`{}` takes the {op} itself", callee.name))
                .label(at, format!("here the {op} is taken before"))
                .help(format!("leave this `{op}` out, and take it where the program gives its predictions"))
                .note(format!(
                    "the {op} of a {op} is nearly the same for all classes, so the loss hardly falls"
                )),
        )
    };
    view.node.equations.iter().filter_map(finding).collect()
}

/// The softmax or sigmoid that a variable is, and where it is written.
fn made_by(program: &Program<'_>, view: &View<'_>, v: Var, depth: usize) -> Option<(&'static str, Span)> {
    let depth = depth.checked_sub(1)?;
    let equation = view.node.equations.iter().find(|e| e.lhs.contains(&v))?;
    match &equation.rhs {
        Rhs::Apply { op: Op::Softmax, .. } => Some(("softmax", equation.span)),
        Rhs::Apply { op: Op::Unary(Unary::Sigmoid), .. } => Some(("sigmoid", equation.span)),
        Rhs::When { value, .. } => made_by(program, view, *value, depth),
        Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, order: 1 }, .. } => {
            let callee = View::new(program, *id);
            let output = callee.node.outputs.get(equation.lhs.iter().position(|l| *l == v)?)?;
            made_by(program, &callee, *output, depth)
        }
        _ => None,
    }
}
