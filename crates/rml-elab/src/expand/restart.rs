//! `f(x) restart r` in a copy. Each delay in `f` becomes a call of a node that is one delay, with `every e`, where `e`
//! is true in the cycle before `r` is: `delay(init, x) every e`. A window around one delay has its memory: a delay that
//! is on a slower clock restarts when it runs next. What is around the delay, the parameters of `f` above all, knows
//! nothing of these windows.

use std::sync::Arc;

use rml_base::Span;
use rml_syntax::ast::Literal;

use super::Expansion;
use super::copy::Copy;
use crate::hir::{Call, ExprId, ExprKind, Local, LocalKind, Node, SourceId, Structure};

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

    /// `init fby next`, with the windows of the delay.
    pub(super) fn delay(&mut self, init: ExprId, next: ExprId, ends: &[Local], span: Span) -> ExprKind {
        let Some((outer, inner)) = ends.split_first() else { return ExprKind::Fby { init, next } };
        let callee = self.expansion.delay(ends.len());
        let mut args = vec![init, next];
        for end in inner {
            args.push(self.sampled(*end, 0, span));
        }
        let every = Some(self.sampled(*outer, 0, span));
        let member = self.member.clone();
        ExprKind::Call(Call { callee, order: 0, name_span: span, args, every, restart: None, member })
    }
}

impl Expansion<'_> {
    /// The node that is one delay in that many windows.
    fn delay(&mut self, windows: usize) -> SourceId {
        let inner = match windows {
            0 | 1 => return self.program.delay,
            _ => self.delay(windows - 1),
        };
        if let Some(&known) = self.delays.get(windows - 2) {
            return known;
        }
        let mut node = crate::lower::delay(self.program.nodes[self.program.delay].file);
        let span = node.span;
        let mut args: Vec<ExprId> = Vec::new();
        let local = |node: &mut Node, local: Local| {
            node.exprs.push(crate::hir::Expr { kind: ExprKind::Local(local), span })
        };
        let ends: Vec<Local> = (1..windows)
            .map(|k| {
                let name: Arc<str> = format!("end{k}").into();
                let kind = LocalKind::Formal;
                node.locals.push(crate::hir::LocalData {
                    name,
                    span,
                    kind,
                    types: Vec::new(),
                    clock: None,
                    element: None,
                })
            })
            .collect();
        for formal in node.formals.clone() {
            args.push(local(&mut node, formal));
        }
        for end in &ends[1..] {
            args.push(local(&mut node, *end));
        }
        let every = Some(local(&mut node, ends[0]));
        let call =
            Call { callee: inner, order: 0, name_span: span, args, every, restart: None, member: None };
        let rhs = node.exprs.push(crate::hir::Expr { kind: ExprKind::Call(call), span });
        node.equations[0].rhs = rhs;
        node.formals.extend(ends);
        let callee = |id: SourceId| &*self.program.nodes[id];
        let (roles, order) = crate::usage::analyse(&callee, &node, &mut crate::report::Report::default());
        (node.roles, node.static_order) = (roles, order);
        let id = self.program.nodes.push(Arc::new(node));
        self.templates.push(self.program.delay);
        self.delays.push(id);
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
