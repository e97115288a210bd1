//! `f(x) restart r` in a copy: the delays that restart, and the flags that restart them.

use indexmap::IndexSet;
use rml_base::Span;

use super::copy::Copy;
use super::flags::callee;
use super::{Expansion, advice};
use crate::hir::{Expr, ExprId, ExprKind, Local, Node, SourceId, Structure};

impl Copy<'_, '_> {
    /// The flags that restart the delays of a call: those of the delays around it, and its own condition.
    pub(super) fn restarted_by(&mut self, restart: Option<ExprId>, callee: SourceId) -> Vec<Local> {
        if !self.expansion.has_delay(callee) {
            if let Some(cond) = restart {
                let (span, name) =
                    (self.template.exprs[cond].span, self.program().nodes[callee].name.clone());
                self.say(advice::no_delay(&name, span, self.program().nodes[callee].span));
            }
            return Vec::new();
        }
        let mut flags = self.flags(self.template.span);
        if let Some(cond) = restart {
            let span = self.template.exprs[cond].span;
            let cond = self.expr(cond);
            flags.push(self.hoisted(cond, "restart", span));
        }
        flags
    }

    /// The argument by which a callee is restarted. It is one flag here; the pass over typed nodes, where clocks are
    /// known, replaces it by all flags.
    pub(super) fn restart_argument(&mut self, restarts: &[Local], span: Span) -> Option<ExprId> {
        restarts.first().map(|flag| self.push(ExprKind::Local(*flag), span))
    }
}

impl Expansion<'_> {
    /// Whether an instance of a node contains a delay, or may contain one.
    pub(super) fn has_delay(&mut self, id: SourceId) -> bool {
        if let Some(&known) = self.delayed.get(&id) {
            return known;
        }
        let is_delay = |expr: &Expr| {
            matches!(expr.kind, ExprKind::Fby { .. } | ExprKind::Structure(Structure::Apply(_)))
        };
        let found = self.reaches(id, |node| node.exprs.iter().any(is_delay));
        self.delayed.insert(id, found);
        found
    }

    /// Whether `has` returns true for a node, or for a node that an instance of it calls.
    pub(super) fn reaches(&self, id: SourceId, has: impl Fn(&Node) -> bool) -> bool {
        let (mut seen, mut at) = (IndexSet::from([id]), 0);
        while let Some(&id) = seen.get_index(at) {
            let node: &Node = &self.program.nodes[id];
            if has(node) {
                return true;
            }
            seen.extend(node.exprs.iter().filter_map(|expr| callee(&expr.kind)));
            at += 1;
        }
        false
    }
}
