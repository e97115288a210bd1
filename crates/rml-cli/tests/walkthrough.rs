//! The output that `docs/walkthrough.md` shows is what the commands above it print.
//!
//! A block fenced as `rml NAME` is a file; a block fenced as `sh` holds commands, which run in a folder with the files; the block fenced as
//! `text` behind it is their output. `RML_BLESS=1` writes the outputs anew.
#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};

use support::Folder;

/// What the commands print, run by the shell in that folder.
fn output(folder: &Folder, commands: &str) -> String {
    let mut shell = folder.shell(commands);
    let output = shell.output().expect("a shell");
    let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (out, err) = (out.expect("UTF-8"), err.expect("UTF-8"));
    assert!(output.status.success() && err.is_empty(), "{commands}\n{err}");
    out
}

/// The page with the outputs that its commands have now, and how many there are.
fn rewritten(page: &str) -> (String, usize) {
    let (mut folder, mut commands, mut result, mut count) = (Folder::new(), String::new(), String::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        result.push_str(&format!("{line}\n"));
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: String = lines.by_ref().take_while(|l| *l != "```").map(|l| format!("{l}\n")).collect();
        let mut shown = body.clone();
        match info.split_once(' ') {
            Some(("rml", name)) => folder = folder.file(name, &body),
            None if info == "sh" => commands = body,
            None if info == "text" => {
                shown = output(&folder, &commands);
                count += 1;
            }
            _ => {}
        }
        result.push_str(&format!("{shown}```\n"));
    }
    (result, count)
}

#[test]
fn outputs_are_those_of_the_commands() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/walkthrough.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (wanted, count) = rewritten(&page);
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("writable");
    } else {
        let differing = page.lines().zip(wanted.lines()).find(|(a, b)| a != b);
        assert!(page == wanted, "{}: a line differs: {differing:?}; `cargo xtask bless`", path.display());
    }
    assert!(count >= 8, "only {count} outputs");
}
