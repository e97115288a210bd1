//! `f(x) along 0` in a copy: one axis for each argument.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};

use super::copy::Copy;
use crate::hir::{Along, Clauses, ExprId, Order};

impl Copy<'_, '_> {
    /// The axes that a call runs along, in terms of the copy.
    pub(super) fn along(&mut self, axes: Vec<Option<ExprId>>, back: bool) -> Along {
        let mut last: Option<(ExprId, ExprId)> = None;
        let axes = axes.into_iter().map(|axis| {
            let axis = axis?;
            let made = match last {
                Some((of, made)) if of == axis => made,
                Some(_) | None => self.expr(axis),
            };
            last = Some((axis, made));
            Some(made)
        });
        Along { axes: axes.collect(), back }
    }
}

/// The given clauses, with one axis for each of `args` arguments.
pub(super) fn each(clauses: &Clauses, args: usize) -> Clauses {
    let mut clauses = clauses.clone();
    if let Some(along) = &mut clauses.along
        && let [axis] = along.axes[..]
    {
        along.axes = vec![axis; args];
    }
    clauses
}

/// Adds the arguments that were given together with a node. They are static, so all entries use them as a whole.
pub(super) fn filled(along: &mut Along, open: impl Iterator<Item = bool>) {
    let mut rest = std::mem::take(&mut along.axes).into_iter();
    along.axes = open.map(|open| if open { rest.next().flatten() } else { None }).collect();
    along.axes.extend(rest);
}

/// The error that a call cannot run along an axis.
pub(super) fn misused(name: &str, clauses: &Clauses, order: Order, span: Span) -> Option<Diagnostic> {
    clauses.along.as_ref()?;
    let error = |message: String| Diagnostic::error(codes::ALONG_AXIS, message).label(span, "this call");
    if order.times > 0 {
        let prefix = order.prefix();
        let message = format!("the adjoint `{prefix}{name}` does not run along an axis");
        let help = format!("put `{name}(..) along ..` into a node `g`, and call `{prefix}g`");
        return Some(error(message).help(help));
    }
    let word = match (clauses.every, clauses.restart) {
        (Some(_), _) => "every",
        (None, Some(_)) => "restart",
        (None, None) => return None,
    };
    let d = error(format!("a call along an axis has no `{word}`"));
    let d = d.note("its delays start in each cycle, at the first entry of the axis");
    Some(d.help(format!("put `{name}(..) along ..` into a node `g`, and write `g(..) {word} c`")))
}
