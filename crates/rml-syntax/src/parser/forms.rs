//! Recognises complete forms of other languages, such as `fby(0, x)`. Each gives one error that shows the correct form
//! with the names of the program. The parser then continues after the form.

use super::{Parse, Parser, Reported};
use crate::ast::{Expr, ExprKind, Ident, Transition};
use crate::foreign::text_as_comment;
use crate::token::{Kind, Token};
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// The maximum number of tokens of such a form.
const MAX_FORM: usize = 256;

/// Functions that other libraries accept as arguments of a layer.
const ACTIVATIONS: &[&str] = &["relu", "tanh", "sigmoid", "softmax", "gelu", "softplus"];

/// Functions of other libraries that call layers one after the other.
const CHAINS: &[&str] = &["sequential", "Sequential", "chain", "compose", "pipe"];

impl<'a> Parser<'_, 'a> {
    /// The text from the token `from` places ahead up to, and not including, the one `to` places ahead.
    pub(super) fn written(&self, from: usize, to: usize) -> &str {
        if from >= to {
            return "";
        }
        let (start, end) = (self.peek_at(from).start, self.peek_at(to - 1).end);
        self.text.get(start..end).unwrap_or("")
    }

    pub(super) fn span_of(&self, from: usize, to: usize) -> Span {
        let end = self.peek_at(to.max(from + 1) - 1).end;
        Span::new(self.file, self.peek_at(from).start, end)
    }

    /// The position of the first token at or after `from` for which `ends` returns true. Tokens inside brackets that
    /// open after `from` are ignored.
    pub(super) fn find_from(&self, from: usize, ends: impl Fn(Token) -> bool) -> Option<usize> {
        let mut depth = 0_usize;
        for ahead in from..from + MAX_FORM {
            let token = self.peek_at(ahead);
            if depth == 0 && ends(token) {
                return Some(ahead);
            }
            match token.kind {
                Kind::LParen | Kind::LBracket => depth += 1,
                Kind::RParen | Kind::RBracket => depth = depth.checked_sub(1)?,
                Kind::Eof | Kind::Invalid | Kind::Node => return None,
                _ => {}
            }
        }
        None
    }

    /// The parts of the parenthesised list that opens `open` places ahead, and the position of its `)`.
    pub(super) fn list(&self, open: usize) -> Option<(Vec<&str>, usize)> {
        let mut parts = Vec::new();
        let mut from = open + 1;
        loop {
            let end = self.find_from(from, |token| {
                matches!(token.kind, Kind::Comma | Kind::Semi | Kind::RParen | Kind::RBracket)
            })?;
            parts.push(self.written(from, end));
            match self.peek_at(end).kind {
                Kind::Comma | Kind::Semi => from = end + 1,
                Kind::RParen => return Some((parts, end)),
                _ => return None,
            }
        }
    }

    pub(super) fn skip(&mut self, tokens: usize) {
        for _ in 0..tokens {
            self.next();
        }
    }

    /// Skips a string in the place of an equation or node, and reports it.
    pub(super) fn loose_text(&mut self) -> bool {
        let Some(token) = self.eat(Kind::Str) else { return false };
        let text = self.text_of(token).trim_matches('"');
        let after = self.text.get(token.end..).unwrap_or("");
        self.report(text_as_comment(self.span(token), text, after));
        self.eat(Kind::Semi);
        true
    }

    /// Parses `import std.layers, std.losses;`, with the first comma next.
    pub(super) fn joined_imports(&mut self, start: Span) -> Option<Reported> {
        if self.kind() != Kind::Comma {
            return None;
        }
        let end = self.find_from(0, |token| token.kind == Kind::Semi)?;
        let first = self.text.get(start.range().start..self.peek().start)?;
        let more = self.written(1, end);
        if more.contains(['(', '\n']) {
            return None;
        }
        let imports: Vec<String> = more.split(',').map(|path| format!("import {};", path.trim())).collect();
        let written = format!("{}; {}", first.trim_end(), imports.join(" "));
        let whole = start.to(self.span_of(end, end + 1));
        let d = Diagnostic::error(codes::SYNTAX, "expected `;` after the import, found `,`")
            .label(self.span(self.peek()), "an import names one module")
            .fix(format!("write `{written}`"), whole, written);
        self.skip(end + 1);
        Some(self.report(d))
    }

    /// Parses `if c then o = x else o = y;` in the place of an equation, with `if` next. Leaves the last token.
    pub(super) fn conditional_equation(&mut self) -> Option<Reported> {
        let is = |kind: Kind| move |token: Token| token.kind == kind;
        let then = self.find_from(1, is(Kind::Then))?;
        let other = self.find_from(then + 1, is(Kind::Else))?;
        let end = self.find_from(other + 1, is(Kind::Semi))?;
        let assigned = |at: usize| {
            let named = self.peek_at(at).kind == Kind::Ident && self.peek_at(at + 1).kind == Kind::Eq;
            named.then(|| self.text_of(self.peek_at(at)))
        };
        let (name, again) = (assigned(then + 1)?, assigned(other + 1)?);
        // The first branch may end with a `;`.
        let first_end = other - usize::from(self.peek_at(other - 1).kind == Kind::Semi);
        let [cond, first, second] =
            [(1, then), (then + 3, first_end), (other + 3, end)].map(|(from, to)| self.written(from, to));
        if name != again || [cond, first, second].iter().any(|part| part.is_empty() || part.contains(';')) {
            return None;
        }
        let written = format!("{name} = if {cond} then {first} else {second};");
        let d =
            Diagnostic::error(codes::SYNTAX, "`if` chooses between two values, not between two equations")
                .label(self.span(self.peek()), "expected a variable")
                .fix(format!("write `{written}`"), self.span_of(0, end + 1), written);
        self.skip(end);
        Some(self.report(d))
    }

    /// Parses `assert c, "name";`, with the token after `assert` next, up to the `;`.
    pub(super) fn assertion_name_last(&mut self, start: Span) -> Option<Reported> {
        let end = self.find_from(0, |token| token.kind == Kind::Semi)?;
        let called = self.kind() == Kind::LParen && self.peek_at(end.checked_sub(1)?).kind == Kind::RParen;
        let (from, to) = if called { (1, end - 1) } else { (0, end) };
        let [comma, text] = [2, 1].map(|back| to.checked_sub(back).map(|at| self.peek_at(at)));
        let (comma, text) = (comma?, text?);
        if comma.kind != Kind::Comma || text.kind != Kind::Str || to < from + 3 {
            return None;
        }
        let written = format!("assert {} {}", self.text_of(text), self.written(from, to - 2));
        let d = Diagnostic::error(codes::SYNTAX, "the name of a property stands before its condition")
            .label(self.span(text), "this comes first")
            .fix(format!("write `{written};`"), start.to(self.span_of(0, end)), written);
        self.skip(end);
        Some(self.report(d))
    }

    /// Parses `fby(x; n; init)` or `fby(init, x)`, with `fby` next.
    pub(super) fn delay_call(&mut self) -> Option<Reported> {
        if self.kind() != Kind::Fby || self.peek_at(1).kind != Kind::LParen {
            return None;
        }
        let (parts, close) = self.list(1)?;
        let d = Diagnostic::error(codes::SYNTAX, "expected an expression, found the keyword `fby`")
            .label(self.span(self.peek()), "`fby` stands between the first value and what follows it");
        let place = self.span_of(0, close + 1);
        // Without parentheses, an `if` or `fby` would include the new `fby` in its last operand.
        let first = |init: &str| {
            let loose = init.starts_with("if ") || init.contains("fby");
            if loose { format!("({init})") } else { init.to_owned() }
        };
        let d = match parts[..] {
            [init, x] | [x, "1", init] => {
                let written = format!("{} fby {x}", first(init));
                d.fix(format!("write `{written}`"), place, format!("({written})"))
            }
            [x, n, init] => d.help(format!(
                "`{} fby {x}` is the `{x}` of the cycle before; the one of {n} cycles before is `delay({n}, {x})` of `import std.time;`, which is 0 at first",
                first(init)
            )),
            _ => return None,
        };
        self.skip(close + 1);
        Some(self.report(d))
    }

    /// Parses `(restart f every r)(x)` or `restart f(x) every r`, with `restart` next.
    pub(super) fn restarted_call(&mut self) -> Option<Reported> {
        let is_word = self.is_word(0, "restart") || self.is_word(0, "reset");
        let operators = ["every", "restart", "by", "for", "reset"];
        if !is_word
            || self.peek_at(1).kind != Kind::Ident
            || operators.iter().any(|word| self.is_word(1, word))
        {
            return None;
        }
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied();
        // The word is not such a form if it may be the name of a variable, as an operand of `merge`.
        let earlier = self.tokens.get(..self.at).unwrap_or_default().iter().rev();
        let mut earlier = earlier.take_while(|token| token.kind != Kind::Semi);
        if earlier.any(|token| token.kind == Kind::Merge) {
            return None;
        }
        // The form continues with a name or a call, and then `every`.
        let every = match self.peek_at(2).kind {
            Kind::LParen => self.list(2)?.1 + 1,
            _ => 2,
        };
        if self.text_of(self.peek_at(every)) != "every" {
            return None;
        }
        let ends = |token: Token| matches!(token.kind, Kind::Semi | Kind::Comma | Kind::RParen);
        let end = self.find_from(every + 1, ends)?;
        let open = before.filter(|token| token.kind == Kind::LParen);
        let (mut place, mut call, mut last) = (self.span_of(0, end), self.written(1, every).to_owned(), end);
        if let (Some(open), Kind::RParen, Kind::LParen) =
            (open, self.peek_at(end).kind, self.peek_at(end + 1).kind)
        {
            let (_, close) = self.list(end + 1)?;
            call += self.written(end + 1, close + 1);
            place = self.span(open).to(self.span_of(end, close + 1));
            last = close + 1;
        }
        if !call.ends_with(')') {
            return None;
        }
        let written = format!("{call} restart {}", operand(self.written(every + 1, end)));
        let word = self.text_of(self.peek());
        let d = Diagnostic::error(codes::SYNTAX, format!("expected an expression, found the name `{word}`"))
            .label(self.span(self.peek()), "the call comes first")
            .fix(format!("write `{written}`"), place, written);
        self.skip(last);
        Some(self.report(d))
    }

    /// Parses `until if c restart S;`, `until c resume S;` or `until c goto S;`, with the token after `until` or
    /// `unless` next. Also parses `if c then S;` and `if c then goto S;`; for these, `start` is the place of the next
    /// token.
    pub(super) fn foreign_transition(&mut self, start: Span, strong: bool) -> Option<Transition<'a>> {
        let scade = self.kind() == Kind::If;
        let from = usize::from(scade);
        let end = self.find_from(from, |token| token.kind == Kind::Semi)?;
        let name = end.checked_sub(1)?;
        let jump = name.checked_sub(1).filter(|to| *to > from)?;
        let goto = self.is_word(jump, "goto");
        let to = jump - usize::from(goto && self.peek_at(jump - 1).kind == Kind::Then);
        let (word, target) = (self.peek_at(jump), self.peek_at(name));
        let resume = match self.text_of(word) {
            "restart" | "then" | "goto" => false,
            "resume" | "continue" => true,
            _ => return None,
        };
        let usual = matches!(self.text_of(word), "then" | "continue");
        let whole_if = (0..to).any(|at| self.peek_at(at).kind == Kind::Else);
        if target.kind != Kind::Ident || !self.is_state(target) || usual && !scade || scade && whole_if {
            return None;
        }
        let cond = self.written(from, to);
        let [right, verb] = if resume { ["continue", "resumes"] } else { ["then", "restarts"] };
        let (begin, name) = (if strong { "unless" } else { "until" }, self.text_of(target));
        let written = format!("{begin} {cond} {right} {name}");
        let begun = start != self.span(self.peek());
        let (message, at, label) = match scade {
            true if !begun => (
                "a transition begins with `until` or `unless`".to_owned(),
                self.peek(),
                "expected `until`".to_owned(),
            ),
            true => ("a transition has no `if`".to_owned(), self.peek(), "leave this out".to_owned()),
            false => {
                let found = self.text_of(word);
                let message = format!("expected `{right}` after the condition, found the name `{found}`");
                (message, word, format!("expected `{right}`"))
            }
        };
        let d = Diagnostic::error(codes::SYNTAX, message).label(self.span(at), label).fix(
            format!("write `{written};`, which {verb} `{name}`"),
            start.to(self.span_of(0, end)),
            written,
        );
        self.report(d);
        let cond_span = self.span_of(from, to);
        let target: Ident = self.intern(target);
        self.skip(end + 1);
        let cond = self.bump.alloc(Expr { kind: ExprKind::Error, span: cond_span });
        Some(Transition { strong, cond, resume, target, args: None, span: start.to(self.last_span()) })
    }

    /// Whether the text declares a state with that name.
    fn is_state(&self, name: Token) -> bool {
        let text = self.text_of(name);
        self.tokens.windows(2).any(|pair| match pair {
            [word, name] => self.text_of(*word) == "state" && self.text_of(*name) == text,
            _ => false,
        })
    }

    /// The place of `dense(16)(x)`, with the second `(` next, and the call to write instead, `dense(16, x)`.
    pub(super) fn curried(&self) -> Option<(Span, String)> {
        let (name, callee) = self.call_before()?;
        let start = self.tokens.get(name)?.start;
        let (input, close) = self.list(0)?;
        let [input] = input[..] else { return None };
        if input.is_empty() || self.peek_at(close + 1).kind == Kind::LParen {
            return None;
        }
        let place = Span::new(self.file, start, self.peek_at(close).end);
        let args = self.text.get(self.tokens.get(name + 1)?.end..self.last_span().range().end - 1)?.trim();
        if let Some((sizes, activation)) =
            args.rsplit_once(',').filter(|(_, last)| ACTIVATIONS.contains(&last.trim()))
        {
            return Some((place, format!("{}({callee}({sizes}, {input}))", activation.trim())));
        }
        if !CHAINS.contains(&callee) {
            let comma = if args.is_empty() { "" } else { ", " };
            return Some((place, format!("{callee}({args}{comma}{input})")));
        }
        let args = args.strip_prefix('[').and_then(|args| args.strip_suffix(']')).unwrap_or(args);
        let layers = top_level(args);
        let nested = layers.iter().fold(input.to_owned(), |inner, layer| {
            match layer.strip_suffix(')').map(str::trim_end) {
                Some(call) if call.ends_with('(') => format!("{call}{inner})"),
                Some(call) if top_level(call.split_once('(').map_or("", |(_, args)| args)).contains(&"_") => {
                    format!("{})", call.replacen("_,", &format!("{inner},"), 1))
                }
                Some(call) => format!("{call}, {inner})"),
                None => format!("{layer}({inner})"),
            }
        });
        Some((place, nested))
    }

    /// The position and name of the call that ends before the next token.
    pub(super) fn call_before(&self) -> Option<(usize, &str)> {
        let last = self.at.checked_sub(1)?;
        if self.tokens.get(last)?.kind != Kind::RParen {
            return None;
        }
        let mut depth = 0_usize;
        for at in (last.saturating_sub(MAX_FORM)..=last).rev() {
            match self.tokens.get(at)?.kind {
                Kind::RParen | Kind::RBracket => depth += 1,
                Kind::LParen | Kind::LBracket => depth = depth.checked_sub(1)?,
                Kind::Semi => return None,
                _ => {}
            }
            if depth == 0 {
                let name = at.checked_sub(1)?;
                let token = *self.tokens.get(name)?;
                return (token.kind == Kind::Ident).then(|| (name, self.text_of(token)));
            }
        }
        None
    }

    /// Parses a foreign form at the beginning of an operand.
    pub(super) fn foreign_operand(&mut self) -> Parse<()> {
        match self.delay_call().or_else(|| self.restarted_call()) {
            Some(reported) => Err(reported),
            None => Ok(()),
        }
    }
}

/// A condition as an operand: in parentheses unless it is a name or a call.
fn operand(text: &str) -> String {
    let simple = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if simple || text.ends_with(')') && !text.contains(' ') { text.to_owned() } else { format!("({text})") }
}

/// The parts of a list, separated at the commas outside brackets.
fn top_level(list: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = list.split(|c: char| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}
