//! Editing of a typed node: new variables and expressions, and values that are used where a clock is absent.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::op::Op;
use rml_ir::typed::{Callee, ConstKind, Constant, Equation, Expr, ExprId, ExprKind, Node, Var, VarData};
use rml_ir::{Precision, Type, Value};

use crate::chains::{exists, sampled, unnamed};
use crate::shared::{Part, Tags, compact, of_node};

/// A node that is being edited.
pub(crate) struct Edit {
    pub(crate) node: Node,
    pub(crate) tags: Tags,
    pub(crate) precision: Precision,
}

/// A value that may be needed in several places.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    Var(Var),
    /// A constant with this number as each element.
    Fill(f64),
}

impl Edit {
    pub(crate) fn new(node: Node, tags: Tags, precision: Precision) -> Self {
        Self { node, tags, precision }
    }

    /// The edited node and its tags; unused expressions are removed.
    pub(crate) fn finish(mut self) -> (Node, Tags) {
        let new = compact(&mut self.node);
        let Tags { calls, params, restarts, owner, shares } = self.tags;
        let calls = calls.into_iter().filter_map(|(expr, tag)| Some((*new.get(&expr)?, tag)));
        let params =
            params.into_iter().filter_map(|(expr, share, path)| Some((*new.get(&expr)?, share, path)));
        let restarts = restarts.into_iter().filter_map(|(expr, flags)| Some((*new.get(&expr)?, flags)));
        let (calls, params, restarts) = (calls.collect(), params.collect(), restarts.collect());
        (self.node, Tags { calls, params, restarts, owner, shares })
    }

    pub(crate) fn push(&mut self, kind: ExprKind, ty: Type, span: Span) -> ExprId {
        self.node.exprs.push(Expr { kind, ty, span })
    }

    pub(crate) fn read(&mut self, var: Var, span: Span) -> ExprId {
        let ty = self.node.vars[var].ty.clone();
        self.push(ExprKind::Var(var), ty, span)
    }

    /// Adds a variable.
    pub(crate) fn var(&mut self, name: Option<Arc<str>>, ty: Type, span: Span) -> Var {
        self.node.vars.push(VarData { name, ty, span, asserts: None, cases: None })
    }

    /// Adds a variable and defines it as an expression.
    pub(crate) fn define(&mut self, rhs: ExprId) -> Var {
        let (ty, span) = (self.node.exprs[rhs].ty.clone(), self.node.exprs[rhs].span);
        let var = self.var(None, ty, span);
        self.node.equations.push(Equation { lhs: vec![Some(var)], rhs, span });
        var
    }

    /// A variable with the value of an expression: the one that the expression reads, or else a new one.
    pub(crate) fn named(&mut self, expr: ExprId) -> Var {
        if let ExprKind::Var(var) = self.node.exprs[expr].kind
            && exists(&self.node, var)
        {
            return var;
        }
        self.define(expr)
    }

    /// Copies an expression to a new id, so that the caller can replace the original at `expr`.
    pub(crate) fn moved(&mut self, expr: ExprId) -> ExprId {
        let made = self.node.exprs.push(self.node.exprs[expr].clone());
        if let Some(tag) = self.tags.calls.swap_remove(&expr) {
            self.tags.calls.insert(made, tag);
        }
        if let Some(flags) = self.tags.restarts.swap_remove(&expr) {
            self.tags.restarts.insert(made, flags);
        }
        for (of, ..) in &mut self.tags.params {
            if *of == expr {
                *of = made;
            }
        }
        made
    }

    /// Replaces the expression `to` by a copy of `from`.
    pub(crate) fn replace(&mut self, to: ExprId, from: ExprId) {
        self.node.exprs[to].kind = self.node.exprs[from].kind.clone();
    }

    pub(crate) fn fill(&mut self, ty: &Type, x: f64, span: Span) -> ExprId {
        let kind = ConstKind::Value(Value::filled(ty, x, self.precision));
        let constant = Constant { kind, ty: ty.clone(), text: None };
        self.push(ExprKind::Const(constant), ty.clone(), span)
    }

    pub(crate) fn apply(&mut self, op: Op, args: Vec<ExprId>, ty: Type, span: Span) -> ExprId {
        self.push(ExprKind::Apply { op, args, statics: Vec::new() }, ty, span)
    }

    /// Adds a condition that is computed from other conditions by an operator.
    pub(crate) fn logic(&mut self, op: Op, args: &[Var], span: Span) -> Var {
        let args = args.iter().map(|var| self.read(*var, span)).collect();
        let made = self.apply(op, args, Type::condition(), span);
        self.define(made)
    }

    /// The expression `var when c1 when not c2 ..`.
    pub(crate) fn sampled(&mut self, var: Var, chain: &[(Var, bool)], span: Span) -> ExprId {
        let value = self.read(var, span);
        sampled(&mut self.node, value, chain, span)
    }

    fn source(&mut self, source: Source, chain: &[(Var, bool)], ty: &Type, span: Span) -> ExprId {
        match source {
            Source::Var(var) => self.sampled(var, chain, span),
            Source::Fill(x) => self.fill(ty, x, span),
        }
    }

    /// `value` in the entries where the clock of `chain` is present, and `other` in the remaining ones. `value` is on
    /// the clock of `chain`, and `other` on the clock of the inputs.
    pub(crate) fn or_else(
        &mut self,
        chain: &[(Var, bool)],
        (value, other): (Source, Source),
        ty: &Type,
        span: Span,
    ) -> ExprId {
        let mut made = match value {
            Source::Var(var) => self.read(var, span),
            Source::Fill(x) => self.fill(ty, x, span),
        };
        for (at, &(cond, positive)) in chain.iter().enumerate().rev() {
            let mut outside = chain[..at].to_vec();
            outside.push((cond, !positive));
            let outside = self.source(other, &outside, ty, span);
            let cond = self.read(cond, span);
            let (on_true, on_false) = if positive { (made, outside) } else { (outside, made) };
            made = self.push(ExprKind::Merge { cond, on_true, on_false }, ty.clone(), span);
        }
        made
    }

    /// Fixes the names of all calls to their present names, which then no longer depend on the order of equations.
    /// Moves parameters to variables with their names.
    pub(crate) fn fix_names(&mut self, name: &dyn Fn(Callee) -> (Arc<str>, u8)) {
        for (name, part) in of_node(&self.node, name) {
            match part {
                Part::Call(expr) => {
                    if let ExprKind::Call { instance, .. } = &mut self.node.exprs[expr].kind {
                        *instance = Some(name.into());
                    }
                }
                Part::Parameter(expr) => {
                    let alone = self.node.equations.iter().any(|equation| equation.rhs == expr);
                    if !alone {
                        let made = self.moved(expr);
                        let var = self.define(made);
                        self.node.vars[var].name = Some(name.into());
                        self.node.exprs[expr].kind = ExprKind::Var(var);
                    }
                }
            }
        }
    }

    /// Defines a variable for each condition of a sampling that is not a variable.
    pub(crate) fn name_conditions(&mut self) {
        for cond in unnamed(&self.node) {
            let made = self.moved(cond);
            let var = self.define(made);
            self.node.exprs[cond].kind = ExprKind::Var(var);
        }
    }

    /// All expressions, equation by equation.
    pub(crate) fn in_order(&self) -> Vec<ExprId> {
        let mut found = Vec::with_capacity(self.node.exprs.len());
        for equation in &self.node.equations {
            let mut todo = vec![equation.rhs];
            while let Some(expr) = todo.pop() {
                found.push(expr);
                todo.extend(self.node.exprs[expr].kind.operands().into_iter().rev());
            }
        }
        found
    }

    /// The equation that has this expression as its right side.
    pub(crate) fn equation_of(&self, expr: ExprId) -> Option<usize> {
        self.node.equations.iter().position(|equation| equation.rhs == expr)
    }
}
