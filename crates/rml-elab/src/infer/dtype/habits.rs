//! Expressions whose element types do not fit, and the expressions that were probably meant.

use rml_ir::DType;
use rml_syntax::ast::{BinaryOp, Literal};

use crate::hir::{ExprId, ExprKind, Node};
use crate::text;

/// The correct form of an operation on operands with the element types `left` and `right`: `to_num(n) * 0.5` for `n *
/// 0.5`, and `0.0 < a and a < 1.0` for `0.0 < a < 1.0`.
pub(super) fn operands(
    node: &Node,
    (op, a, b): (BinaryOp, ExprId, ExprId),
    left: DType,
    right: DType,
) -> Option<String> {
    if let Some(help) = chained(node, (op, a, b)) {
        return Some(help);
    }
    let counts = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div);
    if let Some(help) = literal(node, [a, b], left, right).filter(|_| !counts) {
        return Some(help);
    }
    let counted = match (left, right) {
        (DType::Int | DType::Num, DType::Bool) => Some((b, left)),
        (DType::Bool, DType::Int | DType::Num) => Some((a, right)),
        (DType::Bool, DType::Bool) | (DType::Int | DType::Num, DType::Int | DType::Num) => None,
    };
    if let Some((truth, number)) = counted {
        let text = text::short(node, truth)?;
        return Some(format!("write `to_{number}({text})`, which is 1 where it is true and 0 elsewhere"));
    }
    let (first, second) = (text::operand(node, a)?, text::operand(node, b)?);
    let op = op.text();
    let (ints, converted) = match (left, right) {
        (DType::Int, DType::Num) => (whole(node, b).map(|i| format!("{first} {op} {i}")), [true, false]),
        (DType::Num, DType::Int) => (whole(node, a).map(|i| format!("{i} {op} {second}")), [false, true]),
        _ => return None,
    };
    let [first, second] =
        [(a, first, converted[0]), (b, second, converted[1])].map(|(expr, written, convert)| {
            if convert { format!("to_num({})", text::short(node, expr).unwrap_or(written)) } else { written }
        });
    let nums = format!("convert the int: `{first} {op} {second}`");
    Some(match ints {
        Some(ints) => format!("{nums}; of ints it is `{ints}`"),
        None => nums,
    })
}

/// The correct form of a number that is combined with a bool: `false` for `0.0 fby c`.
pub(super) fn literal(node: &Node, exprs: [ExprId; 2], left: DType, right: DType) -> Option<String> {
    if (left == DType::Bool) == (right == DType::Bool) {
        return None;
    }
    let number = exprs.into_iter().find_map(|expr| match node.exprs[expr].kind {
        ExprKind::Literal(Literal::Int(i)) => Some((expr, i != 0)),
        ExprKind::Literal(Literal::Num(x)) => Some((expr, x != 0.0)),
        _ => None,
    });
    let (expr, truth) = number?;
    Some(format!("a bool is `true` or `false`: write `{truth}` in place of `{}`", text::short(node, expr)?))
}

/// The correct form of `and` and `or` of ints, which operate on bits in other languages.
pub(super) fn bits(node: &Node, (op, a, b): (BinaryOp, ExprId, ExprId)) -> String {
    let low = || {
        let ExprKind::Literal(Literal::Int(mask)) = node.exprs[b].kind else { return None };
        let above = mask.checked_add(1).filter(|above| *above > 1 && above & mask == 0)?;
        Some(format!("mod({}, {above})", text::short(node, a)?))
    };
    match low().filter(|_| op == BinaryOp::And) {
        Some(text) => format!("there are no operators on bits: write `{text}`"),
        None => {
            let [a, b] = [a, b].map(|e| text::operand(node, e).unwrap_or_else(|| "..".to_owned()));
            format!(
                "there are no operators on bits; truth values are compared: `{a} != 0 {} {b} != 0`",
                op.text()
            )
        }
    }
}

/// A literal with a point as an integer, if it is one.
fn whole(node: &Node, expr: ExprId) -> Option<String> {
    match node.exprs[expr].kind {
        ExprKind::Literal(Literal::Num(x)) if x.fract() == 0.0 && x.abs() < 1e15 => Some(format!("{x:.0}")),
        _ => None,
    }
}

/// The conjunction that was meant by a comparison of the result of a comparison.
fn chained(node: &Node, (op, a, b): (BinaryOp, ExprId, ExprId)) -> Option<String> {
    let ExprKind::Binary(first, low, middle) = node.exprs[a].kind else { return None };
    if !(is_comparison(first) && is_comparison(op)) {
        return None;
    }
    let [low, middle, high] = [low, middle, b].map(|e| text::operand(node, e));
    let (low, middle, high) = (low?, middle?, high?);
    let (first, op) = (first.text(), op.text());
    Some(format!("compare twice: `{low} {first} {middle} and {middle} {op} {high}`"))
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

/// The correct form `x when (x > 0.0)` of `x when x > 0.0`, in which the sampled expression became the left side of the
/// comparison. `of` is the expression with that condition, which follows the word `word`.
pub(super) fn split_condition(node: &Node, of: ExprId, word: &str, cond: ExprId) -> Option<String> {
    let mut condition = text::operand(node, cond)?;
    let (mut inner, mut first, mut compares) = (of, None, false);
    let mut value = match node.exprs[of].kind {
        ExprKind::When { value, .. } => format!("{} ", text::operand(node, value)?),
        _ => String::new(), // The call before `restart` is omitted.
    };
    let parent = |of: ExprId| {
        node.exprs.iter_enumerated().find_map(|(id, e)| match e.kind {
            ExprKind::Binary(op, a, b) if a == of || b == of => Some((id, op, a, b)),
            _ => None,
        })
    };
    while let Some((outer, op, a, b)) = parent(inner) {
        if a == inner {
            condition = format!("{condition} {} {}", op.text(), text::operand(node, b)?);
            compares |= is_comparison(op);
        } else if !value.is_empty() {
            value = format!("({} {} {}) ", text::operand(node, a)?, op.text(), value.trim_end());
        }
        first.get_or_insert(op.text());
        inner = outer;
    }
    let operator = first.filter(|_| compares)?;
    Some(format!("`{word}` binds more strongly than `{operator}`: write `{value}{word} ({condition})`"))
}
