//! Observes a worker: its output, and how it ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::worker::Line;
use crate::{FailureKind, Finding, Target};

/// The maximum time of a case: ten times the processor time that a case may need, because the machine may do other work
/// too.
const LIMIT: Duration = Duration::from_secs(300);
/// The largest address space of a worker, in KiB.
const MEMORY: u64 = 4 << 20;

/// An event in a worker.
#[derive(Debug)]
pub(crate) enum Event {
    /// A case begins.
    Case,
    /// The case with this number failed.
    Found(u64, Finding),
}

/// The way in which a worker ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// All cases are done.
    Done,
    /// The worker ended within the case with this number, which was reported.
    In(u64),
    /// The deadline was reached.
    Late,
}

/// Runs a worker with the given arguments until `deadline`, and reports every event.
pub(crate) fn watch(
    target: &Target,
    args: &[String],
    deadline: Instant,
    mut report: impl FnMut(Event),
) -> Result<End, String> {
    let mut child = start(args)?;
    let lines = lines(&mut child)?;
    let finding = |kind, message| Finding { target: target.name.to_owned(), kind, message };
    let mut number = 0;
    let end = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(LIMIT.min(left)) {
            Ok(Line::Case(n)) => {
                number = n;
                report(Event::Case);
            }
            Ok(Line::Found(json)) => {
                let found = Finding::from_json(&json).ok_or("a worker says what nobody understands")?;
                report(Event::Found(number, found));
            }
            Ok(Line::Done) => break End::Done,
            Err(RecvTimeoutError::Timeout) if left <= LIMIT => break End::Late,
            Err(RecvTimeoutError::Timeout) => {
                let message = format!("runs for more than {} s", LIMIT.as_secs());
                report(Event::Found(number, finding(FailureKind::Hang, message)));
                break End::In(number);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message = last_words(&mut child)?;
                report(Event::Found(number, finding(FailureKind::Death, message)));
                break End::In(number);
            }
        }
    };
    // The worker may have ended already.
    let _ = child.kill();
    let _ = child.wait();
    Ok(end)
}

/// Starts this program with the given arguments, with a memory limit if the system supports one.
fn start(args: &[String]) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        // If the system does not support the limit, the worker runs without one.
        shell.args(["-c", &format!("ulimit -v {MEMORY} 2>/dev/null; exec \"$@\""), "sh"]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|e| format!("cannot start a worker: {e}"))
}

/// The lines of a worker's output, as soon as a thread has read them.
fn lines(child: &mut Child) -> Result<Receiver<Line>, String> {
    let out = child.stdout.take().ok_or("a worker has no output")?;
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(out).lines().map_while(Result::ok).filter_map(|line| Line::read(&line));
        for line in lines {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    Ok(receive)
}

/// Describes the end of a worker that did not report it, with its output on standard error.
fn last_words(child: &mut Child) -> Result<String, String> {
    let status = child.wait().map_err(|e| format!("cannot wait for a worker: {e}"))?;
    let mut words = String::new();
    if let Some(mut err) = child.stderr.take() {
        // Unreadable output is ignored.
        let _ = err.read_to_string(&mut words);
    }
    let words: Vec<&str> = words.lines().filter(|l| !l.trim().is_empty()).take(3).collect();
    Ok(format!("{status}: {}", words.join("; ")))
}
