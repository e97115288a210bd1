//! Defines the variables of a copy: types of fields, checked inputs, one equation per field.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::DType;
use rml_syntax::ast::Literal;

use super::calls::Made;
use super::copy::Copy;
use super::kinds::Value;
use crate::builtins::Builtin;
use crate::hir::{
    Element, Equation, Expr, ExprId, ExprKind, Item, Local, LocalData, LocalKind, Node, TypeDecl,
};

impl Copy<'_, '_> {
    /// Gives a variable the type of a field. Each input of a record type has its own named dimensions of the record.
    /// For other variables, a type with named dimensions only determines the element type; so does the type of a field
    /// of a stack.
    pub(super) fn field_type(
        &mut self,
        record: &Node,
        field: Local,
        (formal, stacked): (Option<&str>, bool),
        local: Local,
    ) {
        let Some(ty) = record.locals[field].types.first() else { return };
        let mut dims = (!stacked).then(Vec::new);
        for item in &ty.dims {
            let made = self.dimension(record, item, formal);
            dims = dims.zip(made).map(|(mut dims, made)| {
                dims.push(made);
                dims
            });
        }
        match dims {
            Some(dims) => {
                self.locals[local].types = vec![TypeDecl { element: ty.element, dims, span: ty.span }]
            }
            None => self.locals[local].element = Some((ty.element, ty.span)),
        }
    }

    /// An entry of the shape of a field; `None` if it contains a named dimension and `of` does not name an input.
    fn dimension(&mut self, record: &Node, item: &Item, of: Option<&str>) -> Option<Item> {
        match *item {
            Item::Splice(dim, span) => Some(Item::Splice(self.record_dim(record, dim, of?), span)),
            Item::Expr(e) => Some(Item::Expr(self.size(record, e, of)?)),
        }
    }

    /// A size in the shape of a field; `None` if it contains a named dimension and `of` does not name an input.
    fn size(&mut self, record: &Node, expr: ExprId, of: Option<&str>) -> Option<ExprId> {
        let span = record.exprs[expr].span;
        let kind = match &record.exprs[expr].kind {
            ExprKind::Literal(literal) => ExprKind::Literal(*literal),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.size(record, *a, of)?),
            ExprKind::Binary(op, a, b) => {
                ExprKind::Binary(*op, self.size(record, *a, of)?, self.size(record, *b, of)?)
            }
            ExprKind::Local(local) => match record.locals[*local].kind {
                LocalKind::Dim => ExprKind::Local(self.record_dim(record, *local, of?)),
                LocalKind::Constant(id) => {
                    let value = self.expansion.constants.get(&id)?.clone().ok()?;
                    self.literal(&value, span)
                }
                LocalKind::Formal
                | LocalKind::Defined { .. }
                | LocalKind::Undefined
                | LocalKind::Node
                | LocalKind::Family
                | LocalKind::Index => return None,
            },
            _ => return None, // A shape contains only arithmetic on names and numbers.
        };
        Some(self.push(kind, span))
    }

    /// The dimension `s.n` of an input `s`.
    fn record_dim(&mut self, record: &Node, dim: Local, of: &str) -> Local {
        let name: Arc<str> = format!("{of}.{}", record.name_of(dim)).into();
        let known = self.locals.iter_enumerated().find(|(_, data)| data.name == name);
        if let Some((known, _)) = known {
            return known;
        }
        let span = record.locals[dim].span;
        let data =
            LocalData { name, span, kind: LocalKind::Dim, types: Vec::new(), clock: None, element: None };
        self.locals.push(data)
    }

    /// Replaces each input of the root node that is a case by an expression that checks it to be a case, because data
    /// may contain any int.
    pub(super) fn checked_inputs(&mut self, formals: &[Local], equations: &mut Vec<Equation>) {
        if !self.env.is_root {
            return;
        }
        for &formal in formals {
            let Some(ty) = self.locals[formal].types.first_mut() else { continue };
            let Element::Case(of) = ty.element else { continue };
            ty.element = Element::Plain(DType::Int);
            let span = ty.span;
            let count = self.program().scopes.enums.get(&of).map_or(0, Vec::len);
            let all = (0..count).map(|case| {
                let case = Literal::Int(i64::try_from(case).unwrap_or(i64::MAX));
                let case = self.push(ExprKind::Literal(case), span);
                self.cases.insert(case, of);
                Item::Expr(case)
            });
            let all = all.collect();
            let all = self.push(ExprKind::Array(all), span);
            let given = self.push(ExprKind::Local(formal), span);
            let which = Builtin::Gather;
            let rhs = self.push(ExprKind::Builtin { which, args: vec![all, given] }, span);
            let name = self.fresh(&format!("{}.case", self.locals[formal].name));
            let kind = LocalKind::Defined { equation: 0 };
            let data = LocalData { name, span, kind, types: Vec::new(), clock: None, element: None };
            let checked = self.locals.push(data);
            equations.push(Equation { lhs: vec![(Some(checked), span)], rhs, span, family: None });
            self.map.values_mut().filter(|made| **made == formal).for_each(|made| *made = checked);
            self.fields.values_mut().for_each(|names| names.replace(formal, checked));
        }
    }

    /// Adds the equations that give variables the value of a right side.
    pub(super) fn define_by(
        &mut self,
        made: Made,
        lhs: &[(Option<Value<Local>>, Span)],
        equation: &Equation,
        equations: &mut Vec<Equation>,
    ) {
        let span = equation.span;
        let (rhs, kinds) = match made {
            Made::Call(call, kinds) => {
                (self.push(ExprKind::Call(Box::new(call)), self.template.exprs[equation.rhs].span), kinds)
            }
            Made::Value(value) => match lhs {
                [(Some(names), at)] => return self.define_fields(names, value, (*at, equation), equations),
                _ => match value {
                    Value::One(rhs) => {
                        // Expressions that read these variables report no errors of their own.
                        for (names, _) in lhs {
                            names.iter().flat_map(Value::leaves).for_each(|local| {
                                self.locals[local].kind = LocalKind::Undefined;
                            });
                        }
                        (rhs, Vec::new())
                    }
                    Value::Record(..) => {
                        let parts = value.leaves();
                        let lhs = parts.iter().map(|_| None);
                        equations.extend(lhs.zip(&parts).map(|(local, rhs)| Equation {
                            lhs: vec![(local, span)],
                            rhs: *rhs,
                            span,
                            family: None,
                        }));
                        return;
                    }
                },
            },
        };
        let sides = lhs.iter().enumerate().flat_map(|(i, (names, at))| {
            let dropped = || kinds.get(i).copied().flatten().map_or(1, |kind| kind.size(self.program()));
            let locals: Vec<Option<Local>> = match names {
                Some(names) => names.leaves().into_iter().map(Some).collect(),
                None => vec![None; dropped()],
            };
            locals.into_iter().map(|local| (local, *at)).collect::<Vec<_>>()
        });
        let lhs = sides.collect();
        equations.push(Equation { lhs, rhs, span, family: None });
    }

    /// Adds one equation for each variable of a record, or one equation for a value.
    fn define_fields(
        &mut self,
        names: &Value<Local>,
        value: Value<ExprId>,
        (at, equation): (Span, &Equation),
        equations: &mut Vec<Equation>,
    ) {
        let span = equation.span;
        let (locals, values) = (names.leaves(), value.leaves());
        let alike = match (names, &value) {
            (Value::One(_), Value::One(_)) => true,
            (Value::Record(a, _), Value::Record(b, _)) => a == b,
            (Value::One(_), Value::Record(..)) | (Value::Record(..), Value::One(_)) => false,
        };
        if alike {
            // Expressions that read a variable in error report no errors of their own.
            for (local, value) in locals.iter().zip(&values) {
                if matches!(self.exprs[*value].kind, ExprKind::Error(_)) {
                    self.locals[*local].kind = LocalKind::Undefined;
                }
            }
            let define = |(local, rhs)| Equation { lhs: vec![(Some(local), at)], rhs, span, family: None };
            equations.extend(locals.into_iter().zip(values).map(define));
            return;
        }
        let broken = values.iter().any(|value| matches!(self.exprs[*value].kind, ExprKind::Error(_)));
        let rhs_span = self.template.exprs[equation.rhs].span;
        if !broken {
            let d = self.misfit(names, &value, at, rhs_span);
            self.say(d);
        }
        let first = self.in_error(values, rhs_span);
        for (i, local) in locals.into_iter().enumerate() {
            let rhs = if i == 0 { first } else { self.in_error(Vec::new(), rhs_span) };
            equations.push(Equation { lhs: vec![(Some(local), at)], rhs, span, family: None });
        }
    }

    /// Adds the equations `h = stack(0, h[0], h[1], ..)`.
    pub(super) fn stack_equations(
        &mut self,
        family: Local,
        names: &Value<Local>,
        span: Span,
        equations: &mut Vec<Equation>,
    ) {
        for (i, local) in names.leaves().into_iter().enumerate() {
            let kind = self.stack(family, i, span);
            let rhs = self.exprs.push(Expr { kind, span });
            equations.push(Equation { lhs: vec![(Some(local), span)], rhs, span, family: None });
        }
    }
}
