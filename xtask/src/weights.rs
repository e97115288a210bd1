//! `cargo xtask weights`: weights and outputs made again by PyTorch, Keras and flax, which `rml params` is compared
//! with.
//!
//! The libraries come from the Python package index, pinned and by hash, into a virtual environment in the cache
//! folder. It is made once; a change of what it consists of remakes it.

use std::path::PathBuf;
use std::process::Command;

use crate::python::{Environment, check_python, pages};
use crate::setup;
use crate::workspace::{root, step, tests};

/// The folder with the scripts and what they need.
const FOLDER: &str = "tests/weights";
/// PyTorch, Keras, flax and JAX.
const LIBRARIES: Environment = Environment {
    name: "python",
    folder: FOLDER,
    told: "PyTorch, Keras and JAX (700 MB to fetch, 2 GB there)",
    prepare: Some("prepare.py"),
};
/// The seed of the weights; those in the repository have another.
const SEED: &str = "1";

/// [`weights`], or a word that it is skipped, where there is no Python to install the libraries with: the weights in
/// the repository are compared in any case.
pub(crate) fn weights_if_possible() -> Result<(), String> {
    match check_python() {
        Ok(()) => weights(),
        Err(why) => {
            println!("\n== weights: skipped: {why}");
            Ok(())
        }
    }
}

/// Makes the environment if need be, makes weights from another seed than those in the repository, and runs the same
/// tests on them.
pub(crate) fn weights() -> Result<(), String> {
    let _lock = LIBRARIES.lock()?;
    let python = LIBRARIES.interpreter()?;
    let made = setup::cache_folder()?.join(LIBRARIES.name).join("weights");
    if made.exists() {
        std::fs::remove_dir_all(&made).map_err(|e| format!("cannot remove {}: {e}", made.display()))?;
    }
    for library in ["torch", "keras", "flax"] {
        let mut script = Command::new(&python);
        script.arg(root().join(FOLDER).join("generate.py")).arg(&made);
        step(&format!("weights by {library}"), script.args(["--only", library, "--seed", SEED]))?;
    }
    let mut compared = tests(&["weights"]);
    step("weights: tests", compared.env("RML_WEIGHTS", &made))?;
    pages(&python, "libraries", Some("tests/weights/lazy"))
}

/// The interpreter of the environment with JAX and PyTorch.
pub(crate) fn python() -> Result<PathBuf, String> {
    let _lock = LIBRARIES.lock()?;
    LIBRARIES.interpreter()
}

/// The folder of the environment's libraries, if it was made.
pub(crate) fn libraries() -> Result<Option<PathBuf>, String> {
    let lib = setup::cache_folder()?.join(LIBRARIES.name).join("venv/lib");
    let Ok(versions) = std::fs::read_dir(lib) else { return Ok(None) };
    let mut folders = versions.flatten().map(|version| version.path().join("site-packages"));
    Ok(folders.find(|folder| folder.join("torch").exists()))
}
