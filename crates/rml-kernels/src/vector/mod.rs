//! Vectors of numbers, as the micro-kernels of products use them.

mod ffi;

#[cfg(target_arch = "x86_64")]
pub(crate) use ffi::{Avx2, Avx512, Square};
pub(crate) use ffi::{Plain, Vector};
