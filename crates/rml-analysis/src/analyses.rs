//! All analyses of a program, before an engine is chosen.

use rml_ir::flat::Flat;

use crate::{Bounds, Causality, ClockReport, Facts, bounds, causality, clocks, facts};

/// The results of all analyses of a program. Code that needs two of them uses this type, so nothing is computed twice.
#[derive(Clone, Debug)]
pub struct Analyses {
    /// The clocks of the program's variables, and whether they are consistent.
    pub clocks: ClockReport,
    /// The times at which the program's values are known.
    pub causality: Causality,
    /// The waits for the program's outputs, and the memory that it needs.
    pub bounds: Bounds,
}

impl Analyses {
    /// Analyses a program.
    ///
    /// Requires: `flat::verify`. Ensures: K1 to K5 for a program that is not rejected.
    pub fn of(flat: &Flat) -> Self {
        let clocks = clocks(flat);
        let causality = causality(flat, &clocks.clocks);
        let bounds = bounds(flat, &clocks.clocks, &causality);
        Self { clocks, causality, bounds }
    }

    /// The tables for a scheduler of the same program.
    ///
    /// Ensures: A1 to A10.
    pub fn facts(&self, flat: &Flat) -> Facts {
        facts(flat, &self.clocks.clocks, &self.causality)
    }
}
