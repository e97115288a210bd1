//! Models as programs: what they compute, what their weights are, and what is refused. Expected values are worked out by
//! hand, or were computed once by ONNX Runtime 1.32, as the test says.

#![allow(missing_docs, clippy::cast_precision_loss, clippy::float_cmp, reason = "tests")]

mod control;
mod hostile;
mod images;
mod layers;
mod recurrent;
mod shapes;
mod support;
mod weights;
