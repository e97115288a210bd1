//! Models in ONNX and StableHLO: parsed again, and if `RML_EXCHANGE` names a Python with ONNX Runtime and JAX, run by
//! them.

mod operators;
mod programs;
mod random;
mod support;
