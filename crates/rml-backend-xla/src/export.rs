//! The C interface of this library; see [`rml_backend::plugin`].

mod ffi;
