//! Quotients: `7 / 2` is 3 for ints and 3.5 for nums, so a literal must not become a num unnoticed.
//!
//! If only literals determine the operands of a quotient, it is a quotient of ints, whatever expressions it is combined
//! with. Therefore types do not flow from a quotient to its operands until all other types are known.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::DType;

use super::{Class, Infer};
use crate::context;
use crate::hir::ExprId;
use crate::instance::InstanceId;

/// A quotient whose operands had no known type when it was visited.
pub(super) struct Quotient {
    at: (InstanceId, ExprId),
    span: Span,
    operands: Class,
    result: Class,
}

impl Infer<'_, '_, '_> {
    /// The class of a quotient whose operands are in the class `operands`.
    pub(super) fn quotient(&mut self, operands: Class, span: Span) -> Class {
        if !self.classes.is_literal(operands) {
            return operands;
        }
        let result = self.classes.literal(span);
        self.quotients.push(Quotient { at: self.at, span, operands, result });
        result
    }

    /// Connects the quotients and the gradients, in the order in which their types become known.
    pub(super) fn connect(&mut self) {
        loop {
            let is_known = |infer: &mut Self, q: &Quotient| !infer.classes.is_literal(q.operands);
            // If an input about which nothing is known is divided, the quotient determines its type.
            let is_open = |infer: &mut Self, q: &Quotient| infer.classes.is_open(q.operands);
            let connected = self.quotients_where(is_known)
                || self.adjoints_known()
                || self.quotients_where(is_open)
                || self.adjoint_by_default()
                || self.quotients_where(|_, _| true);
            if !connected {
                return;
            }
        }
    }

    /// Connects all quotients that `chosen` selects. Returns whether there were any.
    fn quotients_where(&mut self, chosen: impl Fn(&mut Self, &Quotient) -> bool) -> bool {
        let mut left = std::mem::take(&mut self.quotients);
        let found: Vec<Quotient> = left.extract_if(.., |q| chosen(self, q)).collect();
        self.quotients = left;
        for quotient in &found {
            if self.classes.is_literal(quotient.operands) && !self.classes.is_open(quotient.operands) {
                self.classes.set(quotient.operands, DType::Int, quotient.span);
            }
        }
        for quotient in &found {
            self.resolve(quotient);
        }
        !found.is_empty()
    }

    fn resolve(&mut self, quotient: &Quotient) {
        if self.classes.is_lost(quotient.operands) {
            return self.classes.lose_unknown(quotient.result);
        }
        let Err([got, want]) = self.classes.union(quotient.operands, quotient.result) else { return };
        let (wanted, found) = (self.shown(want.0), self.shown(got.0));
        let mut d =
            Diagnostic::error(codes::TYPE_MISMATCH, format!("this quotient is {found}, expected {wanted}"))
                .label(quotient.span, "of literals without a point this is the quotient of ints");
        if want.1 != quotient.span {
            d = d.label(want.1, format!("{wanted} because of this"));
        }
        d = d
            .note(format!("expected {wanted}, found {found}"))
            .help("write one of them with a point for the quotient of nums: `1.0 / 2` is 0.5, `1 / 2` is 0");
        self.broken.insert(quotient.at);
        self.report.push(context::add(self.tree, quotient.at.0, Some(quotient.at.1), d));
    }
}
