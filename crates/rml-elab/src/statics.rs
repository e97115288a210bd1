//! Evaluation of static expressions in an instance, and of the static names of instances (STATIC-2, STATIC-3).
//!
//! Statics may depend on shapes (`shape(x)`, named dimensions), which are found step by step. A value that is not known
//! yet is [`Failure::Unknown`]; all names are evaluated again after a relevant shape has changed.

use indexmap::IndexSet;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::typed::StaticValue;
use rml_ir::{DType, Shape};

use crate::hir::{ExprId, Local, LocalKind, Role};
use crate::instance::{Given, InstanceId, RootGiven, Tree};

pub(crate) mod arith;
mod bind;
mod eval;
mod report;

/// The reason why an expression has no value.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The expression depends on a value that is not known yet, or on an error that is reported elsewhere.
    Unknown,
    /// The expression is in error.
    Bad(Box<Diagnostic>),
}

impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Self {
        Failure::Bad(Box::new(d))
    }
}

pub(crate) type Evaluated<T> = Result<T, Failure>;

pub(crate) use arith::{limited, shape_of as shape_of_value};
pub(crate) use report::expected;
use report::not_static_name;

/// The values of the static names of all instances.
#[derive(Debug)]
pub(crate) struct Statics {
    /// The values, by the numbers of variables.
    values: Vec<Evaluated<StaticValue>>,
    /// Whether the values of an instance are up to date. If they are not, the values of instances inside it are not
    /// either.
    fresh: IndexVec<InstanceId, bool>,
    /// Literals without a point that are nums.
    nums: IndexSet<(InstanceId, ExprId)>,
    /// For each formal of the root: whether ints given from outside become nums.
    root_nums: Vec<bool>,
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

    /// Notes a change of a shape on which the static names of an instance, and of instances inside it, may depend. Must
    /// be called for all these instances.
    pub(crate) fn invalidate(&mut self, id: InstanceId) {
        self.fresh[id] = false;
    }

    /// Computes the static names of an instance, and of the instances around it, if they are not up to date.
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

    /// The value of a static name where it is used. An error in its definition or actual is reported there instead.
    fn read(&self, tree: &Tree<'_>, id: InstanceId, local: Local, span: Span) -> Evaluated<StaticValue> {
        let value = self.name(tree, id, local, span);
        let elsewhere = match tree.role(id, local) {
            Role::Static => true,
            Role::Both => !tree.is_stream(id, local),
            Role::Stream | Role::Unused => false,
        };
        if elsewhere { value.map_err(|_| Failure::Unknown) } else { value }
    }
}

/// A value with its ints converted to nums.
#[allow(clippy::cast_precision_loss, reason = "what is rounded is reported where it is written")]
fn as_num(value: &StaticValue) -> StaticValue {
    match value {
        StaticValue::Int(i) => StaticValue::Num(*i as f64),
        StaticValue::Array(items) => StaticValue::Array(items.iter().map(as_num).collect()),
        other => other.clone(),
    }
}
