//! What crosses the boundary.

mod ffi;

pub use ffi::*;
