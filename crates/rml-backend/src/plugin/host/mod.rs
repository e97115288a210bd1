//! The side of the program: a library that was opened is a backend like any other.

mod ffi;

pub use ffi::Library;
