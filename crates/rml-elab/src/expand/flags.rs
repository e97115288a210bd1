//! The states of automata in a copy: the branches in which their equations run, and the flags that restart their
//! delays.
//!
//! A state has a *flag* that is true in the cycle in which it restarts. This module notes the flags of each delay and
//! call; [`restarts`](crate::restarts) uses them once clocks are known.

use std::sync::Arc;

use rml_base::Span;

use super::branches::Flag;
use super::copy::Copy;
use crate::hir::Target as Written;
use crate::hir::{ExprKind, Local, SourceId, Structure};

impl Copy<'_, '_> {
    /// Enters the state that contains an equation of the template, or leaves all states.
    pub(super) fn enter(&mut self, state: Option<usize>) {
        let template = Arc::clone(&self.template);
        self.branches.open.clear();
        self.flags.truncate(usize::from(self.env.restarts));
        let (mut all, mut next) = (Vec::new(), state);
        while let Some(at) = next {
            all.push(at);
            next = template.state(at).outer;
        }
        for at in all.into_iter().rev() {
            let state = template.state(at);
            let value = self.mapped(state.value);
            self.open(value, state.number, &state.names, template.locals[state.value].span);
            if let Some(restart) = state.restart {
                let (local, depth) = (self.mapped(restart), self.branches.open.len());
                self.flags.push((local, depth));
            }
        }
        self.member = state.map(|state| template.state(state).path.clone());
    }

    /// Notes the number of branches that are open where a variable of the template is defined.
    pub(super) fn defined_in(&mut self, state: Option<usize>, made: Vec<Local>) {
        let (mut depth, mut next) = (0, state);
        while let Some(at) = next {
            let state = self.template.state(at);
            let (mut lo, mut hi) = (0, state.names.len());
            while hi - lo > 1 {
                let mid = lo + (hi - lo) / 2;
                (lo, hi) = if state.number < mid { (lo, mid) } else { (mid, hi) };
                depth += 1;
            }
            next = state.outer;
        }
        if depth > 0 {
            self.branches.depths.extend(made.into_iter().map(|local| (local, depth)));
        }
    }

    /// The flags that restart the delays of an expression. Each is on the clock of the node or state that it restarts.
    pub(super) fn flags(&mut self, span: Span) -> Vec<Local> {
        let flags = self.flags.clone();
        flags.into_iter().map(|flag| self.flag(flag, span)).collect()
    }

    /// A flag, on the clock of the state that it restarts.
    fn flag(&mut self, (local, depth): Flag, span: Span) -> Local {
        if depth <= self.depth_of(local) {
            return local;
        }
        let inner = self.branches.open.split_off(depth);
        let key = (local, self.branches.open.clone());
        let made = match self.branches.flags.get(&key) {
            Some(&known) => known,
            None => {
                let value = self.sampled(local, 0, span);
                let label = self.branches.open.last().map(|branch| Arc::clone(&branch.label));
                let name = format!("{}.{}", self.locals[local].name, label.unwrap_or_else(|| "".into()));
                let made = self.named(value, &name, span);
                self.branches.depths.insert(made, depth);
                self.branches.flags.insert(key, made);
                made
            }
        };
        self.branches.open.extend(inner);
        made
    }
}

/// The node that an expression names.
pub(super) fn callee(kind: &ExprKind) -> Option<SourceId> {
    match kind {
        ExprKind::Call(call) => Some(call.callee),
        ExprKind::Structure(Structure::Node(passed)) => match passed.target {
            Written::Source(id) => Some(id),
            Written::Formal(_) | Written::Builtin(_) => None,
        },
        _ => None, // The other forms name only variables.
    }
}
