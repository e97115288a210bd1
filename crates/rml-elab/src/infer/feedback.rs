//! Finds the variable to declare if a shape that only a recurrence determines does not fit.

use rml_base::Diagnostic;
use rml_base::codes::elab::SHAPE_MISMATCH;
use rml_ir::{DType, Shape, Type};

use super::flow::Flow;
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Local, LocalKind};
use crate::instance::InstanceId;
use crate::repair;
use crate::typed::{Failed, Typed};

/// Adds the variable to declare to an error about shapes. It applies if an operand is a scalar only because no other
/// shape reaches its recurrence: a recurrence through the misfit itself, or one that nothing else enters.
pub(super) fn advise(flow: &Flow<'_, '_>, places: &[usize], failed: &mut Failed) {
    if failed.diagnostic.code != SHAPE_MISMATCH {
        return;
    }
    let Some((typed, expr)) = failed.expr.map(|e| (flow.typed, e)) else { return };
    let Some(vertex) = flow.vertex(failed.id, expr) else { return };
    let mut ring = Ring { flow, places, vertex, before: Vec::new() };
    ring.reverse();
    let parts = typed.tree.node(failed.id).exprs[expr].kind.children();
    let found = parts.iter().find_map(|part| ring.settled_by_itself(failed.id, *part));
    let Some((id, local)) = found else {
        let found = parts.iter().find_map(|part| ring.through_the_misfit(failed.id, *part));
        if let Some(local) = found {
            grown(typed, (failed.id, expr), local, &mut failed.diagnostic);
        }
        return;
    };
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

/// Adds how to give a shape to a variable read by `expr`. It applies if the variable has too few dimensions because
/// only the recurrence through the misfit determines its shape.
fn grown(typed: &Typed<'_>, (id, expr): (InstanceId, ExprId), local: Local, d: &mut Diagnostic) {
    let node = typed.tree.node(id);
    let name = node.name_of(local);
    let Some(shape) = typed.shape(id, local) else { return };
    let meant = joined(typed, (id, expr), shape).map(|shape| {
        let ty = Type { dtype: typed.dtype(id, local), shape };
        repair::declaration(typed, id, name, &ty)
    });
    let help = match &meant {
        Some(declared) => {
            let dims = declared.find('[').and_then(|at| declared.get(at..)).unwrap_or("[..]");
            match typed.dtype(id, local) {
                DType::Num | DType::Int => format!(
                    "give `{name}` its shape: write `zeros({dims})` as its first value before `fby`, or declare `{declared}`"
                ),
                DType::Bool => format!("give `{name}` its shape: declare `{declared}`"),
            }
        }
        None => format!("give `{name}` its shape: declare it, `{name}: {} [..]`", typed.dtype(id, local)),
    };
    let label = format!("only its own recurrence says what shape `{name}` has");
    *d = d.clone().label(node.locals[local].span, label).help(help);
}

/// The shape that an operand of `concat` along the last axis must have: its own last dimension, and the other
/// dimensions of the other operand.
fn joined(typed: &Typed<'_>, (id, expr): (InstanceId, ExprId), shape: &Shape) -> Option<Shape> {
    let node = typed.tree.node(id);
    let ExprKind::Builtin { which: Builtin::Concat, args } = &node.exprs[expr].kind else { return None };
    let others = args.iter().filter_map(|arg| {
        let ExprKind::Local(local) = node.exprs[*arg].kind else { return None };
        typed.shape(id, local).filter(|_| typed.tree.is_stream(id, local))
    });
    let other = others.max_by_key(|other| other.rank()).filter(|other| other.rank() > shape.rank())?;
    let (_, outer) = other.dims().split_last()?;
    let last = shape.dims().last()?;
    let dims: Vec<usize> = outer.iter().chain([last]).copied().collect();
    Some(Shape::new(&dims))
}

/// Finds the recurrences around a misfit.
struct Ring<'f, 'a, 'p> {
    flow: &'f Flow<'a, 'p>,
    places: &'f [usize],
    /// The vertex of the expression that does not fit.
    vertex: usize,
    /// The vertices on which each vertex depends.
    before: Vec<Vec<usize>>,
}

impl Ring<'_, '_, '_> {
    fn reverse(&mut self) {
        self.before = vec![Vec::new(); self.flow.next.len()];
        for (from, next) in self.flow.next.iter().enumerate() {
            next.iter().for_each(|to| self.before[*to].push(from));
        }
    }

    /// The nearest undeclared variable on the way to a scalar operand whose shape is determined only by a recurrence.
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
                // The operand contains something with a shape, so it has that shape.
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

    /// A variable without a declared type that an operand reads and whose shape only the recurrence through the misfit
    /// determines: `h` in `h = tanh(matmul(concat(x, h, -1), w))`. None if another variable that the operand reads has
    /// a shape of its own.
    fn through_the_misfit(&self, id: InstanceId, operand: ExprId) -> Option<Local> {
        let mut read = Vec::new();
        self.flow.reads(id, operand, true, &mut read);
        let in_ring = |v: &usize| self.places.get(*v) == self.places.get(self.vertex);
        if self.has_array(id, operand) || !read.iter().all(|v| in_ring(v) || self.is_scalar(*v)) {
            return None;
        }
        let typed = self.flow.typed;
        let node = typed.tree.node(id);
        let own = |v: usize| node.locals.ids().find(|local| typed.tree.slot(id, *local) == v);
        let is_open = |local: &Local| {
            let data = &node.locals[*local];
            matches!(data.kind, LocalKind::Defined { .. }) && data.types.is_empty()
        };
        let grown = read.into_iter().filter(|v| in_ring(v) && !self.is_scalar(*v));
        let found = grown.filter_map(own).find(is_open);
        found.filter(|_| !typed.tree.program.scopes.is_library(node.file))
    }

    /// Whether an expression contains a literal with a shape of its own.
    fn has_array(&self, id: InstanceId, expr: ExprId) -> bool {
        let kind = &self.flow.typed.tree.node(id).exprs[expr].kind;
        matches!(kind, ExprKind::Array(_)) || kind.children().into_iter().any(|e| self.has_array(id, e))
    }

    fn is_scalar(&self, v: usize) -> bool {
        self.flow.typed.shapes.get(v).is_none_or(|s| s.as_ref().is_none_or(Shape::is_scalar))
    }

    /// Whether a vertex is in a recurrence through the misfit, or in one that depends on nothing outside.
    fn is_recurrence(&self, v: usize) -> bool {
        let place = self.places[v];
        if place == self.places[self.vertex] {
            return true;
        }
        let members: Vec<usize> = (0..self.places.len()).filter(|u| self.places[*u] == place).collect();
        let is_circle = members.len() > 1 || self.flow.next[v].contains(&v);
        is_circle && members.iter().all(|u| self.before[*u].iter().all(|w| self.places[*w] == place))
    }

    /// The variable of a vertex, if only its equation determines its shape and it is not in the library.
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
