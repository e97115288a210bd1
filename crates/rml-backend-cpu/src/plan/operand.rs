//! Operands by number.

/// Which [`Ref`].
pub(super) type Arg = usize;
