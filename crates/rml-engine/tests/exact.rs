//! Fast engines with justified and unjustified suspicions, under [`Exact`]: random programs run as in the simulator.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use rml_base::codes::backend::BACKEND_FAILED;
use rml_base::{Diagnostic, Span};
use rml_engine::{
    Block, BlockColumn, BlockResult, CycleRow, Declined, End, Exact, Fast, Feeding, FirstOf, InputCell,
    Inputs, KnownOutputs, Present, ProgramEngine, Reason, Run, States, Usage, Use,
};
use rml_ir::flat::{Drawn, Flat};
use rml_ir::op::{Binary, Op};
use rml_ir::{Data, Shape, Type, Value};
use rml_sim::SimulatorEngine;
use rml_testkit::flat::{Builder, INT, columns, random, text};

const STREAM: Use =
    Use { feeding: Feeding::Stream { look_ahead: None }, record: false, first: 0, profile: None };

fn reference() -> Arc<dyn ProgramEngine> {
    Arc::new(SimulatorEngine::new())
}

/// Computes with a simulator, but reports its errors only as a suspicion. It reports cycles that remain open as
/// suspect.
#[derive(Debug)]
struct Mock {
    program: Arc<Drawn>,
    run: Box<dyn Run>,
    /// Every block whose number is a multiple of this is reported as suspect from its middle on, whatever its content.
    lies: usize,
    /// The number of the block at which the device fails.
    breaks: Option<usize>,
    blocks: usize,
    /// The number of reads of the states.
    asked: Arc<AtomicUsize>,
}

impl Mock {
    fn new(program: &Arc<Drawn>, lies: usize) -> Self {
        let run = reference().open(program, &STREAM).unwrap();
        Self { program: Arc::clone(program), run, lies, breaks: None, blocks: 0, asked: Arc::default() }
    }

    /// Goes to the given states, whatever was fed since.
    fn go_to(&mut self, states: &States) {
        self.run = reference().open(&self.program, &STREAM).unwrap();
        self.run.set_states(states).unwrap();
    }

    /// The simulator's outputs of the given cycles, as a block.
    fn block(&self, rows: &[CycleRow]) -> Block {
        let of = |k: usize| {
            let present = rows.iter().map(|row| row.values[k].is_present()).collect();
            let values = rows.iter().filter_map(|row| row.values[k].value());
            column(present, values, &self.program.vars[self.program.outputs[k]].ty)
        };
        Block::new(rows.len(), (0..self.program.outputs.len()).map(of).collect())
    }
}

impl Fast for Mock {
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<BlockResult, Diagnostic> {
        self.blocks += 1;
        if self.breaks == Some(self.blocks) {
            return Err(Diagnostic::error(BACKEND_FAILED, "the device is gone"));
        }
        let (cycles, lies) = (inputs.cycles(), self.blocks.is_multiple_of(self.lies));
        let wanted = if lies { cycles / 2 } else { cycles };
        let (mut done, mut states, mut rows) = (0, self.run.states()?, Vec::new());
        for (n, row) in cycles_of(inputs).iter().enumerate().take(wanted) {
            if self.run.feed(Inputs::Cycle(row)).is_err() {
                break;
            }
            rows.extend(known(&mut *self.run));
            if let (0, Ok(now)) = (self.run.open_cycles(), self.run.states()) {
                (done, states) = (n + 1, now);
            }
        }
        if done < cycles || lies {
            self.go_to(&states);
        }
        let outputs = |rows: &[CycleRow]| KnownOutputs::Block { first, block: self.block(rows) };
        if done == cycles && !lies {
            return Ok(BlockResult::Done(outputs(&rows)));
        }
        Ok(BlockResult::Suspect((done > 0).then(|| outputs(&rows[..done]))))
    }

    fn states(&self) -> Result<States, Diagnostic> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.run.states()
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        self.run = reference().open(&self.program, &STREAM).unwrap();
        self.run.set_states(states)
    }

    fn usage(&self) -> Usage {
        self.run.usage()
    }
}

/// The inputs of each cycle.
fn cycles_of(inputs: Inputs<'_>) -> Vec<Vec<InputCell>> {
    match inputs {
        Inputs::Cycle(row) => vec![row.to_vec()],
        Inputs::Block(block) => {
            let (mut rows, mut row, mut cycles) = (block.rows().unwrap(), Vec::new(), Vec::new());
            while rows.next_inputs(&mut row) {
                cycles.push(row.clone());
            }
            cycles
        }
    }
}

/// The outputs that are known now.
fn known(run: &mut dyn Run) -> Vec<CycleRow> {
    let mut rows = Vec::new();
    std::iter::from_fn(|| run.next_outputs()).for_each(|outputs| outputs.append_to(&mut rows).unwrap());
    rows
}

/// A column of the given values.
fn column<'a>(present: Present, values: impl Iterator<Item = &'a Value>, ty: &Type) -> BlockColumn {
    let values: Vec<Data> = values.map(Value::to_data).collect();
    let dims: Vec<usize> = [values.len()].iter().chain(ty.shape.dims()).copied().collect();
    let Some(first) = values.first() else { return BlockColumn::absent() };
    let mut all = first.clone();
    for part in &values[1..] {
        match (&mut all, part) {
            (Data::Bool(a), Data::Bool(b)) => a.extend(b),
            (Data::Int(a), Data::Int(b)) => a.extend(b),
            (Data::F32(a), Data::F32(b)) => a.extend(b),
            (Data::F64(a), Data::F64(b)) => a.extend(b),
            (a, b) => panic!("{a:?} and {b:?}"),
        }
    }
    BlockColumn::new(present, Value::new(Shape::new(&dims), all))
}

fn value(cell: &InputCell) -> Option<&Value> {
    match cell {
        InputCell::Given(value) | InputCell::OnDemand(Some(value)) => Some(value),
        InputCell::Absent | InputCell::OnDemand(None) => None,
    }
}

/// The cycles as a block; `None` if an input is refused on demand, or is on demand in some cycles only.
fn block(program: &Flat, cycles: &[Vec<InputCell>]) -> Option<Block> {
    let of = |(k, input): (usize, &rml_ir::flat::Input)| {
        let cells = || cycles.iter().map(|row| &row[k]);
        let demands = cells().filter(|c| matches!(c, InputCell::OnDemand(_))).count();
        let present: Present = cells().map(|cell| value(cell).is_some()).collect();
        if cells().any(|c| matches!(c, InputCell::OnDemand(None)))
            || demands != 0 && demands != present.count(cycles.len())
        {
            return None;
        }
        let column = column(present, cells().filter_map(value), &program.vars[input.var].ty);
        Some(if demands > 0 { column.on_demand() } else { column })
    };
    Some(Block::new(cycles.len(), program.inputs.iter().enumerate().map(of).collect::<Option<_>>()?))
}

/// The log of a run that is fed these cycles, `size` at a time. Cycles that fail are taken back and fed again without
/// the part that failed.
fn story(mut run: Box<dyn Run>, program: &Flat, cycles: &[Vec<InputCell>], size: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: VecDeque<&[Vec<InputCell>]> = VecDeque::new();
    let fetch = |run: &mut dyn Run, lines: &mut Vec<String>| {
        for row in known(run) {
            lines.push(format!("{} {}", row.cycle, text(&row.values)));
        }
    };
    let feed = |run: &mut dyn Run, cycles: &[Vec<InputCell>]| match block(program, cycles) {
        Some(block) => run.feed(Inputs::Block(&block)),
        None => cycles.iter().try_for_each(|row| run.feed(Inputs::Cycle(row))),
    };
    for part in cycles.chunks(size) {
        if let Err(why) = feed(&mut *run, part) {
            fetch(&mut *run, &mut lines);
            lines.push(format!("{why} {}", run.has_failed()));
            if run.has_failed() {
                // The error stays until the cycles are taken back.
                assert_eq!(feed(&mut *run, part).unwrap_err().to_string(), why.to_string());
                lines.push(format!("back to {}", run.take_back()));
                assert!(!run.has_failed() && run.open_cycles() == 0);
                for part in std::mem::take(&mut open) {
                    lines.push(format!("{:?}", feed(&mut *run, part).map_err(|d| d.to_string())));
                }
            }
        } else {
            open.push_back(part);
        }
        fetch(&mut *run, &mut lines);
        if run.open_cycles() == 0 {
            open.clear();
        }
        let states = run.states().map(|s| format!("{:?}", s.to_host().unwrap())).map_err(|d| d.to_string());
        let waits = run.undetermined().map(|u| (u.cyclic, u.waits_for_future, u.report.to_string()));
        let waiting = run.waiting().map(|u| u.report.to_string());
        lines.push(format!("{} {} {states:?} {waits:?} {waiting:?}", run.cycles(), run.open_cycles()));
    }
    lines.push(format!("{:?}", run.finish(End::Closed).map_err(|d| d.to_string())));
    lines.push(format!("{:?}", run.undetermined().map(|u| u.report.to_string())));
    lines.push(format!("{:?}", run.finish(End::Closed).map_err(|d| d.to_string())));
    let rest = run.remaining().unwrap();
    lines.extend(rest.iter().map(|row| format!("{} {}", row.cycle, text(&row.values))));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn suspicions_right_and_wrong_change_nothing(
        numbers in vec(any::<u32>(), 20..160), data in vec(any::<u32>(), 120), wild: bool, lies in 1_usize..6, size in 1_usize..4
    ) {
        let (flat, _) = random::program(&numbers, 16, wild);
        let cycles = random::trace(&flat, &data, 10, wild);
        let exact = Exact::new(Mock::new(&flat, lies), reference(), Arc::clone(&flat), STREAM);
        let plain = reference().open(&flat, &STREAM).unwrap();
        let [exact, plain] = [Box::new(exact) as Box<dyn Run>, plain].map(|run| story(run, &flat, &cycles, size));
        prop_assert_eq!(exact, plain, "{}", rml_ir::flat::print(&flat));
    }
}

/// `o = x + (0 fby o)`, a state with a key.
fn sum() -> Arc<Drawn> {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let o = b.scalar("o", INT);
    let before = b.fby(0, o);
    b.define(o, rml_ir::flat::Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![x, before] });
    b.output(o);
    let mut flat = Flat::clone(&b.build());
    let equation = flat.equations.iter_enumerated().find(|(_, eq)| eq.lhs == before).unwrap().0;
    flat.states.clear();
    flat.states.insert("o".into(), rml_ir::flat::State { equation, parameter: false });
    Arc::new(Drawn::new(flat).expect("one state has one key"))
}

fn feed(run: &mut dyn Run, program: &Flat, numbers: &str) -> Result<Vec<String>, Diagnostic> {
    let block = block(program, &columns(&[numbers])).unwrap();
    run.feed(Inputs::Block(&block))?;
    Ok(rows(run))
}

fn rows(run: &mut dyn Run) -> Vec<String> {
    known(run).iter().map(|row| format!("{}: {}", row.cycle, text(&row.values))).collect()
}

#[test]
fn an_error_has_its_cycle_and_what_was_known_before_it() {
    let program = sum();
    let mut run = Exact::new(Mock::new(&program, usize::MAX), reference(), Arc::clone(&program), STREAM);
    assert_eq!(feed(&mut run, &program, "1 2 3").unwrap(), ["0: 1", "1: 3", "2: 6"]);
    let error = feed(&mut run, &program, "4 9223372036854775807 6").unwrap_err();
    assert!(error.to_string().contains("overflows in cycle 4"), "{error}");
    assert_eq!(rows(&mut run), ["3: 10"]);
    assert!(run.has_failed() && run.stands_in());
    assert_eq!(run.take_back(), 4);
    assert_eq!(feed(&mut run, &program, "5").unwrap(), ["4: 15"]);
    assert!(!run.has_failed() && !run.stands_in());
}

#[test]
fn a_suspicion_without_an_error_costs_time_only() {
    let program = sum();
    let mut run = Exact::new(Mock::new(&program, 2), reference(), Arc::clone(&program), STREAM);
    for (n, expected) in ["0: 1", "1: 2", "2: 3", "3: 4"].into_iter().enumerate() {
        assert_eq!(feed(&mut run, &program, "1").unwrap(), [expected]);
        assert!(!run.stands_in(), "it goes back after block {n}");
    }
}

#[test]
fn inputs_of_another_type_are_reported_by_the_reference() {
    let program = sum();
    let open = || Exact::new(Mock::new(&program, usize::MAX), reference(), Arc::clone(&program), STREAM);
    let (mut exact, mut plain) = (open(), reference().open(&program, &STREAM).unwrap());
    for inputs in [&[InputCell::Given(Value::Bool(true))][..], &[]] {
        let errors = [exact.feed(Inputs::Cycle(inputs)), plain.feed(Inputs::Cycle(inputs))];
        assert_eq!(errors[0].as_ref().unwrap_err().to_string(), errors[1].as_ref().unwrap_err().to_string());
        assert_eq!((exact.cycles(), exact.has_failed()), (0, false));
    }
    assert_eq!(feed(&mut exact, &program, "7").unwrap(), ["0: 7"]);
}

#[test]
fn states_are_asked_for_where_something_is_suspect_and_not_elsewhere() {
    let program = sum();
    let mock = Mock::new(&program, 3);
    let asked = Arc::clone(&mock.asked);
    let mut run = Exact::new(mock, reference(), Arc::clone(&program), STREAM);
    for (numbers, times) in [("1 2", 0), ("3", 0), ("4 5", 2), ("6", 2)] {
        feed(&mut run, &program, numbers).unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), times, "{numbers}");
    }
}

#[test]
fn what_is_done_before_a_suspicion_is_not_run_again() {
    let program = sum();
    let mut run = Exact::new(Mock::new(&program, 1), reference(), Arc::clone(&program), STREAM);
    let block = block(&program, &columns(&["1 2 3 4 5 6"])).unwrap();
    run.feed(Inputs::Block(&block)).unwrap();
    assert!(!run.stands_in());
    let sizes: Vec<usize> = std::iter::from_fn(|| run.next_outputs()).map(|o| o.cycles()).collect();
    assert_eq!(sizes, [3, 1, 1, 1], "three cycles of the fast engine, the others of the reference");
    assert_eq!(feed(&mut run, &program, "7").unwrap(), ["6: 28"]);
}

#[test]
fn a_device_that_fails_ends_the_run() {
    let program = sum();
    let mock = Mock { breaks: Some(2), ..Mock::new(&program, usize::MAX) };
    let mut run = Exact::new(mock, reference(), Arc::clone(&program), STREAM);
    feed(&mut run, &program, "1").unwrap();
    for _ in 0..2 {
        assert_eq!(feed(&mut run, &program, "1").unwrap_err().message, "the device is gone");
    }
    run.take_back();
    assert!(run.has_failed() && run.states().is_err() && run.finish(End::Closed).is_err());
}

/// Declines every program.
#[derive(Debug)]
struct Picky;

impl ProgramEngine for Picky {
    fn name(&self) -> &str {
        "picky"
    }

    fn open(&self, program: &Arc<Drawn>, _: &Use) -> Result<Box<dyn Run>, Declined> {
        let span: Span = program.vars[program.outputs[0]].span;
        Err(Declined::new(Reason::Schedule, "it waits for data").at(span))
    }
}

#[test]
fn the_first_engine_that_does_not_decline_runs_the_program() {
    let program = sum();
    let engine = FirstOf::new(vec![Arc::new(Picky)], reference());
    let mut run = engine.open(&program, &STREAM).unwrap();
    assert_eq!(feed(&mut *run, &program, "1 2").unwrap(), ["0: 1", "1: 3"]);
    let only = FirstOf::new(Vec::new(), Arc::new(Picky));
    let why = only.open(&program, &STREAM).unwrap_err();
    let report = why.diagnostic(only.name());
    assert_eq!((report.code.name, report.labels.len()), ("engine-declines", 1));
    assert!(report.to_string().contains("the engine `picky` does not run this program: it waits for data"));
    assert!(report.to_string().contains("`schedule`"), "{report}");
}

/// Runs three cycles at a time.
#[derive(Debug)]
struct Threes {
    mock: Mock,
    open: Vec<Vec<InputCell>>,
}

impl Fast for Threes {
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<BlockResult, Diagnostic> {
        self.open.extend(cycles_of(inputs));
        let rest = self.open.split_off(self.open.len() / 3 * 3);
        let mut rows = Vec::new();
        for row in std::mem::replace(&mut self.open, rest) {
            self.mock.run.feed(Inputs::Cycle(&row))?;
            rows.extend(known(&mut *self.mock.run));
        }
        let outputs = KnownOutputs::Block { first, block: self.mock.block(&rows) };
        Ok(if self.open.is_empty() { BlockResult::Done(outputs) } else { BlockResult::Open(Some(outputs)) })
    }

    fn forget(&mut self) {
        self.open.clear();
    }

    fn states(&self) -> Result<States, Diagnostic> {
        self.mock.states()
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        self.mock.set_states(states)
    }

    fn usage(&self) -> Usage {
        self.mock.usage()
    }
}

#[test]
fn what_an_engine_leaves_open_waits_for_the_next_block() {
    let program = sum();
    let open = |wish: Use| {
        let fast = Threes { mock: Mock::new(&program, usize::MAX), open: Vec::new() };
        Exact::new(fast, reference(), Arc::clone(&program), wish)
    };
    let mut run = open(STREAM);
    assert!(feed(&mut run, &program, "1 2").unwrap().is_empty());
    assert_eq!((run.cycles(), run.open_cycles(), run.stands_in()), (2, 2, false));
    assert_eq!(feed(&mut run, &program, "3 4 5").unwrap(), ["0: 1", "1: 3", "2: 6"]);
    assert_eq!((run.cycles(), run.open_cycles()), (5, 2));
    // The reference has computed the open cycles too.
    assert_eq!(run.states().unwrap().get("o").unwrap().to_host().unwrap().as_int(), Some(15));
    assert!(run.undetermined().is_none() && run.waiting().is_none() && !run.stands_in());
    assert_eq!((run.take_back(), run.cycles(), run.open_cycles()), (3, 3, 0));
    assert_eq!(feed(&mut run, &program, "10 20 30 40").unwrap(), ["3: 16", "4: 36", "5: 66"]);
    run.finish(End::Closed).unwrap();
    assert_eq!(rows(&mut run), ["6: 106"]);
    // More cycles are open than allowed: the reference continues.
    let mut run = open(Use { feeding: Feeding::Stream { look_ahead: Some(1) }, ..STREAM });
    assert!(feed(&mut run, &program, "1").unwrap().is_empty());
    assert_eq!(feed(&mut run, &program, "2").unwrap(), ["0: 1", "1: 3"]);
    // States are set where no window of the program is open.
    assert!(feed(&mut run, &program, "3").unwrap().is_empty());
    let states = States::from_iter([(Arc::from("o"), Value::Int(100))]);
    run.set_states(&states).unwrap();
    assert_eq!(feed(&mut run, &program, "5").unwrap(), ["2: 6", "3: 105"]);
}
