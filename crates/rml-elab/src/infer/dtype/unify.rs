//! Element types that must be the same, and the errors if they are not.

use rml_base::codes::elab as codes;
use rml_base::{Code, Diagnostic, Span};
use rml_ir::DType;

use super::Infer;
use super::classes::{Class, Elem};
use crate::context;
use crate::hir::Local;
use crate::instance::InstanceId;

impl Infer<'_, '_, '_> {
    /// Unifies two classes that must have one element type, and returns their class. If they differ, `found` is
    /// reported.
    pub(super) fn unify(&mut self, expected: (Class, Span), found: (Class, Span), what: &str) -> Class {
        self.unify_or(expected, found, what, &|_, _| None)
    }

    /// Unifies two classes as [`unify`](Self::unify) does. For types that differ, `help` may return a better help than
    /// the usual one.
    pub(super) fn unify_or(
        &mut self,
        expected: (Class, Span),
        found: (Class, Span),
        what: &str,
        help: &dyn Fn(DType, DType) -> Option<String>,
    ) -> Class {
        if self.classes.is_lost(expected.0) || self.classes.is_lost(found.0) {
            return self.classes.error();
        }
        if let Err([want, got]) = self.classes.union(expected.0, found.0) {
            let mut d = Diagnostic::error(
                codes::TYPE_MISMATCH,
                format!("{what}: expected {}, found {}", self.shown(want.0), self.shown(got.0)),
            )
            .label(found.1, format!("this is {}", self.shown(got.0)));
            if expected.1 != found.1 {
                d = d.label(expected.1, format!("this is {}", self.shown(want.0)));
            }
            let help = match (want.0, got.0) {
                (Elem::Plain(want), Elem::Plain(got)) => help(want, got),
                (Elem::Case(_), _) | (_, Elem::Case(_)) => None,
            };
            self.blame(d, want, got, &[expected.1, found.1], help);
            return self.classes.error();
        }
        expected.0
    }

    /// Gives a name the element type of its definition. If the definition is in error, the name is in error too, unless
    /// its type is known.
    pub(super) fn define(&mut self, target: (Class, Span), value: (Class, Span), what: &str) {
        if self.classes.is_lost(value.0) {
            self.classes.lose_unknown(target.0);
        } else {
            self.unify(target, value, what);
        }
    }

    /// Requires an element type.
    pub(super) fn expect(&mut self, dtype: DType, found: (Class, Span), code: Code, what: &str) {
        self.expect_or(dtype, found, code, what, None);
    }

    /// Requires an element type, with a separate help for the error.
    pub(super) fn expect_or(
        &mut self,
        dtype: DType,
        found: (Class, Span),
        code: Code,
        what: &str,
        help: Option<String>,
    ) {
        let literal = self.classes.is_literal(found.0) && dtype == DType::Bool;
        let want = Elem::Plain(dtype);
        match self.classes.elem(found.0).or_else(|| literal.then_some((Elem::INT, found.1))) {
            _ if self.classes.is_lost(found.0) => {}
            None => self.classes.set(found.0, dtype, found.1),
            Some(got) if got.0 != want => {
                let shown = self.shown(got.0);
                let d = Diagnostic::error(code, format!("{what} takes {dtype}, found {shown}"))
                    .label(found.1, format!("this is {shown}"));
                self.blame(d, (want, found.1), got, &[found.1], help);
            }
            Some(_) => {}
        }
    }

    pub(super) fn blame(
        &mut self,
        mut d: Diagnostic,
        want: (Elem, Span),
        got: (Elem, Span),
        shown: &[Span],
        help: Option<String>,
    ) {
        for (elem, origin) in [got, want] {
            if !shown.contains(&origin) && d.labels.iter().all(|l| l.span != origin) {
                d = d.label(origin, format!("{} because of this", self.shown(elem)));
            }
        }
        d = d.note(format!("expected {}, found {}", self.shown(want.0), self.shown(got.0)));
        let input = if help.is_none() { self.input_declared(got.1) } else { None };
        if let Some((input, axes)) = &input {
            if want.0 == Elem::INT && *axes > 1 {
                d = d.help(format!(
                    "if it has one entry for each class, write `argmax({input}, -1)` for `{input}`"
                ));
            }
            // A case is not a number in the data.
            if let Elem::Plain(_) = got.0 {
                let want = self.shown(want.0);
                d = d.help(format!("if the data has it as {want}, declare the input `{input}` as {want}"));
            }
        }
        d = match (want.0.dtype(), got.0.dtype()) {
            _ if let Some(help) = help => d.help(help),
            _ if let Some(help) = self.of_cases(want.0, got.0) => d.help(help),
            (DType::Num, DType::Int) => {
                d.help("`to_num(x)` converts an int; of ints only literals are nums as well")
            }
            (DType::Int, DType::Num) => {
                d.help(match input {
                    Some((ref input, _)) => format!("or convert it: `to_int({input})`"),
                    None if let Some(help) = self.formal_declared(got.1) => help,
                    None => "an int literal has no point: `1`; `to_int(x)` converts a num; the class with the highest score is `argmax(scores, -1)`".to_owned(),
                })
            }
            (DType::Bool, DType::Int) if let Some((input, _)) = &input => {
                d.help(format!("or compare it: `{input} == 1`, where 1 stands for true"))
            }
            (DType::Bool, DType::Num) if let Some((input, _)) = &input => {
                d.help(format!("or compare it: `{input} > 0.5`, where 1.0 stands for true"))
            }
            (DType::Bool, _) => d.help("compare to get a bool: `x > 0.0`, or convert with `to_bool(x)`"),
            (_, DType::Bool) => d.help("`to_num(x)` and `to_int(x)` convert a bool"),
            _ => d,
        };
        self.broken.insert(self.at);
        // A wrong declaration of an input is reported once, however often the input is read.
        if input.is_some() && self.blamed.contains(&(got.1, want.0)) {
            return;
        }
        self.blamed.push((got.1, want.0));
        self.report.push(context::add(self.tree, self.at.0, Some(self.at.1), d));
    }

    /// The type to declare, if the type at `at` comes from an input of a called node.
    fn formal_declared(&self, at: Span) -> Option<String> {
        let node = self.tree.node(self.at.0);
        if self.tree.program.scopes.is_library(node.file) {
            return None;
        }
        let declared = |formal: &&Local| node.locals[**formal].types.iter().any(|ty| ty.span == at);
        let input = node.name_of(*node.formals.iter().find(declared)?);
        Some(format!(
            "if `{input}` holds numbers of classes or entries, declare the input `{input}` of `{}` as int, and what it is given; `to_int({input})` converts a num",
            node.name
        ))
    }

    /// The input of the root whose type is written at that place, and the number of axes in that type.
    fn input_declared(&self, at: Span) -> Option<(String, usize)> {
        let root = InstanceId(0);
        let node = self.tree.node(root);
        let mut inputs = node.formals.iter().filter(|_| self.at.0 == root);
        let declared = |formal: &&Local| node.locals[**formal].types.iter().any(|ty| ty.span == at);
        let input = inputs.find(declared)?;
        let axes = node.locals[*input].types.iter().map(|ty| ty.dims.len()).max().unwrap_or(0);
        Some((node.name_of(*input).to_string(), axes))
    }
}
