//! What nests compute with: numbers here, terms in the [symbolic run](crate::check).

use rml_base::Span;
use rml_ir::op::{Binary, EvalError, Op, eval, product_onto};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use super::{Fault, elements, fold};
use crate::{Call, Fold};

/// What an element of a slot is, and how operators make new ones.
pub(crate) trait Domain {
    /// An element of a slot.
    type Element: Clone;

    /// Whether a condition holds.
    fn truth(&self, x: &Self::Element) -> bool;

    /// An operator of scalars; `fails` says whether it may fail.
    fn apply(
        &self,
        op: &rml_ir::op::Op,
        args: &[&Self::Element],
        fails: Fails,
    ) -> Result<Self::Element, Fault>;

    /// A fold of terms of that type.
    fn fold(
        &self,
        by: Fold,
        dtype: DType,
        terms: &[Self::Element],
        fails: Fails,
    ) -> Result<Self::Element, Fault>;

    /// The products of factors, added up first to last from a start.
    fn chain(&self, factors: &[[Self::Element; 2]], start: Option<&Self::Element>) -> Self::Element;

    /// The element at a position that comes with the data.
    fn take(
        &self,
        at: &Self::Element,
        size: usize,
        element: &mut dyn FnMut(usize) -> Result<Self::Element, Fault>,
        fails: Fails,
    ) -> Result<Self::Element, Fault>;

    /// That many elements of a call; the start of a product is the last operand.
    fn call(
        &self,
        call: &Call,
        operands: &[Tensor<Self::Element>],
        width: usize,
        fails: Fails,
    ) -> Result<Vec<Self::Element>, Fault>;
}

/// Whether an operator may fail, and the equation to report then.
#[derive(Clone, Copy)]
pub(crate) struct Fails {
    pub(crate) may: bool,
    pub(crate) span: Span,
}

/// A tensor, row-major.
pub(crate) struct Tensor<E> {
    pub(crate) ty: Type,
    pub(crate) elements: Vec<E>,
}

/// Numbers of a precision.
pub(super) struct Numbers(pub(super) Precision);

impl Domain for Numbers {
    type Element = Value;

    fn truth(&self, x: &Value) -> bool {
        x.as_bool().unwrap_or_default()
    }

    fn apply(&self, op: &rml_ir::op::Op, args: &[&Value], fails: Fails) -> Result<Value, Fault> {
        eval(op, args, self.0).map_err(|error| fails.fault(error))
    }

    fn fold(&self, by: Fold, dtype: DType, terms: &[Value], fails: Fails) -> Result<Value, Fault> {
        fold::fold(by, dtype, terms, self.0).map_err(|error| fails.fault(error))
    }

    fn chain(&self, factors: &[[Value; 2]], start: Option<&Value>) -> Value {
        let zero = Value::num(0.0, self.0);
        let row = Type::new(DType::Num, &[factors.len()]);
        let column = |i: usize| factors.iter().map(|pair| pair[i].clone()).collect::<Vec<_>>();
        let [a, b] = [0, 1].map(|i| self.value(&row, &column(i)));
        match elements(&product_onto(start.unwrap_or(&zero), &a, &b)).pop() {
            Some(sum) if !factors.is_empty() => sum,
            _ => start.unwrap_or(&zero).clone(),
        }
    }

    fn take(
        &self,
        at: &Value,
        size: usize,
        element: &mut dyn FnMut(usize) -> Result<Value, Fault>,
        fails: Fails,
    ) -> Result<Value, Fault> {
        let index = at.as_int().unwrap_or_default();
        let at = usize::try_from(index).ok().filter(|at| *at < size);
        element(at.ok_or_else(|| fails.fault(EvalError::PositionOutside { index, size }))?)
    }

    fn call(
        &self,
        call: &Call,
        operands: &[Tensor<Value>],
        _: usize,
        fails: Fails,
    ) -> Result<Vec<Value>, Fault> {
        let args: Vec<Value> = operands.iter().map(|x| self.value(&x.ty, &x.elements)).collect();
        let of = |op: &Op, args: &[&Value]| eval(op, args, self.0).map_err(|error| fails.fault(error));
        let value = match (&call.start, &args[..]) {
            (Some(_), [a, b, start]) if call.op == Op::MatMul => product_onto(start, a, b),
            (Some(_), [args @ .., start]) => {
                let added = of(&call.op, &args.iter().collect::<Vec<_>>())?;
                of(&Op::Binary(Binary::Add), &[&added, start])?
            }
            (None, args) => of(&call.op, &args.iter().collect::<Vec<_>>())?,
            (Some(_), []) => unreachable!("the start is an operand"),
        };
        Ok(elements(&value))
    }
}

impl Numbers {
    /// Elements as a value of that type.
    pub(super) fn value(&self, ty: &Type, elements: &[Value]) -> Value {
        let mut data = Value::zeros(ty, self.0).into_data();
        for (i, element) in elements.iter().enumerate() {
            match (&mut data, element) {
                (Data::Bool(to), Value::Bool(x)) => to[i] = *x,
                (Data::Int(to), Value::Int(x)) => to[i] = *x,
                (Data::F32(to), Value::F32(x)) => to[i] = *x,
                (Data::F64(to), Value::F64(x)) => to[i] = *x,
                _ => unreachable!("N5: elements have the type of what reads them"),
            }
        }
        Value::new(ty.shape.clone(), data)
    }
}

impl Fails {
    fn fault(self, error: EvalError) -> Fault {
        Fault::Operator { span: self.span, error }
    }
}

impl<E> Tensor<E> {
    pub(crate) fn new(dtype: DType, dims: &[usize], elements: Vec<E>) -> Self {
        Tensor { ty: Type { dtype, shape: Shape::new(dims) }, elements }
    }
}
