//! The typing rules of expressions: the operator with its attributes, and the type of the result. They are used while
//! shapes are inferred (then operands may have unknown shapes), and for the final check.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::op::{Binary, Class, Compare, Op, TypeError, Unary, result_type};
use rml_ir::typed::StaticValue;
use rml_ir::{DType, Shape, Type};
use rml_syntax::ast::{BinaryOp, UnaryOp};

use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Index};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure, expected};
use crate::typed::Typed;

pub(crate) mod advice;
mod axes;
mod einsum;
mod entries;
mod index;
mod sliding;

/// A type whose shape may be unknown.
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

/// The typed form of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Rule {
    /// An operator on the operands.
    Apply(Op),
    /// A non-empty sequence of operators; the last one computes the result.
    Steps(Vec<Step>),
    /// Any other form, which the expression itself determines.
    Form,
}

/// One of the operators that implement an expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    /// The numbers of the operator's operands: first those of the expression, then the results of the previous steps.
    pub(crate) args: Vec<usize>,
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
        let found = self.found(id, expr, operands);
        found.map_err(|failure| advice::given(self.tree.node(id), expr, operands, failure))
    }

    fn found(&self, id: InstanceId, expr: ExprId, operands: &[Operand]) -> Evaluated<(Rule, Partial)> {
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
            // The number of a case, which is already an int.
            Builtin::Convert(DType::Int) if operands.first().is_some_and(|o| o.0.dtype == DType::Int) => {
                Op::Copy
            }
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
            Builtin::Assert => {
                let shape = operands.first().ok_or(Failure::Unknown)?.0.shape.clone();
                return Ok((Rule::Form, Partial { dtype: DType::Int, shape }));
            }
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
            Builtin::Reduce(by) => return self.reduce(id, by, args, operands, span),
            Builtin::ExpandDims => return self.expand_dims(id, args, operands, span),
            Builtin::Binary(f) => return broadcasting(Op::Binary(f), f.name(), operands, span),
            Builtin::Clip => return broadcasting(Op::Clip, "clip", operands, span),
            Builtin::Where => return broadcasting(Op::Where, "where", operands, span),
            Builtin::Conv(..) | Builtin::Pool(..) => return self.sliding(id, which, args, operands, span),
            Builtin::Pick => Op::Pick,
            Builtin::Einsum => return self.einsum(id, args.first(), operands, span),
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
            Builtin::Shape | Builtin::Range | Builtin::ZerosLike => return Err(Failure::Unknown),
        };
        apply(op, which.name(), operands, span)
    }

    /// The value of a static bool.
    fn flag(&self, id: InstanceId, expr: ExprId) -> Evaluated<bool> {
        match self.statics.eval(&self.tree, &self.shapes, id, expr)? {
            StaticValue::Bool(b) => Ok(b),
            found => Err(expected("a bool", &found, self.tree.node(id).exprs[expr].span).into()),
        }
    }

    /// The value of a static int that must not be negative.
    fn size(&self, id: InstanceId, expr: ExprId) -> Evaluated<usize> {
        let n = self.statics.int(&self.tree, &self.shapes, id, expr)?;
        let span = self.tree.node(id).exprs[expr].span;
        usize::try_from(n)
            .map_err(|_| expected("an int that is not negative", &StaticValue::Int(n), span).into())
    }
}

/// The result of a builtin whose operand has an unknown shape.
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

/// The result of choosing one of two values, which broadcast to one shape.
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

/// The result of an operator whose operands broadcast; an operand of unknown shape does not widen the result yet.
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

/// The element type of a result. It does not depend on shapes; most operators keep the type of the first operand.
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

/// The result of an operator whose result type is in the operator table.
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

/// The result of a sequence of operators on operands of known types.
fn steps(steps: Vec<Step>, name: &str, operands: &[Operand], span: Span) -> Evaluated<(Rule, Partial)> {
    let known: Option<Vec<Type>> = operands.iter().map(|o| o.0.ty()).collect();
    let mut types = known.ok_or(Failure::Unknown)?;
    for step in &steps {
        let args: Vec<Type> = step.args.iter().map(|arg| types[*arg].clone()).collect();
        match result_type(&step.op, &args) {
            Ok(ty) => types.push(ty),
            Err(mut error) => {
                error.operand = error.operand.and_then(|i| step.args.get(i).copied());
                let types = &types[..operands.len()];
                return Err(misfit(&step.op, name, operands, types, &error, span).into());
            }
        }
    }
    let result = types.last().map(Partial::known).ok_or(Failure::Unknown)?;
    Ok((Rule::Steps(steps), result))
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
    // A scalar has no axis to fold, but it has an element type.
    let whole = if let Op::Reduce(by, _) = op { Op::Reduce(*by, None) } else { op.clone() };
    let elements = !same || (is_elementwise(&whole) && result_type(&whole, &scalars).is_err());
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
    let d = d.note(format!("expected {}, found {}", error.expected, error.found));
    match elements && types.iter().any(|ty| ty.dtype == DType::Bool) {
        true => d.help("`to_int(x)` and `to_num(x)` convert a bool"),
        false => d,
    }
}

/// Whether the operator accepts operands of any shape, so that only their element types can be wrong.
fn is_elementwise(op: &Op) -> bool {
    match op.class() {
        Class::Identity | Class::Pointwise => *op != Op::Where,
        Class::Fold => matches!(op, Op::Reduce(_, None)),
        Class::Lookup => matches!(op, Op::OneHot { .. }),
        Class::Random => true,
        Class::Layout | Class::Along | Class::Product | Class::Sliding => false,
    }
}
