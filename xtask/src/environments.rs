//! `cargo xtask environments`: steps of environments made again by Gymnasium, which those of the library are compared
//! with, and an agent that learns from one of Gymnasium's.

use std::process::Command;

use crate::python::{Environment, check_python};
use crate::setup;
use crate::workspace::{root, step, tests};

/// The folder with the script and what it needs.
const FOLDER: &str = "tests/environments";

/// Gymnasium.
const LIBRARIES: Environment = Environment {
    name: "gymnasium",
    folder: FOLDER,
    told: "Gymnasium (20 MB to fetch, 80 MB there)",
    prepare: None,
};

/// The seed of the actions, and how many steps there are; those in the repository have another seed, and a tenth of the
/// steps.
const ARGS: [&str; 4] = ["--seed", "1", "--steps", "10000"];

/// [`environments`], or a word that it is skipped, where there is no Python to install Gymnasium with: the steps in the
/// repository are compared in any case.
pub(crate) fn environments_if_possible() -> Result<(), String> {
    match check_python() {
        Ok(()) => environments(),
        Err(why) => {
            println!("\n== environments: skipped: {why}");
            Ok(())
        }
    }
}

/// Makes the environment if need be, has Gymnasium take steps, and runs the tests on them and on an agent that
/// Gymnasium talks to.
pub(crate) fn environments() -> Result<(), String> {
    let _lock = LIBRARIES.lock()?;
    let python = LIBRARIES.interpreter()?;
    let made = setup::cache_folder()?.join(LIBRARIES.name).join("steps");
    let mut script = Command::new(&python);
    step("environments: steps", script.arg(root().join(FOLDER).join("generate.py")).arg(&made).args(ARGS))?;
    let mut taken = tests(&["environments", "train_stream"]);
    step("environments: tests", taken.env("RML_ENVIRONMENTS", &made).env("RML_GYMNASIUM", &python))
}
