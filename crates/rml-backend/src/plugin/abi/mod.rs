//! Types that cross the boundary.

mod ffi;

pub use ffi::*;
