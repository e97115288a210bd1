//! The example of `examples/microcontroller`: it learns on emulated boards, and on this machine, and reaches the same
//! bits.

use std::path::Path;
use std::process::Command;

use crate::workspace::{program, root, step};

/// Where it is built, below the root.
const FOLDER: &str = "target/microcontroller";

/// What all builds have in common.
const STRICT: &[&str] =
    &["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off", "-O2", "-I."];

/// The boards: what the emulator calls them, and the flags of their processors.
const BOARDS: &[(&str, &[&str])] = &[
    ("mps2-an386", &["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]),
    ("mps2-an385", &["-mcpu=cortex-m3"]),
];

const COMPILER: &str = "arm-none-eabi-gcc";
const EMULATOR: &str = "qemu-system-arm";

/// Debian packages by the program that is searched for.
const BOARD_TOOLS: &[(&str, &str)] = &[(COMPILER, "gcc-arm-none-eabi"), (EMULATOR, "qemu-system-arm")];

/// Exports the example, builds it for this machine and for the boards, runs it everywhere, and compares what it prints.
pub(crate) fn microcontroller() -> Result<(), String> {
    installed(BOARD_TOOLS)?;
    let folder = root().join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let mut export = Command::new(program("rml", "export")?);
    export.args(["export", "examples/microcontroller/gru.rml"]).current_dir(root());
    let options = ["--node", "train", "--cycles", "16", "--name", "train", "--out", FOLDER];
    step("microcontroller: export", export.args(options))?;
    let own = |name: &str| root().join("examples/microcontroller").join(name);
    let mut host = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    host.args(STRICT).arg(own("main.c")).arg(own("host.c")).args(["train.c", "-o", "host"]);
    step("microcontroller: program for this machine", host.current_dir(&folder))?;
    let wanted = printed(&mut Command::new(folder.join("host")))?;
    print!("{wanted}");
    for (board, flags) in BOARDS {
        let mut build = Command::new(COMPILER);
        build.args(STRICT).args(*flags).args(["-mthumb", "-ffreestanding", "-nostdlib"]);
        build.arg(own("main.c")).arg(own("cortex_m.c")).arg("train.c").arg("-T").arg(own("cortex_m.ld"));
        build.args(["-lgcc", "-o", board]);
        step(&format!("microcontroller: program for {board}"), build.current_dir(&folder))?;
        memory(&folder.join(board))?;
        let mut run = Command::new(EMULATOR);
        run.args(["-M", board, "-nographic", "-semihosting-config", "enable=on,target=native", "-kernel"]);
        let got = printed(run.arg(folder.join(board)))?;
        if got != wanted {
            return Err(format!("{board} printed\n{got}this machine printed\n{wanted}"));
        }
        println!("{board} prints the same");
    }
    Ok(())
}

/// Installs the packages of programs that are not there, if that is possible.
pub(crate) fn installed(tools: &[(&str, &str)]) -> Result<(), String> {
    let is_there =
        |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    let missing: Vec<&str> =
        tools.iter().filter(|(tool, _)| !is_there(tool)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let all = missing.join(" ");
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"));
    if !is_root {
        return Err(format!("install the packages {all} (on Debian: apt-get install {all})"));
    }
    step("apt-get update", Command::new("apt-get").args(["update", "--quiet"]))?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    step(&format!("apt-get install {all}"), Command::new("apt-get").args(install).args(missing))
}

/// What a program prints, if it succeeds.
fn printed(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_owned();
    let output = command.output().map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // An emulator writes what its board says to either stream.
    let text = text + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(format!("{} failed:\n{text}", program.display())) }
}

/// Says how much memory a program takes; the linker has refused one that takes more than its board has.
fn memory(program: &Path) -> Result<(), String> {
    let sizes = printed(Command::new("arm-none-eabi-size").arg(program))?;
    let numbers: Vec<u64> = sizes
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let [text, data, bss, ..] = numbers[..] else { return Err(format!("no sizes in\n{sizes}")) };
    println!("{} bytes of flash, {} of RAM without the stack", text + data, data + bss);
    Ok(())
}
