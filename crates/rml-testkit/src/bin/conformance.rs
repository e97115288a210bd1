//! `conformance [--engine plan|sim|oracle] DIR` runs all vectors of a folder through the simulator and the oracle, or
//! through the given engine, and prints a line for each failure. The last line is `N passed, M failed`, followed by `,
//! K by plan` for plans. A vector without a plan passes. Exit codes: 0 all passed, 1 some failed, 2 the folder does not
//! exist or the command line is wrong.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use rml_testkit::conformance::{self, VectorRunner};

/// The maximum number of failures that are listed for one vector.
const LISTED: usize = 20;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let mut errors = std::io::stderr().lock();
    let (engine, folder) = match &args[..] {
        [folder] => (None, folder),
        [flag, name, folder] if flag == "--engine" && engine(name).is_some() => (engine(name), folder),
        _ => {
            let _ = writeln!(errors, "usage: conformance [--engine plan|sim|oracle] DIR");
            return ExitCode::from(2);
        }
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
    let (mut passed, mut failed, mut planned) = (0, 0, 0);
    for file in files {
        let outcome = match engine {
            Some(engine) => conformance::check_file_on(&file, engine),
            None => conformance::check_file(&file, None),
        };
        planned += usize::from(outcome.planned);
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
    let by_plan =
        if engine == Some(VectorRunner::Plan) { format!(", {planned} by plan") } else { String::new() };
    let _ = writeln!(out, "{passed} passed, {failed} failed{by_plan}");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn engine(name: &OsStr) -> Option<VectorRunner> {
    match name.to_str()? {
        "plan" => Some(VectorRunner::Plan),
        "sim" => Some(VectorRunner::Simulator),
        "oracle" => Some(VectorRunner::Oracle),
        _ => None,
    }
}
