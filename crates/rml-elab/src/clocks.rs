//! Declared clocks. They are checked to refer to bool variables of the interface and passed on; clocks of other
//! variables are not computed here.

use rml_base::Diagnostic;
use rml_base::codes::elab as codes;
use rml_ir::{DType, Type};

use crate::hir::Local;
use crate::instance::InstanceId;
use crate::typed::Typed;

/// The declared clock of an input or output: its condition, and the value of the condition for which the variable is
/// present.
///
/// # Errors
/// The condition is not a scalar bool stream. The error is `None` if this is the consequence of another error.
pub(crate) fn declared(
    typed: &Typed<'_>,
    id: InstanceId,
    local: Local,
) -> Result<Option<(Local, bool)>, Option<Diagnostic>> {
    let node = typed.tree.node(id);
    let data = &node.locals[local];
    let Some(clock) = data.clock else { return Ok(None) };
    let name = node.name_of(clock.cond);
    let bad = |found: String| {
        Diagnostic::error(
            codes::DECLARED_CLOCK,
            format!("the condition `{name}` of a clock must be a scalar bool"),
        )
        .label(clock.span, format!("declared as the clock of `{}`", data.name))
        .label(node.locals[clock.cond].span, format!("this is {found}"))
        .note(format!("expected bool [], found {found}"))
    };
    if !typed.tree.is_stream(id, clock.cond) {
        return Err(Some(bad("a compile-time value".to_owned())));
    }
    let dtype = typed.dtype(id, clock.cond);
    match typed.shape(id, clock.cond) {
        None => Err(None),
        Some(shape) if dtype == DType::Bool && shape.is_scalar() => Ok(Some((clock.cond, clock.positive))),
        Some(shape) => Err(Some(bad(Type { dtype, shape: shape.clone() }.to_string()))),
    }
}
