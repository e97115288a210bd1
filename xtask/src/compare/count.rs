//! Instructions that a process takes, counted by `perf stat` where the machine has counters and lets programs read
//! them.

use std::path::Path;
use std::process::{Command, Stdio};

/// The event: what the process does by itself, without the system.
const EVENT: &str = "instructions:u";

/// Whether instructions can be counted here.
pub(super) fn is_possible() -> bool {
    let output = Command::new("perf").args(["stat", "-x,", "-e", EVENT, "true"]).output();
    output.is_ok_and(|o| o.status.success() && count(&String::from_utf8_lossy(&o.stderr)).is_some())
}

/// A command that runs another and leaves the count in a file.
pub(super) fn counted(command: &Command, file: &Path) -> Command {
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x,", "-e", EVENT, "-o"]).arg(file).arg("--").arg(command.get_program());
    perf.args(command.get_args()).stderr(Stdio::null());
    perf
}

/// The count that a report states: the first field of the line of the event.
pub(super) fn count(report: &str) -> Option<f64> {
    let line = report.lines().find(|l| l.contains(EVENT))?;
    line.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let report = "# started on Mon\n\n123456,,instructions:u,1000,100.00,,\n";
        assert_eq!(count(report), Some(123_456.0));
        assert_eq!(count("<not supported>,,instructions:u,0,100.00,,\n"), None);
        assert_eq!(count(""), None);
    }
}
