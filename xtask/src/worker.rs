//! A process that measures a job in turns: it says when it is ready, and takes a turn for each line that it is given.
//!
//! The lines are those of `crates/rml/benches/peers.rs`; the programs in `benches/peers` have the same.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

/// What a turn gave: times of a step in milliseconds, such as `median_ms`, and how many `steps` it had.
pub(crate) type Turn = BTreeMap<String, f64>;

/// A process that is ready; it ends when this is dropped.
pub(crate) struct Worker {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The mean loss of the first steps, where the job has one.
    pub(crate) loss: Option<f64>,
    /// The most bytes in memory before the job began: what the libraries take.
    pub(crate) memory: Option<f64>,
}

impl Worker {
    /// Starts a process and waits until it is ready.
    pub(crate) fn start(name: &str, command: &mut Command) -> Result<Self> {
        let mut worker = Self::spawn(name, command)?;
        worker.wait()?;
        Ok(worker)
    }

    /// Starts a process, which gets ready by itself.
    pub(crate) fn spawn(name: &str, command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("cannot start {name}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self { name: name.to_owned(), child, input, output, loss: None, memory: None })
    }

    /// Waits until the process is ready.
    pub(crate) fn wait(&mut self) -> Result<()> {
        let ready = self.line()?;
        let number = |name: &str| ready.get(name).and_then(Value::as_f64);
        (self.loss, self.memory) = (number("loss"), number("memory"));
        ensure!(ready.contains_key("ready"), "{} says {ready:?}, not that it is ready", self.name);
        Ok(())
    }

    /// Has the process go to its next job, and get ready for it.
    pub(crate) fn next(self) -> Result<Self> {
        self.say("next\n")?;
        Ok(self)
    }

    fn say(&self, text: &str) -> Result<()> {
        self.input.as_ref().context("no input")?.write_all(text.as_bytes()).context(self.name.clone())
    }

    /// Takes a turn of some `seconds` or `steps`.
    pub(crate) fn turn(&mut self, length: &str) -> Result<Turn> {
        self.say(&format!("{length}\n"))?;
        let line = self.line()?;
        let mut turn: Turn =
            line.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect();
        if let Some((peak, before)) = turn.get("memory").copied().zip(self.memory) {
            turn.insert("own_memory".to_owned(), peak - before);
        }
        let is_whole =
            ["median_ms", "least_ms", "p99_ms", "steps"].iter().all(|name| turn.contains_key(*name));
        ensure!(is_whole, "{} says {line:?}, which is no turn", self.name);
        Ok(turn)
    }

    /// The next line that is an object; JAX and PyTorch may say other things before.
    fn line(&mut self) -> Result<Map<String, Value>> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                let complaints = self.complaints();
                bail!("{} ends early\n{complaints}", self.name);
            }
            if line.starts_with('{') {
                return serde_json::from_str(&line).with_context(|| format!("{}: {line}", self.name));
            }
        }
    }

    /// The end of what the process, which has ended, wrote to standard error.
    fn complaints(&mut self) -> String {
        let mut text = Vec::new();
        let _ = self.child.stderr.take().map(|mut pipe| pipe.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.input = None;
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Worker> {
        Worker::start("shell", Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_process_takes_turns() {
        let turn = r#"{\"median_ms\": $n, \"least_ms\": $n, \"p99_ms\": $n, \"steps\": 3, \"memory\": null}"#;
        let ready = r#"echo noise; echo '{"ready": true, "loss": 0.5, "memory": null}'"#;
        let script = format!("{ready}; while read unit n; do echo \"{turn}\"; done");
        let mut worker = shell(&script).unwrap();
        assert_eq!((worker.loss, worker.memory), (Some(0.5), None));
        assert_eq!(worker.turn("steps 12").unwrap()["median_ms"], 12.0);
        let turn = worker.turn("seconds 0.5").unwrap();
        assert!(turn["p99_ms"] == 0.5 && turn.len() == 4, "{turn:?}");
    }

    #[test]
    fn what_is_no_turn_and_a_process_that_ends_early_are_quoted() {
        let why = |ended: Option<anyhow::Error>| format!("{:#}", ended.unwrap());
        assert!(why(shell("echo no such thing >&2; exit 1").err()).contains("no such thing"));
        assert!(why(shell("echo '{\"loss\": 1}'").err()).contains("not that it is ready"));
        let mut worker = shell("echo '{\"ready\": true}'; read line; echo '{\"steps\": 1}'").unwrap();
        assert!(why(worker.turn("steps 1").err()).contains("no turn"));
    }
}
