//! Operators of other languages with their operands, and the equivalents in this language: `0 -> pre n + 1` is `0 fby
//! (n + 1)`, `x ** 2` is `pow(x, 2.0)`.

use std::borrow::Cow;
use std::ops::Range;

use super::Parser;
use crate::token::{Kind, Token};
use rml_base::{Diagnostic, Span};

/// The name of the variable that is true only in the first cycle, for the replacement of an arrow of Lustre.
const FIRST: &str = "first";
/// The delay of Lustre.
const PRE: &str = "pre";

/// The replacement of an operator and its operands.
struct Rewritten {
    place: Span,
    text: String,
    /// A remark about further changes that are needed or possible.
    note: Cow<'static, str>,
    /// Whether the replacement by `text` is sufficient.
    is_all: bool,
}

/// The right operand of an arrow.
struct Later {
    place: Range<usize>,
    delays: Vec<Delay>,
    /// Whether everything that the operand reads is an operand of `pre`.
    is_delayed: bool,
}

/// An occurrence of `pre x` in the operand.
struct Delay {
    /// The place, with parentheses that enclose only `pre x`.
    place: Range<usize>,
    operand: Range<usize>,
}

impl Later {
    /// The text of the operand, with each `pre x` replaced by `f` of the text of `x`.
    fn written(&self, text: &str, f: impl Fn(&str) -> String) -> Option<String> {
        let (mut out, mut at) = (String::new(), self.place.start);
        for delay in &self.delays {
            out += text.get(at..delay.place.start)?;
            out += &f(text.get(delay.operand.clone())?);
            at = delay.place.end;
        }
        out += text.get(at..self.place.end)?;
        Some(out)
    }

    /// Whether the operand is only `pre x`.
    fn is_pre(&self) -> bool {
        matches!(&self.delays[..], [delay] if delay.place == self.place)
    }
}

impl Parser<'_, '_> {
    /// The correct form for an operator of another language that is next, if its operands have a common form.
    pub(super) fn foreign_operator(&self, d: &Diagnostic) -> Option<Diagnostic> {
        let Rewritten { place, text, note, is_all } = self.arrow().or_else(|| self.power())?;
        let help = format!("write `{text}`{note}");
        Some(if is_all { d.clone().fix(help, place, text) } else { d.clone().help(help) })
    }

    /// Rewrites `a -> e` of Lustre, with the arrow next. Its value is `a` in the first cycle and then `e`, where `pre
    /// x` is the value of `x` in the previous cycle.
    fn arrow(&self) -> Option<Rewritten> {
        if self.kind() != Kind::Arrow {
            return None;
        }
        let begin = self.begin_of_operand()?;
        if self.is_label(begin) {
            return None;
        }
        let ends = |token: Token| matches!(token.kind, Kind::Semi | Kind::Comma | Kind::RParen);
        let end = self.at + self.find_from(1, ends)?;
        let later = self.later(self.at + 1, end)?;
        let initial = self.tokens.get(begin)?.start..self.tokens.get(self.at - 1)?.end;
        let place = Span::new(self.file, initial.start, later.place.end);
        let (initial, is_one) = (self.text.get(initial)?, begin + 1 == self.at);
        if later.is_delayed && !later.delays.is_empty() {
            // The whole expression is delayed, so it needs no `pre`.
            let first = if is_one { initial.to_owned() } else { format!("({initial})") };
            let value = later.written(self.text, str::to_owned)?;
            let value = if later.is_pre() { value } else { format!("({value})") };
            let text = format!("{first} fby {value}");
            return Some(Rewritten { place, text, note: "".into(), is_all: true });
        }
        // The value of `pre n` in the first cycle is not used, so any value of its type will do: the first value of
        // `n`.
        let defined = self.defined_before(begin);
        let own = later.delays.iter().all(|delay| self.text.get(delay.operand.clone()) == defined);
        let known =
            self.tokens.iter().any(|token| token.kind == Kind::Ident && self.text_of(*token) == FIRST);
        if !is_one || !own || known {
            return None;
        }
        let value = later.written(self.text, |operand| format!("({initial} fby {operand})"))?;
        let note = ", with the equation `first = true fby false;`".into();
        let text = format!("if {FIRST} then {initial} else {value}");
        Some(Rewritten { place, text, note, is_all: false })
    }

    /// The position of the token that begins the left operand of an arrow: the beginning of the right side of an
    /// equation, or the token after `(` or `,`.
    fn begin_of_operand(&self) -> Option<usize> {
        let mut depth = 0_usize;
        for number in (0..self.at).rev() {
            let token = *self.tokens.get(number)?;
            if depth == 0 && matches!(token.kind, Kind::Eq | Kind::LParen | Kind::Comma) {
                return Some(number + 1).filter(|begin| *begin < self.at);
            }
            if matches!(token.kind, Kind::RParen | Kind::RBracket) {
                depth += 1;
            } else if matches!(token.kind, Kind::LParen | Kind::LBracket) {
                depth = depth.checked_sub(1)?;
            } else if is_other(token.kind) || self.text_of(token) == PRE {
                return None;
            }
        }
        None
    }

    /// Whether the left operand is the label of a branch, as in `merge c (true -> a) (false -> b)`.
    fn is_label(&self, begin: usize) -> bool {
        let is_one = begin + 1 == self.at;
        let earlier = self.tokens.iter().take(begin).rev().take_while(|token| token.kind != Kind::Semi);
        is_one && earlier.into_iter().any(|token| token.kind == Kind::Merge)
    }

    /// The variable whose right side begins with the token at that position.
    fn defined_before(&self, begin: usize) -> Option<&str> {
        let [name, equals] = *self.tokens.get(begin.checked_sub(2)?..begin)? else { return None };
        (name.kind == Kind::Ident && equals.kind == Kind::Eq).then(|| self.text_of(name))
    }

    /// The right operand of an arrow, from the token at position `from` up to, and not including, the one at `to`.
    fn later(&self, from: usize, to: usize) -> Option<Later> {
        let place = self.tokens.get(from)?.start..self.tokens.get(to.checked_sub(1)?)?.end;
        let mut later = Later { place, delays: Vec::new(), is_delayed: true };
        let mut at = from;
        while at < to {
            let token = *self.tokens.get(at)?;
            if token.kind == Kind::Ident && self.text_of(token) == PRE {
                let last = self.end_of_operand(at + 1)?;
                let operand = self.tokens.get(at + 1)?.start..self.tokens.get(last)?.end;
                let (start, end) = match self.around(from, (at, last)) {
                    Some(parentheses) => parentheses,
                    None => (token.start, operand.end),
                };
                later.delays.push(Delay { place: start..end, operand });
                at = last + 1 + usize::from(end > self.tokens.get(last)?.end);
                continue;
            }
            if matches!(token.kind, Kind::Arrow | Kind::Fby | Kind::Dot | Kind::Invalid) {
                return None;
            }
            // A variable here is read in this cycle, not delayed. A call may have a state of its own, which a delay
            // would shift.
            later.is_delayed &= !matches!(token.kind, Kind::Ident | Kind::Post);
            at += 1;
        }
        Some(later)
    }

    /// The parentheses around `pre x` in `(pre x) + 1`. They do not begin before the token at position `from`.
    fn around(&self, from: usize, (pre, last): (usize, usize)) -> Option<(usize, usize)> {
        let open = pre.checked_sub(1).filter(|open| *open >= from)?;
        let close = self.tokens.get(last + 1).filter(|token| token.kind == Kind::RParen)?;
        let is_call = open.checked_sub(1).is_some_and(|before| self.tokens[before].kind == Kind::Ident);
        let open = self.tokens.get(open).filter(|token| token.kind == Kind::LParen && !is_call)?;
        Some((open.start, close.end))
    }

    /// The position of the last token of the operand of `pre`, which begins at `begin` and is a name or in parentheses.
    fn end_of_operand(&self, begin: usize) -> Option<usize> {
        let kind = self.tokens.get(begin)?.kind;
        let last = if kind == Kind::Ident {
            begin
        } else if kind == Kind::LParen {
            self.at + self.list(begin - self.at)?.1
        } else {
            return None;
        };
        let again = self.tokens.get(begin..=last)?.iter().any(|token| self.text_of(*token) == PRE);
        let goes_on = matches!(self.tokens.get(last + 1)?.kind, Kind::LParen | Kind::LBracket | Kind::Dot);
        (!again && !goes_on).then_some(last)
    }

    /// Rewrites `x ** 2`, with the second star next.
    fn power(&self) -> Option<Rewritten> {
        let star = self.at.checked_sub(1)?;
        let (first, second) = (*self.tokens.get(star)?, self.peek());
        let (base, before) = (star.checked_sub(1)?, star.checked_sub(2)?);
        if (first.kind, second.kind) != (Kind::Star, Kind::Star) || first.end != second.start {
            return None;
        }
        let exponent = 1 + usize::from(self.peek_at(1).kind == Kind::Minus);
        let (base, before) = (*self.tokens.get(base)?, self.tokens.get(before)?.kind);
        let (last, after) = (self.peek_at(exponent), self.peek_at(exponent + 1).kind);
        let goes_on = matches!(after, Kind::LParen | Kind::LBracket | Kind::Dot)
            || after == Kind::Star && self.peek_at(exponent + 2).kind == Kind::Star;
        if before == Kind::Dot || goes_on {
            return None;
        }
        let number = |token: Token| {
            let text = self.text_of(token);
            let is_written = matches!(token.kind, Kind::Ident | Kind::Num);
            if is_written {
                Some(text.to_owned())
            } else {
                (token.kind == Kind::Int).then(|| format!("{text}.0"))
            }
        };
        let sign = if exponent == 2 { "-" } else { "" };
        let text = format!("pow({}, {sign}{})", number(base)?, number(last)?);
        let square = base.kind == Kind::Ident && exponent == 1 && matches!(self.text_of(last), "2" | "2.0");
        let x = self.text_of(base);
        let note = match square {
            true => format!(" for a num, or `{x} * {x}` for a num or an int").into(),
            false => ", of nums".into(),
        };
        Some(Rewritten { place: Span::new(self.file, base.start, last.end), text, note, is_all: true })
    }
}

/// Whether a token cannot occur in an operand of an arrow that is copied unchanged.
fn is_other(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Arrow
            | Kind::Fby
            | Kind::If
            | Kind::Then
            | Kind::Else
            | Kind::Semi
            | Kind::Node
            | Kind::Invalid
    )
}
