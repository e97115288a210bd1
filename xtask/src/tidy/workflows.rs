//! Checks that everyone can run, and test, the steps of continuous integration: each `run:` is a command of `xtask`, or
//! sets up the toolchain. zizmor finds other problems with workflows, in `cargo xtask test`.

use anyhow::Result;
use clap::Parser as _;

use crate::workspace::{files, root};

const FOLDER: &str = ".github/workflows";
/// The commands that set up a toolchain.
const SET_UP: [&str; 2] = ["rustup ", "sudo apt-get install "];

/// Steps with other commands, in all workflows.
pub(super) fn check() -> Result<Vec<String>> {
    let files = files(&root().join(FOLDER), &[".yml", ".yaml"])?;
    let found = |file: &crate::workspace::File| -> Vec<String> {
        check_text(&file.text).into_iter().map(|why| format!("{FOLDER}/{}:{why}", file.path)).collect()
    };
    Ok(files.iter().flat_map(found).collect())
}

/// The lines of a workflow that violate the rules.
fn check_text(text: &str) -> Vec<String> {
    let command =
        |line: &str| Some(line.trim().trim_start_matches("- ").strip_prefix("run:")?.trim().to_owned());
    let commands = (1..).zip(text.lines()).filter_map(|(n, line)| Some((n, command(line)?)));
    let wrong = commands.filter(|(_, command)| !is_allowed(command));
    wrong.map(|(n, c)| format!("{n}: `{c}` is no command of xtask, and sets no toolchain up")).collect()
}

fn is_allowed(command: &str) -> bool {
    let words = command.strip_prefix("cargo ").filter(|rest| rest.starts_with("xtask "));
    let is_ours = words.is_some_and(|words| crate::Cli::try_parse_from(words.split(' ')).is_ok());
    let is_joined = ["&&", ";", "|", ">"].iter().any(|mark| command.contains(mark));
    !is_joined && (is_ours || SET_UP.iter().any(|start| command.starts_with(start)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn steps_are_commands_of_xtask() {
        for (line, findings) in [
            ("      - run: cargo xtask test --quick", 0),
            ("        run: rustup toolchain install stable", 0),
            ("        run: cargo test", 1),
            ("        run: |", 1),
            ("        run: cargo xtask deploy", 1),
            ("        run: cargo xtask tidy --no-such-flag", 1),
            ("        run: cargo xtask tidy && curl x", 1),
        ] {
            assert_eq!(super::check_text(line).len(), findings, "{line}");
        }
    }
}
