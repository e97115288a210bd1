//! Operators that compute element by element, and copies: at many ticks at once.

use rml_ir::DType;
use rml_ir::op::{Binary, Number, Op, slices};
use rml_kernels::transpose;

use super::Suspect;
use super::arena::{Arena, Split};
use super::code::Instr;
use super::link::{copy, map, select};
use super::run::Run;
use super::walk::{Dim, Laid, Steps, Walk};

impl<N: Number> Run<'_, N> {
    pub(super) fn point(
        &mut self,
        op: &Op,
        dtype: DType,
        walk: &Walk,
        instr: &Instr,
        from: usize,
        to: usize,
    ) -> Result<(), Suspect> {
        let (base, tick) = self.walk(instr, from);
        let arena = &mut *self.arena;
        if let (Op::Binary(f), DType::Num) = (op, dtype) {
            let laid = |i| walk.laid(i, to - from, tick);
            if let (Some(Laid::Whole), Some(a), Some(b)) = (laid(0), laid(1), laid(2)) {
                let size = [walk.outer[0].n * (to - from), walk.row.n];
                if arena.rows(*f, base, size, [a, b]) {
                    return Ok(());
                }
            }
        }
        walk.each(to - from, base, tick, &mut |at, row| arena.point(op, dtype, at, row))
    }

    pub(super) fn copy(
        &mut self,
        dtype: DType,
        walk: &Walk,
        instr: &Instr,
        from: usize,
        to: usize,
    ) -> Result<(), Suspect> {
        let (base, tick) = self.walk(instr, from);
        let Arena { nums, ints, bools } = &mut *self.arena;
        let laid = |i| walk.laid(i, to - from, tick);
        if let (DType::Num, Some(Laid::Whole), Some(Laid::Column)) = (dtype, laid(0), laid(1)) {
            let rows = walk.outer[0].n * (to - from);
            let s = Split::new(nums, base[0], rows * walk.row.n);
            repeat(s.row(base[1], rows), walk.row.n, s.out);
            return Ok(());
        }
        if let (DType::Num, Some(turn)) = (dtype, Turn::of(walk)) {
            for t in 0..to - from {
                let at = |i: usize| base[i].wrapping_add(tick[i].wrapping_mul(t));
                let s = Split::new(nums, at(0), turn.lens[0]);
                transpose(s.row(at(1), turn.lens[1]), turn.strides[1], s.out, turn.strides[0], turn.size);
            }
            return Ok(());
        }
        walk.each(to - from, base, tick, &mut |[to, from, ..], row| {
            match dtype {
                DType::Num => copy(nums, [to, from], &row),
                DType::Int => copy(ints, [to, from], &row),
                DType::Bool => copy(bools, [to, from], &row),
            }
            Ok(())
        })
    }
}

/// The size of the buffer in which a column operand is expanded, so that an operator works on long rows.
const REPEATED: usize = 256;

impl<N: Number> Arena<N> {
    /// Computes a binary function on consecutive rows at once. Returns false and does nothing if separate rows are
    /// faster.
    fn rows(&mut self, f: Binary, [o, a, b, _]: Steps, [rows, width]: [usize; 2], laid: [Laid; 2]) -> bool {
        let all = rows * width;
        let (column, other) = match laid {
            [Laid::Column, Laid::Column] => return false,
            [Laid::Column, other] => (a, (b, other)),
            [other, Laid::Column] => (b, (a, other)),
            [Laid::Row, Laid::Row] => return false,
            _ => {
                let s = Split::new(&mut self.nums, o, all);
                let len = |laid| if laid == Laid::Row { width } else { all };
                N::binary(f, s.row(a, len(laid[0])), s.row(b, len(laid[1])), s.out);
                return true;
            }
        };
        if width > REPEATED / 2 {
            return false;
        }
        let mut repeated = [N::default(); REPEATED];
        let together = REPEATED / width;
        for from in (0..rows).step_by(together) {
            let (rows, at) = (together.min(rows - from), from * width);
            let s = Split::new(&mut self.nums, o + at, rows * width);
            let x = &mut repeated[..rows * width];
            repeat(s.row(column + from, rows), width, x);
            let y = match other {
                (row, Laid::Row) => s.row(row, width),
                (whole, _) => s.row(whole + at, rows * width),
            };
            let (x, y): (&[N], &[N]) = if laid[0] == Laid::Column { (x, y) } else { (y, x) };
            N::binary(f, x, y, s.out);
        }
        true
    }

    /// A row of an operator that computes element by element.
    pub(super) fn point(
        &mut self,
        op: &Op,
        dtype: DType,
        [o, a, b, c]: [usize; 4],
        row: Dim,
    ) -> Result<(), Suspect> {
        let n = row.n;
        let len = |step: usize| if step == 0 { n.min(1) } else { n };
        let [_, la, lb, lc] = row.step;
        let (la, lb, lc) = (len(la), len(lb), len(lc));
        let Arena { nums, ints, bools } = self;
        match (op, dtype) {
            (Op::Where, DType::Num) => {
                let s = Split::new(nums, o, n);
                select(bools.row(a, la), s.row(b, lb), s.row(c, lc), s.out);
            }
            (Op::Where, DType::Int) => {
                let s = Split::new(ints, o, n);
                select(bools.row(a, la), s.row(b, lb), s.row(c, lc), s.out);
            }
            (Op::Where, DType::Bool) => {
                let s = Split::new(bools, o, n);
                select(s.row(a, la), s.row(b, lb), s.row(c, lc), s.out);
            }
            (Op::Compare(how), DType::Num) => {
                slices::compare(*how, nums.row(a, la), nums.row(b, lb), bools.row_mut(o, n));
            }
            (Op::Compare(how), DType::Int) => {
                slices::compare(*how, ints.row(a, la), ints.row(b, lb), bools.row_mut(o, n));
            }
            (Op::Compare(how), DType::Bool) => {
                let s = Split::new(bools, o, n);
                slices::compare(*how, s.row(a, la), s.row(b, lb), s.out);
            }
            (Op::And | Op::Or, _) => {
                let s = Split::new(bools, o, n);
                slices::logic(*op == Op::And, s.row(a, la), s.row(b, lb), s.out);
            }
            (Op::Not, _) => {
                let s = Split::new(bools, o, n);
                map(s.row(a, la), s.out, |x: bool| !x);
            }
            (Op::Convert(DType::Num), DType::Bool) => {
                let one = |x| if x { N::ONE } else { N::default() };
                map(bools.row(a, la), nums.row_mut(o, n), one);
            }
            (Op::Convert(DType::Num), DType::Int) => map(ints.row(a, la), nums.row_mut(o, n), N::of_int),
            (Op::Convert(DType::Int), DType::Bool) => map(bools.row(a, la), ints.row_mut(o, n), i64::from),
            (Op::Convert(DType::Int), DType::Num) => {
                for i in 0..n {
                    ints[o + i] = nums[if la == 1 { a } else { a + i }].to_int().ok_or(Suspect)?;
                }
            }
            (Op::Convert(DType::Bool), DType::Int) => map(ints.row(a, la), bools.row_mut(o, n), |x| x != 0),
            (Op::Convert(DType::Bool), DType::Num) => {
                map(nums.row(a, la), bools.row_mut(o, n), |x| x != N::default())
            }
            (Op::Unary(f), DType::Int) => {
                for i in 0..n {
                    ints[o + i] = slices::int_unary(*f, ints[if la == 1 { a } else { a + i }])?;
                }
            }
            (Op::Binary(f), DType::Int) => {
                for i in 0..n {
                    let at = |at: usize, len: usize| at + if len == 1 { 0 } else { i };
                    ints[o + i] = slices::int_binary(*f, ints[at(a, la)], ints[at(b, lb)])?;
                }
            }
            (Op::Binary(f), _) => {
                let s = Split::new(nums, o, n);
                N::binary(*f, s.row(a, la), s.row(b, lb), s.out);
            }
            (Op::Unary(f), _) => {
                let s = Split::new(nums, o, n);
                let x = s.row(a, la);
                N::unary(*f, x, &mut s.out[..la]);
                if let ([first, rest @ ..], 1) = (s.out, la) {
                    rest.fill(*first);
                }
            }
            (other, _) => unreachable!("{other} is not pointwise"),
        }
        Ok(())
    }
}

/// A copy whose rows are columns of the operand.
struct Turn {
    /// Rows and columns of the result.
    size: [usize; 2],
    /// The row strides of the result and of the operand, and how many elements each of the two spans.
    strides: [usize; 2],
    lens: [usize; 2],
}

impl Turn {
    fn of(walk: &Walk) -> Option<Self> {
        let [outer] = &walk.outer[..] else { return None };
        let (rows, columns) = (outer.n, walk.row.n);
        let strides = [outer.step[0], walk.row.step[1]];
        // Strides that go backwards are huge.
        let is_turned = [walk.row.step[0], outer.step[1]] == [1, 1]
            && (columns..usize::MAX / 2).contains(&strides[0])
            && (rows..usize::MAX / 2).contains(&strides[1]);
        let span = |n: usize, stride: usize, row: usize| (n - 1) * stride + row;
        is_turned.then(|| Self {
            size: [rows, columns],
            strides,
            lens: [span(rows, strides[0], columns), span(columns, strides[1], rows)],
        })
    }
}

/// Each element that many times.
fn repeat<T: Copy>(x: &[T], times: usize, out: &mut [T]) {
    fn by<T: Copy, const TIMES: usize>(x: &[T], out: &mut [T]) {
        out.as_chunks_mut().0.iter_mut().zip(x).for_each(|(out, x)| *out = [*x; TIMES]);
    }
    match times {
        2 => by::<T, 2>(x, out),
        3 => by::<T, 3>(x, out),
        4 => by::<T, 4>(x, out),
        _ => out.chunks_exact_mut(times.max(1)).zip(x).for_each(|(out, x)| out.fill(*x)),
    }
}
