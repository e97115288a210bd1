//! Which crates open files and which read the environment. Tests may do both.

use crate::workspace::File;

/// What opens, writes or lists files, and which crates may: the one for files, the one that runs a compiler, the
/// commands, and what drives tests.
const FILES: (&[&str], &[&str]) = (
    &["std::fs", "fs::", "File::open", "File::create", "read_dir("],
    &["rml-files", "rml-native", "rml-cli", "rml-testkit", "rml-fuzz"],
);

/// What reads or sets variables, and which crates may: beside those, the facade and what opens the runtimes of others.
const ENVIRONMENT: (&[&str], &[&str]) = (
    &["env::var", "env::set_var"],
    &[
        "rml",
        "rml-backend",
        "rml-backend-xla",
        "rml-backend-torch",
        "rml-native",
        "rml-cli",
        "rml-testkit",
        "rml-fuzz",
    ],
);

/// Uses where `ARCHITECTURE.md` says that there are none.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let source = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
    let Some((name, path)) = source.filter(|(_, path)| !path.ends_with("tests.rs")) else {
        return Vec::new();
    };
    let code = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = || (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
    let uses = |(marks, crates): (&[&str], &[&str]), what: &str| -> Vec<String> {
        let is_found = |line: &str| marks.iter().any(|mark| line.contains(mark));
        let found = lines().filter(|(_, line)| !crates.contains(&name) && is_found(line));
        found.map(|(n, _)| format!("crates/{name}/src/{path}:{n}: {name} must not {what}")).collect()
    };
    [uses(FILES, "open files"), uses(ENVIRONMENT, "read the environment")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_crates_may() {
        let findings =
            |path: &str, text: &str| check_file(&File { path: path.to_owned(), text: text.to_owned() }).len();
        let opens = "fn f() {\n    std::fs::read(path);\n}\n";
        assert_eq!(findings("crates/rml-ir/src/a/b.rs", opens), 1);
        assert_eq!(findings("crates/rml-files/src/a.rs", opens), 0);
        assert_eq!(findings("crates/rml-ir/tests/a.rs", opens), 0);
        assert_eq!(findings("crates/rml-ir/src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{opens}}}")), 0);
        assert_eq!(findings("crates/rml-data/src/a.rs", "let v = std::env::var(\"HOME\");"), 1);
    }
}
