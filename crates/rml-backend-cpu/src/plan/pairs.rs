//! Finds arithmetic operators, one of which alone takes what the other gives.

#[cfg(test)]
mod tests;

use rml_ir::{DType, Position, Positions};

use super::code::{At, Code, Instr, Kernel};
use super::operand::Arg;
use super::pair::{Arith, Pair};
use super::replace::{Found, replace};
use super::walk::{Dim, Walk};

/// Rows shorter than this are as quick one by one.
const SHORT: usize = 16;

/// Over all ticks, operators on more elements than this run by themselves, as those of an optimiser do; others are lists.
const LONG: usize = 1024;

/// Makes pairs of operators one instruction, before places are given.
pub(super) fn fuse(code: &mut Code) {
    // There, units run at other ticks than lists say.
    if code.waits || code.ahead > 0 || code.ending.is_some() {
        return;
    }
    let uses = Uses::new(code);
    let mut gone = vec![Positions::NONE; code.units.len()];
    let mut found: Vec<Found> = Vec::new();
    for pass in (0..code.passes.len()).filter(|k| code.passes[*k].by.is_empty()) {
        for p in Position::ALL {
            for (first, second, instr) in uses.pairs(pass, p) {
                for unit in [first, second] {
                    gone[unit] = gone[unit].with(p);
                }
                let same = |(unit, _, other): &&mut Found| *unit == second && other.args == instr.args;
                match found.iter_mut().find(same) {
                    Some((_, at, _)) => *at = at.with(p),
                    None => found.push((second, Positions::NONE.with(p), instr)),
                }
            }
        }
    }
    if !found.is_empty() {
        replace(code, &gone, found);
    }
}

/// Who fills a place, and who reads it at the same tick.
#[derive(Clone, Default)]
struct Use {
    fill: Vec<usize>,
    read: Vec<usize>,
    /// Whether something else has to do with it: another tick, a part of it, what is no unit.
    others: bool,
}

struct Uses<'a> {
    code: &'a Code,
    /// By place.
    uses: Vec<Use>,
}

impl<'a> Uses<'a> {
    fn new(code: &'a Code) -> Self {
        let mut uses = vec![Use::default(); code.slots.len()];
        let mut is_known = vec![false; code.refs.len()];
        for (i, unit) in code.units.iter().enumerate() {
            for instr in &code.instrs[unit.instrs.clone()] {
                is_known[instr.out] = true;
                uses[code.refs[instr.out].slot.0].fill.push(i);
                for arg in &instr.args {
                    is_known[*arg] = true;
                    uses[code.refs[*arg].slot.0].read.push(i);
                }
            }
        }
        for (r, is_known) in code.refs.iter().zip(is_known) {
            uses[r.slot.0].others |= !is_known || r.at != At::Here(0) || r.offset > 0;
        }
        Self { code, uses }
    }

    /// The pairs of a pass at a position: both units, and the instruction that stands for them. An operator is in one of them at most; from
    /// first to last, so that a line of operators is all pairs.
    fn pairs(&self, pass: usize, p: Position) -> Vec<(usize, usize, Instr)> {
        let units = self.code.passes[pass].units.clone();
        let mut taken = vec![false; units.len()];
        let mut pairs = Vec::new();
        for second in units.clone() {
            let found = [0, 1].into_iter().find_map(|at| {
                let instr = self.arithmetic(second, p)?.0;
                let first = self.only(*instr.args.get(at)?, pass, p)?;
                let is_free = first < second && !taken[first - units.start];
                let is_free = is_free && (!self.code.passes[pass].over || instr.width > LONG);
                Some((first, self.pair(first, second, at, p).filter(|_| is_free)?))
            });
            if let Some((first, instr)) = found {
                taken[first - units.start] = true;
                taken[second - units.start] = true;
                pairs.push((first, second, instr));
            }
        }
        pairs
    }

    /// The instruction of a unit that is one arithmetic operator at a position, whatever the data.
    fn arithmetic(&self, unit: usize, p: Position) -> Option<(&'a Instr, Arith, &'a Walk)> {
        let unit = &self.code.units[unit];
        let [instr] = &self.code.instrs[unit.instrs.clone()] else { return None };
        let Kernel::Point(op, DType::Num, walk) = &instr.kernel else { return None };
        let runs = unit.at.contains(p) && unit.when.is_empty() && !unit.once;
        Some((instr, Arith::of(op).filter(|_| runs)?, walk))
    }

    /// The unit that fills an operand at a position, if one operand alone reads it there, and nothing does in another pass or at another tick.
    fn only(&self, arg: Arg, pass: usize, p: Position) -> Option<usize> {
        let (r, data) = self.code.data(arg);
        let Use { fill, read, others } = &self.uses[r.slot.0];
        let units = &self.code.passes[pass].units;
        let runs = |unit: &&usize| self.code.units[**unit].at.contains(p);
        let mut fillers = fill.iter().filter(runs);
        let is_near = !others && !data.kept && fill.iter().chain(read).all(|unit| units.contains(unit));
        match (fillers.next(), fillers.next()) {
            (Some(unit), None) if is_near && read.iter().filter(runs).count() == 1 => Some(*unit),
            _ => None,
        }
    }

    fn pair(&self, first: usize, second: usize, at: usize, p: Position) -> Option<Instr> {
        let (one, op, walk) = self.arithmetic(first, p)?;
        let (two, next, around) = self.arithmetic(second, p)?;
        let pair = Pair::new(op, next, at)?;
        let walk = joined(walk, around, at)?;
        let args = vec![one.args[0], one.args[1], two.args[1 - at]];
        Some(Instr { kernel: Kernel::Pair(pair, walk), out: two.out, width: two.width, args })
    }
}

/// The walk of a pair, whose second operator walks over the whole result of the first one as its operand `at`.
fn joined(first: &Walk, second: &Walk, at: usize) -> Option<Walk> {
    let [first_rows, second_rows] = [first, second].map(|walk| match walk.outer[..] {
        [] => Some((Dim { n: 1, step: walk.row.step.map(|step| step * walk.row.n) }, walk.row)),
        [rows] => Some((rows, walk.row)),
        _ => None,
    });
    let (one, two) = (first_rows?, second_rows?);
    // As many rows as the walk has that has more.
    let (rows, n) = if one.0.n > two.0.n { (one.0.n, one.1.n) } else { (two.0.n, two.1.n) };
    let [one, two] = [one, two].map(|(outer, row)| match outer.n {
        _ if (outer.n, row.n) == (rows, n) => Some([outer.step, row.step]),
        1 if row.n == rows * n => Some([row.step.map(|step| step * n), row.step]),
        _ => None,
    });
    let (one, two) = (one?, two?);
    let is_whole = |steps: [[usize; 4]; 2], i: usize| steps[1][i] == 1 && (rows == 1 || steps[0][i] == n);
    let steps = [0, 1].map(|k| [two[k][0], one[k][1], one[k][2], two[k][2 - at]]);
    let outer = if rows == 1 { Vec::new() } else { vec![Dim { n: rows, step: steps[0] }] };
    let walk = Walk { outer, row: Dim { n, step: steps[1] } };
    (n >= SHORT && is_whole(one, 0) && is_whole(two, 1 + at)).then_some(walk)
}
