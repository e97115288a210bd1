//! How the table fills as cycles are read: the paper's simulations, one slab for each prefix of the trace.

use rml_base::{Diagnostics, Error};
use rml_data::Columns;
use rml_driver::Program;
use rml_engine::End;
use rml_pictures::{Cell, Chronogram, Row, Rows, shown};

use super::build::{DrawnRun, ask, table};
use super::statuses::Statuses;
use crate::trace::{self, RunOptions};

/// An upper bound on the bytes of a cell of a slab, with the text made of it.
const CELL: u64 = 160;

/// Runs a program, compiled with [`Options::all_vars`](rml_driver::Options), over the first cycle of its inputs, over
/// the first two, and so on, each as the beginning of an endless trace; and finally over all of them with a known end,
/// if [`RunOptions::end`] says so. The rows of each run follow below each other, under a heading; cells that the
/// previous run did not determine are [fresh](Chronogram::fresh). A slab `[0:n]` is the fixed point at index n of the
/// paper's figures.
///
/// # Errors
/// Inputs that do not fit the program. An error during a run ends the table, and is in [`DrawnRun::error`].
pub fn stages(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
    rows: Rows,
) -> Result<DrawnRun, Error> {
    let options = RunOptions { all_vars: true, ..options.clone() };
    let (whole, names) = (trace::cycles(program, inputs, &options)?, options.names(program)?);
    // A slab for each cycle, each as wide as the whole table.
    let cells = (shown(program.flat(), rows).len() as u64 + 1).saturating_mul(whole as u64);
    ask(cells.saturating_mul(whole as u64).saturating_mul(CELL), whole).map_err(|d| program.error(d))?;
    let ends = (1..=whole)
        .map(|n| (n, End::Open))
        .chain((options.end == End::Closed).then_some((whole, End::Closed)));
    let mut drawn = DrawnRun {
        chronogram: Chronogram { cycles: whole, ..Chronogram::default() },
        error: None,
        warnings: Diagnostics::new(),
    };
    let mut before: Vec<Row> = Vec::new();
    for (n, end) in ends {
        let options = RunOptions { cycles: Some(n), end, ..options.clone() };
        let (session, trace) = trace::run_session(program, inputs, &options)?;
        let statuses = Statuses::of(&session);
        let mut now = table((&statuses, &names), shown(program.flat(), rows), n);
        statuses.read()?;
        now.iter_mut().for_each(|row| row.cells.resize(whole, Cell::Blank));
        if end == End::Open || now != before {
            let heading =
                if end == End::Open { format!("[0:{n}]") } else { format!("[0:{n}], the end is known") };
            drawn.chronogram.slab(heading, &before, now.clone());
        }
        before = now;
        drawn.warnings = trace.warnings;
        if trace.error.is_some() {
            drawn.error = trace.error;
            break;
        }
    }
    Ok(drawn)
}
