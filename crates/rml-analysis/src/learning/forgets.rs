//! Warns about an optimiser that computes each value of a parameter without the previous one.

use rml_base::Diagnostic;
use rml_base::codes::analysis as codes;
use rml_ir::normal::Rhs;
use rml_ir::op::Op;

use super::Program;
use super::depends::sources;
use super::view::View;

/// The finding that the next value of a parameter does not depend on its present value in the program's own optimiser.
pub(super) fn finding(program: &Program<'_>) -> Option<Diagnostic> {
    let id = *program.module.optimisers.values().next()?;
    let view = View::new(program, id);
    let node = view.node;
    if (program.library)(node.span) {
        return None;
    }
    let output = *node.outputs.first()?;
    let mut holder = output;
    while let Some(Rhs::Apply { op: Op::Copy, args, .. }) = view.definition(holder) {
        holder = *args.first()?;
    }
    let Rhs::Fby { next, .. } = view.definition(holder)? else { return None };
    let sources = sources(&view, *next, view.equation(holder)?);
    if sources.contains(&output) || sources.contains(&holder) {
        return None;
    }
    let name = |v: Option<_>| v.and_then(|v| node.vars[v].name.as_deref()).unwrap_or("_");
    let (parameter, updated) = (name(Some(output)), name(Some(*next)));
    let mut inputs = node.inputs().map(|input| name(Some(input.var))).skip(1);
    let (bp, gradient) = (inputs.next()?, inputs.next()?);
    Some(
        Diagnostic::warning(
            codes::NO_UPDATE,
            format!("`{}` keeps no update: no value of a parameter depends on the one before", node.name),
        )
        .label(view.place(*next), format!("this does not depend on `{parameter}`, the value so far"))
        .help(format!(
            "add the update to `{parameter}`: `{updated} = {parameter} + merge {bp} (0.1 * {gradient}) 0.0;`"
        )),
    )
}
