//! `f(x) restart r` in a copy. Each delay in `f` becomes a call of a node that is one delay, with `every e`, where `e`
//! is true in the cycle before `r` is: `delay(init, x) every e`. A window around one delay has its memory: a delay that
//! is on a slower clock restarts when it runs next. What is around the delay, the parameters of `f` above all, knows
//! nothing of these windows.

use std::sync::Arc;

use rml_base::Span;
use rml_syntax::ast::Literal;

use super::Expansion;
use super::copy::Copy;
use crate::hir::{
    Call, Expr, ExprId, ExprKind, Local, LocalData, LocalKind, Node, Order, SourceId, Structure,
};
use crate::report::Report;

impl Copy<'_, '_> {
    /// What ends the windows of the delays in a call, outermost first.
    pub(super) fn ends(&mut self, restart: Option<ExprId>, callee: SourceId) -> Vec<Local> {
        if !self.expansion.has_delay(callee) {
            return Vec::new();
        }
        let mut ends = self.restarts.clone();
        if let Some(cond) = restart {
            let span = self.template.exprs[cond].span;
            let init = self.push(ExprKind::Literal(Literal::Bool(false)), span);
            let next = self.expr(cond);
            let end = self.push(ExprKind::FbyBack { init, next }, span);
            ends.push(self.hoisted(end, "restart", span));
        }
        ends
    }

    /// `init fby next`, with the windows of the delay. These remember the end on the clock of the delay, so the ends
    /// are not sampled.
    pub(super) fn windowed(&mut self, init: ExprId, next: ExprId, ends: &[Local], span: Span) -> ExprKind {
        let Some((outer, inner)) = ends.split_first() else { return ExprKind::Fby { init, next } };
        let callee = self.expansion.delay(ends.len(), span);
        let mut args = vec![init, next];
        for end in inner {
            args.push(self.push(ExprKind::Local(*end), span));
        }
        let every = Some(self.push(ExprKind::Local(*outer), span));
        let member = self.member.clone();
        ExprKind::Call(Box::new(Call {
            callee,
            order: Order::NONE,
            name_span: span,
            args,
            every,
            restart: None,
            by: None,
            along: None,
            member,
            share: None,
        }))
    }
}

impl Expansion<'_> {
    /// The node that is one delay in that many windows, for the `fby` at `span`.
    fn delay(&mut self, windows: usize, span: Span) -> SourceId {
        if let Some(&known) = self.delays.get(&(windows, span)) {
            return known;
        }
        let mut node = crate::lower::delay(span);
        if windows > 1 {
            let inner = self.delay(windows - 1, span);
            within(&mut node, inner, windows);
        }
        let callee = |id: SourceId| &*self.program.nodes[id];
        let (roles, order) = crate::usage::analyse(&callee, &node, &mut Report::default());
        (node.roles, node.static_order) = (roles, order);
        let id = self.program.nodes.push(Arc::new(node));
        self.templates.push(self.program.delay);
        self.delays.insert((windows, span), id);
        id
    }

    /// Whether there is a delay in an instance of a node, or may be one.
    pub(super) fn has_delay(&mut self, id: SourceId) -> bool {
        if let Some(&known) = self.delayed.get(&id) {
            return known;
        }
        let (mut seen, mut todo) = (vec![id], vec![id]);
        let mut found = false;
        while let Some(id) = todo.pop() {
            for expr in self.program.nodes[id].exprs.iter() {
                match &expr.kind {
                    ExprKind::Fby { .. } | ExprKind::Structure(Structure::Apply(_)) => found = true,
                    ExprKind::Call(call) if !seen.contains(&call.callee) => {
                        seen.push(call.callee);
                        todo.push(call.callee);
                    }
                    _ => {} // the other forms have no state
                }
            }
        }
        self.delayed.insert(id, found);
        found
    }
}

/// Makes a node that is one delay a call of one in fewer windows: `node delay(init, x, end1) -> (o)` with
/// `o = inner(init, x) every end1;`.
fn within(node: &mut Node, inner: SourceId, windows: usize) {
    let span = node.span;
    let mut ends: Vec<Local> = Vec::new();
    for k in 1..windows {
        let (name, kind, types) = (format!("end{k}").into(), LocalKind::Formal, Vec::new());
        ends.push(node.locals.push(LocalData { name, span, kind, types, clock: None, element: None }));
    }
    let read = |node: &mut Node, local: Local| node.exprs.push(Expr { kind: ExprKind::Local(local), span });
    let passed: Vec<Local> = node.formals.iter().chain(ends.iter().skip(1)).copied().collect();
    let args = passed.into_iter().map(|local| read(node, local)).collect();
    let every = ends.first().map(|end| read(node, *end));
    let call = Call {
        callee: inner,
        order: Order::NONE,
        name_span: span,
        args,
        every,
        restart: None,
        by: None,
        along: None,
        member: None,
        share: None,
    };
    let rhs = node.exprs.push(Expr { kind: ExprKind::Call(Box::new(call)), span });
    node.equations.iter_mut().for_each(|equation| equation.rhs = rhs);
    node.formals.extend(ends);
}
