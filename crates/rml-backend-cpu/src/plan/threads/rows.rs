//! Finds instructions that compute row by row, and restricts them to some of the rows.
//!
//! A value of `R` rows is cut in place: row `r` of a place of `w` elements is the `w / R` elements that begin at
//! `r w / R`. An instruction computes row by row if row `r` of its result depends only on row `r` of the values
//! computed in the same loop, and on values that are only read.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::code::{Code, Instr, Kernel};
use super::super::operand::Arg;
use super::super::walk::{Dim, Walk};

/// The elements of an operand that an instruction touches in row `r`: `len` elements from `r * step` on.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Reach {
    step: usize,
    len: usize,
}

/// Into how many parts an instruction can be cut at most; none if it cannot.
fn most(instr: &Instr) -> Option<usize> {
    let n = match &instr.kernel {
        Kernel::Point(_, _, walk) | Kernel::Copy(_, walk) => walk.outer.first().unwrap_or(&walk.row).n,
        Kernel::Product([m, ..], _) | Kernel::Further([m, ..], _) => *m,
        Kernel::Products(times, _) => *times,
        Kernel::Reduce(_, _, around) => around.outer,
        Kernel::Softmax(_, columns) => instr.width / (*columns).max(1),
        Kernel::Choose(_) | Kernel::Read(..) | Kernel::Clear(_) => instr.width,
        Kernel::Convolve(by) => by.examples()?,
        _ => return None,
    };
    (n > 1).then_some(n)
}

/// The elements that an instruction touches in each of `rows` rows: of its result, then of its operands.
fn reaches(instr: &Instr, rows: usize) -> Option<Vec<Reach>> {
    let n = most(instr).filter(|n| n % rows == 0)? / rows;
    let each = |len: usize| Reach { step: n * len, len: n * len };
    let width = instr.width / rows;
    Some(match &instr.kernel {
        Kernel::Point(_, _, walk) | Kernel::Copy(_, walk) => {
            (0..=instr.args.len()).map(|i| walked(walk, i, n)).collect::<Option<_>>()?
        }
        Kernel::Product([_, k, columns], _) => {
            vec![each(*columns), each(*k), Reach { step: 0, len: k * columns }]
        }
        Kernel::Further([_, k, columns], _) => {
            vec![each(*columns), each(*k), Reach { step: 0, len: k * columns }, each(*columns)]
        }
        Kernel::Products(_, [m, k, columns]) => vec![each(m * columns), each(m * k), each(k * columns)],
        Kernel::Reduce(_, _, around) => vec![each(around.inner), each(around.n * around.inner)],
        Kernel::Softmax(_, columns) => vec![each(*columns); 2],
        Kernel::Convolve(by) => {
            let (examples, [out, x, kernel]) = (by.examples()?, by.sizes());
            vec![each(out / examples), each(x / examples), Reach { step: 0, len: kernel }]
        }
        Kernel::Choose(_) => {
            let conds = std::iter::repeat_n(Reach { step: 0, len: 1 }, instr.args.len() - 2);
            let row = Reach { step: width, len: width };
            std::iter::once(row).chain(conds).chain([row; 2]).collect()
        }
        Kernel::Read(..) | Kernel::Clear(_) => {
            vec![Reach { step: width, len: width }; instr.args.len() + 1]
        }
        _ => return None,
    })
}

/// The elements of an operand that a walk touches in `n` steps of its outermost loop.
fn walked(walk: &Walk, i: usize, n: usize) -> Option<Reach> {
    let (first, inner) = match walk.outer.split_first() {
        Some((first, rest)) => (first, Some(rest.iter().chain([&walk.row]))),
        None => (&walk.row, None),
    };
    // Strides that go backwards are huge.
    let far = |n: usize, dim: &Dim| n.checked_sub(1)?.checked_mul(dim.step[i]);
    let mut len = 1 + far(n, first)?;
    for dim in inner.into_iter().flatten() {
        len = len.checked_add(far(dim.n, dim)?)?;
    }
    Some(Reach { step: n.checked_mul(first.step[i])?, len: (len < usize::MAX / 2).then_some(len)? })
}

/// The same kernel for that many of `rows` rows.
fn kernel(kernel: &Kernel, rows: usize, some: usize) -> Kernel {
    let mut kernel = kernel.clone();
    let cut = |n: &mut usize| *n = *n / rows * some;
    match &mut kernel {
        Kernel::Point(_, _, walk) | Kernel::Copy(_, walk) => match walk.outer.first_mut() {
            Some(first) => cut(&mut first.n),
            None => cut(&mut walk.row.n),
        },
        Kernel::Product([m, ..], _) | Kernel::Further([m, ..], _) => cut(m),
        Kernel::Products(times, _) => cut(times),
        Kernel::Reduce(_, _, around) => cut(&mut around.outer),
        Kernel::Convolve(by) => {
            if let Some(mut examples) = by.examples() {
                cut(&mut examples);
                by.set_examples(examples);
            }
        }
        _ => {}
    }
    kernel
}

/// The number of rows that all units compute independently of each other; none if there is no such number.
pub(super) fn rows(code: &Code, units: Range<usize>, least: usize) -> Option<usize> {
    let instrs = || code.units[units.clone()].iter().flat_map(|unit| &code.instrs[unit.instrs.clone()]);
    let candidates = instrs().map(most).collect::<Option<BTreeSet<usize>>>()?;
    let rows = candidates.first().copied().filter(|rows| *rows >= least)?;
    let written: BTreeSet<usize> = instrs().map(|instr| code.refs[instr.out].slot.0).collect();
    let is_written = |arg: Arg| written.contains(&code.refs[arg].slot.0);
    let is_whole = |arg: Arg, reach: &Reach| {
        let (r, data) = code.data(arg);
        let row = data.width / rows;
        data.width.is_multiple_of(rows) && reach.step == row && r.offset + reach.len <= row
    };
    let fits = |instr: &Instr| {
        reaches(instr, rows).is_some_and(|reaches| {
            let args = std::iter::once(instr.out).chain(instr.args.iter().copied());
            args.zip(&reaches).all(|(arg, reach)| !is_written(arg) || is_whole(arg, reach))
        })
    };
    let conds = code.units[units.clone()].iter().flat_map(|unit| &unit.when);
    (instrs().all(fits) && conds.into_iter().all(|guard| !is_written(guard.cond))).then_some(rows)
}

/// Restricts the instructions of a unit to the rows `some` of `rows`. Places in `own` begin with the first of these
/// rows, other places with row 0. For each operand added, `origins` gets the operand that it comes from.
pub(super) fn cut(
    (code, origins): (&mut Code, &mut Vec<Arg>),
    unit: usize,
    rows: usize,
    some: &Range<usize>,
    own: &[bool],
) {
    for i in code.units[unit].instrs.clone() {
        let Some(reaches) = reaches(&code.instrs[i], rows) else { continue };
        let mut shifted = |arg: Arg, reach: &Reach| {
            let mut r = code.refs[arg];
            if !own[r.slot.0] {
                r.offset += some.start * reach.step;
            }
            code.refs.push(r);
            origins.push(origins[arg]);
            code.refs.len() - 1
        };
        let instr = &code.instrs[i];
        let out = shifted(instr.out, &reaches[0]);
        let args = instr.args.clone().into_iter().zip(&reaches[1..]).map(|(arg, reach)| shifted(arg, reach));
        let args = args.collect();
        let instr = &mut code.instrs[i];
        (instr.out, instr.args) = (out, args);
        instr.width = instr.width / rows * some.len();
        instr.kernel = kernel(&instr.kernel, rows, some.len());
    }
}
