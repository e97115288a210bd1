//! The product of one row.

pub(crate) mod ffi;
#[cfg(test)]
mod tests;
