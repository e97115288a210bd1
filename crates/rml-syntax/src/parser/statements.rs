//! Statements of other languages in the place of equations: loops and choices between assignments. Also requests for
//! gradients in the style of other libraries, and axes given by name.

use super::{Lost, Parse, Parser, Reported};
use crate::ast::{Equation, Ident, Range};
use crate::precedence::Level;
use crate::token::{Kind, Token};
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// Functions of other libraries that return the gradient of a function.
const GRADIENTS: &[&str] = &["grad", "gradient", "value_and_grad", "vjp"];

impl<'a> Parser<'_, 'a> {
    /// Parses `for k in range(3): h[k + 1] = f(h[k]);` as an equation with that range, and reports it.
    pub(super) fn for_loop(&mut self) -> Option<Parse<Equation<'a>>> {
        let [index, open] = [1, 4].map(|ahead| self.peek_at(ahead).kind);
        let words = [(0, "for"), (2, "in"), (3, "range")];
        if !words.iter().all(|(ahead, word)| self.is_word(*ahead, word))
            || (index, open) != (Kind::Ident, Kind::LParen)
        {
            return None;
        }
        let (bounds, close) = self.list(4)?;
        let range = match bounds[..] {
            [end] => format!("for {} < {end}", self.text_of(self.peek_at(1))),
            [first, end] => format!("for {first} <= {} < {end}", self.text_of(self.peek_at(1))),
            _ => return None,
        };
        let has_first = bounds.len() == 2;
        let body = close + 1 + usize::from(self.peek_at(close + 1).kind == Kind::Colon);
        let end = self.find_from(body, |token| token.kind == Kind::Semi)?;
        let d = Diagnostic::error(codes::SYNTAX, "there are no loops: a range stands after its equation")
            .label(self.span_of(0, body), "expected an equation");
        let (name, next) = (self.peek_at(body), self.peek_at(body + 1).kind);
        let name = (name.kind == Kind::Ident).then(|| self.text_of(name))?;
        if next != Kind::LBracket {
            let index = self.text_of(self.peek_at(1));
            let d = d.help(format!(
                "a variable has one equation, so each round gets an index: `{name}[0] = ..;`, then `{name}[{index} + 1] = .. {range};`, which reads `{name}[{index}]`"
            ));
            return Some(Err(self.report(d)));
        }
        let written = Some(self.written(body, end)).filter(|text| !text.contains('\n')).unwrap_or("..");
        let written = format!("{written} {range};");
        let d = d.fix(format!("write `{written}`"), self.span_of(0, end + 1), written);
        self.report(d);
        Some(self.loop_body(has_first, body))
    }

    /// Parses the equation of a loop. The `for` is next, and the equation begins `body` tokens further on. `first` says
    /// whether the range has a first index.
    fn loop_body(&mut self, first: bool, body: usize) -> Parse<Equation<'a>> {
        let (start, from) = (self.take(), self.at);
        let index = self.name("the index of the equation")?;
        self.depth = 0;
        let bounds = self.bounds(start, index, first)?;
        while self.at + 1 < from + body {
            self.next();
        }
        // Further equations of the loop may also read the index.
        self.lost.push(index.name);
        let equation = self.equation()?;
        Ok(Equation { range: Some(equation.range.unwrap_or(bounds)), ..equation })
    }

    /// Parses `for k in range(3)` after an equation, with `in` next, and reports it.
    pub(super) fn range_of_call(&mut self, start: Span, index: Ident) -> Option<Parse<Range<'a>>> {
        let is_call =
            self.is_word(0, "in") && self.is_word(1, "range") && self.peek_at(2).kind == Kind::LParen;
        let (bounds, close) = if is_call { self.list(2)? } else { return None };
        let name = self.text.get(index.span.range())?;
        let (written, has_first) = match bounds[..] {
            [end] => (format!("for {name} < {end}"), false),
            [first, end] => (format!("for {first} <= {name} < {end}"), true),
            _ => return None,
        };
        let place = start.to(self.span_of(close, close + 1));
        let message = "expected `<` after the index, found the name `in`";
        let d = Diagnostic::error(codes::SYNTAX, message).label(self.span(self.peek()), "expected `<`").fix(
            format!("write `{written}`"),
            place,
            written,
        );
        self.report(d);
        Some(self.bounds(start, index, has_first))
    }

    /// The range that corresponds to `in range(..)`, which is next.
    fn bounds(&mut self, start: Span, index: Ident, has_first: bool) -> Parse<Range<'a>> {
        self.skip(3);
        let first = if has_first { Some(self.infix(Level::Sum)?.expr) } else { None };
        if has_first {
            self.next();
        }
        let end = self.infix(Level::Sum)?.expr;
        self.next();
        Ok(Range { index, first, end, span: start.to(self.last_span()) })
    }

    /// Parses `match m Up -> o = x; Down -> o = -x;`. Leaves the last token.
    pub(super) fn match_statement(&mut self) -> Option<Reported> {
        if !self.is_word(0, "match") || !matches!(self.peek_at(1).kind, Kind::Ident | Kind::LParen) {
            return None;
        }
        let d = Diagnostic::error(codes::SYNTAX, "`match` chooses between values, not between equations")
            .label(self.span(self.peek()), "expected a variable");
        Some(match self.cases_of_statement() {
            Some((written, end)) => {
                let d = d.fix(format!("write `{written}`"), self.span_of(0, end + 1), written);
                self.skip(end);
                self.report(d)
            }
            None => {
                let from = self.at;
                let (cases, end) = self.cases_of_blocks();
                let value = self.text_of(self.peek_at(1));
                let value = if value == "(" { "(..)" } else { value };
                let d = d.help(format!(
                    "write one equation for each variable, `o = match {value} ({cases});`, with a value for each case"
                ));
                self.skip(end);
                self.lose(from, Lost::Other);
                self.report(d)
            }
        })
    }

    /// The cases of a choice between equations as text, and the position of the `;` that ends it; 0 if there is none.
    fn cases_of_blocks(&self) -> (String, usize) {
        let is_semi = |token: Token| token.kind == Kind::Semi;
        let mut at = self.find_from(1, |token| token.kind == Kind::Arrow).unwrap_or(0);
        let (mut end, mut cases) = (0, Vec::new());
        while self.peek_at(at).kind == Kind::Arrow && at > 0 {
            cases.push(format!("{} -> ..", self.text_of(self.peek_at(at - 1))));
            let Some(mut last) = self.find_from(at, is_semi) else { break };
            // The same case may have further equations.
            while self.peek_at(last + 2).kind == Kind::Eq {
                let Some(next) = self.find_from(last + 1, is_semi) else { break };
                last = next;
            }
            (end, at) = (last, last + 2);
        }
        let cases = if cases.is_empty() { "A -> .., B -> ..".to_owned() } else { cases.join(", ") };
        (cases, end)
    }

    /// The choice as an equation, and the position of the `;` that ends it.
    fn cases_of_statement(&self) -> Option<(String, usize)> {
        let first = self.find_from(1, |token| token.kind == Kind::Arrow)?.checked_sub(1)?;
        let value = self.written(1, first).trim_end_matches([':', '(']).trim_end();
        let value = value.strip_suffix(" with").unwrap_or(value);
        let (mut at, mut end, mut name, mut cases) = (first, None, None, Vec::new());
        loop {
            let kinds = [0, 1, 2, 3].map(|ahead| self.peek_at(at + ahead).kind);
            if kinds != [Kind::Ident, Kind::Arrow, Kind::Ident, Kind::Eq] {
                break;
            }
            let [case, variable] = [at, at + 2].map(|at| self.text_of(self.peek_at(at)));
            let last = self.find_from(at + 4, |token| token.kind == Kind::Semi)?;
            if *name.get_or_insert(variable) != variable {
                return None;
            }
            cases.push(format!("{case} -> {}", self.written(at + 4, last)));
            (at, end) = (last + 1, Some(last));
        }
        let text = format!("{} = match {value} ({});", name?, cases.join(", "));
        (!value.is_empty() && !text.contains('\n')).then_some((text, end?))
    }

    /// Skips `axis =` before the axis of `along`, and reports it.
    pub(super) fn named_axis(&mut self) {
        let place = self.span_of(0, 2);
        let axis = self.text_of(self.peek_at(2));
        let d = Diagnostic::error(codes::SYNTAX, "the axis of `along` has no name")
            .label(place, "leave this out")
            .fix(format!("write `along {axis}`"), place, "");
        self.report(d);
        self.skip(2);
    }

    /// The correct form for `grad(net)(x)`, with the second `(` next.
    pub(super) fn gradient_of_node(&self, d: &Diagnostic) -> Option<Diagnostic> {
        let (name, callee) = self.call_before()?;
        let [node, close] = [2, 3].map(|more| self.tokens.get(name + more).copied());
        if self.kind() != Kind::LParen || !GRADIENTS.contains(&callee) || close?.kind != Kind::RParen {
            return None;
        }
        let node = self.text_of(node?);
        let (inputs, end) = self.list(0)?;
        let interface = self.interface(node);
        let (seed, note) = match interface.as_ref().and_then(|(.., seed)| seed.clone()) {
            Some(seed) => (seed, String::new()),
            None => ("do".to_owned(), format!(", where `do` has the shape of the output of `{node}`")),
        };
        let outputs = interface.map_or(1, |(outputs, _)| outputs);
        let before = |back: usize| name.checked_sub(back).and_then(|at| self.tokens.get(at)).copied();
        let (target, equals) = (before(2)?, before(1)?);
        let alone = equals.kind == Kind::Eq && before(3).is_none_or(|token| token.kind != Kind::Comma);
        let alone = alone && self.peek_at(end + 1).kind == Kind::Semi;
        let gradient = if alone { self.text_of(target) } else { "dx" };
        let seeds = vec![seed.as_str(); outputs].join(", ");
        let results = format!("{}{gradient}{}", "_, ".repeat(outputs), ", _".repeat(inputs.len() - 1));
        let written = format!("{results} = grad_{node}({}, true, {seeds})", inputs.join(", "));
        let help = format!(
            "`grad_{node}` gives the outputs of `{node}` and the gradients of its inputs: write `{written};`{note}"
        );
        let place = Span::new(self.file, target.start, self.peek_at(end).end);
        let mut d = d.clone();
        d.message = format!("`{callee}` is no node: each node has its gradient under a name of its own");
        Some(if alone && note.is_empty() { d.fix(help, place, written) } else { d.help(help) })
    }

    /// The number of outputs of the node with that name; if it has one output, also a gradient of 1 for it.
    fn interface(&self, node: &str) -> Option<(usize, Option<String>)> {
        let named = |i: &usize| {
            let name = self.tokens.get(i + 1).map(|token| self.text_of(*token));
            self.tokens[*i].kind == Kind::Node && name == Some(node)
        };
        let header = (0..self.tokens.len()).find(named)?;
        let arrow = (header..self.tokens.len()).find(|i| self.tokens[*i].kind == Kind::Arrow)?;
        let mut depth = 0_usize;
        let mut outputs = 1;
        let mut shape: Option<usize> = None;
        for (i, token) in self.tokens.iter().enumerate().skip(arrow + 1) {
            match token.kind {
                Kind::LParen => depth += 1,
                Kind::LBracket => {
                    depth += 1;
                    shape = Some(i);
                }
                Kind::Comma if depth == 1 => outputs += 1,
                Kind::RParen | Kind::RBracket if depth <= 1 => break,
                Kind::RParen => depth -= 1,
                Kind::RBracket => {
                    depth -= 1;
                    let open = shape.and_then(|open| self.tokens.get(open));
                    let sizes = open.and_then(|open| self.text.get(open.end..token.start)).unwrap_or("?");
                    let known = sizes.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | ' '));
                    let is_num = shape.and_then(|open| self.tokens.get(open.checked_sub(1)?));
                    let is_num = is_num.is_some_and(|token| self.text_of(*token) == "num");
                    if known && is_num && self.tokens.get(i + 1).is_some_and(|next| next.kind == Kind::RParen)
                    {
                        let seed = match sizes {
                            "" => "1.0".to_owned(),
                            "1" => "[1.0]".to_owned(),
                            sizes => format!("ones([{sizes}])"),
                        };
                        return Some((outputs, (outputs == 1).then_some(seed)));
                    }
                }
                _ => {} // names and types
            }
        }
        Some((outputs, None))
    }
}
