//! Takes back open cycles.

use super::Simulator;

impl Simulator {
    /// Takes back every open cycle, and with them the failure that stopped the simulation, as if these cycles had never
    /// been fed. Only outputs that were already fetched are not returned again. Complete cycles are kept. Returns the
    /// first cycle that was taken back, which must be fed next.
    ///
    /// To return to the simulation before a failed [`feed`](Self::feed), the caller takes the open cycles back and
    /// feeds all of them except the last one again.
    pub fn take_back(&mut self) -> u64 {
        let base = self.rows.base;
        self.released = self.first_unfetched().max(base);
        self.outputs.retain(|row| row.cycle < base);
        self.rows.clear();
        self.tails.fill(None);
        self.halts.clear();
        if let Some(functions) = &mut self.functions {
            functions.forget_waiting();
        }
        base
    }

    /// The first cycle whose outputs were not fetched. Outputs that were released and not fetched belong to the last
    /// released cycles.
    pub fn first_unfetched(&self) -> u64 {
        self.released - self.outputs.len() as u64
    }

    /// Whether a failure stopped the simulation.
    pub fn has_failed(&self) -> bool {
        !self.halts.is_empty()
    }

    /// Whether the maximum number of cycles is open, so that another one cannot be fed.
    pub fn is_full(&self) -> bool {
        self.options.max_open_cycles.is_some_and(|limit| self.rows.open() >= limit as u64)
    }
}
