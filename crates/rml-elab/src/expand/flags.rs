//! The states of automata in a copy: in which branches their equations run, and what restarts their delays.
//!
//! A state has a *flag* that is true in the cycle in which it restarts. The flags of a delay, and of a call, are
//! noted here; [`restarts`](crate::restarts) restarts the delay by them when clocks are known.

use std::sync::Arc;

use rml_base::Span;

use super::branches::Flag;
use super::copy::Copy;
use crate::hir::Target as Written;
use crate::hir::{ExprKind, Local, SourceId, Structure};

impl Copy<'_, '_> {
    /// Enters the state that an equation of the template stands in, or leaves all states.
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

    /// Notes how many branches are open where a variable of the template is defined.
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

    /// What restarts the delays of an expression, each on the clock of what it restarts: the node, or a state.
    pub(super) fn flags(&mut self, span: Span) -> Vec<Local> {
        let flags = self.flags.clone();
        flags.into_iter().map(|flag| self.flag(flag, span)).collect()
    }

    /// A flag in the state that it restarts.
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
        _ => None, // the other forms name variables only
    }
}
