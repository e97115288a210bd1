//! `cargo xtask logs`: the events of a training, read by TensorBoard.

use crate::python::Environment;
use crate::workspace::{step, tests};

/// TensorBoard's reader.
const LIBRARIES: Environment = Environment {
    name: "tensorboard",
    folder: "tests/logs",
    told: "TensorBoard (22 MB to fetch, 90 MB there)",
    prepare: None,
};

/// Makes the environment if need be, and has it read what trainings log.
pub(crate) fn logs() -> Result<(), String> {
    let _lock = LIBRARIES.lock()?;
    let python = LIBRARIES.interpreter()?;
    let mut log = tests(&["log"]);
    step("logs in TensorBoard", log.env("RML_TENSORBOARD", python))
}
