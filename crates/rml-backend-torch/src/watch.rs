//! Tests on the device for operators that may fail.

use tch::{TchError, Tensor};

/// Below this magnitude, ints and their double-precision estimates are safe: whatever the rounding errors, nothing
/// exceeded 64 bits.
const SMALL: f64 = 4_611_686_018_427_387_904.0; // 2^62

/// The tests of one call: truth values on the device, each of which is true if an operator certainly did not fail.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    fine: Vec<Tensor>,
}

impl Watch {
    /// Adds the test that all elements of `x`, in any precision, are in the safe range of ints. NaN is not.
    pub(crate) fn small(&mut self, x: &Tensor) -> Result<(), TchError> {
        self.all(&x.f_abs()?.f_lt(SMALL)?)
    }

    /// Adds the test that all elements of `mask` are true.
    pub(crate) fn all(&mut self, mask: &Tensor) -> Result<(), TchError> {
        self.fine.push(if mask.dim() == 0 { mask.shallow_clone() } else { mask.f_all()? });
        Ok(())
    }

    /// Whether a watched operator may have failed; this is the only copy to the host.
    pub(crate) fn suspects(&self) -> Result<bool, TchError> {
        let all = match self.fine.as_slice() {
            [] => return Ok(false),
            [one] => one.f_int64_value(&[])?,
            several => Tensor::f_stack(several, 0)?.f_all()?.f_int64_value(&[])?,
        };
        Ok(all == 0)
    }
}
