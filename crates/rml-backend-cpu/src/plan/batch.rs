//! Loops over independent sequences: many sequences at once.
//!
//! The sequences of a window advance together, tick by tick. Each tick runs in stages. A product by a constant matrix
//! is a stage: its rows are gathered from all sequences, multiplied at once, and written back. A row of a product does
//! not depend on other rows, so the bits are those of a loop that runs tick by tick.

use std::collections::BTreeSet;

use rml_ir::op::Number;
use rml_ir::{DType, Position};

use super::Suspect;
use super::arena::Split;
use super::code::{At, Batch, Code, Joined, Kernel, Ref, Slot, SlotData, Unit};
use super::listed::{Entry, Stage};
use super::operand::Arg;
use super::profile::Probe;
use super::run::Run;

/// How many sequences advance together.
pub(super) const GROUP: usize = 32;

/// Products of more rows than that are as quick by themselves.
const FEW: usize = 2;

/// Chooses the loops that run sequence by sequence: those with products by a matrix that stays the same.
pub(super) fn choose(code: &mut Code) {
    for pass in 0..code.passes.len() {
        let by = std::mem::take(&mut code.passes[pass].by);
        if by.is_empty() {
            continue;
        }
        let units = code.passes[pass].units.clone();
        let products: Vec<usize> = units.clone().filter(|unit| stays(code, *unit)).collect();
        for unit in &products {
            bring_forward(code, units.start, *unit);
        }
        let products: Vec<usize> = units.filter(|unit| stays(code, *unit)).collect();
        let joined: Vec<Joined> = products.into_iter().filter_map(|unit| joined(code, unit)).collect();
        if !joined.is_empty() {
            code.passes[pass].batch = Some(Batch { by, joined });
        }
    }
}

/// Whether a unit is a product by a matrix that is the same at all ticks, and of few rows.
fn stays(code: &Code, unit: usize) -> bool {
    let Unit { at, instrs, .. } = &code.units[unit];
    let [instr] = &code.instrs[instrs.clone()] else { return false };
    let (Kernel::Product([m, ..], _) | Kernel::Further([m, ..], _)) = instr.kernel else { return false };
    let is_fixed = |arg: Arg| {
        let (r, data) = code.data(arg);
        !data.per_tick || !matches!(r.at, At::Here(_))
    };
    at.contains(Position::Middle) && m <= FEW && is_fixed(instr.args[1]) && !is_fixed(instr.args[0])
}

/// Puts what a product does not need after it, so that little has to be kept while it waits for other ticks.
fn bring_forward(code: &mut Code, from: usize, to: usize) {
    let mut needed = BTreeSet::new();
    let reads = |code: &Code, unit: &Unit, needed: &mut BTreeSet<Slot>| {
        let args = code.instrs[unit.instrs.clone()].iter().flat_map(|instr| instr.args.iter().copied());
        needed.extend(args.chain(unit.when.iter().map(|g| g.cond)).map(|arg| code.refs[arg].slot));
    };
    reads(code, &code.units[to], &mut needed);
    let mut is_needed = vec![false; to - from];
    for unit in (from..to).rev() {
        let fills = |i: usize| needed.contains(&code.refs[code.instrs[i].out].slot);
        if code.units[unit].instrs.clone().any(fills) {
            is_needed[unit - from] = true;
            reads(code, &code.units[unit], &mut needed);
        }
    }
    let (mut first, mut then) = (Vec::new(), Vec::new());
    for (unit, is_needed) in code.units[from..to].iter().zip(is_needed) {
        if is_needed { first.push(unit.clone()) } else { then.push(unit.clone()) }
    }
    first.push(code.units[to].clone());
    code.units.splice(from..=to, first.into_iter().chain(then));
}

fn joined(code: &mut Code, unit: usize) -> Option<Joined> {
    let instr = code.units[unit].instrs.start;
    let (Kernel::Product([m, k, n], _) | Kernel::Further([m, k, n], _)) = code.instrs[instr].kernel else {
        return None;
    };
    let rows = [k, n].map(|columns| {
        let width = GROUP * m * columns;
        code.slots.push(SlotData { dtype: DType::Num, width, per_tick: false, kept: false, uniform: false });
        code.refs.push(Ref {
            slot: Slot(code.slots.len() - 1),
            at: At::Here(0),
            offset: 0,
            transposed: false,
        });
        code.refs.len() - 1
    });
    Some(Joined { unit, instr, rows })
}

/// A sequence: its first tick, and how many it has.
type Sequence = (usize, usize);

impl<N: Number> Run<'_, N> {
    /// Runs a loop over sequences. With a probe, it is timed as the pass of that number.
    pub(super) fn batch(
        &mut self,
        k: usize,
        batch: &Batch,
        mut probe: Option<(&mut Probe, usize)>,
    ) -> Result<(), Suspect> {
        let ticks = self.bound.ticks;
        let (mut group, mut count, mut start) = ([(0, 0); GROUP], 0, 0);
        for t in 0..ticks {
            let is_last = t + 1 == ticks;
            if is_last || batch.by.iter().any(|end| self.truth(*end, t)) {
                group[count] = (start, t + 1 - start);
                (count, start) = (count + 1, t + 1);
            }
            if is_last || count == GROUP {
                let probe = probe.as_mut().map(|(probe, k)| (&mut **probe, *k));
                self.group(k, &mut group[..count], probe)?;
                count = 0;
            }
        }
        Ok(())
    }

    /// Runs some sequences together.
    fn group(
        &mut self,
        k: usize,
        group: &mut [Sequence],
        mut probe: Option<(&mut Probe, usize)>,
    ) -> Result<(), Suspect> {
        let code = self.code;
        // The longest one first, so that those that continue are in front.
        group.sort_unstable_by_key(|(start, len)| (std::cmp::Reverse(*len), *start));
        let longest = group.first().map_or(0, |(_, len)| *len);
        let is_alone = group.len() == 1;
        for l in 0..longest {
            let (mut ticks, mut count) = ([0; GROUP], 0);
            for (start, len) in group.iter().take_while(|(_, len)| *len > l) {
                let t = if code.passes[k].backward { start + len - 1 - l } else { start + l };
                if is_alone || t == 0 || t + 1 == self.bound.ticks {
                    self.timed(self.at(k, t), t, &mut probe)?;
                } else {
                    ticks[count] = t;
                    count += 1;
                }
            }
            for stage in &code.lists[k].stages {
                match stage {
                    Stage::Ticks(entries) => {
                        ticks[..count].iter().try_for_each(|t| self.timed(entries, *t, &mut probe))?;
                    }
                    Stage::Rows(joined) => {
                        let start = probe.as_mut().map(|(probe, _)| probe.now());
                        self.gathered(joined, &ticks[..count]);
                        if let (Some((probe, _)), Some(start)) = (&mut probe, start) {
                            probe.joined(joined.unit, start);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn timed(
        &mut self,
        entries: &[Entry],
        t: usize,
        probe: &mut Option<(&mut Probe, usize)>,
    ) -> Result<(), Suspect> {
        match probe {
            None => self.entries(entries, t),
            Some((probe, pass)) => self.timed_tick(probe, *pass, entries, t),
        }
    }

    /// A product at several ticks.
    fn gathered(&mut self, joined: &Joined, ticks: &[usize]) {
        let code = self.code;
        let (unit, instr) = (&code.units[joined.unit], &code.instrs[joined.instr]);
        let (Kernel::Product([m, k, n], pack) | Kernel::Further([m, k, n], pack)) = instr.kernel else {
            return;
        };
        let [a, b, out] = [instr.args[0], instr.args[1], instr.out].map(|arg| self.spot(arg));
        let [left, right] = joined.rows.map(|arg| self.spot(arg).get(0));
        let start = instr.args.get(2).map(|arg| self.spot(*arg));
        let (mut there, mut count) = ([0; GROUP], 0);
        for t in ticks {
            if self.holds(&unit.when, *t) {
                if let Some(start) = start {
                    self.arena.nums.copy_within(start.get(*t), m * n, right + count * m * n);
                }
                self.arena.nums.copy_within(a.get(*t), m * k, left + count * m * k);
                there[count] = *t;
                count += 1;
            }
        }
        if count == 0 {
            return;
        }
        let rows = count * m;
        let split = Split::new(&mut self.arena.nums, right, rows * n);
        let (x, matrix) = (split.row(left, rows * k), split.row(b.get(0), k * n));
        let packed = pack.and_then(|pack| self.packs.ready(pack, m * self.bound.ticks, (k, n), matrix));
        match packed {
            Some(packed) => N::product_packed(rows, x, packed, start.is_some(), split.out),
            None => N::product((rows, k, n), x, matrix, [false; 2], start.is_some(), split.out),
        }
        for (i, t) in there[..count].iter().enumerate() {
            let from = right + i * m * n;
            self.arena.nums.copy_within(from, m * n, out.get(*t));
        }
    }
}
