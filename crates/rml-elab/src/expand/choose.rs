//! `match` in a copy: complementary samplings and merges over all cases, as a tree in which each condition halves the
//! cases. So the depth of a `match` is the logarithm of its number of cases.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::typed::StaticValue;
use rml_syntax::ast::{BinaryOp, Literal, UnaryOp};

use super::branches::Branch;
use super::copy::Copy;
use super::kinds::Value;
use crate::hir::{Equation, ExprId, ExprKind, Local, LocalData, LocalKind, SourceId};

/// A `match` that is being expanded.
struct Choice<'a> {
    value: Local,
    /// The number of branches that were open where the value was named.
    depth: usize,
    cases: &'a [ExprId],
    names: &'a [Arc<str>],
    /// The enumeration; none for a state, which is a number.
    of: Option<SourceId>,
    span: Span,
}

impl Copy<'_, '_> {
    /// Expands `match p (Idle -> a, ..)`.
    pub(super) fn matched(
        &mut self,
        value: ExprId,
        cases: &[(SourceId, ExprId)],
        span: Span,
    ) -> Value<ExprId> {
        if let Ok(StaticValue::Int(k)) = self.early(value)
            && let Some((_, case)) = usize::try_from(k).ok().and_then(|k| cases.get(k))
        {
            return self.value(*case);
        }
        let Some(of) = cases.first().and_then(|(case, _)| self.program().scopes.enum_of(*case)) else {
            return Value::One(self.in_error(Vec::new(), span));
        };
        let (value, depth) = self.chosen(value);
        let names: Vec<Arc<str>> =
            cases.iter().map(|(case, _)| self.program().nodes[*case].name.clone()).collect();
        let cases: Vec<ExprId> = cases.iter().map(|(_, value)| *value).collect();
        let choice = Choice { value, depth, cases: &cases, names: &names, of: Some(of), span };
        self.range(&choice, 0, cases.len())
    }

    /// Expands the choice by the state of an automaton.
    pub(super) fn by_state(
        &mut self,
        value: ExprId,
        names: &[Arc<str>],
        cases: &[ExprId],
        span: Span,
    ) -> Value<ExprId> {
        let (value, depth) = self.chosen(value);
        self.range(&Choice { value, depth, cases, names, of: None, span }, 0, cases.len())
    }

    /// A name for the value that decides, and the number of branches that were open where it was named.
    fn chosen(&mut self, value: ExprId) -> (Local, usize) {
        let at = self.template.exprs[value].span;
        let depth = self.branches.open.len();
        match self.template.exprs[value].kind {
            ExprKind::Local(local) if self.is_variable(local, value) => {
                let local = self.mapped(local);
                (local, self.depth_of(local))
            }
            _ => {
                let value = self.expr(value);
                (self.hoisted(value, "match", at), depth)
            }
        }
    }

    /// Opens the branches in which the variable `value` is `number`.
    pub(super) fn open(&mut self, value: Local, number: usize, names: &[Arc<str>], span: Span) {
        let depth = self.depth_of(value);
        let choice = Choice { value, depth, cases: &[], names, of: None, span };
        let (mut lo, mut hi) = (0, names.len());
        while hi - lo > 1 {
            let mid = lo + (hi - lo) / 2;
            let cond = self.condition(&choice, lo, mid);
            let positive = number < mid;
            (lo, hi) = if positive { (lo, mid) } else { (mid, hi) };
            let label = label(&choice, lo, hi);
            self.branches.open.push(Branch { cond, positive, label });
        }
    }

    /// The number of branches that are open where a variable is defined.
    pub(super) fn depth_of(&self, local: Local) -> usize {
        self.branches.depths.get(&local).copied().unwrap_or(0)
    }

    /// The merged values of the cases from `lo` up to, and not including, `hi`.
    fn range(&mut self, choice: &Choice<'_>, lo: usize, hi: usize) -> Value<ExprId> {
        if hi - lo == 1 {
            let case = choice.cases[lo];
            return self.value(case);
        }
        let mid = lo + (hi - lo) / 2;
        let cond = self.condition(choice, lo, mid);
        let mut values = Vec::new();
        for (positive, from, to) in [(true, lo, mid), (false, mid, hi)] {
            let label = label(choice, from, to);
            self.branches.open.push(Branch { cond, positive, label });
            let value = self.range(choice, from, to);
            self.branches.open.pop();
            values.push((value, self.template.exprs[choice.cases[from]].span));
        }
        let span = choice.span;
        self.combined(&values, span, "the cases of `match`", &mut |copy, parts| {
            let cond = copy.push(ExprKind::Local(cond), span);
            ExprKind::Merge { cond, on_true: parts[0], on_false: parts[1] }
        })
    }

    /// A case as an expression.
    fn case(&mut self, of: Option<SourceId>, case: usize, span: Span) -> ExprId {
        let literal = Literal::Int(i64::try_from(case).unwrap_or(i64::MAX));
        let id = self.push(ExprKind::Literal(literal), span);
        if let Some(of) = of {
            self.cases.insert(id, of);
        }
        id
    }

    /// The condition that separates the cases from `lo` up to `mid` from those after them.
    fn condition(&mut self, choice: &Choice<'_>, lo: usize, mid: usize) -> Local {
        let key = ((choice.value, self.branches.open.clone()), lo, mid);
        if let Some(&known) = self.branches.conditions.get(&key) {
            return known;
        }
        let span = choice.span;
        let value = self.sampled(choice.value, choice.depth, span);
        let (op, case) = if mid - lo == 1 { (BinaryOp::Eq, lo) } else { (BinaryOp::Lt, mid) };
        let case = self.case(choice.of, case, span);
        let cond = self.push(ExprKind::Binary(op, value, case), span);
        let name = format!("{}.{}", self.locals[choice.value].name, label(choice, lo, mid));
        let local = self.named(cond, &name, span);
        self.branches.conditions.insert(key, local);
        local
    }

    /// A variable that was named where `depth` branches were open, sampled by the branches opened since then.
    pub(super) fn sampled(&mut self, local: Local, depth: usize, span: Span) -> ExprId {
        let depth = depth.max(self.depth_of(local));
        let Some(last) = self.branches.open.len().checked_sub(1).filter(|last| *last >= depth) else {
            return self.push(ExprKind::Local(local), span);
        };
        let mut inner = local;
        for end in depth..last {
            let key = (local, self.branches.open[depth..=end].to_vec());
            inner = match self.branches.sampled.get(&key) {
                Some(&known) => known,
                None => {
                    let name = format!("{}.{}", self.locals[local].name, self.branches.open[end].label);
                    let value = self.push(ExprKind::Local(inner), span);
                    let value = self.when(value, end, span);
                    let made = self.named(value, &name, span);
                    self.branches.sampled.insert(key, made);
                    made
                }
            };
        }
        let value = self.push(ExprKind::Local(inner), span);
        self.when(value, last, span)
    }

    /// A value, sampled by an open branch.
    pub(super) fn when(&mut self, value: ExprId, branch: usize, span: Span) -> ExprId {
        let Branch { cond, positive, .. } = self.branches.open[branch];
        let cond = self.push(ExprKind::Local(cond), span);
        let cond = if positive { cond } else { self.push(ExprKind::Unary(UnaryOp::Not, cond), span) };
        self.push(ExprKind::When { value, cond }, span)
    }

    /// Whether a name of the template is a stream and not a record, as far as that is known.
    pub(super) fn is_variable(&self, local: Local, expr: ExprId) -> bool {
        use crate::hir::Role;
        let kind = match self.template.locals[local].kind {
            LocalKind::Formal | LocalKind::Defined { .. } | LocalKind::Family => true,
            LocalKind::Dim
            | LocalKind::Undefined
            | LocalKind::Node
            | LocalKind::Index
            | LocalKind::Constant(_) => false,
        };
        let role = self.template.roles.get(local).copied().unwrap_or(Role::Stream);
        kind && !matches!(role, Role::Static | Role::Both)
            && !self.kinds.contains_key(&local)
            && self.early(expr).is_err()
    }

    /// A name for an expression, made of the variable of the current equation and `what`; the expression itself if it
    /// is a name.
    pub(super) fn hoisted(&mut self, expr: ExprId, what: &str, span: Span) -> Local {
        if let ExprKind::Local(local) = self.exprs[expr].kind {
            return local;
        }
        let name = format!("{}.{what}", self.target);
        self.named(expr, &name, span)
    }

    /// Defines a variable for an expression.
    pub(super) fn named(&mut self, expr: ExprId, name: &str, span: Span) -> Local {
        let name = self.fresh(name);
        let kind = LocalKind::Defined { equation: 0 };
        let data = LocalData { name, span, kind, types: Vec::new(), clock: None, element: None };
        let local = self.locals.push(data);
        self.extra.push(Equation { lhs: vec![(Some(local), span)], rhs: expr, span, family: None });
        local
    }

    /// `name`, or the first of `name1`, `name2`, .. that is not a variable of the copy.
    pub(super) fn fresh(&mut self, name: &str) -> Arc<str> {
        if self.taken.is_empty() {
            self.taken = self.locals.iter().map(|data| data.name.clone()).collect();
        }
        let numbered = (1_u64..).map(|k| format!("{name}{k}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered).map(Arc::<str>::from);
        let free = names.find(|name| !self.taken.contains(name)).unwrap_or_else(|| name.into());
        self.taken.insert(free.clone());
        free
    }
}

/// The cases of a branch as part of a name: `Heat`, `Heat_to_Cool`.
fn label(choice: &Choice<'_>, lo: usize, hi: usize) -> Arc<str> {
    let names = choice.names;
    if hi - lo == 1 { names[lo].clone() } else { format!("{}_to_{}", names[lo], names[hi - 1]).into() }
}
