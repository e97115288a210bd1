//! The XLA backend: a library loaded at run time.
//!
//! `rml-stablehlo` turns tensor functions into StableHLO text. All other parts need the feature `link`: they compile
//! the text with XLA's compiler, run it through PJRT, and export the C functions of [`rml_backend::plugin`].

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
