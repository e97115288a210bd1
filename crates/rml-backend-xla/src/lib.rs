//! The XLA backend: a library loaded at run time.
//!
//! Tensor functions become StableHLO text by `rml-stablehlo`. Everything else needs the feature `link`: it compiles the
//! text with XLA's compiler, runs it through PJRT, and exports the C functions of [`rml_backend::plugin`].

#[cfg(feature = "link")]
mod buffer;
#[cfg(feature = "link")]
mod client;
#[cfg(feature = "link")]
mod compile;
#[cfg(feature = "link")]
mod device;
#[cfg(feature = "link")]
mod error;
#[cfg(feature = "link")]
mod executable;
#[cfg(feature = "link")]
mod export;
#[cfg(feature = "link")]
mod ffi;
#[cfg(feature = "link")]
mod programs;
#[cfg(feature = "link")]
mod routine;
