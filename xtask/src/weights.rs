//! `cargo xtask weights`: weights and outputs made anew by PyTorch, Keras and flax, which `rml params` is compared with.
//!
//! The libraries come from the Python package index, pinned and by hash, into a virtual environment in the cache folder. It is made
//! once; a change of what it consists of makes it anew.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup;
use crate::workspace::{cargo, root, step};

/// The folder with the scripts and what they need.
const FOLDER: &str = "tests/weights";
/// The seed of the weights; those in the repository have another.
const SEED: &str = "1";

/// [`weights`], or a word that it is skipped, where there is no Python to install the libraries with: the weights in the repository are
/// compared in any case.
pub(crate) fn weights_if_possible() -> Result<(), String> {
    match check_python() {
        Ok(()) => weights(),
        Err(why) => {
            println!("\n== weights: skipped: {why}");
            Ok(())
        }
    }
}

/// Makes the environment if need be, makes weights from another seed than those in the repository, and runs the same tests on them.
pub(crate) fn weights() -> Result<(), String> {
    let folder = setup::cache_folder()?.join("python");
    let _lock = setup::lock(&setup::cache_folder()?, "python")?;
    let python = environment(&folder)?;
    let made = folder.join("weights");
    if made.exists() {
        std::fs::remove_dir_all(&made).map_err(|e| format!("cannot remove {}: {e}", made.display()))?;
    }
    for library in ["torch", "keras", "flax"] {
        let mut script = Command::new(&python);
        script.arg(root().join(FOLDER).join("generate.py")).arg(&made);
        step(&format!("weights by {library}"), script.args(["--only", library, "--seed", SEED]))?;
    }
    let mut tests = cargo(&["test", "--package", "rml-cli", "--test", "weights", "--quiet"]);
    step("weights: tests", tests.env("RML_WEIGHTS", &made))
}

/// The interpreter of the environment with JAX and PyTorch.
pub(crate) fn python() -> Result<PathBuf, String> {
    let _lock = setup::lock(&setup::cache_folder()?, "python")?;
    environment(&setup::cache_folder()?.join("python"))
}

/// Refuses machines without a Python that the libraries are made for and that can make environments.
fn check_python() -> Result<(), String> {
    let needed = "needed is Python 3.11 to 3.13 with venv, as `python3` (Debian: `apt install python3-venv`)";
    let script = "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))";
    let output = Command::new("python3").args(["-c", script]).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) => Err(needed.to_owned()),
        Err(e) => Err(format!("{needed}: {e}")),
    }
}

/// The interpreter of the environment, which is made unless it is there.
fn environment(folder: &Path) -> Result<PathBuf, String> {
    let (venv, stamp) = (folder.join("venv"), folder.join("stamp"));
    let python = venv.join("bin/python");
    let requirements = root().join(FOLDER).join("requirements.txt");
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
    };
    let wanted = read(&requirements)? + &read(&root().join(FOLDER).join("prepare.py"))?;
    if python.exists() && read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    check_python()?;
    println!("\n== weights: PyTorch, Keras and JAX go to {} (700 MB to fetch, 2 GB there)", venv.display());
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&venv);
    step("weights: environment", &mut create).map_err(|e| {
        format!("{e}; needed is Python 3.11 to 3.13 with venv (Debian: `apt install python3-venv`)")
    })?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]);
    // what the set-up of a backend has fetched need not be fetched twice
    install
        .arg("--find-links")
        .arg(setup::cache_folder()?.join("downloads"))
        .arg("--requirement")
        .arg(&requirements);
    step("weights: libraries", &mut install)?;
    step("weights: stand-ins for CUDA", Command::new(&python).arg(root().join(FOLDER).join("prepare.py")))?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
    Ok(python)
}
