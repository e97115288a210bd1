//! Operators of whole tensors: compiled code calls back into Rust to run them.

use std::ops::Range;

use rml_ir::op::{Around, Convolution, Number, Op, Reduction, eval};
use rml_ir::{DType, Precision, Shape};
use rml_nest::{Call, Guard, Home, NestProgram, Order, Slot, Tick};

use super::view::{At, Slots, View, append_strided, put, strided};
use crate::Module;
use crate::ffi::{Calls, Lent};
use crate::parts::{Divided, Rows, Touch, part};

mod products;

pub(super) use products::Pack;
use products::Products;

/// How to compute a call.
#[derive(Debug)]
pub(super) enum Kernel {
    Products(Products),
    Convolve(Box<Convolution>),
    /// Softmax, or its logarithm, of rows with this many columns.
    Softmax(bool, usize),
    ScatterAdd(Around),
    /// A fold of an axis that is not printed as a nest.
    Reduce(Reduction, Around),
    Draw(Op),
    /// Any other operator: the reference evaluation, on values.
    General(Op),
}

/// A call, with its kernel and its operands prepared.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(super) out: Slot,
    pub(super) dtype: DType,
    pub(super) width: usize,
    pub(super) operands: Vec<View>,
    /// The value to which [`Kernel::ScatterAdd`] adds.
    pub(super) start: Option<View>,
    pub(super) kernel: Kernel,
    /// The order of the ticks.
    pub(super) order: Order,
    /// The conditions under which it runs.
    pub(super) when: Vec<Guard>,
}

impl Ready {
    pub(crate) fn new(program: &NestProgram, call: &Call, when: &[Guard], order: Order) -> Ready {
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

    /// How its rows are divided among threads; none if one thread computes it.
    pub(crate) fn divided(&self) -> Option<Divided> {
        let rows = |n: usize, len: usize| Some(Rows { n, step: len / n });
        let (most, out, operands) = match &self.kernel {
            Kernel::Products(products) => products.rows(self.start.as_ref())?,
            Kernel::Softmax(_, columns) => {
                let (n, x) = (self.width / (*columns).max(1), &self.operands[0]);
                (n, rows(n.max(1), self.width), vec![(x, rows(n.max(1), self.width))])
            }
            Kernel::Convolve(by) => {
                let ([out, a, _], [left, right]) = (by.sizes(), [&self.operands[0], &self.operands[1]]);
                match (by.examples(), by.rows()) {
                    (Some(n), _) => (n, rows(n.max(1), out), vec![(left, rows(n.max(1), a)), (right, None)]),
                    (None, Some((n, _))) => (n, rows(n.max(1), out), vec![(left, None), (right, None)]),
                    (None, None) => return None,
                }
            }
            Kernel::ScatterAdd(_) | Kernel::Reduce(..) | Kernel::Draw(_) | Kernel::General(_) => return None,
        };
        if most < 2 {
            return None;
        }
        let mut touches = vec![Touch { slot: self.out, rows: out, writes: true }];
        for (view, rows) in operands {
            for (_, access) in rml_nest::accesses(&view.source) {
                // Rows are contiguous only in a tensor that is stored row by row, from its first element on.
                let rows = rows.filter(|_| view.is_dense && access.offset == 0);
                touches.push(Touch { slot: access.slot, rows, writes: false });
            }
        }
        Some(Divided { dim: None, most, cost: self.cost(), touches })
    }

    /// The approximate nanoseconds per tick.
    pub(crate) fn cost(&self) -> f64 {
        let width = self.width as f64;
        match &self.kernel {
            Kernel::Products(products) => products.terms() * 0.02,
            Kernel::Convolve(by) => by.work() * 0.04,
            Kernel::Softmax(..) => width * 2.0,
            Kernel::Reduce(..) => self.operands[0].len() as f64 * 0.1,
            Kernel::ScatterAdd(_) | Kernel::Draw(_) | Kernel::General(_) => width,
        }
    }
}

/// The memory that the calls of a thread need besides that of the window.
#[derive(Debug)]
pub(super) struct State<N: Number> {
    /// Matrices laid out for products, one for each call.
    pub(super) packs: Vec<products::Pack<N>>,
    /// Copies of operands that are not stored as a kernel requires.
    pub(super) scratch: [Vec<N>; 3],
}

impl<N: Number> State<N> {
    /// The memory for a program with this many calls.
    pub(super) fn new(calls: usize) -> Self {
        let packs = (0..calls).map(|_| Pack::default()).collect();
        State { packs, scratch: [Vec::new(), Vec::new(), Vec::new()] }
    }
}

/// Counters that tell whether a value has changed.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    /// How often each register has changed.
    pub(super) registers: Vec<u64>,
    /// How many windows have begun.
    pub(super) windows: u64,
}

/// Runs the calls of a thread in a window.
pub(super) struct Runner<'a, N: Number> {
    pub(super) module: &'a Module,
    pub(super) slots: Slots<'a>,
    pub(super) state: &'a mut State<N>,
    pub(super) versions: &'a Versions,
    /// If ticks ahead write registers: their values after the last finished tick.
    pub(super) kept: super::Kept,
    /// The number of the part that this thread computes, and how many there are.
    pub(super) part: (usize, usize),
}

impl<N: Number> Calls<N> for Runner<'_, N> {
    fn call(&mut self, memory: Lent<'_, N>, id: i64, tick: usize, ticks: usize, block: isize) -> bool {
        let all = memory.ticks;
        if id == i64::from(i32::MIN) {
            let written = &self.module.written[block.unsigned_abs()];
            super::keep(self.module, memory, written, &mut self.kept);
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
    /// The rows, of `n`, that this thread computes.
    pub(super) fn rows(&self, n: usize) -> Range<usize> {
        part(n, self.part.1, self.part.0)
    }

    /// Makes a register unset, and stores its start value in it.
    fn unset(&mut self, memory: Lent<'_, N>, register: usize) {
        super::put_start(self.module, memory, register);
    }

    /// Computes a call at a tick. False if it may have failed.
    fn one(&mut self, memory: Lent<'_, N>, ready: &Ready, at: At) -> bool {
        let out = self.slots.base(memory, ready.out, Tick::Now, at);
        match &ready.kernel {
            Kernel::Products(_) => unreachable!("products run for many ticks"),
            Kernel::Softmax(log, columns) => {
                let x = self.operand(memory, &ready.operands[0], at, 0);
                let rows = self.rows(ready.width / (*columns).max(1));
                let some = rows.start * columns..rows.end * columns;
                let to = memory.nums_mut(out + some.start, some.len());
                N::softmax(*log, *columns, piece(memory, x, some, &self.state.scratch[0]), to);
            }
            Kernel::Reduce(by, around) => {
                let x = self.operand(memory, &ready.operands[0], at, 0);
                let x = piece(memory, x, 0..ready.operands[0].len(), &self.state.scratch[0]);
                return N::reduce(*by, *around, x, memory.nums_mut(out, ready.width));
            }
            Kernel::Convolve(by) => self.convolve(memory, ready, by, (out, at)),
            Kernel::Draw(op) => {
                let int = |view: &View| memory.ints(self.slots.find(memory, &view.source, at).0, 1)[0];
                let (key, tick) = (int(&ready.operands[0]), int(&ready.operands[1]));
                N::draw(op, key, tick, memory.nums_mut(out, ready.width));
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

    fn convolve(&mut self, memory: Lent<'_, N>, ready: &Ready, by: &Convolution, (out, at): (usize, At)) {
        let [len, a, b] = by.sizes();
        let left = self.operand(memory, &ready.operands[0], at, 0);
        let right = self.operand(memory, &ready.operands[1], at, 1);
        let x = |some: Range<usize>| piece(memory, left, some, &self.state.scratch[0]);
        let y = piece(memory, right, 0..b, &self.state.scratch[1]);
        match (self.part.1, by.examples(), by.rows()) {
            (1, ..) | (_, None, None) => N::convolve(by, None, x(0..a), y, memory.nums_mut(out, len)),
            (_, Some(n), _) => {
                let rows = self.rows(n);
                let (own, each) = (a / n, len / n);
                let mut some = by.clone();
                some.set_examples(rows.len());
                let to = memory.nums_mut(out + rows.start * each, rows.len() * each);
                N::convolve(&some, None, x(rows.start * own..rows.end * own), y, to);
            }
            (_, None, Some((n, row))) => {
                let rows = self.rows(n);
                let to = memory.nums_mut(out + rows.start * row, rows.len() * row);
                N::convolve(by, Some(&rows), x(0..a), y, to);
            }
        }
    }

    fn scatter_add(
        &mut self,
        memory: Lent<'_, N>,
        ready: &Ready,
        around: Around,
        out: usize,
        at: At,
    ) -> bool {
        let positions = &ready.operands[0];
        let (first, strides) = self.slots.find(memory, &positions.source, at);
        let places = strided(|at, len| memory.ints(at, len), first, strides, &positions.dims);
        let values = self.operand(memory, &ready.operands[1], at, 0);
        let len = ready.operands[1].len();
        if places.iter().any(|place| usize::try_from(*place).ok().is_none_or(|i| i >= around.n)) {
            return false;
        }
        match &ready.start {
            Some(start) => products::begin(self, memory, start, (out, 0..ready.width), at),
            None => memory.nums_mut(out, ready.width).fill(N::default()),
        }
        // Rows for the same position are added up first.
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|i| places[*i]);
        let scratch = &self.state.scratch[0];
        let from = piece(memory, values, 0..len, scratch);
        let result = memory.nums_mut(out, ready.width);
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
                let to = &mut result[(block * around.n + place) * inner..][..inner];
                to.iter_mut().zip(&sum).for_each(|(x, y)| *x += *y);
            }
        }
        true
    }

    /// The address of a tensor that is stored row by row; none if it had to be copied, to the scratch array `scratch`.
    pub(super) fn operand(
        &mut self,
        memory: Lent<'_, N>,
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
        append_strided(|at, len| memory.nums(at, len), first, strides, &view.dims, to);
        None
    }
}

/// Elements of an operand: in memory, or in a scratch array.
pub(super) fn piece<'a, N>(
    memory: Lent<'a, N>,
    at: Option<usize>,
    some: Range<usize>,
    scratch: &'a [N],
) -> &'a [N] {
    match at {
        None => &scratch[some],
        Some(at) => memory.nums(at + some.start, some.len()),
    }
}

/// Whether a slot does not change while nodes run.
pub(super) fn is_kept(program: &NestProgram, slot: Slot) -> bool {
    match program.slots[slot].home {
        Home::Const(_) => true,
        Home::Register { .. } => {
            program.nodes.iter().all(|node| node.writes.iter().all(|write| write.register != slot))
        }
        Home::Input | Home::Tick { .. } => false,
    }
}
