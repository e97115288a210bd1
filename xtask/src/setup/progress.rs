//! How far a long step is: one line that is overwritten on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How often the line on a terminal is drawn at most.
const PERIOD: Duration = Duration::from_millis(200);

/// How often a line is written elsewhere at most.
const LONG_PERIOD: Duration = Duration::from_secs(5);

/// The progress of fetching one file.
pub(super) struct Progress {
    name: String,
    total: u64,
    /// What was there already when it began.
    before: u64,
    start: Instant,
    terminal: bool,
    drawn: Instant,
}

impl Progress {
    /// Begins with `before` of `total` bytes.
    pub(super) fn new(name: &str, before: u64, total: u64) -> Progress {
        let (start, terminal) = (Instant::now(), std::io::stdout().is_terminal());
        Progress { name: name.to_owned(), total, before, start, terminal, drawn: start }
    }

    /// Tells that `done` bytes have arrived. The last line says that all of them are.
    pub(super) fn advance(&mut self, done: u64) {
        let period = if self.terminal { PERIOD } else { LONG_PERIOD };
        if done < self.total && self.drawn.elapsed() < period {
            return;
        }
        self.drawn = Instant::now();
        let line = self.line(done, self.start.elapsed());
        let end = if self.terminal && done < self.total { "" } else { "\n" };
        let begin = if self.terminal { "\r\x1b[K" } else { "" };
        print!("{begin}  {line}{end}");
        // Where nothing can be written there is no progress to see; the work continues.
        let _ = std::io::stdout().flush();
    }

    fn line(&self, done: u64, elapsed: Duration) -> String {
        let percent = (done * 100).checked_div(self.total).unwrap_or(100);
        let rate = megabytes(done.saturating_sub(self.before)) / elapsed.as_secs_f64().max(1e-3);
        let (name, total) = (&self.name, megabytes(self.total));
        format!("{name}: {:.1} of {total:.1} MB, {percent} %, {rate:.1} MB/s", megabytes(done))
    }
}

/// Bytes in millions of bytes.
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_amount_share_and_rate_of_what_was_fetched_now() {
        let progress = Progress::new("a.whl", 50_000_000, 200_000_000);
        let line = progress.line(100_000_000, Duration::from_secs(2));
        assert_eq!(line, "a.whl: 100.0 of 200.0 MB, 50 %, 25.0 MB/s");
        assert!(Progress::new("e", 0, 0).line(0, Duration::ZERO).contains("100 %"));
    }
}
