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
    /// How many bytes it has.
    pub(super) const BYTES: usize = 40;

    /// `terminated`, `truncated`, or `ended` if the program does not say which.
    pub fn end(&self) -> &'static str {
        match self.truncated {
            Some(true) => "truncated",
            Some(false) => "terminated",
            None => "ended",
        }
    }

    /// The episode as bytes, for other ranks.
    pub(super) fn bytes(&self) -> [u8; Self::BYTES] {
        let Self { cycle, row, total, length, truncated } = *self;
        let truncated = truncated.map_or(2, u64::from);
        let mut bytes = [0; Self::BYTES];
        let numbers = [cycle, row as u64, total.to_bits(), length.to_bits(), truncated];
        bytes.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(to, n)| *to = n.to_le_bytes());
        bytes
    }

    /// The episode that another rank sent; `None` if these bytes are none.
    pub(super) fn of_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut numbers = bytes.as_chunks().0.iter().map(|n| u64::from_le_bytes(*n));
        let mut next = || numbers.next();
        Some(Self {
            cycle: next()?,
            row: usize::try_from(next()?).ok()?,
            total: f64::from_bits(next()?),
            length: f64::from_bits(next()?),
            truncated: match next()? {
                0 => Some(false),
                1 => Some(true),
                2 => None,
                _ => return None,
            },
        })
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
