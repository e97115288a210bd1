//! A process that measures a job in turns: it reports when it is ready, and takes a turn for each line of input.
//!
//! The lines are those of `crates/rml/benches/peers.rs`; the programs in `benches/peers` use the same.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

/// The result of a turn: times of a step in milliseconds, such as `median_ms`, and the number of `steps`.
pub(crate) type Turn = BTreeMap<String, f64>;

/// A process that is ready; dropping this value ends it.
pub(crate) struct Worker {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The mean loss of the first steps, if the job has a loss.
    pub(crate) loss: Option<f64>,
    /// The peak memory in bytes before the job began: the memory of the libraries.
    pub(crate) memory: Option<f64>,
}

impl Worker {
    /// Starts a process and waits until it is ready.
    pub(crate) fn start(name: &str, command: &mut Command) -> Result<Self> {
        let mut worker = Self::spawn(name, command)?;
        worker.wait()?;
        Ok(worker)
    }

    /// Starts a process without waiting until it is ready.
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

    /// Lets the process continue with its next job, and waits until it is ready.
    pub(crate) fn next(self) -> Result<Self> {
        self.say("next\n")?;
        Ok(self)
    }

    fn say(&self, text: &str) -> Result<()> {
        self.input.as_ref().context("no input")?.write_all(text.as_bytes()).context(self.name.clone())
    }

    /// Runs a turn of some `seconds` or `steps`.
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

    /// The next line that is a JSON object; JAX and PyTorch may print other lines before it.
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

    /// The last lines that the ended process wrote to standard error.
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
        // The process ends at the end of its input.
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
