//! Running the built `rml` in a folder of its own.

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

/// What a run gave.
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

    /// `rml` with these arguments, separated by blanks that are not in single quotes.
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

    /// A shell in which `rml` is the built one.
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

    /// Runs with those environment variables.
    pub(crate) fn rml_where(&self, variables: &[(&str, &str)], args: &str) -> Run {
        self.run(args, variables, "")
    }

    /// Runs with that text on standard input.
    pub(crate) fn rml_with(&self, args: &str, input: &str) -> Run {
        self.run(args, &[], input)
    }

    pub(crate) fn run(&self, args: &str, variables: &[(&str, &str)], input: &str) -> Run {
        self.spawned(self.command(args).envs(variables.iter().copied()), args, input)
    }

    /// As [`run`](Self::run), in a folder within this one.
    pub(crate) fn run_in(&self, folder: &str, args: &str, input: &str) -> Run {
        self.spawned(self.command(args).current_dir(self.path(folder)), args, input)
    }

    fn spawned(&self, command: &mut Command, args: &str, input: &str) -> Run {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rml starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            // A command that does not read its input closes it.
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
    /// The output of a run that went well.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// The output, as JSON, of a run that went well.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let out = self.ok();
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e} in {out}"))
    }

    /// The run failed with that exit code, and its messages hold all those words.
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

/// What `rml check` says about a program.
pub(crate) fn checked(text: &str) -> String {
    Folder::new().file("p.rml", text).rml("check p.rml").err
}

/// That a program gets one finding with that code and those words, and that without its slip it is right and gets none.
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
