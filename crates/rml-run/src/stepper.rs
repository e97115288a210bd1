//! Runs programs on slices: ports are resolved once; after that there are no look-ups, allocations or locks.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use rml_analysis::Analyses;
use rml_backend::Held;
use rml_backend_cpu::plan::{Machine, Suspect};
use rml_base::codes::{backend, run as codes, sim};
use rml_base::{Diagnostic, Error, IndexVec, suggest};
use rml_data::Feed;
use rml_driver::Program;
use rml_engine::Snapshot;
use rml_ir::flat::Var;
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::{Ends, Lifetime, Plan, Reg};
use rml_schedule::Fed;

use crate::checkpoint::{Checkpoint, Policy};
use crate::engines::refused;
use crate::session::{Session, unknown_input};

mod late;

use late::Late;

/// An input, and the type of its elements.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("twice.rml", "node twice(x: num [2]) -> (y)  y = 2.0 * x;");
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// use rml::{InputPort, Stepper};
///
/// let stepper = Stepper::stream(&program)?;
/// let x: InputPort<f32> = stepper.input("x")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InputPort<T> {
    index: usize,
    of: PhantomData<T>,
}

/// An output, and the type of its elements.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("twice.rml", "node twice(x: num [2]) -> (y)  y = 2.0 * x;");
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// use rml::{OutputPort, Stepper};
///
/// let mut stepper = Stepper::stream(&program)?;
/// let y: OutputPort<f32> = stepper.output("y")?;
/// # let x = stepper.input("x")?;
/// stepper.write(x, &[1.0_f32, 2.0]);
/// stepper.step()?;
/// assert_eq!(stepper.read(y), Some(&[2.0, 4.0][..]));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OutputPort<T> {
    index: usize,
    of: PhantomData<T>,
}

/// A program that runs by its plan, on slices: a stream cycle by cycle, or windows as a whole.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// use rml::{Options, Source, Stepper};
/// let text = "node main(x: num [2]) -> (y) y = (0.0 fby y) + sum(x);";
/// let program = rml::compile(&Source::text("sum.rml", text), &Options::default())?;
/// let mut stepper = Stepper::stream(&program)?;
/// let x = stepper.input::<f32>("x")?;
/// let y = stepper.output::<f32>("y")?;
/// for pair in [[1.0, 2.0], [3.0, 4.0]] {
///     stepper.write(x, &pair);
///     stepper.step()?;
/// }
/// assert_eq!(stepper.read(y), Some(&[10.0][..]));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Stepper {
    program: Program,
    plan: Arc<Plan>,
    /// The delay or parameter of each register.
    delays: IndexVec<Reg, Var>,
    machine: Any,
    /// The inputs of waiting cycles, if outputs wait.
    late: Option<Late>,
    cycles: usize,
}

macro_rules! either {
    ($any:expr, $machine:ident => $result:expr) => {
        match $any {
            Any::Single($machine) => $result,
            Any::Double($machine) => $result,
        }
    };
}

/// A type of elements: `f32` or `f64`, depending on the program's precision, `i64` or `bool`.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("twice.rml", "node twice(x: num [2]) -> (y)  y = 2.0 * x;");
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// use rml::{Element, InputPort, Stepper};
///
/// fn input<T: Element>(stepper: &Stepper) -> Result<InputPort<T>, rml::Error> {
///     stepper.input("x")
/// }
/// let stepper = Stepper::stream(&program)?;
/// assert!(input::<f32>(&stepper).is_ok() && input::<bool>(&stepper).is_err());
/// # Ok(()) }
/// ```
pub trait Element: Copy + sealed::Sealed {
    /// The type in programs of this precision; none if they do not have it.
    #[doc(hidden)]
    fn dtype(precision: Precision) -> Option<DType>;
}

use sealed::Any;

mod sealed {
    use super::{Data, Machine};

    /// A machine of either precision.
    #[derive(Debug)]
    pub enum Any {
        Single(Machine<f32>),
        Double(Machine<f64>),
    }

    pub trait Sealed: Sized {
        fn write(any: &mut Any, input: usize, t: usize, elements: &[Self]);
        fn read(any: &Any, output: usize, t: usize) -> Option<&[Self]>;
        fn elements(data: &mut Data) -> Option<&mut [Self]>;
    }
}

macro_rules! number {
    ($t:ty, $variant:ident, $precision:ident, $data:ident) => {
        impl Element for $t {
            fn dtype(precision: Precision) -> Option<DType> {
                (precision == Precision::$precision).then_some(DType::Num)
            }
        }
        impl sealed::Sealed for $t {
            fn write(any: &mut Any, input: usize, t: usize, elements: &[Self]) {
                if let Any::$variant(machine) = any {
                    machine.write(input, t, elements);
                }
            }
            fn read(any: &Any, output: usize, t: usize) -> Option<&[Self]> {
                if let Any::$variant(machine) = any { machine.read(output, t) } else { None }
            }
            fn elements(data: &mut Data) -> Option<&mut [Self]> {
                if let Data::$data(elements) = data { Some(elements) } else { None }
            }
        }
    };
}
number!(f32, Single, F32, F32);
number!(f64, Double, F64, F64);

macro_rules! plain {
    ($t:ty, $dtype:ident) => {
        impl Element for $t {
            fn dtype(_: Precision) -> Option<DType> {
                Some(DType::$dtype)
            }
        }
        impl sealed::Sealed for $t {
            fn write(any: &mut Any, input: usize, t: usize, elements: &[Self]) {
                either!(any, machine => machine.write(input, t, elements));
            }
            fn read(any: &Any, output: usize, t: usize) -> Option<&[Self]> {
                either!(any, machine => machine.read(output, t))
            }
            fn elements(data: &mut Data) -> Option<&mut [Self]> {
                if let Data::$dtype(elements) = data { Some(elements) } else { None }
            }
        }
    };
}
plain!(i64, Int);
plain!(bool, Bool);

impl Stepper {
    /// Starts a program that runs cycle by cycle, in its initial state.
    ///
    /// # Errors
    /// The program has no plan, or has windows.
    pub fn stream(program: &Program) -> Result<Self, Error> {
        let mut stepper = Self::open(program, Fed::Blocks)?;
        if stepper.plan.ends != Ends::Nothing {
            return Err(
                stepper.declined("its windows are not fed as a whole; run them with `Stepper::windows`")
            );
        }
        stepper.window(1)?;
        Ok(stepper)
    }

    /// Starts a program that runs window by window, or block by block if it has no windows.
    ///
    /// # Errors
    /// The program has no plan, or computes the ends of its windows itself.
    pub fn windows(program: &Program) -> Result<Self, Error> {
        let stepper = Self::open(program, Fed::Windows)?;
        match stepper.plan.ends {
            Ends::Found { .. } => Err(stepper.declined("the program finds the ends of its windows")),
            _ => Ok(stepper),
        }
    }

    fn open(program: &Program, fed: Fed) -> Result<Self, Error> {
        let flat = program.flat();
        let (plan, delays) = rml_schedule::schedule_known(flat, &Analyses::of(flat), fed)
            .map_err(|why| Error::from(why.diagnostic(program.node())).with_sources(program.sources()))?;
        let plan = Arc::new(plan);
        let machine = match plan.precision {
            Precision::F32 => Machine::new(Arc::clone(&plan)).map(Any::Single),
            Precision::F64 => Machine::new(Arc::clone(&plan)).map(Any::Double),
        };
        let machine = machine.map_err(|short| {
            Error::from(short.diagnostic("a window of one cycle")).with_sources(program.sources())
        })?;
        let late = Late::of(&plan);
        let stepper = Self { program: program.clone(), plan, delays, machine, late, cycles: 0 };
        if stepper.plan.waits {
            return Err(stepper.declined("its outputs wait for later cycles; feed it to a `Session`"));
        }
        Ok(stepper)
    }

    /// How many cycles outputs are delayed after their inputs. After a step, the outputs belong to this many cycles
    /// before the inputs of the step; there are none before the first cycle.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Error> {
    /// use rml::{Options, Source, Stepper};
    /// let text = "node main(x: num []) -> (y) y = x + post (post x);";
    /// let program = rml::compile(&Source::text("ahead.rml", text), &Options::default())?;
    /// let mut stepper = Stepper::stream(&program)?;
    /// assert_eq!(stepper.latency(), 2);
    /// let (x, y) = (stepper.input::<f32>("x")?, stepper.output::<f32>("y")?);
    /// let mut found = Vec::new();
    /// for sample in [1.0, 2.0, 3.0, 4.0] {
    ///     stepper.write(x, &[sample]);
    ///     stepper.step()?;
    ///     found.push(stepper.read(y).map(|y| y[0]));
    /// }
    /// assert_eq!(found, [None, None, Some(1.0 + 3.0), Some(2.0 + 4.0)]);
    /// # Ok(()) }
    /// ```
    pub fn latency(&self) -> usize {
        self.late.as_ref().map_or(0, |late| late.ahead)
    }

    fn declined(&self, why: &str) -> Error {
        self.fail(Diagnostic::error(
            backend::ENGINE_DECLINES,
            format!("the program cannot run in steps: {why}"),
        ))
    }

    fn fail(&self, found: Diagnostic) -> Error {
        self.program.error(found)
    }

    /// The input with this name.
    ///
    /// # Errors
    /// There is no such input, or its elements have another type.
    pub fn input<T: Element>(&self, name: &str) -> Result<InputPort<T>, Error> {
        let found = self.plan.inputs.iter().position(|(input, _)| **input == *name);
        let index = found.ok_or_else(|| self.fail(unknown_input(&self.program, name)))?;
        self.fits::<T>("input", name, &self.plan.inputs[index].1)?;
        Ok(InputPort { index, of: PhantomData })
    }

    /// The output with this name.
    ///
    /// # Errors
    /// There is no such output, or its elements have another type.
    pub fn output<T: Element>(&self, name: &str) -> Result<OutputPort<T>, Error> {
        let found = self.plan.outputs.iter().position(|output| *output.name == *name);
        let index = found.ok_or_else(|| {
            let d = Diagnostic::error(
                codes::UNKNOWN_INPUT,
                format!("node {} has no output `{name}`", self.program.node()),
            );
            let near = suggest(name, self.plan.outputs.iter().map(|o| &*o.name));
            self.fail(match near {
                Some(near) => d.help(format!("there is `{near}`")),
                None => d,
            })
        })?;
        self.fits::<T>("output", name, &self.plan.outputs[index].ty)?;
        Ok(OutputPort { index, of: PhantomData })
    }

    fn fits<T: Element>(&self, what: &str, name: &str, ty: &Type) -> Result<(), Error> {
        if T::dtype(self.plan.precision) == Some(ty.dtype) {
            return Ok(());
        }
        let wanted = match (ty.dtype, self.plan.precision) {
            (DType::Num, Precision::F32) => "f32",
            (DType::Num, Precision::F64) => "f64",
            (DType::Int, _) => "i64",
            (DType::Bool, _) => "bool",
        };
        let text = format!("{what} `{name}` is {ty}: its elements are {wanted}");
        Err(self.fail(
            Diagnostic::error(codes::INPUT_TYPE, text)
                .help(format!("ask for `{what}::<{wanted}>(\"{name}\")`")),
        ))
    }

    /// Begins a window of this many cycles. Inputs that only mark its end are set.
    ///
    /// # Errors
    /// `cycles` is 0, or there is not enough memory.
    pub fn window(&mut self, cycles: usize) -> Result<(), Error> {
        if cycles == 0 {
            let d = Diagnostic::error(codes::BAD_OPTION, "a window of no cycle").help("it has at least one");
            return Err(self.fail(d));
        }
        if self.cycles != cycles {
            let ticks = self.latency() + cycles;
            either!(&mut self.machine, machine => machine.ask(ticks))
                .map_err(|too_long| self.fail(refused(&too_long, cycles)))?;
            either!(&mut self.machine, machine => machine.begin_window(ticks));
            if let Some(late) = &mut self.late {
                late.resize(cycles);
            }
            self.cycles = cycles;
        }
        if let Ends::Given(ends) = &self.plan.ends {
            for (input, value) in ends {
                for t in 0..cycles {
                    let end = if t + 1 == cycles { *value } else { !*value };
                    either!(&mut self.machine, machine => machine.write(*input as usize, t, &[end]));
                }
            }
        }
        Ok(())
    }

    /// Sets an input to the elements of successive cycles, row-major, from the first cycle of the window on.
    ///
    /// # Panics
    /// There are more elements than the window has.
    pub fn write<T: Element>(&mut self, port: InputPort<T>, elements: &[T]) {
        self.write_at(port, 0, elements);
    }

    /// Sets an input to the elements of successive cycles, from a cycle of the window on. In cycles where an input is
    /// absent, it need not be set.
    ///
    /// # Panics
    /// There are more elements than the window has from this cycle on.
    pub fn write_at<T: Element>(&mut self, port: InputPort<T>, cycle: usize, elements: &[T]) {
        match &mut self.late {
            Some(late) => late.write(port.index, cycle, elements),
            None => T::write(&mut self.machine, port.index, cycle, elements),
        }
    }

    /// Runs the window, or the cycle of a stream. The next window has as many cycles, unless [`window`](Self::window)
    /// is called.
    ///
    /// # Errors
    /// An operator failed: an integer overflows, or a position is outside of its axis. Then no state has changed.
    pub fn step(&mut self) -> Result<(), Error> {
        let ticks = self.ticks();
        if let Some(late) = &self.late
            && ticks > late.ahead
        {
            either!(&mut self.machine, machine => machine.begin_window(ticks));
            late.give(&mut self.machine, ticks);
        }
        if ticks > self.latency() {
            let ran = either!(&mut self.machine, machine => machine.window(ticks));
            ran.map_err(|Suspect| self.explained())?;
        }
        if let Some(late) = &mut self.late {
            late.done(ticks, self.cycles.max(1));
        }
        Ok(())
    }

    /// How many cycles the next step reads.
    fn ticks(&self) -> usize {
        let cycles = self.cycles.max(1);
        self.late.as_ref().map_or(cycles, |late| late.ticks(cycles))
    }

    /// The elements of an output in the first cycle of the last window, [delayed](Self::latency) as all outputs; none
    /// if it is absent.
    pub fn read<T: Element>(&self, port: OutputPort<T>) -> Option<&[T]> {
        self.read_at(port, 0)
    }

    /// The elements of an output in a cycle of the last window; none if it is absent.
    pub fn read_at<T: Element>(&self, port: OutputPort<T>, cycle: usize) -> Option<&[T]> {
        let t = self.late.as_ref().map_or(Some(cycle), |late| late.tick(cycle))?;
        T::read(&self.machine, port.index, t)
    }

    /// Reads states from a checkpoint file, which must contain all parameters of the program; it may contain other
    /// states.
    ///
    /// # Errors
    /// A file that is not a checkpoint, or lacks parameters of this program; a state that contradicts what the plan
    /// relies on.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let checkpoint = Checkpoint::read(path.as_ref())?;
        let states = checkpoint.select(&self.program, Policy::Available).map_err(|d| self.fail(d))?;
        for (key, value) in states {
            let is = |kind: &Lifetime| matches!(kind, Lifetime::State { key: own, .. } if *own == key);
            let Some(at) = self.plan.registers.iter().position(|r| is(&r.kind)) else { continue };
            let value = value.to_precision(self.plan.precision);
            let known = self.plan.registers.as_slice()[at].known;
            if known.is_some_and(|known| value.as_bool() != Some(known)) {
                let text = format!("the plan cannot continue from this value of state `{key}`");
                return Err(self.fail(
                    Diagnostic::error(sim::STATE_VALUE, text)
                        .note("the program never gives it that value where a window begins")
                        .help("run the program as a `Session`, which leaves such states to the simulator"),
                ));
            }
            either!(&mut self.machine, machine => machine.set_register(at, &value));
        }
        Ok(())
    }

    /// The error in the window, as the reference reports it.
    fn explained(&self) -> Error {
        match self.replay() {
            Err(error) => error,
            Ok(()) => self.fail(Diagnostic::error(
                backend::ENGINE_DECLINES,
                "an operator of the window has no result, and the simulator does not find it",
            )),
        }
    }

    fn replay(&self) -> Result<(), Error> {
        let (mut states, mut delays) = (Vec::new(), BTreeMap::new());
        for ((i, register), v) in self.plan.registers.iter().enumerate().zip(&self.delays) {
            match (&register.kind, either!(&self.machine, m => m.register(i))) {
                (Lifetime::State { key, .. }, Some(value)) => states.push((Arc::clone(key), value)),
                (Lifetime::Hidden, Some(value)) => drop(delays.insert(*v, Held::Host(value))),
                _ => {}
            }
        }
        let mut session = Session::new(&self.program);
        session.set_snapshot(&Snapshot { states: states.into_iter().collect(), delays })?;
        for t in 0..self.ticks() {
            let feeds: Vec<(&str, Feed)> = self
                .plan
                .inputs
                .iter()
                .enumerate()
                .map(|(i, (name, _))| (&**name, self.feed(i, t)))
                .collect();
            session.step(feeds)?;
        }
        Ok(())
    }

    fn feed(&self, input: usize, t: usize) -> Feed {
        let flat = self.program.flat();
        let given = |i: usize| either!(&self.machine, m => m.input(i, t));
        if let Some((cond, flag)) = flat.inputs[input].clock
            && let Some(at) = flat.inputs.iter().position(|i| i.var == cond)
            && given(at).and_then(|v| v.as_bool()) == Some(!flag)
        {
            return Feed::Absent;
        }
        let ty = &self.plan.inputs[input].1;
        Feed::Value(given(input).unwrap_or_else(|| Value::zeros(ty, self.plan.precision)))
    }
}
