//! Automata: `automaton state A .. until c then B; state B .. end;` among the equations of a node.

use super::{Lost, MAX_AUTOMATA, MAX_TRANSITIONS, Parse, Parser, Reported};
use crate::ast::{Equation, Expr, ExprKind, Ident, Lhs, StateDef, StateItem, StateParam, Transition};
use crate::token::Kind;
use rml_base::Diagnostic;
use rml_base::Span;
use rml_base::codes::syntax as codes;

impl<'a> Parser<'_, 'a> {
    /// Whether `automaton` before the first state is next.
    pub(super) fn at_automaton(&self) -> bool {
        self.is_word(0, "automaton") && self.peek_at(1).kind == Kind::Ident
    }

    /// Whether `state` before a name is next, in an automaton, or the word `initial`, which the language does not have.
    fn at_state(&self) -> bool {
        let word = self.is_word(0, "state") || self.is_word(0, "initial");
        self.automata > 0 && word && self.peek_at(1).kind == Kind::Ident
    }

    /// Whether `end` is next and closes an automaton, instead of being defined by an equation.
    fn at_end(&self) -> bool {
        let next = self.peek_at(1).kind;
        let defines = matches!(next, Kind::Eq | Kind::EqEq | Kind::Comma | Kind::Colon | Kind::LBracket);
        self.automata > 0 && self.is_word(0, "end") && !defines
    }

    /// Whether `unless` or `until` before a condition is next, in an automaton.
    fn at_transition(&self) -> bool {
        let next = self.peek_at(1).kind;
        let word = self.is_word(0, "unless") || self.is_word(0, "until");
        self.automata > 0 && word && next.starts_expr() && next != Kind::LBracket
    }

    /// Whether `continue` before the name of a state is next, in an automaton.
    pub(super) fn at_continue(&self) -> bool {
        self.automata > 0 && self.is_word(0, "continue") && self.peek_at(1).kind == Kind::Ident
    }

    /// Whether an equation cannot continue here, because a part of an automaton begins or ends.
    pub(super) fn at_state_part(&self) -> bool {
        self.at_state() || self.at_end() || self.at_transition()
    }

    /// Parses `automaton state A .. end;`.
    pub(super) fn automaton(&mut self, start: Span) -> Parse<Equation<'a>> {
        self.take();
        if self.automata >= MAX_AUTOMATA {
            return Err(self.nested_automata(start));
        }
        self.automata += 1;
        let states = self.states();
        let closed = self.at_end().then(|| self.take());
        self.automata -= 1;
        self.joined = false;
        let span = start.to(self.last_span());
        if closed.is_none() {
            let help = "an automaton ends with `end;` after its last state";
            self.unexpected("`state` or `end`", &[help]);
        } else if self.eat(Kind::Semi).is_none() {
            self.missing_semicolon("this automaton");
        }
        if states.is_empty() && closed.is_some() {
            self.no_state(start);
        }
        // An automaton without states is in error, which is reported here.
        let (lhs, kind): (&[Lhs<'a>], _) = match &states[..] {
            [] => (self.slice(&[Lhs::Discard(start)]), ExprKind::Error),
            states => (&[], ExprKind::Automaton(self.slice(states))),
        };
        let rhs = self.bump.alloc(Expr { kind, span });
        Ok(Equation { lhs, rhs, range: None, span: start.to(self.last_span()) })
    }

    fn states(&mut self) -> Vec<StateDef<'a>> {
        let mut states = Vec::new();
        while !self.at_item_end() && !self.at_end() {
            let from = self.at;
            let state = if self.at_state() {
                self.state(states.is_empty())
            } else {
                let help = "the states of an automaton follow it: `automaton state Idle .. end;`";
                Err(self.unexpected("`state` or `end`", &[help]))
            };
            match state {
                Ok(state) => states.push(state),
                Err(Reported) => self.skip_state(from),
            }
        }
        states
    }

    /// Parses the word `state`. The first state has no mark, so `initial` before, after or instead of this word is
    /// reported.
    fn state_word(&mut self, is_first: bool) -> Span {
        let start = self.span(self.peek());
        let is_marked = self.is_word(0, "initial");
        if is_marked {
            let stands_alone = !self.is_word(1, "state") || self.peek_at(2).kind != Kind::Ident;
            self.initial_state(is_first, if stands_alone { "state " } else { "" });
            if stands_alone {
                return start;
            }
        }
        self.next();
        if !is_marked && self.is_word(0, "initial") && self.peek_at(1).kind == Kind::Ident {
            let next = self.peek_at(2).kind;
            if !matches!(next, Kind::Eq | Kind::Comma | Kind::LBracket) {
                self.initial_state(is_first, "");
            }
        }
        start
    }

    /// Skips the word `initial`, and reports it. The suggested fix is `text`.
    fn initial_state(&mut self, is_first: bool, text: &str) {
        let word = self.take();
        let d = Diagnostic::error(codes::SYNTAX, "the initial state has no mark: it is the first one");
        let d = d.label(word, if text.is_empty() { "leave this out" } else { "write `state` here" });
        let place = Span { end: self.span(self.peek()).start, ..word };
        self.report(match (is_first, text) {
            (true, "") => d.fix("leave `initial` out", place, ""),
            (true, _) => d.fix("write `state` in place of `initial`", place, text),
            (false, _) => d.help("write `state` without `initial`, and put this state before the others"),
        });
    }

    /// Skips the word `do` before the equations of a state, and reports the first one. In such an automaton, `;` is
    /// only between equations, not before `until`.
    fn do_block(&mut self) -> bool {
        let ends = self.joined && self.is_word(0, "done");
        let begins = self.is_word(0, "do") && self.peek_at(1).kind == Kind::Ident;
        if !ends && !begins {
            return false;
        }
        let word = self.take();
        if !self.joined {
            let help = "leave `do` out, and end each equation and each transition with `;`: `y = x; until c then S;`";
            let d = Diagnostic::error(codes::SYNTAX, "the equations of a state follow its name")
                .label(word, "leave this out")
                .help(help);
            self.report(d);
        }
        self.joined = true;
        true
    }

    /// Continues after an error: at the next part of the automaton, or after the next `;`.
    fn skip_in_state(&mut self, from: usize) {
        if self.at == from {
            self.next();
        }
        while !self.at_item_end() && !self.at_state_part() {
            if self.next().kind == Kind::Semi {
                break;
            }
        }
        self.lose(from, Lost::Equation);
    }

    /// After an error in the first line of a state, skips to the next state.
    fn skip_state(&mut self, from: usize) {
        self.skip_in_state(from);
        while !self.at_item_end() && !self.at_end() && !self.at_state() {
            self.skip_in_state(self.at);
        }
    }

    /// Parses `state Hold(limit = 20.0)` with its equations and transitions.
    fn state(&mut self, is_first: bool) -> Parse<StateDef<'a>> {
        let start = self.state_word(is_first);
        let name = self.name("the name of the state")?;
        let params = if self.kind() == Kind::LParen { self.state_params()? } else { Vec::new() };
        let header_span = start.to(self.last_span());
        if matches!(self.kind(), Kind::Arrow | Kind::Colon | Kind::Semi) {
            self.unexpected("an equation or a transition", &["the equations of a state follow its name"]);
            self.next();
        }
        let (mut body, mut transitions) = (Vec::new(), 0);
        while !self.at_item_end() && !self.at_end() && !self.at_state() {
            if self.loose_text() || self.block_word() || self.do_block() {
                continue;
            }
            let from = self.at;
            let item = if self.at_transition() {
                transitions += 1;
                if transitions == MAX_TRANSITIONS + 1 {
                    self.many_transitions();
                }
                self.transition().map(StateItem::Transition)
            } else if self.kind() == Kind::If
                && let Some(transition) = self.foreign_transition(self.span(self.peek()), false)
            {
                Ok(StateItem::Transition(transition))
            } else {
                self.equation().map(StateItem::Equation)
            };
            match item {
                Ok(item) => body.push(item),
                Err(Reported) => self.skip_in_state(from),
            }
        }
        Ok(StateDef { name, params: self.slice(&params), body: self.slice(&body), header_span })
    }

    /// Parses `(limit = 20.0, ..)`.
    fn state_params(&mut self) -> Parse<Vec<StateParam<'a>>> {
        let open = self.take();
        let (mut params, mut lacking) = (Vec::new(), false);
        while self.kind() != Kind::RParen {
            let decl = self.decl(false)?;
            if matches!(self.kind(), Kind::Comma | Kind::RParen) && decl.member.is_none() {
                if !lacking {
                    self.no_first_value(decl.name);
                }
                lacking = true;
                let first = self.bump.alloc(Expr { kind: ExprKind::Error, span: decl.span });
                params.push(StateParam { decl, first });
                self.eat(Kind::Comma);
                continue;
            }
            if self.kind() != Kind::Eq || decl.member.is_some() {
                let help = "a parameter of a state has a first value: `state Hold(limit = 20.0)`";
                return Err(self.unexpected("`=` after the parameter", &[help]));
            }
            self.next();
            self.depth = 0;
            let first = self.expr()?.expr;
            params.push(StateParam { decl, first });
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RParen, open, "`,` or `)` after the parameters of the state")?;
        Ok(params)
    }

    /// Reports that a parameter of a state has no first value.
    fn no_first_value(&mut self, param: Ident) {
        let text = self.names.resolve(&param.name);
        let d = Diagnostic::error(codes::SYNTAX, format!("the parameter `{text}` has no first value"))
            .label(param.span, "expected `=` and a value after this")
            .note("it is the value in the first cycle, and after a transition that gives none")
            .help(format!(
                "write `{text} = 0.0` for a num, `{text} = 0` for an int, `{text} = false` for a bool"
            ));
        self.report(d);
    }

    /// Parses `until c then Hold(x);` or `unless c continue Hold;`.
    fn transition(&mut self) -> Parse<Transition<'a>> {
        let strong = self.is_word(0, "unless");
        let start = self.take();
        if let Some(transition) = self.foreign_transition(start, strong) {
            return Ok(transition);
        }
        self.depth = 0;
        let cond = self.expr()?.expr;
        let resume = self.is_word(0, "continue");
        if self.kind() == Kind::Arrow {
            let arrow = self.peek();
            let diagnostic = Diagnostic::error(codes::SYNTAX, "a transition has no arrow")
                .label(self.span(arrow), "expected `then` or `continue`")
                .help("write `then`: `until c then S;` restarts the state `S`, and `until c continue S;` resumes it");
            self.report(diagnostic);
        } else if !resume && self.kind() != Kind::Then {
            let help = "`then S` restarts the state `S`, and `continue S` resumes it";
            return Err(self.unexpected("`then` or `continue` after the condition", &[help]));
        }
        self.next();
        if !resume && self.is_word(0, "continue") && self.peek_at(1).kind == Kind::Ident {
            let help = "`continue` stands in place of `then`: `until c continue S;`";
            self.unexpected("the name of a state", &[help]);
            self.next();
        }
        let target: Ident = self.name("the name of a state")?;
        self.depth = 0;
        let args = match self.kind() {
            Kind::LParen => Some(self.args("")?.0),
            _ => None,
        };
        if self.eat(Kind::Semi).is_none() {
            if !(self.at_item_end() || self.at_equation() || self.at_state_part()) {
                return Err(self.unexpected("`;` after the transition", &[]));
            }
            self.missing_semicolon("this transition");
        }
        Ok(Transition { strong, cond, resume, target, args, span: start.to(self.last_span()) })
    }
}
