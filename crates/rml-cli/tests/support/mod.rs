//! Runs the built `rml` in a temporary folder.

#![allow(dead_code, reason = "no test file uses all of it")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A line through points, trained point by point.
pub(crate) const LINE: &str = "
node line(x) -> (o)
  k = param(0.0);
  o = k * x;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, 0.3 * (y - o));
  loss = (o - y) * (o - y);

node infer(x: num [], y: num []) -> (loss)
  o = line(x);
  loss = (o - y) * (o - y);
";

/// A folder with files, in which `rml` runs.
pub(crate) struct Folder(TempDir);

/// The result of a run.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path(name), text).expect("a file");
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// `rml` with these arguments, separated by blanks outside of single quotes.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rml"));
        let quoted = |(i, part): (usize, &str)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        };
        command
            .args(args.split('\'').enumerate().flat_map(quoted).collect::<Vec<String>>())
            .current_dir(self.0.path())
            .env_remove("RML_LOG");
        command.env_remove("RML_BACKENDS");
        command
    }

    /// A shell in which `rml` runs the built command.
    pub(crate) fn shell(&self, commands: &str) -> Command {
        let rml = PathBuf::from(env!("CARGO_BIN_EXE_rml"));
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders = rml.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&folders));
        let path = std::env::join_paths(folders).expect("a path");
        let mut command = Command::new("sh");
        command.args(["-c", commands]).current_dir(self.0.path()).env("PATH", path).env_remove("RML_LOG");
        command
    }

    pub(crate) fn rml(&self, args: &str) -> Run {
        self.rml_with(args, "")
    }

    /// Runs with these environment variables.
    pub(crate) fn rml_where(&self, variables: &[(&str, &str)], args: &str) -> Run {
        self.run(args, variables, "")
    }

    /// Runs with this text on standard input.
    pub(crate) fn rml_with(&self, args: &str, input: &str) -> Run {
        self.run(args, &[], input)
    }

    pub(crate) fn run(&self, args: &str, variables: &[(&str, &str)], input: &str) -> Run {
        self.spawned(self.command(args).envs(variables.iter().copied()), args, input)
    }

    /// As [`run`](Self::run), in a subfolder of this folder.
    pub(crate) fn run_in(&self, folder: &str, args: &str, input: &str) -> Run {
        self.spawned(self.command(args).current_dir(self.path(folder)), args, input)
    }

    fn spawned(&self, command: &mut Command, args: &str, input: &str) -> Run {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rml starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            // Writing fails if the command does not read its input.
            let _ = stdin.write_all(input.as_bytes());
        });
        let output = child.wait_with_output().expect("rml ends");
        writer.join().expect("the writer ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let run = Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!run.err.contains("panicked"), "{args}\n{}", run.err);
        run
    }
}

impl Run {
    /// The output of a run that succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// The output, as JSON, of a run that succeeded.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let out = self.ok();
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e} in {out}"))
    }

    /// Checks that the run failed with this exit code, and that its messages contain all words.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        let mut all = String::new();
        let _ = write!(all, "{}{}", self.out, self.err);
        assert_eq!(self.code, Some(code), "{all}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing in\n{all}");
        }
        self
    }
}

/// The output of `rml check` about a program.
pub(crate) fn checked(text: &str) -> String {
    Folder::new().file("p.rml", text).rml("check p.rml").err
}

/// Checks that a program gets one finding with this code and these words, and that the corrected program gets none.
#[track_caller]
pub(crate) fn warned(code: &str, text: &str, words: &[&str], right: &[(&str, &str)]) {
    let found = checked(text);
    assert_eq!(found.matches(&format!("[{code}]")).count(), 1, "{found}");
    for word in words {
        assert!(found.contains(word), "`{word}` is not in\n{found}");
    }
    for (wrong, right) in right {
        let other = text.replace(wrong, right);
        assert_ne!(other, text, "{wrong}");
        let found = checked(&other);
        assert!(!found.contains(code) && !found.contains("error["), "{right}\n{found}");
    }
}
