//! A process that measures a job in turns: it says when it is ready, and takes a turn for each line that it is given.
//!
//! The lines are those of `crates/rml/benches/peers.rs`; the programs in `benches/peers` have the same.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// How long a turn is.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    Seconds(f64),
    Steps(u64),
}

/// What a turn gave: times of a step in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Turn {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) p99: f64,
    pub(crate) steps: u64,
    /// The mean time of a step on processors.
    pub(crate) processor: Option<f64>,
    /// The most bytes that the process had in memory so far.
    pub(crate) memory: Option<f64>,
}

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
    pub(crate) fn start(name: &str, command: &mut Command) -> Result<Self, String> {
        let mut worker = Self::spawn(name, command)?;
        worker.wait()?;
        Ok(worker)
    }

    /// Starts a process, which gets ready by itself.
    pub(crate) fn spawn(name: &str, command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|e| format!("cannot start {name}: {e}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { name: name.to_owned(), child, input, output, loss: None, memory: None })
    }

    /// Waits until the process is ready.
    pub(crate) fn wait(&mut self) -> Result<(), String> {
        let ready = self.line()?;
        if ready["ready"] != Value::Bool(true) {
            return Err(format!("{} says `{ready}`, not that it is ready", self.name));
        }
        (self.loss, self.memory) = (ready["loss"].as_f64(), ready["memory"].as_f64());
        Ok(())
    }

    /// Has the process go to its next job, and waits until it is ready.
    pub(crate) fn next(&mut self) -> Result<(), String> {
        self.skip()?;
        self.wait()
    }

    /// Has the process go to its next job.
    pub(crate) fn skip(&mut self) -> Result<(), String> {
        self.say("next\n")
    }

    fn say(&self, text: &str) -> Result<(), String> {
        let mut input = self.input.as_ref().ok_or("no input")?;
        input.write_all(text.as_bytes()).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Takes a turn.
    pub(crate) fn turn(&mut self, length: Length) -> Result<Turn, String> {
        let text = match length {
            Length::Seconds(seconds) => format!("seconds {seconds}\n"),
            Length::Steps(steps) => format!("steps {steps}\n"),
        };
        self.say(&text)?;
        let line = self.line()?;
        turn(&line).ok_or_else(|| format!("{} says `{line}`, which is no turn", self.name))
    }

    /// The next line that is an object; JAX and PyTorch may say other things before.
    fn line(&mut self) -> Result<Value, String> {
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            if read.map_err(|e| format!("{}: {e}", self.name))? == 0 {
                let complaints = self.complaints();
                return Err(format!("{} ends early\n{complaints}", self.name));
            }
            if line.starts_with('{') {
                return serde_json::from_str(&line).map_err(|e| format!("{}: {e}: {line}", self.name));
            }
        }
    }

    /// The end of what the process, which has ended, wrote to standard error.
    fn complaints(&mut self) -> String {
        let mut text = Vec::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            let _ = std::io::copy(&mut pipe, &mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

fn turn(line: &Value) -> Option<Turn> {
    Some(Turn {
        median: line["median_ms"].as_f64()?,
        least: line["least_ms"].as_f64()?,
        p99: line["p99_ms"].as_f64()?,
        steps: line["steps"].as_u64()?,
        processor: line["processor_ms"].as_f64(),
        memory: line["memory"].as_f64(),
    })
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.input = None;
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_turns() {
        let line: Value = serde_json::from_str(
            r#"{"median_ms": 2.5, "least_ms": 2, "p99_ms": 4, "steps": 7, "memory": null}"#,
        )
        .unwrap();
        assert_eq!(
            turn(&line),
            Some(Turn { median: 2.5, least: 2.0, p99: 4.0, steps: 7, processor: None, memory: None })
        );
        assert_eq!(turn(&Value::Null), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_process_takes_turns() {
        let script = r#"echo noise; echo '{"ready": true, "loss": 0.5, "memory": null}'
            while read unit n; do echo "{\"median_ms\": $n, \"least_ms\": $n, \"p99_ms\": $n, \"steps\": 3}"; done"#;
        let mut worker = Worker::start("shell", Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!((worker.loss, worker.memory), (Some(0.5), None));
        assert_eq!(worker.turn(Length::Steps(12)).unwrap().median, 12.0);
        assert_eq!(worker.turn(Length::Seconds(0.5)).unwrap().p99, 0.5);
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_ends_early_is_quoted() {
        let why = Worker::start("shell", Command::new("sh").args(["-c", "echo no such thing >&2; exit 1"]));
        assert!(why.err().unwrap().contains("no such thing"));
    }
}
