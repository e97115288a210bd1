//! How tightly the forms of expressions bind.

/// Higher binds tighter (`docs/language/grammar.md`, precedence).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// `if c then a else b`, and everything an expression may be.
    If,
    /// `i fby x`; the right operand is any expression.
    Fby,
    /// `or`
    Or,
    /// `and`
    And,
    /// `== != < <= > >=`
    Comparison,
    /// `+ -`
    Sum,
    /// `* /`
    Product,
    /// `x when c`, `f(x) every end`
    When,
    /// `-x`, `not x`, `post x`
    Unary,
    /// `x[0]`, the operands of `merge`
    Postfix,
    /// `merge`: an atom whose last operand would take an index.
    Merge,
    /// Names, literals, calls.
    Atom,
}

/// A piece of text with its level.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// How tightly its outermost form binds.
    pub level: Level,
}

impl Piece {
    /// A text with the level of its outermost form.
    pub fn new(text: impl Into<String>, level: Level) -> Self {
        Self { text: text.into(), level }
    }

    /// A text that binds most tightly.
    pub fn atom(text: impl Into<String>) -> Self {
        Self::new(text, Level::Atom)
    }

    /// The text where at least `least` is asked for.
    pub fn at(self, least: Level) -> String {
        if self.level >= least { self.text } else { self.parenthesised() }
    }

    /// The text as the left operand of an infix operator: `when` and `merge` are put in parentheses although they bind
    /// tighter.
    pub(super) fn left(self, least: Level) -> String {
        if matches!(self.level, Level::When | Level::Merge) { self.parenthesised() } else { self.at(least) }
    }

    /// The text as the right operand of an infix operator.
    pub(super) fn right(self, least: Level) -> String {
        if self.level == Level::When { self.parenthesised() } else { self.at(least) }
    }

    /// The text as an operand of `merge`, or the base of an index.
    pub fn operand(self) -> String {
        // `merge c x [1.0]` would be an index, `merge c (merge ..)` reads better.
        if self.level == Level::Merge || self.text.starts_with('[') {
            self.parenthesised()
        } else {
            self.at(Level::Postfix)
        }
    }

    pub(super) fn parenthesised(self) -> String {
        format!("({})", self.text)
    }
}
