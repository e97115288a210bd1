//! Element types, by unification over the whole tree of instances. Nothing is converted implicitly, so two things that meet have
//! the same element type; what nothing determines is num.

mod builtin;
mod call;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::elab as codes;
use rml_base::{Code, Diagnostic, Span};
use rml_ir::DType;
use rml_syntax::ast::{BinaryOp, Literal, UnaryOp};

use super::adjoint::Adjoint;
use crate::context;
use crate::hir::{ExprId, ExprKind, Item, Local, LocalKind};
use crate::instance::{Given, InstanceId, RootGiven, Tree};
use crate::report::Report;

/// What inference finds.
pub(super) struct DTypes {
    pub(super) of: Vec<DType>,
    /// Variables in error.
    pub(super) lost: Vec<bool>,
    pub(super) adjoints: IndexMap<(InstanceId, ExprId), Adjoint>,
    pub(super) broken: IndexSet<(InstanceId, ExprId)>,
}

/// A class of things of one element type. Numbers below `tree.slots` stand for variables.
type Class = usize;

struct Infer<'t, 'p, 'r> {
    tree: &'t Tree<'p>,
    report: &'r mut Report,
    parent: Vec<Class>,
    /// The element type of a class, and where it comes from.
    known: Vec<Option<(DType, Span)>>,
    /// Classes in error: they agree with everything.
    lost: Vec<bool>,
    /// Calls of adjoints whose gradients are not connected yet.
    pending: Vec<Pending>,
    adjoints: IndexMap<(InstanceId, ExprId), Adjoint>,
    broken: IndexSet<(InstanceId, ExprId)>,
    /// The expression being looked at.
    at: (InstanceId, ExprId),
}

struct Pending {
    id: InstanceId,
    call: ExprId,
    /// Left sides and their places; at an operand: one, without a name.
    results: Vec<(Class, Span)>,
    /// The classes of the stream arguments from `bp` on.
    extra: Vec<(Class, Span)>,
}

/// Infers the element types of all variables.
pub(super) fn infer(tree: &Tree<'_>, report: &mut Report) -> DTypes {
    let mut infer = Infer {
        tree,
        report,
        parent: (0..tree.slots).collect(),
        known: vec![None; tree.slots],
        lost: vec![false; tree.slots],
        pending: Vec::new(),
        adjoints: IndexMap::new(),
        broken: IndexSet::new(),
        at: (InstanceId(0), ExprId(0)),
    };
    for id in tree.instances.ids() {
        infer.declared(id);
    }
    for id in tree.instances.ids() {
        infer.actuals(id);
        infer.equations(id);
    }
    infer.adjoints();
    let of = (0..tree.slots).map(|slot| infer.get(slot).map_or(DType::Num, |(d, _)| d)).collect();
    let lost = (0..tree.slots).map(|slot| {
        let root = infer.find(slot);
        infer.lost[root]
    });
    let lost = lost.collect();
    DTypes { of, lost, adjoints: infer.adjoints, broken: infer.broken }
}

impl Infer<'_, '_, '_> {
    fn fresh(&mut self, known: Option<(DType, Span)>) -> Class {
        self.parent.push(self.parent.len());
        self.known.push(known);
        self.lost.push(false);
        self.parent.len() - 1
    }

    /// The class of something in error.
    fn error(&mut self) -> Class {
        let class = self.fresh(None);
        self.lost[class] = true;
        class
    }

    fn find(&mut self, class: Class) -> Class {
        let mut root = class;
        while self.parent[root] != root {
            root = self.parent[root];
        }
        let mut at = class;
        while self.parent[at] != root {
            at = std::mem::replace(&mut self.parent[at], root);
        }
        root
    }

    fn get(&mut self, class: Class) -> Option<(DType, Span)> {
        let root = self.find(class);
        self.known[root]
    }

    /// Makes two classes one; `Err` with their element types if these differ. A class in error stays alone.
    fn union(&mut self, a: Class, b: Class) -> Result<(), [(DType, Span); 2]> {
        let (a, b) = (self.find(a), self.find(b));
        if a == b || self.lost[a] || self.lost[b] {
            return Ok(());
        }
        match (self.known[a], self.known[b]) {
            (Some(x), Some(y)) if x.0 != y.0 => Err([x, y]),
            (x, y) => {
                self.parent[b] = a;
                self.known[a] = x.or(y);
                Ok(())
            }
        }
    }

    /// Two things that must have one element type, and their class. `found` is to blame if they do not.
    fn unify(&mut self, expected: (Class, Span), found: (Class, Span), what: &str) -> Class {
        let lost = |infer: &mut Self, class| {
            let root = infer.find(class);
            infer.lost[root]
        };
        if lost(self, expected.0) || lost(self, found.0) {
            return self.error();
        }
        if let Err([want, got]) = self.union(expected.0, found.0) {
            let mut d = Diagnostic::error(
                codes::TYPE_MISMATCH,
                format!("{what}: expected {}, found {}", want.0, got.0),
            )
            .label(found.1, format!("this is {}", got.0));
            if expected.1 != found.1 {
                d = d.label(expected.1, format!("this is {}", want.0));
            }
            self.blame(d, want, got, &[expected.1, found.1]);
            return self.error();
        }
        expected.0
    }

    /// Gives a name the element type of its definition; what is defined by something in error is in error, unless its type is known.
    fn define(&mut self, target: (Class, Span), value: (Class, Span), what: &str) {
        let (to, from) = (self.find(target.0), self.find(value.0));
        if self.lost[from] {
            self.lost[to] |= self.known[to].is_none();
        } else {
            self.unify(target, value, what);
        }
    }

    /// Something that must have that element type.
    fn expect(&mut self, dtype: DType, found: (Class, Span), code: Code, what: &str) {
        let root = self.find(found.0);
        match self.known[root] {
            _ if self.lost[root] => {}
            None => self.known[root] = Some((dtype, found.1)),
            Some(got) if got.0 != dtype => {
                let d = Diagnostic::error(code, format!("{what} takes {dtype}, found {}", got.0))
                    .label(found.1, format!("this is {}", got.0));
                self.blame(d, (dtype, found.1), got, &[found.1]);
            }
            Some(_) => {}
        }
    }

    fn blame(&mut self, mut d: Diagnostic, want: (DType, Span), got: (DType, Span), shown: &[Span]) {
        for (dtype, origin) in [got, want] {
            if !shown.contains(&origin) && d.labels.iter().all(|l| l.span != origin) {
                d = d.label(origin, format!("{dtype} because of this"));
            }
        }
        d = d.note(format!("expected {}, found {}", want.0, got.0));
        d = match (want.0, got.0) {
            (DType::Num, DType::Int) => {
                d.help("a num literal has a point: `1.0`; `to_num(x)` converts an int")
            }
            (DType::Int, DType::Num) => {
                d.help("an int literal has no point: `1`; `to_int(x)` converts a num")
            }
            (DType::Bool, _) => d.help("compare to get a bool: `x > 0.0`, or convert with `to_bool(x)`"),
            (_, DType::Bool) => d.help("`to_num(x)` and `to_int(x)` convert a bool"),
            _ => d,
        };
        self.broken.insert(self.at);
        self.report.push(context::add(self.tree, self.at.0, d));
    }

    fn slot(&self, id: InstanceId, local: Local) -> Class {
        self.tree.slot(id, local)
    }

    /// Types written in the source.
    fn declared(&mut self, id: InstanceId) {
        let node = self.tree.node(id);
        for (local, data) in node.locals.iter_enumerated() {
            let slot = self.slot(id, local);
            self.lost[slot] |= data.kind == LocalKind::Undefined && data.types.is_empty();
            for ty in &data.types {
                match self.known[slot] {
                    None => self.known[slot] = Some((ty.dtype, ty.span)),
                    Some((first, span)) if first != ty.dtype => self.report.push(
                        Diagnostic::error(
                            codes::TYPE_MISMATCH,
                            format!("`{}` is declared as {first} and as {}", data.name, ty.dtype),
                        )
                        .label(ty.span, format!("declared {} here", ty.dtype))
                        .label(span, format!("declared {first} here")),
                    ),
                    Some(_) => {}
                }
            }
        }
    }

    /// The element types that actuals give to formals.
    fn actuals(&mut self, id: InstanceId) {
        let node = self.tree.node(id);
        let instance = &self.tree.instances[id];
        for (&formal, given) in node.formals.iter().zip(&instance.givens) {
            let slot = self.slot(id, formal);
            let span = node.locals[formal].span;
            match (given, instance.parent) {
                (Given::Root(RootGiven::Input(Some(ty))), _) => {
                    let class = self.fresh(Some((ty.dtype, span)));
                    self.unify((slot, span), (class, span), &format!("input `{}`", node.name_of(formal)));
                }
                (Given::Root(RootGiven::Static(value)), _) => {
                    let dtype = element(value);
                    self.known[slot] = self.known[slot].or(dtype.map(|d| (d, span)));
                }
                (Given::Root(RootGiven::Open), _) => self.lost[slot] = true,
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
                self.known[slot] = Some((DType::Int, data.span));
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
                    None => (self.fresh(None), span),
                })
                .collect();
            if node.as_call(equation.rhs).is_some() {
                self.call(id, equation.rhs, &lhs);
                continue;
            }
            let value = self.expr(id, equation.rhs);
            self.at = (id, equation.rhs);
            for target in lhs {
                let what = match equation.lhs.first() {
                    Some((Some(local), _)) => format!("the equation of `{}`", node.name_of(*local)),
                    _ => "this equation".to_owned(),
                };
                self.define(target, value, &what);
            }
        }
    }

    /// The class of an expression.
    fn expr(&mut self, id: InstanceId, expr: ExprId) -> (Class, Span) {
        let node = self.tree.node(id);
        let span = node.exprs[expr].span;
        let class = match &node.exprs[expr].kind {
            ExprKind::Literal(literal) => {
                let dtype = match literal {
                    Literal::Bool(_) => DType::Bool,
                    Literal::Int(_) => DType::Int,
                    Literal::Num(_) => DType::Num,
                };
                self.fresh(Some((dtype, span)))
            }
            ExprKind::Text(_) => {
                self.at = (id, expr);
                self.broken.insert(self.at);
                self.report.push(
                    Diagnostic::error(codes::TYPE_MISMATCH, "a text is no value")
                        .label(span, "only the first argument of `einsum` is a text"),
                );
                self.error()
            }
            ExprKind::Local(local) => self.slot(id, *local),
            ExprKind::Array(items) => self.array(id, expr, items),
            ExprKind::Index { base, .. } => self.expr(id, *base).0,
            ExprKind::Unary(UnaryOp::Neg, a) | ExprKind::Post(a) => self.expr(id, *a).0,
            ExprKind::Unary(UnaryOp::Not, a) => {
                let a = self.expr(id, *a);
                self.at = (id, expr);
                self.expect(DType::Bool, a, codes::TYPE_MISMATCH, "`not`");
                self.fresh(Some((DType::Bool, span)))
            }
            ExprKind::Binary(op, a, b) => self.binary(id, expr, (*op, *a, *b)),
            ExprKind::If { cond, then, other } => {
                self.condition(id, *cond, "the condition of `if`");
                self.joined(id, expr, [*then, *other], "the branches of `if`")
            }
            ExprKind::Merge { cond, on_true, on_false } => {
                self.condition(id, *cond, "the condition of `merge`");
                self.joined(id, expr, [*on_true, *on_false], "the branches of `merge`")
            }
            ExprKind::Fby { init, next } => self.joined(id, expr, [*init, *next], "the operands of `fby`"),
            ExprKind::FbyBack { init, next } => {
                self.joined(id, expr, [*init, *next], "the operands of `fby back`")
            }
            ExprKind::When { value, cond } => {
                let value = self.expr(id, *value);
                self.condition(id, *cond, "the condition of `when`");
                value.0
            }
            ExprKind::Builtin { which, args, .. } => self.builtin(id, expr, *which, args),
            ExprKind::Call(_) => {
                let result = self.fresh(None);
                self.call(id, expr, &[(result, span)]);
                result
            }
            ExprKind::Error(parts) => {
                for &part in parts {
                    self.expr(id, part);
                }
                self.error()
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
        first.map_or_else(|| self.fresh(None), |(class, _)| class)
    }

    fn condition(&mut self, id: InstanceId, cond: ExprId, what: &str) {
        let at = (id, cond);
        let cond = self.expr(id, cond);
        self.at = at;
        self.expect(DType::Bool, cond, codes::CONDITION_TYPE, what);
    }

    fn joined(&mut self, id: InstanceId, of: ExprId, [a, b]: [ExprId; 2], what: &str) -> Class {
        let a = self.expr(id, a);
        let b = self.expr(id, b);
        self.at = (id, of);
        self.unify(a, b, what)
    }

    fn binary(&mut self, id: InstanceId, of: ExprId, (op, a, b): (BinaryOp, ExprId, ExprId)) -> Class {
        use BinaryOp as B;
        let span = self.tree.node(id).exprs[of].span;
        let (a, b) = (self.expr(id, a), self.expr(id, b));
        self.at = (id, of);
        let what = format!("`{}`", op.text());
        match op {
            B::And | B::Or => {
                self.expect(DType::Bool, a, codes::TYPE_MISMATCH, &what);
                self.expect(DType::Bool, b, codes::TYPE_MISMATCH, &what);
                self.fresh(Some((DType::Bool, span)))
            }
            B::Add | B::Sub | B::Mul | B::Div => self.unify(a, b, &format!("the operands of {what}")),
            B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => {
                self.unify(a, b, &format!("the operands of {what}"));
                self.fresh(Some((DType::Bool, span)))
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
