//! What continuous integration runs can be run, and is tested, by everyone: each `run:` is a command of `xtask`, or
//! sets the toolchain up. What else can be wrong with a workflow is told by zizmor, in `cargo xtask test`.

use crate::workspace::root;

const FOLDER: &str = ".github/workflows";
/// What sets a toolchain up.
const SET_UP: [&str; 2] = ["rustup ", "sudo apt-get install "];
const XTASK: &str = "cargo xtask ";

/// Steps that do other things, in all workflows.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let why = |e| format!("cannot read {FOLDER}: {e}");
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(root().join(FOLDER)).map_err(why)? {
        let path = entry.map_err(why)?.path();
        let text = std::fs::read_to_string(&path).map_err(why)?;
        let name = format!("{FOLDER}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        findings
            .extend(check_text(&text, crate::USAGE).into_iter().map(|(n, why)| format!("{name}:{n}: {why}")));
    }
    Ok(findings)
}

/// The lines of a workflow that are against the rules.
fn check_text(text: &str, usage: &str) -> Vec<(usize, String)> {
    let finding = |line: &str| run(line.trim().trim_start_matches("- ").strip_prefix("run:")?.trim(), usage);
    (1..).zip(text.lines()).filter_map(|(n, line)| Some((n, finding(line)?))).collect()
}

fn run(command: &str, usage: &str) -> Option<String> {
    let joined = ["&&", ";", "|", ">"].iter().any(|mark| command.contains(mark));
    let word = command.strip_prefix(XTASK).and_then(|rest| rest.split(' ').next());
    let known = word.is_some_and(|word| usage.lines().any(|l| l.split_whitespace().next() == Some(word)));
    let set_up = SET_UP.iter().any(|start| command.starts_with(start));
    let allowed = !joined && (known || set_up);
    (!allowed).then(|| format!("`{command}` is no command of xtask, and sets no toolchain up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_commands_of_xtask() {
        let check = |line: &str| check_text(line, "commands:\n  test [--quick]\n  tidy").len();
        assert_eq!(check("      - run: cargo xtask test --quick"), 0);
        assert_eq!(check("        run: rustup toolchain install stable"), 0);
        assert_eq!(check("        run: cargo test"), 1);
        assert_eq!(check("        run: |"), 1);
        assert_eq!(check("        run: cargo xtask deploy"), 1);
        assert_eq!(check("        run: cargo xtask tidy && curl x"), 1);
    }
}
