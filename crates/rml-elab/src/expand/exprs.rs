//! The expressions of a copy.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::op::AxisIndex;
use rml_ir::typed::StaticValue;
use rml_syntax::ast::{Literal, UnaryOp};

use super::copy::Copy;
use super::early::Why;
use crate::hir::Structure;
use crate::hir::{Expr, ExprId, ExprKind, Index, Item, Local, LocalKind};
use crate::statics::arith;

impl Copy<'_, '_> {
    /// The right side of an equation with that many results.
    pub(super) fn top(&mut self, id: ExprId, results: usize) -> ExprId {
        let template = Arc::clone(&self.template);
        let expr = &template.exprs[id];
        match &expr.kind {
            ExprKind::Structure(Structure::Apply(apply)) => {
                let kind = self.apply(apply, expr.span, results);
                self.exprs.push(Expr { kind, span: expr.span })
            }
            ExprKind::Structure(choose @ Structure::Choose { .. }) => match self.choice(choose) {
                Some(branch) => self.top(branch, results),
                None => self.expr(id),
            },
            _ => self.expr(id),
        }
    }

    /// An expression of the template.
    pub(super) fn expr(&mut self, id: ExprId) -> ExprId {
        let template = Arc::clone(&self.template);
        let expr = &template.exprs[id];
        let span = expr.span;
        let kind = match &expr.kind {
            ExprKind::Literal(literal) => ExprKind::Literal(*literal),
            ExprKind::Text(text) => ExprKind::Text(text.clone()),
            ExprKind::Local(local) => self.local(*local, span),
            ExprKind::Array(items) => ExprKind::Array(self.items(items)),
            ExprKind::Entry(index) => ExprKind::Entry(self.index_entry(index)),
            ExprKind::Index { base, indices } => ExprKind::Index {
                base: self.expr(*base),
                indices: indices.iter().map(|index| self.index_entry(index)).collect(),
            },
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.expr(*a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, self.expr(*a), self.expr(*b)),
            ExprKind::If { cond, then, other } => match self.early(*cond) {
                Ok(StaticValue::Bool(c)) => return self.expr(if c { *then } else { *other }),
                _ => self.conditional(*cond, *then, *other),
            },
            ExprKind::Fby { init, next } => ExprKind::Fby { init: self.expr(*init), next: self.expr(*next) },
            ExprKind::FbyBack { init, next } => {
                ExprKind::FbyBack { init: self.expr(*init), next: self.expr(*next) }
            }
            ExprKind::Post(next) => ExprKind::Post(self.expr(*next)),
            ExprKind::When { value, cond } => {
                ExprKind::When { value: self.expr(*value), cond: self.expr(*cond) }
            }
            ExprKind::Merge { cond, on_true, on_false } => ExprKind::Merge {
                cond: self.expr(*cond),
                on_true: self.expr(*on_true),
                on_false: self.expr(*on_false),
            },
            ExprKind::Builtin { which, args } => ExprKind::Builtin { which: *which, args: self.all(args) },
            ExprKind::Call(call) => self.call_of(call, span),
            ExprKind::Structure(structure) => match self.structure(structure, span) {
                Ok(kind) => kind,
                Err(same) => return same,
            },
            ExprKind::Error(parts) => ExprKind::Error(self.all(parts)),
        };
        self.exprs.push(Expr { kind, span })
    }

    fn all(&mut self, exprs: &[ExprId]) -> Vec<ExprId> {
        exprs.iter().map(|e| self.expr(*e)).collect()
    }

    fn conditional(&mut self, cond: ExprId, then: ExprId, other: ExprId) -> ExprKind {
        ExprKind::If { cond: self.expr(cond), then: self.expr(then), other: self.expr(other) }
    }

    /// What only templates have; `Err` with an expression that takes its place.
    fn structure(&mut self, structure: &Structure, span: Span) -> Result<ExprKind, ExprId> {
        Ok(match structure {
            Structure::Member { family, index } => self.member_of(*family, *index, span),
            Structure::Members { family, part } => self.members_of(*family, part, span),
            Structure::Apply(apply) => self.apply(apply, span, 1),
            Structure::Node(passed) => {
                let parts: Vec<ExprId> = passed.given.iter().flatten().flatten().copied().collect();
                ExprKind::Error(self.all(&parts))
            }
            &Structure::Choose { cond, then, other } => match self.choice(structure) {
                Some(branch) => return Err(self.expr(branch)),
                None if self.unknown => ExprKind::Error(Vec::new()),
                None => self.conditional(cond, then, other),
            },
        })
    }

    /// A name: those of static values are replaced by these.
    fn local(&mut self, local: Local, span: Span) -> ExprKind {
        match self.template.locals[local].kind {
            LocalKind::Index | LocalKind::Constant(_) => match self.static_name(local) {
                Some(value) => self.literal(&value, span),
                None => ExprKind::Error(Vec::new()),
            },
            LocalKind::Formal
            | LocalKind::Defined { .. }
            | LocalKind::Dim
            | LocalKind::Undefined
            | LocalKind::Family
            | LocalKind::Node => ExprKind::Local(self.mapped(local)),
        }
    }

    /// The value of an index or constant.
    fn static_name(&self, local: Local) -> Option<StaticValue> {
        match self.template.locals[local].kind {
            LocalKind::Index => {
                self.index.filter(|(index, _)| *index == local).map(|(_, k)| StaticValue::Int(k))
            }
            LocalKind::Constant(id) => self.expansion.constants.get(&id).and_then(|value| value.clone().ok()),
            LocalKind::Formal
            | LocalKind::Defined { .. }
            | LocalKind::Dim
            | LocalKind::Undefined
            | LocalKind::Family
            | LocalKind::Node => None,
        }
    }

    /// A value as it would be written.
    pub(super) fn literal(&mut self, value: &StaticValue, span: Span) -> ExprKind {
        let positive = match value {
            StaticValue::Bool(b) => return ExprKind::Literal(Literal::Bool(*b)),
            StaticValue::Int(i) if *i >= 0 || *i == i64::MIN => return ExprKind::Literal(Literal::Int(*i)),
            StaticValue::Num(x) if x.is_sign_positive() => return ExprKind::Literal(Literal::Num(*x)),
            StaticValue::Int(i) => Literal::Int(-i),
            StaticValue::Num(x) => Literal::Num(-x),
            StaticValue::Array(items) => {
                let items = items.iter().map(|item| self.literal_item(item, span)).collect();
                return ExprKind::Array(items);
            }
        };
        let inner = self.exprs.push(Expr { kind: ExprKind::Literal(positive), span });
        ExprKind::Unary(UnaryOp::Neg, inner)
    }

    fn literal_item(&mut self, value: &StaticValue, span: Span) -> Item {
        let kind = self.literal(value, span);
        Item::Expr(self.exprs.push(Expr { kind, span }))
    }

    /// The entries of a shape or array.
    pub(super) fn items(&mut self, items: &[Item]) -> Vec<Item> {
        let mut made = Vec::with_capacity(items.len());
        for item in items {
            match *item {
                Item::Expr(e) => made.push(Item::Expr(self.expr(e))),
                Item::Splice(local, span) => match self.static_name(local) {
                    Some(StaticValue::Array(values)) => {
                        made.extend(values.iter().map(|value| self.literal_item(value, span)));
                    }
                    Some(found) => self.say(crate::statics::expected("an array to splice", &found, span)),
                    None => made.push(Item::Splice(self.mapped(local), span)),
                },
            }
        }
        made
    }

    fn index_entry(&mut self, index: &Index) -> Index {
        match *index {
            Index::At(e) => Index::At(self.expr(e)),
            Index::Slice { lo, hi, step, span } => Index::Slice {
                lo: lo.map(|e| self.expr(e)),
                hi: hi.map(|e| self.expr(e)),
                step: step.map(|e| self.expr(e)),
                span,
            },
            Index::Ellipsis(span) => Index::Ellipsis(span),
        }
    }

    /// `h[k]`
    fn member_of(&mut self, family: Local, index: ExprId, span: Span) -> ExprKind {
        let Some(written) = self.needed_int(index, "the index of a variable") else {
            return ExprKind::Error(Vec::new());
        };
        let members = self.members.get(&family);
        let end =
            members.and_then(|members| members.keys().next_back()).map_or(0, |last| last.saturating_add(1));
        let k = if written < 0 { written.saturating_add(end) } else { written };
        match members.and_then(|members| members.get(&k)) {
            Some(member) => ExprKind::Local(*member),
            None => {
                if !self.unknown {
                    self.lacking.push((family, written));
                    let d = self.missing(family, written, span);
                    self.say(d);
                }
                ExprKind::Error(Vec::new())
            }
        }
    }

    /// `h[1:3]`
    fn members_of(&mut self, family: Local, part: &Index, span: Span) -> ExprKind {
        let known: Vec<Local> =
            self.members.get(&family).into_iter().flat_map(|m| m.values()).copied().collect();
        let Index::Slice { lo, hi, step, span: at } = *part else { return ExprKind::Error(Vec::new()) };
        let what = "the index of a variable";
        let mut bounds = [None; 3];
        for (bound, written) in bounds.iter_mut().zip([lo, hi, step]) {
            let Some(written) = written else { continue };
            match self.needed_int(written, what) {
                Some(value) => *bound = Some(value),
                None => return ExprKind::Error(Vec::new()),
            }
        }
        let [lo, hi, step] = bounds;
        match arith::slice(lo, hi, step, known.len(), at).map_err(Why::from) {
            Ok(picked @ (AxisIndex::Slice { .. } | AxisIndex::At(_))) => {
                let picked: Vec<Local> = picked.positions().filter_map(|i| known.get(i).copied()).collect();
                self.stacked(&picked, span)
            }
            Err(Why::Bad(d)) => {
                self.say(*d);
                ExprKind::Error(Vec::new())
            }
            Err(Why::Unknown | Why::Stream(_)) => ExprKind::Error(Vec::new()),
        }
    }
}
