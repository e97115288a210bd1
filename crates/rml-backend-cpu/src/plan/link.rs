//! Consecutive element-wise operators are links of a chain. One loop runs a chain at a tick; it is compiled as a whole
//! for the vector instructions of the machine, so short rows have little overhead.

use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Number, Op, Unary};
use rml_kernels::Task;

use super::arena::{Arena, Split};
use super::cells::Cells;
use super::code::Kernel;
use super::list::Lister;
use super::listed::{Does, Link};
use super::scalar::Spot;
use super::walk::{Dim, Steps};

/// A link with the places of its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linked {
    pub(super) does: Does,
    /// The result, and the operands.
    pub(super) at: [Spot; 4],
    pub(super) rows: Dim,
    pub(super) row: Dim,
}

impl Linked {
    pub(super) fn new(link: &Link, spots: &[Spot]) -> Self {
        let at = link.args.map(|arg| arg.map_or_else(Spot::default, |arg| spots[arg]));
        Self { does: link.does, at, rows: link.rows, row: link.row }
    }
}

impl Lister<'_> {
    /// The link that computes the same as an instruction, if there is one.
    pub(super) fn link(&mut self, unit: usize, i: usize) -> Option<Link> {
        let instr = &self.code.instrs[i];
        let (Kernel::Point(_, _, walk) | Kernel::Copy(_, walk)) = &instr.kernel else {
            return None;
        };
        let (rows, row) = match walk.outer[..] {
            [] => (Dim { n: 1, step: [0; 4] }, walk.row),
            [rows] => (rows, walk.row),
            _ => return None,
        };
        let arg = |i: usize| instr.args.get(i).copied();
        let args = [Some(instr.out), arg(0), arg(1), arg(2)];
        let does = match &instr.kernel {
            Kernel::Point(op, dtype, _) => Self::does(op, *dtype)?,
            Kernel::Copy(DType::Num, _) => Does::CopyNum,
            Kernel::Copy(DType::Bool, _) => Does::CopyBool,
            _ => return None,
        };
        Some(Link { unit, does, args, rows, row })
    }

    /// None if there is no link for the operator; most operators on ints have none.
    fn does(op: &Op, dtype: DType) -> Option<Does> {
        Some(match (op, dtype) {
            (Op::Unary(f), DType::Num) => match f {
                Unary::Neg => Does::Neg,
                Unary::Flush => Does::Flush,
                Unary::Sigmoid => Does::Sigmoid,
                Unary::Tanh => Does::Tanh,
                other => Does::Unary(*other),
            },
            (Op::Binary(f), DType::Num) => match f {
                Binary::Add => Does::Add,
                Binary::Sub => Does::Sub,
                Binary::Mul => Does::Mul,
                Binary::Div => Does::Div,
                other => Does::Binary(*other),
            },
            (Op::Compare(by), DType::Num) => match by {
                Compare::Lt => Does::Lt,
                Compare::Le => Does::Le,
                Compare::Gt => Does::Gt,
                Compare::Ge => Does::Ge,
                Compare::Eq | Compare::Ne => return None,
            },
            (Op::Where, DType::Num) => Does::Where,
            (Op::Where, DType::Bool) => Does::WhereBool,
            (Op::And, _) => Does::And,
            (Op::Or, _) => Does::Or,
            (Op::Not, _) => Does::Not,
            (Op::Convert(DType::Num), DType::Bool) => Does::NumOfBool,
            (Op::Convert(DType::Num), DType::Int) => Does::NumOfInt,
            (Op::Convert(DType::Int), DType::Bool) => Does::IntOfBool,
            _ => return None,
        })
    }
}

/// Links at a tick.
pub(super) struct Chain<'a, N> {
    pub(super) links: &'a [Linked],
    pub(super) arena: &'a mut Arena<N>,
    pub(super) t: usize,
}

impl<N: Number> Task for Chain<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Chain { links, arena, t } = self;
        for link in links {
            let [o, a, b, c] = &link.at;
            let mut at = [o.get(t), a.get(t), b.get(t), c.get(t)];
            for _ in 0..link.rows.n {
                row(link.does, arena, at, &link.row);
                let [o, a, b, c] = &mut at;
                let [far, far_a, far_b, far_c] = link.rows.step;
                (*o, *a) = (o.wrapping_add(far), a.wrapping_add(far_a));
                (*b, *c) = (b.wrapping_add(far_b), c.wrapping_add(far_c));
            }
        }
    }
}

#[inline(always)]
fn row<N: Number>(does: Does, arena: &mut Arena<N>, [o, a, b, c]: Steps, row: &Dim) {
    let n = row.n;
    let Arena { nums, ints, bools } = arena;
    // How many elements an operand has.
    let [_, la, lb, lc] = row.step;
    let len = |step: usize| if step == 0 { n.min(1) } else { n };
    macro_rules! arithmetic {
        ($f:expr) => {{
            let s = Split::new(nums, o, n);
            zip(s.row(a, len(la)), s.row(b, len(lb)), s.out, $f)
        }};
    }
    macro_rules! comparison {
        ($f:expr) => {
            zip(nums.row(a, len(la)), nums.row(b, len(lb)), bools.row_mut(o, n), $f)
        };
    }
    macro_rules! logic {
        ($f:expr) => {{
            let s = Split::new(bools, o, n);
            zip(s.row(a, len(la)), s.row(b, len(lb)), s.out, $f)
        }};
    }
    macro_rules! function {
        ($f:expr) => {{
            let s = Split::new(nums, o, n);
            let x = s.row(a, len(la));
            $f(x, &mut s.out[..x.len()]);
            if let [first, rest @ ..] = s.out
                && x.len() == 1
            {
                rest.fill(*first);
            }
        }};
    }
    match does {
        Does::Add => arithmetic!(|x, y| x + y),
        Does::Sub => arithmetic!(|x, y| x - y),
        Does::Mul => arithmetic!(|x, y| x * y),
        Does::Div => arithmetic!(|x, y| x / y),
        Does::Neg => {
            let s = Split::new(nums, o, n);
            map(s.row(a, len(la)), s.out, |x| -x);
        }
        Does::Flush => {
            let s = Split::new(nums, o, n);
            map(s.row(a, len(la)), s.out, N::flush);
        }
        Does::Lt => comparison!(|x, y| x < y),
        Does::Le => comparison!(|x, y| x <= y),
        Does::Gt => comparison!(|x, y| x > y),
        Does::Ge => comparison!(|x, y| x >= y),
        Does::And => logic!(|x, y| x & y),
        Does::Or => logic!(|x, y| x | y),
        Does::Not => {
            let s = Split::new(bools, o, n);
            map(s.row(a, len(la)), s.out, |x: bool| !x);
        }
        Does::Where => {
            let s = Split::new(nums, o, n);
            select(bools.row(a, len(la)), s.row(b, len(lb)), s.row(c, len(lc)), s.out);
        }
        Does::WhereBool => {
            let s = Split::new(bools, o, n);
            select(s.row(a, len(la)), s.row(b, len(lb)), s.row(c, len(lc)), s.out);
        }
        Does::NumOfBool => {
            let one = |x| if x { N::ONE } else { N::default() };
            map(bools.row(a, len(la)), nums.row_mut(o, n), one);
        }
        Does::NumOfInt => map(ints.row(a, len(la)), nums.row_mut(o, n), N::of_int),
        Does::IntOfBool => map(bools.row(a, len(la)), ints.row_mut(o, n), i64::from),
        Does::CopyNum => copy(nums, [o, a], row),
        Does::CopyBool => copy(bools, [o, a], row),
        Does::Sigmoid => function!(N::sigmoid),
        Does::Tanh => function!(N::tanh),
        Does::Unary(f) => function!(|x, out: &mut [N]| N::unary(f, x, out)),
        Does::Binary(f) => {
            let s = Split::new(nums, o, n);
            N::binary(f, s.row(a, len(la)), s.row(b, len(lb)), s.out);
        }
    }
}

/// Elements that are computed together, in rows that have as many, and in shorter ones.
const BLOCK: usize = 16;
const SHORT: usize = 4;

// Loops go by index, since iterators over several slices are not always inlined into a function this large, and blocks
// are written as a whole, so that the compiler sees that no result is an operand of the next element.

/// Fills a row, by blocks if it has as many elements. The last block ends where the row does, so that some elements may
/// be computed twice. Operands are rows as long; closures would not always be inlined here.
macro_rules! fill {
    ($out:expr, [$($x:ident),*], $j:ident => $value:expr) => {{
        let out = $out;
        match out.len() {
            BLOCK.. => fill!(BLOCK, out, [$($x),*], $j => $value),
            SHORT.. => fill!(SHORT, out, [$($x),*], $j => $value),
            1.. => fill!(1, out, [$($x),*], $j => $value),
            0 => {}
        }
    }};
    ($k:expr, $out:ident, [$($x:ident),*], $j:ident => $value:expr) => {{
        // All lengths are compared here, so the loop compares none.
        $(let $x = &$x[..$out.len()];)*
        {
            $(let $x = $x.as_chunks::<{ $k }>().0;)*
            for (i, block) in $out.as_chunks_mut::<{ $k }>().0.iter_mut().enumerate() {
                $(let $x = $x[i];)*
                let mut y = *block;
                for $j in 0..$k {
                    y[$j] = $value;
                }
                *block = y;
            }
        }
        if !$out.len().is_multiple_of($k)
            && let Some(block) = $out.last_chunk_mut::<{ $k }>()
        {
            $(let $x = $x.last_chunk::<{ $k }>().map_or([$x[0]; $k], |x| *x);)*
            let mut y = *block;
            for $j in 0..$k {
                y[$j] = $value;
            }
            *block = y;
        }
    }};
}

#[inline(always)]
pub(super) fn map<A: Copy, B: Copy>(x: &[A], out: &mut [B], f: impl Fn(A) -> B) {
    match x {
        [x] => out.fill(f(*x)),
        _ => fill!(out, [x], j => f(x[j])),
    }
}

#[inline(always)]
fn zip<A: Copy, B: Copy>(a: &[A], b: &[A], out: &mut [B], f: impl Fn(A, A) -> B) {
    match (a, b) {
        ([a], _) => {
            let a = *a;
            map(b, out, |b| f(a, b));
        }
        (_, [b]) => {
            let b = *b;
            map(a, out, |a| f(a, b));
        }
        _ => fill!(out, [a, b], j => f(a[j], b[j])),
    }
}

#[inline(always)]
pub(super) fn select<A: Copy>(cond: &[bool], then: &[A], other: &[A], out: &mut [A]) {
    match (cond, then, other) {
        ([cond], ..) => map(if *cond { then } else { other }, out, |x| x),
        (_, [then], [other]) => {
            let (then, other) = (*then, *other);
            map(cond, out, |cond| if cond { then } else { other });
        }
        (_, [then], _) => {
            let then = *then;
            fill!(out, [cond, other], j => if cond[j] { then } else { other[j] });
        }
        (_, _, [other]) => {
            let other = *other;
            fill!(out, [cond, then], j => if cond[j] { then[j] } else { other });
        }
        _ => fill!(out, [cond, then, other], j => if cond[j] { then[j] } else { other[j] }),
    }
}

/// A row of elements as they are.
#[inline(always)]
pub(super) fn copy<T: Copy>(all: &mut Cells<T>, [to, from]: [usize; 2], row: &Dim) {
    match row.step {
        [1, 1, ..] => all.copy_within(from, row.n, to),
        [1, 0, ..] => {
            let x = all[from];
            all.row_mut(to, row.n).fill(x);
        }
        [to_step, from_step, ..] => {
            let (mut to, mut from) = (to, from);
            for _ in 0..row.n {
                all[to] = all[from];
                (to, from) = (to.wrapping_add(to_step), from.wrapping_add(from_step));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links give the bits of the operators that they stand for, for rows of all kinds of lengths.
    #[test]
    fn links_compute_what_their_operators_do() {
        let of_num =
            rml_ir::op::samples().into_iter().map(|(op, types)| (op, types.last().map(|ty| ty.dtype)));
        let mut linked: Vec<(Op, DType, Does)> = Vec::new();
        for (op, dtype) in of_num.filter_map(|(op, dtype)| Some((op, dtype?))) {
            let is_new = linked.iter().all(|(other, of, _)| (other, *of) != (&op, dtype));
            if let (Some(does), true) = (Lister::does(&op, dtype), is_new) {
                linked.push((op, dtype, does));
            }
        }
        assert!(linked.len() > 35, "{linked:?}");
        for (op, dtype, does) in linked {
            for n in [1, 2, 15, 16, 17, 50] {
                // Rows of each operand: as long as the result, or one element, which all rows share or not.
                for kinds in 0..27 {
                    let kind = |i: u32| kinds / 3_usize.pow(i) % 3;
                    let [step, far] = [[1, 0, 0], [n, 0, 1]].map(|of| [0, 1, 2].map(|i| of[kind(i)]));
                    let dim = |n, out, [a, b, c]: [usize; 3]| Dim { n, step: [out, a, b, c] };
                    let (rows, row) = (dim(3, n, far), dim(n, 1, step));
                    let at = [0, 200, 400, 600].map(|at| Spot { at, step: 1 });
                    compare(&op, dtype, Linked { does, at, rows, row });
                }
            }
        }
    }

    fn compare(op: &Op, dtype: DType, link: Linked) {
        let mut arena = Arena::<f32>::new();
        arena.reserve([800; 3]);
        for i in 0_u16..800 {
            let at = usize::from(i);
            arena.nums[at] = f32::from(i * 37 % 101) / 8.0 - 5.0;
            arena.ints[at] = i64::from(i * 31 % 17) - 8;
            arena.bools[at] = i * 7 % 5 < 2;
        }
        let mut wanted = copied(&arena);
        let t = 2;
        for i in 0..link.rows.n {
            let at = std::array::from_fn(|j| link.at[j].get(t) + i * link.rows.step[j]);
            wanted.point(op, dtype, at, link.row).expect("it has a result");
        }
        rml_kernels::run(Chain { links: &[link], arena: &mut arena, t });
        let bits = |arena: &Arena<f32>| arena.nums.all().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let same = bits(&arena) == bits(&wanted)
            && arena.ints.all() == wanted.ints.all()
            && arena.bools.all() == wanted.bools.all();
        assert!(same, "{op:?} {link:?}");
    }

    fn copied(arena: &Arena<f32>) -> Arena<f32> {
        let mut copy = Arena::new();
        copy.reserve([800; 3]);
        copy.nums.all_mut().copy_from_slice(arena.nums.all());
        copy.ints.all_mut().copy_from_slice(arena.ints.all());
        copy.bools.all_mut().copy_from_slice(arena.bools.all());
        copy
    }
}
