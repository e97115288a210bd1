//! Choosing the engine that runs programs.
//!
//! An [`Engine`] is given to a [`Session`](crate::Session), and to the options of [`train`](fn@crate::train),
//! [`infer`](fn@crate::infer), [`run`](crate::run()), [`grad`](fn@crate::grad) and [`gradcheck`](crate::gradcheck). The
//! contract that engines implement is [`rml_engine`].

use std::num::NonZeroUsize;
use std::sync::Arc;

use rml_backend::{Backend, Compiled};
use rml_base::Error;
use rml_base::profile::{Phase, Profile};
use rml_driver::Program;
use rml_engine::{FirstOf, ProgramEngine as _, Run, Use};
use rml_executor::Executor;
use rml_sim::SimulatorEngine;

mod budget;
#[cfg(test)]
mod clocked;
mod clocks;
#[cfg(test)]
mod foreseen;
mod given;
mod plan;
#[cfg(test)]
mod random;
mod shape;
mod windows;

pub(crate) use budget::refused;
use plan::PlanEngine;
pub use shape::PlanShape;

/// The engine that runs programs.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// use rml::{Engine, Feed, Options, Session, Source, Value, backend};
/// let source = Source::text("net.rml", "node main(x: num []) -> (o) o = tanh(x) + 1.0;");
/// let program = rml::compile(&source, &Options::default())?;
/// let engine = Engine::simulator_on(backend::open("cpu", &backend::Options::default())?);
/// let mut session = Session::on(&program, &engine)?;
/// let rows = session.step([("x", Feed::Value(Value::F32(0.0)))])?;
/// assert_eq!(rows[0].num("o"), Some(1.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    engine: Arc<dyn rml_engine::ProgramEngine>,
    profile: Option<Profile>,
}

impl Engine {
    /// The simulator; each operator is evaluated on its own. This is the reference.
    pub fn simulator() -> Self {
        Self::new(Arc::new(SimulatorEngine::new()))
    }

    /// The simulator; the given backend computes tensors.
    pub fn simulator_on(backend: Arc<dyn Backend>) -> Self {
        Self::new(Arc::new(SimulatorEngine::on(backend)))
    }

    /// Plans on the embedded backend: whole windows at once. This engine declines programs without a plan. If an
    /// operator fails in a window, the simulator runs the window again and reports the error. Windows with enough work
    /// are divided among one thread per core.
    pub fn plan() -> Self {
        Self::new(Arc::new(PlanEngine::default()))
    }

    /// Plans on the given backend; parameters and other states stay on its device. The plan of a program, and which
    /// programs are declined, do not depend on the backend.
    pub fn plan_on(backend: Arc<dyn Backend>) -> Self {
        Self::new(Arc::new(PlanEngine::lowered(backend)))
    }

    /// Plans on the given executor.
    pub fn plan_by(executor: Arc<dyn Executor>) -> Self {
        Self::new(Arc::new(PlanEngine::on(executor)))
    }

    /// The same, with at most `threads` threads. The results do not depend on their number.
    pub fn plan_by_with_threads(executor: Arc<dyn Executor>, threads: NonZeroUsize) -> Self {
        Self::new(Arc::new(PlanEngine::on(executor).with_threads(threads)))
    }

    /// A plan if a program has one for its use, else the simulator. This is the default.
    pub fn auto() -> Self {
        Self::plan().or(&Self::simulator())
    }

    /// This engine, with another one for the programs that it declines.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let engine = Arc::new(FirstOf::new(vec![Arc::clone(&self.engine)], Arc::clone(&other.engine)));
        Self { engine, profile: self.profile.clone().or_else(|| other.profile.clone()) }
    }

    /// An engine of your own.
    pub fn new(engine: Arc<dyn rml_engine::ProgramEngine>) -> Self {
        Self { engine, profile: None }
    }

    /// This engine, with a profile that measures all its runs for [`train`](fn@crate::train),
    /// [`infer`](fn@crate::infer) or [`run`](crate::run()).
    #[must_use]
    pub fn measured_by(&self, profile: &Profile) -> Self {
        Self { profile: Some(profile.clone()), ..self.clone() }
    }

    /// The profile of the runs.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Runs an action, and measures it as part of a phase.
    pub(crate) fn time<T>(&self, phase: Phase, what: impl FnOnce() -> T) -> T {
        match &self.profile {
            Some(profile) => profile.time(phase, what),
            None => what(),
        }
    }

    /// The programs that its backend has compiled so far.
    pub(crate) fn compiled(&self) -> Compiled {
        self.engine.compiled()
    }

    /// Opens a program to run on this engine.
    ///
    /// # Errors
    /// The engine declines the program.
    pub(crate) fn open(&self, program: &Program, wish: &Use) -> Result<Box<dyn Run>, Error> {
        let profile = self.profile.as_ref().map(|profile| profile.scope(program.sources()));
        let wish = Use { profile, ..wish.clone() };
        self.time(Phase::Compile, || self.engine.open(program.flat(), &wish))
            .map_err(|why| Error::from(why.diagnostic(self.engine.name())).with_sources(program.sources()))
    }
}

/// Plans, or else the simulator.
impl Default for Engine {
    fn default() -> Self {
        Self::auto()
    }
}

/// A run of the default engine, which runs every program.
pub(crate) fn open(program: &Program, wish: &Use) -> Box<dyn Run> {
    let planned = PlanEngine::default().open(program.flat(), wish);
    planned.unwrap_or_else(|_| Box::new(SimulatorEngine::new().start(program.flat(), wish)))
}

#[cfg(test)]
mod tests {
    use rml_driver::{Options, Source, compile};
    use rml_engine::{Block, BlockColumn, Feeding, Inputs, Present};
    use rml_ir::{Data, Shape, Value};

    use super::*;

    /// The number of activations of an engine after three cycles.
    fn activations(engine: &Engine, text: &str) -> u64 {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let mut run = engine.open(&program, &Use::new(Feeding::Windows { cycles: None })).expect("it runs");
        let x = Value::new(Shape::new(&[3]), Data::F32(vec![1.0, 2.0, 3.0]));
        let block = Block::new(3, vec![BlockColumn::new(Present::Always, x)]);
        run.feed(Inputs::Block(&block)).expect("nothing fails");
        run.usage().activations
    }

    #[test]
    fn a_program_is_run_by_plan_where_it_has_one() {
        let planned = "node main(x: num []) -> (o) o = 2.0 * x + (0.0 fby o);";
        let simulated = "node main(x: num []) -> (o) o = x + (0.0 fby back o);";
        assert_eq!(activations(&Engine::auto(), planned), 1, "one block");
        for text in [planned, simulated] {
            assert!(activations(&Engine::simulator(), text) > 3, "each equation in each cycle");
        }
        assert_eq!(activations(&Engine::auto(), simulated), activations(&Engine::simulator(), simulated));
    }
}
