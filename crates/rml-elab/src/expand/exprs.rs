//! The expressions of a copy.

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::op::AxisIndex;
use rml_ir::typed::StaticValue;
use rml_syntax::ast::{Literal, UnaryOp};

use super::calls::Made;
use super::copy::Copy;
use super::early::Why;
use super::kinds::Value;
use crate::hir::Structure;
use crate::hir::{Expr, ExprId, ExprKind, Index, Item, Local, LocalKind, SourceId};
use crate::statics::arith;

/// The maximum number of names of constants that are followed to find a case.
const MAX_NAMES: usize = 16;

impl Copy<'_, '_> {
    /// Expands the right side of an equation with `results` results: a call, or a value.
    pub(super) fn top(&mut self, id: ExprId, results: usize) -> Made {
        let template = Arc::clone(&self.template);
        let expr = &template.exprs[id];
        match &expr.kind {
            ExprKind::Call(call) => self.call_of(call, expr.span, results),
            ExprKind::Structure(Structure::Apply(apply)) => self.apply(apply, expr.span, results),
            ExprKind::Structure(choose @ Structure::Choose { .. }) => match self.choice(choose) {
                Some(branch) => self.top(branch, results),
                None => Made::Value(self.value(id)),
            },
            _ => Made::Value(self.value(id)),
        }
    }

    /// Expands an expression of the template that is one value, not a record.
    pub(super) fn expr(&mut self, id: ExprId) -> ExprId {
        match self.value(id) {
            Value::One(value) => value,
            record @ Value::Record(..) => {
                let span = self.template.exprs[id].span;
                let name = crate::text::short(&self.template, id);
                self.no_value(&record, span, name.as_deref())
            }
        }
    }

    /// Expands an expression of the template.
    pub(super) fn value(&mut self, id: ExprId) -> Value<ExprId> {
        let template = Arc::clone(&self.template);
        let span = template.exprs[id].span;
        match &template.exprs[id].kind {
            ExprKind::Call(call) => {
                let made = self.call_of(call, span, 1);
                self.operand(made, span)
            }
            ExprKind::Structure(Structure::Apply(apply)) => {
                let made = self.apply(apply, span, 1);
                self.operand(made, span)
            }
            ExprKind::Structure(Structure::Match { value, cases }) => self.matched(*value, cases, span),
            ExprKind::Structure(Structure::States { value, names, cases }) => {
                self.by_state(*value, names, cases, span)
            }
            ExprKind::Structure(Structure::Field { base, field, span }) => {
                self.field(id, *base, field, *span)
            }
            ExprKind::Structure(Structure::By { param, rule }) => self.by(*param, *rule),
            _ if self.kind(id).is_some() => self.record(id),
            _ => Value::One(self.plain(id)),
        }
    }

    /// Expands a call that is an operand.
    fn operand(&mut self, made: Made, span: Span) -> Value<ExprId> {
        match made {
            Made::Call(call, kinds) => self.called(call, &kinds, span),
            Made::Value(value) => value,
        }
    }

    /// Expands an expression of the template that is not a record.
    pub(super) fn plain(&mut self, id: ExprId) -> ExprId {
        let template = Arc::clone(&self.template);
        let expr = &template.exprs[id];
        let span = expr.span;
        let kind = match &expr.kind {
            ExprKind::Literal(literal) => ExprKind::Literal(*literal),
            ExprKind::Text(text) => ExprKind::Text(text.clone()),
            ExprKind::Local(local) => return self.local(*local, id, span),
            ExprKind::Array(items) => ExprKind::Array(self.items(items)),
            ExprKind::Entry(index) => ExprKind::Entry(self.index_entry(index)),
            ExprKind::Index { base, indices } => ExprKind::Index {
                base: self.expr(*base),
                indices: indices.iter().map(|index| self.index_entry(index)).collect(),
            },
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.expr(*a)),
            ExprKind::Binary(op, a, b) if self.kind(*a).or(self.kind(*b)).is_some() => {
                return self.no_arithmetic(span, *op, [*a, *b]);
            }
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
            ExprKind::Builtin { which, args } if which.takes_type() => {
                let named = args.iter().take(1).map(|arg| self.name(*arg)).collect::<Vec<_>>();
                let others = args.iter().skip(1).map(|arg| self.expr(*arg)).collect::<Vec<_>>();
                ExprKind::Builtin { which: *which, args: [named, others].concat() }
            }
            ExprKind::Builtin { which, args } => ExprKind::Builtin { which: *which, args: self.all(args) },
            ExprKind::Call(_) => return self.expr(id),
            ExprKind::Params(share, path) => ExprKind::Params(*share, path.clone()),
            ExprKind::Structure(structure) => match self.structure(structure, span) {
                Ok(kind) => kind,
                Err(same) => return same,
            },
            ExprKind::Error(parts) => ExprKind::Error(self.all(parts)),
        };
        self.push(kind, span)
    }

    fn all(&mut self, exprs: &[ExprId]) -> Vec<ExprId> {
        exprs.iter().map(|e| self.expr(*e)).collect()
    }

    fn conditional(&mut self, cond: ExprId, then: ExprId, other: ExprId) -> ExprKind {
        ExprKind::If { cond: self.expr(cond), then: self.expr(then), other: self.expr(other) }
    }

    /// Expands forms that only templates have. `Err` contains an expression that replaces the form.
    fn structure(&mut self, structure: &Structure, span: Span) -> Result<ExprKind, ExprId> {
        Ok(match structure {
            Structure::Member { family, index } => match self.member_names(*family, *index, span) {
                Some(Value::One(member)) => return Err(self.sampled(member, 0, span)),
                Some(Value::Record(..)) | None => ExprKind::Error(Vec::new()),
            },
            Structure::Members { family, part } => self.members_of(*family, part, span),
            Structure::Share { .. } => ExprKind::Error(Vec::new()), // Not an operand.
            Structure::Params { of, path } => return Err(self.params(*of, path, span)),
            Structure::Apply(_)
            | Structure::Match { .. }
            | Structure::States { .. }
            | Structure::By { .. }
            | Structure::Field { .. } => {
                ExprKind::Error(Vec::new()) // see `value`
            }
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

    /// Expands a name: a static name is replaced by its value.
    fn local(&mut self, local: Local, expr: ExprId, span: Span) -> ExprId {
        let kind = match self.template.locals[local].kind {
            LocalKind::Index | LocalKind::Constant(_) => match self.static_name(local) {
                Some(value) => {
                    let of = self.enum_of(local);
                    return self.literal_of(&value, of, span);
                }
                None => ExprKind::Error(Vec::new()),
            },
            LocalKind::Formal | LocalKind::Defined { .. } | LocalKind::Family => {
                let made = self.mapped(local);
                if self.is_variable(local, expr) {
                    return self.sampled(made, 0, span);
                }
                if let Some(value) = self.constant_value(local, made, expr) {
                    let of = self.case_of(local);
                    return self.literal_of(&value, of, span);
                }
                ExprKind::Local(made)
            }
            LocalKind::Dim | LocalKind::Undefined | LocalKind::Node => ExprKind::Local(self.mapped(local)),
        };
        self.push(kind, span)
    }

    /// The value of a variable that is a constant, where the variable would have to be sampled.
    fn constant_value(&self, local: Local, made: Local, expr: ExprId) -> Option<StaticValue> {
        let is_defined = matches!(self.template.locals[local].kind, LocalKind::Defined { .. });
        let is_record = self.kinds.contains_key(&local);
        let sampled = self.branches.open.len() > self.depth_of(made);
        let is_stream = self.template.roles.get(local) == Some(&crate::hir::Role::Stream);
        let value = self.early(expr).ok();
        value.filter(|_| is_defined && sampled && is_stream && !is_record)
    }

    /// The enumeration, if a variable is defined to be a case.
    fn case_of(&self, local: Local) -> Option<SourceId> {
        let LocalKind::Defined { equation } = self.template.locals[local].kind else { return None };
        match self.template.exprs[self.template.equations.get(equation)?.rhs].kind {
            ExprKind::Local(constant) => self.enum_of(constant),
            _ => None, // Other forms are not known to be cases.
        }
    }

    /// Expands a name that is the operand of `shape`; its shape is the same in all branches.
    fn name(&mut self, arg: ExprId) -> ExprId {
        match self.template.exprs[arg].kind {
            ExprKind::Local(local) if !self.kinds.contains_key(&local) => {
                let span = self.template.exprs[arg].span;
                let made = self.mapped(local);
                self.push(ExprKind::Local(made), span)
            }
            _ => self.expr(arg),
        }
    }

    /// The enumeration of a constant that is a case, or another name of a case.
    pub(super) fn enum_of(&self, local: Local) -> Option<SourceId> {
        let LocalKind::Constant(mut id) = self.template.locals[local].kind else { return None };
        for _ in 0..MAX_NAMES {
            if let Some(of) = self.program().scopes.enum_of(id) {
                return Some(of);
            }
            let node = &self.program().nodes[id];
            let ExprKind::Local(next) = node.exprs[node.equations.first()?.rhs].kind else { return None };
            let LocalKind::Constant(next) = node.locals[next].kind else { return None };
            id = next;
        }
        None
    }

    /// A static value as a literal; a case if an enumeration is given.
    pub(super) fn literal_of(&mut self, value: &StaticValue, of: Option<SourceId>, span: Span) -> ExprId {
        let kind = self.literal(value, span);
        let id = self.push(kind, span);
        if let Some(of) = of {
            self.cases.insert(id, of);
        }
        id
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

    /// A static value as an expression.
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
        let places = match *index {
            Index::At(e) => [Some(e), None],
            Index::Slice { lo, hi, .. } => [lo, hi],
            Index::Ellipsis(_) => [None; 2],
        };
        places.into_iter().flatten().for_each(|place| self.counted_from_the_end(place));
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

    /// Refuses a negative entry, or bound of a slice, that is computed from the index of a family: only a literal
    /// number may count from the end.
    fn counted_from_the_end(&mut self, entry: ExprId) {
        let Some((index, k)) = self.index.filter(|(index, _)| self.reads(entry, *index)) else { return };
        if let Ok(StaticValue::Int(at)) = self.early(entry)
            && at < 0
        {
            let name = self.template.name_of(index);
            let d = Diagnostic::error(codes::STATIC_VALUE, format!("the entry {at} is read where {name} = {k}"))
                .label(self.template.exprs[entry].span, format!("this is {at}"))
                .note("an index that is written as a number counts from the end if it is negative, a computed one does not")
                .help("begin with a later index, `for 1 <= k < n`, and write an equation of its own for the first one");
            self.say(d);
        }
    }

    /// Whether an expression of the template reads the variable `local`.
    fn reads(&self, id: ExprId, local: Local) -> bool {
        match &self.template.exprs[id].kind {
            ExprKind::Local(read) => *read == local,
            kind => kind.children().into_iter().any(|part| self.reads(part, local)),
        }
    }

    /// Whether an expression of the template reads a variable.
    fn is_computed(&self, id: ExprId) -> bool {
        match &self.template.exprs[id].kind {
            ExprKind::Local(_) => true,
            kind => kind.children().into_iter().any(|part| self.is_computed(part)),
        }
    }

    /// The variables of `h[k]`
    pub(super) fn member_names(&mut self, family: Local, index: ExprId, span: Span) -> Option<Value<Local>> {
        if let Some(d) = self.stream_as_index(family, index) {
            self.say(d);
            self.unknown = true;
            return None;
        }
        let written = self.needed_int(index, "the index of a variable")?;
        if written < 0 && self.is_computed(index) {
            let name = self.template.name_of(family).clone();
            self.say(
                Diagnostic::error(codes::STATIC_VALUE, format!("the index of `{name}` is {written} here"))
                    .label(self.template.exprs[index].span, match self.index {
                        Some(_) => format!("this is {written} for one of the members"),
                        None => format!("this is {written}"),
                    })
                    .note("an index that is written as a number counts from the end if it is negative, a computed one does not")
                    .help(format!(
                        "define the first member alone, and the others by the one before: `{name}[0] = ..;` and `{name}[k + 1] = .. for k < n;` with `{name}[k]` on the right side"
                    )),
            );
            return None;
        }
        let members = self.members.get(&family);
        let end =
            members.and_then(|members| members.keys().next_back()).map_or(0, |last| last.saturating_add(1));
        let k = if written < 0 { written.saturating_add(end) } else { written };
        let found = members.and_then(|members| members.get(&k)).cloned();
        if found.is_none() && !self.unknown {
            self.lacking.push((family, written));
            self.missing(family, written, span, "");
        }
        found
    }

    /// `h[1:3]`
    fn members_of(&mut self, family: Local, part: &Index, span: Span) -> ExprKind {
        let known: Vec<Local> =
            self.members.get(&family).into_iter().flat_map(|m| m.values()).flat_map(Value::leaves).collect();
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
