//! Operands of calls: their addresses at a tick, and their strides.

use rml_base::EntityId;
use rml_ir::op::Number;
use rml_ir::{DType, Data, Position, Shape, Value};
use rml_nest::{Access, Guard, NestProgram, Operand, Slot, Test, Tick, Variants, dense};

use crate::ffi::Lent;
use crate::layout::{InSlide, Layout, Room};

/// A tensor that a call reads.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) dims: Vec<usize>,
    pub(super) source: Variants,
    pub(super) dtype: DType,
    /// Whether all variants are row by row.
    pub(super) is_dense: bool,
}

impl View {
    pub(super) fn new(program: &NestProgram, operand: &Operand) -> View {
        let slot = operand.source[0].access.slot;
        let dtype = program.slots[slot].ty.dtype;
        let view =
            View { dims: operand.dims.clone(), source: operand.source.clone(), dtype, is_dense: false };
        view.looked_at()
    }

    fn looked_at(mut self) -> View {
        self.is_dense = self.lies(&dense(&self.dims));
        self
    }

    pub(super) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// The same elements with the axes in another order.
    #[must_use]
    pub(super) fn permuted(&self, axes: &[usize]) -> View {
        let mut view = self.clone();
        view.dims = axes.iter().map(|axis| self.dims[*axis]).collect();
        for variant in &mut view.source {
            let strides = &variant.access.strides;
            variant.access.strides = axes.iter().map(|axis| strides[*axis]).collect();
        }
        view.looked_at()
    }

    /// Whether all variants have these strides; strides of axes of length one are ignored.
    pub(super) fn lies(&self, strides: &[isize]) -> bool {
        let same = |own: &[isize]| (0..strides.len()).all(|i| self.dims[i] <= 1 || own[i] == strides[i]);
        self.source.iter().all(|variant| same(&variant.access.strides))
    }
}

/// Everything that an address depends on.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) t: usize,
    pub(super) ticks: usize,
    /// The tick whose values are the first ones of the memory for blocks.
    pub(super) block: isize,
}

impl At {
    pub(super) fn position(self) -> Position {
        Position::of(self.t, self.ticks)
    }
}

/// The program's slots in memory.
pub(super) struct Slots<'a> {
    pub(super) layout: &'a Layout,
    pub(super) registers: &'a [Slot],
}

impl Slots<'_> {
    /// The address of a slot's value, read from a tick.
    pub(super) fn base<N>(&self, memory: Lent<'_, N>, slot: Slot, tick: Tick, at: At) -> usize {
        let first = memory.at(slot.index());
        let t = match tick {
            Tick::Now => at.t,
            Tick::Before => at.t - 1,
            Tick::After => at.t + 1,
            Tick::First => 0,
            Tick::Last => at.ticks - 1,
        };
        let index = match self.layout.rooms[slot] {
            Room::One => 0,
            Room::Block => t.saturating_add_signed(-at.block),
            Room::Ticks => t,
            Room::Slides(InSlide { slide, later }) => {
                return first.wrapping_add_signed(self.slid(memory, slide, t + usize::from(later)));
            }
        };
        first + index * self.layout.width(slot)
    }

    /// How far a register that slides has moved before a tick.
    pub(super) fn slid<N>(&self, memory: Lent<'_, N>, slide: usize, t: usize) -> isize {
        let own = &self.layout.slides[slide];
        match own.is_guarded() {
            true => {
                let at = memory.at(self.layout.table(slide)) + t;
                isize::try_from(memory.ints(at, 1)[0]).unwrap_or_default()
            }
            false => own.step * t.cast_signed(),
        }
    }

    pub(super) fn truth<N>(&self, memory: Lent<'_, N>, cond: &Access, at: At) -> bool {
        memory.bools(self.base(memory, cond.slot, cond.tick, at) + cond.offset, 1)[0] != 0
    }

    pub(super) fn holds<N>(&self, memory: Lent<'_, N>, when: &[Guard], at: At) -> bool {
        when.iter().all(|guard| self.truth(memory, &guard.cond, at) == guard.value)
    }

    /// The access of the first variant that applies.
    pub(super) fn chosen<'s, N>(&self, memory: Lent<'_, N>, source: &'s Variants, at: At) -> &'s Access {
        let p = at.position();
        let passes = |test: &Test| match test {
            Test::Is(guard) => self.truth(memory, &guard.cond, at) == guard.value,
            Test::IsSet(register) => {
                let r = self.registers.iter().position(|own| own == register);
                r.is_some_and(|r| memory.is_set(r))
            }
        };
        let found =
            source.iter().find(|v| v.at.contains(p) && (v.any.is_empty() || v.any.iter().any(passes)));
        &found.expect("N4: one variant applies").access
    }

    /// The address of the first element of a tensor, and its strides.
    pub(super) fn find<'s, N>(
        &self,
        memory: Lent<'_, N>,
        source: &'s Variants,
        at: At,
    ) -> (usize, &'s [isize]) {
        let access = self.chosen(memory, source, at);
        (self.base(memory, access.slot, access.tick, at) + access.offset, &access.strides)
    }

    /// A tensor as a value.
    pub(super) fn value<N: Number>(&self, memory: Lent<'_, N>, view: &View, at: At) -> Value {
        let (first, strides) = self.find(memory, &view.source, at);
        Value::new(Shape::new(&view.dims), gathered(memory, view.dtype, first, strides, &view.dims))
    }
}

/// The elements at strided places.
pub(super) fn gathered<N: Number>(
    memory: Lent<'_, N>,
    dtype: DType,
    first: usize,
    strides: &[isize],
    dims: &[usize],
) -> Data {
    match dtype {
        DType::Num => N::data(strided(|at, len| memory.nums(at, len), first, strides, dims)),
        DType::Int => Data::Int(strided(|at, len| memory.ints(at, len), first, strides, dims)),
        DType::Bool => {
            let all: Vec<u8> = strided(|at, len| memory.bools(at, len), first, strides, dims);
            Data::Bool(all.into_iter().map(|x| x != 0).collect())
        }
    }
}

/// The elements at strided places of an array that is borrowed in pieces.
pub(super) fn strided<'m, T: Copy + 'm>(
    read: impl Fn(usize, usize) -> &'m [T],
    first: usize,
    strides: &[isize],
    dims: &[usize],
) -> Vec<T> {
    let mut to = Vec::new();
    append_strided(read, first, strides, dims, &mut to);
    to
}

/// Appends the elements at strided places of an array that is borrowed in pieces.
pub(super) fn append_strided<'m, T: Copy + 'm>(
    read: impl Fn(usize, usize) -> &'m [T],
    first: usize,
    strides: &[isize],
    dims: &[usize],
    to: &mut Vec<T>,
) {
    if dims.contains(&0) {
        return;
    }
    let (mut before, mut after) = (0, 0);
    for (n, stride) in dims.iter().zip(strides) {
        let reach = (n - 1) * stride.unsigned_abs();
        if *stride < 0 { before += reach } else { after += reach }
    }
    gather(read(first - before, before + after + 1), before, strides, dims, to);
}

/// Whether a tensor with these strides is stored row by row.
pub(super) fn is_dense(strides: &[isize], dims: &[usize]) -> bool {
    let mut len = 1;
    let mut axes = strides.iter().zip(dims).rev();
    axes.all(|(stride, n)| {
        let expected = len;
        len *= n.cast_signed();
        *stride == expected
    })
}

/// Copies the elements at strided places to `to` and the following places. The two must not overlap, unless they are
/// identical.
pub(super) fn copy<N: Number>(
    memory: Lent<'_, N>,
    dtype: DType,
    (first, strides): (usize, &[isize]),
    dims: &[usize],
    to: usize,
) {
    let n: usize = dims.iter().product();
    let is_row = is_dense(strides, dims);
    if is_row && first == to {
        return;
    }
    // A contiguous source that does not overlap its copy needs no intermediate copy.
    if is_row && (first + n <= to || to + n <= first) {
        match dtype {
            DType::Num => memory.nums_mut(to, n).copy_from_slice(memory.nums(first, n)),
            DType::Int => memory.ints_mut(to, n).copy_from_slice(memory.ints(first, n)),
            DType::Bool => memory.bools_mut(to, n).copy_from_slice(memory.bools(first, n)),
        }
        return;
    }
    put(memory, dtype, to, &gathered(memory, dtype, first, strides, dims));
}

/// Puts elements at a place.
pub(super) fn put<N: Number>(memory: Lent<'_, N>, dtype: DType, at: usize, data: &Data) {
    match (dtype, data) {
        (DType::Int, Data::Int(all)) => memory.ints_mut(at, all.len()).copy_from_slice(all),
        (DType::Bool, Data::Bool(all)) => {
            let to = memory.bools_mut(at, all.len());
            to.iter_mut().zip(all).for_each(|(to, x)| *to = u8::from(*x));
        }
        _ => {
            if let Some(all) = N::of(data) {
                memory.nums_mut(at, all.len()).copy_from_slice(all);
            }
        }
    }
}

/// Appends the elements at strided places, row-major.
fn gather<T: Copy>(from: &[T], first: usize, strides: &[isize], dims: &[usize], to: &mut Vec<T>) {
    match (dims, strides) {
        ([], _) | (_, []) => to.push(from[first]),
        ([n], [1]) => to.extend_from_slice(&from[first..first + n]),
        ([n], [stride]) => {
            to.extend((0..*n).map(|i| from[first.wrapping_add_signed(i.cast_signed() * stride)]))
        }
        ([n, dims @ ..], [stride, strides @ ..]) => {
            for i in 0..*n {
                gather(from, first.wrapping_add_signed(i.cast_signed() * stride), strides, dims, to);
            }
        }
    }
}

/// Puts row-major elements at strided places.
pub(super) fn scatter<T: Copy>(to: &mut [T], first: usize, strides: &[isize], dims: &[usize], from: &[T]) {
    let Some((n, dims)) = dims.split_first() else {
        to[first] = from[0];
        return;
    };
    let row: usize = dims.iter().product();
    for i in 0..*n {
        let at = first.wrapping_add_signed(i.cast_signed() * strides[0]);
        scatter(to, at, &strides[1..], dims, &from[i * row..(i + 1) * row]);
    }
}
