//! Watching a worker: what it says, and how it ends if it does not end well.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::worker::Line;
use crate::{Finding, Kind, Target};

/// The longest that a case may take: ten times what one may need of a processor, for machines that do other work as
/// well.
const LIMIT: Duration = Duration::from_secs(300);
/// The largest address space of a worker, in KiB.
const MEMORY: u64 = 4 << 20;

/// What happens in a worker.
#[derive(Debug)]
pub(crate) enum Event {
    /// The case of that number begins.
    Case,
    /// The case of that number failed.
    Found(u64, Finding),
}

/// How a worker ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// All cases are done.
    Done,
    /// In that case, which was reported.
    In(u64),
    /// Its time was over.
    Late,
}

/// Runs a worker with those arguments until `deadline`, and reports everything that happens.
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
                report(Event::Found(number, finding(Kind::Hang, message)));
                break End::In(number);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message = last_words(&mut child)?;
                report(Event::Found(number, finding(Kind::Death, message)));
                break End::In(number);
            }
        }
    };
    // It may have ended already.
    let _ = child.kill();
    let _ = child.wait();
    Ok(end)
}

/// This program with those arguments, in limited memory where the system has a way to say so.
fn start(args: &[String]) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        // Where there is no such limit, the worker runs without.
        shell.args(["-c", &format!("ulimit -v {MEMORY} 2>/dev/null; exec \"$@\""), "sh"]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|e| format!("cannot start a worker: {e}"))
}

/// The lines of a worker's output, as they come; a thread reads them.
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

/// How a worker ended that did not say so, with what it wrote on standard error.
fn last_words(child: &mut Child) -> Result<String, String> {
    let status = child.wait().map_err(|e| format!("cannot wait for a worker: {e}"))?;
    let mut words = String::new();
    if let Some(mut err) = child.stderr.take() {
        // What cannot be read is not said.
        let _ = err.read_to_string(&mut words);
    }
    let words: Vec<&str> = words.lines().filter(|l| !l.trim().is_empty()).take(3).collect();
    Ok(format!("{status}: {}", words.join("; ")))
}
