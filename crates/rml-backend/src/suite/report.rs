//! What a check found.

use std::fmt;

/// How many comparisons a check made, and which failed.
#[derive(Clone, Default, Debug)]
pub struct Report {
    compared: usize,
    failures: Vec<String>,
}

impl Report {
    /// Counts one comparison.
    pub fn record(&mut self, outcome: Result<(), String>) {
        self.compared += 1;
        self.failures.extend(outcome.err());
    }

    /// How many comparisons were made; a check that made none has failed.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// What failed, one line each.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Whether something was compared, and nothing failed.
    pub fn passed(&self) -> bool {
        self.compared > 0 && self.failures.is_empty()
    }
}

impl fmt::Display for Report {
    /// The first failures, one line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        writeln!(f, "{} of {} comparisons failed", self.failures.len(), self.compared)?;
        self.failures.iter().take(SHOWN).try_for_each(|line| writeln!(f, "  {line}"))?;
        match self.failures.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}
