//! Element types, by unification over the whole tree of instances. There are no implicit conversions, so expressions
//! that are combined have the same element type. Types that nothing determines are num.
//!
//! A literal without a point is an int or a num, depending on its context; it is an int if the context does not decide
//! (TYPE-7). Only for a quotient does the choice change the value: a quotient that only involves literals is the
//! quotient of ints ([`quotient`]).

mod builtin;
mod call;
mod cases;
mod classes;
mod exchanged;
mod habits;
mod quotient;
mod unify;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::DType;
use rml_syntax::ast::{BinaryOp, Literal, UnaryOp};

use self::classes::{Class, Classes, Elem};
use self::quotient::Quotient;
use super::adjoint::Adjoint;
use crate::builtins;
use crate::hir::{ExprId, ExprKind, Index, Item, Local, LocalKind, SourceId};
use crate::instance::{Given, InstanceId, RootGiven, Tree};
use crate::report::Report;

/// The results of inference.
pub(super) struct DTypes {
    pub(super) of: Vec<DType>,
    /// The variables whose type is an enumeration, with the enumeration.
    pub(super) enumerations: IndexMap<usize, SourceId>,
    /// Variables in error.
    pub(super) lost: Vec<bool>,
    pub(super) adjoints: IndexMap<(InstanceId, ExprId), Adjoint>,
    pub(super) broken: IndexSet<(InstanceId, ExprId)>,
    /// Literals without a point that became nums.
    pub(super) nums: IndexSet<(InstanceId, ExprId)>,
}

struct Infer<'t, 'p, 'r> {
    tree: &'t Tree<'p>,
    report: &'r mut Report,
    classes: Classes,
    /// Literals without a point.
    literals: Vec<((InstanceId, ExprId), Class)>,
    /// Operands that must not be cases of an enumeration, with the operation.
    numbers: Vec<cases::Operand>,
    /// Quotients whose operands had no known type when they were visited.
    quotients: Vec<Quotient>,
    /// Calls of adjoints whose gradients are not connected yet.
    pending: Vec<Pending>,
    adjoints: IndexMap<(InstanceId, ExprId), Adjoint>,
    broken: IndexSet<(InstanceId, ExprId)>,
    /// The declarations of inputs that have been reported as wrong, with the types that are needed.
    blamed: Vec<(Span, Elem)>,
    /// The current expression.
    at: (InstanceId, ExprId),
}

struct Pending {
    id: InstanceId,
    call: ExprId,
    /// The left sides and their places; for a call that is an operand, one left side without a name.
    results: Vec<(Class, Span)>,
    /// The classes of the stream arguments from `bp` on.
    extra: Vec<(Class, Span)>,
    /// Whether an argument for an input of the node seems to be missing.
    shifted: bool,
}

/// Infers the element types of all variables.
pub(super) fn infer(tree: &Tree<'_>, report: &mut Report) -> DTypes {
    let mut infer = Infer {
        tree,
        report,
        classes: Classes::new(tree.slots),
        literals: Vec::new(),
        numbers: Vec::new(),
        quotients: Vec::new(),
        pending: Vec::new(),
        adjoints: IndexMap::new(),
        broken: IndexSet::new(),
        blamed: Vec::new(),
        at: (InstanceId(0), ExprId(0)),
    };
    for id in tree.instances.ids() {
        infer.declared(id);
    }
    for id in tree.instances.ids() {
        infer.actuals(id);
        infer.equations(id);
    }
    infer.connect();
    infer.no_numbers();
    let classes = &mut infer.classes;
    let of = (0..tree.slots).map(|slot| classes.settled(slot)).collect();
    let lost = (0..tree.slots).map(|slot| classes.is_lost(slot)).collect();
    let case = |slot| match classes.elem(slot) {
        Some((Elem::Case(of), _)) => Some((slot, of)),
        Some((Elem::Plain(_), _)) | None => None,
    };
    let enumerations = (0..tree.slots).filter_map(case).collect();
    let nums = infer.literals.into_iter().filter(|(_, class)| classes.settled(*class) == DType::Num);
    let nums = nums.map(|(at, _)| at).collect();
    DTypes { of, enumerations, lost, adjoints: infer.adjoints, broken: infer.broken, nums }
}

impl Infer<'_, '_, '_> {
    fn slot(&self, id: InstanceId, local: Local) -> Class {
        self.tree.slot(id, local)
    }

    /// Applies the types written in the source.
    fn declared(&mut self, id: InstanceId) {
        let node = self.tree.node(id);
        for (local, data) in node.locals.iter_enumerated() {
            let slot = self.slot(id, local);
            if data.kind == LocalKind::Undefined && data.types.is_empty() {
                self.classes.lose(slot);
            }
            if let Some((element, span)) = data.element
                && let Some(found) = Elem::declared(element)
            {
                self.classes.set_elem(slot, found, span);
            }
            for ty in &data.types {
                let Some(found) = Elem::declared(ty.element) else { continue };
                match self.classes.elem(slot) {
                    None => self.classes.set_elem(slot, found, ty.span),
                    Some((first, span)) if first != found => self.report.push(
                        Diagnostic::error(
                            codes::TYPE_MISMATCH,
                            format!(
                                "`{}` is declared as {} and as {}",
                                data.name,
                                self.shown(first),
                                self.shown(found)
                            ),
                        )
                        .label(ty.span, format!("declared {} here", self.shown(found)))
                        .label(span, format!("declared {} here", self.shown(first))),
                    ),
                    Some(_) => {}
                }
                ty.dims.iter().for_each(|item| self.sized_item(id, item));
            }
        }
        for expr in node.exprs.iter() {
            match &expr.kind {
                ExprKind::Index { indices, .. } => {
                    indices.iter().flat_map(Index::exprs).for_each(|e| self.sized(id, e));
                }
                ExprKind::Builtin { which, args, .. } => {
                    let sizes = args.iter().enumerate().filter(|(i, _)| which.is_size(*i));
                    sizes.for_each(|(_, e)| self.sized(id, *e));
                }
                _ => {}
            }
        }
    }

    /// The names in an expression that must be an int, or ints, at compile time.
    fn sized(&mut self, id: InstanceId, expr: ExprId) {
        let node = self.tree.node(id);
        match &node.exprs[expr].kind {
            ExprKind::Local(local) => {
                let slot = self.slot(id, *local);
                self.classes.size(slot, node.exprs[expr].span);
            }
            ExprKind::Unary(UnaryOp::Neg, a) | ExprKind::Index { base: a, .. } => self.sized(id, *a),
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, a, b)
            | ExprKind::If { then: a, other: b, .. } => {
                self.sized(id, *a);
                self.sized(id, *b);
            }
            ExprKind::Array(items) => items.iter().for_each(|item| self.sized_item(id, item)),
            _ => {}
        }
    }

    fn sized_item(&mut self, id: InstanceId, item: &Item) {
        match *item {
            Item::Expr(e) => self.sized(id, e),
            Item::Splice(local, span) => {
                let slot = self.slot(id, local);
                self.classes.size(slot, span);
            }
        }
    }

    /// Applies the element types of actuals to formals.
    fn actuals(&mut self, id: InstanceId) {
        let node = self.tree.node(id);
        let instance = &self.tree.instances[id];
        for (&formal, given) in node.formals.iter().zip(&instance.givens) {
            let slot = self.slot(id, formal);
            let span = node.locals[formal].span;
            match (given, instance.parent) {
                (Given::Root(RootGiven::Input(Some(ty))), _) => {
                    let class = self.classes.fresh(Some((ty.dtype, span)));
                    self.unify((slot, span), (class, span), &format!("input `{}`", node.name_of(formal)));
                }
                (Given::Root(RootGiven::Static(value)), _) => match element(value) {
                    Some(DType::Int) => self.classes.given(slot, span),
                    Some(dtype) => self.classes.set(slot, dtype, span),
                    None => {}
                },
                (Given::Root(RootGiven::Open), _) => self.classes.lose(slot),
                (Given::Root(RootGiven::Input(None) | RootGiven::Unshaped), _) => self.classes.open(slot),
                (Given::Static(expr), Some((parent, ..))) => {
                    let arg = self.expr(parent, *expr);
                    self.at = (parent, *expr);
                    self.define((slot, span), arg, &format!("input `{}`", node.name_of(formal)));
                }
                _ => {}
            }
        }
        for (local, data) in node.locals.iter_enumerated() {
            if data.kind == LocalKind::Dim {
                let slot = self.slot(id, local);
                self.classes.set(slot, DType::Int, data.span);
            }
        }
    }

    fn equations(&mut self, id: InstanceId) {
        let node = self.tree.node(id);
        for equation in &node.equations {
            let lhs: Vec<(Class, Span)> = equation
                .lhs
                .iter()
                .map(|&(local, span)| match local {
                    Some(local) => (self.slot(id, local), span),
                    None => (self.classes.fresh(None), span),
                })
                .collect();
            if node.as_call(equation.rhs).is_some() {
                self.call(id, equation.rhs, &lhs);
                continue;
            }
            let value = self.expr(id, equation.rhs);
            self.at = (id, equation.rhs);
            for target in lhs {
                if self.param_of_others(node, equation, target) {
                    continue;
                }
                let what = match equation.lhs.first() {
                    Some((Some(local), _)) => format!("the equation of `{}`", node.name_of(*local)),
                    _ => "this equation".to_owned(),
                };
                self.define(target, value, &what);
            }
        }
    }

    /// Reports an expression that has no class where it is used.
    fn no_value(&mut self, at: (InstanceId, ExprId), [message, label]: [&str; 2], help: &str) -> Class {
        self.at = at;
        self.broken.insert(at);
        let span = self.tree.node(at.0).exprs[at.1].span;
        self.report.push(Diagnostic::error(codes::TYPE_MISMATCH, message).label(span, label).help(help));
        self.classes.error()
    }

    /// The class of an expression.
    fn expr(&mut self, id: InstanceId, expr: ExprId) -> (Class, Span) {
        let node = self.tree.node(id);
        let span = node.exprs[expr].span;
        let class = match &node.exprs[expr].kind {
            ExprKind::Literal(literal) => match literal {
                Literal::Bool(_) => self.classes.fresh(Some((DType::Bool, span))),
                Literal::Num(_) => self.classes.fresh(Some((DType::Num, span))),
                Literal::Int(_) if let Some(of) = node.cases.as_ref().and_then(|cases| cases.get(&expr)) => self.classes.case(*of, span),
                Literal::Int(_) => {
                    let class = self.classes.literal(span);
                    self.literals.push(((id, expr), class));
                    class
                }
            },
            ExprKind::Text(text) if builtins::find(text).is_some() => self.no_value(
                (id, expr),
                ["a text is no value", "expected a number or a truth value"],
                "a function is called by its name: `relu(x)`",
            ),
            ExprKind::Text(_) => self.no_value(
                (id, expr),
                ["a text is no value", "expected a number or a truth value"],
                "words are the cases of an enumeration: `enum color = red, green;`, then `c == red`; only the first argument of `einsum` is a text",
            ),
            ExprKind::Entry(_) => self.no_value(
                (id, expr),
                ["a slice is no value", "expected a number or a truth value"],
                "only an entry of an index, `x[0:2]`, or of `unindex` is a slice",
            ),
            ExprKind::Local(local) => self.slot(id, *local),
            ExprKind::Array(items) => self.array(id, expr, items),
            ExprKind::Index { base, .. } => self.expr(id, *base).0,
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let a = self.expr(id, *a);
                self.number((id, expr), a, "`-`");
                a.0
            }
            ExprKind::Post(a) => self.expr(id, *a).0,
            ExprKind::Unary(UnaryOp::Not, a) => {
                let a = self.expr(id, *a);
                self.at = (id, expr);
                self.expect(DType::Bool, a, codes::TYPE_MISMATCH, "`not`");
                self.classes.fresh(Some((DType::Bool, span)))
            }
            ExprKind::Binary(op, a, b) => self.binary(id, expr, (*op, *a, *b)),
            ExprKind::If { cond, then, other } => {
                let transition = span == node.exprs[*cond].span;
                let what = if transition { "the condition of a transition" } else { "the condition of `if`" };
                self.condition(id, *cond, what);
                self.joined(id, expr, [*then, *other], "the branches of `if`")
            }
            ExprKind::Merge { cond, on_true, on_false } => {
                self.condition(id, *cond, "the condition of `merge`");
                let what = cases::choice(node, span, *cond).unwrap_or("the branches of `merge`");
                self.joined(id, expr, [*on_true, *on_false], what)
            }
            ExprKind::Fby { init, next } => self.joined(id, expr, [*init, *next], "the operands of `fby`"),
            ExprKind::FbyBack { init, next } => {
                self.joined(id, expr, [*init, *next], "the operands of `fby back`")
            }
            ExprKind::When { value, cond } => {
                let sampled = self.expr(id, *value);
                let help = habits::split_condition(node, expr, "when", *cond);
                let split = help.is_some();
                self.condition_or(id, *cond, "the condition of `when`", help);
                // The compared operand was meant as a part of the condition.
                if split && self.broken.contains(&(id, *cond)) { self.classes.error() } else { sampled.0 }
            }
            ExprKind::Builtin { which, args, .. } => self.builtin(id, expr, *which, args),
            ExprKind::Call(_) => {
                let result = self.classes.fresh(None);
                self.call(id, expr, &[(result, span)]);
                result
            }
            ExprKind::Params(..) => self.classes.fresh(Some((DType::Num, span))),
            // Copies have no structure.
            ExprKind::Structure(_) => self.classes.error(),
            ExprKind::Error(parts) => {
                for &part in parts {
                    self.expr(id, part);
                }
                self.classes.error()
            }
        };
        (class, span)
    }

    fn array(&mut self, id: InstanceId, expr: ExprId, items: &[Item]) -> Class {
        let mut first: Option<(Class, Span)> = None;
        for item in items {
            let found = match *item {
                Item::Expr(e) => self.expr(id, e),
                Item::Splice(local, span) => (self.slot(id, local), span),
            };
            self.at = (id, expr);
            first = Some(match first {
                None => found,
                Some(first) => (self.unify(first, found, "the elements of this array"), first.1),
            });
        }
        first.map_or_else(|| self.classes.fresh(None), |(class, _)| class)
    }

    fn condition(&mut self, id: InstanceId, cond: ExprId, what: &str) {
        self.condition_or(id, cond, what, None);
    }

    fn condition_or(&mut self, id: InstanceId, cond: ExprId, what: &str, help: Option<String>) {
        let at = (id, cond);
        let cond = self.expr(id, cond);
        self.at = at;
        self.expect_or(DType::Bool, cond, codes::CONDITION_TYPE, what, help);
    }

    fn joined(&mut self, id: InstanceId, of: ExprId, [a, b]: [ExprId; 2], what: &str) -> Class {
        let node = self.tree.node(id);
        let help = |want, got| habits::literal(node, [a, b], want, got);
        let (a, b) = (self.expr(id, a), self.expr(id, b));
        self.at = (id, of);
        self.unify_or(a, b, what, &help)
    }

    /// Whether a class is int, or contains only literals without a point.
    fn is_int(&mut self, class: Class) -> bool {
        self.classes.is_literal(class) || self.classes.elem(class).is_some_and(|(elem, _)| elem == Elem::INT)
    }

    fn binary(&mut self, id: InstanceId, of: ExprId, (op, a, b): (BinaryOp, ExprId, ExprId)) -> Class {
        use BinaryOp as B;
        let node = self.tree.node(id);
        let span = node.exprs[of].span;
        let operands = (op, a, b);
        let help = |want, got| habits::operands(node, operands, want, got);
        let sampled = matches!(node.exprs[a].kind, ExprKind::When { .. });
        let (a, b) = (self.expr(id, a), self.expr(id, b));
        self.at = (id, of);
        let what = format!("`{}`", op.text());
        match op {
            B::And | B::Or if self.is_int(a.0) && self.is_int(b.0) => {
                let help = habits::bits(node, operands);
                self.expect_or(DType::Bool, a, codes::TYPE_MISMATCH, &what, Some(help));
                self.classes.error()
            }
            B::And | B::Or => {
                self.expect(DType::Bool, a, codes::TYPE_MISMATCH, &what);
                self.expect(DType::Bool, b, codes::TYPE_MISMATCH, &what);
                self.classes.fresh(Some((DType::Bool, span)))
            }
            B::Add | B::Sub | B::Mul => {
                self.number((id, of), a, &what);
                self.unify_or(a, b, &format!("the operands of {what}"), &help)
            }
            B::Div => {
                self.number((id, of), a, &what);
                let operands = self.unify_or(a, b, &format!("the operands of {what}"), &help);
                self.quotient(operands, span)
            }
            // The split condition, as in `x when x > 0.0`, is already reported.
            B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge if sampled && self.classes.is_lost(a.0) => {
                self.classes.error()
            }
            B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => {
                self.unify_or(a, b, &format!("the operands of {what}"), &help);
                self.classes.fresh(Some((DType::Bool, span)))
            }
        }
    }
}

/// The element type of a static value.
fn element(value: &rml_ir::typed::StaticValue) -> Option<DType> {
    use rml_ir::typed::StaticValue as V;
    match value {
        V::Bool(_) => Some(DType::Bool),
        V::Int(_) => Some(DType::Int),
        V::Num(_) => Some(DType::Num),
        V::Array(items) => items.first().and_then(element),
    }
}
