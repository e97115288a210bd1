//! Dependences between shapes, which show which errors only follow from others. The graph is built only if there are
//! errors.
//!
//! The graph has a vertex for each variable of each instance, one for each expression in error, and one for all errors
//! that are reported already. An edge means that the shape (or static value) of one vertex may determine that of the
//! other.

use indexmap::IndexMap;

use super::adjoint::Port;
use crate::hir::{ExprId, ExprKind, Item, Local, LocalKind, TypeDecl};
use crate::instance::{Given, InstanceId, RootGiven};
use crate::typed::{Failed, Typed};

/// The graph of dependences.
pub(super) struct Flow<'a, 'p> {
    pub(super) typed: &'a Typed<'p>,
    /// The vertices that depend on each vertex.
    pub(super) next: Vec<Vec<usize>>,
    /// The vertices of the expressions in error.
    bad: IndexMap<(InstanceId, ExprId), usize>,
    /// The vertex for all errors that are reported already.
    reported: usize,
}

impl<'a, 'p> Flow<'a, 'p> {
    /// The graph for a program in which these expressions are in error.
    pub(super) fn new(typed: &'a Typed<'p>, failed: &[Failed]) -> Self {
        let reported = typed.tree.slots;
        let exprs = failed.iter().filter_map(|f| f.expr.map(|e| (f.id, e)));
        let bad: IndexMap<_, _> = exprs.zip(reported + 1..).collect();
        let vertices = failed.len() + reported + 1;
        let mut flow = Self { typed, next: vec![Vec::new(); vertices], bad, reported };
        for slot in (0..typed.tree.slots).filter(|s| typed.lost[*s]) {
            flow.next[reported].push(slot);
        }
        for id in typed.tree.instances.ids() {
            flow.instance(id);
        }
        for ((id, expr), vertex) in flow.bad.clone() {
            let mut operands = Vec::new();
            let parts = typed.tree.node(id).exprs[expr].kind.children();
            match typed.tree.node(id).exprs[expr].kind {
                ExprKind::Local(_) | ExprKind::Call(_) => flow.reads(id, expr, false, &mut operands),
                _ => parts.iter().for_each(|part| flow.reads(id, *part, true, &mut operands)),
            }
            operands.into_iter().for_each(|from| flow.next[from].push(vertex));
        }
        flow
    }

    /// The vertex of an expression in error.
    pub(super) fn vertex(&self, id: InstanceId, expr: ExprId) -> Option<usize> {
        self.bad.get(&(id, expr)).copied()
    }

    fn slot(&self, id: InstanceId, local: Local) -> usize {
        self.typed.tree.slot(id, local)
    }

    fn edges(&mut self, from: Vec<usize>, to: usize) {
        from.into_iter().for_each(|v| self.next[v].push(to));
    }

    fn instance(&mut self, id: InstanceId) {
        let typed = self.typed;
        let node = typed.tree.node(id);
        let instance = &typed.tree.instances[id];
        for (&formal, given) in node.formals.iter().zip(&instance.givens) {
            let slot = self.slot(id, formal);
            let types = &node.locals[formal].types;
            let mut from = Vec::new();
            types.iter().for_each(|ty| self.declared(id, ty, &mut from));
            match (given, instance.parent) {
                (Given::Static(arg), Some((parent, ..))) => self.reads(parent, *arg, true, &mut from),
                (Given::Stream(arg), Some((parent, ..))) if types.is_empty() || node.binds(formal) => {
                    self.reads(parent, *arg, true, &mut from);
                }
                (Given::Root(RootGiven::Open), _) => from.push(self.reported),
                (Given::Root(RootGiven::Unshaped), _) if types.is_empty() => from.push(self.reported),
                _ => {}
            }
            self.edges(from, slot);
            for dim in types.iter().flat_map(|ty| &ty.dims).filter_map(|item| node.dim(item)) {
                self.next[slot].push(typed.tree.slot(id, dim));
            }
        }
        for (local, data) in node.locals.iter_enumerated() {
            let open = || typed.statics.name(&typed.tree, id, local, data.span).is_err();
            if data.kind == LocalKind::Dim && instance.parent.is_none() && open() {
                self.next[self.reported].push(typed.tree.slot(id, local));
            }
        }
        for (index, equation) in node.equations.iter().enumerate() {
            for (position, (local, _)) in equation.lhs.iter().enumerate() {
                let Some(local) = *local else { continue };
                let mut from = Vec::new();
                match &node.locals[local].types[..] {
                    [] => self.result(id, index, position, &mut from),
                    types => types.iter().for_each(|ty| self.declared(id, ty, &mut from)),
                }
                self.edges(from, self.slot(id, local));
            }
        }
    }

    /// Adds the vertices that a written shape reads, except for dimensions that it binds itself.
    fn declared(&self, id: InstanceId, ty: &TypeDecl, found: &mut Vec<usize>) {
        ty.dims.iter().for_each(|item| self.item(id, item, found));
    }

    fn item(&self, id: InstanceId, item: &Item, found: &mut Vec<usize>) {
        match *item {
            Item::Expr(e) => self.reads(id, e, true, found),
            Item::Splice(local, _) => found.push(self.slot(id, local)),
        }
    }

    /// Adds the vertices that determine the shape of a result of an equation.
    fn result(&self, id: InstanceId, index: usize, position: usize, found: &mut Vec<usize>) {
        let typed = self.typed;
        let rhs = typed.tree.node(id).equations[index].rhs;
        if typed.tree.node(id).as_call(rhs).is_none() || position == 0 {
            return self.reads(id, rhs, true, found);
        }
        let Some(&child) = typed.tree.instances[id].calls.get(&rhs) else {
            return found.push(self.reported);
        };
        let outputs = &typed.tree.node(child).outputs;
        let order = typed.tree.node(id).as_call(rhs).map_or(0, |call| call.order.times);
        match typed.adjoints.get(&(id, rhs)) {
            None if order > 0 => found.push(self.reported),
            None => found.extend(outputs.get(position).map(|o| self.slot(child, *o))),
            Some(adjoint) => {
                let port = adjoint.results.get(position).and_then(|i| adjoint.outputs.get(*i));
                if let Some((_, Port::Like(local))) = port {
                    found.push(self.slot(child, *local));
                }
            }
        }
    }

    /// Adds the vertices that determine the shape of an expression. With `whole`, the expression itself may be in
    /// error.
    pub(super) fn reads(&self, id: InstanceId, expr: ExprId, whole: bool, found: &mut Vec<usize>) {
        let typed = self.typed;
        let node = typed.tree.node(id);
        if whole && let Some(&vertex) = self.bad.get(&(id, expr)) {
            return found.push(vertex);
        }
        if typed.broken.contains(&(id, expr)) {
            return found.push(self.reported);
        }
        let mut read = |e: ExprId| self.reads(id, e, true, found);
        match &node.exprs[expr].kind {
            ExprKind::Local(local) => found.push(self.slot(id, *local)),
            ExprKind::Error(_) => found.push(self.reported),
            ExprKind::Array(items) => items.iter().for_each(|item| self.item(id, item, found)),
            ExprKind::Builtin { which, args, .. } if which.takes_type() => {
                args.iter().copied().for_each(read)
            }
            ExprKind::If { then: a, other: b, .. } | ExprKind::Merge { on_true: a, on_false: b, .. } => {
                read(*a);
                read(*b);
            }
            ExprKind::When { value, .. } => read(*value),
            ExprKind::Call(call) => {
                let child = typed.tree.instances[id].calls.get(&expr);
                let known = call.order.times == 0 || typed.adjoints.contains_key(&(id, expr));
                match child.filter(|_| known) {
                    Some(&child) => {
                        let output = typed.tree.node(child).outputs.first();
                        found.extend(output.map(|o| self.slot(child, *o)));
                    }
                    None => found.push(self.reported),
                }
            }
            kind => kind.children().into_iter().for_each(read),
        }
    }

    /// The rank of each vertex in a topological order: vertices come after those on which they depend, and vertices
    /// that depend on each other share a rank. (Tarjan's algorithm, with its own stack.)
    pub(super) fn places(&self) -> Vec<usize> {
        const NEW: usize = usize::MAX;
        let n = self.next.len();
        let (mut index, mut low) = (vec![NEW; n], vec![0; n]);
        let mut component = vec![NEW; n];
        let (mut open, mut count, mut components) = (Vec::new(), 0, 0);
        for start in 0..n {
            if index[start] != NEW {
                continue;
            }
            let mut stack = vec![(start, 0)];
            while let Some(&mut (v, ref mut edge)) = stack.last_mut() {
                if *edge == 0 {
                    (index[v], low[v]) = (count, count);
                    count += 1;
                    open.push(v);
                }
                if let Some(&to) = self.next[v].get(*edge) {
                    *edge += 1;
                    if index[to] == NEW {
                        stack.push((to, 0));
                    } else if component[to] == NEW {
                        low[v] = low[v].min(index[to]);
                    }
                    continue;
                }
                stack.pop();
                if let Some((parent, _)) = stack.last() {
                    low[*parent] = low[*parent].min(low[v]);
                }
                if low[v] == index[v] {
                    while let Some(w) = open.pop() {
                        component[w] = components;
                        if w == v {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component.into_iter().map(|c| components - c).collect()
    }
}

/// The set of vertices that depend on an error.
pub(super) struct Taint {
    next: Vec<Vec<usize>>,
    tainted: Vec<bool>,
}

impl Taint {
    /// All vertices that depend on errors that are reported already.
    pub(super) fn of_reported(flow: Flow<'_, '_>) -> Self {
        let reported = flow.reported;
        let mut taint = Self { tainted: vec![false; flow.next.len()], next: flow.next };
        taint.spread(reported);
        taint
    }

    pub(super) fn is_tainted(&self, vertex: usize) -> bool {
        self.tainted[vertex]
    }

    /// Adds a vertex and all vertices that depend on it.
    pub(super) fn spread(&mut self, vertex: usize) {
        let mut todo = vec![vertex];
        while let Some(v) = todo.pop() {
            if !std::mem::replace(&mut self.tainted[v], true) {
                todo.extend(&self.next[v]);
            }
        }
    }
}
