//! The states that inference restores from training.

use std::sync::Arc;

use indexmap::IndexSet;
use rml_base::Error;
use rml_driver::{BATCH, Options, Program, Source};
use rml_ir::typed::StaticValue;

use crate::checkpoint::{Checkpoint, Policy};
use crate::engines::Engine;
use crate::runner::Family;

impl Checkpoint {
    /// The states with which a run of a program begins, and the paths of those that are no parameters: what
    /// [`infer`](crate::infer()) restores. With `fresh`, these are the parameters alone. `options` are those that the
    /// program was compiled with.
    ///
    /// # Errors
    /// States that do not fit the program.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Error> {
    /// use rml::{Checkpoint, Options, Source, Value, compile};
    ///
    /// let source = Source::text("f.rml", "node f(x: num []) -> (n)  n = 0.0 fby n + x;");
    /// let (options, states) = (Options::default(), [("n".into(), Value::F32(3.0))]);
    /// let (program, learned) = (compile(&source, &options)?, Checkpoint::of_states(states.into()));
    /// let (_, continued) = learned.clone().beginning((&source, &options), &program, false)?;
    /// assert_eq!(continued, ["n"]);
    /// assert!(learned.beginning((&source, &options), &program, true)?.1.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn beginning(
        self,
        (source, options): (&Source, &Options),
        program: &Program,
        fresh: bool,
    ) -> Result<(Self, Vec<String>), Error> {
        let fitted = self.fitted(program)?;
        let options = Options { node: Some(program.node().to_owned()), ..fitted.settings(options.clone()) };
        let size = match (options.batch, options.set.get(BATCH)) {
            (None, Some(StaticValue::Int(size))) => usize::try_from(*size).unwrap_or(1),
            (size, _) => size.unwrap_or(1),
        };
        let mut family = Family::new(source, options, Engine::default())?;
        let kept = inherited(&mut family, size, &fitted, fresh)?;
        let states = kept.select(program, Policy::Available).map_err(|d| program.error(d))?;
        let is_parameter = |key: &str| program.flat().states.get(key).is_some_and(|state| state.parameter);
        let others = states.iter().map(|(key, _)| key).filter(|key| !is_parameter(key));
        let continued = others.map(ToString::to_string).collect();
        Ok((kept, continued))
    }
}

/// The states that inference over `size` stacked windows restores from a checkpoint: the parameters, and every other
/// state that outlives its windows and has the same path in both programs (such as moving averages), so that the trace
/// continues where training stopped. A state whose shape depends on the number of stacked windows belongs to the
/// windows that were run, and restarts. With `fresh`, only parameters are restored.
pub(crate) fn inherited(
    family: &mut Family,
    size: usize,
    checkpoint: &Checkpoint,
    fresh: bool,
) -> Result<Checkpoint, Error> {
    let program = family.program(size)?.clone();
    let states = &program.flat().states;
    let other = |key: &Arc<str>| states.get(key).is_some_and(|s| !s.parameter);
    let mut anew: IndexSet<Arc<str>> = states.keys().filter(|key| other(key)).cloned().collect();
    if !fresh {
        anew.retain(|key| checkpoint.states.contains_key(key));
        if !anew.is_empty() {
            let stacked = family.stacked(size)?;
            anew.retain(|key| stacked.states.contains(key));
        }
    }
    let mut kept = checkpoint.clone();
    kept.states.retain(|key, _| !anew.contains(key));
    Ok(kept)
}
