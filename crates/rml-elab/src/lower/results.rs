//! The number of results of equations and calls.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, EntityId, Span};

use super::node::Lower;
use crate::hir::Structure;
use crate::hir::{ExprId, ExprKind, Local, SourceId};

impl Lower<'_, '_> {
    /// Checks the number of results of an equation, and of the calls in it. All expressions from number `first` on
    /// belong to it.
    pub(super) fn results(&mut self, lhs: &[(Option<Local>, Span)], first: usize, rhs: ExprId, span: Span) {
        let at = self.exprs[rhs].span;
        match &self.exprs[rhs].kind {
            // The number of results of a node that is an argument is known only in copies.
            ExprKind::Error(_) | ExprKind::Structure(Structure::Apply(_)) => {}
            // The results of adjoints depend on types.
            ExprKind::Call(call) if call.order.times > 0 => {}
            ExprKind::Call(call) => {
                let callee = &self.headers[call.callee];
                let outputs = callee.results();
                let ignored = outputs == 0 && matches!(lhs, [(None, _)]);
                if outputs != lhs.len() && !ignored {
                    self.result_count(call.callee, lhs.len(), span, at);
                    self.spoil(rhs);
                }
            }
            _ if lhs.len() == 1 => {}
            _ => {
                self.report.push(
                    Diagnostic::error(codes::NOT_A_CALL, "only a call of a node gives several values")
                        .label(at, "this is one value")
                        .label(span, format!("{} names are defined here", lhs.len()))
                        .help("write one equation for each name"),
                );
                self.spoil(rhs);
                // A call in it may be what the names are for: its number of results is no further error.
                for (_, call) in self.several(first, rhs) {
                    self.spoil(call);
                }
            }
        }
        self.nested_calls(first, rhs);
    }

    /// Marks an expression whose error is reported; only its parts are kept.
    pub(super) fn spoil(&mut self, expr: ExprId) {
        let kind = &mut self.exprs[expr].kind;
        *kind = ExprKind::Error(kind.children());
    }

    fn result_count(&mut self, callee: SourceId, given: usize, span: Span, at: Span) {
        let callee = &self.headers[callee];
        let outputs: Vec<&str> =
            callee.ast.outputs.iter().map(|d| self.names.resolve(&d.name.name)).collect();
        let message = format!(
            "{} `{}` has {} output{}, but {given} {} expected here",
            callee.what(),
            callee.name,
            callee.results(),
            if callee.results() == 1 { "" } else { "s" },
            if given == 1 { "is" } else { "are" }
        );
        let mut d = Diagnostic::error(codes::ARITY, message)
            .label(at, "this call")
            .label(callee.ast.header_span, "its interface")
            .note(format!("its outputs are ({})", outputs.join(", ")));
        if given > callee.results() {
            let name = &callee.name;
            d = d.help(format!(
                "the adjoint also has the gradients of the inputs, after the outputs: did you mean `diff_{name}`?"
            ));
        } else if span != at {
            d = d.help("write `_` for an output that is not needed");
        }
        self.report.push(d);
    }

    /// Checks that calls that are operands return one value. All expressions from position `first` on belong to the
    /// equation with the right side `top`.
    pub(super) fn nested_calls(&mut self, first: usize, top: ExprId) {
        for (callee, expr) in self.several(first, top) {
            let span = self.exprs[expr].span;
            self.result_count(callee, 1, span, span);
            self.spoil(expr);
        }
    }

    /// The operands that are calls of nodes with no result or several.
    fn several(&self, first: usize, top: ExprId) -> Vec<(SourceId, ExprId)> {
        let exprs = self.exprs.as_slice().get(first..).unwrap_or_default().iter().zip(first..);
        let calls = exprs.filter(|(_, index)| *index != top.index()).filter_map(|(e, index)| match &e.kind {
            ExprKind::Call(call) if call.order.times == 0 => Some((call.callee, ExprId::from_index(index))),
            _ => None, // the results of adjoints depend on types
        });
        calls.filter(|(callee, _)| self.headers[*callee].results() != 1).collect()
    }
}
