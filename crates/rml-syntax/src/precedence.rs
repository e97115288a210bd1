//! The precedence table: the only place that defines how tightly each form binds. The parser, the formatter and all
//! printers of surface text use it.
//!
//! A form of level `p` needs no parentheses in a context of level `q` if and only if `p >= q`.

use crate::ast::{BinaryOp, ExprKind};

/// How tightly a form binds; higher binds tighter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// `if c then a else b`: the level of any expression.
    If,
    /// `i fby x`, `i fby back x` (right associative; the right operand is any expression).
    Fby,
    /// `or`
    Or,
    /// `and`
    And,
    /// `== != < <= > >=` (left associative)
    Comparison,
    /// `+ -`
    Sum,
    /// `* /`
    Product,
    /// `x when c`, `f(x) every end`, `f(x) along 0` (left associative)
    When,
    /// `- x`, `not x`, `post x`
    Unary,
    /// `x[0]`, the operands of `merge`
    Postfix,
    /// Literals, names, calls, arrays, `merge`, parentheses.
    Atom,
}

impl Level {
    /// Every level, loosest first.
    pub const ALL: [Level; 11] = [
        Level::If,
        Level::Fby,
        Level::Or,
        Level::And,
        Level::Comparison,
        Level::Sum,
        Level::Product,
        Level::When,
        Level::Unary,
        Level::Postfix,
        Level::Atom,
    ];

    /// The next tighter level; for [`Level::Atom`] the level itself.
    #[must_use]
    pub fn tighter(self) -> Level {
        Level::ALL.get(self as usize + 1).copied().unwrap_or(Level::Atom)
    }
}

/// The level of an infix operator. All of them associate to the left: the left operand needs this level, and the right
/// one the next tighter level.
pub fn binary(op: BinaryOp) -> Level {
    match op {
        BinaryOp::Or => Level::Or,
        BinaryOp::And => Level::And,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            Level::Comparison
        }
        BinaryOp::Add | BinaryOp::Sub => Level::Sum,
        BinaryOp::Mul | BinaryOp::Div => Level::Product,
    }
}

/// The level of an expression.
///
/// `merge` is an atom that ends with an operand of level [`Level::Postfix`]. An index after it would belong to that
/// operand. So a `merge` needs parentheses as the base of an index; as an operand of another `merge` it gets them to
/// help the reader.
pub fn of(kind: &ExprKind<'_>) -> Level {
    match kind {
        ExprKind::If { .. } | ExprKind::Assert { .. } | ExprKind::Share(_) | ExprKind::Automaton(_) => {
            Level::If
        }
        ExprKind::Fby { .. } | ExprKind::FbyBack { .. } => Level::Fby,
        ExprKind::Binary(op, ..) => binary(*op),
        ExprKind::When { .. }
        | ExprKind::Every { .. }
        | ExprKind::Restart { .. }
        | ExprKind::By { .. }
        | ExprKind::Along { .. } => Level::When,
        ExprKind::Unary(..) | ExprKind::Post(_) => Level::Unary,
        ExprKind::Index { .. } | ExprKind::Field { .. } => Level::Postfix,
        ExprKind::Literal(_)
        | ExprKind::Text(_)
        | ExprKind::Var(_)
        | ExprKind::Call { .. }
        | ExprKind::Array(_)
        | ExprKind::Entry(_)
        | ExprKind::Merge { .. }
        | ExprKind::MergeOperands(_)
        | ExprKind::Juxtaposed { .. }
        | ExprKind::Match { .. }
        | ExprKind::Hole
        | ExprKind::Error => Level::Atom,
    }
}
