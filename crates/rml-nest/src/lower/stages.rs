//! The stages that fill a slot.

use rml_ir::op::{AxisIndex, Class, Compare, Op, Reduction};
use rml_ir::{DType, Data, Shape, Type, Value};
use rml_plan::{Case, Rule, TapeData};

use super::view::{View, joined, moved};
use super::{Lowering, whole};
use crate::{
    Access, Call, Def, Dim, Fold, Guard, Nest, NestStage, Positions, Slot, Tick, Val, Work, dense, verify,
};

/// The slot to fill, and where.
#[derive(Clone)]
pub(super) struct Target<'a> {
    pub(super) slot: Slot,
    pub(super) at: Positions,
    pub(super) when: Vec<Guard>,
    /// The tape that the slot belongs to.
    pub(super) of: &'a TapeData,
}

/// A nest under construction. Axes of length one have no loop, unless they are folded.
pub(super) struct Maker {
    pub(super) nest: Nest,
    /// The axes that have loops.
    axes: Vec<usize>,
}

impl Maker {
    pub(super) fn new(dims: &[usize], folded: &[usize]) -> Maker {
        let axes: Vec<usize> = (0..dims.len()).filter(|i| dims[*i] != 1 || folded.contains(i)).collect();
        let nest = Nest { dims: axes.iter().map(|i| dims[*i]).collect(), ..Nest::default() };
        Maker { nest, axes }
    }

    pub(super) fn dim(&self, axis: usize) -> Dim {
        Dim(self.axes.iter().position(|a| *a == axis).expect("an axis with a loop") as u32)
    }

    pub(super) fn load(&mut self, view: &View) -> Val {
        let load = Def::Load(view.permuted(&self.axes).source);
        let known = self.nest.body.iter_enumerated().find(|(_, def)| **def == load).map(|(val, _)| val);
        known.unwrap_or_else(|| self.nest.body.push(load))
    }

    pub(super) fn store(&mut self, slot: Slot, offset: usize, strides: &[isize], val: Val) {
        let strides = self.axes.iter().map(|axis| strides[*axis]).collect();
        self.nest.stores.push((Access { slot, tick: Tick::Now, offset, strides }, val));
    }
}

impl Lowering<'_> {
    /// Adds the stages of cases that differ only in where they read.
    pub(super) fn compute(&mut self, cases: &[&Case], target: &Target<'_>) {
        let rules = || cases.iter().map(|case| (case.at, case.rule.operands()));
        let mut operands: Vec<View> = Vec::new();
        for (at, atoms) in rules() {
            for (i, atom) in atoms.into_iter().enumerate() {
                let view = self.view(atom, at);
                match operands.get_mut(i) {
                    Some(known) => known.source.extend(view.source),
                    None => operands.push(view),
                }
            }
        }
        for operand in &mut operands {
            operand.source = joined(std::mem::take(&mut operand.source));
        }
        match &cases[0].rule {
            Rule::Apply { op, .. } => self.apply(op, operands, target),
            Rule::Product { .. } => {
                let start = operands.remove(0);
                self.product(&Op::MatMul, Some(start), operands, target);
            }
            Rule::Copy(_) | Rule::Select { .. } | Rule::Restart { .. } | Rule::Sum { .. } => {
                unreachable!("these are seen")
            }
            Rule::Input(_) | Rule::Read { .. } => unreachable!("these are seen"),
        }
    }

    /// Adds the stages of an operator.
    pub(super) fn apply(&mut self, op: &Op, operands: Vec<View>, target: &Target<'_>) {
        match (op.class(), op, &operands[..]) {
            (Class::Pointwise, ..) => self.pointwise(op, &operands, target),
            (Class::Identity, _, [x]) => self.copy(x, target),
            (Class::Layout, Op::Reshape { .. }, [x]) => {
                // The elements in the order of the operand.
                let strides = dense(&x.dims);
                self.put(x, (0, &strides), target);
            }
            (Class::Layout, Op::Concat { axis }, _) => self.join(*axis, &operands, target),
            (Class::Layout, Op::Stack { axis }, _) => {
                let rows: Vec<View> = operands.iter().map(|x| x.with_unit(*axis)).collect();
                self.join(*axis, &rows, target);
            }
            (Class::Layout, Op::Unindex { shape, items }, [x]) => self.scatter(shape, items, x, target),
            (Class::Layout, _, [x]) => {
                let view = x.through(op).expect("transposes, broadcasts and slices are accesses");
                self.copy(&view, target);
            }
            (Class::Fold, Op::Reduce(by, axis), [x]) if Fold::of(*by, self.dtype(x)).is_some() => {
                self.reduce(*by, *axis, x, target);
            }
            (Class::Fold, Op::Reduce(Reduction::LogSumExp, axis), [x]) => self.logsumexp(*axis, x, target),
            (Class::Along, Op::Softmax | Op::LogSoftmax, [x]) => self.softmax(op, x, target),
            (Class::Fold, Op::SumTo { shape }, [x]) => self.sum_to(shape, x, target),
            (Class::Lookup, Op::OneHot { classes }, [i]) => self.one_hot(*classes, i, target),
            // Even without elements to read, a position may be outside of the axis.
            (Class::Lookup, Op::Gather { axis }, [x, i]) if !self.is_empty(target) => {
                let dims = [&x.dims[..*axis], &i.dims, &x.dims[axis + 1..]].concat();
                let places = (*axis..axis + i.dims.len()).collect();
                self.pick((x, *axis), (i, places), &dims, target);
            }
            (Class::Lookup, Op::Pick, [x, i]) if !self.is_empty(target) => {
                self.pick((x, x.dims.len() - 1), (i, (0..i.dims.len()).collect()), &i.dims, target);
            }
            (Class::Product, ..) => self.product(op, None, operands, target),
            (
                Class::Identity
                | Class::Layout
                | Class::Fold
                | Class::Along
                | Class::Sliding
                | Class::Lookup
                | Class::Random,
                ..,
            ) => {
                let call = Call { op: op.clone(), start: None, operands, out: target.slot };
                self.push(Work::Call(call), target);
            }
        }
    }

    /// Adds a stage.
    pub(super) fn push(&mut self, work: Work, target: &Target<'_>) {
        let may_fail = verify::may_fail(&self.program, &work);
        self.node.stages.push(NestStage { at: target.at, when: target.when.clone(), may_fail, work });
    }

    /// Copies a tensor into a slot.
    pub(super) fn copy(&mut self, view: &View, target: &Target<'_>) {
        self.put(view, (0, &dense(&view.dims)), target);
    }

    /// Copies a tensor to a place in a slot.
    fn put(&mut self, view: &View, (offset, strides): (usize, &[isize]), target: &Target<'_>) {
        if view.dims.contains(&0) && !self.program.slots[target.slot].ty.shape.is_empty() {
            return;
        }
        let mut maker = Maker::new(&view.dims, &[]);
        let val = maker.load(view);
        maker.store(target.slot, offset, strides, val);
        self.push(Work::Nest(maker.nest), target);
    }

    fn pointwise(&mut self, op: &Op, operands: &[View], target: &Target<'_>) {
        let dims = self.program.slots[target.slot].ty.shape.dims().to_vec();
        let mut maker = Maker::new(&dims, &[]);
        let args = operands.iter().map(|view| maker.load(&view.broadcast(&dims))).collect();
        let val = maker.nest.body.push(Def::Apply(op.clone(), args));
        maker.store(target.slot, 0, &dense(&dims), val);
        self.push(Work::Nest(maker.nest), target);
    }

    /// Tensors one after the other along an axis.
    fn join(&mut self, axis: usize, parts: &[View], target: &Target<'_>) {
        let strides = dense(self.program.slots[target.slot].ty.shape.dims());
        let mut start = 0;
        for part in parts {
            self.put(part, (moved(0, start, strides[axis]), &strides), target);
            start += part.dims[axis];
        }
    }

    /// Writes a tensor to the elements that an index picks, and zeros to all others.
    fn scatter(&mut self, shape: &Shape, items: &[AxisIndex], x: &View, target: &Target<'_>) {
        let strides = dense(shape.dims());
        let mut places = vec![Place::default()];
        let ty = self.program.slots[target.slot].ty.clone();
        let zero = self.scalar(&ty, 0.0);
        for (axis, item) in items.iter().enumerate() {
            let rest: Vec<(usize, isize)> =
                (axis + 1..items.len()).map(|i| (shape.dims()[i], strides[i])).collect();
            for gap in gaps(*item, shape.dims()[axis]) {
                for place in &places {
                    let place = place.and(&gap, strides[axis]).with(&rest);
                    self.put(&zero.broadcast(&place.dims), (place.offset, &place.strides), target);
                }
            }
            let picked = match *item {
                AxisIndex::At(start) => (start, Vec::new()),
                AxisIndex::Slice { start, len, step } => (start, vec![(len, step)]),
            };
            places.iter_mut().for_each(|place| *place = place.and(&picked, strides[axis]));
        }
        for place in places {
            self.put(x, (place.offset, &place.strides), target);
        }
    }

    /// The type of the elements of a view.
    pub(super) fn dtype(&self, x: &View) -> DType {
        self.program.slots[x.source[0].access.slot].ty.dtype
    }

    fn is_empty(&self, target: &Target<'_>) -> bool {
        self.program.slots[target.slot].ty.shape.is_empty()
    }

    /// Elements of `x` along an axis, at the positions `i`. The axes `places` of the result are those of `i`; the other
    /// axes of `x` come before and after them.
    fn pick(
        &mut self,
        (x, axis): (&View, usize),
        (i, places): (&View, Vec<usize>),
        dims: &[usize],
        target: &Target<'_>,
    ) {
        let mut maker = Maker::new(dims, &[]);
        let behind = x.dims.len() - axis - 1;
        let along = |own: usize| if own < axis { own } else { dims.len() - behind + own - axis - 1 };
        // If the stride along the axis differs between variants, the tensor is copied first.
        let stride = |x: &View| x.source[0].access.strides[axis];
        let is_alike = x.source.iter().all(|variant| variant.access.strides[axis] == stride(x));
        let x = if is_alike { x.clone() } else { self.dense(x, target) };
        let stride = stride(&x);
        let at = maker.load(&i.spread(dims, |own| places.iter().position(|place| *place == own)));
        let others = |own: &usize| *own != axis;
        let source =
            x.spread(dims, |place| (0..x.dims.len()).filter(others).find(|own| along(*own) == place));
        let source = source.permuted(&maker.axes).source;
        let val = maker.nest.body.push(Def::Take { source, at, size: x.dims[axis], stride });
        maker.store(target.slot, 0, &dense(dims), val);
        self.push(Work::Nest(maker.nest), target);
    }

    /// For each int, a 1 in the column of its class, and 0 elsewhere.
    fn one_hot(&mut self, classes: usize, i: &View, target: &Target<'_>) {
        let ty = Type::new(DType::Int, &[classes]);
        let slot = self.constant(Value::new(ty.shape.clone(), Data::Int((0_i64..).take(classes).collect())));
        let dims = [&i.dims[..], &[classes]].concat();
        let rows = i.with_unit(i.dims.len());
        let mut maker = Maker::new(&dims, &[]);
        let (i, class) =
            (maker.load(&rows.broadcast(&dims)), maker.load(&whole(slot, Tick::Now, &ty).broadcast(&dims)));
        let is = maker.nest.body.push(Def::Apply(Op::Compare(Compare::Eq), vec![i, class]));
        let val = maker.nest.body.push(Def::Apply(Op::Convert(DType::Num), vec![is]));
        maker.store(target.slot, 0, &dense(&dims), val);
        self.push(Work::Nest(maker.nest), target);
    }

    /// A copy of a tensor.
    pub(super) fn dense(&mut self, x: &View, target: &Target<'_>) -> View {
        let dtype = self.program.slots[x.source[0].access.slot].ty.dtype;
        let ty = Type::new(dtype, &x.dims);
        let slot = self.step(target.of, &ty);
        self.copy(x, &Target { slot, ..target.clone() });
        whole(slot, Tick::Now, &ty).at(target.at)
    }

    /// All elements as one axis; copied if they have no single stride.
    pub(super) fn flat(&mut self, x: &View, target: &Target<'_>) -> View {
        let n = [x.dims.iter().product()];
        x.reshaped(&n).unwrap_or_else(|| {
            let x = self.dense(x, target);
            x.reshaped(&n).expect("a row-major tensor is a row of elements")
        })
    }
}

/// Elements of a tensor: an offset, and some dimensions with their strides.
#[derive(Clone, Default)]
struct Place {
    offset: usize,
    dims: Vec<usize>,
    strides: Vec<isize>,
}

/// Positions on an axis: the first one, and then dimensions as lengths and strides.
type Row = (usize, Vec<(usize, isize)>);

impl Place {
    /// The same, combined with some positions on the next axis.
    #[must_use]
    fn and(&self, (start, rows): &Row, stride: isize) -> Place {
        let offset = moved(self.offset, *start, stride);
        let rows: Vec<(usize, isize)> = rows.iter().map(|(len, step)| (*len, step * stride)).collect();
        Place { offset, ..self.clone() }.with(&rows)
    }

    #[must_use]
    fn with(mut self, rows: &[(usize, isize)]) -> Place {
        self.dims.extend(rows.iter().map(|(len, _)| *len));
        self.strides.extend(rows.iter().map(|(_, stride)| *stride));
        self
    }
}

/// The positions of an axis of that size that an index does not pick.
#[allow(clippy::cast_possible_wrap, reason = "elements in memory are counted in isize")]
fn gaps(item: AxisIndex, size: usize) -> Vec<Row> {
    let (low, len, step) = match item {
        AxisIndex::At(start) => (start, 1, 1),
        AxisIndex::Slice { len: 0, .. } => return vec![(0, vec![(size, 1)])],
        AxisIndex::Slice { start, len, step } => {
            let last = start.wrapping_add_signed(step * (len as isize - 1));
            (start.min(last), len, step.unsigned_abs())
        }
    };
    let high = low + (len - 1) * step + 1;
    let rows = [
        (0, vec![(low, 1)]),
        (high.min(size.saturating_sub(1)), vec![(size - high, 1)]),
        (low + usize::from(len > 1 && step > 1), vec![(len - 1, step as isize), (step - 1, 1)]),
    ];
    rows.into_iter().filter(|(_, rows)| rows.iter().all(|(n, _)| *n > 0)).collect()
}
