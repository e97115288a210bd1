//! Evaluation of static expressions in an instance, and of the static names of instances (STATIC-2, STATIC-3).
//!
//! Statics may depend on shapes (`shape(x)`, named dimensions), which are found step by step: what is not known yet is
//! [`Failure::Unknown`], and all names are evaluated anew after a shape that matters has changed.

use indexmap::IndexSet;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::typed::StaticValue;
use rml_ir::{DType, Shape};
use rml_syntax::ast::Literal;

use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Index, Item, Local, LocalKind, Node, Role, TypeDecl};
use crate::instance::{Given, InstanceId, RootGiven, Tree};

mod arith;

/// Why an expression has no value.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// It depends on something that is not known (yet), or that is in error and reported elsewhere.
    Unknown,
    /// It is in error.
    Bad(Box<Diagnostic>),
}

impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Self {
        Failure::Bad(Box::new(d))
    }
}

pub(crate) type Evaluated<T> = Result<T, Failure>;

pub(crate) use arith::shape_of as shape_of_value;

/// The values of the static names of all instances.
#[derive(Debug)]
pub(crate) struct Statics {
    /// By number of variable.
    values: Vec<Evaluated<StaticValue>>,
    /// Whether the values of an instance are up to date. If they are not, those of the instances inside are not either.
    fresh: IndexVec<InstanceId, bool>,
    /// Literals without a point that are nums.
    nums: IndexSet<(InstanceId, ExprId)>,
    /// By position, the formals of the root whose ints from outside are nums.
    root_nums: Vec<bool>,
}

/// The most elements that a static array may have, those of nested arrays included.
const MAX_ARRAY: usize = 1 << 20;
/// The deepest nesting of static arrays.
const MAX_DEPTH: usize = 64;

/// How many values an array holds in all, and how deeply they are nested.
fn extent(value: &StaticValue) -> (usize, usize) {
    match value {
        StaticValue::Array(items) => {
            let inner = items.iter().map(extent);
            inner.fold((1, 1), |(n, d), (m, e)| (n + m, d.max(e + 1)))
        }
        _ => (1, 0),
    }
}

fn too_large(span: Span) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, "this static array is too large")
        .label(span, "")
        .note(format!("expected at most {MAX_ARRAY} elements, nested at most {MAX_DEPTH} deep"))
}

impl Statics {
    pub(crate) fn new(tree: &Tree<'_>, nums: IndexSet<(InstanceId, ExprId)>, dtypes: &[DType]) -> Self {
        let root = InstanceId(0);
        let is_num = |formal: &Local| dtypes[tree.slot(root, *formal)] == DType::Num;
        Self {
            values: vec![Err(Failure::Unknown); tree.slots],
            fresh: IndexVec::filled(false, tree.instances.len()),
            nums,
            root_nums: tree.node(root).formals.iter().map(is_num).collect(),
        }
    }

    /// Whether a literal without a point is a num.
    pub(crate) fn is_num(&self, id: InstanceId, literal: ExprId) -> bool {
        self.nums.contains(&(id, literal))
    }

    /// The literals without a point that are nums.
    pub(crate) fn nums(&self) -> impl Iterator<Item = (InstanceId, ExprId)> {
        self.nums.iter().copied()
    }

    /// A shape has changed that the static names of an instance, and of those inside, may depend on. To be called for all of them.
    pub(crate) fn invalidate(&mut self, id: InstanceId) {
        self.fresh[id] = false;
    }

    /// Computes the static names of an instance, and of those around it, if they are not up to date.
    pub(crate) fn refresh(&mut self, tree: &Tree<'_>, shapes: &[Option<Shape>], id: InstanceId) {
        let mut stale = Vec::new();
        let mut at = Some(id);
        while let Some(i) = at.filter(|i| !self.fresh[*i]) {
            stale.push(i);
            at = tree.instances[i].parent.map(|(parent, ..)| parent);
        }
        while let Some(i) = stale.pop() {
            self.compute(tree, shapes, i);
            self.fresh[i] = true;
        }
    }

    fn compute(&mut self, tree: &Tree<'_>, shapes: &[Option<Shape>], id: InstanceId) {
        let node = tree.node(id);
        for local in node.locals.ids() {
            self.values[tree.slot(id, local)] = Err(Failure::Unknown);
        }
        for (i, &formal) in node.formals.iter().enumerate() {
            if matches!(tree.role(id, formal), Role::Static | Role::Both) {
                self.values[tree.slot(id, formal)] = self.actual(tree, shapes, id, i);
            }
        }
        for (local, data) in node.locals.iter_enumerated() {
            if data.kind == LocalKind::Dim
                && tree.instances[id].parent.is_none()
                && let Some(value) = tree.dims.get(data.name.as_ref())
            {
                self.values[tree.slot(id, local)] = Ok(value.clone());
            }
        }
        for &formal in &node.formals {
            if let (Some(ty), Some(shape)) =
                (node.locals[formal].types.first(), &shapes[tree.slot(id, formal)])
            {
                self.bind(tree, id, ty, shape);
            }
        }
        for &local in &node.static_order {
            if let LocalKind::Defined { equation } = node.locals[local].kind {
                let value = self.eval(tree, shapes, id, node.equations[equation].rhs);
                self.values[tree.slot(id, local)] = value;
            }
        }
    }

    /// The value of a static formal.
    fn actual(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        position: usize,
    ) -> Evaluated<StaticValue> {
        let instance = &tree.instances[id];
        match (instance.givens.get(position), instance.parent) {
            (Some(Given::Root(RootGiven::Static(value))), _) => Ok(match self.root_nums[position] {
                true => as_num(value),
                false => value.clone(),
            }),
            (Some(Given::Static(expr)), Some((parent, ..))) => {
                let value = self.eval(tree, shapes, parent, *expr);
                value.map_err(|failure| match failure {
                    Failure::Bad(d) if d.code == codes::NOT_STATIC => {
                        let node = tree.node(id);
                        let formal = &node.locals[node.formals[position]];
                        let what = format!("`{}` is a static parameter of `{}`", formal.name, node.name);
                        d.label(formal.span, what).into()
                    }
                    other => other,
                })
            }
            _ => Err(Failure::Unknown),
        }
    }

    /// Binds the named dimensions of a formal to its shape, as far as they are still free and the shape fits.
    fn bind(&mut self, tree: &Tree<'_>, id: InstanceId, ty: &TypeDecl, shape: &Shape) {
        let node = tree.node(id);
        let mut fixed = 0;
        let mut open = 0;
        for item in &ty.dims {
            match *item {
                Item::Expr(_) => fixed += 1,
                Item::Splice(local, _) => match &self.values[tree.slot(id, local)] {
                    Ok(StaticValue::Array(items)) => fixed += items.len(),
                    _ => open += 1,
                },
            }
        }
        let Some(rest) = shape.rank().checked_sub(fixed).filter(|r| open == 1 || (open == 0 && *r == 0))
        else {
            return;
        };
        let mut dims = shape.dims().iter().map(|&d| StaticValue::Int(i64::try_from(d).unwrap_or(i64::MAX)));
        for item in &ty.dims {
            match *item {
                Item::Expr(expr) => {
                    let size = dims.next();
                    if let (ExprKind::Local(local), Some(size)) = (&node.exprs[expr].kind, size) {
                        self.bind_one(tree, id, *local, size);
                    }
                }
                Item::Splice(local, _) => {
                    let known = match &self.values[tree.slot(id, local)] {
                        Ok(StaticValue::Array(items)) => items.len(),
                        _ => rest,
                    };
                    let sizes: Vec<StaticValue> = dims.by_ref().take(known).collect();
                    self.bind_one(tree, id, local, StaticValue::Array(sizes));
                }
            }
        }
    }

    fn bind_one(&mut self, tree: &Tree<'_>, id: InstanceId, local: Local, value: StaticValue) {
        let slot = tree.slot(id, local);
        if tree.node(id).locals[local].kind == LocalKind::Dim && self.values[slot].is_err() {
            self.values[slot] = Ok(value);
        }
    }

    /// The value of a static name.
    pub(crate) fn name(
        &self,
        tree: &Tree<'_>,
        id: InstanceId,
        local: Local,
        span: Span,
    ) -> Evaluated<StaticValue> {
        match tree.role(id, local) {
            Role::Static | Role::Both => self.values[tree.slot(id, local)].clone(),
            Role::Stream | Role::Unused if tree.node(id).locals[local].kind == LocalKind::Undefined => {
                Err(Failure::Unknown)
            }
            Role::Stream | Role::Unused => Err(not_static_name(tree.node(id), local, span).into()),
        }
    }

    /// The value of a static name where it is used. An error in its definition or actual is reported there.
    fn read(&self, tree: &Tree<'_>, id: InstanceId, local: Local, span: Span) -> Evaluated<StaticValue> {
        let value = self.name(tree, id, local, span);
        let elsewhere = match tree.role(id, local) {
            Role::Static => true,
            Role::Both => !tree.is_stream(id, local),
            Role::Stream | Role::Unused => false,
        };
        if elsewhere { value.map_err(|_| Failure::Unknown) } else { value }
    }

    /// The value of a static expression. The statics of the instance must be fresh.
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
                let (a, b) = both(eval(*a), eval(*b))?;
                arith::binary(*op, &a, &b, span)
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
                    // What comes behind it may be in error.
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
            rml_ir::op::AxisIndex::At(i) => items.into_iter().nth(i).unwrap_or(StaticValue::Int(0)),
            slice @ rml_ir::op::AxisIndex::Slice { .. } => {
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
        let shape = if tree.is_stream(id, *local) {
            shapes[tree.slot(id, *local)].clone().ok_or(Failure::Unknown)?
        } else {
            arith::shape_of(&self.name(tree, id, *local, span)?, span)?
        };
        let dims = shape.dims().iter().map(|&d| StaticValue::Int(i64::try_from(d).unwrap_or(i64::MAX)));
        Ok(StaticValue::Array(dims.collect()))
    }

    /// A static expression that must be an int.
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

    /// A static expression that must be a num (an int is not).
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

    /// A static expression that must be a shape: an array of ints that are not negative.
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

    /// An entry of an index list for an axis of that size.
    pub(crate) fn axis_index(
        &self,
        tree: &Tree<'_>,
        shapes: &[Option<Shape>],
        id: InstanceId,
        index: &Index,
        size: usize,
    ) -> Evaluated<rml_ir::op::AxisIndex> {
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

/// A value with nums in place of ints.
#[allow(clippy::cast_precision_loss, reason = "what is rounded is reported where it is written")]
fn as_num(value: &StaticValue) -> StaticValue {
    match value {
        StaticValue::Int(i) => StaticValue::Num(*i as f64),
        StaticValue::Array(items) => StaticValue::Array(items.iter().map(as_num).collect()),
        other => other.clone(),
    }
}

/// Two values; what is in error counts for more than what is not known.
fn both(a: Evaluated<StaticValue>, b: Evaluated<StaticValue>) -> Evaluated<(StaticValue, StaticValue)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(bad @ Failure::Bad(_)), _) | (_, Err(bad)) => Err(bad),
        (Err(unknown), Ok(_)) => Err(unknown),
    }
}

/// A static value of the wrong kind.
pub(crate) fn expected(what: &str, found: &StaticValue, span: Span) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, format!("expected {what}"))
        .label(span, format!("this is {}", arith::describe(found)))
        .note(format!("expected {what}, found {}", arith::describe(found)))
}

fn not_static(span: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_STATIC, "this must be known when the program is compiled")
        .label(span, "this is computed while the program runs")
        .help("use literals, static parameters, named dimensions, `shape(x)` and arithmetic on them")
}

fn not_static_name(node: &Node, local: Local, span: Span) -> Diagnostic {
    let data = &node.locals[local];
    let message = format!("`{}` must be known when the program is compiled, but is a stream", data.name);
    let d = Diagnostic::error(codes::NOT_STATIC, message).label(span, "needed at compile time");
    let d = if data.span == span { d } else { d.label(data.span, "this is a stream") };
    match data.kind {
        LocalKind::Formal if node.is_typed(local) => d.help(format!(
            "an input with a type is a stream; write `{}` without one to make it static",
            data.name
        )),
        _ => d.help(format!("the shape of a stream is known at compile time: `shape({})`", data.name)),
    }
}
