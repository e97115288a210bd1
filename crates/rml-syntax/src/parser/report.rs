//! The errors that the parser reports when it finds something other than it expected.

use super::{MAX_AUTOMATA, MAX_DEPTH, MAX_NESTING, MAX_TRANSITIONS, Parser, Reported};
use crate::token::Kind;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

impl Parser<'_, '_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// The description of the next token in messages.
    pub(super) fn found(&self) -> String {
        let token = self.peek();
        match token.kind {
            Kind::Eof => "the end of the text".to_owned(),
            Kind::Ident => format!("the name `{}`", self.text_of(token)),
            Kind::Int | Kind::Num => format!("the number `{}`", self.text_of(token)),
            Kind::Str => "a string".to_owned(),
            Kind::Invalid => "something that is no token".to_owned(),
            kind if kind.is_keyword() => format!("the keyword `{}`", self.text_of(token)),
            _ => format!("`{}`", self.text_of(token)),
        }
    }

    /// Reports "expected .., found .." at the next token. If that token was already reported as invalid, adds no
    /// message.
    pub(super) fn unexpected(&mut self, expected: &str, help: &[&str]) -> Reported {
        let token = self.peek();
        if token.kind == Kind::Invalid {
            return Reported;
        }
        let found = self.found();
        let (span, place) = if token.kind == Kind::Eof && self.at > 0 {
            (self.last_span(), " after this")
        } else {
            (self.span(token), "")
        };
        let mut diagnostic = Diagnostic::error(codes::SYNTAX, format!("expected {expected}, found {found}"))
            .label(span, format!("expected {expected}{place}"));
        if let Some(diagnostic) = self.gradient_of_node(&diagnostic) {
            return self.report(diagnostic);
        }
        let joined = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|last| last.end);
        let curried = (token.kind == Kind::LParen && joined == Some(token.start)).then(|| self.curried());
        if let Some((place, call)) = curried.flatten() {
            return self.report(diagnostic.fix(format!("write `{call}`"), place, call));
        }
        if let Some(diagnostic) = self.foreign_operator(&diagnostic) {
            return self.report(diagnostic);
        }
        match self.habit() {
            Some(line) => diagnostic = diagnostic.help(self.named(line)),
            None => diagnostic.help.extend(help.iter().map(|line| (*line).to_owned())),
        }
        self.report(diagnostic)
    }

    /// Moves past a token of that kind, or reports that it is missing.
    pub(super) fn expect(&mut self, kind: Kind, place: &str, help: &[&str]) -> Result<Span, Reported> {
        if self.eat(kind).is_some() {
            return Ok(self.last_span());
        }
        let expected = format!("`{}` {place}", kind.spelling().unwrap_or("?"));
        Err(self.unexpected(expected.trim_end(), help))
    }

    /// Moves past the closing bracket `kind`, or reports that `expected` is missing and which bracket it would close.
    pub(super) fn close(&mut self, kind: Kind, open: Span, expected: &str) -> Result<Span, Reported> {
        if self.eat(kind).is_some() {
            return Ok(self.last_span());
        }
        let mut help = Vec::new();
        if self.kind() == Kind::Eq {
            help.push("`==` compares; `=` is used only between the two sides of an equation");
        }
        let before = self.diagnostics.len();
        let reported = self.unexpected(expected, &help);
        if let Some(diagnostic) = self.diagnostics.get_mut(before) {
            let labelled = diagnostic.clone().label(open, "opened here");
            *diagnostic = labelled;
        }
        Err(reported)
    }

    /// Reports a missing `;` after the token parsed last.
    pub(super) fn missing_semicolon(&mut self, what: &str) -> Reported {
        if self.joined {
            return Reported;
        }
        let last = self.last_span();
        let found = self.found();
        self.report(
            Diagnostic::error(codes::MISSING_SEMICOLON, format!("{what} does not end with `;`"))
                .label(last, "expected `;` after this")
                .note(format!("expected `;`, found {found}"))
                .fix("put a `;` here", Span { start: last.end, ..last }, ";"),
        )
    }

    /// Reports `_` where a name or value is needed.
    pub(super) fn underscore(&mut self, what: &str) -> Reported {
        let span = self.span(self.peek());
        self.report(
            Diagnostic::error(codes::SYNTAX, format!("expected {what}, found `_`"))
                .label(span, "`_` has no value")
                .help("`_` drops a result on the left of an equation, and leaves an input open where a node is passed on: `f(dense(8, _), x)`"),
        )
    }

    /// Reports an automaton without states.
    pub(super) fn no_state(&mut self, at: Span) -> Reported {
        self.report(
            Diagnostic::error(codes::SYNTAX, "an automaton has at least one state")
                .label(at, "no state")
                .help("its states follow it, the first one first: `automaton state Idle y = 0.0; end;`"),
        )
    }

    /// Reports a transition beyond the limit.
    pub(super) fn many_transitions(&mut self) -> Reported {
        let span = self.span(self.peek());
        self.report(
            Diagnostic::error(codes::NESTING_LIMIT, "this state has too many transitions")
                .label(span, "the limit is reached here")
                .note(format!("expected at most {MAX_TRANSITIONS} transitions of a state"))
                .help("join transitions that lead to the same state with `or`"),
        )
    }

    /// Reports automata that are nested too deeply.
    pub(super) fn nested_automata(&mut self, span: Span) -> Reported {
        self.report(
            Diagnostic::error(codes::NESTING_LIMIT, "automata are nested too deeply")
                .label(span, "the limit is reached here")
                .note(format!("expected at most {MAX_AUTOMATA} automata inside each other"))
                .help("put an automaton into a node of its own, and call it"),
        )
    }

    pub(super) fn nesting_limit(&mut self, span: Span) -> Reported {
        self.report(
            Diagnostic::error(codes::NESTING_LIMIT, "this expression is nested too deeply")
                .label(span, "the limit is reached here")
                .note(format!(
                    "expected at most {MAX_NESTING} levels; every operator of `a + b + ..` counts as one"
                ))
                .note(format!(
                    "expected at most {MAX_DEPTH} levels of brackets, prefix operators, `if` and `fby`"
                ))
                .help("name a part of it in an equation of its own"),
        )
    }
}
