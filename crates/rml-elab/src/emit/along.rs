//! Calls along axes: the types of the entries of their arguments, and of their results.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::{Type, typed};

use super::Emitter;
use crate::along::{Entries, MAX_ENTRIES};
use crate::hir::{Call, ExprId};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure};

impl Emitter<'_, '_> {
    /// The type of an argument in one entry.
    pub(super) fn entry_type(
        &self,
        call: &Call,
        (child, position): (InstanceId, usize),
        ty: Type,
    ) -> Evaluated<Type> {
        let Some(axis) = self.typed.along(call, child, position) else { return Ok(ty) };
        let advised = |failure| match failure {
            Failure::Bad(d) => {
                let span = call.args.get(position).map(|arg| self.node.exprs[*arg].span);
                let d = span.into_iter().fold(*d, |d, span| d.label(span, "this argument"));
                match self.without(call, position) {
                    Some(axes) => Failure::from(d.help(format!(
                        "`_` in place of an axis passes the argument to all entries as it is: `along ({axes})`"
                    ))),
                    None => Failure::from(d),
                }
            }
            Failure::Unknown => Failure::Unknown,
        };
        let (_, _, shape) = self.typed.entry(self.id, axis, &ty.shape).map_err(advised)?;
        Ok(Type { shape, ..ty })
    }

    /// The axes of a call as text, without the axis of the argument at `position`; `None` if no other argument has an
    /// axis.
    fn without(&self, call: &Call, position: usize) -> Option<String> {
        let axes = call.clauses.along.as_ref()?.axes.iter().enumerate();
        let kept: Vec<Option<ExprId>> = axes.map(|(at, axis)| axis.filter(|_| at != position)).collect();
        kept.iter().flatten().next()?;
        let written =
            kept.into_iter().map(|axis| axis.map_or_else(|| "_".to_owned(), |axis| self.text(axis)));
        Some(written.collect::<Vec<_>>().join(", "))
    }

    /// The axes that a call runs along. Changes the types of its results to those of all entries together.
    pub(super) fn entries(
        &self,
        (expr, call): (ExprId, &Call),
        child: InstanceId,
        args: &[typed::ExprId],
        outputs: &mut [Type],
    ) -> Evaluated<Option<Entries>> {
        let (Some(along), Some(axis)) = (&call.clauses.along, self.typed.along_results(call, child)) else {
            return match call.clauses.along {
                Some(_) => Err(no_stream(self.node.exprs[expr].span).into()),
                None => Ok(None),
            };
        };
        let callee = self.typed.tree.node(child);
        let (mut axes, mut counts): (Vec<Option<usize>>, Vec<(usize, Span)>) = (Vec::new(), Vec::new());
        let formals = callee.formals.iter().enumerate();
        let streams = formals.filter(|(_, formal)| self.typed.tree.is_stream(child, **formal));
        for ((position, _), arg) in streams.zip(args) {
            let Some(axis) = self.typed.along(call, child, position) else {
                axes.push(None);
                continue;
            };
            let arg = &self.exprs[*arg];
            let (axis, count, _) = self.typed.entry(self.id, axis, &arg.ty.shape)?;
            axes.push(Some(axis));
            counts.push((count, arg.span));
        }
        let (count, span) = *counts.first().ok_or(Failure::Unknown)?;
        if let Some(other) = counts.iter().find(|(other, _)| *other != count) {
            return Err(differ((count, span), *other).into());
        }
        if count == 0 || count > MAX_ENTRIES {
            return Err(not_so_many(count, span).into());
        }
        let mut results = Vec::with_capacity(outputs.len());
        for ty in outputs {
            let (axis, stacked) = self.typed.stacked_type(self.id, (axis, count), ty)?;
            results.push(axis);
            *ty = stacked;
        }
        Ok(Some(Entries { axes, results, count, back: along.back }))
    }
}

fn error(message: String) -> Diagnostic {
    Diagnostic::error(codes::ALONG_AXIS, message)
}

/// The error that all arguments are compile-time values.
fn no_stream(span: Span) -> Diagnostic {
    error("no argument of this call has entries".to_owned())
        .label(span, "a compile-time value has no axis")
        .help("give the axis to an argument that is a stream, as in `along (_, 0)`")
}

/// The error that two arguments have different numbers of entries.
fn differ((count, at): (usize, Span), (other, span): (usize, Span)) -> Diagnostic {
    let entries = |n: usize| if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") };
    Diagnostic::error(
        codes::SHAPE_MISMATCH,
        "the arguments of a call along an axis have different numbers of entries",
    )
    .label(span, format!("{} along its axis", entries(other)))
    .label(at, format!("{} along its axis", entries(count)))
    .help("`_` in place of an axis passes the argument to all entries as it is")
}

/// The error that an axis has no entries, or too many.
fn not_so_many(count: usize, span: Span) -> Diagnostic {
    let d = error(format!("an axis of {count} entries")).label(span, "this argument");
    let d = d.note(format!(
        "expected 1 to {MAX_ENTRIES} entries: the program has the equations of the node once for each"
    ));
    match count {
        0 => d.help("call the node on a part that has entries"),
        _ => d.help("let cycles be the entries: data has an entry in each cycle, and `f(x) every end` runs window by window"),
    }
}
