//! The suite accepts the reference, and refuses each executor that has one defect.

use std::sync::Arc;

use rml_backend::Held;
use rml_base::Diagnostic;
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::suite::{ContractRule, check};
use rml_executor::{
    About, Accuracy, Executor, Fault, Footprint, Next, PrepareOptions, Prepared, Reference, Refused, Running,
    TooLong,
};
use rml_ir::{Data, Value};
use rml_plan::{Plan, Reg};

/// A defect of an executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrong {
    Nothing,
    DropsTheLastTick,
    IsOffByABit,
    HidesPresence,
    ForgetsAnUnsetRegister,
    ForgetsASetRegister,
    LosesARegister,
    NeverSuspects,
    AlwaysSuspects,
    ChangesARegisterOnAFault,
    ChangesARegisterInASearch,
    FindsTheEndLate,
    DependsOnThreads,
    DependsOnBlocks,
    KeepsInputsThatComeAgain,
    CountsRowsWrongly,
    RepeatsTheFirstWindow,
}

/// The defects, and the rules of the contract by which each may be found.
const WRONG: [(Wrong, &[ContractRule]); 16] = [
    (Wrong::DropsTheLastTick, &[ContractRule::X1, ContractRule::X6]),
    (Wrong::IsOffByABit, &[ContractRule::X1, ContractRule::X6]),
    (Wrong::HidesPresence, &[ContractRule::X1, ContractRule::X6]),
    (Wrong::ForgetsAnUnsetRegister, &[ContractRule::X1]),
    (Wrong::ForgetsASetRegister, &[ContractRule::X1]),
    (Wrong::LosesARegister, &[ContractRule::X1, ContractRule::X6]),
    (Wrong::NeverSuspects, &[ContractRule::X2]),
    (Wrong::AlwaysSuspects, &[ContractRule::X2]),
    (Wrong::ChangesARegisterOnAFault, &[ContractRule::X3]),
    (Wrong::ChangesARegisterInASearch, &[ContractRule::X3]),
    (Wrong::FindsTheEndLate, &[ContractRule::X1]),
    (Wrong::DependsOnThreads, &[ContractRule::X1, ContractRule::X5, ContractRule::X6]),
    (Wrong::DependsOnBlocks, &[ContractRule::X1, ContractRule::X5, ContractRule::X6]),
    (Wrong::KeepsInputsThatComeAgain, &[ContractRule::X6]),
    (Wrong::CountsRowsWrongly, &[ContractRule::X1]),
    (Wrong::RepeatsTheFirstWindow, &[ContractRule::X1, ContractRule::X5]),
];

/// The reference with a defect, and with the accuracy that it declares.
#[derive(Clone, Copy, Debug)]
struct Mutant(Wrong, Accuracy);

#[derive(Debug)]
struct Ready(Wrong, Arc<dyn Prepared>, Arc<Plan>, usize);

#[derive(Debug)]
struct Run {
    wrong: Wrong,
    run: Box<dyn Running>,
    plan: Arc<Plan>,
    threads: usize,
    ticks: usize,
    /// Whether cycles of the last window are fed again.
    again: bool,
    /// The inputs since the last call that ran a window: presence, elements, first row.
    fed: Vec<(Vec<bool>, Data, usize)>,
    /// The outputs of several windows that ran in one call, tick by tick.
    made: Vec<Vec<(bool, Data)>>,
}

impl Executor for Mutant {
    fn about(&self) -> About {
        About { accuracy: self.1, ..Reference.about() }
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        Ok(Arc::new(Ready(self.0, Reference.prepare(plan, wish)?, Arc::clone(plan), wish.threads)))
    }
}

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        self.1.footprint()
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        let (run, plan) = (self.1.start(profile)?, Arc::clone(&self.2));
        Ok(Box::new(Run {
            wrong: self.0,
            run,
            plan,
            threads: self.3,
            ticks: 0,
            again: false,
            fed: Vec::new(),
            made: Vec::new(),
        }))
    }
}

impl Run {
    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == wrong
    }

    /// Sets the first register to another value.
    fn damage(&mut self) {
        let ty = &self.plan.registers[Reg(0)].ty;
        let other = match Value::zeros(ty, self.plan.precision).to_data() {
            Data::F32(x) => Data::F32(vec![77.0; x.len()]),
            Data::F64(x) => Data::F64(vec![77.0; x.len()]),
            Data::Int(x) => Data::Int(vec![77; x.len()]),
            Data::Bool(x) => Data::Bool(vec![true; x.len()]),
        };
        self.run.set_register(0, &Held::Host(Value::new(ty.shape.clone(), other))).expect("on the host");
    }
}

/// Changes the last bit of the last number.
fn flip(data: &mut Data) {
    match data {
        Data::F32(x) => x.iter_mut().last().into_iter().for_each(|x| *x = f32::from_bits(x.to_bits() ^ 1)),
        Data::F64(x) => x.iter_mut().last().into_iter().for_each(|x| *x = f64::from_bits(x.to_bits() ^ 1)),
        Data::Int(_) | Data::Bool(_) => {}
    }
}

impl Running for Run {
    fn next(&mut self, next: Next) {
        self.fed.clear();
        self.run.next(next);
    }

    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.fed.push(((0..ticks).map(present).collect(), data.clone(), row));
        if self.is(Wrong::KeepsInputsThatComeAgain) && self.again && row > 0 {
            // Reads the rows as if they began one cycle earlier.
            return self.run.set_rows(input, ticks, present, data, row - 1) + 1;
        }
        self.run.set_rows(input, ticks, present, data, row) + usize::from(self.is(Wrong::CountsRowsWrongly))
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.ticks = ticks;
        self.made.clear();
        if self.is(Wrong::AlwaysSuspects) {
            return Err(Fault::Suspect);
        }
        let ran = self.run.window(ticks);
        match ran {
            Err(Fault::Suspect) if self.is(Wrong::NeverSuspects) => return Ok(ticks),
            Err(_) if self.is(Wrong::ChangesARegisterOnAFault) => self.damage(),
            Ok(_) if self.is(Wrong::LosesARegister) => self.run.unset_register(0),
            Ok(done) => self.again = done < ticks,
            Err(_) => {}
        }
        Ok(ran?.saturating_sub(usize::from(self.is(Wrong::DropsTheLastTick))))
    }

    /// Runs the windows one by one.
    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        if !matches!(self.wrong, Wrong::Nothing | Wrong::RepeatsTheFirstWindow) {
            return Ok(false);
        }
        let (fed, mut made) = (std::mem::take(&mut self.fed), Vec::new());
        for k in 0..count {
            for (input, (present, data, row)) in fed.iter().enumerate() {
                let before = present[..k * ticks].iter().filter(|there| **there).count();
                self.run.set_rows(input, ticks, &|t| present[k * ticks + t], data, row + before);
            }
            self.run.window(ticks)?;
            for t in 0..ticks {
                let read = |output| {
                    let mut data = Data::Bool(Vec::new());
                    self.run.add_output(output, t, &mut data).map(|there| (there, data))
                };
                let outputs: Result<Vec<_>, Diagnostic> = (0..self.plan.outputs.len()).map(read).collect();
                made.push(outputs.expect("on the host"));
            }
        }
        if self.is(Wrong::RepeatsTheFirstWindow) {
            (ticks..made.len()).for_each(|t| made[t] = made[t % ticks].clone());
        }
        self.made = made;
        Ok(true)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        let found = self.run.find(ticks)?;
        if self.is(Wrong::ChangesARegisterInASearch) {
            self.damage();
        }
        Ok(found.map(|ticks| ticks + usize::from(self.is(Wrong::FindsTheEndLate))))
    }

    fn abandon(&mut self) {
        self.run.abandon();
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        if let Some((there, data)) = self.made.get(t).map(|outputs| &outputs[output]) {
            rml_executor::append(to, data.clone());
            return Ok(*there);
        }
        let there = self.run.add_output(output, t, to)?;
        let by_threads = self.is(Wrong::DependsOnThreads) && self.threads > 1;
        let by_blocks = self.is(Wrong::DependsOnBlocks) && self.ticks > 4;
        if self.is(Wrong::IsOffByABit) || by_threads || by_blocks {
            flip(to);
        }
        Ok(there && !self.is(Wrong::HidesPresence))
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.run.register(register)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        self.run.is_set(register)
    }

    fn unset_register(&mut self, register: usize) {
        if !self.is(Wrong::ForgetsAnUnsetRegister) {
            self.run.unset_register(register);
        }
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        if self.is(Wrong::ForgetsASetRegister) { Ok(()) } else { self.run.set_register(register, value) }
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        self.run.ask(ticks)
    }
}

#[test]
fn the_reference_passes() {
    for executor in [&Reference as &dyn Executor, &Mutant(Wrong::Nothing, Accuracy::Bits)] {
        let report = check(executor);
        assert_eq!((report.ran, &report.refused), (22, &Vec::new()));
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }
}

#[test]
fn whatever_is_wrong_is_found() {
    for (wrong, rules) in WRONG {
        let findings = check(&Mutant(wrong, Accuracy::Bits)).findings;
        assert!(!findings.is_empty(), "{wrong:?} is not found");
        assert!(findings.iter().all(|found| rules.contains(&found.rule)), "{wrong:?}: {findings:#?}");
    }
}

/// An executor may be less exact than the reference if it declares so. Its bits must not depend on threads or blocks in
/// any case.
#[test]
fn what_is_near_has_to_be_declared() {
    let near = |wrong| check(&Mutant(wrong, Accuracy::Near(1e-5))).findings;
    assert_eq!(near(Wrong::IsOffByABit), []);
    for wrong in [Wrong::DependsOnThreads, Wrong::DependsOnBlocks] {
        let findings = near(wrong);
        assert!(!findings.is_empty(), "{wrong:?} is not found");
        assert!(findings.iter().all(|found| found.rule == ContractRule::X5), "{wrong:?}: {findings:#?}");
    }
}
