//! The lists of instructions that run at a tick. Consecutive instructions that one loop runs are one entry.

use std::collections::BTreeSet;
use std::ops::Range;

use rml_ir::Position;

use super::code::{Code, Guard, Instr, Kernel, Unit};
use super::listed::{Do, Entry, Listed, Moving, OverStep, Pack, Scalar};

/// Units with more elements are not listed but run by themselves, since threads may share them.
const SHORT: usize = 1024;

/// Lists what runs at each tick. The products of the code share the matrices `packs`.
pub(super) fn list(code: Code, packs: Vec<Pack>) -> Listed {
    let mut listed = Listed::new(code, packs);
    let code = &mut listed;
    // By position, so that what windows of one tick run is in one row.
    for p in Position::ALL {
        for pass in 0..code.passes.len() {
            if !code.passes[pass].over || p == Position::Only {
                let units = code.passes[pass].units.clone();
                code.lists[pass].at[p.index()] = Lister::new(code).list(units, p);
            }
        }
    }
    for pass in (0..code.passes.len()).filter(|_| code.ahead > 0).collect::<Vec<_>>() {
        if !code.passes[pass].over {
            code.lists[pass].tails = tails(code, &code.passes[pass].units.clone());
        }
    }
    for unit in
        code.passes.iter().filter(|pass| pass.over).flat_map(|pass| pass.units.clone()).collect::<Vec<_>>()
    {
        code.steps[unit] = scalar_steps(code, unit);
    }
    if code.ahead == 0 && !code.waits {
        for pass in (0..code.passes.len()).filter(|pass| code.passes[*pass].over).collect::<Vec<_>>() {
            code.lists[pass].over = steps(code, code.passes[pass].units.clone());
        }
    }
    if let (Some(head), Some(pass)) = (code.ending.as_ref().map(|ending| ending.head), code.passes.first()) {
        let Range { start, end } = pass.units;
        for p in Position::ALL {
            code.search[0][p.index()] = Lister::new(code).list(start..head, p);
            code.search[1][p.index()] = Lister::new(code).list(head..end, p);
        }
    }
    code.moving = Moving::of(code);
    listed
}

/// The scalar steps of a unit over all ticks; none if the unit can run for all ticks at once, or is not scalar.
fn scalar_steps(code: &mut Listed, unit: usize) -> Option<Range<usize>> {
    let Unit { when, instrs, at, .. } = &code.units[unit];
    let is_at_once = |i: usize| matches!(code.instrs[i].kernel, Kernel::Point(..) | Kernel::Copy(..));
    let p = at.iter().next().filter(|_| !when.is_empty() || !instrs.clone().all(is_at_once))?;
    match &Lister::new(code).list(unit..unit + 1, p)[..] {
        [Entry::Scalars(steps)] => Some(steps.clone()),
        _ => None,
    }
}

/// The steps of a region over all ticks: short units that run at the same tick alone are listed.
fn steps(code: &mut Listed, units: Range<usize>) -> Vec<OverStep> {
    let all: Vec<usize> = units.collect();
    let runs = all.chunk_by(|a, b| tick(code, *a).is_some() && tick(code, *a) == tick(code, *b));
    let mut steps = Vec::new();
    for (run, tick) in runs.map(|run| (run, tick(code, run[0]))).collect::<Vec<_>>() {
        match tick {
            Some(p) if run.len() > 1 => {
                let entries = Lister::new(code).entries(run.to_vec());
                steps.push(if p == Position::First {
                    OverStep::First(entries)
                } else {
                    OverStep::Last(entries)
                });
            }
            _ => steps.extend(run.iter().map(|unit| OverStep::Unit(*unit))),
        }
    }
    steps
}

/// The tick at which a unit runs, if it is short and runs at one tick only of a window of several ticks.
fn tick(code: &Code, unit: usize) -> Option<Position> {
    let Unit { at, instrs, once, .. } = &code.units[unit];
    let is_short = |i: usize| {
        let Instr { kernel, width, .. } = &code.instrs[i];
        matches!(kernel, Kernel::Point(..) | Kernel::Copy(..) | Kernel::Read(..)) && *width <= SHORT
    };
    match [Position::First, Position::Middle, Position::Last].map(|p| at.contains(p)) {
        _ if !instrs.clone().all(is_short) => None,
        _ if *once => Some(Position::First),
        [true, false, false] => Some(Position::First),
        [false, false, true] => Some(Position::Last),
        _ => None,
    }
}

/// The lists of a loop for the ticks ahead: the later the tick, the fewer units run.
fn tails(code: &mut Listed, units: &Range<usize>) -> Vec<(usize, Vec<Entry>)> {
    let shorts: BTreeSet<usize> = code.units[units.clone()].iter().map(|unit| unit.short).collect();
    let list = |short: usize| {
        let lister = Lister::new(code);
        let reaches = |u: &usize| {
            let unit = &lister.code.units[*u];
            unit.short <= short && unit.at.contains(Position::Middle)
        };
        let units = units.clone().filter(reaches).collect();
        (short, lister.entries(units))
    };
    shorts.into_iter().map(list).collect()
}

/// Makes a list.
pub(super) struct Lister<'a> {
    pub(super) code: &'a mut Listed,
    entries: Vec<Entry>,
    /// Where the last entry began: among scalars, or among links.
    scalars: usize,
    links: usize,
    /// The conditions of the last step, and the steps that test them.
    open: (Vec<Guard>, Vec<usize>),
}

impl<'a> Lister<'a> {
    pub(super) fn new(code: &'a mut Listed) -> Self {
        let (scalars, links) = (code.scalars.len(), code.links.len());
        Self { code, entries: Vec::new(), scalars, links, open: Default::default() }
    }

    pub(super) fn list(self, units: Range<usize>, p: Position) -> Vec<Entry> {
        let units = units.filter(|u| self.code.units[*u].at.contains(p)).collect();
        self.entries(units)
    }

    fn entries(mut self, units: Vec<usize>) -> Vec<Entry> {
        for unit in units {
            let Unit { instrs, when, .. } = &self.code.units[unit];
            let (instrs, is_certain) = (instrs.clone(), when.is_empty());
            if let Some(steps) = instrs.clone().map(|i| self.step(unit, i)).collect() {
                self.chained();
                self.scalars(unit, steps);
            } else if let Some(links) = instrs.map(|i| self.link(unit, i)).collect::<Option<Vec<_>>>()
                && is_certain
            {
                self.stepped();
                self.code.links.extend(links);
            } else {
                self.stepped();
                self.chained();
                self.entries.push(Entry::Unit(unit));
            }
        }
        self.stepped();
        self.chained();
        self.entries
    }

    /// Ends an entry of scalars.
    fn stepped(&mut self) {
        let end = self.code.scalars.len();
        if self.scalars < end {
            self.entries.push(Entry::Scalars(self.scalars..end));
        }
        (self.scalars, self.open) = (end, Default::default());
    }

    /// Ends an entry of links.
    fn chained(&mut self) {
        let end = self.code.links.len();
        if self.links < end {
            self.entries.push(Entry::Chain(self.links..end));
        }
        self.links = end;
    }

    /// Adds the steps of a unit, after its conditions.
    fn scalars(&mut self, unit: usize, steps: Vec<Scalar>) {
        let when = &self.code.units[unit].when;
        if *when != self.open.0 {
            self.open = (when.clone(), Vec::new());
            for guard in when.clone() {
                self.open.1.push(self.code.scalars.len());
                let what = Do::Skip(guard.value, 0);
                let args = [None, Some(guard.cond), None, None];
                self.code.scalars.push(Scalar { unit, what, args });
            }
        }
        self.code.scalars.extend(steps);
        for at in &self.open.1 {
            let behind = self.code.scalars.len() - at - 1;
            if let Do::Skip(_, n) = &mut self.code.scalars[*at].what {
                *n = behind;
            }
        }
    }
}
