//! Calls of nodes and adjoints.

use std::sync::Arc;

use rml_base::Diagnostic;
use rml_base::codes::elab as codes;
use rml_ir::typed::{self, Callee, ExprKind as T, Var, VarData};
use rml_ir::{DType, Type};

use super::expr::Made;
use super::{Emitter, interface, loss};
use crate::along::Entries;
use crate::hir::{Call, Equation, ExprId, ExprKind, Local, Order};
use crate::infer::adjoint::{Adjoint, Port};
use crate::instance::{Given, InstanceId};
use crate::statics::{Evaluated, Failure};

/// A call, the types of its results, and the axes that it runs along.
struct Called {
    kind: T,
    outputs: Vec<Type>,
    along: Option<Entries>,
}

impl Emitter<'_, '_> {
    /// Emits an equation whose right side is a call.
    pub(super) fn call_equation(&mut self, equation: &Equation) -> Evaluated<()> {
        let Called { kind, outputs, along } = self.call(equation.rhs)?;
        let span = self.node.exprs[equation.rhs].span;
        let key = (self.id, equation.rhs);
        let positions: Vec<usize> = match self.typed.adjoints.get(&key) {
            Some(adjoint) => adjoint.results.clone(),
            None => (0..outputs.len()).collect(),
        };
        let mut lhs: Vec<Option<Var>> = vec![None; outputs.len()];
        for (&(local, _), &position) in equation.lhs.iter().zip(&positions) {
            let Some(local) = local else { continue };
            let ty = outputs.get(position).ok_or(Failure::Unknown)?;
            self.result(local, ty, equation.rhs)?;
            lhs[position] = Some(self.var(local)?);
        }
        let ty = outputs.into_iter().next().unwrap_or_else(Type::condition);
        let (rhs, _) = self.push(kind, ty, span);
        self.tag(equation.rhs, rhs, along)?;
        self.equations.push(typed::Equation { lhs, rhs, span: equation.span });
        Ok(())
    }

    /// Emits a call that is an operand. A call of an adjoint, which has more than one output, gets an equation of its
    /// own.
    pub(super) fn call_operand(&mut self, expr: ExprId) -> Evaluated<Made> {
        let span = self.node.exprs[expr].span;
        let Called { kind, outputs, along } = self.call(expr)?;
        let ty = outputs.first().cloned().ok_or(Failure::Unknown)?;
        if outputs.len() == 1 {
            let made = self.push(kind, ty, span);
            self.tag(expr, made.0, along)?;
            return Ok(made);
        }
        let (rhs, _) = self.push(kind, ty.clone(), span);
        self.tag(expr, rhs, along)?;
        let var = self.vars.push(VarData { name: None, ty: ty.clone(), span, asserts: None, cases: None });
        let lhs = std::iter::once(Some(var)).chain(outputs.iter().skip(1).map(|_| None)).collect();
        self.equations.push(typed::Equation { lhs, rhs, span });
        Ok(self.push(T::Var(var), ty, span))
    }

    /// Notes the axes that a call runs along, the shared instance that it calls, and the flags that restart it.
    fn tag(&mut self, expr: ExprId, made: typed::ExprId, along: Option<Entries>) -> Evaluated<()> {
        self.along.extend(along.map(|along| (made, along)));
        let node = self.node;
        let Some(call) = node.as_call(expr) else { return Ok(()) };
        self.tags.calls.extend(call.share.map(|share| (made, share)));
        self.restarts(made, &call.restarts)
    }

    /// Notes the flags that restart a delay or a call.
    pub(super) fn restarts(&mut self, made: typed::ExprId, flags: &[Local]) -> Evaluated<()> {
        if !flags.is_empty() {
            let flags = flags.iter().map(|flag| self.var(*flag)).collect::<Evaluated<Vec<_>>>()?;
            self.tags.restarts.insert(made, flags);
        }
        Ok(())
    }

    /// Emits a call; returns it with the types of all outputs.
    fn call(&mut self, expr: ExprId) -> Evaluated<Called> {
        let node = self.node;
        let (Some(call), Some(&child)) =
            (node.as_call(expr), self.typed.tree.instances[self.id].calls.get(&expr))
        else {
            self.error(&self.typed.tree.operands(self.id, expr))?;
            return Err(Failure::Unknown);
        };
        let mut sound = true;
        let mut args = Vec::new();
        let own = self.typed.tree.node(child).formals.len();
        for position in 0..own {
            match self.argument(call, child, position) {
                Ok(Some(arg)) => args.push(arg),
                Ok(None) => {}
                Err(failure) => {
                    self.fail(call.args.get(position).copied(), failure);
                    sound = false;
                }
            }
        }
        let adjoint = self.typed.adjoints.get(&(self.id, expr)).cloned();
        if let Some(adjoint) = &adjoint {
            let extra: Vec<(usize, &(String, Port))> =
                (own..).zip(adjoint.inputs.iter().skip(args.len())).collect();
            if sound && extra.len() + own == call.args.len() {
                for (position, (name, port)) in extra {
                    match self.gradient(call, child, position, name, *port) {
                        Ok(arg) => args.push(arg),
                        Err(failure) => {
                            self.fail(call.args.get(position).copied(), failure);
                            sound = false;
                        }
                    }
                }
            }
        }
        let every = match call.clauses.every.map(|end| self.end(end)).transpose() {
            Ok(every) => every,
            Err(failure) => {
                self.fail(call.clauses.every, failure);
                sound = false;
                None
            }
        };
        let mut outputs = self.output_types(call, child, adjoint.as_ref())?;
        let along = if sound { self.entries((expr, call), child, &args, &mut outputs)? } else { None };
        let callee = self.nodes[child].filter(|_| sound).ok_or(Failure::Unknown)?;
        let callee = match call.order.times {
            0 => Callee::Node(callee),
            order => Callee::Diff { node: callee, order },
        };
        let (statics, member) = (self.statics_of(call, child), call.member.clone());
        let kind = T::Call { callee, args, every, statics, member, instance: None };
        Ok(Called { kind, outputs, along })
    }

    /// Emits the argument for a formal; `None` if it is static.
    fn argument(
        &mut self,
        call: &Call,
        child: InstanceId,
        position: usize,
    ) -> Evaluated<Option<typed::ExprId>> {
        let callee = self.typed.tree.node(child);
        let (Some(&formal), Some(&arg)) = (callee.formals.get(position), call.args.get(position)) else {
            return Err(Failure::Unknown);
        };
        if !self.typed.tree.is_stream(child, formal) {
            let value = self.typed.statics.name(&self.typed.tree, child, formal, callee.span);
            return value.map(|_| None);
        }
        let (made, ty) = self.expr(arg)?;
        let ty = self.entry_type(call, (child, position), ty)?;
        if self.type_of(child, formal)? != ty {
            interface::check_declared(self.typed, child, formal, &ty, Some((self.id, arg)))?;
            return Err(Failure::Unknown); // The element types differ, which is reported.
        }
        Ok(Some(made))
    }

    /// Emits an argument of an adjoint that is not an argument of the node itself.
    fn gradient(
        &mut self,
        call: &Call,
        child: InstanceId,
        position: usize,
        name: &str,
        port: Port,
    ) -> Evaluated<typed::ExprId> {
        let &arg = call.args.get(position).ok_or(Failure::Unknown)?;
        let span = self.node.exprs[arg].span;
        let (made, found) = self.expr(arg)?;
        let (ty, what) = match port {
            Port::Condition => (Type::condition(), "a scalar bool".to_owned()),
            Port::Like(local) => {
                let of = self.typed.tree.node(child).name_of(local);
                (self.type_of(child, local)?, format!("the type of `{of}`"))
            }
        };
        if ty == found {
            return Ok(made);
        }
        let code = if ty.dtype == found.dtype { codes::SHAPE_MISMATCH } else { codes::TYPE_MISMATCH };
        let mut d = Diagnostic::error(code, format!("`{name}` must have {what}"))
            .label(span, format!("this is {found}"))
            .label(self.typed.tree.node(child).span, "the node that is differentiated")
            .note(format!("expected {ty}, found {found}"));
        if let Some(paired) = crate::paired::find(self.typed, (self.id, arg), &ty.shape) {
            d = paired.told(d);
        } else if found.shape.is_scalar() && ty.dtype == found.dtype {
            d = match (self.first_result_of(arg), loss::of(self, arg)) {
                (Some((d_, others)), _) => d.help(format!(
                    "`{d_}` is what the node itself gives, and its gradients follow: did you mean `{others}`?"
                )),
                (None, Some(loss)) => loss.told(d),
                (None, None) => {
                    d.help("a gradient is not broadcast; `broadcast(shape(x), d)` repeats it explicitly")
                }
            };
        }
        Err(d.into())
    }

    /// For a variable that receives the first of several results of an adjoint: its name, and the name of the variable
    /// that receives the next result.
    fn first_result_of(&self, arg: ExprId) -> Option<(String, String)> {
        let ExprKind::Local(local) = self.node.exprs[arg].kind else { return None };
        let first = |equation: &&Equation| equation.lhs.first().is_some_and(|(v, _)| *v == Some(local));
        let equation = self.node.equations.iter().find(first)?;
        if !matches!(&self.node.exprs[equation.rhs].kind, ExprKind::Call(call) if call.order != Order::NONE) {
            return None;
        }
        let next = equation.lhs.iter().skip(1).find_map(|(v, _)| *v)?;
        Some((self.node.name_of(local).to_string(), self.node.name_of(next).to_string()))
    }

    /// Emits the condition of `every`.
    fn end(&mut self, end: ExprId) -> Evaluated<typed::ExprId> {
        let span = self.node.exprs[end].span;
        let (made, ty) = self.expr(end)?;
        if ty == Type::condition() {
            return Ok(made);
        }
        let mut d =
            Diagnostic::error(codes::CONDITION_TYPE, "the condition of `every` must be a scalar bool")
                .label(span, format!("this is {ty}"))
                .note(format!("expected bool [], found {ty}"));
        if ty.dtype != DType::Bool {
            d = d.help("compare to get a bool: `x > 0`");
        }
        Err(d.into())
    }

    fn output_types(
        &self,
        call: &Call,
        child: InstanceId,
        adjoint: Option<&Adjoint>,
    ) -> Evaluated<Vec<Type>> {
        let callee = self.typed.tree.node(child);
        match adjoint {
            None if call.order.times > 0 => Err(Failure::Unknown),
            None => callee.outputs.iter().map(|o| self.output_type(child, *o)).collect(),
            Some(adjoint) => adjoint
                .outputs
                .iter()
                .map(|(_, port)| match port {
                    Port::Condition => Ok(Type::condition()),
                    Port::Like(local) => self.output_type(child, *local),
                })
                .collect(),
        }
    }

    fn output_type(&self, child: InstanceId, local: crate::hir::Local) -> Evaluated<Type> {
        if self.typed.tree.is_stream(child, local) {
            return self.type_of(child, local);
        }
        let span = self.typed.tree.node(child).locals[local].span;
        Ok(self.typed.named_constant(child, local, span, self.precision)?.ty)
    }

    /// The source text of the actuals of static formals.
    fn statics_of(&self, call: &Call, child: InstanceId) -> Vec<Arc<str>> {
        let givens = &self.typed.tree.instances[child].givens;
        let statics = call.args.iter().zip(givens).filter(|(_, g)| matches!(g, Given::Static(_)));
        statics.map(|(arg, _)| Arc::from(self.text(*arg))).collect()
    }
}
