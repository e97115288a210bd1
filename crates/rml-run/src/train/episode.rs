//! An episode of a program that trains in an environment.

use crate::runner::json_number;

/// An episode that has ended.
///
/// ```
/// let episode = rml::Episode { cycle: 41, row: 0, total: 21.0, length: 21.0, truncated: Some(false) };
/// assert_eq!(episode.end(), "terminated");
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Episode {
    /// The cycle of its last step, counted from the beginning of the training.
    pub cycle: u64,
    /// The row of its environment.
    pub row: usize,
    /// Its return: the sum of its rewards.
    pub total: f64,
    /// How many steps it had.
    pub length: f64,
    /// Whether it was cut off by a limit of steps; `None` if the program does not say.
    pub truncated: Option<bool>,
}

impl Episode {
    /// `terminated`, `truncated`, or `ended` if the program does not say which.
    pub fn end(&self) -> &'static str {
        match self.truncated {
            Some(true) => "truncated",
            Some(false) => "terminated",
            None => "ended",
        }
    }

    pub(super) fn json_line(&self) -> String {
        let Self { cycle, row, total, length, .. } = self;
        let (total, length, end) = (json_number(*total), json_number(*length), self.end());
        format!(
            "{{\"cycle\": {cycle}, \"row\": {row}, \"return\": {total}, \"length\": {length}, \"end\": \"{end}\"}}\n"
        )
    }

    pub(super) fn csv_line(&self) -> String {
        let Self { cycle, row, total, length, .. } = self;
        format!("{cycle},{row},{total},{length},{}\n", self.end())
    }
}
