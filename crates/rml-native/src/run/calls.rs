//! Operators of whole tensors, which compiled code calls back for.

use rml_ir::op::{Around, Convolution, Number, Op, Reduction, eval};
use rml_ir::{DType, Data, Precision, Shape};
use rml_nest::{Call, Guard, Home, Order, Program, Slot, Tick};

use super::view::{At, Slots, View};
use crate::Module;
use crate::ffi::{Calls, Memory};
use crate::layout::Room;

mod products;

pub(super) use products::Pack;
use products::Products;

/// How a call is computed.
#[derive(Debug)]
pub(super) enum Kernel {
    Products(Products),
    Convolve(Box<Convolution>),
    /// Softmax, or its logarithm, of rows of that many columns.
    Softmax(bool, usize),
    ScatterAdd(Around),
    /// A fold of an axis that no nest has.
    Reduce(Reduction, Around),
    Draw(Op),
    /// Through values.
    General(Op),
}

/// A call whose kernel and operands are known.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(super) out: Slot,
    pub(super) dtype: DType,
    pub(super) width: usize,
    pub(super) operands: Vec<View>,
    /// What the result of [`Kernel::ScatterAdd`] is added to.
    pub(super) start: Option<View>,
    pub(super) kernel: Kernel,
    /// The order of the ticks.
    pub(super) order: Order,
    /// The conditions under which it runs.
    pub(super) when: Vec<Guard>,
}

impl Ready {
    pub(crate) fn new(program: &Program, call: &Call, when: &[Guard], order: Order) -> Ready {
        let operands: Vec<View> = call.operands.iter().map(|o| View::new(program, o)).collect();
        let ty = &program.slots[call.out].ty;
        let shape = |i: usize| Shape::new(&operands[i].dims);
        let convolution = || match operands.len() {
            2 => Convolution::new(&call.op, [&shape(0), &shape(1)]),
            _ => None,
        };
        let kernel = match &call.op {
            Op::Softmax | Op::LogSoftmax => {
                Kernel::Softmax(call.op == Op::LogSoftmax, operands[0].dims.last().copied().unwrap_or(1))
            }
            Op::Reduce(by, axis) if ty.is_num() && operands[0].dtype == DType::Num => {
                Kernel::Reduce(*by, Around::axis(&operands[0].dims, *axis))
            }
            Op::ScatterAdd { shape, axis } if ty.is_num() => {
                Kernel::ScatterAdd(Around::axis(shape.dims(), Some(*axis)))
            }
            Op::RandomUniform { .. } | Op::RandomNormal { .. } if operands.len() == 2 => {
                Kernel::Draw(call.op.clone())
            }
            op => match Products::new(program, call, &operands, order) {
                Some(products) => Kernel::Products(products),
                None => convolution()
                    .map_or_else(|| Kernel::General(op.clone()), |by| Kernel::Convolve(Box::new(by))),
            },
        };
        let start = call.start.as_ref().map(|start| View::new(program, start));
        let (dtype, width) = (ty.dtype, ty.shape.len());
        let when = when.to_vec();
        Ready { out: call.out, dtype, width, operands, start, kernel, order, when }
    }
}

/// What calls need besides the memory of the window.
#[derive(Debug)]
pub(super) struct State<N: Number> {
    /// Matrices laid out for products, one for each call.
    pub(super) packs: Vec<products::Pack<N>>,
    /// Copies of operands that are not stored as a kernel wants them.
    pub(super) scratch: [Vec<N>; 3],
    /// How often each register has changed.
    pub(super) versions: Vec<u64>,
    /// How many windows have begun.
    pub(super) windows: u64,
}

/// Runs the calls of a window.
pub(super) struct Runner<'a, N: Number> {
    pub(super) module: &'a Module,
    pub(super) slots: Slots<'a>,
    pub(super) state: &'a mut State<N>,
    /// What registers are after the last tick that is done, if ticks ahead write them.
    pub(super) kept: &'a mut super::Kept,
}

impl<N: Number> Calls<N> for Runner<'_, N> {
    fn call(&mut self, memory: &mut Memory<N>, id: i64, tick: usize, ticks: usize, block: usize) -> bool {
        let all = memory.ticks;
        if id == i64::from(i32::MIN) {
            self.kept.extend(super::kept(self.module, memory, &self.module.written[block]));
            return true;
        }
        let Ok(id) = usize::try_from(id) else {
            self.unset(memory, (-1 - id).unsigned_abs() as usize);
            return true;
        };
        let module = self.module;
        let ready = &module.calls[id];
        let here = |t: usize| At { t, ticks: all, block };
        let holds = |t: &usize| self.slots.holds(memory, &ready.when, here(*t));
        let ran: Vec<usize> = match ready.when.is_empty() {
            true => Vec::new(),
            false => (tick..tick + ticks).filter(holds).collect(),
        };
        let is_some = !ready.when.is_empty() && ran.len() < ticks;
        match &ready.kernel {
            Kernel::Products(products) if is_some => {
                products::some(self, memory, (id, ready, products), here(tick), &ran);
                true
            }
            Kernel::Products(products) => {
                products::all(self, memory, (id, ready, products), here(tick), ticks);
                true
            }
            Kernel::Convolve(_)
            | Kernel::Softmax(..)
            | Kernel::ScatterAdd(_)
            | Kernel::Reduce(..)
            | Kernel::Draw(_)
            | Kernel::General(_) => {
                let last = 2 * tick + ticks - 1;
                (tick..tick + ticks).all(|t| {
                    let t = if ready.order == Order::Backward { last - t } else { t };
                    is_some && !ran.contains(&t) || self.one(memory, ready, here(t))
                })
            }
        }
    }
}

impl<N: Number> Runner<'_, N> {
    /// Leaves a register unset: it holds what it starts with.
    fn unset(&mut self, memory: &mut Memory<N>, register: usize) {
        super::put_start(self.module, memory, register);
    }

    /// Computes a call at a tick. False if it may have no result.
    fn one(&mut self, memory: &mut Memory<N>, ready: &Ready, at: At) -> bool {
        let out = self.slots.base(memory, ready.out, Tick::Now, at);
        match &ready.kernel {
            Kernel::Products(_) => unreachable!("products run for many ticks"),
            Kernel::Softmax(log, columns) => {
                let x = self.operand(memory, &ready.operands[0], at, 0);
                let (x, to) = self.two(memory, x, out, ready.width);
                N::softmax(*log, *columns, x, to);
            }
            Kernel::Reduce(by, around) => {
                let x = self.operand(memory, &ready.operands[0], at, 0);
                let split = Split::new(&mut memory.nums, out, ready.width);
                let x = split.operand(x, ready.operands[0].len(), &self.state.scratch[0]);
                return N::reduce(*by, *around, x, split.out);
            }
            Kernel::Convolve(by) => {
                let [_, a, b] = by.sizes();
                let left = self.operand(memory, &ready.operands[0], at, 0);
                let right = self.operand(memory, &ready.operands[1], at, 1);
                let scratch = &self.state.scratch;
                let split = Split::new(&mut memory.nums, out, ready.width);
                N::convolve(
                    by,
                    None,
                    split.operand(left, a, &scratch[0]),
                    split.operand(right, b, &scratch[1]),
                    split.out,
                );
            }
            Kernel::Draw(op) => {
                let int = |view: &View| memory.ints[self.slots.find(memory, &view.source, at).0];
                let (key, tick) = (int(&ready.operands[0]), int(&ready.operands[1]));
                N::draw(op, key, tick, &mut memory.nums[out..out + ready.width]);
            }
            Kernel::ScatterAdd(around) => return self.scatter_add(memory, ready, *around, out, at),
            Kernel::General(op) => {
                let args: Vec<_> = ready.operands.iter().map(|v| self.slots.value(memory, v, at)).collect();
                let precision = if size_of::<N>() == 4 { Precision::F32 } else { Precision::F64 };
                let Ok(value) = eval(op, &args.iter().collect::<Vec<_>>(), precision) else { return false };
                put(memory, ready.dtype, out, &value.to_data());
            }
        }
        true
    }

    fn scatter_add(
        &mut self,
        memory: &mut Memory<N>,
        ready: &Ready,
        around: Around,
        out: usize,
        at: At,
    ) -> bool {
        let positions = &ready.operands[0];
        let (first, strides) = self.slots.find(memory, &positions.source, at);
        let mut places = Vec::new();
        super::view::gather(&memory.ints, first, strides, &positions.dims, &mut places);
        let values = self.operand(memory, &ready.operands[1], at, 0);
        let len = ready.operands[1].len();
        if places.iter().any(|place| usize::try_from(*place).ok().is_none_or(|i| i >= around.n)) {
            return false;
        }
        match &ready.start {
            Some(start) => products::begin(self, memory, start, (out, ready.width), at),
            None => memory.nums[out..out + ready.width].fill(N::default()),
        }
        // Rows that are added at the same position are added up first.
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|i| places[*i]);
        let scratch = &self.state.scratch[0];
        let split = Split::new(&mut memory.nums, out, ready.width);
        let from = split.operand(values, len, scratch);
        let (n, inner) = (places.len(), around.inner);
        let mut sum = vec![N::default(); inner];
        for block in 0..around.outer {
            for same in order.chunk_by(|i, j| places[*i] == places[*j]) {
                sum.fill(N::default());
                for i in same {
                    let row = &from[(block * n + i) * inner..][..inner];
                    sum.iter_mut().zip(row).for_each(|(x, y)| *x += *y);
                }
                let place = usize::try_from(places[same[0]]).unwrap_or_default();
                let to = &mut split.out[(block * around.n + place) * inner..][..inner];
                to.iter_mut().zip(&sum).for_each(|(x, y)| *x += *y);
            }
        }
        true
    }

    /// Where a tensor of numbers is row by row: in memory, or none if it was copied to that scratch array.
    pub(super) fn operand(
        &mut self,
        memory: &Memory<N>,
        view: &View,
        at: At,
        scratch: usize,
    ) -> Option<usize> {
        let (first, strides) = self.slots.find(memory, &view.source, at);
        if view.is_dense {
            return Some(first);
        }
        let to = &mut self.state.scratch[scratch];
        to.clear();
        super::view::gather(&memory.nums, first, strides, &view.dims, to);
        None
    }

    fn two<'m>(
        &'m self,
        memory: &'m mut Memory<N>,
        x: Option<usize>,
        out: usize,
        width: usize,
    ) -> (&'m [N], &'m mut [N]) {
        let split = Split::new(&mut memory.nums, out, width);
        (split.take(x, width, &self.state.scratch[0]), split.out)
    }
}

/// A result apart from what is read.
pub(super) struct Split<'m, N> {
    before: &'m [N],
    pub(super) out: &'m mut [N],
    after: &'m [N],
    /// Where `after` begins.
    end: usize,
}

impl<'m, N> Split<'m, N> {
    pub(super) fn new(all: &'m mut [N], out: usize, len: usize) -> Self {
        let (before, rest) = all.split_at_mut(out);
        let (result, after) = rest.split_at_mut(len);
        Split { before, out: result, after, end: out + len }
    }

    fn take(&self, at: Option<usize>, len: usize, scratch: &'m [N]) -> &'m [N] {
        match at {
            None => &scratch[..len],
            Some(at) if at >= self.end => &self.after[at - self.end..][..len],
            Some(at) => &self.before[at..at + len],
        }
    }

    /// An operand in memory, or in a scratch array.
    pub(super) fn operand(&self, at: Option<usize>, len: usize, scratch: &'m [N]) -> &'m [N] {
        self.take(at, len, scratch)
    }
}

/// Puts elements at a place.
pub(super) fn put<N: Number>(memory: &mut Memory<N>, dtype: DType, at: usize, data: &Data) {
    match (dtype, data) {
        (DType::Int, Data::Int(all)) => memory.ints[at..at + all.len()].copy_from_slice(all),
        (DType::Bool, Data::Bool(all)) => {
            memory.bools[at..at + all.len()].iter_mut().zip(all).for_each(|(to, x)| *to = u8::from(*x));
        }
        _ => {
            if let Some(all) = N::of(data) {
                memory.nums[at..at + all.len()].copy_from_slice(all);
            }
        }
    }
}

/// Whether a slot keeps its value while nodes read it.
pub(super) fn is_kept(program: &Program, slot: Slot) -> bool {
    match program.slots[slot].home {
        Home::Const(_) => true,
        Home::Register { .. } => {
            program.nodes.iter().all(|node| node.writes.iter().all(|write| write.register != slot))
        }
        Home::Input | Home::Tick { .. } => false,
    }
}

/// Whether the value of a slot is the same at all ticks, in memory.
pub(super) fn is_single(room: Room, tick: Tick) -> bool {
    room == Room::One || matches!(tick, Tick::First | Tick::Last)
}
