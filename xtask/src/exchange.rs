//! `cargo xtask exchange`: exported models run by JAX and ONNX Runtime.

use crate::python::{self, Environment};
use crate::workspace::{step, tests};

/// JAX and ONNX Runtime.
const LIBRARIES: Environment = Environment {
    name: "exchange",
    folder: "tests/exchange",
    told: "JAX and ONNX Runtime (180 MB to fetch, 720 MB there)",
    prepare: None,
};

/// Makes the environment if need be, and has it run every operator, vectors, examples and random programs.
pub(crate) fn exchange() -> Result<(), String> {
    let _lock = LIBRARIES.lock()?;
    let python = LIBRARIES.interpreter()?;
    let mut run = tests(&["exchange"]);
    step("models in JAX and ONNX Runtime", run.env("RML_EXCHANGE", &python))?;
    python::pages(&python, "onnx", None)
}
