//! The torch backend: a library that is opened at run time. Empty without the feature `link`.
//!
//! `open` gives a backend whose executables compute a function operator after operator on tensors of libtorch. What can
//! be worked out ahead of a call (attributes, constants, which value dies where) is worked out when a function is
//! prepared (one kernel for each operator). No gradient is ever tracked: adjoints are ordinary functions here.
//!
//! - Results are those of the reference evaluation, ints and truth values exactly; sums and products of numbers are
//!   accumulated in libtorch's own order.
//! - Operators that may have no result are watched on the device (`Watch`): one truth value a call says whether the
//!   reference is to compute it. Positions are brought into their axis before libtorch sees them, and no int is divided
//!   by 0.
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
