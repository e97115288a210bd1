//! The program's side: an opened library is a backend like any other.

mod ffi;

pub use ffi::Library;
