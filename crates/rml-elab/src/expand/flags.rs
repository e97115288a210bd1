//! The states of automata in a copy: in which branches their equations run, and how their delays restart.
//!
//! A delay in a state is on the clock of the state, so `if r then init else (init fby x)` restarts it, where `r` is a
//! *flag* that is true in the cycle in which the state is entered. In inner branches the flag is kept until they run
//! next. What has a clock of its own, by `when`, restarts by windows, as `f(x) restart r` does
//! ([`restart`](super::restart)): these remember the flag on any clock.

use std::sync::Arc;

use rml_base::Span;
use rml_syntax::ast::Literal;

use super::Expansion;
use super::branches::{Branch, Flag};
use super::copy::Copy;
use super::value::Target;
use crate::hir::{Equation, ExprId, ExprKind, Local, LocalData, LocalKind, SourceId, Structure};
use crate::hir::{Node, Target as Written};

impl Copy<'_, '_> {
    /// Enters the state that an equation of the template stands in, or leaves all states.
    pub(super) fn enter(&mut self, state: Option<usize>) {
        let template = Arc::clone(&self.template);
        self.branches.open.clear();
        self.flags.truncate(self.env.flags);
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
                self.flags.push(Flag { local, depth, window: false });
            }
            if self.samples(at) {
                self.flags.iter_mut().for_each(|flag| flag.window = true);
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

    /// Whether an equation of a state may have a clock of its own.
    fn samples(&mut self, state: usize) -> bool {
        if let Some(&known) = self.sampling.get(&state) {
            return known;
        }
        let template = Arc::clone(&self.template);
        let own = template.states().filter(|(_, of)| *of == state);
        let mut todo: Vec<ExprId> = own.map(|(at, _)| template.equations[at].rhs).collect();
        let mut found = false;
        while let Some(expr) = todo.pop() {
            let kind = &template.exprs[expr].kind;
            found |= match kind {
                ExprKind::When { .. } => true,
                ExprKind::Structure(Structure::Apply(apply)) => {
                    match self.node_of(apply.formal).map(|value| value.target) {
                        Some(Target::Source(id)) => self.expansion.samples(id),
                        Some(Target::Builtin(_)) | None => false,
                    }
                }
                kind => callee(kind).is_some_and(|id| self.expansion.samples(id)),
            };
            todo.extend(kind.children());
        }
        self.sampling.insert(state, found);
        found
    }

    /// The flags that a callee takes, in the branches that are open, and what ends the windows of its delays.
    pub(super) fn flags_of(&mut self, callee: SourceId, nodes: &[SourceId]) -> (Vec<Flag>, Vec<Local>) {
        if self.flags.is_empty() || !self.expansion.has_delay(callee) {
            return (Vec::new(), Vec::new());
        }
        let samples = std::iter::once(&callee).chain(nodes).any(|id| self.expansion.samples(*id));
        let (windows, flags): (Vec<Flag>, Vec<Flag>) =
            self.flags.iter().partition(|flag| flag.window || samples);
        let ends = windows.into_iter().map(|flag| self.end(flag)).collect();
        (flags, ends)
    }

    /// What ends the windows of the delays that a flag restarts.
    fn end(&mut self, flag: Flag) -> Local {
        let open = self.branches.open.clone();
        self.branches.open.truncate(flag.depth);
        let key = (flag.local, self.branches.open.clone());
        let end = match self.branches.ends.get(&key) {
            Some(&known) => known,
            None => {
                let span = self.locals[flag.local].span;
                let next = self.flag(flag, span);
                let init = self.push(ExprKind::Literal(Literal::Bool(false)), span);
                let end = self.push(ExprKind::FbyBack { init, next }, span);
                let name = self.state_name(flag.local, "end");
                let end = self.named(end, &name, span);
                self.branches.ends.insert(key, end);
                end
            }
        };
        self.branches.open = open;
        end
    }

    /// A flag in the branches that are open.
    pub(super) fn flag(&mut self, flag: Flag, span: Span) -> ExprId {
        let open = std::mem::take(&mut self.branches.open);
        let mut local = flag.local;
        if flag.depth > self.depth_of(local) {
            self.branches.open = open[..flag.depth].to_vec();
            local = self.sampled_name(local, span);
        }
        for level in flag.depth..open.len() {
            self.branches.open = open[..level].to_vec();
            let kept = self.kept(local, &open[level], span);
            self.branches.open.push(open[level].clone());
            local = self.sampled_name(kept, span);
        }
        self.branches.open = open;
        self.push(ExprKind::Local(local), span)
    }

    /// A variable in the branches that are open, by a name.
    fn sampled_name(&mut self, local: Local, span: Span) -> Local {
        let key = (local, self.branches.open.clone());
        if let Some(&known) = self.branches.flags.get(&key) {
            return known;
        }
        let value = self.sampled(local, 0, span);
        let name = self.state_name(local, "");
        let made = self.named(value, &name, span);
        self.branches.depths.insert(made, self.branches.open.len());
        self.branches.flags.insert(key, made);
        made
    }

    /// The name of a variable in the branch that is open innermost, with `what` after it.
    fn state_name(&self, local: Local, what: &str) -> String {
        let parts =
            [Some(&*self.locals[local].name), self.branches.open.last().map(|b| &*b.label), Some(what)];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }

    /// A flag that stays true until the next cycle in which a branch is taken, that cycle included: `kept = if flag
    /// then true else (false fby (kept and not taken))`.
    fn kept(&mut self, flag: Local, branch: &Branch, span: Span) -> Local {
        let key = (flag, branch.clone());
        if let Some(&known) = self.branches.kept.get(&key) {
            return known;
        }
        let name = self.state_name(flag, "kept");
        let left = self.fresh(&format!("{name}.left"));
        let (kind, types) = (LocalKind::Defined { equation: 0 }, Vec::new());
        let left = self.locals.push(LocalData { name: left, span, kind, types, clock: None, element: None });
        let no = |copy: &mut Self, value: bool| copy.push(ExprKind::Literal(Literal::Bool(value)), span);
        let (init, next) = (no(self, false), self.push(ExprKind::Local(left), span));
        let other = self.push(ExprKind::Fby { init, next }, span);
        let (cond, then) = (self.push(ExprKind::Local(flag), span), no(self, true));
        let rhs = self.push(ExprKind::If { cond, then, other }, span);
        let kept = self.named(rhs, &name, span);
        let cond = self.push(ExprKind::Local(branch.cond), span);
        let (value, none) = (self.push(ExprKind::Local(kept), span), no(self, false));
        let (then, other) = if branch.positive { (none, value) } else { (value, none) };
        let rhs = self.push(ExprKind::If { cond, then, other }, span);
        self.extra.push(Equation { lhs: vec![(Some(left), span)], rhs, span, family: None });
        for local in [left, kept] {
            self.branches.depths.insert(local, self.branches.open.len());
        }
        self.branches.kept.insert(key, kept);
        kept
    }

    /// `init fby next` in the states that are entered.
    pub(super) fn delay(&mut self, init: ExprId, next: ExprId, span: Span) -> ExprKind {
        let (windows, flags): (Vec<Flag>, Vec<Flag>) = self.flags.iter().partition(|flag| flag.window);
        let mut ends = self.restarts.clone();
        for flag in windows {
            ends.push(self.end(flag));
        }
        let conds: Vec<ExprId> = flags.into_iter().map(|flag| self.flag(flag, span)).collect();
        let Some(cond) = conds.into_iter().reduce(|a, b| {
            let then = self.push(ExprKind::Literal(Literal::Bool(true)), span);
            self.push(ExprKind::If { cond: a, then, other: b }, span)
        }) else {
            return self.windowed(init, next, &ends, span);
        };
        let (first, again) = self.twice(init);
        let other = self.windowed(first, next, &ends, span);
        let other = self.push(other, span);
        ExprKind::If { cond, then: again, other }
    }

    /// An expression that is used twice: a literal is written twice, and anything else gets a name.
    fn twice(&mut self, expr: ExprId) -> (ExprId, ExprId) {
        let (kind, span) = (&self.exprs[expr].kind, self.exprs[expr].span);
        if let ExprKind::Literal(literal) = *kind {
            let again = self.push(ExprKind::Literal(literal), span);
            if let Some(&of) = self.cases.get(&expr) {
                self.cases.insert(again, of);
            }
            return (expr, again);
        }
        let local = self.hoisted(expr, "first", span);
        let read = |copy: &mut Self| copy.push(ExprKind::Local(local), span);
        (read(self), read(self))
    }
}

/// The node that an expression names.
fn callee(kind: &ExprKind) -> Option<SourceId> {
    match kind {
        ExprKind::Call(call) => Some(call.callee),
        ExprKind::Structure(Structure::Node(passed)) => match passed.target {
            Written::Source(id) => Some(id),
            Written::Formal(_) | Written::Builtin(_) => None,
        },
        _ => None, // the other forms name variables only
    }
}

impl Expansion<'_> {
    /// Whether something in an instance of a node may have a clock of its own, whatever nodes it takes.
    pub(super) fn samples(&mut self, id: SourceId) -> bool {
        if let Some(&known) = self.sampling.get(&id) {
            return known;
        }
        let (mut seen, mut todo) = (vec![id], vec![id]);
        let mut found = false;
        while let Some(id) = todo.pop() {
            let node: &Node = &self.program.nodes[id];
            found |= node.locals.iter().any(|data| data.clock.is_some());
            for expr in node.exprs.iter() {
                found |= matches!(expr.kind, ExprKind::When { .. });
                if let Some(callee) = callee(&expr.kind).filter(|callee| !seen.contains(callee)) {
                    seen.push(callee);
                    todo.push(callee);
                }
            }
        }
        self.sampling.insert(id, found);
        found
    }
}
