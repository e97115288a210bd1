//! An engine that asks several others in turn.

use std::sync::Arc;

use rml_backend::Compiled;
use rml_ir::flat::Drawn;

use crate::declined::Declined;
use crate::run::{ProgramEngine, Run, Use};

/// Several engines, in the order in which they are asked: the first one that accepts the program runs it.
#[derive(Clone, Debug)]
pub struct FirstOf {
    preferred: Vec<Arc<dyn ProgramEngine>>,
    last: Arc<dyn ProgramEngine>,
}

impl FirstOf {
    /// Asks `preferred` in order, and `last` if all of them decline.
    pub fn new(preferred: Vec<Arc<dyn ProgramEngine>>, last: Arc<dyn ProgramEngine>) -> Self {
        Self { preferred, last }
    }
}

impl ProgramEngine for FirstOf {
    /// The name of the last engine, because the reason that is reported is from this engine.
    fn name(&self) -> &str {
        self.last.name()
    }

    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
        for engine in &self.preferred {
            match engine.open(program, wish) {
                Ok(run) => return Ok(run),
                Err(why) => tracing::debug!(engine = engine.name(), reason = %why.reason, "{}", why.text),
            }
        }
        self.last.open(program, wish)
    }

    /// The value of the engine that has compiled most: the engines may share a backend.
    fn compiled(&self) -> Compiled {
        let all = self.preferred.iter().chain([&self.last]).map(|engine| engine.compiled());
        all.max_by_key(|compiled| compiled.programs + compiled.loaded).unwrap_or_default()
    }
}
