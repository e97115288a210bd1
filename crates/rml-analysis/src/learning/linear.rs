//! Warns about two layers without a nonlinear function between them.

use rml_base::Diagnostic;
use rml_base::codes::analysis::LINEAR_LAYERS;
use rml_ir::normal::{Callee, Equation, Rhs, Var};
use rml_ir::op::Op;

use super::Program;
use super::view::{View, stream};

/// The layer of the library that is linear in its input, apart from a bias.
const LAYER: &str = "dense";
/// The name of its input.
const INPUT: &str = "x";
/// The maximum depth of the search for the previous layer.
const DEPTH: usize = 8;

/// The findings in a node.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let finding = |equation: &Equation| {
        let input = layer(program, &equation.rhs)?;
        let first = before(program, view, input, DEPTH)?;
        let of = layer(program, &first.rhs)?;
        let size = |v: Var| view.node.vars[v].ty.shape.dims().last().copied().unwrap_or(1);
        // A narrow layer between two wide ones makes a product of low rank, which a single layer is not.
        let (outer, inner) = (equation.lhs.first()?, first.lhs.first()?);
        if size(*inner) < size(of).min(size(*outer)) {
            return None;
        }
        let what = "two layers follow each other without a nonlinear function, so they compute what one does";
        let help = match view.node.vars[input].name.as_deref() {
            Some(name) => format!("write `relu({name})` for `{name}` here"),
            None => {
                "put a nonlinear function around the first one: `dense(2, relu(dense(16, x)))`".to_owned()
            }
        };
        Some(
            Diagnostic::warning(LINEAR_LAYERS, what)
                .label(equation.span, "the second layer")
                .label(first.span, "the first one")
                .help(help),
        )
    };
    view.node.equations.iter().filter_map(finding).collect()
}

/// The input of a call of a layer.
fn layer(program: &Program<'_>, rhs: &Rhs) -> Option<Var> {
    let Rhs::Call { callee: Callee::Node(id), args, .. } = rhs else { return None };
    let callee = &program.module.nodes[*id];
    let input = stream(callee, INPUT).filter(|_| *callee.name == *LAYER && (program.library)(callee.span))?;
    args.get(input).copied()
}

/// The layer that computes a value, apart from changes of clock and shape.
fn before<'m>(program: &Program<'_>, view: &View<'m>, v: Var, depth: usize) -> Option<&'m Equation> {
    let depth = depth.checked_sub(1)?;
    let equation = &view.node.equations[view.equation(v)?];
    match &equation.rhs {
        Rhs::Call { .. } => layer(program, &equation.rhs).map(|_| equation),
        Rhs::When { value, .. } => before(program, view, *value, depth),
        Rhs::Apply { op: Op::Copy | Op::Reshape { .. }, args, .. } => {
            before(program, view, *args.first()?, depth)
        }
        Rhs::Const(_) | Rhs::Apply { .. } | Rhs::Merge { .. } | Rhs::If { .. } => None,
        Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => None,
        Rhs::Param { .. } | Rhs::ParamUpdate { .. } => None,
    }
}
