//! Warns about a training that reports nothing.

use rml_base::Diagnostic;
use rml_base::codes::analysis as codes;
use rml_ir::{DType, Type};

use super::Program;
use super::seeds::LOSS;
use super::view::View;

/// The finding that the root trains and has no output that is a number.
pub(super) fn finding(program: &Program<'_>) -> Option<Diagnostic> {
    let view = View::new(program, program.module.root);
    let node = view.node;
    let is_number = |ty: &Type| ty.shape.is_scalar() && ty.dtype != DType::Bool;
    if !program.updates[program.module.root] || node.outputs.iter().any(|o| is_number(&node.vars[*o].ty)) {
        return None;
    }
    let message = format!("training `{}` reports no number: it has no scalar output", node.name);
    let d = Diagnostic::warning(codes::NO_METRIC, message);
    let name = |v| node.vars[v].name.as_deref();
    if let Some(loss) = node.outputs.iter().find(|o| name(**o) == Some(LOSS)) {
        let ty = &node.vars[*loss].ty;
        let what = if ty.shape.is_scalar() { ty.to_string() } else { format!("an array of {}s", ty.dtype) };
        let mean = if ty.is_num() { LOSS.to_owned() } else { format!("to_num({LOSS})") };
        return Some(
            d.label(view.place(*loss), format!("`{LOSS}` is {what} in each cycle"))
                .help(format!("give its mean, `mean({mean})`")),
        );
    }
    let mut scalars = node.vars.ids().filter(|v| is_number(&node.vars[*v].ty) && node.vars[*v].ty.is_num());
    Some(match scalars.find(|v| name(*v) == Some(LOSS)) {
        Some(loss) => d
            .label(view.place(loss), "the loss is computed here")
            .label(node.span, "and is no output")
            .help(format!("add `{LOSS}` to the outputs")),
        None => d
            .label(node.span, "its outputs")
            .help("add the loss to the outputs, as the mean over all elements"),
    })
}
