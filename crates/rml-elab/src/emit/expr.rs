//! Expressions of typed nodes.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::op::{Distribution, Op, result_type};
use rml_ir::typed::{self, ExprKind as T};
use rml_ir::{DType, Shape, Type};

use super::Emitter;
use crate::builtins::Builtin;
use crate::constant::widened;
use crate::hir::{ExprId, ExprKind};
use crate::ops::{self, Operand, Partial, Rule, Step};
use crate::statics::{Evaluated, Failure};

/// An emitted expression, and its type.
pub(super) type Made = (typed::ExprId, Type);

/// The only element.
fn one(made: Vec<Made>) -> Evaluated<Made> {
    made.into_iter().next().ok_or(Failure::Unknown)
}

impl Emitter<'_, '_> {
    pub(super) fn push(&mut self, kind: T, ty: Type, span: Span) -> Made {
        (self.exprs.push(typed::Expr { kind, ty: ty.clone(), span }), ty)
    }

    /// Emits an expression. All its parts are checked, even if one of them is in error.
    pub(super) fn expr(&mut self, expr: ExprId) -> Evaluated<Made> {
        let node = self.node;
        let span = node.exprs[expr].span;
        if self.typed.broken.contains(&(self.id, expr)) {
            return self.error(&self.typed.tree.operands(self.id, expr));
        }
        match &node.exprs[expr].kind {
            ExprKind::Local(local) if self.typed.tree.is_stream(self.id, *local) => {
                let var = self.var(*local)?;
                let ty = self.vars[var].ty.clone();
                return Ok(self.push(T::Var(var), ty, span));
            }
            ExprKind::Call(_) => return self.call_operand(expr),
            ExprKind::Params(share, path) => {
                let found = self.typed.params.get(&(self.id, expr)).cloned();
                let Some(shape) = found else {
                    crate::shared::named(&self.typed.tree, self.id, *share, path, span)?;
                    return Err(Failure::Unknown);
                };
                // `shared::resolve` replaces this placeholder.
                let made = self.push(T::Var(typed::Var(u32::MAX)), Type { dtype: DType::Num, shape }, span);
                self.tags.params.push((made.0, *share, path.clone()));
                return Ok(made);
            }
            ExprKind::Error(parts) => return self.error(parts),
            _ => {}
        }
        if let Some(constant) = self.typed.constant(self.id, expr, self.precision) {
            let constant = constant?;
            let ty = constant.ty.clone();
            return Ok(self.push(T::Const(constant), ty, span));
        }
        let made = self.operands(expr)?;
        let operands: Vec<Operand> =
            made.iter().map(|(e, ty)| (Partial::known(ty), self.exprs[*e].span)).collect();
        let (rule, result) = self.typed.rule(self.id, expr, &operands)?;
        let ty = Type { dtype: result.dtype, shape: result.shape.ok_or(Failure::Unknown)? };
        let kind = match rule {
            Rule::Apply(op) => {
                let args = made.iter().map(|(e, _)| *e).collect();
                T::Apply { op, args, statics: self.static_texts(expr) }
            }
            Rule::Steps(steps) => self.steps(steps, made, span)?,
            Rule::Form => self.form(expr, &made, &ty)?,
        };
        let made = self.push(kind, ty, span);
        if let Some(flags) = node.restarts.as_ref().and_then(|restarts| restarts.get(&expr)) {
            self.restarts(made.0, flags)?;
        }
        Ok(made)
    }

    /// Emits operators one after the other; returns the last one.
    fn steps(&mut self, steps: Vec<Step>, mut made: Vec<Made>, span: Span) -> Evaluated<T> {
        let count = steps.len();
        for (i, Step { op, args }) in steps.into_iter().enumerate() {
            let types: Vec<Type> = args.iter().map(|arg| made[*arg].1.clone()).collect();
            let ty = result_type(&op, &types).map_err(|_| Failure::Unknown)?;
            let args = args.iter().map(|arg| made[*arg].0).collect();
            let kind = T::Apply { op, args, statics: Vec::new() };
            if i + 1 == count {
                return Ok(kind);
            }
            made.push(self.push(kind, ty, span));
        }
        Err(Failure::Unknown)
    }

    /// Handles an expression whose own error is reported: only its parts are checked.
    pub(super) fn error(&mut self, parts: &[ExprId]) -> Evaluated<Made> {
        let node = self.node;
        let is_array = |e: &ExprId| matches!(node.exprs[*e].kind, ExprKind::Array(_));
        // An array may have been meant as a shape.
        let parts: Vec<ExprId> = parts.iter().copied().filter(|e| !is_array(e)).collect();
        self.all(&parts)?;
        Err(Failure::Unknown)
    }

    /// Emits the operands of an expression. A condition is checked separately, because the values that it selects may
    /// depend on an error.
    fn operands(&mut self, expr: ExprId) -> Evaluated<Vec<Made>> {
        let parts = self.typed.tree.operands(self.id, expr);
        let condition = match self.node.exprs[expr].kind {
            ExprKind::If { .. } => Some((0, "if")),
            ExprKind::Merge { .. } => Some((0, "merge")),
            ExprKind::When { .. } => Some((1, "when")),
            _ => None,
        };
        let mut made: Vec<Evaluated<Made>> =
            parts.iter().map(|part| self.all(&[*part]).and_then(one)).collect();
        if let Some((i, what)) = condition
            && let Some(Ok((_, ty))) = made.get(i)
        {
            let operand = (Partial::known(ty), self.node.exprs[parts[i]].span);
            if let Err(failure) = ops::condition(&operand, what) {
                let failure = ops::advice::given(self.node, expr, &[], failure);
                self.fail(Some(parts[i]), failure);
                made[i] = Err(Failure::Unknown);
            }
        }
        made.into_iter().collect()
    }

    /// Emits several expressions; the errors of all of them are reported.
    pub(super) fn all(&mut self, exprs: &[ExprId]) -> Evaluated<Vec<Made>> {
        let mut made = Vec::with_capacity(exprs.len());
        let mut sound = true;
        for &expr in exprs {
            match self.expr(expr) {
                Ok(one) => made.push(one),
                Err(failure) => {
                    self.fail(Some(expr), failure);
                    sound = false;
                }
            }
        }
        if sound { Ok(made) } else { Err(Failure::Unknown) }
    }

    /// Emits expressions that are not operators.
    fn form(&mut self, expr: ExprId, made: &[Made], ty: &Type) -> Evaluated<T> {
        let id = |i: usize| made.get(i).map(|(e, _)| *e).ok_or(Failure::Unknown);
        Ok(match &self.node.exprs[expr].kind {
            ExprKind::If { .. } => {
                let (then, other) = (id(1)?, id(2)?);
                T::If { cond: id(0)?, then: self.widen(then, &ty.shape), other: self.widen(other, &ty.shape) }
            }
            ExprKind::Merge { .. } => {
                let (on_true, on_false) = (id(1)?, id(2)?);
                T::Merge {
                    cond: id(0)?,
                    on_true: self.widen(on_true, &ty.shape),
                    on_false: self.widen(on_false, &ty.shape),
                }
            }
            ExprKind::Fby { .. } => {
                let (init, next) = (id(0)?, id(1)?);
                T::Fby { init: self.widen(init, &ty.shape), next: self.widen(next, &ty.shape) }
            }
            ExprKind::FbyBack { .. } => {
                let (init, next) = (id(0)?, id(1)?);
                T::FbyBack { init: self.widen(init, &ty.shape), next: self.widen(next, &ty.shape) }
            }
            ExprKind::Post(_) => T::Post { next: id(0)? },
            ExprKind::When { .. } => T::When { value: id(0)?, cond: id(1)? },
            ExprKind::Builtin { which: which @ (Builtin::RandomUniform | Builtin::RandomNormal), .. } => {
                let shape = ty.shape.clone();
                let op = match which {
                    Builtin::RandomUniform => Op::RandomUniform { shape },
                    _ => Op::RandomNormal { shape },
                };
                let int = Type::scalar(DType::Int);
                let kind = typed::ConstKind::Random(Distribution::Key);
                let key = T::Const(typed::Constant { kind, ty: int.clone(), text: None });
                let (key, _) = self.push(key, int, self.node.exprs[expr].span);
                T::Apply { op, args: vec![key], statics: self.static_texts(expr) }
            }
            ExprKind::Builtin { which: Builtin::Param, .. } => {
                let by = self.node.rules.as_ref().and_then(|rules| rules.get(&expr));
                T::Param { init: id(0)?, by: by.copied().unwrap_or(typed::Rule::DEFAULT) }
            }
            ExprKind::Builtin { which: Builtin::Assert, .. } => {
                self.assertion(made.first().ok_or(Failure::Unknown)?)
            }
            _ => return Err(Failure::Unknown),
        })
    }

    /// Broadcasts an expression to a larger shape. A constant stays a constant.
    fn widen(&mut self, expr: typed::ExprId, shape: &Shape) -> typed::ExprId {
        let old = &self.exprs[expr];
        if old.ty.shape == *shape {
            return expr;
        }
        let ty = Type { dtype: old.ty.dtype, shape: shape.clone() };
        let span = old.span;
        if let T::Const(constant) = &old.kind
            && let Some(constant) = widened(constant, shape)
        {
            self.exprs[expr] = typed::Expr { kind: T::Const(constant), ty, span };
            return expr;
        }
        let op = Op::Broadcast { shape: shape.clone() };
        self.push(T::Apply { op, args: vec![expr], statics: Vec::new() }, ty, span).0
    }

    /// The source text of the static arguments of an operator.
    fn static_texts(&self, expr: ExprId) -> Vec<Arc<str>> {
        match &self.node.exprs[expr].kind {
            ExprKind::Index { indices, .. } => {
                self.typed.indices_text(self.id, indices).into_iter().map(Arc::from).collect()
            }
            // The text of the entry is not an index.
            ExprKind::Builtin { which: Builtin::Split { .. }, .. } => Vec::new(),
            ExprKind::Builtin { which, args, .. } => args
                .iter()
                .enumerate()
                .filter(|(i, _)| which.is_static(*i))
                .map(|(_, a)| Arc::from(self.text(*a)))
                .collect(),
            _ => Vec::new(),
        }
    }
}
