//! Windows in which threads share the work.

use std::sync::{Mutex, PoisonError};

use rml_ir::op::Number;

use super::super::Suspect;
use super::super::code::Kernel;
use super::super::profile::Probe;
use super::super::run::{Run, ranges};
use super::{Job, Limits, Step, part};

/// How a unit is shared now.
enum Way {
    Ticks,
    Rows(usize),
    Groups(usize),
}

impl<N: Number> Run<'_, N> {
    /// Runs a loop, or a region over the only tick, with the threads that there are; none if it is not shared.
    pub(in super::super) fn spread_pass(
        &mut self,
        k: usize,
        probe: Option<&mut Probe>,
    ) -> Option<Result<(), Suspect>> {
        let team = self.team.as_deref().filter(|team| team.is_awake)?;
        let pass = &self.code.passes[k];
        if pass.over {
            return (!team.work.steps[k].is_empty()).then(|| self.spread_steps(k, probe));
        }
        let job = team.work.loops[k]?;
        let ticks = self.part.1 - self.part.0;
        let rows = job.rows.filter(|_| job.cost * ticks as f64 >= team.work.limits.job)?;
        let team = self.team.take()?;
        self.lay_out(pass.units.clone());
        let (parts, probe) = (team.work.limits.parts(rows, team.shards.len()), Mutex::new(probe));
        let ran = team.together(self, true, &|run, i| {
            if i >= parts {
                return Ok(());
            }
            let pass = &run.code.passes[k];
            // Only the first thread measures, so the lock is never contended.
            if i == 0
                && let Some(probe) = probe.lock().unwrap_or_else(PoisonError::into_inner).as_deref_mut()
            {
                return run.ticks(k, pass, Some(probe));
            }
            if run.bound.cut.is_some() { run.ticks(k, pass, None) } else { run.pass(k, pass) }
        });
        self.team = Some(team);
        Some(ran)
    }

    /// Runs a region over all ticks at the only tick.
    fn spread_steps(&mut self, k: usize, mut probe: Option<&mut Probe>) -> Result<(), Suspect> {
        let count = self.team.as_ref().map_or(0, |team| team.work.steps[k].len());
        for i in 0..count {
            let Some(team) = self.team.take() else { return Ok(()) };
            let ran = match &team.work.steps[k][i] {
                Step::Entries(entries) => match &mut probe {
                    None => self.entries(entries, 0),
                    Some(probe) => self.timed_tick(probe, k, entries, 0),
                },
                Step::Unit(id) => {
                    let id = *id;
                    let start = probe.as_mut().map(|probe| probe.now());
                    self.team = Some(team);
                    self.over(id)?;
                    if let (Some(probe), Some(start)) = (&mut probe, start) {
                        probe.joined(id, start);
                    }
                    continue;
                }
            };
            self.team = Some(team);
            ran?;
        }
        Ok(())
    }

    /// Runs a unit at the ticks `from..to`, with the threads that there are; none if it is not shared.
    pub(in super::super) fn spread_unit(
        &mut self,
        id: usize,
        from: usize,
        to: usize,
    ) -> Option<Result<(), Suspect>> {
        let team = self.team.as_deref().filter(|team| team.is_awake)?;
        let (limits, threads) = (team.work.limits, team.shards.len());
        let way = way(team.work.units[id]?, limits, self.part.1 - self.part.0, to - from)?;
        let unit = &self.code.units[id];
        let team = self.team.take()?;
        self.lay_out(id..id + 1);
        let ran = match way {
            Way::Ticks => team.together(self, false, &|run, i| {
                let ticks = part(to - from, threads, i);
                if ticks.is_empty() {
                    Ok(())
                } else {
                    run.at_ticks(unit, from + ticks.start, from + ticks.end)
                }
            }),
            Way::Rows(rows) => team.together(self, true, &|run, i| {
                let unit = &run.code.units[id];
                let mut ticks = if unit.once { from..from + 1 } else { from..to };
                if i < limits.parts(rows, threads) {
                    ticks.try_for_each(|t| run.unit(unit, t))
                } else {
                    Ok(())
                }
            }),
            Way::Groups(group) => {
                let instr = &self.code.instrs[unit.instrs.start];
                team.together(self, false, &|run, i| {
                    let groups = part(instr.width / group, threads, i);
                    let holds = unit.when.is_empty() || run.holds(&unit.when, from);
                    if groups.is_empty() || !holds {
                        return Ok(());
                    }
                    run.groups(instr, (groups, group), from..to)
                })
            }
        };
        self.team = Some(team);
        Some(ran)
    }

    /// Lays out the matrices that shared units use, since threads do not lay out any themselves.
    fn lay_out(&mut self, units: std::ops::Range<usize>) {
        let code = self.code;
        for instr in code.units[units].iter().flat_map(|unit| &code.instrs[unit.instrs.clone()]) {
            let (Kernel::Product([m, k, n], Some(pack)) | Kernel::Further([m, k, n], Some(pack))) =
                instr.kernel
            else {
                continue;
            };
            let at = self.spot(instr.args[1]).get(0);
            let matrix = self.arena.nums.row(at, k * n);
            self.packs.ready(pack, m * self.bound.ticks, (k, n), matrix);
        }
    }
}

impl Job {
    /// At how many ticks of a window it runs; for a sum, how many ticks it adds up.
    pub(super) fn count(&self, ticks: usize) -> usize {
        if self.over {
            return ticks;
        }
        ranges(self.at, ticks).map(|(from, to)| to - from).sum::<usize>().max(1)
    }
}

/// How to share a unit that runs at `count` of `ticks` ticks; none if it takes too little time.
fn way(job: Job, limits: Limits, ticks: usize, count: usize) -> Option<Way> {
    let times = if job.over { ticks } else { count };
    if job.cost * (times as f64) < limits.job {
        return None;
    }
    match job.rows {
        _ if job.group.is_some() => job.group.map(Way::Groups),
        _ if job.by_ticks && count > 1 => Some(Way::Ticks),
        Some(rows) => Some(Way::Rows(rows)),
        None => None,
    }
}
