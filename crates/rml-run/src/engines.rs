//! Choosing what runs programs.
//!
//! An [`Engine`] is given to a [`Session`](crate::Session), and to the options of [`train`](fn@crate::train), [`infer`](fn@crate::infer),
//! [`run`](crate::run()), [`grad`](fn@crate::grad) and [`gradcheck`](crate::gradcheck). The contract that engines implement is
//! [`rml_engine`].

use std::sync::Arc;

use rml_backend::Backend;
use rml_base::Error;
use rml_driver::Program;
use rml_engine::{Feeding, Run, Use};
use rml_sim::SimulatorEngine;

mod given;
mod plan;

/// What runs programs.
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
pub struct Engine(Arc<dyn rml_engine::Engine>);

impl Engine {
    /// The simulator; tensors are computed by the evaluation of each operator, one after the other. This is the reference.
    pub fn simulator() -> Self {
        Self::new(Arc::new(SimulatorEngine::new()))
    }

    /// The simulator; tensors are computed by that backend.
    pub fn simulator_on(backend: Arc<dyn Backend>) -> Self {
        Self::new(Arc::new(SimulatorEngine::on(backend)))
    }

    /// Plans on the embedded backend: whole windows at once. It declines what has no plan; what goes wrong in a window is told by the
    /// simulator, which runs the window again.
    pub fn plan() -> Self {
        Self::new(Arc::new(plan::PlanEngine))
    }

    /// An engine of one's own.
    pub fn new(engine: Arc<dyn rml_engine::Engine>) -> Self {
        Self(engine)
    }

    /// Has it run a program.
    ///
    /// # Errors
    /// If it declines.
    pub(crate) fn open(&self, program: &Program, wish: &Use) -> Result<Box<dyn Run>, Error> {
        self.0
            .open(program.flat(), wish)
            .map_err(|why| Error::from(why.diagnostic(self.0.name())).with_sources(program.sources()))
    }
}

/// The reference.
impl Default for Engine {
    fn default() -> Self {
        Self::simulator()
    }
}

/// A run of the reference, which runs every program.
pub(crate) fn reference(program: &Program, look_ahead: Option<usize>) -> Box<dyn Run> {
    Box::new(SimulatorEngine::new().start(program.flat(), &Use::new(Feeding::Stream { look_ahead })))
}
