//! The torch backend: a library loaded at run time. It is empty without the feature `link`.
//!
//! `open` returns a backend whose executables compute a function operator by operator on tensors of libtorch. Preparing
//! a function computes its attributes and constants, finds the last use of each value, and chooses a kernel for each
//! operator. Gradients are never tracked: adjoints are ordinary functions here.
//!
//! - Results equal those of the reference evaluation, ints and truth values exactly; sums and products of numbers are
//!   accumulated in libtorch's own order.
//! - Operators that may fail are watched on the device (`Watch`): one truth value per call tells whether the reference
//!   has to compute the call again. Positions are clamped to their axis before libtorch sees them, and no int is
//!   divided by 0.
//! - Random numbers are drawn on the host, from key and tick, with the generator that all backends share.

#[cfg(feature = "link")]
mod backend;
#[cfg(feature = "link")]
mod buffer;
#[cfg(feature = "link")]
mod device;
#[cfg(feature = "link")]
mod executable;
#[cfg(feature = "link")]
mod failure;
#[cfg(feature = "link")]
mod ffi;
#[cfg(feature = "link")]
mod kernel;
#[cfg(feature = "link")]
mod lower;
#[cfg(feature = "link")]
mod routine;
#[cfg(feature = "link")]
mod watch;

#[cfg(feature = "link")]
pub use backend::open;
