//! `conformance DIR`: runs all vectors of a folder through both engines, a line for each failure; the last line is
//! `N passed, M failed`. Exit codes: 0 all passed, 1 some failed, 2 no such folder.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use rml_testkit::conformance;

/// So many failures of one vector are listed.
const LISTED: usize = 20;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let mut errors = std::io::stderr().lock();
    let [folder] = &args[..] else {
        let _ = writeln!(errors, "usage: conformance DIR");
        return ExitCode::from(2);
    };
    let files = match conformance::files(Path::new(folder)) {
        Ok(files) => files,
        Err(error) => {
            let _ = writeln!(errors, "cannot list {}: {error}", Path::new(folder).display());
            return ExitCode::from(2);
        }
    };
    drop(errors);
    let mut out = std::io::stdout().lock();
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let outcome = conformance::check_file(&file, None);
        if outcome.failures.is_empty() {
            passed += 1;
            continue;
        }
        failed += 1;
        for failure in outcome.failures.iter().take(LISTED) {
            let _ = writeln!(out, "{}: {failure}", outcome.name);
        }
        if outcome.failures.len() > LISTED {
            let _ = writeln!(out, "{}: {} more", outcome.name, outcome.failures.len() - LISTED);
        }
    }
    let _ = writeln!(out, "{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
