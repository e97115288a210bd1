//! Determines which names and expressions of a template are records.

use std::sync::Arc;

use rml_ir::typed::StaticValue;
use rml_syntax::ast::DefinitionForm;

use super::copy::Copy as Copying;
use super::kinds::{Kind, declared, is_num};
use super::value::Target;
use crate::builtins::Builtin;
use crate::hir::{Element, ExprId, ExprKind, Local, LocalKind, Role, SourceId, Structure};
use crate::scope::Program;

/// An input or output of an adjoint.
#[derive(Clone, Copy)]
enum Port {
    Record(Kind),
    /// A value. If its type is written: whether it is a num.
    Plain(Option<bool>),
}

impl Copying<'_, '_> {
    pub(super) fn program(&self) -> &Program {
        &self.expansion.program
    }

    /// Finds the names of the template that are records.
    pub(super) fn find_kinds(&mut self) {
        if self.program().scopes.records.is_empty() {
            return;
        }
        let template = Arc::clone(&self.template);
        for local in template.locals.ids() {
            if let Some(kind) = declared(&template, local) {
                self.kinds.insert(local, kind);
            }
        }
        for equation in &template.equations {
            let members = equation.family.iter().flat_map(|family| &family.members);
            for (member, (local, _)) in members.zip(&equation.lhs) {
                let types = member.iter().flat_map(|member| &member.types);
                let record = types.into_iter().find_map(|ty| match ty.element {
                    Element::Record(record) => Some(Kind::of(record)),
                    Element::Plain(_) | Element::Case(_) => None,
                });
                if let (Some(local), Some(record)) = (local, record) {
                    self.kinds.insert(*local, record);
                }
            }
        }
        loop {
            let before = self.kinds.len();
            for equation in &template.equations {
                let kinds = self.result_kinds(equation.rhs, equation.lhs.len());
                for ((local, _), kind) in equation.lhs.iter().zip(kinds) {
                    if let (Some(local), Some(kind)) = (local, kind) {
                        let plain = !template.locals[*local].types.is_empty();
                        if !plain {
                            self.kinds.entry(*local).or_insert(kind);
                        }
                    }
                }
            }
            if self.kinds.len() == before {
                return;
            }
        }
    }

    /// The kinds of the results of a right side.
    pub(super) fn result_kinds(&self, rhs: ExprId, results: usize) -> Vec<Option<Kind>> {
        match &self.template.exprs[rhs].kind {
            ExprKind::Call(call) => {
                stacked_if(call.clauses.along.is_some(), self.outputs(call.callee, call.order.times, results))
            }
            ExprKind::Structure(Structure::Apply(apply)) => {
                match self.node_of(apply.formal).map(|value| (value.target, value.order.times)) {
                    Some((Target::Source(id), order)) => {
                        let order = order.saturating_add(apply.order.times);
                        stacked_if(apply.clauses.along.is_some(), self.outputs(id, order, results))
                    }
                    Some((Target::Builtin(_), _)) | None => vec![None; results],
                }
            }
            ExprKind::Structure(Structure::Choose { cond, then, other }) => match self.early(*cond) {
                Ok(StaticValue::Bool(c)) => self.result_kinds(if c { *then } else { *other }, results),
                _ => vec![self.kind(rhs); results],
            },
            _ => vec![self.kind(rhs); results],
        }
    }

    /// The kinds of the results of a call of a node or adjoint, of which `results` are used.
    pub(super) fn outputs(&self, callee: SourceId, order: u8, results: usize) -> Vec<Option<Kind>> {
        let program = self.program();
        let node = &program.nodes[callee];
        if node.form == DefinitionForm::Record {
            return vec![Some(Kind::of(callee))];
        }
        let port = |local: &Local| match declared(node, *local) {
            Some(kind) => Port::Record(kind),
            None => Port::Plain(is_num(node, *local)),
        };
        let is_input = |local: &&Local| {
            !matches!(node.roles[**local], Role::Static | Role::Both)
                && node.locals[**local].kind != LocalKind::Node
        };
        let mut inputs: Vec<Port> = node.formals.iter().filter(is_input).map(port).collect();
        let mut outputs: Vec<Port> = node.outputs.iter().map(port).collect();
        for _ in 0..order {
            let gradients = |ports: &[Port]| -> Vec<Port> {
                let gradient = |port: &Port| match *port {
                    Port::Record(kind) => kind.gradient(program).map(Port::Record),
                    Port::Plain(Some(false)) => None,
                    Port::Plain(known) => Some(Port::Plain(known)),
                };
                ports.iter().filter_map(gradient).collect()
            };
            let (of_outputs, of_inputs) = (gradients(&outputs), gradients(&inputs));
            inputs.push(Port::Plain(Some(false)));
            inputs.extend(of_outputs);
            outputs.extend(of_inputs);
        }
        let known = outputs.iter().filter(|port| !matches!(port, Port::Plain(None))).count();
        if order > 0 && results == known {
            outputs.retain(|port| !matches!(port, Port::Plain(None)));
        }
        let kind = |port: Port| match port {
            Port::Record(kind) => Some(kind),
            Port::Plain(_) => None,
        };
        outputs.into_iter().map(kind).collect()
    }

    /// The record kind of an expression of the template, if it is a record.
    pub(super) fn kind(&self, expr: ExprId) -> Option<Kind> {
        if self.kinds.is_empty() && self.program().scopes.records.is_empty() {
            return None;
        }
        match &self.template.exprs[expr].kind {
            ExprKind::Local(local) => {
                let kind = self.kinds.get(local).copied()?;
                let is_family = self.template.locals[*local].kind == LocalKind::Family;
                Some(if is_family { kind.stack() } else { kind })
            }
            ExprKind::If { then: a, other: b, .. }
            | ExprKind::Structure(Structure::Choose { then: a, other: b, .. })
            | ExprKind::Fby { init: a, next: b }
            | ExprKind::FbyBack { init: a, next: b }
            | ExprKind::Merge { on_true: a, on_false: b, .. } => self.kind(*a).or_else(|| self.kind(*b)),
            ExprKind::Post(a) | ExprKind::When { value: a, .. } => self.kind(*a),
            ExprKind::Builtin { which: Builtin::Param | Builtin::StopGradient, args } => self.kind(args[0]),
            ExprKind::Structure(Structure::By { param, .. }) => self.kind(*param),
            ExprKind::Builtin { which: Builtin::ZerosLike, args } if args.len() == 1 => self.kind(args[0]),
            ExprKind::Call(_) | ExprKind::Structure(Structure::Apply(_)) => {
                self.result_kinds(expr, 1).into_iter().next().flatten()
            }
            ExprKind::Structure(Structure::Member { family, .. }) => self.kinds.get(family).copied(),
            ExprKind::Structure(Structure::Members { family, .. }) => {
                self.kinds.get(family).copied().map(Kind::stack)
            }
            ExprKind::Structure(Structure::Match { cases, .. }) => {
                cases.iter().find_map(|(_, value)| self.kind(*value))
            }
            ExprKind::Structure(Structure::States { cases, .. }) => {
                cases.iter().find_map(|value| self.kind(*value))
            }
            ExprKind::Structure(Structure::Field { base, field, .. }) => {
                let kind = self.kind(*base)?;
                let node = &self.program().nodes[kind.record];
                let fields = kind.fields(self.program());
                fields.into_iter().find(|(local, _)| node.name_of(*local) == field)?.1
            }
            ExprKind::Literal(_)
            | ExprKind::Params(..)
            | ExprKind::Text(_)
            | ExprKind::Array(_)
            | ExprKind::Entry(_)
            | ExprKind::Index { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Builtin { .. }
            | ExprKind::Structure(Structure::Node(_) | Structure::Share { .. } | Structure::Params { .. })
            | ExprKind::Error(_) => None,
        }
    }
}

/// The kinds of the results of a call: stacked if the call runs along an axis.
pub(super) fn stacked_if(is_along: bool, kinds: Vec<Option<Kind>>) -> Vec<Option<Kind>> {
    match is_along {
        true => kinds.into_iter().map(|kind| kind.map(Kind::stack)).collect(),
        false => kinds,
    }
}
