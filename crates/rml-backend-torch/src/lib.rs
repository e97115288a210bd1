//! The torch backend: a library loaded at run time. Empty without the feature `link`.
//!
//! `open` gives a backend whose executables compute a function operator after operator on tensors of libtorch.
//! Attributes, constants and the last use of each value are computed when a function is prepared; each operator gets a
//! kernel then. Gradients are never tracked: adjoints are ordinary functions here.
//!
//! - Results are those of the reference evaluation, ints and truth values exactly; sums and products of numbers are
//!   accumulated in libtorch's own order.
//! - Operators that may fail are watched on the device (`Watch`): one truth value per call says whether the reference
//!   has to compute the call again. Positions are clamped to their axis before libtorch sees them, and no int is
//!   divided by 0.
//! - Random numbers are drawn on the host, from key and tick, by the generator that all backends share.

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
