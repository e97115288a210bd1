//! The states that inference restores from training.

use std::sync::Arc;

use indexmap::IndexSet;
use rml_base::Error;

use crate::checkpoint::Checkpoint;
use crate::runner::Family;

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
