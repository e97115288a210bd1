//! Compiles C with the system's compiler, and caches the compiled libraries.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};

/// The options of the compiler: results have the bits that the text defines, even where the compiler vectorises.
const FLAGS: [&str; 9] = [
    "-std=gnu11",
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-w",
    "-fPIC",
    "-shared",
];

/// A compiler.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    pub(crate) command: String,
    /// The first line of its version message.
    pub(crate) version: String,
}

/// The compiler of the system: the one that `$CC` names, else `cc`, `gcc` or `clang`.
pub(crate) fn compiler() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let named = std::env::var("CC").ok().filter(|name| !name.is_empty());
            let names = named.into_iter().chain(["cc", "gcc", "clang"].map(str::to_owned));
            names.into_iter().find_map(|command| {
                let output = Command::new(&command).arg("--version").output().ok()?;
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let version = said.lines().next().filter(|_| output.status.success())?.to_owned();
                Some(Compiler { command, version })
            })
        })
        .as_ref()
}

/// A description of the processor that covers everything that code compiled for it depends on.
fn processor() -> String {
    let all = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines =
        all.lines().filter(|line| ["flags", "model name", "Features"].iter().any(|k| line.starts_with(k)));
    lines.take(2).collect::<Vec<_>>().join("\n")
}

/// The shared library of a program. Compiles the program unless the library exists.
///
/// # Errors
/// The reason why there is no library.
pub(crate) fn library(
    text: &str,
    compiler: &Compiler,
    folder: Option<&Path>,
    stop: &AtomicBool,
) -> Result<(PathBuf, Option<tempfile::TempDir>), String> {
    let mut hash = Sha256::new();
    for part in [text, &compiler.command, &compiler.version, &FLAGS.join(" "), &processor()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let name: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let Some(folder) = folder else {
        let own =
            tempfile::tempdir().map_err(|e| format!("there is no folder for compiled programs: {e}"))?;
        let path = compile(text, compiler, own.path(), &name, stop)?;
        return Ok((path, Some(own)));
    };
    let path = folder.join(format!("{name}.so"));
    if path.is_file() {
        return Ok((path, None));
    }
    create(folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    compile(text, compiler, folder, &name, stop).map(|path| (path, None))
}

/// Creates a folder that others cannot write to.
fn create(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Compiles into a folder. The library gets its name only when it is complete.
fn compile(
    text: &str,
    compiler: &Compiler,
    folder: &Path,
    name: &str,
    stop: &AtomicBool,
) -> Result<PathBuf, String> {
    let failed = |what: &str, e: std::io::Error| format!("cannot {what} in {}: {e}", folder.display());
    let work = tempfile::tempdir_in(folder).map_err(|e| failed("make a folder", e))?;
    let (source, made) = (work.path().join("program.c"), work.path().join("program.so"));
    std::fs::write(&source, text).map_err(|e| failed("write", e))?;
    let mut command = Command::new(&compiler.command);
    command.args(FLAGS).arg("-o").arg(&made).arg(&source).arg("-lm");
    let said = work.path().join("said.txt");
    let to = std::fs::File::create(&said).map_err(|e| failed("write", e))?;
    // The folder is deleted in the end, and with it the compiler's own files.
    command.env("TMPDIR", work.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(to);
    let status =
        ended(&mut command, stop).map_err(|e| format!("`{}` does not run: {e}", compiler.command))?;
    if !status.success() {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        let line = said.lines().find(|line| line.contains("error")).unwrap_or("it says nothing");
        return Err(format!("`{}` refuses the program: {line}", compiler.command));
    }
    let path = folder.join(format!("{name}.so"));
    std::fs::rename(&made, &path).map_err(|e| failed("keep the program", e))?;
    Ok(path)
}

/// Runs a command until it ends, or is told to stop.
fn ended(command: &mut Command, stop: &AtomicBool) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) {
            child.kill()?;
            return child.wait();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
