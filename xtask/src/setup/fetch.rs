//! Fetching wheels with pip: from where it is configured to, and no file that has not the pinned hash.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::disk;
use super::wheels::Wheel;
use crate::workspace::step;

const NEEDED: &str = "needed is Python 3 with pip, as `python3` (Debian: `apt install python3-pip`)";

/// The paths of those wheels, all fetched into that folder and right; a file that exists is not fetched again.
pub(super) fn all(wheels: &[Wheel], downloads: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(downloads).map_err(|e| disk::failure("make", downloads, &e))?;
    let asked = Command::new("python3").args(["-m", "pip", "--version"]).output();
    if !asked.map_err(|e| format!("{NEEDED}: {e}"))?.status.success() {
        return Err(NEEDED.to_owned());
    }
    let list = downloads.join("requirements.txt");
    disk::put(&list, requirements(wheels).as_bytes())?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]);
    pip.args(["--implementation", "cp", "--python-version", "3.11"]);
    for platform in wheels.iter().flat_map(|wheel| parts(wheel).1.split('.')) {
        pip.args(["--platform", platform]);
    }
    pip.arg("--find-links").arg(downloads).arg("--dest").arg(downloads).arg("--requirement").arg(&list);
    step("wheels", &mut pip).map_err(|e| explained(&e, wheels, downloads))?;
    Ok(wheels.iter().map(|wheel| downloads.join(wheel.file)).collect())
}

/// The version and the platforms in the name of a wheel's file.
fn parts(wheel: &Wheel) -> (&str, &str) {
    let name = wheel.file.trim_end_matches(".whl");
    (name.split('-').nth(1).unwrap_or_default(), name.rsplit('-').next().unwrap_or_default())
}

/// What pip is asked for.
fn requirements(wheels: &[Wheel]) -> String {
    let mut text = String::new();
    for wheel in wheels {
        let _ = writeln!(text, "{}=={} --hash=sha256:{}", wheel.project, parts(wheel).0, wheel.sha256);
    }
    text
}

/// What went wrong, and what fixes it.
fn explained(error: &str, wheels: &[Wheel], downloads: &Path) -> String {
    let mut text = format!(
        "{error}; what pip says above tells why\n\
         fix: check the network and pip's configuration (PIP_INDEX_URL, PIP_CERT, HTTPS_PROXY) and run the command again; or put these \
         files into {} by hand, and set PIP_NO_INDEX=1:",
        downloads.display()
    );
    for wheel in wheels {
        let _ = write!(text, "\n  {} (SHA-256 {})", wheel.file, wheel.sha256);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::wheels::{CUDA_RUNTIME, TORCH};
    use super::*;

    #[test]
    fn wheels_are_asked_for_by_version_and_hash() {
        let text = requirements(&[TORCH, CUDA_RUNTIME]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("torch==2.13.0 --hash=sha256:{}", TORCH.sha256));
        assert!(lines[1].starts_with("nvidia-cuda-runtime==13.0.96 --hash=sha256:"), "{text}");
        assert_eq!(parts(&CUDA_RUNTIME).1, "manylinux2014_x86_64.manylinux_2_17_x86_64");
    }
}
