//! The report of a check.

use std::fmt;

/// The number of comparisons of a check, and the failed ones.
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

    /// The number of comparisons; a check without comparisons has failed.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// The failures, one line each.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Whether there was a comparison and no failure.
    pub fn passed(&self) -> bool {
        self.compared > 0 && self.failures.is_empty()
    }
}

impl fmt::Display for Report {
    /// Writes the first failures, one line each.
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
