//! Transitions of automata, and the equations that represent an automaton: which state runs, whether it restarts, and
//! the values of its parameters.

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span, suggest};
use rml_syntax::ast::{self, BinaryOp, Ident, Literal};

use super::expr::arguments;
use super::node::Lower;
use super::states::{Automaton, Param};
use crate::hir::{Equation, Expr, ExprId, ExprKind, Local, LocalKind, Structure};

/// The strong transitions, or the weak transitions, of a state.
#[derive(Default)]
pub(super) struct Taken {
    /// The number of the transition that is taken, from 1; 0 for none.
    chosen: Option<Local>,
    to: Vec<To>,
}

/// The target of a transition.
struct To {
    target: Option<usize>,
    resume: bool,
    /// The values of the parameters of the target.
    args: Option<Vec<Local>>,
}

impl<'a> Lower<'a, '_> {
    /// Lowers the transitions of the state with that number.
    pub(super) fn transitions(&mut self, automaton: &Automaton<'a>, number: usize, strong: bool) -> Taken {
        let own = &automaton.states[number];
        let state = if strong { own.strong } else { Some(own.body) };
        let written: Vec<&ast::Transition<'a>> = automaton.ast[number].transitions(strong).collect();
        let Some(span) = written.first().map(|first| first.cond.span) else { return Taken::default() };
        let from = self.exprs.len();
        let conds: Vec<ExprId> = written.iter().map(|transition| self.expr(transition.cond)).collect();
        let mut chain = self.int(0, span);
        for (i, cond) in conds.into_iter().enumerate().rev() {
            let at = self.exprs[cond].span;
            let then = self.int(i + 1, at);
            chain = self.push(ExprKind::If { cond, then, other: chain }, at);
        }
        self.nested_calls(from, chain);
        let name = format!("{}.{}", own.path, if strong { "unless" } else { "until" });
        let chosen = self.hidden(&name, span);
        self.define(chosen, chain, span, state);
        let to = written.iter().enumerate().map(|(i, transition)| {
            let target = self.state_number(automaton, transition.target);
            if let Some(target) = target {
                self.count_params(automaton, target, transition);
            }
            let args = transition.args.map(|args| {
                let args = args
                    .iter()
                    .enumerate()
                    .map(|(k, arg)| self.argument_of(arg, &format!("{name}.{}.{}", i + 1, k + 1), state));
                args.collect()
            });
            To { target, resume: transition.resume, args }
        });
        let to = to.collect();
        Taken { chosen: Some(chosen), to }
    }

    /// Defines a variable for the value that a transition gives to a parameter.
    fn argument_of(&mut self, arg: &ast::Expr<'_>, name: &str, state: Option<usize>) -> Local {
        let local = self.hidden(name, arg.span);
        self.value_of(local, arg, state);
        local
    }

    /// Defines a variable by an expression of the source.
    fn value_of(&mut self, local: Local, value: &ast::Expr<'_>, state: Option<usize>) {
        let from = self.exprs.len();
        let rhs = self.expr(value);
        self.results(&[(Some(local), value.span)], from, rhs, value.span);
        self.define(local, rhs, value.span, state);
    }

    /// The number of the state with that name.
    fn state_number(&mut self, automaton: &Automaton<'a>, name: Ident) -> Option<usize> {
        let found = automaton.ast.iter().position(|state| state.name.name == name.name);
        if found.is_none() {
            self.automata.sought.insert(name.name);
            let text = self.names.resolve(&name.name);
            if self.scopes.is_excused(self.header.file, text, false) {
                return None;
            }
            if let Some(d) = self.state_outside(automaton, name) {
                self.report.push(d);
                return None;
            }
            let known = || automaton.names.iter().map(|name| &**name);
            let d = Diagnostic::error(codes::UNKNOWN_STATE, format!("the automaton has no state `{text}`"))
                .label(name.span, "not a state")
                .label(automaton.span, "this automaton");
            self.report.push(match suggest(text, known()) {
                Some(near) => d.fix(format!("there is `{near}`"), name.span, near),
                None => {
                    let shown: Vec<String> = known().take(8).map(|name| format!("`{name}`")).collect();
                    d.help(format!("its states are {}", shown.join(", ")))
                }
            });
        }
        found
    }

    /// The error that a transition names a state of an enclosing automaton.
    fn state_outside(&self, automaton: &Automaton<'a>, name: Ident) -> Option<Diagnostic> {
        let text = self.names.resolve(&name.name);
        let mut outer = automaton.outer;
        while let Some(state) = outer.and_then(|outer| self.automata.states.all.get(outer)) {
            if state.names.iter().any(|name| **name == *text) {
                let around = state.names.get(state.number)?;
                let message = format!("`{text}` is a state of the automaton around this one");
                return Some(
                    Diagnostic::error(codes::UNKNOWN_STATE, message)
                        .label(name.span, "not a state of the inner automaton")
                        .label(automaton.span, "the inner automaton")
                        .note("a transition leads to a state of its own automaton")
                        .help(format!(
                            "put the transition into the state `{around}`, after `end;` of the inner automaton: `until c then {text};`"
                        )),
                );
            }
            outer = state.outer;
        }
        None
    }

    /// Checks that a transition gives all parameters of its target, or none.
    fn count_params(&mut self, automaton: &Automaton<'a>, target: usize, transition: &ast::Transition<'_>) {
        let Some(args) = transition.args else { return };
        let state = &automaton.ast[target];
        if args.len() == state.params.len() {
            return;
        }
        let name = &automaton.names[target];
        let params: Vec<&str> =
            state.params.iter().map(|param| self.names.resolve(&param.decl.name.name)).collect();
        let takes = arguments(state.params.len());
        let d = Diagnostic::error(
            codes::ARITY,
            format!("the state `{name}` takes {takes}, but {} given", args.len()),
        )
        .label(transition.span, format!("{} here", arguments(args.len())))
        .label(state.header_span, "the state");
        self.report.push(match &params[..] {
            [] => d.help(format!("leave the parentheses out: `then {name}`")),
            _ => d
                .note(format!("expected {name}({})", params.join(", ")))
                .help(format!("`then {name}` without parentheses gives all parameters their first values")),
        });
    }

    /// Adds the equations that represent an automaton, given the strong and weak transitions of each state.
    pub(super) fn compose(&mut self, automaton: &Automaton<'a>, taken: &[(Taken, Taken)]) {
        let &Automaton { value, entry, outer, span, .. } = automaton;
        let state = |lower: &mut Self, to: &To| to.target.map(|target| lower.int(target, span));
        let next = self.per_state(automaton, taken, false, |lower, k| lower.int(k, span), state);
        let next = self.named_value(&format!("{}.next", automaton.name), next, span, outer);
        self.automata.numbered.insert(next, Arc::clone(&automaton.names));
        let first = self.int(0, span);
        self.delayed(entry, first, next, span, outer);
        if entry != value {
            let now = self.per_state(automaton, taken, true, |lower, k| lower.int(k, span), state);
            self.define(value, now, span, outer);
        }
        self.restarts(automaton, taken);
        for (target, own) in automaton.states.iter().enumerate() {
            for (at, param) in own.params.iter().enumerate() {
                self.parameter(automaton, taken, (target, at), param);
            }
        }
        self.unreachable(automaton);
    }

    /// Adds the equations for the flag that the running state restarts.
    fn restarts(&mut self, automaton: &Automaton<'a>, taken: &[(Taken, Taken)]) {
        let &Automaton { span, outer, .. } = automaton;
        let (Some(restart), Some(entry)) = (automaton.restart, automaton.entry_restart) else { return };
        let restarts = |lower: &mut Self, to: &To| Some(lower.bool(!to.resume, span));
        let next = self.per_state(automaton, taken, false, |lower, _| lower.bool(false, span), restarts);
        let next = self.named_value(&format!("{}.next.restart", automaton.name), next, span, outer);
        let first = self.bool(false, span);
        self.delayed(entry, first, next, span, outer);
        if entry != restart {
            let now = self.per_state(automaton, taken, true, |lower, _| lower.read(entry, span), restarts);
            self.define(restart, now, span, outer);
        }
        if let Some(strong) = automaton.strong_restart.filter(|strong| *strong != entry) {
            // The strong transitions of a state that was entered by a strong transition are tried in the next cycle.
            let entered =
                self.per_state(automaton, taken, true, |lower, _| lower.bool(false, span), restarts);
            let entered = self.named_value(&format!("{}.entered", automaton.name), entered, span, outer);
            let next =
                self.per_state(automaton, taken, false, |lower, _| lower.read(entered, span), restarts);
            let next = self.named_value(&format!("{}.unless.next", automaton.name), next, span, outer);
            let first = self.bool(false, span);
            self.delayed(strong, first, next, span, outer);
        }
    }

    /// Adds the equations of parameter number `at` of state number `of`.
    fn parameter(
        &mut self,
        automaton: &Automaton<'a>,
        taken: &[(Taken, Taken)],
        (of, at): (usize, usize),
        param: &Param,
    ) {
        let &Automaton { outer, .. } = automaton;
        let written = &automaton.ast[of].params[at];
        let span = written.decl.name.span;
        self.value_of(param.first, written.first, outer);
        self.declared(&written.decl, param.value);
        let given = |lower: &mut Self, to: &To| {
            let value = match (&to.args, to.resume) {
                _ if to.target != Some(of) => return None,
                (Some(args), _) => *args.get(at)?,
                (None, true) => return None,
                (None, false) => param.first,
            };
            Some(lower.read(value, span))
        };
        let next = self.per_state(automaton, taken, false, |lower, _| lower.read(param.value, span), given);
        let name = format!("{}.{}.next", automaton.states[of].path, self.names.resolve(&param.name));
        let next = self.named_value(&name, next, span, outer);
        let first = self.read(param.first, span);
        self.delayed(param.held, first, next, span, outer);
        if param.held != param.value {
            let now = self.per_state(automaton, taken, true, |lower, _| lower.read(param.held, span), given);
            self.define(param.value, now, span, outer);
        }
    }

    /// A value chosen by state and by the strong or weak transition that is taken: `given` of the transition, or
    /// `other` if none is taken or `given` returns none.
    fn per_state(
        &mut self,
        automaton: &Automaton<'a>,
        taken: &[(Taken, Taken)],
        strong: bool,
        other: impl Fn(&mut Self, usize) -> ExprId,
        given: impl Fn(&mut Self, &To) -> Option<ExprId>,
    ) -> ExprId {
        let span = automaton.span;
        let mut cases = Vec::new();
        for (k, (before, after)) in taken.iter().enumerate() {
            let transitions = if strong { before } else { after };
            let mut value = other(self, k);
            for (i, to) in transitions.to.iter().enumerate().rev() {
                let (Some(then), Some(chosen)) = (given(self, to), transitions.chosen) else { continue };
                let (chosen, number) = (self.read(chosen, span), self.int(i + 1, span));
                let cond = self.push(ExprKind::Binary(BinaryOp::Eq, chosen, number), span);
                value = self.push(ExprKind::If { cond, then, other: value }, span);
            }
            cases.push(value);
        }
        let of = if strong { automaton.entry } else { automaton.value };
        self.by_state(automaton, of, cases)
    }

    /// Chooses a case by the number of the state in variable `of`.
    fn by_state(&mut self, automaton: &Automaton<'a>, of: Local, cases: Vec<ExprId>) -> ExprId {
        let value = self.read(of, automaton.span);
        let states = Structure::States { value, names: Arc::clone(&automaton.names), cases };
        self.push(ExprKind::Structure(states), automaton.span)
    }

    /// Merges the variables that all states define into one variable each, for readers outside.
    pub(super) fn merge_exports(&mut self, all: &[Automaton<'a>]) {
        for automaton in all.iter().rev() {
            for (name, &local) in &automaton.exports {
                if !self.automata.read.contains(&local) {
                    self.locals[local].kind = LocalKind::Undefined;
                    continue;
                }
                let span = self.locals[local].span;
                let mut cases = Vec::new();
                for own in &automaton.states {
                    let Some(&own) = own.names.get(name) else { continue };
                    self.automata.read.insert(own);
                    let at = self.locals[own].span;
                    cases.push(self.read(own, at));
                }
                let value = self.by_state(automaton, automaton.value, cases);
                self.define(local, value, span, automaton.outer);
            }
        }
    }

    /// Warns about states without an incoming transition. It reports nothing if a transition is in error, because that
    /// transition may have the state as its target.
    fn unreachable(&mut self, automaton: &Automaton<'a>) {
        let states = automaton.ast;
        let mut reached = vec![false; states.len()];
        let mut todo = vec![0];
        while let Some(k) = todo.pop() {
            let Some(known) = reached.get_mut(k).filter(|known| !**known) else { continue };
            *known = true;
            for transition in states[k].transitions(true).chain(states[k].transitions(false)) {
                match states.iter().position(|state| state.name.name == transition.target.name) {
                    Some(target) => todo.push(target),
                    None => return,
                }
            }
        }
        for (k, state) in states.iter().enumerate().filter(|(k, _)| !reached[*k]) {
            let name = &automaton.names[k];
            if states[..k].iter().any(|other| other.name.name == state.name.name) {
                continue; // Defined twice, which is reported.
            }
            let is_sought = self.automata.sought.contains(&state.name.name);
            if is_sought || self.scopes.is_excused(self.header.file, name, false) {
                continue;
            }
            let first = &automaton.names[0];
            self.report.push(
                Diagnostic::warning(
                    codes::UNREACHABLE_STATE,
                    format!("no transition leads to the state `{name}`"),
                )
                .label(state.name.span, "its equations never run")
                .note(format!("the automaton starts in `{first}`"))
                .help(format!("add a transition, `until c then {name};`, or remove the state")),
            );
        }
    }

    /// Adds the equation `local = first fby next`.
    fn delayed(&mut self, local: Local, first: ExprId, next: Local, span: Span, state: Option<usize>) {
        let next = self.read(next, span);
        let rhs = self.push(ExprKind::Fby { init: first, next }, span);
        self.define(local, rhs, span, state);
    }

    fn named_value(&mut self, name: &str, rhs: ExprId, span: Span, state: Option<usize>) -> Local {
        let local = self.hidden(name, span);
        self.define(local, rhs, span, state);
        local
    }

    fn define(&mut self, local: Local, rhs: ExprId, span: Span, state: Option<usize>) {
        let equation = Equation { lhs: vec![(Some(local), span)], rhs, span, family: None };
        self.automata.made.push((state, equation));
    }

    fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.exprs.push(Expr { kind, span })
    }

    fn read(&mut self, local: Local, span: Span) -> ExprId {
        self.push(ExprKind::Local(local), span)
    }

    fn int(&mut self, value: usize, span: Span) -> ExprId {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.push(ExprKind::Literal(Literal::Int(value)), span)
    }

    fn bool(&mut self, value: bool, span: Span) -> ExprId {
        self.push(ExprKind::Literal(Literal::Bool(value)), span)
    }
}
