//! Python environments in the cache folder, each with libraries from the Python package index, pinned and by hash. One
//! is made once; a change of what it consists of remakes it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup;
use crate::workspace::{root, step, tests};

/// Libraries for Python.
pub(crate) struct Environment {
    /// The name of its folder in the cache.
    pub(crate) name: &'static str,
    /// The folder with `requirements.txt`.
    pub(crate) folder: &'static str,
    /// What it has.
    pub(crate) told: &'static str,
    /// A script there that makes the libraries usable.
    pub(crate) prepare: Option<&'static str>,
}

/// Ready programs that check and build what is no Rust.
pub(crate) const TOOLS: Environment = Environment {
    name: "tools",
    folder: "xtask/tools",
    told: "mdBook and zizmor (15 MB to fetch, 60 MB there)",
    prepare: None,
};

impl Environment {
    /// Keeps others out until the result is dropped.
    pub(crate) fn lock(&self) -> Result<File, String> {
        setup::lock(&setup::cache_folder()?, self.name)
    }

    /// A program of the environment, which is made unless it exists.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, String> {
        let _lock = self.lock()?;
        Ok(self.interpreter()?.with_file_name(name))
    }

    /// The interpreter of the environment, which is made unless it exists.
    pub(crate) fn interpreter(&self) -> Result<PathBuf, String> {
        let folder = setup::cache_folder()?.join(self.name);
        let (venv, stamp) = (folder.join("venv"), folder.join("stamp"));
        let python = venv.join("bin/python");
        let sources = root().join(self.folder);
        let requirements = sources.join("requirements.txt");
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
        };
        let prepare = self.prepare.map(|script| sources.join(script));
        let wanted = read(&requirements)? + &prepare.as_deref().map_or(Ok(String::new()), read)?;
        if python.exists() && read(&stamp).is_ok_and(|found| found == wanted) {
            return Ok(python);
        }
        check_python()?;
        println!("\n== {}: {} go to {}", self.name, self.told, venv.display());
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&venv);
        step(&format!("{}: environment", self.name), &mut create).map_err(|e| format!("{e}; {NEEDED}"))?;
        let mut install = Command::new(&python);
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
        ]);
        // what the set-up of a backend has fetched need not be fetched twice
        let fetched = setup::cache_folder()?.join("downloads");
        if fetched.exists() {
            install.arg("--find-links").arg(fetched);
        }
        install.arg("--requirement").arg(&requirements);
        step(&format!("{}: libraries", self.name), &mut install)?;
        if let Some(script) = prepare {
            step(&format!("{}: stand-ins for CUDA", self.name), Command::new(&python).arg(script))?;
        }
        std::fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
        Ok(python)
    }
}

/// Runs the commands of the pages that need a Python like that one, which finds modules in a folder of the workspace,
/// too.
pub(crate) fn pages(python: &Path, need: &str, modules: Option<&str>) -> Result<(), String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = python.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&folders));
    let path = std::env::join_paths(folders).map_err(|e| format!("the path of programs: {e}"))?;
    let mut run = tests(&["pages"]);
    if let Some(folder) = modules {
        run.env("PYTHONPATH", root().join(folder));
    }
    step(&format!("pages that need {need}"), run.env("RML_PAGES", need).env("PATH", path))
}

const NEEDED: &str =
    "needed is Python 3.11 to 3.13 with venv, as `python3` (Debian: `apt install python3-venv`)";

/// Refuses machines without a Python that the libraries are made for and that can make environments.
pub(crate) fn check_python() -> Result<(), String> {
    let script = "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))";
    let output = Command::new("python3").args(["-c", script]).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) => Err(NEEDED.to_owned()),
        Err(e) => Err(format!("{NEEDED}: {e}")),
    }
}
