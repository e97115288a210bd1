//! Warns about gradients that enter where none can pass.

use indexmap::IndexSet;
use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::normal::{Callee, Eq, NodeId, Rhs, Var};

use super::depends::{dependents, passes};
use super::seeds::LOSS;
use super::view::{Adjoint, View};
use super::{Program, closure};

/// The maximum number of operators to follow in the search for one without a gradient.
const DEPTH: usize = 32;

/// The findings in a node: the gradient of an adjoint enters only for outputs that do not depend differentiably on any
/// parameter or input.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let free = free(program);
    let finding = |eq| {
        let call = view.adjoint(eq).filter(|call| !view.is_off(call))?;
        if !program.parameters[call.of] && !call.gradients().any(|d| view.is_used(d)) {
            return None;
        }
        let rooted = rooted(program, &free, call.of);
        let mut entered = call.seeds().filter(|(_, seed)| view.number(*seed) != Some(0.0)).peekable();
        entered.peek()?;
        let outputs: Vec<Var> = entered.map(|(output, _)| output).collect();
        if outputs.iter().any(|output| rooted.contains(output)) {
            return None;
        }
        Some(told(program, view, eq, &call, outputs[0]))
    };
    view.node.equations.ids().filter_map(finding).collect()
}

/// Whether each node contains calls of adjoints, or of nodes whose adjoints the program defines itself, directly or in
/// nodes that it calls. It is up to the program what the outputs of such nodes pass back.
fn free(program: &Program<'_>) -> IndexVec<NodeId, bool> {
    closure(
        program.module,
        |_| false,
        |known, callee| match callee {
            Callee::Node(node) => known[node] || program.module.overrides.contains_key(&node),
            Callee::Diff { .. } => true,
        },
    )
}

/// The values that depend differentiably on parameters or inputs of a node.
fn rooted(program: &Program<'_>, free: &IndexVec<NodeId, bool>, id: NodeId) -> IndexSet<Var> {
    let view = View::new(program, id);
    let inputs = view.node.inputs().map(|input| input.var);
    let with = view.node.equations.iter().filter(|equation| match equation.rhs.call() {
        Some((Callee::Node(node), _)) => {
            program.parameters[node] || free[node] || program.module.overrides.contains_key(&node)
        }
        Some((Callee::Diff { .. }, _)) => true,
        None => matches!(equation.rhs, Rhs::Param { .. }),
    });
    let roots: Vec<Var> = inputs.chain(with.flat_map(|equation| equation.lhs.iter().copied())).collect();
    dependents(program, &view, roots)
}

fn told(program: &Program<'_>, view: &View<'_>, eq: Eq, call: &Adjoint<'_>, output: Var) -> Diagnostic {
    let name = &call.node.name;
    let shown = call.node.vars[output].name.as_deref().unwrap_or("its output");
    let d = Diagnostic::warning(
        codes::NO_UPDATE,
        format!("`diff_{name}` propagates no gradient, so nothing learns from it"),
    )
    .label(view.node.equations[eq].span, format!("a gradient enters for `{shown}`, and ends there"));
    let callee = View::new(program, call.of);
    let d = match barrier(&callee, output, DEPTH) {
        Some((op, at)) if !(program.library)(at) => d.label(at, format!("`{op}` has no gradient")),
        Some((op, _)) => d.note(format!("`{shown}` is computed by `{op}`, which has no gradient")),
        None => d.note(format!("`{shown}` depends on no parameter and on no input")),
    };
    d.help(format!(
        "let it learn from a `{LOSS}` of numbers that change smoothly, such as `cross_entropy(logits, label)` or `mse(o, y)`"
    ))
    .help(format!("a number that is only to be reported needs no adjoint: call `{name}`"))
}

/// The last operator on the path to a value that lets no gradient pass.
fn barrier(view: &View<'_>, v: Var, depth: usize) -> Option<(String, Span)> {
    let depth = depth.checked_sub(1)?;
    let at = view.equation(v)?;
    let equation = &view.node.equations[at];
    if let Rhs::Apply { op, args, .. } = &equation.rhs {
        let from_nums = args.iter().any(|arg| view.node.vars[*arg].ty.is_num());
        let stops = !passes(op) || !view.node.vars[v].ty.is_num();
        if from_nums && stops {
            return Some((op.surface()?.to_owned(), equation.span));
        }
    }
    let mut operands = Vec::new();
    equation.rhs.for_each_operand(|operand| operands.push(operand));
    operands.into_iter().find_map(|operand| barrier(view, operand, depth))
}
