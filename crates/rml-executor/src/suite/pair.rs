//! Runs a plan on the executor and on the reference.

use rml_backend::Held;
use rml_ir::{Data, Value};
use rml_plan::{Ends, Lifetime};

use super::cases::Case;
use super::compare::{bits, is_same};
use super::feed::{Dice, Feed, register};
use super::{Bits, ContractRule, Failed};
use crate::contract::{Accuracy, Executor, Fault, Next, PrepareOptions, Running};
use crate::reference::Reference;

/// A run of the executor, and one of the reference.
pub(super) struct Pair<'a> {
    case: &'a Case,
    tested: Box<dyn Running>,
    reference: Box<dyn Running>,
    accuracy: Accuracy,
    feed: Feed,
    /// The start value of each register, which is read while the register is not set.
    starts: Vec<Option<Value>>,
    /// Whether cycles that were not done are fed again.
    again: bool,
    pub(super) bits: Bits,
}

type Checked<T = ()> = Result<T, Failed>;

/// The values of the registers on the host, or their start values where they are not set.
type Registers = Vec<Option<Data>>;

fn found<T>(rule: ContractRule, what: impl Into<String>) -> Checked<T> {
    Err(Failed::Found(rule, what.into()))
}

impl<'a> Pair<'a> {
    pub(super) fn new(executor: &dyn Executor, case: &'a Case, wish: &PrepareOptions) -> Checked<Self> {
        let Ok(prepared) = executor.prepare(&case.plan, wish) else { return Err(Failed::Refused) };
        let short = |short| {
            Failed::Found(ContractRule::X4, format!("there is memory, and it does not start: {short}"))
        };
        let slow = Reference.prepare(&case.plan, wish).map_err(|_| Failed::Refused)?;
        let precision = case.plan.precision;
        let start = |start: &rml_plan::Start| start.value(&case.plan).map(|v| v.to_precision(precision));
        Ok(Self {
            case,
            tested: prepared.start(None).map_err(short)?,
            reference: slow.start(None).map_err(short)?,
            accuracy: executor.about().accuracy,
            feed: Feed::new(case),
            starts: case.plan.starts().iter().map(start).collect(),
            again: false,
            bits: Vec::new(),
        })
    }

    /// Runs all cycles, in windows or blocks whose lengths depend on the seed.
    pub(super) fn run(&mut self, seed: u64) -> Checked {
        let (mut dice, mut from, cycles) = (Dice(seed), 0, self.case.cycles);
        self.set_and_unset(&mut Dice(11))?;
        while from < cycles {
            let Some(ticks) = self.length(from, &mut dice)? else { break };
            let count = (cycles - from) / ticks;
            if count > 1
                && self.case.runs_together()
                && dice.below(2) == 0
                && self.many(from, ticks, count)?
            {
                from += ticks * count;
                continue;
            }
            if let Some(bad) = self.case.bad.get(dice.below(self.case.bad.len() + 2)) {
                self.fails(from, ticks, *bad, &mut dice)?;
            }
            let done = self.window(from, ticks)?;
            self.again = done < ticks;
            if done == 0 && from + ticks == cycles {
                break;
            }
            from += done;
        }
        self.set_and_unset(&mut Dice(12))?;
        let registers = self.registers(&*self.tested)?;
        self.bits.extend(registers.iter().map(|data| data.as_ref().map(bits).unwrap_or_default()));
        Ok(())
    }

    /// The number of ticks of the next window; `None` if it does not end.
    fn length(&mut self, from: usize, dice: &mut Dice) -> Checked<Option<usize>> {
        let (plan, left) = (&self.case.plan, self.case.cycles - from);
        match &plan.ends {
            Ends::Given(ends) => Ok(self.feed.length(ends, from)),
            Ends::Found { .. } => self.find(from, dice),
            Ends::Nothing if plan.waits && self.again => Ok(Some(left)),
            Ends::Nothing => {
                let ahead = plan.ahead() as usize;
                Ok((left > ahead).then(|| (ahead + 1 + dice.below(6)).min(left)))
            }
        }
    }

    /// Makes both runs search for the end of a window, first in some cycles and then in all of them.
    fn find(&mut self, from: usize, dice: &mut Dice) -> Checked<Option<usize>> {
        let left = self.case.cycles - from;
        let (before, mut length) = (self.registers(&*self.tested)?, None);
        for ticks in [1 + dice.below(left), left] {
            let mut ends = Vec::new();
            for run in [&mut self.reference, &mut self.tested] {
                let short =
                    |_| Failed::Found(ContractRule::X4, "there is memory, and it does not get it".to_owned());
                run.ask(ticks).map_err(short)?;
                run.next(Next::Search(ticks));
                self.feed.set(&mut **run, from, ticks).or_else(|what| found(ContractRule::X1, what))?;
                ends.push(
                    run.find(ticks)
                        .or_else(|fault| found(ContractRule::X2, format!("a search: {fault:?}")))?,
                );
            }
            if ends[0] != ends[1] {
                return found(
                    ContractRule::X1,
                    format!("a window ends at {:?}, not at {:?}", ends[1], ends[0]),
                );
            }
            self.unchanged(&before, "a search")?;
            length = ends[0];
        }
        if dice.below(2) == 0 {
            self.tested.abandon();
            self.reference.abandon();
            self.unchanged(&before, "a search that was abandoned")?;
        }
        Ok(length)
    }

    fn unchanged(&self, before: &Registers, what: &str) -> Checked {
        let same = |(a, b): (&Option<Data>, &Option<Data>)| a.as_ref().map(bits) == b.as_ref().map(bits);
        let now = self.registers(&*self.tested)?;
        match now.iter().zip(before).position(|pair| !same(pair)) {
            Some(at) => found(ContractRule::X3, format!("{what} changes register {at}")),
            None => Ok(()),
        }
    }

    /// Runs a window on both.
    fn both(&mut self, from: usize, ticks: usize) -> Checked<[Result<usize, Fault>; 2]> {
        let feed = &self.feed;
        let run = |run: &mut dyn Running| {
            let short =
                |_| Failed::Found(ContractRule::X4, "there is memory, and it does not get it".to_owned());
            run.ask(ticks).map_err(short)?;
            run.next(Next::Window(ticks));
            feed.set(run, from, ticks).or_else(|what| found(ContractRule::X1, what))?;
            Ok(run.window(ticks))
        };
        Ok([run(&mut *self.reference)?, run(&mut *self.tested)?])
    }

    /// Runs `count` windows of `ticks` ticks: in one call, and one by one on the reference. False if the executor runs
    /// no windows together.
    fn many(&mut self, from: usize, ticks: usize, count: usize) -> Checked<bool> {
        let (all, before) = (ticks * count, self.registers(&*self.tested)?);
        let short = |_| Failed::Found(ContractRule::X4, "there is memory, and it does not get it".to_owned());
        self.tested.ask(all).map_err(short)?;
        self.tested.next(Next::Search(all));
        self.feed.set(&mut *self.tested, from, all).or_else(|what| found(ContractRule::X1, what))?;
        match self.tested.windows(ticks, count) {
            Ok(true) => {}
            Ok(false) | Err(Fault::Suspect) => {
                self.unchanged(&before, "a call for several windows that did not run them")?;
                return Ok(false);
            }
            Err(failed) => {
                return found(ContractRule::X1, format!("several windows have no result: {failed:?}"));
            }
        }
        for k in 0..count {
            self.reference.next(Next::Window(ticks));
            self.feed
                .set(&mut *self.reference, from + k * ticks, ticks)
                .or_else(|what| found(ContractRule::X1, what))?;
            let ran = self.reference.window(ticks);
            ran.or_else(|fault| found(ContractRule::X2, format!("it does not suspect a window: {fault:?}")))?;
            self.outputs(ContractRule::X1, ticks, k * ticks)?;
        }
        self.same_registers(ContractRule::X1)?;
        Ok(true)
    }

    /// Runs a window in which an operator has no result, and checks the suspicion.
    fn fails(&mut self, from: usize, ticks: usize, bad: i64, dice: &mut Dice) -> Checked {
        let (at, before) = (from + dice.below(ticks), self.registers(&*self.tested)?);
        let Some(good) = self.feed.put(at, bad) else { return Ok(()) };
        let ran = self.both(from, ticks)?;
        self.feed.put(at, good);
        match ran {
            [Err(_), Ok(_)] => found(ContractRule::X2, "it does not suspect an operator that has no result"),
            [Err(_), Err(Fault::Suspect)] => self.unchanged(&before, "a fault"),
            [_, ran] => found(ContractRule::X2, format!("an operator has no result: {ran:?}")),
        }
    }

    /// Runs a window that has a result; returns the number of ticks that are done.
    fn window(&mut self, from: usize, ticks: usize) -> Checked<usize> {
        let rule = if self.again { ContractRule::X6 } else { ContractRule::X1 };
        let before = self.registers(&*self.tested)?;
        match self.both(from, ticks)? {
            [Ok(done), Ok(tested)] if done == tested => {
                self.outputs(rule, done, 0)?;
                self.same_registers(rule)?;
                Ok(done)
            }
            [Ok(done), Ok(tested)] => found(rule, format!("{tested} ticks are done, not {done}")),
            [Ok(_), Err(Fault::Suspect)] => {
                self.unchanged(&before, "a fault")?;
                let what =
                    if self.case.may_fail() { "these operands have a result" } else { "nothing may fail" };
                found(ContractRule::X2, format!("it suspects a window: {what}"))
            }
            [_, ran] => found(rule, format!("a window has no result: {ran:?}")),
        }
    }

    /// Compares the outputs of a window of the reference with those of the executor from tick `from` of its last call.
    fn outputs(&mut self, rule: ContractRule, done: usize, from: usize) -> Checked {
        for t in 0..done {
            for output in 0..self.case.plan.outputs.len() {
                let read = |run: &mut dyn Running, t: usize| {
                    let mut data = Data::Bool(Vec::new());
                    let there = run.add_output(output, t, &mut data);
                    there.map(|there| (there, data)).or_else(|d| found(rule, d.message))
                };
                let (want, got) = (read(&mut *self.reference, t)?, read(&mut *self.tested, from + t)?);
                if got.0 != want.0 || !is_same(&got.1, &want.1, self.accuracy) {
                    return found(rule, format!("output {output} at tick {t} is {got:?}, not {want:?}"));
                }
                self.bits.push(bits(&got.1));
            }
        }
        Ok(())
    }

    /// The registers of a run, except those that are local to a window.
    fn registers(&self, run: &dyn Running) -> Checked<Registers> {
        let value = |at: usize| {
            if self.case.plan.registers[register(at)].kind == Lifetime::Local {
                return Ok(None);
            }
            let set = run.is_set(at).or_else(|d| found(ContractRule::X1, d.message))?;
            let held = run.register(at).filter(|_| set).map(|held| held.to_host());
            let value = held.transpose().or_else(|failure| found(ContractRule::X1, failure.message))?;
            Ok(value.or_else(|| self.starts[at].clone()).map(|value| value.to_data()))
        };
        (0..self.case.plan.registers.len()).map(value).collect()
    }

    fn same_registers(&self, rule: ContractRule) -> Checked {
        let (want, got) = (self.registers(&*self.reference)?, self.registers(&*self.tested)?);
        for (at, (want, got)) in want.iter().zip(&got).enumerate() {
            let same = match (want, got) {
                (Some(want), Some(got)) => is_same(got, want, self.accuracy),
                (want, got) => want.is_none() && got.is_none(),
            };
            if !same {
                return found(rule, format!("register {at} is {got:?}, not {want:?}"));
            }
        }
        Ok(())
    }

    /// Sets all registers to other values, and makes some of them not set again.
    fn set_and_unset(&mut self, dice: &mut Dice) -> Checked {
        for (at, data) in
            self.case.plan.registers.iter().enumerate().filter(|(_, r)| r.kind != Lifetime::Local)
        {
            let value = dice.value(&data.ty, self.case.plan.precision);
            for run in [&mut self.reference, &mut self.tested] {
                let set = run.set_register(at, &Held::Host(value.clone()));
                set.or_else(|d| found(ContractRule::X1, format!("register {at}: {}", d.message)))?;
            }
            if dice.below(3) == 0 {
                self.same_registers(ContractRule::X1)?;
                self.reference.unset_register(at);
                self.tested.unset_register(at);
            }
        }
        self.same_registers(ContractRule::X1)
    }
}
