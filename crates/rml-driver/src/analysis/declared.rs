//! Prints clocks in the form in which programs declare them.

use rml_analysis::ClockReport;
use rml_ir::flat::{Flat, Var};

/// The declared form of a variable's clock: ` when end`.
pub(super) fn clock(flat: &Flat, clocks: &ClockReport, v: Var) -> String {
    let clock = clocks.clocks.text(flat, clocks.clocks.of[v]);
    match clock.strip_prefix("base") {
        Some(path) => path.replace(" on ", " when "),
        None => format!(" (clock: {clock})"),
    }
}
