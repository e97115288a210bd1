//! What an expression makes of the types of its operands: the operator with its attributes, and the type of the result.
//! Used both while shapes are being found (then operands may have unknown shapes) and for the final check.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::op::{Binary, Class, Compare, Einsum, Op, Reduction, TypeError, Unary, result_type};
use rml_ir::typed::StaticValue;
use rml_ir::{DType, Shape, Type};
use rml_syntax::ast::{BinaryOp, UnaryOp};

use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Index};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure, expected};
use crate::typed::Typed;

mod index;
mod sliding;

/// A type whose shape may not be known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Partial {
    pub(crate) dtype: DType,
    pub(crate) shape: Option<Shape>,
}

impl Partial {
    pub(crate) fn known(ty: &Type) -> Self {
        Self { dtype: ty.dtype, shape: Some(ty.shape.clone()) }
    }

    fn ty(&self) -> Option<Type> {
        self.shape.clone().map(|shape| Type { dtype: self.dtype, shape })
    }
}

/// What an expression is in the typed stage.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Rule {
    /// An operator on the operands.
    Apply(Op),
    /// Anything else: the form of the expression says it.
    Form,
}

/// An operand: its type and its place.
pub(crate) type Operand = (Partial, Span);

impl Typed<'_> {
    /// The rule of an expression that is neither a name, a constant nor a call, and the type of its result.
    pub(crate) fn rule(
        &self,
        id: InstanceId,
        expr: ExprId,
        operands: &[Operand],
    ) -> Evaluated<(Rule, Partial)> {
        let node = self.tree.node(id);
        let span = node.exprs[expr].span;
        match (&node.exprs[expr].kind, operands) {
            (ExprKind::Unary(op, _), [_]) => {
                let (op, name) = match op {
                    UnaryOp::Neg => (Op::Unary(Unary::Neg), "-"),
                    UnaryOp::Not => (Op::Not, "not"),
                };
                apply(op, name, operands, span)
            }
            (ExprKind::Binary(op, ..), [_, _]) => pointwise(*op, operands, span),
            (ExprKind::Array(_), _) => apply(Op::Stack { axis: 0 }, "array", operands, span),
            (ExprKind::Index { indices, .. }, [base]) => {
                let Some(shape) = &base.0.shape else { return Ok((Rule::Form, base.0.clone())) };
                let items = self.index_items(id, indices, shape, base.1, span)?;
                apply(Op::Index { items }, "index", operands, span)
            }
            (ExprKind::If { .. } | ExprKind::Merge { .. }, [cond, a, b]) => {
                let what = if matches!(node.exprs[expr].kind, ExprKind::If { .. }) { "if" } else { "merge" };
                condition(cond, what)?;
                joined(a, b, what)
            }
            (ExprKind::Fby { .. }, [a, b]) => joined(a, b, "fby"),
            (ExprKind::FbyBack { .. }, [a, b]) => joined(a, b, "fby back"),
            (ExprKind::Post(_), [a]) => Ok((Rule::Form, a.0.clone())),
            (ExprKind::When { .. }, [value, cond]) => {
                condition(cond, "when")?;
                Ok((Rule::Form, value.0.clone()))
            }
            (ExprKind::Builtin { which, args, .. }, _) => self.builtin(id, *which, args, operands, span),
            _ => Err(Failure::Unknown),
        }
    }

    fn builtin(
        &self,
        id: InstanceId,
        which: Builtin,
        args: &[ExprId],
        operands: &[Operand],
        span: Span,
    ) -> Evaluated<(Rule, Partial)> {
        let shape = |i: usize| match args.get(i) {
            Some(&arg) => self.statics.shape(&self.tree, &self.shapes, id, arg),
            None => Err(Failure::Unknown),
        };
        let operand = operands.first().and_then(|o| o.0.shape.as_ref());
        let op = match which {
            Builtin::Unary(f) => Op::Unary(f),
            Builtin::Convert(to) => Op::Convert(to),
            Builtin::StopGradient => Op::StopGradient,
            Builtin::Softmax { log: false } => Op::Softmax,
            Builtin::Softmax { log: true } => Op::LogSoftmax,
            Builtin::MatMul => Op::MatMul,
            Builtin::Cholesky => Op::Cholesky,
            Builtin::Rfft => Op::Rfft,
            Builtin::Irfft => match args.first() {
                Some(&arg) => Op::Irfft { n: self.size(id, arg)? },
                None => return Err(Failure::Unknown),
            },
            Builtin::Solve => Op::Solve,
            Builtin::Param => {
                let init = operands.first().ok_or(Failure::Unknown)?;
                return Ok((Rule::Form, init.0.clone()));
            }
            Builtin::Reshape => Op::Reshape { shape: shape(0)? },
            Builtin::Broadcast => Op::Broadcast { shape: shape(0)? },
            Builtin::SumTo => Op::SumTo { shape: shape(0)? },
            Builtin::OneHot => match args.first() {
                Some(&arg) => Op::OneHot { classes: self.size(id, arg)? },
                None => return Err(Failure::Unknown),
            },
            Builtin::Reduce(by) => match (args.get(1), operand) {
                (None, _) => Op::Reduce(by, None),
                (Some(&axis), Some(shape)) => {
                    let axis = self.axis(id, axis, shape).map_err(|failure| of_two(by, failure));
                    Op::Reduce(by, Some(axis?))
                }
                (Some(_), None) => return Ok(unknown(which, operands)),
            },
            Builtin::Binary(f) => return broadcasting(Op::Binary(f), f.name(), operands, span),
            Builtin::Clip => return broadcasting(Op::Clip, "clip", operands, span),
            Builtin::Where => return broadcasting(Op::Where, "where", operands, span),
            Builtin::Conv(..) | Builtin::Pool(..) => return self.sliding(id, which, args, operands, span),
            Builtin::Pick => Op::Pick,
            Builtin::Einsum => Op::Einsum(self.labels(id, args.first().copied())?),
            Builtin::Gather => match (args.get(2), operand) {
                (None, _) => Op::Gather { axis: 0 },
                (Some(&axis), Some(shape)) => Op::Gather { axis: self.axis(id, axis, shape)? },
                (Some(_), None) => return Ok(unknown(which, operands)),
            },
            Builtin::ScatterAdd => {
                let shape = shape(0)?;
                let axis = args.get(3).map_or(Ok(0), |&axis| self.axis(id, axis, &shape))?;
                Op::ScatterAdd { shape, axis }
            }
            Builtin::CumSum => {
                let reverse = args.get(2).map_or(Ok(false), |&arg| self.flag(id, arg))?;
                match (args.get(1), operand) {
                    (None, _) => Op::CumSum { axis: 0, reverse },
                    (Some(&axis), Some(shape)) => Op::CumSum { axis: self.axis(id, axis, shape)?, reverse },
                    (Some(_), None) => return Ok(unknown(which, operands)),
                }
            }
            Builtin::Sort | Builtin::ArgSort | Builtin::SortBy => {
                let statics = usize::from(which == Builtin::SortBy) + 1;
                let descending = args.get(statics + 1).map_or(Ok(false), |&arg| self.flag(id, arg))?;
                let Some(shape) = operand else { return Ok(unknown(which, operands)) };
                let last = shape.rank().saturating_sub(1);
                let axis = args.get(statics).map_or(Ok(last), |&axis| self.axis(id, axis, shape))?;
                match which {
                    Builtin::Sort => Op::Sort { axis, descending },
                    Builtin::ArgSort => Op::ArgSort { axis, descending },
                    _ => Op::SortBy { axis, descending },
                }
            }
            Builtin::Stack => match (args.first(), operand) {
                (Some(&axis), Some(shape)) => {
                    let wider: Shape = shape.dims().iter().copied().chain([1]).collect();
                    Op::Stack { axis: self.axis(id, axis, &wider)? }
                }
                _ => return Ok(unknown(which, operands)),
            },
            Builtin::Concat => match (args.get(2), operand) {
                (None, _) => Op::Concat { axis: 0 },
                (Some(&axis), Some(shape)) => Op::Concat { axis: self.axis(id, axis, shape)? },
                (Some(_), None) => return Ok(unknown(which, operands)),
            },
            Builtin::Transpose => match (args.get(1), operand) {
                (_, None) => return Ok(unknown(which, operands)),
                (None, Some(shape)) => Op::Transpose { perm: (0..shape.rank()).rev().collect() },
                (Some(&perm), Some(shape)) => Op::Transpose { perm: self.permutation(id, perm, shape)? },
            },
            Builtin::Split { part, of } => match operand {
                Some(shape) => {
                    let axis = args.get(1).map_or(Ok(0), |&axis| self.axis(id, axis, shape))?;
                    Op::Index { items: index::split_items(part, of, axis, shape, span)? }
                }
                None => return Ok(unknown(which, operands)),
            },
            Builtin::Unindex => {
                let shape = shape(0)?;
                let node = self.tree.node(id);
                let entry = |&arg: &ExprId| match node.exprs[arg].kind {
                    ExprKind::Entry(index) => index,
                    _ => Index::At(arg),
                };
                let entries: Vec<Index> = args.iter().skip(2).map(entry).collect();
                let items = self.index_items(id, &entries, &shape, node.exprs[args[0]].span, span)?;
                Op::Unindex { shape, items }
            }
            Builtin::RandomUniform
            | Builtin::RandomNormal
            | Builtin::Zeros
            | Builtin::Ones
            | Builtin::GlorotUniform
            | Builtin::Orthogonal
            | Builtin::Uniform
            | Builtin::Normal => {
                return Ok((Rule::Form, Partial { dtype: DType::Num, shape: Some(shape(0)?) }));
            }
            Builtin::Shape | Builtin::Range => return Err(Failure::Unknown),
        };
        apply(op, which.name(), operands, span)
    }

    /// The labels of a contraction.
    fn labels(&self, id: InstanceId, expr: Option<ExprId>) -> Evaluated<Einsum> {
        let expr = &self.tree.node(id).exprs[expr.ok_or(Failure::Unknown)?];
        let bad = |message: String| {
            Failure::from(
                Diagnostic::error(codes::STATIC_VALUE, "these are not labels of a contraction")
                    .label(expr.span, message)
                    .note("expected a letter for each axis of each operand and of the result, such as \"bij,bjk->bik\""),
            )
        };
        match &expr.kind {
            ExprKind::Text(text) => Einsum::parse(text).map_err(bad),
            _ => Err(bad("this is not a text in quotes".to_owned())),
        }
    }

    /// A static bool.
    fn flag(&self, id: InstanceId, expr: ExprId) -> Evaluated<bool> {
        match self.statics.eval(&self.tree, &self.shapes, id, expr)? {
            StaticValue::Bool(b) => Ok(b),
            found => Err(expected("a bool", &found, self.tree.node(id).exprs[expr].span).into()),
        }
    }

    /// A static int that is not negative.
    fn size(&self, id: InstanceId, expr: ExprId) -> Evaluated<usize> {
        let n = self.statics.int(&self.tree, &self.shapes, id, expr)?;
        let span = self.tree.node(id).exprs[expr].span;
        usize::try_from(n)
            .map_err(|_| expected("an int that is not negative", &StaticValue::Int(n), span).into())
    }

    /// A static axis of a shape; negative counts from the end.
    fn axis(&self, id: InstanceId, expr: ExprId, shape: &Shape) -> Evaluated<usize> {
        let axis = self.statics.int(&self.tree, &self.shapes, id, expr)?;
        let rank = i64::try_from(shape.rank()).unwrap_or(i64::MAX);
        let from_start = if axis < 0 { axis.saturating_add(rank) } else { axis };
        usize::try_from(from_start).ok().filter(|a| *a < shape.rank()).ok_or_else(|| {
            let span = self.tree.node(id).exprs[expr].span;
            let expected = match rank {
                0 => "an operand with axes: a scalar has none".to_owned(),
                _ => format!("an axis from -{rank} to {}, found {axis}", rank - 1),
            };
            Diagnostic::error(codes::SHAPE_MISMATCH, format!("there is no axis {axis}"))
                .label(span, format!("the operand has shape {shape}"))
                .note(format!("expected {expected}"))
                .into()
        })
    }

    /// The order of all axes; what is given may be that of the last ones alone.
    fn permutation(&self, id: InstanceId, expr: ExprId, shape: &Shape) -> Evaluated<Vec<usize>> {
        let span = self.tree.node(id).exprs[expr].span;
        let value = self.statics.eval(&self.tree, &self.shapes, id, expr)?;
        let bad = || {
            Failure::from(expected("a permutation of the axes, or of the last ones", &value, span).note(
                format!("the operand has {} axes; those that are permuted are numbered from 0", shape.rank()),
            ))
        };
        let StaticValue::Array(items) = &value else { return Err(bad()) };
        let mut perm = Vec::with_capacity(items.len());
        for item in items {
            match item {
                StaticValue::Int(i) => perm.push(usize::try_from(*i).map_err(|_| bad())?),
                _ => return Err(bad()),
            }
        }
        let mut sorted = perm.clone();
        sorted.sort_unstable();
        let stay = shape.rank().checked_sub(perm.len()).ok_or_else(bad)?;
        if !sorted.into_iter().eq(0..perm.len()) {
            return Err(bad());
        }
        Ok((0..stay).chain(perm.iter().map(|axis| stay + axis)).collect())
    }
}

/// The result of a builtin on an operand of unknown shape.
fn unknown(which: Builtin, operands: &[Operand]) -> (Rule, Partial) {
    let dtype = match which {
        Builtin::Reduce(by) => operands.first().map_or(DType::Num, |o| by.gives(o.0.dtype)),
        Builtin::ArgSort => DType::Int,
        Builtin::SortBy => operands.get(1).map_or(DType::Num, |o| o.0.dtype),
        _ => operands.first().map_or(DType::Num, |o| o.0.dtype),
    };
    (Rule::Form, Partial { dtype, shape: None })
}

/// Checks that a condition is a scalar.
pub(crate) fn condition(cond: &Operand, what: &str) -> Evaluated<()> {
    match &cond.0.shape {
        Some(shape) if !shape.is_scalar() => {
            let d = Diagnostic::error(
                codes::CONDITION_TYPE,
                format!("the condition of `{what}` must be a scalar"),
            );
            let d = d
                .label(cond.1, format!("this has shape {shape}"))
                .note(format!("expected bool [], found {} {shape}", cond.0.dtype));
            Err(match what {
                "if" => d.help("write `where(c, a, b)` to choose element by element"),
                _ => {
                    d.help("whole values are present or absent; `where(c, a, b)` chooses element by element")
                }
            }
            .into())
        }
        _ => Ok(()),
    }
}

/// Two values of which either may be the result: they broadcast to one shape.
fn joined(a: &Operand, b: &Operand, what: &str) -> Evaluated<(Rule, Partial)> {
    let shape = match (&a.0.shape, &b.0.shape) {
        (Some(x), Some(y)) => Some(x.broadcast(y).ok_or_else(|| {
            Diagnostic::error(
                codes::SHAPE_MISMATCH,
                format!("the operands of `{what}` have different shapes"),
            )
            .label(b.1, format!("this has shape {y}"))
            .label(a.1, format!("this has shape {x}"))
            .note("expected shapes whose dimensions, aligned on the right, are equal, 1 or missing")
        })?),
        (x, y) => x.clone().or_else(|| y.clone()),
    };
    Ok((Rule::Form, Partial { dtype: a.0.dtype, shape }))
}

fn pointwise(op: BinaryOp, operands: &[Operand], span: Span) -> Evaluated<(Rule, Partial)> {
    broadcasting(binary_op(op), op.text(), operands, span)
}

/// Operators whose operands broadcast: one of unknown shape does not widen the result yet.
fn broadcasting(op: Op, name: &str, operands: &[Operand], span: Span) -> Evaluated<(Rule, Partial)> {
    if operands.iter().all(|o| o.0.shape.is_none()) {
        let dtype = dtype_of(&op, operands);
        return Ok((Rule::Apply(op), Partial { dtype, shape: None }));
    }
    let assumed: Vec<Operand> = operands
        .iter()
        .map(|(p, s)| (Partial { dtype: p.dtype, shape: Some(p.shape.clone().unwrap_or_default()) }, *s))
        .collect();
    apply(op, name, &assumed, span)
}

/// The element type of a result: it does not depend on shapes, and most operators keep that of the first operand.
fn dtype_of(op: &Op, operands: &[Operand]) -> DType {
    let first = operands.first().map_or(DType::Num, |o| o.0.dtype);
    match op {
        Op::Convert(to) => *to,
        Op::OneHot { .. } => DType::Num,
        Op::Compare(_) => DType::Bool,
        Op::Reduce(by, _) => by.gives(first),
        Op::ArgSort { .. } => DType::Int,
        Op::Where | Op::ScatterAdd { .. } | Op::SortBy { .. } => {
            operands.get(1).map_or(DType::Num, |o| o.0.dtype)
        }
        Op::Copy
        | Op::StopGradient
        | Op::Not
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::And
        | Op::Or
        | Op::Clip => first,
        Op::Gather { .. } | Op::Pick | Op::SumTo { .. } | Op::CumSum { .. } | Op::Sort { .. } => first,
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::Concat { .. } => first,
        Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } => first,
        Op::MatMul | Op::Einsum(_) | Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => {
            DType::Num
        }
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => DType::Num,
        Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => DType::Num,
        Op::Softmax | Op::LogSoftmax | Op::RandomUniform { .. } | Op::RandomNormal { .. } => DType::Num,
    }
}

pub(crate) fn binary_op(op: BinaryOp) -> Op {
    match op {
        BinaryOp::Or => Op::Or,
        BinaryOp::And => Op::And,
        BinaryOp::Eq => Op::Compare(Compare::Eq),
        BinaryOp::Ne => Op::Compare(Compare::Ne),
        BinaryOp::Lt => Op::Compare(Compare::Lt),
        BinaryOp::Le => Op::Compare(Compare::Le),
        BinaryOp::Gt => Op::Compare(Compare::Gt),
        BinaryOp::Ge => Op::Compare(Compare::Ge),
        BinaryOp::Add => Op::Binary(Binary::Add),
        BinaryOp::Sub => Op::Binary(Binary::Sub),
        BinaryOp::Mul => Op::Binary(Binary::Mul),
        BinaryOp::Div => Op::Binary(Binary::Div),
    }
}

/// An operator whose result type the operator table says.
fn apply(op: Op, name: &str, operands: &[Operand], span: Span) -> Evaluated<(Rule, Partial)> {
    let types: Option<Vec<Type>> = operands.iter().map(|o| o.0.ty()).collect();
    let Some(types) = types else {
        let dtype = dtype_of(&op, operands);
        return Ok((Rule::Apply(op), Partial { dtype, shape: None }));
    };
    match result_type(&op, &types) {
        Ok(ty) => Ok((Rule::Apply(op), Partial::known(&ty))),
        Err(error) => Err(misfit(&op, name, operands, &types, &error, span).into()),
    }
}

fn misfit(
    op: &Op,
    name: &str,
    operands: &[Operand],
    types: &[Type],
    error: &TypeError,
    span: Span,
) -> Diagnostic {
    let scalars: Vec<Type> = types.iter().map(|t| Type::scalar(t.dtype)).collect();
    let mixed =
        matches!(op, Op::Where | Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick | Op::SortBy { .. });
    let same = mixed || types.windows(2).all(|w| w[0].dtype == w[1].dtype);
    let elements = !same || (is_elementwise(op) && result_type(op, &scalars).is_err());
    let (code, what) = match elements {
        true => (codes::TYPE_MISMATCH, "element types"),
        false => (codes::SHAPE_MISMATCH, "shapes"),
    };
    let message = match operands.len() {
        1 => format!("`{name}` does not take an operand of this {}", if elements { "type" } else { "shape" }),
        _ => format!("the {what} of the operands of `{name}` do not fit"),
    };
    let first = error.operand.filter(|i| *i < operands.len());
    let mut d = Diagnostic::error(code, message);
    if first.is_none() {
        d = d.label(span, "");
    }
    let order = first.into_iter().chain((0..operands.len()).filter(|i| Some(*i) != first));
    for i in order {
        d = d.label(operands[i].1, format!("this is {}", types[i]));
    }
    d.note(format!("expected {}, found {}", error.expected, error.found))
}

/// Whether the operator takes operands of any shape, so that only element types can be wrong for scalars.
fn is_elementwise(op: &Op) -> bool {
    match op.class() {
        Class::Identity | Class::Pointwise => *op != Op::Where,
        Class::Fold => matches!(op, Op::Reduce(_, None)),
        Class::Lookup => matches!(op, Op::OneHot { .. }),
        Class::Random => true,
        Class::Layout | Class::Along | Class::Product | Class::Sliding => false,
    }
}

/// What is wrong with the axis of an operator; `max(a, b)` means the larger of two in other languages.
fn of_two(by: Reduction, failure: Failure) -> Failure {
    let (name, elementwise) = match by {
        Reduction::Max => ("max", "maximum"),
        Reduction::Min => ("min", "minimum"),
        Reduction::Sum | Reduction::Mean | Reduction::ArgMax | Reduction::ArgMin => return failure,
        Reduction::Any | Reduction::All => return failure,
    };
    match failure {
        Failure::Bad(mut found) if found.code != codes::SHAPE_MISMATCH => {
            let help = format!("`{name}(x, axis)` is along an axis; of two values: `{elementwise}(a, b)`");
            found.help = vec![help];
            Failure::Bad(found)
        }
        failure => failure,
    }
}
