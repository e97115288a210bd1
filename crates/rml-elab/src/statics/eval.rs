//! Evaluation of static expressions, with the required kind: an int, a num, a shape, an index.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Shape;
use rml_ir::op::AxisIndex;
use rml_ir::typed::StaticValue;
use rml_syntax::ast::Literal;

use super::report::{MAX_ARRAY, MAX_DEPTH, expected, not_static, too_large};
use super::{Evaluated, Failure, Statics, arith, as_num};
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Index, Item, Local, Node, TypeDecl};
use crate::instance::{InstanceId, Tree};

impl Statics {
    /// The value of a static expression. The statics of the instance must be up to date.
    pub(crate) fn eval(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        expr: ExprId,
    ) -> Evaluated<StaticValue> {
        let node = tree.node(id);
        let span = node.exprs[expr].span;
        let eval = |e: ExprId| self.eval(tree, shapes, id, e);
        match &node.exprs[expr].kind {
            ExprKind::Literal(Literal::Bool(b)) => Ok(StaticValue::Bool(*b)),
            ExprKind::Literal(Literal::Int(i)) => {
                let int = StaticValue::Int(*i);
                Ok(if self.is_num(id, expr) { as_num(&int) } else { int })
            }
            ExprKind::Literal(Literal::Num(x)) => Ok(StaticValue::Num(*x)),
            ExprKind::Local(local) => self.read(tree, id, *local, span),
            ExprKind::Array(items) => self.array(tree, shapes, id, items, span).map(StaticValue::Array),
            ExprKind::Index { base, indices } => {
                let mut value = eval(*base)?;
                for (axis, index) in indices.iter().enumerate() {
                    value = self.index(tree, shapes, id, value, index, axis, span)?;
                }
                Ok(value)
            }
            ExprKind::Unary(op, a) => arith::unary(*op, &eval(*a)?, span),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = both(eval(*a), eval(*b))?;
                arith::binary(*op, &x, &y, span)
                    .map_err(|failure| of_list(node, [(*a, &x), (*b, &y)], failure))
            }
            ExprKind::If { cond, then, other } => match eval(*cond)? {
                StaticValue::Bool(c) => eval(if c { *then } else { *other }),
                found => Err(expected("a bool", &found, node.exprs[*cond].span).into()),
            },
            ExprKind::Builtin { which: Builtin::Shape, args, .. } => {
                self.shape_of(tree, shapes, id, args, span)
            }
            ExprKind::Builtin { which: Builtin::Range, args, .. } => {
                let n = self.int(tree, shapes, id, args[0])?;
                match usize::try_from(n) {
                    Ok(size) if size <= MAX_ARRAY => {
                        Ok(StaticValue::Array((0..n).map(StaticValue::Int).collect()))
                    }
                    Ok(_) => Err(too_large(span).into()),
                    Err(_) => Err(expected("an int that is not negative", &StaticValue::Int(n), span).into()),
                }
            }
            ExprKind::Builtin { which, args, .. } if which.computes_ints() => {
                let values = args.iter().map(|arg| eval(*arg)).collect::<Evaluated<Vec<_>>>()?;
                arith::function(*which, &values, span).unwrap_or_else(|| Err(not_static(span).into()))
            }
            ExprKind::Error(_) => Err(Failure::Unknown),
            _ => Err(not_static(span).into()),
        }
    }

    fn array(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        items: &[Item],
        span: Span,
    ) -> Evaluated<Vec<StaticValue>> {
        let mut values = Vec::with_capacity(items.len());
        let mut unknown = false;
        for item in items {
            match *item {
                Item::Expr(e) => match self.eval(tree, shapes, id, e) {
                    Ok(value) => values.push(value),
                    // Errors may follow after it.
                    Err(Failure::Unknown) => unknown = true,
                    Err(bad) => return Err(bad),
                },
                Item::Splice(local, at) => match self.read(tree, id, local, at)? {
                    StaticValue::Array(items) => values.extend(items),
                    found => return Err(expected("an array to splice", &found, at).into()),
                },
            }
            if values.len() > MAX_ARRAY {
                return Err(too_large(span).into());
            }
        }
        if unknown {
            return Err(Failure::Unknown);
        }
        let (size, depth) = values.iter().map(extent).fold((0, 0), |(n, d), (m, e)| (n + m, d.max(e)));
        if size > MAX_ARRAY || depth > MAX_DEPTH {
            return Err(too_large(span).into());
        }
        Ok(values)
    }

    #[allow(clippy::too_many_arguments, reason = "the context of an evaluation")]
    fn index(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        value: StaticValue,
        index: &Index,
        axis: usize,
        span: Span,
    ) -> Evaluated<StaticValue> {
        let StaticValue::Array(items) = value else {
            return Err(expected("an array to index", &value, span).into());
        };
        let resolved = match (axis, index) {
            (0, _) => self.axis_index(tree, shapes, id, index, items.len())?,
            _ => {
                let d =
                    Diagnostic::error(codes::STATIC_VALUE, "a static array is indexed by one axis at a time")
                        .label(span, "")
                        .help("write `a[i][j]` instead of `a[i, j]`");
                return Err(d.into());
            }
        };
        Ok(match resolved {
            AxisIndex::At(i) => items.into_iter().nth(i).unwrap_or(StaticValue::Int(0)),
            slice @ AxisIndex::Slice { .. } => {
                StaticValue::Array(slice.positions().filter_map(|i| items.get(i).cloned()).collect())
            }
        })
    }

    fn shape_of(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        args: &[ExprId],
        span: Span,
    ) -> Evaluated<StaticValue> {
        let node = tree.node(id);
        let Some(ExprKind::Local(local)) = args.first().map(|a| &node.exprs[*a].kind) else {
            return Err(not_static(span).into());
        };
        let shape = self.shape_of_name(tree, shapes, id, *local, span)?;
        let dims = shape.dims().iter().map(|&d| StaticValue::Int(i64::try_from(d).unwrap_or(i64::MAX)));
        Ok(StaticValue::Array(dims.collect()))
    }

    /// The shape of a variable, or of a static name.
    pub(crate) fn shape_of_name(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        local: Local,
        span: Span,
    ) -> Evaluated<Shape> {
        if tree.is_stream(id, local) {
            return shapes[tree.slot(id, local)].clone().ok_or(Failure::Unknown);
        }
        arith::shape_of(&self.name(tree, id, local, span)?, span)
    }

    /// The value of a static expression that must be an int.
    pub(crate) fn int(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        expr: ExprId,
    ) -> Evaluated<i64> {
        match self.eval(tree, shapes, id, expr)? {
            StaticValue::Int(i) => Ok(i),
            found => Err(expected("an int", &found, tree.node(id).exprs[expr].span).into()),
        }
    }

    /// The value of a static expression that must be a num; an int is not accepted.
    pub(crate) fn num(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        expr: ExprId,
    ) -> Evaluated<f64> {
        match self.eval(tree, shapes, id, expr)? {
            StaticValue::Num(x) => Ok(x),
            found => Err(expected("a num", &found, tree.node(id).exprs[expr].span).into()),
        }
    }

    /// The value of a static expression that must be a shape: an array of non-negative ints.
    pub(crate) fn shape(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        expr: ExprId,
    ) -> Evaluated<Shape> {
        let span = tree.node(id).exprs[expr].span;
        match self.eval(tree, shapes, id, expr)? {
            StaticValue::Array(items) => arith::shape(&items, span),
            found => {
                let mut d = expected("a shape, which is an array of ints", &found, span);
                if matches!(found, StaticValue::Int(_)) {
                    d = d.help(format!("a vector of that length has shape `[{found}]`"));
                }
                Err(d.into())
            }
        }
    }

    /// The shape written in a type.
    pub(crate) fn declared(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        ty: &TypeDecl,
    ) -> Evaluated<Shape> {
        let items = self.array(tree, shapes, id, &ty.dims, ty.span)?;
        arith::shape(&items, ty.span)
    }

    /// An entry of an index list, for an axis of that size.
    pub(crate) fn axis_index(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        index: &Index,
        size: usize,
    ) -> Evaluated<AxisIndex> {
        let int = |e: ExprId| self.int(tree, shapes, id, e);
        match *index {
            Index::At(e) => arith::position(int(e)?, size, tree.node(id).exprs[e].span),
            Index::Slice { lo, hi, step, span } => {
                let part = |e: Option<ExprId>| e.map(int).transpose();
                arith::slice(part(lo)?, part(hi)?, part(step)?, size, span)
            }
            Index::Ellipsis(span) => arith::slice(None, None, None, size, span),
        }
    }
}

/// The number of values in an array, including nested ones, and the depth of nesting.
fn extent(value: &StaticValue) -> (usize, usize) {
    match value {
        StaticValue::Array(items) => {
            let inner = items.iter().map(extent);
            inner.fold((1, 1), |(n, d), (m, e)| (n + m, d.max(e + 1)))
        }
        _ => (1, 0),
    }
}

/// The pair of two values; an error has priority over an unknown value.
fn both(a: Evaluated<StaticValue>, b: Evaluated<StaticValue>) -> Evaluated<(StaticValue, StaticValue)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(bad @ Failure::Bad(_)), _) | (_, Err(bad)) => Err(bad),
        (Err(unknown), Ok(_)) => Err(unknown),
    }
}

/// The error of arithmetic on a list that the caller of the node passes where a number is needed.
fn of_list(node: &Node, operands: [(ExprId, &StaticValue); 2], failure: Failure) -> Failure {
    let Failure::Bad(mut d) = failure else { return failure };
    let input = operands.iter().find_map(|(e, value)| match (&node.exprs[*e].kind, value) {
        (ExprKind::Local(local), StaticValue::Array(items)) if node.formals.contains(local) => {
            Some((node.name_of(*local), items))
        }
        _ => None,
    });
    if let Some((name, items)) = input {
        let one = items.first().map_or_else(String::new, |first| format!(", such as `{first}`"));
        d.help = vec![format!("`{name}` of `{}` is one number{one}, and no list", node.name)];
    }
    Failure::Bad(d)
}
