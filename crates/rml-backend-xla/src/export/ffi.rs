//! The function that this library exports.
#![allow(unsafe_code)]

/// The table of this library's functions.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rml_backend_api() -> *const rml_backend::plugin::export::Api {
    rml_backend::plugin::export::api(crate::client::open)
}
