//! `cargo xtask editors`: a session of Neovim with the language server, and the extension for Visual Studio Code as a
//! package.

use std::path::Path;
use std::process::Command;

use crate::microcontroller::installed;
use crate::workspace::{program, root, step};

/// Has Neovim edit programs, and packs the extension where there is npm.
pub(crate) fn editors() -> Result<(), String> {
    installed(&[("nvim", "neovim")])?;
    step("editors: Neovim", &mut neovim(&program("rml", "lsp")?))?;
    match Command::new("npm").arg("--version").output() {
        Ok(found) if found.status.success() => extension(),
        _ => {
            println!("\n== editors: Visual Studio Code: skipped: there is no npm");
            Ok(())
        }
    }
}

fn neovim(rml: &Path) -> Command {
    let of = |path: &str| root().join(path).display().to_string();
    let mut nvim = Command::new("nvim");
    nvim.args(["--headless", "--clean", "--cmd", &format!("set rtp+={}", of("editors/neovim"))]);
    nvim.args(["--cmd", &format!("let g:rml_command='{}'", rml.display())]);
    nvim.args(["-c", &format!("luafile {}", of("tests/editors/session.lua"))]);
    nvim
}

/// Builds the extension in a copy, so that nothing is left beside its sources.
fn extension() -> Result<(), String> {
    let copy = root().join("target/vscode");
    let failed = |e: std::io::Error| format!("cannot copy the extension: {e}");
    copy_folder(&root().join("editors/vscode"), &copy).map_err(failed)?;
    let npm = |args: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(args).current_dir(&copy);
        npm
    };
    step("editors: npm ci", &mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    step("editors: Visual Studio Code", &mut npm(&["run", "--silent", "package"]))?;
    println!("{}", copy.join("rml.vsix").display());
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            if name != "node_modules" && name != "dist" {
                copy_folder(&path, &to.join(name))?;
            }
        } else {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
