//! Taking back cycles that are open.

use super::Simulator;

impl Simulator {
    /// Takes back every open cycle, and with them what stopped the simulation: it is as if they had not been fed, but for outputs of
    /// theirs that were fetched already, which do not come again. Complete cycles stay. Returns the first cycle that was taken back
    /// and is to be fed next.
    ///
    /// After a failed [`feed`](Self::feed) the caller gets the simulation before it by taking back, and feeding the open cycles but
    /// the last one again.
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

    /// The first cycle whose outputs were not fetched: those that wait to be are the last ones that were released.
    pub fn first_unfetched(&self) -> u64 {
        self.released - self.outputs.len() as u64
    }

    /// Whether something stopped the simulation.
    pub fn has_failed(&self) -> bool {
        !self.halts.is_empty()
    }

    /// Whether as many cycles are open as may be: another one cannot be fed.
    pub fn is_full(&self) -> bool {
        self.options.max_open_cycles.is_some_and(|limit| self.rows.open() >= limit as u64)
    }
}
