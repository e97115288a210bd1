//! `cargo xtask python`: the Python package, installed with pip as its users do, and its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{self, Environment, check_python};
use crate::weights;
use crate::workspace::{program, root, step, target};

/// The package.
const FOLDER: &str = "python";

/// NumPy, pytest, Gymnasium, Jupyter's kernel, and what builds the package.
const LIBRARIES: Environment = Environment {
    name: "package",
    folder: "python/tests",
    told: "NumPy, pytest, Gymnasium and Jupyter's kernel (60 MB to fetch, 330 MB there)",
    prepare: None,
};

/// [`package`], or a word that it is skipped, where there is no Python to install the package for.
pub(crate) fn package_if_possible() -> Result<(), String> {
    match check_python() {
        Ok(()) => package(),
        Err(why) => {
            println!("\n== python: skipped: {why}");
            Ok(())
        }
    }
}

/// Makes the environment if need be, packs the source distribution and installs the package from it, checks its types,
/// and runs its tests and the examples of its documentation, beside the command with the same features, and beside
/// PyTorch where `cargo xtask weights` has installed it.
pub(crate) fn package() -> Result<(), String> {
    let _lock = LIBRARIES.lock()?;
    let python = LIBRARIES.interpreter()?;
    let folder = root().join(FOLDER);
    let sources = unpacked(&python, &folder)?;
    let install =
        ["-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--force-reinstall", "."];
    // Compiled as the tests are, with the same dependencies: what users install takes three times as long to build, and
    // does the same.
    let mut install_it = within(&python, &sources);
    install_it.env("CARGO_TARGET_DIR", target()).env("MATURIN_PEP517_ARGS", "--profile dev");
    step("python: install", install_it.args(install))?;
    step("python: types", within(&python, &folder).args(["-m", "mypy", "--strict", "--package", "rml"]))?;
    let command = program("rml", "backends")?;
    let mut tests = Command::new(python.with_file_name("pytest"));
    tests.args(["--quiet", "-rs", ".", "--pyargs", "rml"]).current_dir(folder.join("tests"));
    if let Some(torch) = weights::libraries()? {
        tests.env("RML_TORCH", torch);
    }
    step("python: tests", tests.env("RML_COMMAND", command))?;
    python::pages(&python, "python", None)
}

/// Packs the source distribution, and unpacks it: the folder of what is in it, away from this repository.
fn unpacked(python: &Path, folder: &Path) -> Result<PathBuf, String> {
    let out = root().join("target/sdist");
    let failed = |what: &str, e: std::io::Error| format!("cannot {what} {}: {e}", out.display());
    if out.exists() {
        std::fs::remove_dir_all(&out).map_err(|e| failed("remove", e))?;
    }
    std::fs::create_dir_all(&out).map_err(|e| failed("make", e))?;
    let maturin = ["-m", "maturin", "sdist", "--out"];
    step("python: source distribution", within(python, folder).args(maturin).arg(&out))?;
    let entries = std::fs::read_dir(&out).map_err(|e| failed("read", e))?;
    let packed = entries.filter_map(Result::ok).map(|entry| entry.path()).next();
    let packed = packed.ok_or("maturin packed nothing")?;
    let unpacked = out.join("unpacked");
    std::fs::create_dir_all(&unpacked).map_err(|e| failed("make", e))?;
    let mut tar = Command::new("tar");
    // All files in it have the same old time, by which cargo would take them for unchanged.
    tar.arg("xzmf").arg(&packed).args(["--strip-components", "1", "-C"]).arg(&unpacked);
    step("python: unpack", &mut tar)?;
    Ok(unpacked)
}

/// An interpreter that is called in a folder, and finds the programs of its environment.
fn within(python: &Path, folder: &Path) -> Command {
    let mut command = Command::new(python);
    let programs = python.parent().map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&path)));
    command.current_dir(folder).env("PATH", path.unwrap_or_default());
    command
}
