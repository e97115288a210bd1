//! The machine: whether the libraries exist for it, and the C++ compiler on it.

use std::ffi::OsString;
use std::process::Command;

use super::cache;

/// The oldest glibc that the libraries run with.
const GLIBC: (u32, u32) = (2, 28);

/// Refuses platforms for which the pinned files are not made.
pub(super) fn check_platform() -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        let found = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        return Err(format!(
            "the backends xla and torch are set up on Linux x86_64 with glibc only, and this is {found}; `--backend cpu` needs no setup"
        ));
    }
    // Where `getconf` is missing, nothing is known; the loader then tells what it lacks.
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = output.ok().and_then(|o| glibc(&String::from_utf8_lossy(&o.stdout)));
    match version {
        Some(found) if found < GLIBC => Err(format!(
            "the backends xla and torch need glibc {}.{} or later, and this machine has {}.{}; `--backend cpu` needs no setup",
            GLIBC.0, GLIBC.1, found.0, found.1
        )),
        _ => Ok(()),
    }
}

/// The version in `glibc 2.36`.
fn glibc(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The C++ compiler: `$CXX`, else `g++`.
pub(super) fn compiler() -> Command {
    Command::new(cache::environment("CXX").unwrap_or_else(|| OsString::from("g++")))
}

/// Refuses a machine on which there is no C++ compiler.
pub(super) fn check_compiler() -> Result<(), String> {
    answer(compiler().arg("--version")).map(|_| ())
}

/// What a tool prints, without white space around it.
fn answer(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| missing(command, &e))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a tool whose output matters only if it fails.
pub(super) fn run(command: &mut Command) -> Result<(), String> {
    answer(command).map(|_| ())
}

fn missing(command: &Command, error: &std::io::Error) -> String {
    format!(
        "cannot run the C++ compiler {:?}: {error}; install it (Debian: `apt install g++`) or set CXX to one",
        command.get_program()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_read() {
        assert_eq!(glibc("glibc 2.36\n"), Some((2, 36)));
        assert_eq!(glibc("glibc 2.28.9000"), Some((2, 28)));
        assert_eq!(glibc("musl 1.2"), None);
    }

    #[test]
    fn a_tool_that_is_missing_or_fails_is_named() {
        let missing = answer(&mut Command::new("no-such-compiler-here")).unwrap_err();
        assert!(
            missing.contains("no-such-compiler-here") && missing.contains("apt install g++"),
            "{missing}"
        );
        let failed = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(failed.contains("why"), "{failed}");
    }
}
