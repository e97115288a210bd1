//! The library's side: a table of C functions around any type that implements the contract.
//!
//! A library has a file `ffi.rs` with
//! ```ignore
//! #[unsafe(no_mangle)]
//! pub extern "C" fn rml_backend_api() -> *const rml_backend::plugin::export::Api {
//!     rml_backend::plugin::export::api(open)
//! }
//! ```

mod ffi;

use std::sync::Arc;

pub use super::abi::Api;
pub use ffi::api;

use crate::contract::{Backend, Options};
use crate::error::Failure;

/// Opens a backend.
pub type Open = fn(&Options) -> Result<Arc<dyn Backend>, Failure>;
