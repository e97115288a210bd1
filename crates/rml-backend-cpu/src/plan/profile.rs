//! Measuring where the time of windows goes.
//!
//! In a measured window the clock is read after every unit over all ticks, and around every loop. The time of a loop is
//! divided among its units in the proportion of some measured ticks. Other windows read no clock.

use rml_base::profile::{Name, Recorder, Sampler, Scope, Site};
use rml_ir::op::Number;
use rml_plan::{Plan, Rule};

use super::code::{Code, Pass, Unit};
use super::listed::Entry;
use super::run::{Run, ranges};
use super::{Machine, Suspect, scalar};

/// The measurements of a machine, with a site for each unit.
#[derive(Debug)]
pub(super) struct Probe {
    recorder: Recorder,
    windows: Sampler,
    /// For each pass, which of its ticks are timed.
    ticks: Vec<Sampler>,
    /// How many windows the timed window stands for.
    weight: u64,
    start: u64,
    /// How often the clock was read in this window.
    reads: u64,
    /// The measured time of each unit of a loop, scaled up from the timed ticks to all ticks.
    shares: Vec<f64>,
    calls: Vec<f64>,
}

/// The measurement of the current window, if it is timed.
pub(super) fn timed(probe: &mut Option<Box<Probe>>) -> Option<&mut Probe> {
    probe.as_deref_mut().filter(|probe| probe.weight > 0)
}

impl Probe {
    fn new(plan: &Plan, code: &Code, scope: &Scope) -> Self {
        let recorder = scope.recorder(code.units.iter().map(|unit| site(plan, unit)));
        let sampler = Sampler::new(&recorder);
        Self {
            windows: sampler.clone(),
            ticks: vec![sampler; code.passes.len()],
            weight: 0,
            start: 0,
            reads: 0,
            shares: vec![0.0; code.units.len()],
            calls: vec![0.0; code.units.len()],
            recorder,
        }
    }

    pub(super) fn now(&mut self) -> u64 {
        self.reads += 1;
        self.recorder.now()
    }

    /// Begins a window, and chooses whether it is timed.
    pub(super) fn begin(&mut self) {
        self.weight = self.windows.choose().unwrap_or(0);
        if self.weight > 0 {
            self.reads = 1;
            self.start = self.recorder.now();
        }
    }

    pub(super) fn end(&mut self) {
        if self.weight > 0 {
            let end = self.now();
            self.windows.timed(self.reads, end - self.start);
            self.recorder.event(Name::Other("window"), self.start, end);
            self.recorder.tell_rarely(end);
            self.weight = 0;
        }
    }

    /// Adds the time from `start` on to a unit of a region over all ticks. Returns when it ended.
    pub(super) fn over(&mut self, unit: usize, calls: usize, start: u64) -> u64 {
        let end = self.now();
        let (ns, weight) = ((end - start).saturating_sub(self.windows.clock()), self.weight as f64);
        self.recorder.add(unit, ns as f64 * weight, calls as f64 * weight);
        self.recorder.event(Name::Site(unit), start, end);
        end
    }

    /// Adds the time since `start` to a unit's share of its loop.
    fn share(&mut self, unit: usize, start: u64, weight: u64) -> u64 {
        let end = self.now();
        self.shares[unit] += ((end - start) as f64 - self.windows.clock() as f64) * weight as f64;
        self.calls[unit] += weight as f64;
        end
    }

    /// Adds the time of a product over many ticks to its unit's share of the loop.
    pub(super) fn joined(&mut self, unit: usize, start: u64) {
        let end = self.share(unit, start, 1);
        self.recorder.event(Name::Site(unit), start, end);
    }

    /// When a loop begins, and how often the clock was read by then.
    pub(super) fn begin_loop(&mut self) -> (u64, u64) {
        (self.now(), self.reads)
    }

    /// Divides the time of a loop among its units in proportion to their shares.
    pub(super) fn looped(&mut self, pass: &Pass, (start, reads): (u64, u64)) {
        let end = self.now();
        let clock = self.windows.clock();
        let net = (end - start).saturating_sub((self.reads - reads) * clock) as f64;
        let sum: f64 = self.shares[pass.units.clone()].iter().map(|share| share.max(0.0)).sum();
        let (factor, weight) = (if sum > 0.0 { net / sum } else { 0.0 }, self.weight as f64);
        for unit in pass.units.clone() {
            let share = std::mem::take(&mut self.shares[unit]).max(0.0);
            let calls = std::mem::take(&mut self.calls[unit]);
            self.recorder.add(unit, share * factor * weight, calls * weight);
        }
        let name = if pass.backward { "loop backward" } else { "loop forward" };
        self.recorder.event(Name::Other(name), start, end);
    }
}

/// The result of a unit, and its place in the source.
fn site(plan: &Plan, unit: &Unit) -> Site {
    let tape = &plan.tapes.as_slice()[unit.tape];
    let rule = unit.at.iter().find_map(|p| tape.case(p)).map(|case| &case.rule);
    let what = match rule {
        Some(Rule::Apply { op, .. }) => op.name(),
        Some(Rule::Product { .. }) => "matmul",
        Some(Rule::Select { .. }) => "if",
        Some(Rule::Restart { .. } | Rule::Read { .. }) => "fby",
        Some(Rule::Sum { .. }) => "sum over ticks",
        Some(Rule::Copy(_) | Rule::Input(_)) | None => "copy",
    };
    Site { span: tape.span, what }
}

impl<N: Number> Machine<N> {
    /// Measures all further windows.
    pub fn measure(&mut self, scope: &Scope) {
        self.probe = Some(Box::new(Probe::new(&self.plan, &self.code, scope)));
    }
}

impl<N: Number> Run<'_, N> {
    /// Runs the regions of a window. If the first region found the end of the window (`is_found`), it runs only the
    /// rest of its last tick.
    pub(super) fn regions(&mut self, is_found: bool, mut probe: Option<&mut Probe>) -> Result<(), Suspect> {
        let code = self.code;
        if is_found {
            self.close(code)?;
        }
        let mut passes = code.passes.iter().enumerate().skip(usize::from(is_found));
        passes.try_for_each(|(k, pass)| match &mut probe {
            None => self.pass(k, pass),
            Some(probe) => self.timed_pass(probe, k, pass),
        })
    }

    /// As [`pass`](Self::pass), timed.
    fn timed_pass(&mut self, probe: &mut Probe, k: usize, pass: &Pass) -> Result<(), Suspect> {
        let ticks = self.bound.ticks;
        let (mut start, reads) = probe.begin_loop();
        if self.code.waits {
            let run = self.wait(k, pass);
            probe.looped(pass, (start, reads));
            return run;
        }
        if (!pass.over || ticks == 1)
            && let Some(ran) = self.spread_pass(k, Some(&mut *probe))
        {
            probe.looped(pass, (start, reads));
            return ran;
        }
        if !pass.over || ticks == 1 {
            let run = self.ticks(k, pass, Some(&mut *probe));
            probe.looped(pass, (start, reads));
            return run;
        }
        for id in pass.units.clone() {
            let unit = &self.code.units[id];
            self.over(id)?;
            let ranges = ranges(unit.at, ticks - unit.short);
            let is_at_once = self.code.steps[id].is_none() && !unit.in_turn && unit.when.is_empty();
            let calls = match unit {
                Unit { once: true, .. } => 1,
                _ if is_at_once => ranges.count(),
                _ => ranges.map(|(from, to)| to - from).sum(),
            };
            start = probe.over(id, calls, start);
        }
        Ok(())
    }

    /// Runs a loop at the ticks of a segment, timed if there is a probe.
    pub(super) fn ticks_of(&mut self, k: usize, mut probe: Option<&mut Probe>) -> Result<(), Suspect> {
        let code = self.code;
        let pass = &code.passes[k];
        let begin = probe.as_mut().map(|probe| probe.begin_loop());
        match self.spread_pass(k, probe.as_deref_mut()) {
            Some(ran) => ran?,
            None => self.ticks(k, pass, probe.as_deref_mut())?,
        }
        if let (Some(probe), Some(begin)) = (probe, begin) {
            probe.looped(pass, begin);
        }
        Ok(())
    }

    /// Runs a loop at the ticks of `self.part`, timed if there is a probe.
    pub(super) fn ticks(
        &mut self,
        k: usize,
        pass: &Pass,
        mut probe: Option<&mut Probe>,
    ) -> Result<(), Suspect> {
        let (from, to) = self.part;
        for i in 0..to - from {
            let t = if pass.backward { to - 1 - i } else { from + i };
            let entries = self.at(k, t);
            match &mut probe {
                None => self.entries(entries, t)?,
                Some(probe) => self.timed_tick(probe, k, entries, t)?,
            }
            self.put(pass, t);
        }
        Ok(())
    }

    /// Runs the entries of a loop at a tick. The tick is timed if the sampler chooses it.
    pub(super) fn timed_tick(
        &mut self,
        probe: &mut Probe,
        pass: usize,
        entries: &[Entry],
        t: usize,
    ) -> Result<(), Suspect> {
        let Some(weight) = probe.ticks[pass].choose() else { return self.entries(entries, t) };
        let (reads, begin) = (probe.reads, probe.now());
        let mut start = begin;
        for entry in entries {
            match entry {
                Entry::Unit(id) => {
                    let unit = &self.code.units[*id];
                    if self.holds(&unit.when, t) {
                        let from = start;
                        self.unit_of(*id, t)?;
                        start = probe.share(*id, start, weight);
                        probe.recorder.event(Name::Site(*id), from, start);
                    }
                }
                Entry::Scalars(range) => {
                    let from = start;
                    start = self.timed_scalars(probe, range.clone(), t, (start, weight))?;
                    probe.recorder.event(Name::Other("numbers one by one"), from, start);
                }
                Entry::Chain(range) => {
                    let mut done = 0;
                    for links in self.code.links[range.clone()].chunk_by(|a, b| a.unit == b.unit) {
                        let (unit, from) = (links[0].unit, start);
                        let first = range.start + done;
                        done += links.len();
                        self.chain(first..first + links.len(), t);
                        start = probe.share(unit, start, weight);
                        probe.recorder.event(Name::Site(unit), from, start);
                    }
                }
            }
        }
        probe.ticks[pass].timed(probe.reads - reads, start - begin);
        Ok(())
    }

    /// Runs steps, and reads the clock after those of each unit.
    fn timed_scalars(
        &mut self,
        probe: &mut Probe,
        range: std::ops::Range<usize>,
        t: usize,
        (mut start, weight): (u64, u64),
    ) -> Result<u64, Suspect> {
        let code = self.code;
        let mut at = range.start;
        while at < range.end {
            let unit = code.scalars[at].unit;
            let own = code.scalars[at..range.end].iter().take_while(|scalar| scalar.unit == unit).count();
            let steps = &self.bound.steps[at..at + own];
            // A condition that does not hold may skip further units, too.
            at += scalar::run(steps, self.arena, self.set, t)?;
            start = probe.share(unit, start, weight);
        }
        Ok(start)
    }
}
