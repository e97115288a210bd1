//! Checks, element by element, that no thread writes elements that others touch. It looks only at instructions, and
//! shares no code with the modules that divide the work.

use std::ops::Range;

use rml_ir::{DType, Positions};

use super::super::bind::Bound;
use super::super::code::{Added, Code, Instr, Kernel, Unit};
use super::super::listed::Listed;
use super::super::operand::Arg;
use super::super::place::Placement;
use super::super::run::ranges;
use super::{Shard, Work, part};

/// Checks windows of one to three ticks, or says which unit fails.
pub(super) fn check(
    code: &Listed,
    placement: &Placement,
    shards: &[Shard],
    work: &Work,
) -> Result<(), String> {
    (1..=3).try_for_each(|ticks| {
        let bounds: Vec<Bound> =
            shards.iter().map(|shard| bound(&shard.code, &shard.placement, ticks)).collect();
        let whole = bound(code, placement, ticks);
        bound_code(
            code,
            (shards, work),
            (&whole, &bounds.iter().collect::<Vec<_>>()),
            placement.sizes.map(|size| size.at(ticks)),
        )
    })
}

/// Checks the ticks to which code is bound. `lens` gives the number of elements of each type.
pub(super) fn bound_code(
    code: &Code,
    (shards, work): (&[Shard], &Work),
    (whole, bounds): (&Bound, &[&Bound]),
    lens: [usize; 3],
) -> Result<(), String> {
    let ranges = |at: Positions| ranges_in(at, whole);
    {
        let cut = || shards.iter().zip(bounds.iter().copied());
        for (k, _) in work.loops.iter().enumerate().filter(|(_, job)| job.is_some()) {
            let mut owners = Owners::new(lens);
            for writes in [true, false] {
                for (i, (Shard { code, .. }, bound)) in cut().enumerate() {
                    let mut touched = Touched { code, bound, owners: &mut owners, thread: i, writes };
                    for unit in &code.units[code.passes[k].units.clone()] {
                        ranges(unit.at).for_each(|(from, to)| touched.unit(unit, from..to));
                    }
                }
            }
            owners.result(whole.ticks, &format!("loop {k}"))?;
        }
        for (id, job) in work.units.iter().enumerate().filter_map(|(id, job)| Some((id, (*job)?))) {
            let (mut by_rows, mut by_ticks) = (Owners::new(lens), Owners::new(lens));
            for writes in [true, false] {
                for (i, (Shard { code: own, .. }, bound)) in cut().enumerate() {
                    let at = code.units[id].at;
                    if job.rows.is_some_and(|rows| i < work.limits.parts(rows, shards.len())) {
                        let mut touched =
                            Touched { code: own, bound, owners: &mut by_rows, thread: i, writes };
                        ranges(at).for_each(|(from, to)| touched.unit(&own.units[id], from..to));
                    }
                    let owners = &mut by_ticks;
                    let mut touched = Touched { code, bound: whole, owners, thread: i, writes };
                    for (from, to) in ranges(at) {
                        let mine = part(to - from, shards.len(), i);
                        if job.by_ticks {
                            touched.unit(&code.units[id], from + mine.start..from + mine.end);
                        } else if let Some(group) = job.group {
                            touched.sum(&code.instrs[code.units[id].instrs.start], (group, shards.len()));
                        }
                    }
                }
            }
            by_rows.result(whole.ticks, &format!("unit {id} by rows"))?;
            by_ticks.result(whole.ticks, &format!("unit {id} by ticks or elements"))?;
        }
    }
    Ok(())
}

/// The ticks at some positions of a window, of those to which code is bound.
fn ranges_in(at: Positions, bound: &Bound) -> impl Iterator<Item = (usize, usize)> {
    let (first, end) = bound.part;
    let clipped = move |(from, to): (usize, usize)| (from.max(first), to.min(end));
    ranges(at, bound.ticks).map(clipped).filter(|(from, to)| from < to)
}

fn bound(code: &Listed, placement: &Placement, ticks: usize) -> Bound {
    let mut bound = Bound::default();
    bound.bind(code, placement, ticks);
    bound
}

/// Which thread writes each element, by type.
struct Owners {
    of: [Vec<Option<usize>>; 3],
    fault: Option<String>,
}

impl Owners {
    fn new(lens: [usize; 3]) -> Self {
        Self { of: lens.map(|len| vec![None; len]), fault: None }
    }

    fn touch(&mut self, dtype: DType, elements: Range<usize>, thread: usize, writes: bool) {
        let of = match dtype {
            DType::Num => 0,
            DType::Int => 1,
            DType::Bool => 2,
        };
        let Some(owners) = self.of[of].get_mut(elements.clone()) else {
            self.fault.get_or_insert(format!("{dtype:?} {elements:?} is no place"));
            return;
        };
        for owner in owners {
            if owner.is_some_and(|owner| owner != thread) {
                self.fault.get_or_insert(format!(
                    "{dtype:?} {elements:?} is written by {owner:?} and touched by {thread}"
                ));
            }
            if writes {
                *owner = Some(thread);
            }
        }
    }

    fn result(self, ticks: usize, what: &str) -> Result<(), String> {
        self.fault.map_or(Ok(()), |fault| Err(format!("with {ticks} ticks, {what}: {fault}")))
    }
}

/// The elements that a thread writes or reads.
struct Touched<'a> {
    code: &'a Code,
    bound: &'a Bound,
    owners: &'a mut Owners,
    thread: usize,
    writes: bool,
}

impl Touched<'_> {
    fn unit(&mut self, unit: &Unit, ticks: Range<usize>) {
        for t in ticks {
            unit.when.iter().for_each(|guard| self.row(guard.cond, t, 0..1, false));
            self.code.instrs[unit.instrs.clone()].iter().for_each(|instr| self.instr(instr, t));
        }
    }

    fn row(&mut self, arg: Arg, t: usize, elements: Range<usize>, is_result: bool) {
        if is_result == self.writes {
            let at = self.bound.spots[arg].get(t);
            let dtype = self.code.data(arg).1.dtype;
            self.owners.touch(dtype, at + elements.start..at + elements.end, self.thread, self.writes);
        }
    }

    fn instr(&mut self, instr: &Instr, t: usize) {
        let args: Vec<Arg> = std::iter::once(instr.out).chain(instr.args.iter().copied()).collect();
        let lens: Vec<usize> = match &instr.kernel {
            Kernel::Point(_, _, walk) | Kernel::Copy(_, walk) => {
                for (i, arg) in args.iter().enumerate() {
                    let mut base = [0; 4];
                    base[i] = self.bound.spots[*arg].get(t);
                    let dtype = self.code.data(*arg).1.dtype;
                    let each = &mut |at: [usize; 4], row: super::super::walk::Dim| {
                        for j in 0..row.n {
                            let at = at[i].wrapping_add(j.wrapping_mul(row.step[i]));
                            if (i == 0) == self.writes {
                                self.owners.touch(dtype, at..at + 1, self.thread, self.writes);
                            }
                        }
                        Ok::<(), ()>(())
                    };
                    let _ = walk.each(1, base, [0; 4], each);
                }
                return;
            }
            Kernel::Product([m, k, n], _) => vec![m * n, m * k, k * n],
            Kernel::Further([m, k, n], _) => vec![m * n, m * k, k * n, m * n],
            Kernel::Products(times, [m, k, n]) => vec![times * m * n, times * m * k, times * k * n],
            Kernel::Reduce(_, _, around) => {
                vec![around.outer * around.inner, around.outer * around.n * around.inner]
            }
            Kernel::Choose(_) => {
                let conds = std::iter::repeat_n(1, args.len() - 3);
                std::iter::once(instr.width).chain(conds).chain([instr.width; 2]).collect()
            }
            Kernel::Read(..) | Kernel::Clear(_) | Kernel::Softmax(..) => vec![instr.width; args.len()],
            Kernel::Convolve(by) => by.sizes().to_vec(),
            // Others read what they are given as a whole.
            _ => {
                let rest = |arg: &Arg| self.code.data(*arg).1.width - self.code.refs[*arg].offset;
                std::iter::once(instr.width).chain(instr.args.iter().map(rest)).collect()
            }
        };
        for (i, (arg, len)) in args.into_iter().zip(lens).enumerate() {
            self.row(arg, t, 0..len, i == 0);
        }
    }

    fn sum(&mut self, instr: &Instr, (group, threads): (usize, usize)) {
        let groups = part(instr.width / group, threads, self.thread);
        if let Kernel::Convolve(by) = &instr.kernel {
            for t in self.bound.part.0..self.bound.part.1 {
                self.row(instr.out, t, groups.start * group..groups.end * group, true);
                for (arg, len) in instr.args.iter().zip(&by.sizes()[1..]) {
                    self.row(*arg, t, 0..*len, false);
                }
            }
        }
        let Kernel::Sum { terms, .. } = &instr.kernel else { return };
        self.row(instr.out, 0, groups.start * group..groups.end * group, true);
        instr.args.iter().for_each(|init| self.row(*init, 0, 0..instr.width, false));
        for term in terms {
            let args = match &term.added {
                Added::Rows(x, _) | Added::Made(_, x) => vec![*x],
                Added::Outer(_, args) => args.to_vec(),
            };
            for t in ranges_in(term.at, self.bound).flat_map(|(from, to)| from..to) {
                term.when.iter().for_each(|guard| self.row(guard.cond, t, 0..1, false));
                for arg in &args {
                    self.row(*arg, t, 0..self.code.data(*arg).1.width - self.code.refs[*arg].offset, false);
                }
            }
        }
    }
}
