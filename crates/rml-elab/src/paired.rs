//! Operators that combine each element of one operand with each element of the other one, where the result was not
//! meant to have two such axes: `y - t` of `[batch, 1]` and `[batch]` has the shape `[batch, batch]`.

use rml_base::{Diagnostic, Span};
use rml_ir::Shape;

use crate::hir::{ExprId, ExprKind, LocalKind};
use crate::instance::InstanceId;
use crate::text;
use crate::typed::Typed;

/// The maximum number of operators and names that are followed to the operator.
const DEPTH: usize = 32;

/// An operator whose result is wider than each of its operands.
pub(crate) struct Paired {
    span: Span,
    shapes: [Shape; 3],
    /// The operator on operands of the same rank.
    text: Option<String>,
}

impl Paired {
    /// Adds the place and the correct form to an error about the shape of a value that is computed from the result.
    pub(crate) fn told(self, d: Diagnostic) -> Diagnostic {
        let [a, b, both] = &self.shapes;
        let d = d.label(self.span, format!("{a} and {b} give {both}"));
        match self.text {
            Some(text) => d.help(format!("to combine each element with its own one, write `{text}` there")),
            None => d.help(
                "to combine each element with its own one, give both operands the same dimensions there",
            ),
        }
    }
}

/// The operator that widens an expression, through names and operators that keep the shape. The proposed form has the
/// expected shape if that is possible.
pub(crate) fn find(typed: &Typed<'_>, (id, expr): (InstanceId, ExprId), expected: &Shape) -> Option<Paired> {
    let node = typed.tree.node(id);
    let mut at = expr;
    for _ in 0..DEPTH {
        at = match node.exprs[at].kind {
            ExprKind::Local(local) => match node.locals[local].kind {
                LocalKind::Defined { equation } if node.equations[equation].lhs.len() == 1 => {
                    node.equations[equation].rhs
                }
                LocalKind::Defined { .. }
                | LocalKind::Formal
                | LocalKind::Dim
                | LocalKind::Undefined
                | LocalKind::Node
                | LocalKind::Family
                | LocalKind::Index
                | LocalKind::Constant(_) => return None,
            },
            ExprKind::Unary(_, a) => a,
            ExprKind::Binary(op, a, b) => {
                let (first, second) = (shape(typed, id, a, DEPTH)?, shape(typed, id, b, DEPTH)?);
                let both = first.broadcast(&second)?;
                if both == first {
                    a
                } else if both == second {
                    b
                } else {
                    let texts = (text::operand(node, a), text::operand(node, b));
                    let text = texts.0.zip(texts.1).and_then(|(x, y)| {
                        let write = |x: &str, y: &str| format!("{x} {} {y}", op.text());
                        let column = |long: &Shape, short: &Shape| {
                            long.dims().split_last() == Some((&1, short.dims()))
                        };
                        let wider =
                            |text: &str, long: &Shape| format!("expand_dims({text}, {})", long.rank() - 1);
                        if column(&first, &second) {
                            Some(match first == *expected {
                                true => write(&x, &wider(&y, &first)),
                                false => write(&format!("{x}[.., 0]"), &y),
                            })
                        } else if column(&second, &first) {
                            Some(match second == *expected {
                                true => write(&wider(&x, &second), &y),
                                false => write(&x, &format!("{y}[.., 0]")),
                            })
                        } else {
                            None
                        }
                    });
                    return Some(Paired { span: node.exprs[at].span, shapes: [first, second, both], text });
                }
            }
            _ => return None, // Other expressions define their own shapes.
        };
    }
    None
}

/// The shape of a name, a number, or an operator on them.
fn shape(typed: &Typed<'_>, id: InstanceId, expr: ExprId, depth: usize) -> Option<Shape> {
    let depth = depth.checked_sub(1)?;
    match typed.tree.node(id).exprs[expr].kind {
        ExprKind::Local(local) if typed.tree.is_stream(id, local) => typed.shape(id, local).cloned(),
        ExprKind::Local(_) | ExprKind::Literal(_) => Some(Shape::scalar()),
        ExprKind::Unary(_, a) => shape(typed, id, a, depth),
        ExprKind::Binary(_, a, b) => shape(typed, id, a, depth)?.broadcast(&shape(typed, id, b, depth)?),
        _ => None, // Not needed to find the operator.
    }
}
