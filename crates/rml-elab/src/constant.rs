//! Constants: literals, arrays of them, static values used as streams, and initialisers such as `zeros(shape)`.

use std::sync::Arc;

use indexmap::IndexSet;
use rml_base::codes::elab as codes;
use rml_base::codes::syntax::NUMBER_OUT_OF_RANGE;
use rml_base::{Diagnostic, Span, memory};
use rml_ir::op::Distribution;
use rml_ir::typed::{ConstKind, Constant, StaticValue};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};
use rml_syntax::ast::Literal;

use crate::builtins::Builtin;
use crate::hir::{Expr, ExprId, ExprKind, Index, Item, Local};
use crate::instance::InstanceId;
use crate::report::Report;
use crate::statics::{self, Evaluated, Failure};
use crate::text::Texts;
use crate::typed::Typed;

/// The maximum number of elements that a constant may have; unlike streams, constants exist at compile time.
const MAX_ELEMENTS: usize = 1 << 28;

impl Typed<'_> {
    /// The shape of an output, which may be a static formal.
    pub(crate) fn output_shape(&self, id: InstanceId, local: Local) -> Option<Shape> {
        if self.tree.is_stream(id, local) {
            return self.shape(id, local).cloned();
        }
        let span = self.tree.node(id).locals[local].span;
        self.named_constant(id, local, span, Precision::F64).ok().map(|c| c.ty.shape)
    }

    /// The text of an expression.
    pub(crate) fn text(&self, id: InstanceId, expr: ExprId) -> String {
        Texts { node: self.tree.node(id), is_num: &|e| self.statics.is_num(id, e) }.expr(expr)
    }

    /// The texts of the entries of an index list.
    pub(crate) fn indices_text(&self, id: InstanceId, indices: &[Index]) -> Vec<String> {
        Texts { node: self.tree.node(id), is_num: &|e| self.statics.is_num(id, e) }.indices(indices)
    }

    /// Reports each literal without a point that is used as a num and cannot be represented exactly in that precision.
    pub(crate) fn inexact_literals(&self, precision: Precision, report: &mut Report) {
        let mut seen = IndexSet::new();
        for (id, expr) in self.statics.nums() {
            let Expr { kind: ExprKind::Literal(Literal::Int(i)), span } = self.tree.node(id).exprs[expr]
            else {
                continue;
            };
            if is_exact(i, precision) || !seen.insert(span) {
                continue;
            }
            let bits = if precision == Precision::F32 { 24 } else { 53 };
            report.push(
                Diagnostic::error(NUMBER_OUT_OF_RANGE, format!("no num is {i}"))
                    .label(span, "this literal is a num here")
                    .note(format!("expected a number of at most {bits} binary digits, not counting trailing zeros; found one of more"))
                    .fix(format!("write `{i}.0` to round it to the nearest num"), span, format!("{i}.0")),
            );
        }
    }

    /// Whether an expression has the form of a constant.
    fn is_constant(&self, id: InstanceId, expr: ExprId) -> bool {
        let node = self.tree.node(id);
        match &node.exprs[expr].kind {
            ExprKind::Literal(_) => true,
            ExprKind::Local(local) => !self.tree.is_stream(id, *local),
            // Static arrays are indexed by one axis at a time.
            ExprKind::Index { indices, .. } if indices.len() > 1 => false,
            ExprKind::Unary(_, inner) | ExprKind::Index { base: inner, .. } => self.is_plain(id, *inner),
            ExprKind::Array(items) => items.iter().all(|item| match *item {
                Item::Expr(e) => self.is_plain(id, e),
                Item::Splice(..) => true,
            }),
            ExprKind::Builtin { which, .. } => {
                matches!(which, Builtin::Shape | Builtin::Range) || is_initialiser(*which)
            }
            _ => false,
        }
    }

    /// Whether an expression has the form of a constant and is not an initialiser.
    fn is_plain(&self, id: InstanceId, expr: ExprId) -> bool {
        let kind = &self.tree.node(id).exprs[expr].kind;
        let initialiser = matches!(kind, ExprKind::Builtin { which, .. } if is_initialiser(*which));
        !initialiser && self.is_constant(id, expr)
    }

    /// The value of a constant that is not an initialiser.
    fn value(&self, id: InstanceId, expr: ExprId) -> Evaluated<StaticValue> {
        self.statics.eval(&self.tree, &self.shapes, id, expr)
    }

    /// The type of a constant; `None` if the expression is not a constant.
    pub(crate) fn constant_type(&self, id: InstanceId, expr: ExprId) -> Option<Evaluated<Type>> {
        if !self.is_constant(id, expr) {
            return None;
        }
        let node = self.tree.node(id);
        let span = node.exprs[expr].span;
        Some(match &node.exprs[expr].kind {
            ExprKind::Literal(Literal::Bool(_)) => Ok(Type::scalar(DType::Bool)),
            ExprKind::Literal(Literal::Int(_)) if !self.statics.is_num(id, expr) => {
                Ok(Type::scalar(DType::Int))
            }
            ExprKind::Literal(Literal::Int(_)) => Ok(Type::scalar(DType::Num)),
            ExprKind::Literal(Literal::Num(_)) => Ok(Type::scalar(DType::Num)),
            ExprKind::Builtin { which: Builtin::ZerosLike, args } => self.zeros_type(id, args, span),
            ExprKind::Builtin { which, args, .. } if is_initialiser(*which) => {
                self.initialiser_type(id, args, span)
            }
            // Even `range(0)` has an element type.
            ExprKind::Builtin { which: Builtin::Range, .. } => self.value(id, expr).map(|value| {
                let n = if let StaticValue::Array(items) = value { items.len() } else { 0 };
                Type::new(DType::Int, &[n])
            }),
            _ => self.value(id, expr).and_then(|value| type_of(&value, span)),
        })
    }

    fn initialiser_type(&self, id: InstanceId, args: &[ExprId], span: Span) -> Evaluated<Type> {
        let &shape = args.first().ok_or(Failure::Unknown)?;
        let shape = self.statics.shape(&self.tree, &self.shapes, id, shape)?;
        bounded(Type { dtype: DType::Num, shape }, span)
    }

    /// The type of `zeros_like(x)` and `zeros_like(x, shape)`.
    fn zeros_type(&self, id: InstanceId, args: &[ExprId], span: Span) -> Evaluated<Type> {
        let &like = args.first().ok_or(Failure::Unknown)?;
        let ExprKind::Local(local) = self.tree.node(id).exprs[like].kind else {
            return Err(Failure::Unknown);
        };
        let shape = match args.get(1) {
            Some(&shape) => self.statics.shape(&self.tree, &self.shapes, id, shape)?,
            None => self.statics.shape_of_name(&self.tree, &self.shapes, id, local, span)?,
        };
        bounded(Type { dtype: self.dtype(id, local), shape }, span)
    }

    /// The constant that an expression denotes; `None` if it is not a constant.
    pub(crate) fn constant(
        &self,
        id: InstanceId,
        expr: ExprId,
        precision: Precision,
    ) -> Option<Evaluated<Constant>> {
        let ty = match self.constant_type(id, expr)? {
            Ok(ty) => ty,
            Err(failure) => return Some(Err(failure)),
        };
        Some(self.constant_kind(id, expr, &ty, precision).map(|kind| {
            let text = Arc::from(self.text(id, expr));
            Constant { kind, ty, text: Some(text) }
        }))
    }

    /// The value of a static name as a constant stream.
    pub(crate) fn named_constant(
        &self,
        id: InstanceId,
        local: Local,
        span: Span,
        precision: Precision,
    ) -> Evaluated<Constant> {
        let value = self.statics.name(&self.tree, id, local, span)?;
        let ty = type_of(&value, span)?;
        let kind = ConstKind::Value(to_value(&value, &ty, precision));
        Ok(Constant { kind, ty, text: Some(self.tree.node(id).name_of(local).clone()) })
    }

    fn constant_kind(
        &self,
        id: InstanceId,
        expr: ExprId,
        ty: &Type,
        precision: Precision,
    ) -> Evaluated<ConstKind> {
        let expression = &self.tree.node(id).exprs[expr];
        memory::ask(ty.bytes(precision)).map_err(|short| {
            short.diagnostic("this constant").label(expression.span, format!("this would be {ty}"))
        })?;
        let ExprKind::Builtin { which, args, .. } = &expression.kind else {
            return Ok(ConstKind::Value(to_value(&self.value(id, expr)?, ty, precision)));
        };
        let num = |i: usize| match args.get(i) {
            Some(&arg) => self.statics.num(&self.tree, &self.shapes, id, arg),
            None => Err(Failure::Unknown),
        };
        Ok(match which {
            Builtin::Zeros => ConstKind::Value(Value::filled(ty, 0.0, precision)),
            Builtin::ZerosLike => ConstKind::Value(Value::zeros(ty, precision)),
            Builtin::Ones => ConstKind::Value(Value::filled(ty, 1.0, precision)),
            Builtin::GlorotUniform => ConstKind::Random(Distribution::GlorotUniform),
            Builtin::Orthogonal => ConstKind::Random(Distribution::Orthogonal),
            Builtin::Uniform => ConstKind::Random(Distribution::Uniform { lo: num(1)?, hi: num(2)? }),
            Builtin::Normal => ConstKind::Random(Distribution::Normal { mean: num(1)?, std: num(2)? }),
            _ => ConstKind::Value(to_value(&self.value(id, expr)?, ty, precision)),
        })
    }
}

/// Whether a num of that precision can represent `i`: the digits from the first nonzero one to the last fit its
/// significand.
fn is_exact(i: i64, precision: Precision) -> bool {
    let i = i.unsigned_abs();
    let digits = if i == 0 { 0 } else { u64::BITS - i.leading_zeros() - i.trailing_zeros() };
    digits <= if precision == Precision::F32 { 24 } else { 53 }
}

fn is_initialiser(which: Builtin) -> bool {
    matches!(
        which,
        Builtin::Zeros
            | Builtin::ZerosLike
            | Builtin::Ones
            | Builtin::GlorotUniform
            | Builtin::Orthogonal
            | Builtin::Uniform
            | Builtin::Normal
    )
}

fn bounded(ty: Type, span: Span) -> Evaluated<Type> {
    match ty.shape.extent() {
        Some(n) if n <= MAX_ELEMENTS => Ok(ty),
        _ => Err(Diagnostic::error(codes::STATIC_VALUE, "this constant is too large")
            .label(span, format!("this would be {ty}"))
            .note(format!("expected at most {MAX_ELEMENTS} elements"))
            .into()),
    }
}

/// The type of a static value as a stream.
fn type_of(value: &StaticValue, span: Span) -> Evaluated<Type> {
    let shape = statics::shape_of_value(value, span)?;
    let mut dtypes = Vec::new();
    element_types(value, &mut dtypes);
    match dtypes[..] {
        [dtype] => bounded(Type { dtype, shape }, span),
        [] => Err(Diagnostic::error(codes::EMPTY_ARRAY, "an array without elements has no element type")
            .label(span, "used as a stream")
            .help("`zeros([0])` is a num vector without elements")
            .into()),
        _ => Err(Diagnostic::error(codes::TYPE_MISMATCH, "the elements of this array have different types")
            .label(span, "")
            .into()),
    }
}

fn element_types(value: &StaticValue, found: &mut Vec<DType>) {
    let dtype = match value {
        StaticValue::Array(items) => return items.iter().for_each(|i| element_types(i, found)),
        StaticValue::Bool(_) => DType::Bool,
        StaticValue::Int(_) => DType::Int,
        StaticValue::Num(_) => DType::Num,
    };
    if !found.contains(&dtype) {
        found.push(dtype);
    }
}

/// The value of a stream of type `ty` that has the given static value.
fn to_value(value: &StaticValue, ty: &Type, precision: Precision) -> Value {
    let mut leaves = Vec::with_capacity(ty.shape.len());
    collect(value, &mut leaves);
    let data = match ty.dtype {
        DType::Bool => Data::Bool(leaves.iter().map(|v| matches!(v, StaticValue::Bool(true))).collect()),
        DType::Int => {
            let int = |v: &&StaticValue| if let StaticValue::Int(i) = v { *i } else { 0 };
            Data::Int(leaves.iter().map(int).collect())
        }
        DType::Num => {
            let num = |v: &&StaticValue| if let StaticValue::Num(x) = v { *x } else { 0.0 };
            Data::F64(leaves.iter().map(num).collect())
        }
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}

fn collect<'a>(value: &'a StaticValue, leaves: &mut Vec<&'a StaticValue>) {
    match value {
        StaticValue::Array(items) => items.iter().for_each(|i| collect(i, leaves)),
        leaf => leaves.push(leaf),
    }
}

/// A constant repeated to a larger shape; `None` if it does not have the same number for all elements.
pub(crate) fn widened(constant: &Constant, shape: &Shape) -> Option<Constant> {
    let ConstKind::Value(value) = &constant.kind else { return None };
    let ty = Type { dtype: constant.ty.dtype, shape: shape.clone() };
    if shape.extent().is_none_or(|n| n > MAX_ELEMENTS) || memory::ask(ty.bytes(value.precision())).is_err() {
        return None;
    }
    let n = shape.len();
    let data = match value {
        Value::Bool(b) => Data::Bool(vec![*b; n]),
        Value::Int(i) => Data::Int(vec![*i; n]),
        Value::F32(x) => Data::F32(vec![*x; n]),
        Value::F64(x) => Data::F64(vec![*x; n]),
        Value::Tensor(_) => return None,
    };
    Some(Constant {
        kind: ConstKind::Value(Value::new(shape.clone(), data)),
        ty,
        text: constant.text.clone(),
    })
}
