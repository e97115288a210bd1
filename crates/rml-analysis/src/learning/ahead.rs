//! Warns about forecasts that are compared with a value which they were given.

use indexmap::IndexSet;
use rml_base::Diagnostic;
use rml_base::codes::analysis::TARGET_IS_INPUT;
use rml_ir::normal::{Callee, Equation, NodeId, Rhs, Var};
use rml_ir::op::{Class, Op};

use super::Program;
use super::labels::pair;
use super::view::View;

/// The maximum depth of calls that are searched for delays of an input.
const DEPTH: usize = 8;

/// The findings in a node: a loss of the library compares the result of an adjoint with an input of the same call, in
/// the same cycle. This is reported if the result of the differentiated node depends on that input, and the node also
/// stores the input for later cycles.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let finding = |equation: &Equation| {
        let (compared, target) = pair(program, equation)?;
        let call = view.equation(compared).map(|eq| &view.node.equations[eq])?;
        let Rhs::Call { callee: Callee::Diff { node: id, order: 1 }, args, .. } = &call.rhs else {
            return None;
        };
        let input = args.iter().position(|arg| *arg == target)?;
        let callee = &program.module.nodes[*id];
        let own = callee.inputs().nth(input)?;
        let name = view.node.vars[target].name.as_deref()?;
        let is_known = passes(program, *id, own.var, DEPTH);
        if (program.library)(callee.span) || !is_known || !is_delayed(program, *id, own.var, DEPTH) {
            return None;
        }
        let what = format!("`{}` is given `{name}`, and compared with the same `{name}`", callee.name);
        Some(
            Diagnostic::warning(TARGET_IS_INPUT, what)
                .label(equation.span, format!("`{name}` is what is right here"))
                .label(call.span, "and is known here, in the same cycle")
                .help(format!(
                    "to predict the next value, give it the value of the cycle before, `{name} fby {name}`, in place of `{name}`"
                ))
                .help(format!(
                    "if `{name}` is to be reproduced, as by an autoencoder, say so: `stop_gradient({name})` in the loss"
                )),
        )
    };
    view.node.equations.iter().filter_map(finding).collect()
}

/// Whether a node, or a node that it calls, stores the elements of a value for later cycles.
fn is_delayed(program: &Program<'_>, id: NodeId, v: Var, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let node = &program.module.nodes[id];
    let mut carried = IndexSet::from([v]);
    let mut at = 0;
    while let Some(&v) = carried.get_index(at) {
        at += 1;
        for equation in &node.equations {
            if matches!(&equation.rhs, Rhs::Fby { next, .. } if *next == v) {
                return true;
            }
            if matches!(&equation.rhs, Rhs::Apply { op, args, .. } if args.contains(&v) && moves(op)) {
                carried.extend(&equation.lhs);
            }
            if let Some((Callee::Node(callee), args)) = equation.rhs.call() {
                let inputs = program.module.nodes[callee].inputs().zip(args);
                let mut same = inputs.filter(|(_, arg)| **arg == v);
                if same.any(|(input, _)| is_delayed(program, callee, input.var, depth)) {
                    return true;
                }
            }
        }
    }
    false
}

/// Whether an output of a node depends on a value of the same cycle.
fn passes(program: &Program<'_>, id: NodeId, v: Var, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let node = &program.module.nodes[id];
    let mut reached = IndexSet::from([v]);
    let mut at = 0;
    while let Some(&v) = reached.get_index(at) {
        at += 1;
        for equation in &node.equations {
            let mut reads = false;
            equation.rhs.for_each_operand(|operand| reads |= operand == v);
            let passes = match equation.rhs.call() {
                Some((Callee::Node(callee) | Callee::Diff { node: callee, .. }, args)) => {
                    let mut inputs = program.module.nodes[callee].inputs().zip(args);
                    inputs.any(|(input, arg)| *arg == v && passes(program, callee, input.var, depth))
                }
                None => !matches!(equation.rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. }),
            };
            if reads && passes {
                reached.extend(&equation.lhs);
            }
        }
    }
    node.outputs.iter().any(|output| reached.contains(output))
}

/// Whether the result of an operator consists of the elements of its operands.
fn moves(op: &Op) -> bool {
    matches!(op.class(), Class::Identity | Class::Layout)
}
