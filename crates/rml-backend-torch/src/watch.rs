//! Tests on the device for operators that may fail.

use tch::{TchError, Tensor};

/// Below this size ints and their images in double precision are safe: whatever was rounded, nothing exceeded 64 bits.
const SMALL: f64 = 4_611_686_018_427_387_904.0; // 2^62

/// What is known about one call: truth values on the device, each of which is true where an operator surely has a
/// result.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    fine: Vec<Tensor>,
}

impl Watch {
    /// Whether all elements of `x`, in any precision, are of a magnitude that ints have room for. NaN is not.
    pub(crate) fn small(&mut self, x: &Tensor) -> Result<(), TchError> {
        self.all(&x.f_abs()?.f_lt(SMALL)?)
    }

    /// Whether all elements of `mask` are true.
    pub(crate) fn all(&mut self, mask: &Tensor) -> Result<(), TchError> {
        self.fine.push(if mask.dim() == 0 { mask.shallow_clone() } else { mask.f_all()? });
        Ok(())
    }

    /// Whether something watched may have no result; the one copy to the host.
    pub(crate) fn suspects(&self) -> Result<bool, TchError> {
        let all = match self.fine.as_slice() {
            [] => return Ok(false),
            [one] => one.f_int64_value(&[])?,
            several => Tensor::f_stack(several, 0)?.f_all()?.f_int64_value(&[])?,
        };
        Ok(all == 0)
    }
}
