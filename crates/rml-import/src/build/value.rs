//! Values of a graph while it is imported: constants that are known, and views of variables of the program.

use rml_ir::{DType, Shape, Type, Value};

use crate::elem::Elem;
use crate::program::Var;

/// A value of the graph.
#[derive(Clone, Debug)]
pub(crate) struct Val {
    /// The type of its elements in the model.
    pub(crate) elem: Elem,
    pub(crate) held: Held,
}

/// What is known about a value.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    /// All of it.
    Const(Const),
    /// That it is a variable, perhaps with its axes in another order.
    View(View),
}

/// A constant.
#[derive(Clone, Debug)]
pub(crate) struct Const {
    pub(crate) value: Value,
    /// The weight that it is; `None` for what was computed, or is too small for one.
    pub(crate) origin: Option<Origin>,
}

/// A weight of the model, seen with its axes in another order, or with more or fewer axes of length 1.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// Its number among the weights.
    pub(crate) weight: usize,
    /// For each axis the one of the weight, or `None` for one of length 1 that the weight does not have.
    pub(crate) axes: Vec<Option<usize>>,
}

/// A variable: axis `i` of the value is axis `perm[i]` of the variable.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) var: Var,
    pub(crate) ty: Type,
    pub(crate) perm: Vec<usize>,
}

impl Val {
    /// A constant that was computed.
    pub(crate) fn constant(elem: Elem, value: Value) -> Val {
        Val { elem, held: Held::Const(Const { value, origin: None }) }
    }

    /// A variable as it is.
    pub(crate) fn variable(elem: Elem, var: Var, ty: Type) -> Val {
        let perm = (0..ty.shape.rank()).collect();
        Val { elem, held: Held::View(View { var, ty, perm }) }
    }

    /// Its dimensions.
    pub(crate) fn dims(&self) -> Vec<usize> {
        match &self.held {
            Held::Const(k) => k.value.shape().dims().to_vec(),
            Held::View(v) => v.perm.iter().map(|&axis| v.ty.shape.dims()[axis]).collect(),
        }
    }

    pub(crate) fn rank(&self) -> usize {
        match &self.held {
            Held::Const(k) => k.value.shape().rank(),
            Held::View(v) => v.perm.len(),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::new(&self.dims())
    }

    /// How many elements.
    pub(crate) fn len(&self) -> usize {
        self.shape().len()
    }

    pub(crate) fn dtype(&self) -> DType {
        match &self.held {
            Held::Const(k) => k.value.dtype(),
            Held::View(v) => v.ty.dtype,
        }
    }

    pub(crate) fn ty(&self) -> Type {
        Type { dtype: self.dtype(), shape: self.shape() }
    }

    /// Its value if it is a constant.
    pub(crate) fn known(&self) -> Option<&Value> {
        match &self.held {
            Held::Const(k) => Some(&k.value),
            Held::View(_) => None,
        }
    }

    /// Whether it is a weight, which stays a parameter.
    pub(crate) fn is_weight(&self) -> bool {
        matches!(&self.held, Held::Const(Const { origin: Some(_), .. }))
    }

    /// The order of axes that its variable has; `None` if that is the value's own.
    pub(crate) fn order(&self) -> Option<&[usize]> {
        match &self.held {
            Held::View(v) if !is_identity(&v.perm) => Some(&v.perm),
            Held::View(_) | Held::Const(_) => None,
        }
    }

    /// The same with elements of another type of the same kind.
    pub(crate) fn with_elem(mut self, elem: Elem) -> Val {
        self.elem = elem;
        self
    }
}

/// Whether a permutation leaves all axes in their places.
pub(crate) fn is_identity(perm: &[usize]) -> bool {
    perm.iter().enumerate().all(|(i, &axis)| i == axis)
}

/// The permutation that undoes another one.
pub(crate) fn inverse(perm: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
    inverse
}
