//! Models in ONNX and StableHLO: read back, and run by ONNX Runtime and JAX where `RML_EXCHANGE` names a Python with
//! them.

mod operators;
mod programs;
mod random;
mod support;
