//! Records in a copy: the variables of their fields, and forms that apply to each field.

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span, suggest};
use rml_ir::typed::StaticValue;

use super::copy::Copy as Copying;
use super::kinds::{Kind, Value, declared};
use crate::builtins::Builtin;
use crate::hir::{
    Call, Equation, Expr, ExprId, ExprKind, Local, LocalData, LocalKind, Node, SourceId, Structure,
};

impl Copying<'_, '_> {
    /// Adds variables with that name: one variable, or one for each field.
    pub(super) fn variables(
        &mut self,
        (name, span): (Arc<str>, Span),
        kind: LocalKind,
        of: Option<Kind>,
    ) -> Value<Local> {
        let Some(of) = of else {
            let data = LocalData { name, span, kind, types: Vec::new(), clock: None, element: None };
            return Value::One(self.locals.push(data));
        };
        let record = Arc::clone(&self.program().nodes[of.record]);
        let formal = (kind == LocalKind::Formal).then(|| name.clone());
        let fields = of.fields(self.program()).into_iter().map(|(field, inner)| {
            let text = record.name_of(field).clone();
            let names = self.variables((format!("{name}.{text}").into(), span), kind, inner);
            if let Value::One(local) = names {
                self.field_type(&record, field, (formal.as_deref(), of.stacked), local);
            }
            (text, names)
        });
        Value::Record(of, fields.collect())
    }

    /// Expressions that read the variables.
    pub(super) fn read(&mut self, names: &Value<Local>, span: Span) -> Value<ExprId> {
        match names {
            Value::One(local) => Value::One(self.sampled(*local, 0, span)),
            Value::Record(kind, fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.read(value, span)));
                Value::Record(*kind, fields.collect())
            }
        }
    }

    /// `zeros_like` of each field. Only the type of a field matters, so the branches that sample it are ignored.
    fn zeros_like(&mut self, names: &Value<Local>, span: Span) -> Value<ExprId> {
        match names {
            Value::One(local) => {
                let like = self.push(ExprKind::Local(*local), span);
                let which = Builtin::ZerosLike;
                Value::One(self.push(ExprKind::Builtin { which, args: vec![like] }, span))
            }
            Value::Record(kind, fields) => {
                let fields = fields.iter().map(|(name, of)| (name.clone(), self.zeros_like(of, span)));
                Value::Record(*kind, fields.collect())
            }
        }
    }

    /// Expands an expression of the template that is a record.
    pub(super) fn record(&mut self, id: ExprId) -> Value<ExprId> {
        let template = Arc::clone(&self.template);
        let span = template.exprs[id].span;
        match &template.exprs[id].kind {
            ExprKind::Local(local) => match self.fields.get(local).cloned() {
                Some(names) => self.read(&names, span),
                None => Value::One(self.plain(id)),
            },
            &ExprKind::If { cond, then, other }
            | &ExprKind::Structure(Structure::Choose { cond, then, other }) => match self.early(cond) {
                Ok(StaticValue::Bool(c)) => self.value(if c { then } else { other }),
                _ => self.lifted(id, &[then, other], Some(cond), "the branches of `if`", &|cond, parts| {
                    ExprKind::If { cond: cond[0], then: parts[0], other: parts[1] }
                }),
            },
            &ExprKind::Merge { cond, on_true, on_false } => self.lifted(
                id,
                &[on_true, on_false],
                Some(cond),
                "the branches of `merge`",
                &|cond, parts| ExprKind::Merge { cond: cond[0], on_true: parts[0], on_false: parts[1] },
            ),
            &ExprKind::When { value, cond } => self.lifted(id, &[value], Some(cond), "", &|cond, parts| {
                ExprKind::When { value: parts[0], cond: cond[0] }
            }),
            &ExprKind::Fby { init, next } => {
                let (init, next) = (self.with_span(init), self.with_span(next));
                self.combined(&[init, next], span, "the operands of `fby`", &mut |_, parts| ExprKind::Fby {
                    init: parts[0],
                    next: parts[1],
                })
            }
            &ExprKind::FbyBack { init, next } => {
                self.lifted(id, &[init, next], None, "the operands of `fby back`", &|_, parts| {
                    ExprKind::FbyBack { init: parts[0], next: parts[1] }
                })
            }
            &ExprKind::Post(next) => self.lifted(id, &[next], None, "", &|_, parts| ExprKind::Post(parts[0])),
            ExprKind::Builtin { which: Builtin::ZerosLike, args } => {
                let ExprKind::Local(like) = template.exprs[args[0]].kind else {
                    return Value::One(self.plain(id));
                };
                let names = self.names(like);
                self.zeros_like(&names, span)
            }
            ExprKind::Builtin { which, args } => {
                let which = *which;
                self.lifted(id, &args[..1], None, "", &|_, parts| ExprKind::Builtin {
                    which,
                    args: vec![parts[0]],
                })
            }
            ExprKind::Structure(Structure::Member { family, index }) => {
                match self.member_names(*family, *index, span) {
                    Some(names) => self.read(&names, span),
                    None => Value::One(self.in_error(Vec::new(), span)),
                }
            }
            _ => Value::One(self.plain(id)),
        }
    }

    fn with_span(&mut self, id: ExprId) -> (Value<ExprId>, Span) {
        (self.value(id), self.template.exprs[id].span)
    }

    /// Expands a form that applies to each field of its operands, with the same condition for all fields.
    fn lifted(
        &mut self,
        id: ExprId,
        operands: &[ExprId],
        cond: Option<ExprId>,
        what: &str,
        make: &dyn Fn(&[ExprId], &[ExprId]) -> ExprKind,
    ) -> Value<ExprId> {
        let span = self.template.exprs[id].span;
        let values: Vec<_> = operands.iter().map(|operand| self.with_span(*operand)).collect();
        let name = cond.map(|cond| {
            let span = self.template.exprs[cond].span;
            let cond = self.expr(cond);
            (self.hoisted(cond, "if", span), span)
        });
        self.combined(&values, span, what, &mut |copy, parts| {
            let cond = name.map(|(local, span)| copy.push(ExprKind::Local(local), span));
            make(cond.as_slice(), parts)
        })
    }

    /// Expands a form as [`lifted`](Self::lifted) does, for operands that are already expanded.
    pub(super) fn combined(
        &mut self,
        values: &[(Value<ExprId>, Span)],
        span: Span,
        what: &str,
        make: &mut dyn FnMut(&mut Self, &[ExprId]) -> ExprKind,
    ) -> Value<ExprId> {
        let Some((first, _)) = values.first() else { return Value::One(self.in_error(Vec::new(), span)) };
        let kind = first.kind();
        if let Some((other, at)) = values.iter().find(|(value, _)| value.kind() != kind) {
            let parts: Vec<ExprId> = values.iter().flat_map(|(value, _)| value.leaves()).collect();
            if !parts.iter().any(|part| self.is_reported(*part)) {
                let d = self.differ(what, (kind, values[0].1), (other.kind(), *at));
                self.say(d);
            }
            return Value::One(self.in_error(parts, span));
        }
        let Value::Record(kind, fields) = first else {
            let parts: Vec<ExprId> = values.iter().flat_map(|(value, _)| value.leaves()).collect();
            let kind = make(self, &parts);
            return Value::One(self.push(kind, span));
        };
        let fields = fields.iter().enumerate().map(|(i, (name, _))| {
            let of = |(value, span): &(Value<ExprId>, Span)| match value {
                Value::Record(_, fields) => fields.get(i).map(|(_, value)| (value.clone(), *span)),
                Value::One(_) => None,
            };
            let values: Vec<_> = values.iter().filter_map(of).collect();
            (name.clone(), self.combined(&values, span, what, make))
        });
        Value::Record(*kind, fields.collect())
    }

    /// Reports values that must have the same kind and do not.
    fn differ(
        &self,
        what: &str,
        (want, first): (Option<Kind>, Span),
        (found, at): (Option<Kind>, Span),
    ) -> Diagnostic {
        let (want, found) = (self.kind_text(want), self.kind_text(found));
        let d = Diagnostic::error(codes::RECORD_VALUE, format!("{what}: expected {want}, found {found}"))
            .label(at, format!("this is {found}"));
        let d = if first == at { d } else { d.label(first, format!("this is {want}")) };
        d.help("make a record of its fields with the name of the record: `state(h, c)`")
    }

    /// Reports a variable whose declared kind differs from that of its equation.
    pub(super) fn misfit(
        &self,
        names: &Value<Local>,
        value: &Value<ExprId>,
        at: Span,
        span: Span,
    ) -> Diagnostic {
        self.differ("this equation", (names.kind(), at), (value.kind(), span))
    }

    /// The name of a kind in messages.
    pub(super) fn kind_text(&self, kind: Option<Kind>) -> String {
        match kind {
            None => "a value that is no record".to_owned(),
            Some(kind) => {
                let name = &self.program().nodes[kind.record].name;
                if kind.gradient {
                    format!("the gradient of the record {name}")
                } else {
                    format!("the record {name}")
                }
            }
        }
    }

    /// Expands `state(h, c)`.
    pub(super) fn constructed(
        &mut self,
        record: SourceId,
        args: Vec<(Value<ExprId>, Span)>,
        span: Span,
    ) -> Value<ExprId> {
        let kind = Kind::of(record);
        let node = Arc::clone(&self.program().nodes[record]);
        let fields = kind.fields(self.program());
        if args.len() != fields.len() {
            let parts = args.iter().flat_map(|(value, _)| value.leaves()).collect();
            return Value::One(self.in_error(parts, span));
        }
        let mut made = Vec::with_capacity(args.len());
        for ((field, want), (value, at)) in fields.into_iter().zip(args) {
            let name = node.name_of(field);
            if value.kind() != want {
                let parts = value.leaves();
                if !parts.iter().any(|part| matches!(self.exprs[*part].kind, ExprKind::Error(_))) {
                    let what = format!("the field `{name}` of `{}`", node.name);
                    let d = self.differ(&what, (want, at), (value.kind(), at));
                    self.say(d.label(node.locals[field].span, "declared here"));
                }
                return Value::One(self.in_error(parts, span));
            }
            made.push((name.clone(), value));
        }
        Value::Record(kind, made)
    }

    /// The variables of an expression that is a name, a member, or a field of one of these.
    fn names_of(&self, id: ExprId) -> Option<Value<Local>> {
        let template = Arc::clone(&self.template);
        match &template.exprs[id].kind {
            ExprKind::Local(local) => self.fields.get(local).cloned(),
            ExprKind::Structure(Structure::Member { family, index }) => {
                let Ok(StaticValue::Int(k)) = self.early(*index) else { return None };
                self.members.get(family)?.get(&k).cloned()
            }
            ExprKind::Structure(Structure::Field { base, field, .. }) => match self.names_of(*base)? {
                Value::Record(_, fields) => fields.into_iter().find(|(name, _)| name == field).map(|f| f.1),
                Value::One(_) => None,
            },
            _ => None, // All other forms are computed.
        }
    }

    /// Expands `s.h`.
    pub(super) fn field(&mut self, id: ExprId, base: ExprId, field: &str, span: Span) -> Value<ExprId> {
        let at = self.template.exprs[base].span;
        if self.kind(base).is_some()
            && let Some(names) = self.names_of(id)
        {
            return self.read(&names, span);
        }
        match self.value(base) {
            Value::Record(kind, fields) => {
                let found = fields.iter().find(|(name, _)| **name == *field);
                if let Some((_, value)) = found {
                    return value.clone();
                }
                let node = &self.program().nodes[kind.record];
                let text = self.kind_text(Some(kind));
                let d = Diagnostic::error(codes::RECORD_FIELD, format!("{text} has no field `{field}`"))
                    .label(span, "not a field")
                    .label(node.name_span, "the record");
                let names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
                let d = match suggest(field, names.iter().copied()) {
                    Some(near) => d.fix(format!("there is `{near}`"), span, near),
                    None => d.help(format!("its fields are {}", names.join(", "))),
                };
                self.say(d);
                let parts = fields.iter().flat_map(|(_, value)| value.leaves()).collect();
                Value::One(self.in_error(parts, span))
            }
            Value::One(value) => {
                if !self.is_reported(value) {
                    let d = no_record(field, at, span);
                    self.say(d);
                }
                Value::One(self.in_error(vec![value], span))
            }
        }
    }

    /// Whether an expression or a part of it is in error, or reads a variable that is.
    pub(super) fn is_reported(&self, value: ExprId) -> bool {
        match &self.exprs[value].kind {
            ExprKind::Error(_) => true,
            ExprKind::Local(local) => self.locals[*local].kind == LocalKind::Undefined,
            other => other.children().into_iter().any(|part| self.is_reported(part)),
        }
    }

    /// Reports a record where one value is expected.
    pub(super) fn no_value(&mut self, value: &Value<ExprId>, span: Span, name: Option<&str>) -> ExprId {
        let parts = value.leaves();
        if parts.iter().any(|part| self.is_reported(*part)) {
            return self.in_error(parts, span);
        }
        let text = self.kind_text(value.kind());
        let first = match value {
            Value::Record(_, fields) => fields.first().map_or("h".into(), |(name, _)| name.clone()),
            Value::One(_) => "h".into(),
        };
        let d = Diagnostic::error(codes::RECORD_VALUE, format!("{text} is no single value"))
            .label(span, "a value is expected here")
            .note("`fby`, `post`, `when`, `merge`, `if`, `match`, `param` and calls of nodes take records")
            .help(format!("name a field: `{}.{first}`", name.unwrap_or("s")));
        self.say(d);
        self.in_error(parts, span)
    }

    /// Reports outputs that are records but are not declared as such; callers depend on the declaration.
    pub(super) fn undeclared_outputs(&mut self) {
        let template = Arc::clone(&self.template);
        for &output in &template.outputs {
            let Some(kind) = self.kinds.get(&output).copied() else { continue };
            if declared(&template, output).is_some() {
                continue;
            }
            let name = template.name_of(output);
            let record = self.program().nodes[kind.record].name.clone();
            let d = Diagnostic::error(
                codes::RECORD_VALUE,
                format!("the output `{name}` is a record, and not declared as one"),
            )
            .label(template.locals[output].span, format!("this is {}", self.kind_text(Some(kind))))
            .label(template.span, "the interface")
            .help(format!("write its type in the list of outputs: `{name}: {record}`"));
            self.say(d);
        }
    }

    /// The values of an argument that must be of that kind.
    pub(super) fn fitting(
        &mut self,
        value: Value<ExprId>,
        want: Option<Kind>,
        (callee, formal): (&Node, Option<Local>),
        span: Span,
    ) -> Vec<ExprId> {
        let parts = value.leaves();
        let broken = parts.iter().any(|part| matches!(self.exprs[*part].kind, ExprKind::Error(_)));
        if value.kind() == want || broken && want.is_none() {
            return parts;
        }
        let size = want.map_or(1, |want| want.size(self.program()));
        if !broken {
            let name = formal.map_or("", |formal| callee.name_of(formal));
            let what = format!("input `{name}` of `{}`", callee.name);
            let mut d = self.differ(&what, (want, span), (value.kind(), span));
            if let Some(formal) = formal {
                d = d.label(callee.locals[formal].span, "declared here");
            }
            if let (None, Some(kind)) = (want, value.kind()) {
                let record = &self.program().nodes[kind.record].name;
                d.help = vec![format!("declare the input as a record, `{name}: {record}`, or pass a field")];
            }
            self.say(d);
        }
        (0..size).map(|_| self.in_error(Vec::new(), span)).collect()
    }

    /// Adds an expression in error.
    pub(super) fn in_error(&mut self, parts: Vec<ExprId>, span: Span) -> ExprId {
        self.push(ExprKind::Error(parts), span)
    }

    pub(super) fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let restarts = !self.flags.is_empty() && matches!(kind, ExprKind::Fby { .. });
        let made = self.exprs.push(Expr { kind, span });
        if restarts {
            let flags = self.flags(span);
            self.restarts.insert(made, flags);
        }
        made
    }

    /// The value of a call: an expression, or a record whose fields are new variables.
    pub(super) fn called(&mut self, call: Call, kinds: &[Option<Kind>], span: Span) -> Value<ExprId> {
        let name = self.program().nodes[call.callee].name.clone();
        let rhs = self.push(ExprKind::Call(Box::new(call)), span);
        let [Some(kind)] = kinds else { return Value::One(rhs) };
        let name = self.fresh(&name);
        let names = self.variables((name, span), LocalKind::Defined { equation: 0 }, Some(*kind));
        let lhs = names.leaves().into_iter().map(|local| (Some(local), span)).collect();
        self.extra.push(Equation { lhs, rhs, span, family: None });
        self.here(&names, span)
    }

    /// The variables as expressions; they are on the current clock.
    fn here(&mut self, names: &Value<Local>, span: Span) -> Value<ExprId> {
        match names {
            Value::One(local) => Value::One(self.push(ExprKind::Local(*local), span)),
            Value::Record(kind, fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.here(value, span)));
                Value::Record(*kind, fields.collect())
            }
        }
    }
}

/// The error that the operand of a field access is not a record.
fn no_record(field: &str, at: Span, span: Span) -> Diagnostic {
    let d = Diagnostic::error(codes::RECORD_FIELD, format!("only a record has a field `{field}`"))
        .label(at, "this is no record")
        .label(span, "a field");
    match crate::habits::field(field) {
        Some(help) => d.help(help),
        None => d.help(
            "a record is made by its name: `record state = (h: num [n], c: num [n]);`, `s = state(h, c);`, `s.h`",
        ),
    }
}
