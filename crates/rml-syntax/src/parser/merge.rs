//! The operands of `merge`.
//!
//! As an operand, `f (x)` is a call if `f` is a node or function, and two operands otherwise. In most cases the number
//! of operands decides, because a `merge` has exactly three. Let `m` be the number of `merge`s directly inside each
//! other (without parentheses), `p` the number of operands that can be read in one way only, and `j` the number of
//! those written `name (expr)`. Then `2m + 1` operands are needed, so `s = 2m + 1 - p - j` of the `j` are two operands
//! each:
//!
//! - `s = 0`: all of them are calls;
//! - `s = j`: all of them are two operands;
//! - otherwise, and `m = 1`: [`ExprKind::MergeOperands`], decided when names are resolved;
//! - otherwise: those with a blank before the parenthesis are two operands, if that makes the count right.

use super::{MAX_DEPTH, MAX_NESTING, Parse, Parser, Reported, Tree};
use crate::ast::{Expr, ExprKind, Ident, Suffix};
use crate::token::Kind;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// A token or operand that may follow `merge`.
enum Operand<'a> {
    /// A `merge` whose operands follow.
    Merge(Span),
    /// An operand that can be read in one way only.
    Plain(Tree<'a>),
    /// `name (expr)`
    Juxtaposed(Juxtaposed<'a>),
}

/// An index list or a field after a parenthesis.
struct Trailing<'a> {
    suffix: Suffix<'a>,
    height: usize,
    span: Span,
}

struct Juxtaposed<'a> {
    name: Ident,
    arg: Tree<'a>,
    args: &'a [Expr<'a>],
    args_span: Span,
    suffixes: Vec<Trailing<'a>>,
}

impl Juxtaposed<'_> {
    fn height(&self) -> usize {
        self.suffixes.iter().map(|s| s.height).max().unwrap_or(0).max(self.arg.height)
    }

    fn span(&self) -> Span {
        self.name.span.to(self.suffixes.last().map_or(self.args_span, |s| s.span))
    }

    /// Whether there is a blank or comment before the parenthesis.
    fn spaced(&self) -> bool {
        self.name.span.end != self.args_span.start
    }
}

impl<'a> Parser<'_, 'a> {
    /// Parses `merge c a b`.
    pub(super) fn merge(&mut self) -> Parse<Tree<'a>> {
        let start = self.take();
        let depth = self.depth;
        let operands = self.operands(start);
        self.depth = depth;
        let operands = operands?;
        let merges = operands.iter().filter(|o| matches!(o, Operand::Merge(_))).count();
        let ambiguous = operands.iter().filter(|o| matches!(o, Operand::Juxtaposed(_))).count();
        let leaves = operands.len() - merges;
        let wanted = 2 * merges + 1;
        if leaves > wanted || leaves + ambiguous < wanted {
            return Err(self.wrong_count(start, leaves, merges));
        }
        let splits = wanted - leaves;
        let split: fn(&Juxtaposed<'_>) -> bool = if splits == 0 {
            |_| false
        } else if splits == ambiguous {
            |_| true
        } else if merges == 1 {
            return self.undecided(start, &operands);
        } else {
            let spaced =
                operands.iter().filter(|o| matches!(o, Operand::Juxtaposed(j) if j.spaced())).count();
            if spaced != splits {
                return Err(self.ambiguous_merge(start));
            }
            |j| j.spaced()
        };
        self.decided(operands, split)
    }

    /// Reads operands until there are enough in every reading; `start` is the first `merge`. Each further `merge` adds
    /// a level of depth, as if it were in parentheses.
    fn operands(&mut self, start: Span) -> Parse<Vec<Operand<'a>>> {
        let mut operands = vec![Operand::Merge(start)];
        let (mut merges, mut leaves, mut ambiguous) = (1, 0, 0);
        while leaves < 2 * merges + 1 && self.kind().starts_operand() {
            let token = self.peek();
            if token.kind == Kind::Merge {
                self.next();
                merges += 1;
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    let span = self.span(token);
                    return Err(self.nesting_limit(span));
                }
                operands.push(Operand::Merge(self.span(token)));
                continue;
            }
            let complete = leaves + ambiguous > 2 * merges;
            let next_equation = token.kind == Kind::Ident && self.peek_at(1).kind == Kind::Eq;
            if next_equation
                || complete
                    && (self.at_operator("every")
                        || self.at_operator("restart")
                        || self.at_operator("by")
                        || self.at_operator("along")
                        || self.at_range(0)
                        || self.at_continue())
            {
                break;
            }
            leaves += 1;
            // A name with a dot is a call.
            let operand = if self.callee_length() == Some(1) {
                self.juxtaposed()?
            } else {
                Operand::Plain(self.postfix()?)
            };
            ambiguous += usize::from(matches!(operand, Operand::Juxtaposed(_)));
            operands.push(operand);
        }
        Ok(operands)
    }

    /// Parses `name (args)[..].h`; it is ambiguous only if there is exactly one argument.
    fn juxtaposed(&mut self) -> Parse<Operand<'a>> {
        let callee = self.text_of(self.peek());
        let name = self.name("an operand of `merge`")?;
        let open = self.span(self.peek());
        self.next();
        let mut trees = Vec::new();
        let mut trailing_comma = false;
        while self.kind() != Kind::RParen {
            trees.push(self.argument(callee)?);
            trailing_comma = self.eat(Kind::Comma).is_some();
            if !trailing_comma {
                break;
            }
        }
        let close = self.close(Kind::RParen, open, "an operator or `)`")?;
        let args_span = open.to(close);
        let copies: Vec<Expr<'a>> = trees.iter().map(|t| *t.expr).collect();
        let args = self.slice(&copies);
        match trees.as_slice() {
            [arg] if !trailing_comma => {
                let arg = *arg;
                let mut suffixes = Vec::new();
                while let Some((suffix, height)) = self.suffix()? {
                    suffixes.push(Trailing { suffix, height, span: self.last_span() });
                    if suffixes.len() > MAX_NESTING {
                        return Err(self.nesting_limit(args_span));
                    }
                }
                Ok(Operand::Juxtaposed(Juxtaposed { name, arg, args, args_span, suffixes }))
            }
            _ => {
                let height = trees.iter().map(|t| t.height).max().unwrap_or(0);
                let call =
                    self.tree(ExprKind::Call { callee: name, args }, name.span.to(args_span), height)?;
                Ok(Operand::Plain(self.indexed(call)?))
            }
        }
    }

    /// A single `merge` whose operands can only be grouped once names are resolved.
    fn undecided(&mut self, start: Span, operands: &[Operand<'a>]) -> Parse<Tree<'a>> {
        let mut list = Vec::new();
        let (mut height, mut span) = (0, start);
        for operand in operands {
            match operand {
                Operand::Merge(_) => {}
                Operand::Plain(tree) => {
                    list.push(*tree.expr);
                    height = height.max(tree.height);
                    span = span.to(tree.outer);
                }
                Operand::Juxtaposed(j) => {
                    let suffixes: Vec<_> = j.suffixes.iter().map(|s| s.suffix).collect();
                    let suffixes = self.slice(&suffixes);
                    let kind =
                        ExprKind::Juxtaposed { name: j.name, args: j.args, suffixes, args_span: j.args_span };
                    let tree = self.tree(kind, j.span(), j.height() + j.suffixes.len() + 1)?;
                    list.push(*tree.expr);
                    height = height.max(tree.height);
                    span = span.to(tree.outer);
                }
            }
        }
        let list = self.slice(&list);
        self.tree(ExprKind::MergeOperands(list), span, height)
    }

    /// Any number of `merge`s whose operands are all grouped, built from the last one backward.
    fn decided(&mut self, operands: Vec<Operand<'a>>, split: fn(&Juxtaposed<'_>) -> bool) -> Parse<Tree<'a>> {
        let mut stack: Vec<Tree<'a>> = Vec::new();
        for operand in operands.into_iter().rev() {
            match operand {
                Operand::Plain(tree) => stack.push(tree),
                Operand::Juxtaposed(j) => {
                    if split(&j) {
                        let value = self.followed(Tree { outer: j.args_span, ..j.arg }, &j.suffixes)?;
                        let name = self.tree(ExprKind::Var(j.name.name), j.name.span, 0)?;
                        stack.extend([value, name]);
                    } else {
                        let kind = ExprKind::Call { callee: j.name, args: j.args };
                        let call = self.tree(kind, j.name.span.to(j.args_span), j.arg.height)?;
                        stack.push(self.followed(call, &j.suffixes)?);
                    }
                }
                Operand::Merge(start) => {
                    let (Some(c), Some(a), Some(b)) = (stack.pop(), stack.pop(), stack.pop()) else {
                        return Err(self.wrong_count(start, 0, 1));
                    };
                    let kind = ExprKind::Merge { cond: c.expr, on_true: a.expr, on_false: b.expr };
                    let below = c.height.max(a.height).max(b.height);
                    stack.push(self.tree(kind, start.to(b.outer), below)?);
                }
            }
        }
        stack.pop().ok_or(Reported)
    }

    fn followed(&mut self, mut base: Tree<'a>, suffixes: &[Trailing<'a>]) -> Parse<Tree<'a>> {
        for Trailing { suffix, height, span } in suffixes {
            base = self.suffixed(base, *suffix, *height, *span)?;
        }
        Ok(base)
    }

    fn wrong_count(&mut self, start: Span, found: usize, merges: usize) -> Reported {
        if self.kind() == Kind::Invalid {
            return Reported;
        }
        let next = self.found();
        let mut diagnostic = Diagnostic::error(codes::MERGE_OPERANDS, "`merge` does not have three operands")
            .label(start, "`merge c a b` takes a condition and two values")
            .label(self.span(self.peek()), "expected an operand of `merge` here");
        diagnostic = if merges == 1 {
            diagnostic.note(format!("expected 3 operands, found {found}, then {next}"))
        } else {
            diagnostic.note(format!(
                "expected {} operands for {merges} `merge`s, found {found}, then {next}",
                2 * merges + 1
            ))
        };
        if self.kind().starts_expr()
            || matches!(self.kind(), Kind::When | Kind::Plus | Kind::Star | Kind::Fby)
        {
            diagnostic = diagnostic
                .help("put parentheses around an operand that is more than a name, literal, call or index");
        } else if matches!(
            self.kind(),
            Kind::Gt | Kind::Ge | Kind::Lt | Kind::Le | Kind::EqEq | Kind::Ne | Kind::And | Kind::Or
        ) {
            diagnostic = diagnostic.help("put parentheses around the condition: `merge (x > 0.0) a b`");
        }
        self.report(diagnostic)
    }

    fn ambiguous_merge(&mut self, start: Span) -> Reported {
        let here = start.to(self.last_span());
        self.report(
            Diagnostic::error(
                codes::MERGE_OPERANDS,
                "the operands of these `merge`s can be grouped in several ways",
            )
            .label(here, "`name (..)` may be a call or two operands")
            .help("put parentheses around the inner `merge`, and around calls"),
        )
    }
}
