//! The contract for libraries that are loaded at run time. A program can start without the libraries that it does not
//! use.
//!
//! A backend's library exports one function, [`ENTRY`], which returns a table of C functions. Functions cross the
//! boundary as text ([`print`](crate::print)), tensors as row-major bytes, and failures and descriptions as text.
//! Buffers, executables and open backends are opaque handles. [`export`] is the library's side: it wraps any type that
//! implements [`Backend`](crate::Backend). `host` (feature `load`) is the program's side: it opens a library and is a
//! [`Backend`](crate::Backend) itself.
//!
//! Every call takes one lock of the library. So a backend is safe here even if only one thread at a time may use its
//! parts. Panics do not cross the boundary: they become failures. A library is refused unless its [`INTERFACE`] and
//! [`FINGERPRINT`] are equal to those of the program.

mod abi;
pub mod export;
#[cfg(feature = "load")]
pub mod host;

pub use abi::{ENTRY, FINGERPRINT, INTERFACE};
