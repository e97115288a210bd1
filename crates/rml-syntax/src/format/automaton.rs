//! Layout of automata: states, equations and transitions each begin a line.

use super::doc::{Doc, nest, text};
use super::list::bracketed;
use super::{BODY, Formatter};
use crate::ast::{Equation, StateDef, StateItem, Transition};
use crate::precedence::Level;
use rml_base::Span;

impl Formatter<'_> {
    /// `automaton .. end;`
    pub(super) fn automaton(&mut self, equation: &Equation<'_>, states: &[StateDef<'_>], indent: usize) {
        let (all, word, end) = (equation.span, "automaton", "end");
        let length = |word: &str| u32::try_from(word.len()).unwrap_or(0);
        let head = Span { end: all.start + length(word), ..all };
        self.entry(text(word), indent, head, false);
        states.iter().for_each(|state| self.state(state, indent + BODY));
        let whole = equation.rhs.span;
        let tail = Span { start: whole.end.saturating_sub(length(end)).max(whole.start), ..all };
        self.inner_comments(tail.start as usize, indent + BODY);
        self.entry(Doc::Concat(vec![text(end), text(";")]), indent, tail, false);
    }

    fn state(&mut self, state: &StateDef<'_>, indent: usize) {
        self.inner_comments(state.header_span.start as usize, indent);
        let mut parts = vec![text("state "), self.verbatim(state.name.span)];
        if !state.params.is_empty() {
            let params = self.items(
                state.params,
                |param| param.decl.span.to(param.first.span),
                |f, param| {
                    let decl = f.decl(&param.decl);
                    Doc::Concat(vec![decl, text(" = "), nest(2, f.expr(param.first, Level::If))])
                },
            );
            parts.push(bracketed("(", params, ")", false));
        }
        self.entry(Doc::Concat(parts), indent, state.header_span, false);
        for item in state.body {
            match item {
                StateItem::Equation(equation) => self.equation(equation, indent + BODY),
                StateItem::Transition(transition) => self.transition(transition, indent + BODY),
            }
        }
    }

    /// `until c then Hold(x);`
    fn transition(&mut self, transition: &Transition<'_>, indent: usize) {
        self.inner_comments(transition.span.start as usize, indent);
        self.set_depth(transition.span);
        let word = if transition.strong { "unless " } else { "until " };
        let mut parts = vec![text(word), nest(2, self.expr(transition.cond, Level::If))];
        parts.push(text(if transition.resume { " continue " } else { " then " }));
        parts.push(self.verbatim(transition.target.span));
        if let Some(args) = transition.args {
            let args = self.items(args, |arg| arg.span, |f, arg| f.expr(arg, Level::If));
            parts.push(bracketed("(", args, ")", false));
        }
        parts.push(text(";"));
        self.entry(Doc::Concat(parts), indent, transition.span, false);
    }
}
