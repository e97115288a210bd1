//! Finds the static names of a node: those used in static positions (STATIC-1).
//!
//! A formal with a written type is a stream. The role of any other formal follows from its uses. `shape(x)` reads the
//! shape of a stream, and counts as a use as a stream only if there is no other use. A name defined by an equation is
//! static if it is used in a static position; then everything that its equation uses is in a static position, too.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec};

use crate::hir::{Clauses, Structure};
use crate::hir::{ExprId, ExprKind, Item, Local, LocalKind, Node, Role, SourceId};
use crate::report::Report;

/// The kind of position in which a name is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Static,
    Stream,
    Shape,
}

/// The uses of each name.
#[derive(Clone, Copy, Default)]
struct Uses {
    is_static: bool,
    is_stream: bool,
    is_shape: bool,
}

/// Finds the roles of the names of a node, and the order of its static names. The roles of the nodes that it calls must
/// be known.
pub(crate) fn analyse<'n>(
    callee: &dyn Fn(SourceId) -> &'n Node,
    node: &Node,
    report: &mut Report,
) -> (IndexVec<Local, Role>, Vec<Local>) {
    let walk = Walk { callee, node };
    let mut uses: IndexVec<Local, Uses> = IndexVec::filled(Uses::default(), node.locals.len());
    let statics = walk.static_names(&mut uses);
    walk.stream_uses(&statics, &mut uses);
    let roles = node.locals.iter_enumerated().map(|(local, data)| role(node, local, data.kind, uses[local]));
    let roles: IndexVec<Local, Role> = roles.collect();
    let order = walk.static_order(&roles, report);
    (roles, order)
}

fn role(node: &Node, local: Local, kind: LocalKind, uses: Uses) -> Role {
    match kind {
        LocalKind::Dim if uses.is_stream => Role::Both,
        LocalKind::Dim => Role::Static,
        LocalKind::Undefined | LocalKind::Family => Role::Stream,
        LocalKind::Node | LocalKind::Index | LocalKind::Constant(_) => Role::Static,
        LocalKind::Formal if node.is_typed(local) => Role::Stream,
        LocalKind::Formal => match (uses.is_static, uses.is_stream, uses.is_shape) {
            (true, false, _) => Role::Static,
            (true, true, _) => Role::Both,
            (false, false, false) => Role::Unused,
            (false, ..) => Role::Stream,
        },
        LocalKind::Defined { .. } => match (uses.is_static, uses.is_stream) {
            (true, false) => Role::Static,
            (true, true) => Role::Both,
            (false, _) => Role::Stream,
        },
    }
}

struct Walk<'a, 'n> {
    callee: &'a dyn Fn(SourceId) -> &'n Node,
    node: &'a Node,
}

impl Walk<'_, '_> {
    /// The names in static positions, including those reached through the equations of static names.
    fn static_names(&self, uses: &mut IndexVec<Local, Uses>) -> IndexVec<Local, bool> {
        let mut found: IndexVec<Local, bool> = IndexVec::filled(false, self.node.locals.len());
        let mut todo: Vec<Local> = Vec::new();
        let mut note = |local: Local, how: Use, todo: &mut Vec<Local>| {
            if how == Use::Static && !found[local] {
                found[local] = true;
                todo.push(local);
            }
        };
        for data in self.node.locals.iter() {
            for ty in &data.types {
                self.items(&ty.dims, Use::Static, &mut |l, how| note(l, how, &mut todo));
            }
        }
        for equation in &self.node.equations {
            self.expr(equation.rhs, Use::Stream, &mut |l, how| note(l, how, &mut todo));
            for bound in equation.family.iter().flat_map(|family| family.exprs()) {
                self.expr(bound, Use::Static, &mut |l, how| note(l, how, &mut todo));
            }
        }
        while let Some(local) = todo.pop() {
            let data = &self.node.locals[local];
            let LocalKind::Defined { equation } = data.kind else { continue };
            let rhs = self.node.equations[equation].rhs;
            let mut shapes = Vec::new();
            self.expr(rhs, Use::Static, &mut |l, how| {
                note(l, how, &mut todo);
                if how == Use::Shape {
                    shapes.push(l);
                }
            });
            shapes.into_iter().for_each(|l| uses[l].is_shape = true);
        }
        for local in self.node.locals.ids() {
            uses[local].is_static = found[local];
        }
        found
    }

    /// Notes the names used as streams: by outputs, and by all equations except those of static names that are not also
    /// used as streams.
    fn stream_uses(&self, statics: &IndexVec<Local, bool>, uses: &mut IndexVec<Local, Uses>) {
        self.node.outputs.iter().for_each(|o| uses[*o].is_stream = true);
        let mut done = vec![false; self.node.equations.len()];
        loop {
            let mut changed = false;
            for (i, equation) in self.node.equations.iter().enumerate() {
                let only_static = match equation.lhs[..] {
                    [(Some(local), _)] => statics[local] && !uses[local].is_stream,
                    _ => false,
                };
                if done[i] || only_static {
                    continue;
                }
                done[i] = true;
                changed = true;
                self.expr(equation.rhs, Use::Stream, &mut |l, how| match how {
                    Use::Stream => uses[l].is_stream = true,
                    Use::Shape => uses[l].is_shape = true,
                    Use::Static => {}
                });
            }
            if !changed {
                return;
            }
        }
    }

    fn items(&self, items: &[Item], how: Use, f: &mut dyn FnMut(Local, Use)) {
        for item in items {
            match *item {
                Item::Expr(e) => self.expr(e, how, f),
                Item::Splice(local, _) => f(local, Use::Static),
            }
        }
    }

    /// Calls `f` for each name in an expression that is in a position of kind `how`.
    fn expr(&self, id: ExprId, how: Use, f: &mut dyn FnMut(Local, Use)) {
        match &self.node.exprs[id].kind {
            ExprKind::Local(local) => f(*local, how),
            ExprKind::Array(items) => self.items(items, how, f),
            ExprKind::Index { base, indices } => {
                self.expr(*base, how, f);
                for index in indices {
                    index.exprs().into_iter().for_each(|e| self.expr(e, Use::Static, f));
                }
            }
            ExprKind::Builtin { which, args, .. } if which.takes_type() => {
                if let ExprKind::Local(local) = self.node.exprs[args[0]].kind {
                    f(local, Use::Shape);
                }
                args.iter().skip(1).for_each(|arg| self.expr(*arg, Use::Static, f));
            }
            ExprKind::Builtin { which, args, .. } => {
                for (i, &arg) in args.iter().enumerate() {
                    self.expr(arg, if which.is_static(i) { Use::Static } else { how }, f);
                }
            }
            ExprKind::Call(call) => {
                let callee = (self.callee)(call.callee);
                for (i, &arg) in call.args.iter().enumerate() {
                    let formal = callee.formals.get(i).filter(|_| !callee.roles.is_empty());
                    match formal.map(|l| callee.roles[*l]) {
                        Some(Role::Static | Role::Both) => self.expr(arg, Use::Static, f),
                        Some(Role::Unused) => self.unused(arg, f),
                        Some(Role::Stream) | None => self.expr(arg, how, f),
                    }
                }
                self.clauses(&call.clauses, how, f);
            }
            ExprKind::Structure(structure) => self.structure(structure, how, f),
            other => other.children().into_iter().for_each(|e| self.expr(e, how, f)),
        }
    }

    /// Calls `f` for the names in the clauses of a call; axes are static positions.
    fn clauses(&self, clauses: &Clauses, how: Use, f: &mut dyn FnMut(Local, Use)) {
        clauses.values().for_each(|e| self.expr(e, how, f));
        clauses.axes().for_each(|axis| self.expr(axis, Use::Static, f));
    }

    /// Calls `f` only for the static uses inside an argument, which is not itself a use.
    fn unused(&self, arg: ExprId, f: &mut dyn FnMut(Local, Use)) {
        self.expr(arg, Use::Shape, &mut |l, how| {
            if how == Use::Static {
                f(l, how);
            }
        });
    }

    /// Calls `f` for the names in a form that only templates have.
    fn structure(&self, structure: &Structure, how: Use, f: &mut dyn FnMut(Local, Use)) {
        match structure {
            Structure::Member { .. }
            | Structure::Members { .. }
            | Structure::Node(_)
            | Structure::Share { .. }
            | Structure::Params { .. } => {
                structure.children().into_iter().for_each(|e| self.expr(e, Use::Static, f));
            }
            // The role of an argument is known only in copies.
            Structure::Apply(apply) => {
                apply.args.iter().for_each(|arg| self.unused(*arg, f));
                self.clauses(&apply.clauses, how, f);
            }
            Structure::Choose { cond, then, other } => {
                self.expr(*cond, Use::Static, f);
                [*then, *other].into_iter().for_each(|e| self.expr(e, how, f));
            }
            Structure::Field { .. }
            | Structure::Match { .. }
            | Structure::States { .. }
            | Structure::By { .. } => {
                structure.children().into_iter().for_each(|e| self.expr(e, how, f));
            }
        }
    }

    /// The static names that equations define, each after the names that it uses; cycles are reported.
    fn static_order(&self, roles: &IndexVec<Local, Role>, report: &mut Report) -> Vec<Local> {
        let is_static = |l: Local| {
            matches!(self.node.locals[l].kind, LocalKind::Defined { .. })
                && matches!(roles[l], Role::Static | Role::Both)
        };
        let needs = |l: Local| {
            let mut needs = Vec::new();
            if let LocalKind::Defined { equation } = self.node.locals[l].kind {
                let rhs = self.node.equations[equation].rhs;
                self.expr(rhs, Use::Static, &mut |n, how| {
                    if how == Use::Static && is_static(n) {
                        needs.push(n);
                    }
                });
            }
            needs
        };
        let mut order = Vec::new();
        let mut state: IndexVec<Local, u8> = IndexVec::filled(0, self.node.locals.len());
        for start in self.node.locals.ids().filter(|l| is_static(*l)) {
            if state[start] != 0 {
                continue;
            }
            let mut stack = vec![(start, needs(start))];
            state[start] = 1;
            while let Some((local, rest)) = stack.last_mut() {
                let local = *local;
                match rest.pop() {
                    None => {
                        state[local] = 2;
                        order.push(local);
                        stack.pop();
                    }
                    Some(next) if state[next] == 0 => {
                        state[next] = 1;
                        stack.push((next, needs(next)));
                    }
                    Some(next) if state[next] == 1 => self.static_cycle(local, next, report),
                    Some(_) => {}
                }
            }
        }
        order
    }

    fn static_cycle(&self, from: Local, to: Local, report: &mut Report) {
        let (from, to) = (&self.node.locals[from], &self.node.locals[to]);
        let message = format!("the compile-time value of `{}` depends on itself", to.name);
        let mut d = Diagnostic::error(codes::STATIC_CYCLE, message).label(to.span, "this static name");
        if from.span != to.span {
            d = d.label(from.span, format!("uses `{}` again", to.name));
        }
        report.push(d.note("it is static because it is used in a shape, an index or for a static parameter"));
    }
}
