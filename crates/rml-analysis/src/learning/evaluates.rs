//! Warns about a node that evaluates a training and also learns.

use rml_base::Diagnostic;
use rml_base::codes::analysis::EVALUATION_LEARNS;
use rml_ir::normal::{Callee, Eq, Rhs, Var};
use rml_ir::{Data, Value};

use super::Program;
use super::calls::Call;
use super::view::View;

/// The finding that a root which evaluates updates parameters.
pub(super) fn finding(program: &Program<'_>) -> Option<Diagnostic> {
    let module = program.module;
    if !program.updates[module.root] {
        return None;
    }
    let view = View::new(program, module.root);
    let node = view.node;
    let is_off = |arg: &Var| match view.constant(*arg).map(Value::into_data) {
        Some(Data::Bool(values)) => values.contains(&false),
        Some(Data::Int(_)) => true,
        Some(Data::F32(_) | Data::F64(_)) | None => false,
    };
    let trains = |eq: &Eq| match node.equations[*eq].rhs.call() {
        // A node of the program may have an input that says whether it learns, or how.
        Some((Callee::Node(id), args)) => program.updates[id] && !args.iter().any(is_off),
        Some((Callee::Diff { node: id, .. }, _)) => {
            program.parameters[id] && module.nodes[id].held == 0 && !view.is_off_at(*eq)
        }
        None => matches!(node.equations[*eq].rhs, Rhs::ParamUpdate { .. }),
    };
    let at = node.equations.ids().find(trains)?;
    let d = Diagnostic::warning(
        EVALUATION_LEARNS,
        format!("`{}` updates parameters, so it learns from what it is tested on", node.name),
    )
    .label(node.equations[at].span, "the parameters are updated here");
    let calls = node.equations.ids().filter(|eq| view.adjoint(*eq).is_some());
    let plain = calls.filter_map(|eq| Some(format!("`{}`", Call::of_primal(program, &view, eq)?.primal())));
    let plain: Vec<String> = plain.collect();
    let d = match &plain[..] {
        [] => d.help("call the networks themselves, without `diff_`"),
        plain => d.help(format!("write {}", plain.join(" and "))),
    };
    Some(d.help(format!(
        "if `{0}` is to learn while it runs, give it another name, and run it with `--node`",
        node.name
    )))
}
