//! Sums of products of one row, and of other rows: one instruction, which reads the
//! matrices panel by panel and keeps the sums in registers. Streams, and training with one sequence at a time, spend
//! most of their time in them.

#[cfg(test)]
mod tests;

use rml_ir::op::{Binary, Op};
use rml_ir::{DType, Position, Positions};

use super::code::{At, Code, Instr, Kernel, Summand, Unit};
use super::operand::Arg;
use super::replace::{Found, replace};

/// A packed matrix has whole panels; one of so few columns would take more lines of the cache than where it is stored.
const NARROW: usize = 16;

/// Rows shorter than this are scalars, which have loops of their own.
const SHORT: usize = 4;

/// A sum of rows, from left to right.
#[derive(Clone, PartialEq, Default, Debug)]
struct Sum {
    summands: Vec<Summand>,
    args: Vec<Arg>,
    /// The units that it stands for, beside that of the last addition.
    units: Vec<usize>,
}

impl Sum {
    fn row(arg: Arg) -> Self {
        Self { summands: vec![Summand::Row], args: vec![arg], units: Vec::new() }
    }

    fn then(mut self, other: Self) -> Self {
        self.summands.extend(other.summands);
        self.args.extend(other.args);
        self.units.extend(other.units);
        self
    }
}

/// Finds sums with products of one row, each of which is needed nowhere else, and such products alone.
pub(super) fn fuse(code: &mut Code) {
    // Such plans do not run units by position, so fusing per position would be wrong.
    if code.waits || code.ahead > 0 || code.ending.is_some() {
        return;
    }
    let finder = Finder::new(code);
    let mut gone = vec![Positions::NONE; code.units.len()];
    let mut found: Vec<(usize, Positions, Sum)> = Vec::new();
    for unit in (0..code.units.len()).rev() {
        for p in Position::ALL {
            if gone[unit].contains(p) {
                continue;
            }
            let sum = finder.sum(unit, p).filter(|sum| sum.summands.iter().any(|s| *s != Summand::Row));
            let Some(sum) = sum.or_else(|| finder.alone(unit, p)) else { continue };
            sum.units.iter().chain([&unit]).for_each(|unit| gone[*unit] = gone[*unit].with(p));
            match found.iter_mut().find(|(own, _, other)| *own == unit && *other == sum) {
                Some((_, at, _)) => *at = at.with(p),
                None => found.push((unit, Positions::NONE.with(p), sum)),
            }
        }
    }
    let instr = |(unit, at, sum): (usize, Positions, Sum)| {
        let Instr { out, width, .. } = code.instrs[code.units[unit].instrs.start];
        (unit, at, Instr { kernel: Kernel::Rows(sum.summands), out, width, args: sum.args })
    };
    let found: Vec<Found> = found.into_iter().map(instr).collect();
    if !found.is_empty() {
        replace(code, &gone, found);
    }
}

struct Finder<'a> {
    code: &'a Code,
    /// The pass of each unit.
    pass: Vec<usize>,
    /// By slot: the units that fill it, and how many operands read it.
    fill: Vec<Vec<usize>>,
    reads: Vec<usize>,
}

impl<'a> Finder<'a> {
    fn new(code: &'a Code) -> Self {
        let n = code.slots.len();
        let mut finder =
            Self { code, pass: vec![0; code.units.len()], fill: vec![Vec::new(); n], reads: vec![0; n] };
        for (i, pass) in code.passes.iter().enumerate() {
            finder.pass[pass.units.clone()].fill(i);
        }
        for r in &code.refs {
            finder.reads[r.slot.0] += 1;
        }
        for instr in &code.instrs {
            finder.reads[code.refs[instr.out].slot.0] -= 1;
        }
        for (i, unit) in code.units.iter().enumerate() {
            for instr in &code.instrs[unit.instrs.clone()] {
                finder.fill[code.refs[instr.out].slot.0].push(i);
            }
        }
        finder
    }

    /// The only instruction of a unit that runs at a position, whatever the data. Of what runs over all ticks, that of
    /// windows of one tick, since more ticks are one product.
    fn instr(&self, unit: usize, p: Position) -> Option<&'a Instr> {
        let Unit { at, when, once, instrs, .. } = &self.code.units[unit];
        let pass = &self.code.passes[self.pass[unit]];
        let runs = at.contains(p) && when.is_empty() && !once && pass.by.is_empty();
        let [instr] = &self.code.instrs[instrs.clone()] else { return None };
        (runs && (!pass.over || p == Position::Only)).then_some(instr)
    }

    /// The sum that a unit ends, if it is an addition of rows.
    fn sum(&self, unit: usize, p: Position) -> Option<Sum> {
        let Instr { kernel: Kernel::Point(Op::Binary(Binary::Add), DType::Num, walk), args, .. } =
            self.instr(unit, p)?
        else {
            return None;
        };
        let n = walk.row.n;
        if !walk.outer.is_empty() || n < SHORT || walk.row.step[..3] != [1; 3] {
            return None;
        }
        let rows = [args[0], args[1]].map(Sum::row);
        let [left, right] = [args[0], args[1]].map(|arg| self.summands(arg, n, unit, p));
        let [row_left, row_right] = rows;
        // Additions go from left to right; both ways round they are the same.
        let sum = match (left, right) {
            (left, right) if right.summands.len() == 1 => left.then(right),
            (left, right) if left.summands.len() == 1 => right.then(left),
            (left, _) => left.then(row_right.clone()),
        };
        Some(if sum.summands.len() <= Summand::MOST { sum } else { row_left.then(row_right) })
    }

    /// A product of one row in a loop, which is a sum by itself.
    fn alone(&self, unit: usize, p: Position) -> Option<Sum> {
        let Instr { kernel: Kernel::Product([1, k, n], None), args, .. } = self.instr(unit, p)? else {
            return None;
        };
        let is_in_loop = !self.code.passes[self.pass[unit]].over;
        let summands = vec![Summand::Product(*k, None)];
        (is_in_loop && *n > NARROW).then(|| Sum { summands, args: args.clone(), units: Vec::new() })
    }

    /// An operand as what it is a sum of, if nothing else reads it.
    fn summands(&self, arg: Arg, n: usize, reader: usize, p: Position) -> Sum {
        let row = || Sum::row(arg);
        let Some(unit) = self.unit(arg, n, reader, p) else { return row() };
        let Some(instr) = self.instr(unit, p) else { return row() };
        let mut sum = match &instr.kernel {
            Kernel::Product([1, k, columns], None) if *columns == n => Sum {
                summands: vec![Summand::Product(*k, None)],
                args: instr.args.clone(),
                units: Vec::new(),
            },
            _ => match self.sum(unit, p) {
                Some(sum) => sum,
                None => return row(),
            },
        };
        sum.units.push(unit);
        sum
    }

    /// The unit that fills a row of `n` elements at a position, if that stands before its only reader, and runs when
    /// this does.
    fn unit(&self, arg: Arg, n: usize, reader: usize, p: Position) -> Option<usize> {
        let (r, data) = self.code.data(arg);
        let whole = r.at == At::Here(0) && r.offset == 0 && data.width == n;
        if !whole || data.kept || self.reads[r.slot.0] != 1 {
            return None;
        }
        let at = |unit: &&usize| self.code.units[**unit].at.contains(p);
        let mut fill = self.fill[r.slot.0].iter().filter(at);
        let (Some(unit), None) = (fill.next(), fill.next()) else { return None };
        let together = p == Position::Only || self.pass[*unit] == self.pass[reader];
        (*unit < reader && together).then_some(*unit)
    }
}

/// The matrices that an instruction multiplies with, which may be laid out for that: where they are, rows and columns,
/// and which pack each is.
pub(super) fn matrices(
    instr: &mut Instr,
    columns: impl Fn(Arg) -> usize,
) -> Vec<(Arg, [usize; 2], &mut Option<usize>)> {
    match &mut instr.kernel {
        Kernel::Product([_, k, n], pack) | Kernel::Further([_, k, n], pack) => {
            vec![(instr.args[1], [*k, *n], pack)]
        }
        Kernel::Rows(summands) => {
            let (n, mut at) = (columns(instr.out), 0);
            let mut found = Vec::new();
            for summand in summands {
                match summand {
                    Summand::Row => at += 1,
                    Summand::Product(k, pack) => {
                        if n > NARROW {
                            found.push((instr.args[at + 1], [*k, n], pack));
                        }
                        at += 2;
                    }
                }
            }
            found
        }
        _ => Vec::new(),
    }
}
