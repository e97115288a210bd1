//! Products with few columns.

mod ffi;

pub(super) use ffi::multiply;
