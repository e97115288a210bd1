//! Warns about dropout that is active although nothing is trained.

use rml_base::Diagnostic;
use rml_base::codes::analysis::ACTIVE_DROPOUT;
use rml_ir::normal::{Callee, Equation, Rhs};

use super::Program;
use super::view::{View, stream};

/// The node of the library, and its input that activates it.
const DROPOUT: (&str, &str) = ("dropout", "training");

/// The findings in a node of a program that trains nothing.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let module = program.module;
    let finding = |equation: &Equation| {
        let Rhs::Call { callee: Callee::Node(id), args, .. } = &equation.rhs else { return None };
        let callee = &module.nodes[*id];
        let training = stream(callee, DROPOUT.1).filter(|_| *callee.name == *DROPOUT.0)?;
        let active = view.constant(args[training]).and_then(|value| value.as_bool()) == Some(true);
        let root = &module.nodes[module.root];
        (active && (program.library)(callee.span)).then(|| {
            Diagnostic::warning(ACTIVE_DROPOUT, format!("`dropout` is active in `{}`, which trains nothing", root.name))
                .label(equation.span, "a part of these values is 0, another one in each cycle")
                .label(root.span, "its outputs are random")
                .help(format!(
                    "give `{0}` an input `training: bool []`, pass it to `dropout`, and call `{0}` with `true` in the training and `false` here",
                    view.node.name
                ))
        })
    };
    view.node.equations.iter().filter_map(finding).collect()
}
