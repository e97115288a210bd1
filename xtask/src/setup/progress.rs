//! How far a long step is: one line that is overwritten on a terminal, a line for each tenth elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How often the line on a terminal is drawn at most.
const PERIOD: Duration = Duration::from_millis(200);

/// The progress of fetching one file.
pub(super) struct Progress {
    name: String,
    total: u64,
    /// What was there already when it began.
    before: u64,
    start: Instant,
    terminal: bool,
    drawn: Option<Instant>,
    tenth: u64,
}

impl Progress {
    /// Begins with `before` of `total` bytes.
    pub(super) fn new(name: &str, before: u64, total: u64) -> Progress {
        let terminal = std::io::stdout().is_terminal();
        let tenth = tenths(before, total);
        Progress { name: name.to_owned(), total, before, start: Instant::now(), terminal, drawn: None, tenth }
    }

    /// Tells that `done` bytes are there now.
    pub(super) fn advance(&mut self, done: u64) {
        let tenth = tenths(done, self.total);
        if self.terminal && (tenth == 10 || self.drawn.is_none_or(|at| at.elapsed() >= PERIOD)) {
            self.drawn = Some(Instant::now());
            print!("\r  {}\x1b[K", self.line(done, self.start.elapsed()));
            // A terminal that cannot be written shows no progress; the work goes on.
            let _ = std::io::stdout().flush();
        } else if !self.terminal && tenth > self.tenth {
            println!("  {}", self.line(done, self.start.elapsed()));
        }
        self.tenth = tenth;
    }

    fn line(&self, done: u64, elapsed: Duration) -> String {
        let percent = (done * 100).checked_div(self.total).unwrap_or(100);
        let rate = megabytes(done.saturating_sub(self.before)) / elapsed.as_secs_f64().max(1e-3);
        let (name, total) = (&self.name, megabytes(self.total));
        format!("{name}: {:.1} of {total:.1} MB, {percent} %, {rate:.1} MB/s", megabytes(done))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            println!();
        }
    }
}

fn tenths(done: u64, total: u64) -> u64 {
    (done * 10).checked_div(total).unwrap_or(10)
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
