//! Calls do not increase memory.

use std::sync::Arc;

use rml_backend::Backend;
use rml_backend::suite::{Report, checks};

use super::Case;

/// Resident memory in MiB, if the system reports it.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    Some((pages * 4096) >> 20)
}

pub(crate) fn case() -> Case {
    Case { alone: true, ..Case::new("memory::calls", calls) }
}

/// Makes 12,000 calls with buffers of 2 to 4 KiB: if each call leaked one buffer, memory would grow by 24 MiB or more.
fn calls(backend: &Arc<dyn Backend>) -> Report {
    let many = checks().into_iter().find(|c| c.name == "calls::many").expect("a check of that name");
    // The memory that the library allocates once, in the first calls, is not counted.
    let mut report = many.run(&**backend);
    let before = resident();
    for _ in 0..3 {
        for outcome in many.run(&**backend).failures() {
            report.record(Err(outcome.clone()));
        }
    }
    let grown = resident().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    report.record(if grown < 16 { Ok(()) } else { Err(format!("memory grows by {grown} MiB")) });
    report
}
