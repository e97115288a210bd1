//! The engine that runs plans: whole windows at once, or a stream cycle by cycle.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::available_parallelism;

use rml_analysis::{Analyses, Causality, Latency};
use rml_backend::{Backend, Compiled};
use rml_backend_cpu::Cpu;
use rml_base::IndexVec;
use rml_engine::{Declined, Exact, Feeding, ProgramEngine, Reason, Run, Use};
use rml_executor::{Executor, PrepareOptions, Prepared, Ragged, Refused};
use rml_ir::flat::{Drawn, Var};
use rml_lower::Lowered;
use rml_plan::{Ends, Plan, Reg};
use rml_schedule::{Fed, Foreseen};
use rml_sim::SimulatorEngine;

use super::clocks::InputClocks;
use super::windows::{Planned, Windows};

/// Runs programs that have a plan; windows that may contain an error run again in the simulator. Programs are opened
/// often: for each epoch, each gradient, each number of stacked windows. So their plans are cached, ready to run, for
/// as long as the programs exist.
#[derive(Debug)]
pub(super) struct PlanEngine {
    known: Mutex<Vec<Known>>,
    executor: Arc<dyn Executor>,
    /// Whether guessing window lengths saves time on this executor.
    guesses: bool,
    /// The largest number of threads; by default one per core.
    threads: Option<NonZeroUsize>,
}

/// On the embedded backend.
impl Default for PlanEngine {
    fn default() -> Self {
        Self::on(Arc::new(Cpu))
    }
}

/// The facts about a program that is fed in one way.
#[derive(Debug)]
struct Known {
    program: Weak<Drawn>,
    fed: Fed,
    found: Result<Found, Declined>,
}

/// A plan, prepared by the executor when it is first opened for a use.
#[derive(Clone, Debug)]
struct Found {
    planned: Planned,
    prepared: Arc<OnceLock<Result<Arc<dyn Prepared>, Refused>>>,
}

impl ProgramEngine for PlanEngine {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
        if wish.record {
            return Err(Declined::new(Reason::Use, "a plan keeps no record of every variable"));
        }
        let fed = if matches!(wish.feeding, Feeding::Windows { .. }) { Fed::Windows } else { Fed::Blocks };
        let Found { planned, prepared } = self.planned(program, fed)?;
        if fed == Fed::Blocks && !streams(&planned.plan) {
            return Err(Declined::new(Reason::Use, "its windows are not fed as a whole"));
        }
        let prepare = || self.executor.prepare(&planned.plan, &PrepareOptions { threads: self.threads() });
        let prepared = prepared.get_or_init(prepare).as_ref().map_err(|refused| {
            let name = self.executor.about().name;
            Declined::new(Reason::Use, format!("the backend `{name}` does not run its plan: {}", refused.why))
        })?;
        let machine = prepared.start(wish.profile.as_ref());
        let machine = machine.map_err(|short| Declined::short("one tick of its windows", short))?;
        let windows = Windows::new(planned, machine, self.guesses);
        let (reference, program) = (Arc::new(SimulatorEngine::new()), Arc::clone(program));
        Ok(Box::new(Exact::new(windows, reference, program, wish.clone())))
    }

    fn compiled(&self) -> Compiled {
        self.executor.compiled()
    }
}

impl PlanEngine {
    /// Plans on the given executor.
    pub(super) fn on(executor: Arc<dyn Executor>) -> Self {
        Self { known: Mutex::default(), guesses: executor.about().guesses, executor, threads: None }
    }

    /// Plans on the given backend; the embedded backend runs the windows that are slow on it.
    pub(super) fn lowered(backend: Arc<dyn Backend>) -> Self {
        Self::on(Arc::new(Ragged::new(Arc::new(Lowered::new(backend)), Arc::new(Cpu))))
    }

    /// The same, with at most `threads` threads.
    pub(super) fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    fn threads(&self) -> usize {
        // A request to the system takes as long as a small window.
        static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
        let cores = || *CORES.get_or_init(|| available_parallelism().unwrap_or(NonZeroUsize::MIN));
        self.threads.unwrap_or_else(cores).get()
    }

    /// The plan of a program, made once.
    fn planned(&self, program: &Arc<Drawn>, fed: Fed) -> Result<Found, Declined> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|k| k.program.strong_count() > 0);
        let is_this = |k: &&Known| k.fed == fed && k.program.as_ptr() == Arc::as_ptr(program);
        if let Some(known) = known.iter().find(is_this) {
            return known.found.clone();
        }
        let found = planned(program, &Analyses::of(program), fed);
        let found = found.map(|planned| Found { planned, prepared: Arc::default() });
        known.push(Known { program: Arc::downgrade(program), fed, found: found.clone() });
        found
    }
}

/// The plan of a program that was analysed before. If the ends of its windows depend on the next cycle, a program that
/// gets data of the next cycle as inputs is planned instead, so that blocks need not wait.
pub(super) fn planned(program: &Drawn, analyses: &Analyses, fed: Fed) -> Result<Planned, Declined> {
    let found = planned_alone(program, analyses, fed);
    if fed == Fed::Windows
        && found.as_ref().map_or(true, |found| found.plan.waits)
        && let Some(foreseen) = foreseen(program, analyses)
    {
        return Ok(foreseen);
    }
    found
}

/// The plan of a program that has data of the next cycle as inputs.
fn foreseen(program: &Drawn, analyses: &Analyses) -> Option<Planned> {
    let Foreseen { program, next } = rml_schedule::foreseen(program, &analyses.clocks.clocks)?;
    let planned = planned_alone(&program, &Analyses::of(&program), Fed::Windows).ok()?;
    (planned.plan.ends != Ends::Nothing).then(|| Planned { next: Some(next.into()), ..planned })
}

fn planned_alone(program: &Drawn, analyses: &Analyses, fed: Fed) -> Result<Planned, Declined> {
    match InputClocks::new(program, &analyses.clocks.clocks) {
        Ok(clocks) if clocks.told.is_empty() => scheduled(program, analyses, fed, clocks),
        Ok(clocks) => telling(program, analyses, fed, clocks),
        // If the program has no plan for another reason, too, that reason is more helpful.
        Err(why) => Err(schedule(program, analyses, fed).err().unwrap_or(why)),
    }
}

/// The plan of a program that computes where inputs are present. The plan also outputs these conditions, so that they
/// can be compared with the data.
fn telling(program: &Drawn, analyses: &Analyses, fed: Fed, clocks: InputClocks) -> Result<Planned, Declined> {
    let late = clocks.declined(program, "cannot compare it with the data in time");
    let mut flat = (**program).clone();
    flat.outputs.extend(&clocks.told);
    let extended = Drawn::new(flat).ok();
    let found = extended.and_then(|program| scheduled(&program, &Analyses::of(&program), fed, clocks).ok());
    // If the program has no plan even without these outputs, report that other reason.
    found.ok_or_else(|| schedule(program, analyses, fed).err().unwrap_or(late))
}

/// The plan of a program, with outputs for the clocks of inputs that data alone do not determine.
fn scheduled(
    program: &Drawn,
    analyses: &Analyses,
    fed: Fed,
    clocks: InputClocks,
) -> Result<Planned, Declined> {
    let (plan, delays) = schedule(program, analyses, fed)?;
    if clocks.computed().is_some() && (plan.waits || plan.ahead() > 0) {
        return Err(clocks.declined(program, "looks ahead"));
    }
    let outputs = program.outputs.len() - clocks.told.len();
    let (plan, delays, clocks) = (Arc::new(plan), Arc::new(delays), clocks.of);
    Ok(Planned { plan, delays, clocks, next: None, outputs })
}

/// The plan of a program, if its outputs come soon enough for the way in which it is fed.
fn schedule(program: &Drawn, analyses: &Analyses, fed: Fed) -> Result<(Plan, IndexVec<Reg, Var>), Declined> {
    let (plan, delays) = rml_schedule::schedule_known(program, analyses, fed).map_err(|why| {
        let declined = Declined::new(Reason::Schedule, why.why);
        let declined = if let Some(span) = why.span { declined.at(span) } else { declined };
        if let Some(help) = why.help { declined.help(help) } else { declined }
    })?;
    if fed == Fed::Blocks && plan.waits {
        let why = "its blocks wait for later cycles, so its outputs would be late in a stream";
        return Err(Declined::new(Reason::Use, why).help(WHOLE));
    }
    if fed == Fed::Blocks
        && plan.ahead() > 0
        && u64::from(plan.ahead()) > latency(program, &analyses.causality)
    {
        let why = "a state waits longer than the outputs, so they would be late in a stream";
        return Err(Declined::new(Reason::Use, why).help(WHOLE));
    }
    Ok((plan, delays))
}

/// How to run a program whose outputs would be late in a stream.
const WHOLE: &str = "data given as a whole (`--data`, `--inputs`) runs by plan";

/// For how many cycles outputs wait, if this is known.
fn latency(program: &Drawn, causality: &Causality) -> u64 {
    let of = |v: &rml_ir::flat::Var| match causality.latency[*v] {
        Latency::Bounded(cycles) => cycles,
        _ => 0,
    };
    program.outputs.iter().map(of).max().unwrap_or(0)
}

/// Whether a plan can run a stream: no output waits for a later cycle.
fn streams(plan: &Plan) -> bool {
    plan.ends == Ends::Nothing || plan.inputs.is_empty()
}

#[cfg(test)]
mod tests {
    use rml_driver::{Options, Source, compile};
    use rml_engine::{Block, BlockColumn, End, InputCell, Inputs, KnownOutputs, Present};
    use rml_ir::{Data, Value};

    use super::*;

    fn run(text: &str, feeding: Feeding) -> Box<dyn Run> {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        PlanEngine::default().open(program.flat(), &Use::new(feeding)).expect("it has a plan")
    }

    /// The results of the simulator.
    fn simulated(program: &rml_driver::Program, feeding: Feeding, block: &Block) -> Vec<String> {
        let engine = SimulatorEngine::new();
        let mut run = engine.open(program.flat(), &Use::new(feeding)).expect("it runs everything");
        run.feed(Inputs::Block(block)).expect("it runs");
        rows(&mut *run)
    }

    /// The outputs that are known so far, one line per cycle.
    fn rows(run: &mut dyn Run) -> Vec<String> {
        let mut rows = Vec::new();
        while let Some(outputs) = run.next_outputs() {
            outputs.append_to(&mut rows).expect("on the host");
        }
        rows.iter().map(|row| format!("{} {:?}", row.cycle, row.values)).collect()
    }

    fn bools(values: &[bool]) -> BlockColumn {
        BlockColumn::new(
            Present::Always,
            Value::new(rml_ir::Shape::new(&[values.len()]), Data::Bool(values.to_vec())),
        )
    }

    /// A state that the program never changes may still be loaded with another value.
    #[test]
    fn states_that_contradict_the_facts_are_left_to_the_simulator() {
        let text =
            "node main(x: bool []) -> (y: bool []) flag = false fby flag; y = if flag then x else false;";
        let mut run = run(text, Feeding::Stream { look_ahead: None });
        let states = run.states().expect("on the host").to_host().expect("on the host");
        let (key, value) = states.first().expect("a state");
        assert_eq!(value.as_bool(), Some(false));
        for (flag, y) in [(false, false), (true, true), (false, false)] {
            let states = std::iter::once((Arc::clone(key), Value::Bool(flag))).collect();
            run.set_states(&states).expect("a state");
            run.feed(Inputs::Block(&Block::new(2, vec![bools(&[true; 2])]))).expect("it runs");
            let mut seen = Vec::new();
            while let Some(outputs) = run.next_outputs() {
                outputs.for_each_value(0, |_, value| seen.push(value.as_bool())).expect("on the host");
            }
            assert_eq!(seen, [Some(y); 2], "{flag}");
        }
    }

    /// A window that the simulator repeats counts many activations, a window that runs by plan counts one.
    #[test]
    fn a_block_is_run_window_by_window_and_not_again() {
        let text = "node count(x: bool []) -> (n) n = (0 fby n) + (if x then 1 else 0);
node main(x: bool [], end: bool []) -> (n when end) n = (count(x) every end) when end;";
        let mut run = run(text, Feeding::Windows { cycles: None });
        let (x, end) = ([true, true, false, true, false], [false, true, false, false, true]);
        run.feed(Inputs::Block(&Block::new(5, vec![bools(&x), bools(&end)]))).expect("it runs");
        assert_eq!(run.usage().activations, 2);
        let mut seen = Vec::new();
        let outputs = run.next_outputs().expect("all is known");
        outputs.for_each_value(0, |t, value| seen.push((t, value.as_int()))).expect("on the host");
        assert_eq!(seen, [(1, Some(2)), (4, Some(1))]);
        // A block that ends inside a window leaves the window open, and the next block continues it.
        run.feed(Inputs::Block(&Block::new(2, vec![bools(&[true; 2]), bools(&[false; 2])])))
            .expect("it runs");
        assert_eq!((run.open_cycles(), run.next_outputs().is_none()), (2, true));
        let more = [vec![bools(&[true, false, true]), bools(&[true, true, false])]].concat();
        run.feed(Inputs::Block(&Block::new(3, more))).expect("it runs");
        assert_eq!((run.open_cycles(), run.usage().activations), (1, 4));
        let counted = |outputs: &KnownOutputs| {
            let mut seen = Vec::new();
            outputs.for_each_value(0, |t, value| seen.push((t, value.as_int()))).expect("on the host");
            seen
        };
        assert_eq!(counted(&run.next_outputs().expect("two windows")), [(2, Some(3)), (3, Some(0))]);
        // At the end of the trace the simulator runs the open cycles.
        run.finish(End::Open).expect("it ends");
        assert!(run.usage().activations > 4);
        let rows = run.remaining().expect("on the host");
        assert_eq!(rows.iter().map(|row| row.cycle).collect::<Vec<_>>(), [9]);
    }

    /// The program computes the end of each window; blocks are arbitrary.
    #[test]
    fn an_end_that_the_program_finds_is_found_over_blocks() {
        let text = "node back(r: num []) -> (s) s = r + (0.0 fby back s);
node main(r: num []) -> (s, n) x = 0.0 fby (if end then 0.0 else x + r); end = x > 2.5; s = back(r) every end;
    n = 0 fby n + 1;";
        let all: Vec<f32> = (0..42_u8).map(|i| f32::from(i % 3)).collect();
        let block = |values: &[f32]| {
            let values = Value::new(rml_ir::Shape::new(&[values.len()]), Data::F32(values.to_vec()));
            Block::new(values.shape().dims()[0], vec![BlockColumn::new(Present::Always, values)])
        };
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let feeding = Feeding::Windows { cycles: None };
        let wanted = simulated(&program, feeding, &block(&all));
        assert!(wanted.len() > 30);
        let engines = [PlanEngine::default(), PlanEngine::lowered(Arc::new(rml_backend_cpu::Cpu))];
        for (engine, cut) in engines.iter().flat_map(|e| [1, 2, 7, 41].map(|cut| (e, cut))) {
            let mut run = engine.open(program.flat(), &Use::new(feeding)).expect("it has a plan");
            let mut found = Vec::new();
            for part in all.chunks(cut) {
                run.feed(Inputs::Block(&block(part))).expect("it runs");
                found.extend(rows(&mut *run));
            }
            assert_eq!(found, wanted, "in blocks of {cut}");
            assert_eq!(run.open_cycles(), (all.len() - wanted.len()) as u64);
            assert!(run.states().is_err());
            // Open cycles are taken back, and run again.
            let from = usize::try_from(run.take_back()).expect("few cycles");
            assert_eq!((from, run.open_cycles()), (wanted.len(), 0));
            assert!(run.states().is_ok());
            run.feed(Inputs::Block(&block(&all[from..]))).expect("it runs");
            run.finish(End::Closed).expect("it ends");
            let rest = run.remaining().expect("on the host");
            assert_eq!(rest.len(), all.len() - wanted.len());
        }
    }

    /// Many windows of one length run in one call, followed by some shorter ones; their ends are given, or computed.
    #[test]
    fn regular_windows_are_what_they_are_one_by_one() {
        let net = "node back(r: num []) -> (s) s = r + (0.0 fby back s);
node main(r: num []GIVEN) -> (s, w, n) s = back(r) every end; w = 0.5 fby (if end then w + 0.25 * s else w);
    n = 0 fby n + 1; FOUND";
        let lengths = [vec![3; 70], vec![2; 5], vec![3; 11], vec![1]].concat();
        let ends: Vec<bool> = lengths.iter().flat_map(|n| (1..=*n).map(move |t| t == *n)).collect();
        let r: Vec<f32> = ends.iter().map(|end| f32::from(u8::from(*end))).collect();
        let shape = rml_ir::Shape::new(&[ends.len()]);
        let column = |data| BlockColumn::new(Present::Always, Value::new(shape.clone(), data));
        let (given, found) = (column(Data::Bool(ends.clone())), column(Data::F32(r)));
        for (more, clause, columns) in
            [(", end: bool []", "", vec![found.clone(), given]), ("", "end = r > 0.5;", vec![found.clone()])]
        {
            let text = net.replace("GIVEN", more).replace("FOUND", clause);
            let program = compile(&Source::text("main", &*text), &Options::default()).expect("it compiles");
            let feeding = Feeding::Windows { cycles: None };
            let block = Block::new(ends.len(), columns);
            let wanted = simulated(&program, feeding, &block);
            let engine = PlanEngine::lowered(Arc::new(rml_backend_cpu::Cpu));
            let mut run = engine.open(program.flat(), &Use::new(feeding)).expect("it has a plan");
            run.feed(Inputs::Block(&block)).expect("it runs");
            assert_eq!(rows(&mut *run), wanted, "{text}");
            assert_eq!(run.usage().activations, lengths.len() as u64);
        }
    }

    /// The embedded backend in the role of a compiling one; it records what it prepares.
    #[derive(Debug, Default)]
    struct Compiling(Mutex<Vec<String>>);

    impl Backend for Compiling {
        fn about(&self) -> rml_backend::About {
            Backend::about(&Cpu)
        }

        fn compiled(&self) -> Option<Compiled> {
            Some(Compiled::default())
        }

        fn prepare(
            &self,
            function: &rml_backend::Function,
        ) -> Result<Box<dyn rml_backend::Executable>, rml_backend::Failure> {
            Backend::prepare(&Cpu, function)
        }

        fn prepare_routine(
            &self,
            routine: &rml_backend::Routine,
        ) -> Result<Box<dyn rml_backend::Executable>, rml_backend::Failure> {
            self.0.lock().expect("nobody panicked").push(rml_backend::routine::print(routine));
            rml_backend_cpu::Cpu.prepare_routine(routine)
        }

        fn upload(&self, value: &Value) -> Result<Arc<dyn rml_backend::Buffer>, rml_backend::Failure> {
            rml_backend_cpu::Cpu.upload(value)
        }
    }

    /// Windows of many lengths, whose ends are given or computed: few lengths are compiled, and states continue through
    /// the windows that are not. A second run of the program compiles no further lengths.
    #[test]
    fn few_lengths_are_compiled() {
        let net = "node back(r: num []) -> (s) s = r + (0.0 fby back s);
node main(r: num []GIVEN) -> (s, w, n) s = back(r) every end; w = 0.5 fby (if end then w + 0.25 * s else w);
    n = 0 fby n + 1; FOUND";
        let more = Ragged::MOST + 20;
        // Lengths beyond the limit come between those within it, and some come three times in a row.
        let lengths = [(1..=more).collect::<Vec<_>>(), vec![3, more, more, more, 2, 2, 2, more - 1]].concat();
        let ends: Vec<bool> = lengths.iter().flat_map(|n| (1..=*n).map(move |t| t == *n)).collect();
        let r: Vec<f32> = ends.iter().map(|end| f32::from(u8::from(*end))).collect();
        let shape = rml_ir::Shape::new(&[ends.len()]);
        let column = |data| BlockColumn::new(Present::Always, Value::new(shape.clone(), data));
        let (given, found) = (column(Data::Bool(ends.clone())), column(Data::F32(r)));
        let feeding = Feeding::Windows { cycles: None };
        for (more, clause, columns) in
            [(", end: bool []", "", vec![found.clone(), given]), ("", "end = r > 0.5;", vec![found.clone()])]
        {
            let text = net.replace("GIVEN", more).replace("FOUND", clause);
            let program = compile(&Source::text("main", &*text), &Options::default()).expect("it compiles");
            let block = Block::new(ends.len(), columns);
            let wanted = simulated(&program, feeding, &block);
            let backend = Arc::new(Compiling::default());
            let engine = PlanEngine::lowered(Arc::clone(&backend) as Arc<dyn Backend>);
            let mut prepared = Vec::new();
            for _ in 0..2 {
                let mut run = engine.open(program.flat(), &Use::new(feeding)).expect("it has a plan");
                run.feed(Inputs::Block(&block)).expect("it runs");
                assert_eq!(rows(&mut *run), wanted, "{text}");
                assert_eq!(run.usage().activations, lengths.len() as u64, "nothing is suspect");
                let states = run.states().expect("on the host").to_host().expect("on the host");
                let reference = {
                    let mut run =
                        SimulatorEngine::new().open(program.flat(), &Use::new(feeding)).expect("all");
                    run.feed(Inputs::Block(&block)).expect("it runs");
                    run.states().expect("on the host").to_host().expect("on the host")
                };
                assert_eq!(format!("{states:?}"), format!("{reference:?}"));
                let all = backend.0.lock().expect("nobody panicked");
                prepared.push(all.iter().collect::<std::collections::BTreeSet<_>>().len());
            }
            // One program for each compiled length, and a few for searches and for the first window.
            assert!((Ragged::MOST..Ragged::MOST + 6).contains(&prepared[0]), "{prepared:?}");
            assert_eq!(prepared[0], prepared[1]);
        }
    }

    /// Blocks are arbitrary; cycles ahead are fed again, and at the end of the trace the simulator runs them.
    #[test]
    fn what_looks_ahead_comes_as_late_as_it_has_to() {
        let text = "node main(x: num [], c: bool []) -> (y, n, m when c)
    y = x + post (post x); n = 0.0 fby n + y; m = (0.0 fby m) + (post y when c);";
        let all: Vec<f32> = (0..29_u16).map(|i| f32::from(i * i % 7)).collect();
        let feeding = Feeding::Windows { cycles: None };
        let block = |from: usize, to: usize| {
            let shape = rml_ir::Shape::new(&[to - from]);
            let x = Value::new(shape.clone(), Data::F32(all[from..to].to_vec()));
            let c = Value::new(shape, Data::Bool((from..to).map(|t| t % 3 != 1).collect()));
            Block::new(
                to - from,
                vec![BlockColumn::new(Present::Always, x), BlockColumn::new(Present::Always, c)],
            )
        };
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let wanted = simulated(&program, feeding, &block(0, all.len()));
        assert_eq!(wanted.len(), all.len() - 3);
        for (cut, feeding) in [
            (1, Feeding::Stream { look_ahead: None }),
            (1, feeding),
            (2, feeding),
            (7, feeding),
            (29, feeding),
        ] {
            for engine in [PlanEngine::default(), PlanEngine::lowered(Arc::new(rml_backend_cpu::Cpu))] {
                let mut run = engine.open(program.flat(), &Use::new(feeding)).expect("it has a plan");
                let mut found = Vec::new();
                for from in (0..all.len()).step_by(cut) {
                    run.feed(Inputs::Block(&block(from, all.len().min(from + cut)))).expect("it runs");
                    found.extend(rows(&mut *run));
                    let done = all.len().min(from + cut).saturating_sub(3);
                    assert_eq!(found.len(), done, "in blocks of {cut}");
                }
                assert_eq!((found, run.open_cycles()), (wanted.clone(), 3), "in blocks of {cut}");
                assert!(run.usage().activations <= all.len() as u64);
                run.finish(End::Open).expect("it ends");
                assert_eq!(run.remaining().expect("on the host").len(), 3);
            }
        }
    }

    /// A condition that seldom holds: blocks grow until it does, and a block that waits for more cycles than are
    /// available is not tried again in each cycle.
    #[test]
    fn what_waits_for_a_condition_is_run_again_few_times() {
        let text = "node main(x: num [], c: bool []) -> (y, n, m when c)
    y = if c then x else post y; n = 0.0 fby n + y; m = (0.0 fby m) + post (x when c);";
        let feeding = Feeding::Windows { cycles: None };
        let holds = |t: u16| t < 40 && t % 3 != 1 || matches!(t, 700 | 701 | 1400 | 1500);
        let block = |from: u16, to: u16| {
            let shape = rml_ir::Shape::new(&[usize::from(to - from)]);
            let x = (from..to).map(|t| f32::from(t % 7)).collect();
            let c = (from..to).map(holds).collect();
            let columns = [Data::F32(x), Data::Bool(c)];
            let column = |data| BlockColumn::new(Present::Always, Value::new(shape.clone(), data));
            Block::new(usize::from(to - from), columns.map(column).to_vec())
        };
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let wanted = simulated(&program, feeding, &block(0, 1600));
        assert_eq!(wanted.len(), 1500);
        for cut in [1, 7, 600, 1600] {
            let mut run = run(text, feeding);
            let mut found = Vec::new();
            for from in (0..1600).step_by(usize::from(cut)) {
                run.feed(Inputs::Block(&block(from, (from + cut).min(1600)))).expect("it runs");
                found.extend(rows(&mut *run));
            }
            assert!(wanted.starts_with(&found), "in blocks of {cut}");
            assert!(found.len() > 1400, "in blocks of {cut}: {}", found.len());
            assert!(run.usage().activations < 150, "in blocks of {cut}: {}", run.usage().activations);
            run.finish(End::Open).expect("it ends");
            // The simulator runs the remaining cycles, some of which wait for ever.
            found.extend(rows(&mut *run));
            let rest = run.remaining().expect("on the host");
            found.extend(rest.iter().map(|row| format!("{} {:?}", row.cycle, row.values)));
            assert_eq!((found.len(), &found[..wanted.len()]), (1600, &wanted[..]), "in blocks of {cut}");
        }
        let stream = Use::new(Feeding::Stream { look_ahead: None });
        let declined = PlanEngine::default().open(program.flat(), &stream).expect_err("it would be late");
        assert_eq!(declined.reason, Reason::Use);
    }

    /// The state waits for a cycle, but the output does not.
    #[test]
    fn a_stream_that_would_be_late_is_left_to_the_simulator() {
        let text = "node main(x: num []) -> (y) y = 0.0 fby post x;";
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let stream = Use::new(Feeding::Stream { look_ahead: None });
        assert_eq!(
            PlanEngine::default().open(program.flat(), &stream).expect_err("it waits").reason,
            Reason::Use
        );
        assert!(
            PlanEngine::default().open(program.flat(), &Use::new(Feeding::Windows { cycles: None })).is_ok()
        );
    }

    #[test]
    fn a_stream_is_run_cycle_by_cycle() {
        let mut run =
            run("node main(x: bool []) -> (y) y = false fby x;", Feeding::Stream { look_ahead: None });
        for x in [true, false] {
            run.feed(Inputs::Cycle(&[InputCell::Given(Value::Bool(x))])).expect("it runs");
        }
        assert_eq!(run.usage().activations, 2);
        run.feed(Inputs::Block(&Block::new(0, vec![BlockColumn::absent()]))).expect("nothing is run");
        assert_eq!((run.usage().activations, run.cycles()), (2, 2));
    }

    #[test]
    fn a_program_is_planned_once_for_each_way_to_feed_it() {
        let engine = PlanEngine::default();
        let compiled = |text| compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let (first, second) = (compiled("node main() -> (y) y = 1;"), compiled("node main() -> (y) y = 2;"));
        let known = || engine.known.lock().expect("nobody panicked").len();
        for feeding in [Feeding::Windows { cycles: None }, Feeding::Stream { look_ahead: None }] {
            for program in [&first, &second, &first] {
                assert!(engine.open(program.flat(), &Use::new(feeding)).is_ok());
            }
        }
        assert_eq!(known(), 4);
        drop(first);
        assert!(engine.open(second.flat(), &Use::new(Feeding::Windows { cycles: None })).is_ok());
        assert_eq!(known(), 2, "plans of programs that are gone are gone, too");
    }
}
