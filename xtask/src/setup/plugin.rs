//! The backend itself: a shared library, built against the folder and put into its `lib`, where it finds what it needs
//! beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Recipe, cache, disk};
use crate::workspace;

/// The profile in which backends are built.
const PROFILE: &str = "backend";

/// Variables that lead the build of libtorch's crate elsewhere.
const LEADING_ELSEWHERE: [&str; 6] = [
    "LIBTORCH_USE_PYTORCH",
    "LIBTORCH_STATIC",
    "LIBTORCH_INCLUDE",
    "LIBTORCH_LIB",
    "LIBTORCH_CXX11_ABI",
    "DOCS_RS",
];

/// `cargo <subcommand>` on the backend's package with its feature `link`, in the environment and with the build folder
/// in which [`build`] builds it: what binds a library is built once for all uses. Tests find the libraries.
pub(crate) fn command(recipe: &Recipe, subcommand: &str) -> Result<Command, String> {
    let root = super::cache_folder()?;
    let mut command = workspace::cargo(&[subcommand, "--profile", PROFILE, "--package", recipe.package]);
    command.args(["--features", "link", "--target-dir"]).arg(target());
    let folder = root.join(recipe.name);
    command.env(cache::VARIABLE, &root).envs((recipe.environment)(&folder)?);
    if subcommand == "test" {
        command.env("LD_LIBRARY_PATH", folder.join("lib"));
    }
    for name in LEADING_ELSEWHERE {
        command.env_remove(name);
    }
    Ok(command)
}

/// The folder for build output, apart from that of other builds.
fn target() -> PathBuf {
    workspace::target().join("backends")
}

/// Builds the backend and installs it, unless what is installed is what was built.
pub(super) fn build(recipe: &Recipe, root: &Path) -> Result<(), String> {
    let mut command = command(recipe, "build")?;
    let status = command.status().map_err(|e| format!("cannot start cargo: {e}"))?;
    if !status.success() {
        return Err(format!("building {} failed; what cargo says above tells why", recipe.package));
    }
    let built = target().join(PROFILE).join(recipe.plugin);
    let library = std::fs::read(&built).map_err(|e| disk::failure("read", &built, &e))?;
    let installed = root.join(recipe.name).join("lib").join(recipe.plugin);
    if disk::put(&installed, &library)? {
        println!("  installed {}", installed.display());
    }
    Ok(())
}
