//! Windows that do not fit in memory.

use rml_base::{Diagnostic, memory};
use rml_executor::TooLong;

/// The error of a window with this many cycles: how much memory it takes, and how little would be enough.
pub(crate) fn refused(TooLong { short, least }: &TooLong, cycles: usize) -> Diagnostic {
    let plural = if cycles == 1 { "" } else { "s" };
    let refused = short.diagnostic(format!("a window of {cycles} cycle{plural}"));
    match least {
        Ok(least) => {
            // Memory in use counts, too.
            let enough = least.saturating_add(short.used);
            refused.note(format!(
                "in segments, with values recomputed where they are needed, it takes at least {}: `--memory {enough}` is enough",
                memory::size(*least)
            ))
        }
        Err(why) => refused.note(format!("it does not run in segments: {why}")),
    }
}
