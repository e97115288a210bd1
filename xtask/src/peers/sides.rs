//! How the sides are built and started.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace::{cargo, root, step};
use crate::{setup, weights};

const SCRIPT: &str = "benches/peers/peers.py";
const BY_HAND: &str = "benches/peers/stream.c";
/// Where the sides find what they share, below the root.
const FOLDER: &str = "target/peers";

/// What is built: the benchmark of this project, the interpreter with the libraries, and the program in C.
pub(super) struct Sides {
    bench: PathBuf,
    python: PathBuf,
    by_hand: PathBuf,
    folder: PathBuf,
}

impl Sides {
    /// Builds all sides, and empties the folder.
    pub(super) fn build() -> Result<Self, String> {
        let python = weights::python()?;
        let folder = root().join(FOLDER);
        let why = |e| format!("cannot make {}: {e}", folder.display());
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(why)?;
        }
        std::fs::create_dir_all(&folder).map_err(why)?;
        let by_hand = folder.join("stream");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut compile = Command::new(compiler);
        compile.args(["-O3", "-march=native", "-ffast-math", "-o"]).arg(&by_hand);
        if cfg!(target_arch = "x86_64") {
            compile.arg("-mprefer-vector-width=512");
        }
        step("peers: program by hand", compile.arg(root().join(BY_HAND)).arg("-lm"))?;
        Ok(Self { bench: bench()?, python, by_hand, folder })
    }

    /// Whether a side can be run here; a backend that is not set up cannot.
    pub(super) fn has(side: &str) -> Result<bool, String> {
        let Some(backend) = side.strip_prefix("rml ") else { return Ok(true) };
        let library = format!("librml_backend_{backend}.so");
        Ok(setup::cache_folder()?.join(backend).join("lib").join(library).exists())
    }

    /// What runs a job on a backend of this project, which writes what the others read.
    pub(super) fn own(&self, backend: &str, job: &str, threads: usize) -> Command {
        let mut command = Command::new(&self.bench);
        command.args(["--engine", backend, job, "--threads", &threads.to_string()]);
        command.arg("--folder").arg(&self.folder);
        command
    }

    /// What runs a job on a side.
    pub(super) fn command(&self, side: &str, job: &str, threads: usize) -> Result<Command, String> {
        let mut command = match side {
            "c" => {
                let mut command = Command::new(&self.by_hand);
                command.arg(&self.folder);
                return Ok(command);
            }
            own if own.starts_with("rml") => {
                let mut command = Command::new(&self.bench);
                if let Some((_, backend)) = own.split_once(' ') {
                    command.args(["--engine", backend]).env(setup::VARIABLE, setup::cache_folder()?);
                }
                command
            }
            library => {
                let mut command = Command::new(&self.python);
                command.arg(root().join(SCRIPT)).arg(library.replace(' ', "-"));
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
        };
        command.arg(job).args(["--threads", &threads.to_string()]);
        // The other backends have the parameters of the first.
        if !side.starts_with("rml ") {
            command.arg("--folder").arg(&self.folder);
        }
        Ok(command)
    }
}

/// Builds the benchmark of this project, and says where it is.
pub(crate) fn bench() -> Result<PathBuf, String> {
    built(&root())
}

/// Builds the benchmark of the project in that folder, and says where it is.
pub(crate) fn built(folder: &Path) -> Result<PathBuf, String> {
    println!("\n== benchmark in {}", folder.display());
    let mut build =
        cargo(&["bench", "--package", "rml", "--features", "xla,torch", "--bench", "peers", "--no-run"]);
    build.args(["--message-format", "json-render-diagnostics"]).current_dir(folder);
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        // What another tree has in common with this one is built once.
        build.env("CARGO_TARGET_DIR", root().join("target"));
    }
    let output = build.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot start cargo: {e}"))?;
    if !output.status.success() {
        return Err("the benchmark does not build".to_owned());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    crate::startup::executable(&messages).ok_or_else(|| "cargo names no benchmark".to_owned())
}
