//! Operators of the language applied to values: folded if all operands are known, else equations.

use rml_ir::op::{self, AxisIndex, Binary, Compare, Op, Reduction, Unary};
use rml_ir::{Shape, Type, Value};

use super::{Builder, Const, Held, Val, View, inverse, is_identity};
use crate::elem::Elem;
use crate::program::{Rhs, Var};
use crate::refuse::{Refusal, Res};

/// The most elements of a constant that is computed at import.
const LARGE: usize = 1 << 22;

impl Builder<'_> {
    /// An operator of values as they are; the result has elements of that type.
    ///
    /// # Errors
    /// The operands do not fit.
    pub(crate) fn apply(&mut self, op: Op, args: &[&Val], elem: Elem) -> Res<Val> {
        let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
        let ty = op::result_type(&op, &types).map_err(|e| {
            let of: Vec<String> = types.iter().map(ToString::to_string).collect();
            Refusal::malformed(format!("the operands do not fit: {e}"))
                .note(format!("they are {}", of.join(" and ")))
        })?;
        if let Some(value) = self.folded(&op, args, &ty)? {
            return Ok(Val::constant(elem, value));
        }
        let vars: Vec<Var> = args.iter().map(|v| self.var(v)).collect::<Res<_>>()?;
        self.defined(elem, ty, Rhs::Apply(op, vars))
    }

    /// The value of an operator whose operands are known. Weights stay parameters.
    fn folded(&mut self, op: &Op, args: &[&Val], ty: &Type) -> Res<Option<Value>> {
        let known: Option<Vec<&Value>> = args.iter().map(|v| v.known().filter(|_| !v.is_weight())).collect();
        let Some(known) = known else { return Ok(None) };
        let operands: usize = known.iter().map(|v| v.shape().len()).sum();
        let work = ty.shape.len() + operands;
        let costly = matches!(op, Op::MatMul | Op::Conv(_) | Op::Einsum(_) | Op::ConvTranspose { .. });
        if work > if costly { 1 << 14 } else { LARGE } || work > self.budget {
            return Ok(None);
        }
        self.budget -= work;
        let value = op::eval(op, &known, self.precision);
        value.map(Some).map_err(|e| Refusal::malformed(format!("a constant cannot be computed: {e}")))
    }

    /// An operator of one value, element by element.
    pub(crate) fn unary(&mut self, f: Unary, x: &Val) -> Res<Val> {
        self.pointwise(Op::Unary(f), &[x], x.elem)
    }

    /// An operator of two values, element by element.
    pub(crate) fn binary(&mut self, f: Binary, a: &Val, b: &Val) -> Res<Val> {
        self.pointwise(Op::Binary(f), &[a, b], a.elem)
    }

    pub(crate) fn add(&mut self, a: &Val, b: &Val) -> Res<Val> {
        self.binary(Binary::Add, a, b)
    }

    pub(crate) fn sub(&mut self, a: &Val, b: &Val) -> Res<Val> {
        self.binary(Binary::Sub, a, b)
    }

    pub(crate) fn mul(&mut self, a: &Val, b: &Val) -> Res<Val> {
        self.binary(Binary::Mul, a, b)
    }

    pub(crate) fn div(&mut self, a: &Val, b: &Val) -> Res<Val> {
        self.binary(Binary::Div, a, b)
    }

    /// A comparison of two values, element by element.
    pub(crate) fn compare(&mut self, by: Compare, a: &Val, b: &Val) -> Res<Val> {
        self.pointwise(Op::Compare(by), &[a, b], Elem::Bool)
    }

    /// `a` where `cond` is true, else `b`.
    pub(crate) fn choose(&mut self, cond: &Val, a: &Val, b: &Val) -> Res<Val> {
        self.pointwise(Op::Where, &[cond, a, b], a.elem)
    }

    /// A value with elements of another type, as a conversion of the language makes them.
    pub(crate) fn convert(&mut self, x: &Val, elem: Elem) -> Res<Val> {
        if x.dtype() == elem.dtype() {
            return Ok(x.clone().with_elem(elem));
        }
        self.pointwise(Op::Convert(elem.dtype()), &[x], elem)
    }

    /// An operator that treats all elements alike. Its operands are brought to the order of axes that one of them has,
    /// so that nothing is transposed between a convolution and the next one.
    pub(crate) fn pointwise(&mut self, op: Op, args: &[&Val], elem: Elem) -> Res<Val> {
        let rank = args.iter().map(|v| v.rank()).max().unwrap_or(0);
        let order = args.iter().find_map(|v| v.order().filter(|o| o.len() == rank));
        let plain: Vec<Val> = match order.map(inverse) {
            None => args.iter().map(|v| (*v).clone()).collect(),
            Some(to_base) => args.iter().map(|v| self.under_order(v, &to_base, rank)).collect::<Res<_>>()?,
        };
        let order = order.map(<[usize]>::to_vec);
        let scalars = self.without_repetition(&plain)?;
        let result = self.apply(op, &scalars.iter().collect::<Vec<_>>(), elem)?;
        match order {
            Some(order) if result.rank() == rank => self.transpose(&result, &order),
            _ => Ok(result),
        }
    }

    /// An operand as one of `rank` axes in another order.
    fn under_order(&mut self, val: &Val, to_base: &[usize], rank: usize) -> Res<Val> {
        if val.rank() == 0 {
            return Ok(val.clone());
        }
        let mut dims = vec![1; rank - val.rank()];
        dims.extend(val.dims());
        let wide = self.reshape(val, &dims)?;
        let turned = self.transpose(&wide, to_base)?;
        let dims = turned.dims();
        let ones = dims.iter().take_while(|d| **d == 1).count().min(rank - 1);
        if turned.known().is_some() && ones > 0 {
            return self.reshape(&turned, &dims[ones..]);
        }
        Ok(turned)
    }

    /// Constants whose elements are all the same as scalars, where the others have the shape of the result.
    fn without_repetition(&mut self, args: &[Val]) -> Res<Vec<Val>> {
        let shape = |keep: &dyn Fn(usize) -> bool| {
            let mut all = args.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, v)| v.shape());
            all.try_fold(Shape::scalar(), |a, b| a.broadcast(&b))
        };
        let whole = shape(&|_| true);
        let mut out = args.to_vec();
        for (i, val) in args.iter().enumerate() {
            if let Held::Const(Const { value, origin: None }) = &val.held
                && val.rank() > 0
                && shape(&|k| k != i) == whole
                && let Some(element) = crate::tensor::uniform(value)
            {
                out[i] = Val::constant(val.elem, element);
            }
        }
        // Of several constants one gives the shape.
        let now = out.iter().map(Val::shape).try_fold(Shape::scalar(), |a, b| a.broadcast(&b));
        Ok(if now == whole { out } else { args.to_vec() })
    }

    /// Axes in another order: axis `i` of the result is axis `perm[i]` of the value. Nothing is moved before it has to.
    pub(crate) fn transpose(&mut self, val: &Val, perm: &[usize]) -> Res<Val> {
        if is_identity(perm) {
            return Ok(val.clone());
        }
        match &val.held {
            Held::View(v) => {
                let perm = perm.iter().map(|&i| v.perm[i]).collect();
                let view = View { perm, ..v.clone() };
                Ok(Val { elem: val.elem, held: Held::View(view) })
            }
            Held::Const(k) => {
                let op = Op::Transpose { perm: perm.to_vec() };
                let value = op::eval(&op, &[&k.value], self.precision)
                    .map_err(|e| Refusal::malformed(format!("a constant cannot be computed: {e}")))?;
                let origin = k.origin.clone().map(|mut origin| {
                    origin.axes = perm.iter().map(|&i| origin.axes[i]).collect();
                    origin
                });
                Ok(Val { elem: val.elem, held: Held::Const(Const { value, origin }) })
            }
        }
    }

    /// The variable that has a value as it is.
    pub(crate) fn var(&mut self, val: &Val) -> Res<Var> {
        match &val.held {
            Held::Const(k) => self.constant(k, val.elem),
            Held::View(v) if is_identity(&v.perm) => Ok(v.var),
            Held::View(v) => {
                let key = (v.var, v.perm.clone());
                if let Some(found) = self.frame().transposed.get(&key) {
                    return Ok(*found);
                }
                let var =
                    self.define(val.ty(), Rhs::Apply(Op::Transpose { perm: v.perm.clone() }, vec![v.var]))?;
                self.frame().transposed.insert(key, var);
                Ok(var)
            }
        }
    }

    /// A value as its variable has it, and the order that makes the value of it.
    pub(crate) fn base(&self, val: &Val) -> (Val, Vec<usize>) {
        match &val.held {
            Held::Const(_) => (val.clone(), (0..val.rank()).collect()),
            Held::View(v) => (Val::variable(val.elem, v.var, v.ty.clone()), v.perm.clone()),
        }
    }

    /// A part of a value: one entry for each axis, none of which drops it.
    pub(crate) fn part(&mut self, val: &Val, items: &[AxisIndex]) -> Res<Val> {
        if items.iter().zip(val.dims()).all(|(item, d)| *item == AxisIndex::whole(d)) {
            return Ok(val.clone());
        }
        let (base, order) = self.base(val);
        let back = inverse(&order);
        let items = back.iter().map(|&i| items[i]).collect();
        let part = self.apply(Op::Index { items }, &[&base], val.elem)?;
        self.transpose(&part, &order)
    }

    /// A range of an axis.
    pub(crate) fn range(&mut self, val: &Val, axis: usize, start: usize, len: usize) -> Res<Val> {
        self.slice(val, axis, start, len, 1)
    }

    /// Every `step`th position of an axis, from `start`.
    pub(crate) fn slice(
        &mut self,
        val: &Val,
        axis: usize,
        start: usize,
        len: usize,
        step: isize,
    ) -> Res<Val> {
        let mut items: Vec<AxisIndex> = val.dims().into_iter().map(AxisIndex::whole).collect();
        // Of one position it does not matter which one would be next.
        items[axis] = AxisIndex::Slice { start, len, step: if len > 1 { step } else { 1 } };
        self.part(val, &items)
    }

    /// An axis the other way.
    pub(crate) fn backward(&mut self, val: &Val, axis: usize) -> Res<Val> {
        let len = val.dims()[axis];
        self.slice(val, axis, len.saturating_sub(1), len, -1)
    }

    /// One position of an axis, which is dropped.
    pub(crate) fn at(&mut self, val: &Val, axis: usize, position: usize) -> Res<Val> {
        let mut dims = val.dims();
        let length = dims.remove(axis);
        if length != 1
            && let Held::View(view) = &val.held
            && is_identity(&view.perm)
        {
            let mut items: Vec<AxisIndex> = val.dims().into_iter().map(AxisIndex::whole).collect();
            items[axis] = AxisIndex::At(position);
            return self.apply(Op::Index { items }, &[val], val.elem);
        }
        let one = self.range(val, axis, position, 1)?;
        self.reshape(&one, &dims)
    }

    /// Values joined along an axis, in the order of axes that the first one has.
    pub(crate) fn concat(&mut self, vals: &[Val], axis: usize) -> Res<Val> {
        let Some(first) = vals.first() else { return Err(Refusal::malformed("nothing is joined")) };
        let vals: Vec<&Val> = vals.iter().filter(|v| v.dims().get(axis) != Some(&0)).collect();
        let (Some(one), elem) = (vals.first(), first.elem) else { return Ok(first.clone()) };
        if vals.len() == 1 {
            return Ok((*one).clone());
        }
        let order = vals.iter().find_map(|v| v.order()).map(<[usize]>::to_vec);
        let Some(order) = order else { return self.apply(Op::Concat { axis }, &vals, elem) };
        let back = inverse(&order);
        let turned: Vec<Val> = vals.iter().map(|v| self.transpose(v, &back)).collect::<Res<_>>()?;
        let joined =
            self.apply(Op::Concat { axis: order[axis] }, &turned.iter().collect::<Vec<_>>(), elem)?;
        self.transpose(&joined, &order)
    }

    /// Folds axes (in order); they are dropped, or stay with length 1.
    pub(crate) fn fold(&mut self, by: Reduction, val: &Val, axes: &[usize], keep: bool) -> Res<Val> {
        let positions = matches!(by, Reduction::ArgMax | Reduction::ArgMin);
        let elem = if positions { Elem::I64 } else { val.elem };
        if axes.is_empty() {
            return Ok(val.clone());
        }
        let (base, order) = self.base(val);
        let mut base_axes: Vec<usize> = axes.iter().map(|&a| order[a]).collect();
        base_axes.sort_unstable();
        let folded = self.folded_axes(by, &base, &base_axes, keep, elem)?;
        if keep {
            return self.transpose(&folded, &order);
        }
        // What is left of the order, counted without the axes that are dropped.
        let left: Vec<usize> = order.iter().copied().filter(|a| !base_axes.contains(a)).collect();
        let rank = |a: &usize| a - base_axes.iter().filter(|b| *b < a).count();
        self.transpose(&folded, &left.iter().map(rank).collect::<Vec<_>>())
    }

    /// Folds axes of a variable.
    fn folded_axes(&mut self, by: Reduction, base: &Val, axes: &[usize], keep: bool, elem: Elem) -> Res<Val> {
        let left = |(i, d): (usize, usize)| match (axes.contains(&i), keep) {
            (true, true) => Some(1),
            (true, false) => None,
            (false, _) => Some(d),
        };
        let dims: Vec<usize> = base.dims().into_iter().enumerate().filter_map(left).collect();
        if base.known().is_some() && !base.is_weight() {
            let folded = self.fold_known(by, base, axes, elem)?;
            return self.reshape(&folded, &dims);
        }
        let ty = Type { dtype: elem.dtype(), shape: Shape::new(&dims) };
        let of = self.var(base)?;
        self.defined(elem, ty, Rhs::Fold { by, axes: axes.to_vec(), keep, of })
    }

    /// Folds axes of a constant, which stay. Several are folded as one, in row-major order.
    fn fold_known(&mut self, by: Reduction, base: &Val, axes: &[usize], elem: Elem) -> Res<Val> {
        let dims = base.dims();
        let rest: Vec<usize> = (0..dims.len()).filter(|i| !axes.contains(i)).collect();
        let perm: Vec<usize> = rest.iter().chain(axes).copied().collect();
        let mut shape: Vec<usize> = rest.iter().map(|&i| dims[i]).collect();
        shape.push(axes.iter().map(|&i| dims[i]).product());
        let moved = self.transpose(base, &perm)?;
        let flat = self.reshape(&moved, &shape)?;
        let folded = self.apply(Op::Reduce(by, Some(rest.len())), &[&flat], elem)?;
        let kept: Vec<usize> =
            dims.iter().enumerate().map(|(i, d)| if axes.contains(&i) { 1 } else { *d }).collect();
        self.reshape(&folded, &kept)
    }

    /// A constant of integers.
    pub(crate) fn int_array(&self, v: Vec<i64>) -> Val {
        Val::constant(Elem::I64, crate::tensor::of_ints(&[v.len()], v))
    }

    /// A constant of numbers under that shape.
    pub(crate) fn num_array(&self, dims: &[usize], v: Vec<f64>) -> Val {
        Val::constant(Elem::F32, crate::tensor::of_nums(dims, v, self.precision))
    }

    /// A value that is repeated to a larger shape.
    pub(crate) fn broadcast(&mut self, val: &Val, dims: &[usize]) -> Res<Val> {
        if val.dims() == dims {
            return Ok(val.clone());
        }
        self.apply(Op::Broadcast { shape: Shape::new(dims) }, &[val], val.elem)
    }
}
