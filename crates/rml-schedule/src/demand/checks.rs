//! Operators that may fail.

use super::Demand;
use crate::Declined;

impl Demand<'_> {
    /// An operator that may fail is computed wherever all of its operands have values, whether or not its result is
    /// used.
    pub(super) fn checks(&mut self) -> Result<(), Declined> {
        for v in self.window.failing() {
            for p in self.window.place(v).iter() {
                if self.window.is_never(v, p) || self.guards(v, p)?.is_none() {
                    continue;
                }
                self.needed_within(v, p)?;
            }
        }
        Ok(())
    }
}
