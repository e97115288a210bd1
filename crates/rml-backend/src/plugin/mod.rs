//! The contract for libraries loaded at run time, so that a program starts without the libraries that it does not use.
//!
//! A backend's library exports one function, [`ENTRY`], which returns a table of C functions. Functions cross as text
//! ([`print`](crate::print)), tensors as row-major bytes, failures and descriptions as text; buffers, executables and
//! open backends are opaque handles. [`export`] is the side of the library: it wraps anything that implements
//! [`Backend`](crate::Backend). `host` (feature `load`) is the side of the program: it opens a library and is a
//! [`Backend`](crate::Backend) itself.
//!
//! Every call takes one lock of the library, so a backend whose parts may be used by one thread at a time is safe here.
//! Panics do not cross: they become failures. A library is refused unless its [`INTERFACE`] and [`FINGERPRINT`] are
//! those of the program.

mod abi;
pub mod export;
#[cfg(feature = "load")]
pub mod host;

pub use abi::{ENTRY, FINGERPRINT, INTERFACE};
