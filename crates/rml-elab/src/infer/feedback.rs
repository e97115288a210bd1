//! Finds the variable to declare if a shape that only a recurrence determines does not fit.

use rml_base::codes::elab::SHAPE_MISMATCH;
use rml_ir::{DType, Shape};

use super::flow::Flow;
use crate::hir::{ExprId, ExprKind, Local, LocalKind};
use crate::instance::InstanceId;
use crate::typed::{Failed, Typed};

/// Adds to shapes that do not fit which variable to declare, if an operand is a scalar only since only a
/// recurrence says what shape it has: a recurrence that runs through the misfit itself, or one that nothing else
/// enters.
pub(super) fn advise(flow: &Flow<'_, '_>, places: &[usize], failed: &mut Failed) {
    if failed.diagnostic.code != SHAPE_MISMATCH {
        return;
    }
    let Some((typed, expr)) = failed.expr.map(|e| (flow.typed, e)) else { return };
    let Some(vertex) = flow.vertex(failed.id, expr) else { return };
    let mut ring = Ring { flow, places, vertex, before: Vec::new() };
    ring.reverse();
    let parts = typed.tree.node(failed.id).exprs[expr].kind.children();
    let found = parts.into_iter().find_map(|part| ring.settled_by_itself(failed.id, part));
    let Some((id, local)) = found else { return };
    let node = typed.tree.node(id);
    let name = node.name_of(local);
    let dtype = match typed.dtype(id, local) {
        DType::Bool => "bool",
        DType::Int => "int",
        DType::Num => "num",
    };
    let d = failed.diagnostic.clone();
    failed.diagnostic = d
        .label(
            node.locals[local].span,
            format!("only its own recurrence says what shape `{name}` has, so it begins as a scalar"),
        )
        .help(format!("if `{name}` is to have another shape, declare it: `{name}: {dtype} [..]`"));
}

/// The recurrences around a misfit.
struct Ring<'f, 'a, 'p> {
    flow: &'f Flow<'a, 'p>,
    places: &'f [usize],
    /// The expression that does not fit.
    vertex: usize,
    /// What each vertex depends on.
    before: Vec<Vec<usize>>,
}

impl Ring<'_, '_, '_> {
    fn reverse(&mut self) {
        self.before = vec![Vec::new(); self.flow.next.len()];
        for (from, next) in self.flow.next.iter().enumerate() {
            next.iter().for_each(|to| self.before[*to].push(from));
        }
    }

    /// The nearest undeclared variable that leads to a scalar operand whose shape only a recurrence settles.
    fn settled_by_itself(&self, id: InstanceId, operand: ExprId) -> Option<(InstanceId, Local)> {
        if self.has_array(id, operand) {
            return None;
        }
        let mut todo = Vec::new();
        self.flow.reads(id, operand, true, &mut todo);
        let mut seen = todo.clone();
        let mut at = 0;
        while let Some(&v) = seen.get(at) {
            at += 1;
            if !self.is_scalar(v) {
                // Something with a shape is in it, so the operand has that.
                return None;
            }
            if let Some(found) = self.undeclared(v).filter(|_| self.is_recurrence(v)) {
                return Some(found);
            }
            let before = self.before[v].iter().copied().filter(|u| *u != self.vertex);
            let new: Vec<usize> = before.filter(|u| !seen.contains(u)).collect();
            seen.extend(new);
        }
        None
    }

    /// Whether something with a shape of its own is written in an expression.
    fn has_array(&self, id: InstanceId, expr: ExprId) -> bool {
        let kind = &self.flow.typed.tree.node(id).exprs[expr].kind;
        matches!(kind, ExprKind::Array(_)) || kind.children().into_iter().any(|e| self.has_array(id, e))
    }

    fn is_scalar(&self, v: usize) -> bool {
        self.flow.typed.shapes.get(v).is_none_or(|s| s.as_ref().is_none_or(Shape::is_scalar))
    }

    /// Whether a vertex depends on itself, through the misfit or without anything from outside.
    fn is_recurrence(&self, v: usize) -> bool {
        let place = self.places[v];
        if place == self.places[self.vertex] {
            return true;
        }
        let members: Vec<usize> = (0..self.places.len()).filter(|u| self.places[*u] == place).collect();
        let is_circle = members.len() > 1 || self.flow.next[v].contains(&v);
        is_circle && members.iter().all(|u| self.before[*u].iter().all(|w| self.places[*w] == place))
    }

    /// The variable of a vertex, if its equation alone decides its shape and it is no part of the library.
    fn undeclared(&self, v: usize) -> Option<(InstanceId, Local)> {
        let typed: &Typed<'_> = self.flow.typed;
        let of = |id: InstanceId| {
            let node = typed.tree.node(id);
            let own = node.locals.ids().find(|local| typed.tree.slot(id, *local) == v)?;
            let data = &node.locals[own];
            let is_open = matches!(data.kind, LocalKind::Defined { .. }) && data.types.is_empty();
            let is_open = is_open && typed.shapes[v].as_ref().is_some_and(Shape::is_scalar);
            (is_open && !typed.tree.program.scopes.is_library(node.file)).then_some((id, own))
        };
        typed.tree.instances.ids().find_map(of)
    }
}
