//! The engine that runs plans: whole windows at once, or a stream cycle by cycle.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rml_backend::{Backend, Held};
use rml_backend_cpu::plan::Machine as Embedded;
use rml_base::memory;
use rml_base::{Diagnostic, codes};
use rml_engine::{
    Block, Column, Declined, Engine, Exact, Fast, Feeding, Inputs, Outputs, Present, Reason, Run, States,
    Usage, Use, Verdict,
};
use rml_ir::flat::Drawn;
use rml_ir::{Data, Precision, Shape, Type, Value};
use rml_lower::{Fault, Machine as Lowered};
use rml_plan::{Atom, Ends, Kind, Plan, Reg, Rule};
use rml_schedule::Fed;
use rml_sim::SimulatorEngine;

use super::given::Given;
use super::machine::Machine;

/// The most cycles that are run at once where a program has no windows.
const BLOCK: usize = 256;

/// Runs what has a plan; what is suspect runs again in the simulator. Programs are often opened again: for each epoch, each gradient, each
/// number of windows that are stacked. So their plans are kept as long as they are.
#[derive(Debug, Default)]
pub(super) struct PlanEngine {
    known: Mutex<Vec<Known>>,
    /// What computes tensors, if not the embedded backend's machine for plans.
    backend: Option<Arc<dyn Backend>>,
}

/// What is known of a program that is fed that way.
#[derive(Debug)]
struct Known {
    program: Weak<Drawn>,
    fed: Fed,
    found: Result<Planned, Declined>,
}

/// A plan, and where its inputs are present.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) plan: Arc<Plan>,
    clocks: Vec<Option<(usize, bool)>>,
}

impl Engine for PlanEngine {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
        if wish.record {
            return Err(Declined::new(Reason::Use, "a plan keeps no record of every variable"));
        }
        let fed = if matches!(wish.feeding, Feeding::Windows { .. }) { Fed::Windows } else { Fed::Blocks };
        let planned = self.planned(program, fed)?;
        if fed == Fed::Blocks && !streams(&planned.plan) {
            return Err(Declined::new(Reason::Use, "its windows are not fed as a whole"));
        }
        let (reference, program) = (Arc::new(SimulatorEngine::new()), Arc::clone(program));
        if let Some(backend) = &self.backend {
            let mut machine = Lowered::new(Arc::clone(&planned.plan), Arc::clone(backend));
            wish.profile.iter().for_each(|profile| machine.measure(profile));
            return Ok(Box::new(Exact::new(
                Windows::new(planned, machine),
                reference,
                program,
                wish.clone(),
            )));
        }
        let short = |short: memory::Shortage| {
            Declined::new(Reason::Device, format!("there is no memory for one tick of its windows: {short}"))
        };
        let plan = Arc::clone(&planned.plan);
        Ok(match program.precision {
            Precision::F32 => {
                let mut machine = Embedded::<f32>::new(plan).map_err(short)?;
                wish.profile.iter().for_each(|profile| machine.measure(profile));
                Box::new(Exact::new(Windows::new(planned, machine), reference, program, wish.clone()))
            }
            Precision::F64 => {
                let mut machine = Embedded::<f64>::new(plan).map_err(short)?;
                wish.profile.iter().for_each(|profile| machine.measure(profile));
                Box::new(Exact::new(Windows::new(planned, machine), reference, program, wish.clone()))
            }
        })
    }
}

impl PlanEngine {
    /// With tensors computed by that backend.
    pub(super) fn on(backend: Arc<dyn Backend>) -> Self {
        Self { backend: Some(backend), ..Self::default() }
    }

    /// The plan of a program, made once.
    fn planned(&self, program: &Arc<Drawn>, fed: Fed) -> Result<Planned, Declined> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|k| k.program.strong_count() > 0);
        let is_this = |k: &&Known| k.fed == fed && k.program.as_ptr() == Arc::as_ptr(program);
        if let Some(known) = known.iter().find(is_this) {
            return known.found.clone();
        }
        let found = planned(program, fed);
        known.push(Known { program: Arc::downgrade(program), fed, found: found.clone() });
        found
    }
}

pub(super) fn planned(program: &Drawn, fed: Fed) -> Result<Planned, Declined> {
    let plan = rml_schedule::schedule(program, fed).map_err(|why| {
        let declined = Declined::new(Reason::Schedule, why.why);
        if let Some(span) = why.span { declined.at(span) } else { declined }
    })?;
    if plan.registers.iter().any(|r| r.kind == Kind::Hidden) {
        return Err(Declined::new(Reason::Use, "the simulator could not go on inside a window"));
    }
    let clocks = input_clocks(program, &rml_analysis::clocks(program).clocks)?;
    Ok(Planned { plan: Arc::new(plan), clocks })
}

/// Whether a plan can run a stream: nobody waits for the outputs of a cycle that has no inputs.
fn streams(plan: &Plan) -> bool {
    plan.ends == Ends::Nothing || plan.inputs.is_empty()
}

/// For each input, the input whose value says where it is present, if it is not present in every cycle.
fn input_clocks(
    program: &Drawn,
    clocks: &rml_analysis::Clocks,
) -> Result<Vec<Option<(usize, bool)>>, Declined> {
    let of = |input: &rml_ir::flat::Input| match input.clock {
        None if clocks.of[input.var] == rml_analysis::Clocks::BASE => Ok(None),
        Some((cond, flag)) => match program.inputs.iter().position(|i| i.var == cond && i.clock.is_none()) {
            Some(at) => Ok(Some((at, flag))),
            None => Err(input.var),
        },
        None => Err(input.var),
    };
    let declined = |v| {
        let data = &program.vars[v];
        let name = data.name.clone().unwrap_or_default();
        Declined::new(Reason::Schedule, format!("the program says where the input `{name}` is present"))
            .at(data.span)
    };
    program.inputs.iter().map(|input| of(input).map_err(declined)).collect()
}

/// A plan that runs over the windows of blocks.
#[derive(Debug)]
struct Windows<M> {
    plan: Arc<Plan>,
    machine: M,
    /// The inputs of the cycles that are not done.
    given: Vec<Given>,
    cycles: usize,
    /// How many of these were looked at for inputs that end a window.
    scanned: usize,
    /// In how many of these the machine looked for the end of a window.
    searched: usize,
    /// Whether a register has a value that contradicts what the plan relies on: the program never gives it one, but states may be loaded.
    foreign: Vec<bool>,
    clocks: Vec<Option<(usize, bool)>>,
    /// What each register starts with, where that is a constant.
    starts: Vec<Option<Value>>,
    windows: u64,
    /// The rows behind the inputs of cycles that are searched.
    tried: Vec<usize>,
}

impl<M: Machine> Windows<M> {
    /// In how many cycles the end of a window is looked for first.
    const SOME: usize = 64;

    fn new(Planned { plan, clocks }: Planned, machine: M) -> Self {
        let mut starts = vec![None; plan.registers.len()];
        for case in plan.tapes.iter().flat_map(|t| &t.cases) {
            if let Rule::Read { register, init: Some(Atom::Const(k)) } = &case.rule {
                starts[register.0 as usize] = Some(plan.consts[*k].clone());
            }
        }
        let (given, cycles, scanned, searched) = (Vec::new(), 0, 0, 0);
        let foreign = vec![false; plan.registers.len()];
        Self {
            plan,
            machine,
            foreign,
            given,
            cycles,
            scanned,
            searched,
            clocks,
            starts,
            windows: 0,
            tried: Vec::new(),
        }
    }

    /// Whether inputs are present where their clocks say so in the cycles `from..to`.
    fn fits(&self, from: usize, to: usize) -> bool {
        let holds = |(cond, flag): (usize, bool), t: usize| self.given[cond].truth(t) == Some(flag);
        self.given.iter().zip(&self.clocks).all(|(input, clock)| match clock {
            None => (from..to).all(|t| input.present.at(t)),
            Some(clock) => (from..to).all(|t| input.present.at(t) == holds(*clock, t)),
        })
    }

    /// The window that begins at cycle `from` of those that are there; the values of inputs at row `rows` and behind belong to it.
    fn next(&mut self, from: usize, rows: &[usize]) -> Result<Next, Diagnostic> {
        if self.foreign.contains(&true) {
            return Ok(Next::Suspect);
        }
        let ticks = match &self.plan.ends {
            // Any cycles are a window; tapes of few take little memory.
            Ends::Nothing => BLOCK.min(self.cycles - from),
            Ends::Given(ends) => {
                let ended = |t: &usize| {
                    ends.iter().any(|(input, value)| self.given[*input as usize].truth(*t) == Some(*value))
                };
                match (from.max(self.scanned)..self.cycles).find(ended) {
                    Some(t) => t + 1 - from,
                    None => {
                        self.scanned = self.cycles;
                        return Ok(Next::Open);
                    }
                }
            }
            Ends::Found { .. } => return self.find(from, rows),
        };
        let runs = self.fits(from, from + ticks) && self.has_memory(ticks);
        Ok(if runs { Next::Window(ticks) } else { Next::Suspect })
    }

    /// Has the plan find the end of a window, in more and more cycles, so that no tape is much longer than the window.
    fn find(&mut self, from: usize, rows: &[usize]) -> Result<Next, Diagnostic> {
        let all = self.cycles - from;
        let mut ticks = all.min(self.searched.max(Self::SOME));
        loop {
            if !self.fits(from, from + ticks) || !self.has_memory(ticks) {
                return Ok(Next::Suspect);
            }
            self.tried.clear();
            self.tried.extend(rows);
            let mut tried = std::mem::take(&mut self.tried);
            self.set_inputs(from, ticks, &mut tried);
            self.tried = tried;
            match self.machine.find(ticks) {
                Ok(Some(ticks)) => return Ok(Next::Window(ticks)),
                Ok(None) if ticks == all => {
                    self.searched = ticks;
                    return Ok(Next::Open);
                }
                Ok(None) => ticks = all.min(2 * ticks),
                Err(Fault::Suspect) => return Ok(Next::Suspect),
                Err(Fault::Failed(failure)) => return Err(failure.into()),
            }
        }
    }

    /// Sets the inputs of a window of the machine; moves on the rows.
    fn set_inputs(&mut self, from: usize, ticks: usize, rows: &mut [usize]) {
        for (i, (input, row)) in self.given.iter().zip(rows).enumerate() {
            *row = self.machine.set_rows(i, ticks, &|t| input.present.at(from + t), &input.data, *row);
        }
    }

    /// Forgets the first cycles, of whose inputs that many rows have a value.
    fn drop_front(&mut self, done: usize, rows: &[usize]) {
        if done == self.cycles {
            self.given.clear();
        }
        for ((input, row), (_, ty)) in self.given.iter_mut().zip(rows).zip(&self.plan.inputs) {
            input.drop_front(done, self.cycles, row * ty.shape.len());
        }
        self.cycles -= done;
        self.scanned = self.scanned.saturating_sub(done);
    }

    /// Asks for the memory of the tapes of a window.
    fn has_memory(&self, ticks: usize) -> bool {
        let (fixed, per_tick) = self.machine.footprint();
        memory::ask(fixed.saturating_add(per_tick.saturating_mul(ticks as u64))).is_ok()
    }
}

/// What comes next of what a plan was given.
enum Next {
    /// A window of that many cycles.
    Window(usize),
    /// A window that does not end yet.
    Open,
    /// A window that the plan does not run.
    Suspect,
}

impl<M: Machine> Fast for Windows<M> {
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<Verdict, Diagnostic> {
        let (more, count) = (Given::all(inputs, self.plan.precision)?, inputs.cycles());
        if self.cycles == 0 {
            self.given = more;
        } else {
            let old = self.cycles;
            self.given.iter_mut().zip(more).for_each(|(input, more)| input.append(old, more, count));
        }
        self.cycles += count;
        let mut rows = vec![0; self.given.len()];
        let empty = || (Vec::new(), Data::Bool(Vec::new()));
        let mut outputs: Vec<(Vec<bool>, Data)> = self.plan.outputs.iter().map(|_| empty()).collect();
        let (mut done, mut is_suspect) = (0, false);
        while done < self.cycles {
            let ticks = match self.next(done, &rows)? {
                Next::Window(ticks) => ticks,
                Next::Open => break,
                Next::Suspect => {
                    is_suspect = true;
                    break;
                }
            };
            self.set_inputs(done, ticks, &mut rows);
            self.searched = 0;
            match self.machine.window(ticks) {
                Ok(()) => {}
                Err(Fault::Suspect) => {
                    is_suspect = true;
                    break;
                }
                Err(Fault::Failed(failure)) => return Err(failure.into()),
            }
            for (i, (marks, data)) in outputs.iter_mut().enumerate() {
                for t in 0..ticks {
                    marks.push(self.machine.add_output(i, t, data)?);
                }
            }
            self.windows += 1;
            done += ticks;
        }
        let is_done = done == self.cycles;
        let types = self.plan.outputs.iter().map(|output| &output.ty);
        let columns = outputs.into_iter().zip(types).map(|((marks, data), ty)| column(marks, data, ty));
        let outputs = Outputs::Block { first, block: Block::new(done, columns.collect()) };
        if is_suspect {
            self.forget();
            return Ok(Verdict::Suspect(Some(outputs)));
        }
        self.drop_front(done, &rows);
        Ok(if is_done { Verdict::Done(outputs) } else { Verdict::Open((done > 0).then_some(outputs)) })
    }

    fn forget(&mut self) {
        self.machine.abandon();
        self.given.clear();
        (self.cycles, self.scanned, self.searched) = (0, 0, 0);
    }

    fn states(&self) -> Result<States, Diagnostic> {
        let registers =
            self.plan.registers.iter().enumerate().filter_map(|(i, register)| match &register.kind {
                Kind::State { key, .. } => Some((i, Arc::clone(key))),
                Kind::Local | Kind::Hidden => None,
            });
        Ok(registers
            .filter_map(|(i, key)| {
                let start = || self.starts[i].clone().map(Held::Host);
                Some((key, self.machine.register(i).or_else(start)?))
            })
            .collect())
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        let plan = Arc::clone(&self.plan);
        let of = |key: &str| {
            plan.registers
                .iter_enumerated()
                .find(|(_, r)| matches!(&r.kind, Kind::State { key: k, .. } if **k == *key))
        };
        for (key, value) in states.iter() {
            let fail = |what: &str| Diagnostic::error(codes::sim::STATE_VALUE, what.replace("{}", key));
            let Some((Reg(at), register)) = of(key) else {
                return Err(fail("the program has no state `{}`"));
            };
            if value.ty() != register.ty {
                return Err(fail("state `{}` has another type").note(format!(
                    "expected {}, found {}",
                    register.ty,
                    value.ty()
                )));
            }
            self.foreign[at as usize] = match register.known {
                Some(known) => value.to_host()?.as_bool() != Some(known),
                None => false,
            };
            self.machine.set_register(at as usize, value, plan.precision)?;
        }
        Ok(())
    }

    fn usage(&self) -> Usage {
        Usage { activations: self.windows, bytes: 0 }
    }
}

/// A column of values of that type, one below the other where they are present.
fn column(marks: Vec<bool>, data: Data, ty: &Type) -> Column {
    let rows = marks.iter().filter(|is_present| **is_present).count();
    let dims: Vec<usize> = std::iter::once(rows).chain(ty.shape.dims().iter().copied()).collect();
    let present: Present = marks.into_iter().collect();
    if rows == 0 { Column::absent() } else { Column::new(present, Value::new(Shape::new(&dims), data)) }
}

#[cfg(test)]
mod tests {
    use rml_driver::{Options, Source, compile};
    use rml_engine::{End, Input, Present};

    use super::*;

    fn run(text: &str, feeding: Feeding) -> Box<dyn Run> {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        PlanEngine::default().open(program.flat(), &Use::new(feeding)).expect("it has a plan")
    }

    fn bools(values: &[bool]) -> Column {
        Column::new(
            Present::Always,
            Value::new(rml_ir::Shape::new(&[values.len()]), Data::Bool(values.to_vec())),
        )
    }

    /// A state that the program never changes may be loaded with another value all the same.
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

    /// What the simulator runs again counts many activations, what is run by plan one a window.
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
        // A block that ends inside a window leaves it open, and the next one goes on with it.
        run.feed(Inputs::Block(&Block::new(2, vec![bools(&[true; 2]), bools(&[false; 2])])))
            .expect("it runs");
        assert_eq!((run.open_cycles(), run.next_outputs().is_none()), (2, true));
        let more = [vec![bools(&[true, false, true]), bools(&[true, true, false])]].concat();
        run.feed(Inputs::Block(&Block::new(3, more))).expect("it runs");
        assert_eq!((run.open_cycles(), run.usage().activations), (1, 4));
        let counted = |outputs: &Outputs| {
            let mut seen = Vec::new();
            outputs.for_each_value(0, |t, value| seen.push((t, value.as_int()))).expect("on the host");
            seen
        };
        assert_eq!(counted(&run.next_outputs().expect("two windows")), [(2, Some(3)), (3, Some(0))]);
        // At the end of the trace the simulator has what is open.
        run.finish(End::Open).expect("it ends");
        assert!(run.usage().activations > 4);
        let rows = run.remaining().expect("on the host");
        assert_eq!(rows.iter().map(|row| row.cycle).collect::<Vec<_>>(), [9]);
    }

    /// The program finds the end of each window; the data are cut anywhere.
    #[test]
    fn an_end_that_the_program_finds_is_found_over_blocks() {
        let text = "node back(r: num []) -> (s) s = r + (0.0 fby back s);
node main(r: num []) -> (s, n) x = 0.0 fby (if end then 0.0 else x + r); end = x > 2.5; s = back(r) every end;
    n = 0 fby n + 1;";
        let all: Vec<f32> = (0..42_u8).map(|i| f32::from(i % 3)).collect();
        let block = |values: &[f32]| {
            let values = Value::new(rml_ir::Shape::new(&[values.len()]), Data::F32(values.to_vec()));
            Block::new(values.shape().dims()[0], vec![Column::new(Present::Always, values)])
        };
        let values = |run: &mut dyn Run| {
            let mut rows = Vec::new();
            while let Some(outputs) = run.next_outputs() {
                outputs.append_to(&mut rows).expect("on the host");
            }
            rows.iter().map(|row| format!("{:?}", row.values)).collect::<Vec<_>>()
        };
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let wish = Use::new(Feeding::Windows { cycles: None });
        let mut sim = SimulatorEngine::new().open(program.flat(), &wish).expect("it runs everything");
        sim.feed(Inputs::Block(&block(&all))).expect("it runs");
        let wanted = values(&mut *sim);
        assert!(wanted.len() > 30);
        for cut in [1, 2, 7, 41] {
            let mut run = run(text, Feeding::Windows { cycles: None });
            let mut found = Vec::new();
            for part in all.chunks(cut) {
                run.feed(Inputs::Block(&block(part))).expect("it runs");
                found.extend(values(&mut *run));
            }
            assert_eq!(found, wanted, "in blocks of {cut}");
            assert_eq!(run.open_cycles(), (all.len() - wanted.len()) as u64);
            assert!(run.states().is_err());
            // What is open is taken back, and runs again.
            let from = usize::try_from(run.take_back()).expect("few cycles");
            assert_eq!((from, run.open_cycles()), (wanted.len(), 0));
            assert!(run.states().is_ok());
            run.feed(Inputs::Block(&block(&all[from..]))).expect("it runs");
            run.finish(End::Closed).expect("it ends");
            let rest = run.remaining().expect("on the host");
            assert_eq!(rest.len(), all.len() - wanted.len());
        }
    }

    #[test]
    fn a_stream_is_run_cycle_by_cycle() {
        let mut run =
            run("node main(x: bool []) -> (y) y = false fby x;", Feeding::Stream { look_ahead: None });
        for x in [true, false] {
            run.feed(Inputs::Cycle(&[Input::Given(Value::Bool(x))])).expect("it runs");
        }
        assert_eq!(run.usage().activations, 2);
        run.feed(Inputs::Block(&Block::new(0, vec![Column::absent()]))).expect("nothing is run");
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
