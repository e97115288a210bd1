//! The times at which a job is measured. A job repeats a step; only the steps in a turn are measured.
//!
//! By default, a process takes one turn of 1.5 seconds. With `--turns`, it reports when it is ready, takes a turn for
//! each line of its standard input (`seconds S` or `steps N`), and ends at the end of the input or at any other line.
//! So several programs can be measured alternately.

use std::io::BufRead;
use std::time::{Duration, Instant};

/// The maximum number of steps before the first turn.
pub(crate) const WARM: usize = 5;

/// The length of a turn.
#[derive(Clone, Copy)]
enum Length {
    Time(Duration),
    Steps(usize),
}

/// The turns of one job.
pub(crate) struct Turns {
    job: String,
    asked: bool,
    length: Length,
    begin: Instant,
    times: Vec<Duration>,
    /// The number of steps of the turn whose time is not known.
    untimed: usize,
    memory: Option<usize>,
    /// The nanoseconds of processor time before the turn.
    processor: Option<u64>,
}

impl Turns {
    pub(crate) fn new(job: &str, asked: bool) -> Self {
        Self {
            job: job.to_owned(),
            asked,
            length: Length::Time(Duration::from_millis(1500)),
            begin: Instant::now(),
            times: Vec::new(),
            untimed: 0,
            memory: peak_memory(),
            processor: None,
        }
    }

    /// Reports that the job is ready, and its loss, and waits for the first turn. Returns `false` if there is none.
    pub(crate) fn ready(&mut self, loss: Option<f64>) -> bool {
        let loss = loss.map_or("null".to_owned(), |l| l.to_string());
        println!(
            "{{\"job\": {:?}, \"ready\": true, \"loss\": {loss}, \"memory\": {}}}",
            self.job,
            json(self.memory)
        );
        self.next()
    }

    /// Counts a step with its time. Returns `false` after the last step.
    pub(crate) fn step(&mut self, time: Duration) -> bool {
        self.times.push(time);
        let over = match self.length {
            Length::Time(length) => self.begin.elapsed() >= length,
            Length::Steps(steps) => self.times.len() >= steps,
        };
        if !over {
            return true;
        }
        self.report();
        self.asked && self.next()
    }

    /// Counts a step whose time is not known, because it is the first of an epoch.
    pub(crate) fn untimed(&mut self) {
        self.untimed += 1;
    }

    /// Repeats a step in all turns.
    pub(crate) fn all(&mut self, loss: Option<f64>, mut step: impl FnMut() -> Duration) {
        let begin = Instant::now();
        for _ in 0..WARM {
            step();
            if begin.elapsed() > Duration::from_millis(50) {
                break;
            }
        }
        let mut more = self.ready(loss);
        while more {
            more = self.step(step());
        }
    }

    fn next(&mut self) -> bool {
        if self.asked {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let Some(length) = read.ok().and_then(|_| length(line.trim())) else { return false };
            self.length = length;
        }
        self.times.clear();
        self.untimed = 0;
        self.processor = on_processors();
        self.begin = Instant::now();
        true
    }

    fn report(&mut self) {
        let processor = on_processors().zip(self.processor).map(|(now, before)| now - before);
        let processor = processor.map(|ns| ns as f64 / 1e6 / (self.times.len() + self.untimed) as f64);
        self.times.sort_unstable();
        let n = self.times.len();
        let ms = |part: usize| self.times[(n * part / 100).min(n - 1)].as_secs_f64() * 1e3;
        println!(
            "{{\"job\": {:?}, \"median_ms\": {:.6}, \"least_ms\": {:.6}, \"p99_ms\": {:.6}, \"steps\": {n}, \
             \"processor_ms\": {}, \"memory\": {}}}",
            self.job,
            ms(50),
            ms(0),
            ms(99),
            json(processor),
            json(peak_memory())
        );
    }
}

fn length(line: &str) -> Option<Length> {
    match line.split_once(' ')? {
        ("seconds", n) => n.parse().ok().map(|s| Length::Time(Duration::from_secs_f64(s))),
        ("steps", n) => n.parse().ok().map(Length::Steps),
        _ => None,
    }
}

fn json(n: Option<impl ToString>) -> String {
    n.map_or("null".to_owned(), |n| n.to_string())
}

/// The maximum number of bytes of the process in memory, if the system reports it.
fn peak_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib << 10)
}

/// The processor time of the threads of the process, if the system reports it.
fn on_processors() -> Option<u64> {
    let nanoseconds = |folder: std::fs::DirEntry| {
        let text = std::fs::read_to_string(folder.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    std::fs::read_dir("/proc/self/task").ok()?.flatten().map(nanoseconds).sum()
}
