//! Finds pairs of arithmetic operators in which only the second one reads the result of the first.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rml_ir::{DType, Position, Positions};

use super::code::{At, Code, Instr, Kernel};
use super::operand::Arg;
use super::pair::{Arith, Pair};
use super::replace::{Found, replace};
use super::walk::{Dim, Walk};

/// Rows shorter than this are as quick one by one.
const SHORT: usize = 16;

/// Over all ticks, operators on more elements than this run by themselves, as those of an optimiser do; others are
/// lists.
const LONG: usize = 1024;

/// Makes pairs of operators one instruction, before places are given.
pub(super) fn fuse(code: &mut Code) {
    // Such plans do not run units by position, so fusing per position would be wrong.
    if code.waits || code.ahead > 0 || code.ending.is_some() {
        return;
    }
    let uses = Uses::new(code);
    let mut gone = vec![Positions::NONE; code.units.len()];
    let mut found: BTreeMap<usize, Vec<(Positions, Instr)>> = BTreeMap::new();
    for pass in (0..code.passes.len()).filter(|k| code.passes[*k].by.is_empty()) {
        for p in Position::ALL {
            for (first, second, instr) in uses.pairs(pass, p) {
                for unit in [first, second] {
                    gone[unit] = gone[unit].with(p);
                }
                let found = found.entry(second).or_default();
                match found.iter_mut().find(|(_, other)| other.args == instr.args) {
                    Some((at, _)) => *at = at.with(p),
                    None => found.push((Positions::NONE.with(p), instr)),
                }
            }
        }
    }
    let flat = |(unit, found): (usize, Vec<(Positions, Instr)>)| {
        found.into_iter().map(move |(at, instr)| (unit, at, instr))
    };
    let found: Vec<Found> = found.into_iter().flat_map(flat).collect();
    if !found.is_empty() {
        replace(code, &gone, found);
    }
}

/// Who fills a place, and how often it is read at the same tick, by position.
#[derive(Clone, Default)]
struct Use {
    /// How many units fill it, and the last one of them.
    fills: [(usize, usize); 4],
    reads: [usize; 4],
    /// The pass that does so.
    pass: Option<usize>,
    /// Whether something else has to do with it: another pass, another tick, a part of it, what is no unit.
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
        for (k, pass) in code.passes.iter().enumerate() {
            for i in pass.units.clone() {
                let unit = &code.units[i];
                for instr in &code.instrs[unit.instrs.clone()] {
                    for (n, arg) in std::iter::once(&instr.out).chain(&instr.args).enumerate() {
                        is_known[*arg] = true;
                        let own = &mut uses[code.refs[*arg].slot.0];
                        own.others |= own.pass.is_some_and(|other| other != k);
                        own.pass = Some(k);
                        for p in unit.at.iter().map(Position::index) {
                            if n == 0 {
                                own.fills[p] = (own.fills[p].0 + 1, i);
                            } else {
                                own.reads[p] += 1;
                            }
                        }
                    }
                }
            }
        }
        for (r, is_known) in code.refs.iter().zip(is_known) {
            uses[r.slot.0].others |= !is_known || r.at != At::Here(0) || r.offset > 0;
        }
        Self { code, uses }
    }

    /// The pairs of a pass at a position: both units, and the instruction that stands for them. An operator is in one
    /// of them at most; from first to last, so that a line of operators is all pairs.
    fn pairs(&self, pass: usize, p: Position) -> Vec<(usize, usize, Instr)> {
        let units = self.code.passes[pass].units.clone();
        let mut taken = vec![false; units.len()];
        let mut pairs = Vec::new();
        for second in units.clone() {
            let found = [0, 1].into_iter().find_map(|at| {
                let instr = self.arithmetic(second, p)?.0;
                let first = self.only(*instr.args.get(at)?, p)?;
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

    /// The unit that fills an operand at a position, if one operand alone reads it there, and nothing does in another
    /// pass or at another tick.
    fn only(&self, arg: Arg, p: Position) -> Option<usize> {
        let (r, data) = self.code.data(arg);
        let Use { fills, reads, others, .. } = &self.uses[r.slot.0];
        let (count, unit) = fills[p.index()];
        (!others && !data.kept && count == 1 && reads[p.index()] == 1).then_some(unit)
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
