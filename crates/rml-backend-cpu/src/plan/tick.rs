//! Kernels that run tick by tick, and sums over ticks.

use std::ops::Range;

use rml_base::memory;
use rml_ir::DType;
use rml_ir::op::{Around, Convolution, Number, Reduction, slices};
use rml_kernels::Task;

use super::Suspect;
use super::arena::{Arena, Split};
use super::code::{Added, Addend, Instr, Kernel};
use super::operand::Arg;
use super::run::{Run, ranges};
use super::scalar::Spot;

/// A sum: where it is stored, how many elements it has, and which of them are computed.
struct Sum {
    out: usize,
    width: usize,
    elements: Range<usize>,
}

impl<N: Number> Run<'_, N> {
    /// Computes a value at one tick, or at `ticks` of them from `t` on, whose rows are stored one after the other.
    pub(super) fn tick(
        &mut self,
        kernel: &Kernel,
        instr: &Instr,
        t: usize,
        ticks: usize,
    ) -> Result<(), Suspect> {
        let out = self.spot(instr.out).get(t);
        let width = instr.width * ticks;
        let all = |around: &Around| Around { outer: around.outer * ticks, ..*around };
        let arg = |i: usize| self.spot(instr.args[i]).get(t);
        match kernel {
            Kernel::Choose(dtype) => {
                let conds = instr.args.len() - 2;
                let any = (0..conds).any(|i| self.arena.bools[arg(i)]);
                let from = arg(if any { conds } else { conds + 1 });
                self.arena.copy(*dtype, out, from, width);
            }
            Kernel::Read(dtype, register) => {
                let from = if self.set[*register] || instr.args.len() == 1 { arg(0) } else { arg(1) };
                self.arena.copy(*dtype, out, from, width);
            }
            Kernel::Clear(dtype) => match dtype {
                DType::Num => self.arena.nums.row_mut(out, width).fill(N::default()),
                DType::Int => self.arena.ints.row_mut(out, width).fill(0),
                DType::Bool => self.arena.bools.row_mut(out, width).fill(false),
            },
            Kernel::Products(times, [m, k, n]) => {
                let (a, b) = (arg(0), arg(1));
                for i in 0..*times {
                    let s = Split::new(&mut self.arena.nums, out + i * m * n, m * n);
                    let (a, b) = (s.row(a + i * m * k, m * k), s.row(b + i * k * n, k * n));
                    N::product((*m, *k, *n), a, b, [false; 2], false, s.out);
                }
            }
            Kernel::Reduce(by, dtype, around) => {
                return self.arena.reduce(*by, *dtype, all(around), out, arg(0));
            }
            Kernel::Position(largest, dtype, around) => {
                let around = all(around);
                let (len, x) = (around.outer * around.inner, arg(0));
                let size = around.outer * around.n * around.inner;
                let Arena { nums, ints, .. } = &mut *self.arena;
                if *dtype == DType::Num {
                    N::position(*largest, around, nums.row(x, size), ints.row_mut(out, len));
                } else {
                    let s = Split::new(ints, out, len);
                    slices::int_position(*largest, around, s.row(x, size), s.out);
                }
            }
            Kernel::Softmax(log, columns) => {
                let x = arg(0);
                let s = Split::new(&mut self.arena.nums, out, width);
                N::softmax(*log, *columns, s.row(x, width), s.out);
            }
            Kernel::OneHot(classes) => {
                let x = arg(0);
                let Arena { nums, ints, .. } = &mut *self.arena;
                let out = nums.row_mut(out, width);
                out.fill(N::default());
                let rows = out.chunks_exact_mut((*classes).max(1));
                for (row, x) in rows.zip(ints.row(x, width / (*classes).max(1))) {
                    if let Some(one) = usize::try_from(*x).ok().and_then(|i| row.get_mut(i)) {
                        *one = N::ONE;
                    }
                }
            }
            Kernel::Draw(op) => {
                let (key, tick) = (self.arena.ints[arg(0)], self.arena.ints[arg(1)]);
                N::draw(op, key, tick, self.arena.nums.row_mut(out, width));
            }
            Kernel::Pick(dtype, n) => return self.arena.pick((*dtype, *n), (out, width), [arg(0), arg(1)]),
            Kernel::Gather(dtype, around, count) => {
                return self.arena.gather(*dtype, (around, *count), out, [arg(0), arg(1)]);
            }
            Kernel::ScatterAdd(around, count) => {
                return self.arena.scatter_add((around, *count), (out, width), [arg(0), arg(1)]);
            }
            Kernel::Convolve(by) => return self.convolve(by, instr, None, t),
            Kernel::General(op, kinds, dtype) => return self.general(op, kinds, *dtype, instr, t),
            Kernel::Point(..)
            | Kernel::Copy(..)
            | Kernel::Product(..)
            | Kernel::Further(..)
            | Kernel::Sum { .. } => {}
        }
        Ok(())
    }

    /// Computes a convolution at one tick; or some rows of one that has rows.
    fn convolve(
        &mut self,
        by: &Convolution,
        instr: &Instr,
        some: Option<&Range<usize>>,
        t: usize,
    ) -> Result<(), Suspect> {
        let place = |arg: Arg| self.bound.spots[arg].get(t);
        memory::ask((by.scratch() * size_of::<N>()) as u64).map_err(|_| Suspect)?;
        let [len, a, b] = by.sizes();
        let row = by.rows().map_or(0, |(_, row)| row);
        let (from, len) = some.map_or((0, len), |some| (some.start * row, some.len() * row));
        let split = Split::new(&mut self.arena.nums, place(instr.out) + from, len);
        let (a, b) = (split.row(place(instr.args[0]), a), split.row(place(instr.args[1]), b));
        N::convolve(by, some, a, b, split.out);
        Ok(())
    }

    /// Computes some groups of elements of what is shared by them, at those ticks.
    pub(super) fn groups(
        &mut self,
        instr: &Instr,
        (groups, group): (Range<usize>, usize),
        ticks: Range<usize>,
    ) -> Result<(), Suspect> {
        match &instr.kernel {
            Kernel::Convolve(by) => {
                ticks.into_iter().try_for_each(|t| self.convolve(by, instr, Some(&groups), t))
            }
            _ => self.sum(instr, groups.start * group..groups.end * group),
        }
    }

    /// Computes some elements of a sum over ticks, for the ticks that run now. A sum of outer products is computed by
    /// whole rows.
    pub(super) fn sum(&mut self, instr: &Instr, elements: Range<usize>) -> Result<(), Suspect> {
        if self.begins {
            self.begin_sum(instr, elements.clone());
        }
        self.add_terms(instr, elements)
    }

    /// The start value of some elements of a sum.
    fn begin_sum(&mut self, instr: &Instr, elements: Range<usize>) {
        let Kernel::Sum { init, .. } = &instr.kernel else { return };
        let out = self.spot(instr.out).get(0) + elements.start;
        let init = init.then(|| (self.spot(instr.args[0]).get(0), self.code.data(instr.args[0]).1.uniform));
        match init {
            Some((at, false)) => self.arena.copy(DType::Num, out, at + elements.start, elements.len()),
            Some((at, true)) => {
                let x = self.arena.nums[at];
                self.arena.nums.row_mut(out, elements.len()).fill(x);
            }
            None => self.arena.nums.row_mut(out, elements.len()).fill(N::default()),
        }
    }

    /// Adds the terms of some elements of a sum at the ticks that run.
    fn add_terms(&mut self, instr: &Instr, elements: Range<usize>) -> Result<(), Suspect> {
        let Kernel::Sum { backward, terms, .. } = &instr.kernel else { return Ok(()) };
        let backward = *backward;
        let out = Sum { out: self.spot(instr.out).get(0), width: instr.width, elements };
        let (ticks, part) = (self.bound.ticks, self.part);
        // The ranges of the first tick, of those in the middle and of the last one, so that no range is taken twice.
        let mut next = if backward { part.1 } else { part.0 };
        while next != if backward { part.0 } else { part.1 } {
            let found = terms.iter().find_map(|addend| {
                let mut runs = ranges(addend.at, ticks);
                let is_next =
                    |from, to| if backward { from < next && next <= to } else { from <= next && next < to };
                runs.find(|(from, to)| is_next(*from, *to)).map(|r| (r, addend))
            });
            let Some(((from, to), addend)) = found else {
                // Nothing is added at this tick.
                next = if backward { next - 1 } else { next + 1 };
                continue;
            };
            let (from, to) = if backward { (from.max(part.0), next) } else { (next, to.min(part.1)) };
            self.add_where(addend, &out, (from, to), backward)?;
            next = if backward { from } else { to };
        }
        Ok(())
    }

    /// Adds at those ticks of a range at which conditions hold: at all that follow each other at once.
    fn add_where(
        &mut self,
        Addend { when, added, .. }: &Addend,
        out: &Sum,
        (mut from, mut to): (usize, usize),
        backward: bool,
    ) -> Result<(), Suspect> {
        if when.is_empty() {
            return self.add(added, out, (from, to), backward);
        }
        while from < to {
            let holds = |i: &usize| self.holds(when, if backward { to - 1 - i } else { from + i });
            let n = to - from;
            let skipped = (0..n).find(holds).unwrap_or(n);
            let run = (skipped..n).take_while(holds).count();
            let ticks = if backward {
                (to - skipped - run, to - skipped)
            } else {
                (from + skipped, from + skipped + run)
            };
            if run > 0 {
                self.add(added, out, ticks, backward)?;
            }
            (from, to) = if backward { (from, ticks.0) } else { (ticks.1, to) };
        }
        Ok(())
    }

    /// Adds products of ticks, in the order of the ticks: at once, if their rows are stored one after the other.
    fn add_products(
        &mut self,
        [m, k, n]: [usize; 3],
        [a, b]: [Spot; 2],
        Sum { out, elements, .. }: &Sum,
        (from, to): (usize, usize),
        backward: bool,
    ) {
        let columns = elements.start / n.max(1)..elements.end / n.max(1);
        let joined = a.step == m * k && b.step == k * n;
        let s = Split::new(&mut self.arena.nums, out + elements.start, elements.len());
        if joined {
            let (k, back) = (k * (to - from), if backward { k } else { 0 });
            let (a, b) = (s.row(a.get(from), m * k), s.row(b.get(from), k * n));
            return N::add_outer([m, k, n], columns, a, b, back, s.out);
        }
        for t in (from..to).map(|t| if backward { to - 1 - (t - from) } else { t }) {
            let (a, b) = (s.row(a.get(t), m * k), s.row(b.get(t), k * n));
            N::add_outer([m, k, n], columns.clone(), a, b, 0, s.out);
        }
    }

    /// Adds products of a constant, which is all zeros, tick by tick.
    fn add_zeros(
        &mut self,
        [_, k, n]: [usize; 3],
        [a, b]: [Spot; 2],
        Sum { out, elements, .. }: &Sum,
        (from, to): (usize, usize),
        backward: bool,
    ) {
        for t in (from..to).map(|t| if backward { to - 1 - (t - from) } else { t }) {
            let s = Split::new(&mut self.arena.nums, out + elements.start, elements.len());
            N::product_of_zeros((k, n), s.row(a.get(t), k), s.row(b.get(t), k * n), s.out);
        }
    }

    fn add(
        &mut self,
        added: &Added,
        sum: &Sum,
        (from, to): (usize, usize),
        backward: bool,
    ) -> Result<(), Suspect> {
        let Sum { out, width, ref elements } = *sum;
        match added {
            Added::Outer([m, k, n], [a, b]) => {
                let spots = [self.spot(*a), self.spot(*b)];
                if self.code.data(*a).1.uniform && self.arena.nums[spots[0].get(from)] == N::default() {
                    self.add_zeros([*m, *k, *n], spots, sum, (from, to), backward);
                } else {
                    self.add_products([*m, *k, *n], spots, sum, (from, to), backward);
                }
            }
            Added::Rows(x, rows) => {
                let spot = self.spot(*x);
                for t in (from..to).map(|t| if backward { to - 1 - (t - from) } else { t }) {
                    self.arena.add_rows((out, width), elements, spot.get(t), *rows);
                }
            }
            Added::Made(instrs, x) => {
                let (code, spot) = (self.code, self.spot(*x));
                let all = spot.step > 0;
                if all {
                    code.instrs[instrs.clone()].iter().try_for_each(|i| self.instruction(i, from, to))?;
                }
                for t in (from..to).map(|t| if backward { to - 1 - (t - from) } else { t }) {
                    if !all {
                        code.instrs[instrs.clone()].iter().try_for_each(|i| self.instruction(i, t, t + 1))?;
                    }
                    self.arena.add_rows((out, width), elements, spot.get(t), 1);
                }
            }
        }
        Ok(())
    }
}

/// Adds rows of that many elements to a row, from an element of each on.
struct AddRows<'a, N> {
    out: &'a mut [N],
    all: &'a [N],
    width: usize,
    from: usize,
}

impl<N: Number> Task for AddRows<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { out, all, width, mut from } = self;
        let rest = add_tiles::<N, 16>(out, all, width, &mut from);
        let rest = add_tiles::<N, 4>(rest, all, width, &mut from);
        add_tiles::<N, 1>(rest, all, width, &mut from);
    }
}

/// Adds rows to a row, tile by tile; each tile stays in processor registers. Returns the rest of the row, and moves
/// `from` past the tiles.
#[inline(always)]
fn add_tiles<'a, N: Number, const TILE: usize>(
    out: &'a mut [N],
    all: &[N],
    width: usize,
    from: &mut usize,
) -> &'a mut [N] {
    let (tiles, rest) = out.as_chunks_mut::<TILE>();
    for tile in tiles {
        let mut sums = *tile;
        for row in all.chunks_exact(width) {
            let row = &row[*from..][..TILE];
            for j in 0..TILE {
                sums[j] += row[j];
            }
        }
        *tile = sums;
        *from += TILE;
    }
    rest
}

impl<N: Number> Arena<N> {
    /// Adds rows to some elements of a row.
    fn add_rows(&mut self, (out, width): (usize, usize), elements: &Range<usize>, from: usize, rows: usize) {
        let s = Split::new(&mut self.nums, out + elements.start, elements.len());
        let all = s.row(from, rows * width);
        rml_kernels::run(AddRows { out: s.out, all, width: width.max(1), from: elements.start });
    }

    fn reduce(
        &mut self,
        by: Reduction,
        dtype: DType,
        around: Around,
        out: usize,
        x: usize,
    ) -> Result<(), Suspect> {
        let (size, len) = (around.outer * around.n * around.inner, around.outer * around.inner);
        match (by, dtype) {
            (_, DType::Num) => {
                let s = Split::new(&mut self.nums, out, len);
                N::reduce(by, around, s.row(x, size), s.out);
            }
            (Reduction::Sum, _) => {
                let s = Split::new(&mut self.ints, out, len);
                slices::int_sum(around, s.row(x, size), s.out)?;
            }
            (Reduction::Max | Reduction::Min, _) => {
                let s = Split::new(&mut self.ints, out, len);
                slices::int_extreme(by == Reduction::Max, around, s.row(x, size), s.out);
            }
            (Reduction::Any | Reduction::All, _) => {
                let s = Split::new(&mut self.bools, out, len);
                slices::quantify(by == Reduction::All, around, s.row(x, size), s.out);
            }
            (Reduction::Mean | Reduction::Prod | Reduction::LogSumExp, _)
            | (Reduction::ArgMax | Reduction::ArgMin, _) => {
                unreachable!("{} of {dtype} is another kernel", by.name())
            }
        }
        Ok(())
    }

    /// One of `n` elements for each position that comes with the data.
    fn pick(
        &mut self,
        (dtype, n): (DType, usize),
        (out, width): (usize, usize),
        [a, b]: [usize; 2],
    ) -> Result<(), Suspect> {
        for i in 0..width {
            let from = a + i * n + within(self.ints[b + i], n)?;
            self.copy(dtype, out + i, from, 1);
        }
        Ok(())
    }

    /// Rows at positions that come with the data.
    fn gather(
        &mut self,
        dtype: DType,
        (around, count): (&Around, usize),
        out: usize,
        [a, b]: [usize; 2],
    ) -> Result<(), Suspect> {
        for block in 0..around.outer {
            for i in 0..count {
                let from = block * around.n + within(self.ints[b + i], around.n)?;
                let to = out + (block * count + i) * around.inner;
                self.copy(dtype, to, a + from * around.inner, around.inner);
            }
        }
        Ok(())
    }

    /// Rows, added up at positions that come with the data.
    fn scatter_add(
        &mut self,
        (around, count): (&Around, usize),
        (out, width): (usize, usize),
        [a, b]: [usize; 2],
    ) -> Result<(), Suspect> {
        self.nums.row_mut(out, width).fill(N::default());
        for block in 0..around.outer {
            for i in 0..count {
                let to = block * around.n + within(self.ints[a + i], around.n)?;
                let from = b + (block * count + i) * around.inner;
                self.add_rows((out + to * around.inner, around.inner), &(0..around.inner), from, 1);
            }
        }
        Ok(())
    }
}

/// A position below `n`.
fn within(i: i64, n: usize) -> Result<usize, Suspect> {
    usize::try_from(i).ok().filter(|i| *i < n).ok_or(Suspect)
}
