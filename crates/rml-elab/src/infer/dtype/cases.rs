//! Cases of enumerations, which are ints but must not be used as numbers.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};

use super::Infer;
use super::classes::{Class, Elem};
use crate::builtins::Builtin;
use crate::context;
use crate::hir::{Equation, ExprId, ExprKind, Node, SourceId};
use crate::instance::InstanceId;

/// An operand that must not be a case: its place and type, and the operation.
pub(super) struct Operand {
    at: (InstanceId, ExprId),
    found: (Class, Span),
    what: String,
}

impl Infer<'_, '_, '_> {
    /// The name of an element type in messages.
    pub(super) fn shown(&self, elem: Elem) -> String {
        match elem {
            Elem::Plain(dtype) => dtype.to_string(),
            Elem::Case(of) => self.tree.program.nodes[of].name.to_string(),
        }
    }

    /// The help if a case is combined with an expression of another type.
    pub(super) fn of_cases(&self, want: Elem, got: Elem) -> Option<String> {
        let cases = |of: SourceId| {
            let cases = self.tree.program.scopes.enums.get(&of)?;
            let names = cases.iter().take(4).map(|case| format!("`{}`", self.tree.program.nodes[*case].name));
            let more = if cases.len() > 4 { ", .." } else { "" };
            Some(format!("{}{more}", names.collect::<Vec<_>>().join(", ")))
        };
        match (want, got) {
            (Elem::Case(of), Elem::Plain(_)) | (Elem::Plain(rml_ir::DType::Bool), Elem::Case(of)) => {
                let name = self.shown(Elem::Case(of));
                Some(format!("the cases of `{name}` are {}; compare with one: `p == ..`", cases(of)?))
            }
            (Elem::Case(_), Elem::Case(_)) => None,
            (Elem::Plain(_), Elem::Case(_)) => Some(
                "`to_int(p)` is the number of a case, from 0; `match p (.. -> ..)` gives each case a value"
                    .into(),
            ),
            (Elem::Plain(_), Elem::Plain(_)) => None,
        }
    }

    /// Reports a parameter as the value of a variable that is not a num.
    pub(super) fn param_of_others(
        &mut self,
        node: &Node,
        equation: &Equation,
        target: (Class, Span),
    ) -> bool {
        let ExprKind::Builtin { which: Builtin::Param, .. } = node.exprs[equation.rhs].kind else {
            return false;
        };
        let Some((elem, declared)) = self.classes.elem(target.0) else { return false };
        let Some((Some(local), _)) = equation.lhs.first().filter(|_| elem != Elem::Plain(rml_ir::DType::Num))
        else {
            return false;
        };
        let (name, shown) = (node.name_of(*local), self.shown(elem));
        let d =
            Diagnostic::error(codes::TYPE_MISMATCH, format!("`param` holds nums, but `{name}` is {shown}"))
                .label(node.exprs[equation.rhs].span, "a parameter is learned, so it is a num")
                .label(declared, format!("{shown} because of this"))
                .note(format!("expected num, found {shown}"));
        self.broken.insert(self.at);
        let d = match name.rsplit_once('.') {
            Some((_, field)) => d.help(format!(
                "declare the field `{field}` as num, or use `param` for the other fields, each alone"
            )),
            None => d.help(format!("declare `{name}` as num, or leave `param` out")),
        };
        self.report.push(context::add(self.tree, self.at.0, Some(self.at.1), d));
        true
    }

    /// Notes that an operand must not be a case; its type may only be known later.
    pub(super) fn number(&mut self, at: (InstanceId, ExprId), operand: (Class, Span), what: &str) {
        if !self.tree.program.scopes.enums.is_empty() {
            self.numbers.push(Operand { at, found: operand, what: what.to_owned() });
        }
    }

    /// Reports the noted operands that are cases.
    pub(super) fn no_numbers(&mut self) {
        for Operand { at, found: (class, span), what } in std::mem::take(&mut self.numbers) {
            let Some((elem @ Elem::Case(_), origin)) = self.classes.elem(class) else { continue };
            if self.classes.is_lost(class) || !self.broken.insert(at) {
                continue;
            }
            let name = self.shown(elem);
            let mut d =
                Diagnostic::error(codes::TYPE_MISMATCH, format!("{what} takes numbers, found {name}"))
                    .label(span, format!("this is {name}"));
            if origin != span {
                d = d.label(origin, format!("{name} because of this"));
            }
            let d = d.note(format!("expected int or num, found {name}"));
            let d = d.help(
                "`to_int(p)` is the number of a case, from 0; `match p (.. -> ..)` gives each case a value",
            );
            self.report.push(context::add(self.tree, at.0, Some(at.1), d));
        }
    }
}

/// The construct from which a `merge` at `span` with that condition was made, if it is not a `merge` in the text.
pub(super) fn choice(node: &Node, span: Span, cond: ExprId) -> Option<&'static str> {
    let ExprKind::Local(name) = node.exprs[cond].kind else { return None };
    if node.exprs[cond].span != span {
        return None;
    }
    let of_state = node.name_of(name).contains("automaton");
    Some(if of_state { "the equations in the states" } else { "the cases of `match`" })
}

/// Whether a function only returns elements of its operands, or does not calculate with them. Then they may be cases.
pub(super) fn takes_cases(which: Builtin) -> bool {
    match which {
        Builtin::Where
        | Builtin::Concat
        | Builtin::Stack
        | Builtin::Convert(_)
        | Builtin::Gather
        | Builtin::Pick
        | Builtin::Transpose
        | Builtin::Split { .. }
        | Builtin::Reshape
        | Builtin::ExpandDims
        | Builtin::Broadcast
        | Builtin::StopGradient
        | Builtin::ZerosLike
        | Builtin::Shape => true,
        _ => false, // The result of the other functions is a number that need not be a case.
    }
}
